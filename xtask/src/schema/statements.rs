//! Reads migrations, in their order, statement by statement.

use super::{Area, Function, Schema, Table, Trigger};
use crate::tidy::File;
use crate::tidy::sql::{self, Statement};

const EXCUSE: &str = "not tenant data:";

pub fn read(files: &[File]) -> Schema {
    let mut ups: Vec<&File> =
        files.iter().filter(|file| file.is_migration() && file.path.ends_with(".up.sql")).collect();
    ups.sort_by(|a, b| a.path.cmp(&b.path));
    let mut schema = Schema::default();
    for file in ups {
        schema.areas.push(Area { path: file.path.clone(), about: opening(&file.text) });
        for statement in sql::statements(&file.text) {
            apply(&mut schema, file, &statement);
        }
    }
    schema
}

/// The comment that a script begins with, as one line.
fn opening(script: &str) -> String {
    let lines = script.lines().map_while(|line| line.strip_prefix("--"));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

fn apply(schema: &mut Schema, file: &File, statement: &Statement) {
    let words: Vec<&str> = statement.tokens.iter().map(|token| token.text.as_str()).collect();
    match words.as_slice() {
        ["create", "table", rest @ ..] | ["create", "unlogged", "table", rest @ ..] => {
            schema.tables.extend(table(file, statement, rest));
        }
        ["create", "or", "replace", "function", name, ..] | ["create", "function", name, ..] => {
            let is_known = schema.trigger_functions.iter().any(|it| it.name == *name);
            if statement.has(&["returns", "trigger"]) && !is_known {
                let (name, path) = ((*name).to_owned(), file.path.clone());
                schema.trigger_functions.push(Function { name, path, line: statement.line, purpose: None });
            }
        }
        ["create", "trigger", name, rest @ ..] | ["create", "constraint", "trigger", name, rest @ ..] => {
            trigger(schema, name, rest);
        }
        ["create", "policy", _, "on", table, rest @ ..] => policy(schema, table, rest),
        ["call", procedure, "(", table, rest @ ..] => secured(schema, procedure, unquoted(table), rest),
        ["comment", "on", "table", name, ..] => {
            let purpose = statement.last_string(&file.text);
            with_table(schema, name, |table| table.purpose = purpose);
        }
        ["comment", "on", "function", name, ..] => {
            let purpose = statement.last_string(&file.text);
            if let Some(function) = schema.trigger_functions.iter_mut().find(|it| it.name == *name) {
                function.purpose = purpose;
            }
        }
        ["drop", "table", names @ ..] => schema.tables.retain(|table| !names.contains(&table.name.as_str())),
        ["drop", "trigger", name, "on", table, ..] => {
            with_table(schema, table, |table| table.triggers.retain(|it| it.name != *name));
        }
        ["drop", "function", names @ ..] => {
            schema.trigger_functions.retain(|function| !names.contains(&function.name.as_str()));
        }
        _ => (),
    }
}

fn with_table(schema: &mut Schema, name: &str, change: impl FnOnce(&mut Table)) {
    if let Some(table) = schema.tables.iter_mut().find(|table| table.name == name) {
        change(table);
    }
}

fn table(file: &File, statement: &Statement, rest: &[&str]) -> Option<Table> {
    let name = rest.iter().find(|word| !["if", "not", "exists"].contains(word))?;
    let excuse = statement.comment.split_once(EXCUSE).and_then(|(_, why)| why.lines().next());
    Some(Table {
        name: (*name).to_owned(),
        path: file.path.clone(),
        line: statement.line,
        purpose: None,
        not_tenant_data: excuse.map(|why| why.trim().to_owned()),
        policies: Default::default(),
        triggers: Vec::new(),
    })
}

fn trigger(schema: &mut Schema, name: &str, rest: &[&str]) {
    let Some(on) = rest.iter().position(|word| *word == "on") else { return };
    let Some(run) = rest.iter().position(|word| *word == "execute") else { return };
    let (Some(table), Some(function)) = (rest.get(on + 1), rest.get(run + 2)) else { return };
    let argument = rest.get(run + 4).filter(|word| word.starts_with('\''));
    let trigger = Trigger {
        name: name.to_owned(),
        moment: rest[..on].join(" "),
        function: (*function).to_owned(),
        argument: argument.map(|word| unquoted(word).to_owned()),
    };
    with_table(schema, table, |table| table.triggers.push(trigger));
}

fn policy(schema: &mut Schema, table: &str, rest: &[&str]) {
    let command = match rest {
        ["for", command, ..] => command,
        _ => "all",
    };
    let roles = rest.iter().skip_while(|word| **word != "to").skip(1);
    let roles: Vec<&str> = roles.take_while(|word| !["using", "with"].contains(word)).copied().collect();
    for role in roles.into_iter().filter_map(|role| role.strip_prefix("gpuaas_")) {
        allow(schema, table, role, command);
    }
}

/// What the procedures of the first migration do to a table.
fn secured(schema: &mut Schema, procedure: &str, table: &str, rest: &[&str]) {
    if procedure == "tenant_table" {
        let command = rest.iter().find(|word| word.starts_with('\'')).map_or("all", |word| unquoted(word));
        allow(schema, table, "tenant", command);
    }
    if procedure == "tenant_table" || procedure == "secure_table" {
        allow(schema, table, "system", "all");
    }
}

fn allow(schema: &mut Schema, table: &str, role: &str, command: &str) {
    with_table(schema, table, |table| {
        table.policies.entry(role.to_owned()).or_default().insert(command.to_owned());
    });
}

fn unquoted(word: &str) -> &str {
    word.trim_matches('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(scripts: &[&str]) -> Schema {
        let files = scripts.iter().enumerate();
        let files: Vec<File> =
            files.map(|(number, text)| File::new(format!("migrations/{number}_a.up.sql"), *text)).collect();
        read(&files)
    }

    const TABLE: &str = "-- Area A:\n-- its tables.\n\n-- not tenant data: words\nCREATE TABLE a (id uuid);";

    #[test]
    fn a_table_has_its_purpose_its_policies_and_its_triggers() {
        let more = "COMMENT ON TABLE a IS 'Rows of A.';
            CALL tenant_table('a', 'SELECT');
            CREATE POLICY x ON a FOR INSERT TO gpuaas_person, gpuaas_tenant WITH CHECK (true);
            CREATE TRIGGER t BEFORE INSERT OR UPDATE OF state ON a FOR EACH ROW EXECUTE FUNCTION guard_state('note');";
        let schema = schema(&[TABLE, more]);
        assert_eq!(schema.areas[0].about, "Area A: its tables.");
        let table = &schema.tables[0];
        assert_eq!((table.purpose.as_deref(), table.not_tenant_data.as_deref()), (Some("Rows of A."), Some("words")));
        let of = |role: &str| table.policies[role].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!((of("tenant"), of("person"), of("system")), (vec!["insert", "select"], vec!["insert"], vec!["all"]));
        let trigger = &table.triggers[0];
        assert_eq!(trigger.moment, "before insert or update of state");
        assert_eq!((trigger.function.as_str(), trigger.argument.as_deref()), ("guard_state", Some("note")));
    }

    #[test]
    fn table_that_a_later_migration_drops_is_gone() {
        let trigger = "CREATE TABLE b (id uuid); CREATE TRIGGER t AFTER INSERT ON b EXECUTE FUNCTION f();";
        let schema = schema(&[TABLE, trigger, "DROP TABLE a;\nDROP TRIGGER t ON b;"]);
        assert_eq!(schema.tables.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(schema.tables[0].triggers.is_empty());
    }
}
