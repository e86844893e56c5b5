//! The page about the schema: for each table its purpose, who sees its rows, and
//! what guards it.

use std::collections::BTreeSet;

use super::{Area, Function, Schema, Table, Trigger};

pub const PAGE: &str = "docs/generated/schema.md";

const APPEND_ONLY: &str = "forbid_change";
const LIFECYCLE: &str = "guard_state";

pub fn document(schema: &Schema) -> String {
    let mut out = String::from(
        "# Schema\n\nWritten from `migrations/` by `make generate`; do not edit.\n\n\
         `Rows` says which roles pass row-level security, besides the system role, which passes everywhere; \
         the policies say which rows each of them sees. A table without row-level security says why it holds \
         no tenant data. `Guards` lists the triggers, which run for every writer.\n",
    );
    out += &immutable(schema);
    for area in &schema.areas {
        out += &section(schema, area);
    }
    out
}

/// Tables of which rows are never updated or deleted.
fn immutable(schema: &Schema) -> String {
    let tables = schema.tables.iter().filter(|table| table.triggers.iter().any(forbids_update));
    let names: Vec<String> = tables.map(|table| format!("`{}`", table.name)).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("\nAppend-only, also for the owner and for a superuser: {}.\n", names.join(", ")),
    }
}

fn forbids_update(trigger: &Trigger) -> bool {
    trigger.function == APPEND_ONLY && trigger.moment.contains("update")
}

fn section(schema: &Schema, area: &Area) -> String {
    let tables: Vec<&Table> = schema.tables.iter().filter(|table| table.path == area.path).collect();
    if tables.is_empty() {
        return String::new();
    }
    let file = area.path.rsplit('/').next().unwrap_or(&area.path);
    let title = file.split('.').next().unwrap_or(file).trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
    let mut out = format!(
        "\n## {}\n\n{} In [`{file}`](../../{}).\n\n| Table | Purpose | Rows | Guards |\n|---|---|---|---|\n",
        capitalized(title),
        area.about,
        area.path
    );
    for table in tables {
        let purpose = table.purpose.as_deref().unwrap_or_default();
        let cells = [format!("`{}`", table.name), purpose.to_owned(), rows(table), guards(schema, table)];
        out += &format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    out
}

fn capitalized(title: &str) -> String {
    let mut letters = title.replace('_', " ").chars().collect::<Vec<_>>();
    if let Some(first) = letters.first_mut() {
        first.make_ascii_uppercase();
    }
    letters.into_iter().collect()
}

fn rows(table: &Table) -> String {
    if let Some(why) = &table.not_tenant_data {
        return format!("no tenant data: {why}");
    }
    let roles = table.policies.iter().filter(|(role, _)| *role != "system");
    let roles: Vec<String> = roles
        .map(|(role, commands)| match commands.iter().all(|it| it == "select") {
            true => format!("{role} (reads)"),
            false => role.clone(),
        })
        .collect();
    if roles.is_empty() { "system only".to_owned() } else { roles.join(", ") }
}

fn guards(schema: &Schema, table: &Table) -> String {
    let mut said = Vec::new();
    if let Some(sentence) = append_only(table) {
        said.push(sentence);
    }
    for trigger in table.triggers.iter().filter(|it| it.function == LIFECYCLE) {
        let name = trigger.argument.as_deref().unwrap_or_default();
        said.push(format!("lifecycle [{name}](lifecycles.md#{name})"));
    }
    let mut seen = BTreeSet::new();
    let others = table.triggers.iter().filter(|it| ![LIFECYCLE, APPEND_ONLY].contains(&it.function.as_str()));
    for trigger in others.filter(|it| seen.insert(it.function.clone())) {
        let purpose = purpose(&schema.trigger_functions, &trigger.function);
        said.push(format!("`{}` {}: {purpose}", trigger.function, moments(table, &trigger.function)));
    }
    said.join("<br>")
}

fn append_only(table: &Table) -> Option<String> {
    let triggers = || table.triggers.iter().filter(|it| it.function == APPEND_ONLY);
    let refused: Vec<&str> =
        ["update", "delete", "truncate"].into_iter().filter(|it| triggers().any(|t| t.moment.contains(it))).collect();
    if refused.is_empty() {
        return None;
    }
    let expiry = if triggers().any(|it| it.argument.is_some()) { ", except by expiry" } else { "" };
    Some(format!("no {}{expiry}", refused.join(", ")))
}

/// When a function runs, over all triggers of a table.
fn moments(table: &Table, function: &str) -> String {
    let all = table.triggers.iter().filter(|it| it.function == function);
    let mut out: Vec<&str> = Vec::new();
    for trigger in all {
        let moment = match out.is_empty() {
            true => trigger.moment.as_str(),
            // The first said before or after.
            false => trigger.moment.split_once(' ').map_or("", |(_, event)| event),
        };
        out.push(moment);
    }
    out.join(" or ")
}

fn purpose<'a>(functions: &'a [Function], name: &str) -> &'a str {
    let function = functions.iter().find(|it| it.name == name);
    function.and_then(|it| it.purpose.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::File;

    #[test]
    fn a_table_is_shown_with_purpose_rows_and_guards() {
        let script = "-- Notes of people.

            CREATE FUNCTION tell() RETURNS trigger AS $$ SELECT 1 $$;
            COMMENT ON FUNCTION tell() IS 'Wakes readers.';
            CREATE TABLE notes (id uuid);
            COMMENT ON TABLE notes IS 'Notes | of people.';
            CALL tenant_table('notes', 'SELECT');
            CREATE TRIGGER g BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION guard_state('note');
            CREATE TRIGGER a BEFORE DELETE ON notes FOR EACH ROW EXECUTE FUNCTION forbid_change('may_expire');
            CREATE TRIGGER t AFTER INSERT ON notes FOR EACH ROW EXECUTE FUNCTION tell();
            CREATE TRIGGER u AFTER UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION tell();";
        let page = document(&super::super::read(&[File::new("migrations/0009_notes.up.sql", script)]));
        assert!(page.contains("\n## Notes\n\nNotes of people. In [`0009_notes.up.sql`]"), "{page}");
        let row = "| `notes` | Notes \\| of people. | tenant (reads) | no delete, except by expiry<br>\
                   lifecycle [note](lifecycles.md#note)<br>`tell` after insert or update: Wakes readers. |";
        assert!(page.contains(row), "{page}");
        assert!(!page.contains("Append-only"), "rows that may be updated are not immutable: {page}");
    }
}
