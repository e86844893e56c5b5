//! A table is either under forced row-level security or says why it holds no
//! tenant data; and every migration can be undone.

use super::sql::{self, Statement};
use super::{File, Problem};

const EXCUSE: &str = "not tenant data:";

pub fn check(files: &[File]) -> Vec<Problem> {
    let migrations: Vec<&File> = files.iter().filter(|file| file.is_migration()).collect();
    let mut problems = unpaired(&migrations);
    let scripts: Vec<(&File, Vec<Statement>)> = migrations
        .iter()
        .filter(|file| file.path.ends_with(".up.sql"))
        .map(|file| (*file, sql::statements(&file.text)))
        .collect();
    let alters: Vec<Alter> = scripts.iter().flat_map(|(_, statements)| statements.iter().filter_map(alter)).collect();
    for (file, statements) in &scripts {
        for statement in statements {
            problems.extend(judge(file, statement, &alters));
        }
    }
    problems
}

/// Procedures of the first migration that enable and force row-level security.
const PROCEDURES: [&str; 2] = ["secure_table", "tenant_table"];

/// What an `ALTER TABLE`, or a call of a procedure, says about row-level security.
struct Alter {
    table: String,
    enables: bool,
    forces: bool,
}

fn judge(file: &File, statement: &Statement, alters: &[Alter]) -> Option<Problem> {
    if loosens(statement) {
        let advice = "row-level security is never taken off a table; add a policy instead";
        return Some(Problem::new(file, statement.line, advice));
    }
    let table = created(statement)?;
    let about = || alters.iter().filter(|alter| alter.table == table);
    let (enabled, forced) = (about().any(|a| a.enables), about().any(|a| a.forces));
    if (enabled && forced) || statement.explained(EXCUSE) {
        return None;
    }
    let missing = if enabled { "FORCE" } else { "ENABLE and FORCE" };
    let advice = format!(
        "{missing} ROW LEVEL SECURITY on {table} (CALL tenant_table or secure_table), or say `-- {EXCUSE} <why>` right above it"
    );
    Some(Problem::new(file, statement.line, advice))
}

fn loosens(statement: &Statement) -> bool {
    statement.has(&["disable", "row", "level", "security"])
        || statement.has(&["no", "force", "row", "level", "security"])
}

fn created(statement: &Statement) -> Option<String> {
    let is_table = statement.starts(&["create", "table"]) || statement.starts(&["create", "unlogged", "table"]);
    is_table.then(|| name(statement)).flatten()
}

fn alter(statement: &Statement) -> Option<Alter> {
    if let Some(table) = secured(statement) {
        return Some(Alter { table, enables: true, forces: true });
    }
    if !statement.starts(&["alter", "table"]) {
        return None;
    }
    Some(Alter {
        table: name(statement)?,
        enables: statement.has(&["enable", "row", "level", "security"]),
        forces: statement.has(&["force", "row", "level", "security"]),
    })
}

/// The table that a procedure is called for.
fn secured(statement: &Statement) -> Option<String> {
    let [call, procedure, open, table, ..] = statement.tokens.as_slice() else { return None };
    let is_call = call.text == "call" && PROCEDURES.contains(&procedure.text.as_str()) && open.text == "(";
    is_call.then(|| table.text.trim_matches('\'').to_owned())
}

/// The table's name without its schema.
fn name(statement: &Statement) -> Option<String> {
    let noise = ["create", "alter", "unlogged", "table", "if", "not", "exists", "only"];
    let mut words = statement.tokens.iter().map(|token| token.text.as_str());
    let first = words.find(|word| !noise.contains(word))?;
    match (words.next(), words.next()) {
        (Some("."), Some(table)) => Some(table.to_owned()),
        _ => Some(first.to_owned()),
    }
}

fn unpaired(migrations: &[&File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let exists = |path: String| migrations.iter().any(|file| file.path == path);
    for file in migrations {
        let (up, down) = (file.path.strip_suffix(".up.sql"), file.path.strip_suffix(".down.sql"));
        let advice = match (up, down) {
            (Some(stem), _) if !exists(format!("{stem}.down.sql")) => {
                format!("write {stem}.down.sql, which undoes it")
            }
            (_, Some(stem)) if !exists(format!("{stem}.up.sql")) => {
                format!("undoes nothing: {stem}.up.sql is missing")
            }
            (None, None) => "name it N_what.up.sql and add N_what.down.sql".to_owned(),
            _ => continue,
        };
        problems.push(Problem::new(file, 1, advice));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(up: &str) -> Vec<usize> {
        let files = [File::new("migrations/1_a.up.sql", up), File::new("migrations/1_a.down.sql", "")];
        check(&files).into_iter().map(|problem| problem.line).collect()
    }

    const ENABLE: &str = "ALTER TABLE a ENABLE ROW LEVEL SECURITY;";
    const FORCE: &str = "ALTER TABLE a FORCE ROW LEVEL SECURITY;";

    #[test]
    fn a_table_without_forced_security_is_found() {
        assert_eq!(lines("CREATE TABLE a (id uuid);"), [1]);
        assert_eq!(lines(&format!("\nCREATE TABLE a (id uuid);\n{ENABLE}")), [2]);
        let other = format!("CREATE TABLE b (id uuid); CREATE TABLE a (id uuid); {ENABLE} {FORCE}");
        assert_eq!(lines(&other), [1]);
        assert_eq!(lines("CREATE TABLE a (id uuid); -- not tenant data: x"), [1]);
        assert_eq!(lines("-- not tenant data:\nCREATE TABLE a (id uuid);"), [2]);
    }

    #[test]
    fn taking_security_off_is_found() {
        assert_eq!(lines("ALTER TABLE a DISABLE ROW LEVEL SECURITY;"), [1]);
    }

    #[test]
    fn a_secured_or_explained_table_passes() {
        assert!(lines(&format!("CREATE TABLE IF NOT EXISTS public.a (id uuid);\n{ENABLE}\n{FORCE}")).is_empty());
        let both = "CREATE TABLE a (id uuid);\nALTER TABLE a ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;";
        assert!(lines(both).is_empty());
        assert!(lines("-- not tenant data: list of words\nCREATE TABLE a (id uuid);").is_empty());
    }

    #[test]
    fn procedure_secures_the_table_that_it_is_called_for_and_no_other() {
        assert!(lines("CREATE TABLE a (id uuid);\nCALL tenant_table('a', 'SELECT');").is_empty());
        assert!(lines("CREATE TABLE a (id uuid);\nCALL secure_table('a');").is_empty());
        assert_eq!(lines("CREATE TABLE a (id uuid);\nCALL secure_table('b');"), [1]);
        assert_eq!(lines("CREATE TABLE a (id uuid);\nCALL describe_table('a');"), [1]);
    }

    #[test]
    fn security_may_come_in_a_later_migration() {
        let files = [
            File::new("migrations/1_a.up.sql", "CREATE TABLE a (id uuid);"),
            File::new("migrations/1_a.down.sql", ""),
            File::new("migrations/2_b.up.sql", format!("{ENABLE}{FORCE}")),
            File::new("migrations/2_b.down.sql", ""),
        ];
        assert_eq!(check(&files), []);
    }

    #[test]
    fn a_migration_without_its_other_half_is_found() {
        let alone = |path| check(&[File::new(path, "")]).len();
        assert_eq!(alone("migrations/1_a.up.sql"), 1);
        assert_eq!(alone("migrations/1_a.down.sql"), 1);
        assert_eq!(alone("migrations/1_a.sql"), 1);
    }
}
