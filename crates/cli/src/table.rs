//! Tables for people, drawn from the API's JSON by the names of its fields.

use std::fmt::Display;

use comfy_table::{ContentArrangement, Table, presets};
use contract::Timestamp;
use serde_json::Value;

use crate::moments;

/// The fields that a list shows, in order; the first one names the row.
pub type Columns = &'static [&'static str];

/// Names columns of a payload; one that the contract lacks does not compile.
macro_rules! columns {
    ($item:ty: $($field:ident),+ $(,)?) => {{
        const _: fn(&$item) = |it| {
            $(let _ = &it.$field;)+
        };
        &[$(stringify!($field)),+]
    }};
}
pub(crate) use columns;

/// One row per item under a line of headings.
pub fn rows(items: &[Value], columns: Columns, now: Timestamp) -> String {
    let mut table = empty();
    table.set_header(columns.iter().map(|it| heading(it)));
    for item in items {
        table.add_row(columns.iter().map(|it| cell(it, &item[*it], now)));
    }
    drawn(table)
}

/// One line per field of a single item.
pub fn fields(item: &Value, now: Timestamp) -> String {
    let mut table = empty();
    let mut lines = Vec::new();
    flatten("", item, &mut lines);
    lines.sort_by(|(one, _), (other, _)| place(one).cmp(&place(other)));
    for (name, value) in &lines {
        let text = match (moment(name, value), amount(name, value)) {
            (Some(at), _) => moments::exact(at, now),
            (None, Some(amount)) => amount,
            (None, None) => plain(value),
        };
        table.add_row([name.replace("_micros", ""), text]);
    }
    drawn(table)
}

/// Within each part, what names the thing comes first and times come last.
fn place(name: &str) -> (&str, usize, &str) {
    const FIRST: &[&str] = &["id", "user_id", "key", "name", "email", "value", "state", "role"];
    let (part, field) = name.rsplit_once('.').unwrap_or(("", name));
    let rank = FIRST.iter().position(|it| *it == field).unwrap_or(FIRST.len());
    (part, if is_moment(field) { FIRST.len() + 1 } else { rank }, field)
}

fn flatten<'a>(prefix: &str, value: &'a Value, lines: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&name, value, lines);
            }
        }
        // Things in a list are counted as people count.
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
            for (place, item) in items.iter().enumerate() {
                flatten(&format!("{prefix}.{}", place + 1), item, lines);
            }
        }
        leaf => lines.push((prefix.to_owned(), leaf)),
    }
}

fn empty() -> Table {
    let mut table = Table::new();
    // Long rows run past the edge: wrapped ones can be neither read nor searched.
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn drawn(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

fn heading(field: &str) -> String {
    let word = field.strip_suffix("_at").or_else(|| field.strip_suffix("_id")).unwrap_or(field);
    word.replace("_micros", "").replace('_', " ").to_uppercase()
}

/// More of a value than this makes a row hard to read; `get` and JSON have all of it.
const CELL_CHARACTERS: usize = 80;
const CELL_ITEMS: usize = 3;

fn cell(field: &str, value: &Value, now: Timestamp) -> String {
    if let Some(at) = moment(field, value) {
        return moments::relative(at, now);
    }
    if let Some(amount) = amount(field, value) {
        return amount;
    }
    if let Value::Array(items) = value
        && items.len() > CELL_ITEMS
        && !items.iter().all(Value::is_number)
    {
        let shown = plain(&Value::from(&items[..CELL_ITEMS]));
        return format!("{shown} +{}", items.len() - CELL_ITEMS);
    }
    let text = plain(value);
    match text.char_indices().nth(CELL_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn moment(field: &str, value: &Value) -> Option<Timestamp> {
    let last = field.rsplit('.').next().unwrap_or(field);
    if !is_moment(last) {
        return None;
    }
    value.as_str()?.parse().ok()
}

fn is_moment(field: &str) -> bool {
    field == "at" || ["_at", "_since", "_until"].iter().any(|it| field.ends_with(it))
}

/// A count with its noun: `1 seal`, `2 seals`.
pub fn counted<T: Display + PartialEq + From<u8>>(count: T, one: &str, many: &str) -> String {
    let noun = if count == T::from(1) { one } else { many };
    format!("{count} {noun}")
}

/// Millionths as people write amounts.
fn amount(field: &str, value: &Value) -> Option<String> {
    if field.contains("_micros") { value.as_i64().map(money) } else { None }
}

/// Millionths with two decimals at least.
pub fn money(micros: i64) -> String {
    const MICROS: u64 = 1_000_000;
    let sign = if micros < 0 { "-" } else { "" };
    let (whole, rest) = (micros.unsigned_abs() / MICROS, micros.unsigned_abs() % MICROS);
    let decimals = format!("{rest:06}");
    let kept = decimals.trim_end_matches('0').len().max(2);
    format!("{sign}{whole}.{}", &decimals[..kept])
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => harmless(text),
        Value::Array(items) if items.is_empty() => "-".into(),
        Value::Array(items) if items.iter().all(|it| it.is_string() || it.is_number()) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) if items.iter().all(Value::is_object) => {
            items.iter().map(plain).collect::<Vec<_>>().join("; ")
        }
        Value::Object(fields) if !fields.is_empty() && fields.values().all(|it| !it.is_object() && !it.is_array()) => {
            let named = |(name, value): (&String, &Value)| {
                let text = amount(name, value).unwrap_or_else(|| plain(value));
                format!("{} {text}", name.replace("_micros", "").replace('_', " "))
            };
            fields.iter().map(named).collect::<Vec<_>>().join(", ")
        }
        other => harmless(&other.to_string()),
    }
}

/// Control characters could move the cursor or color the terminal.
pub fn harmless(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { it.escape_unicode().to_string() } else { it.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use contract::projects::Project;
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-03-01T00:00:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    #[test]
    fn rows_are_aligned_under_their_headings() {
        let items = [
            json!({ "id": "proj-1", "name": "training run", "state": "active", "created_at": "2026-02-28T00:00:00Z" }),
            json!({ "id": "proj-22", "name": "b", "state": "deleted", "created_at": "2026-02-28T23:59:30Z" }),
        ];
        let text = rows(&items, columns!(Project: id, name, state, created_at), now());
        let expected = [
            "ID       NAME          STATE    CREATED",
            "proj-1   training run  active   1d ago",
            "proj-22  b             deleted  30s ago",
        ];
        assert_eq!(text, expected.join("\n"));
    }

    #[test]
    fn values_read_as_words() {
        let item = json!({ "a": null, "b": true, "c": ["x", "y"], "d": [], "e": 7, "f": "x\u{1b}[31m" });
        let text = rows(&[item], &["a", "b", "c", "d", "e", "f", "missing"], now());
        let last = text.lines().last().unwrap();
        assert_eq!(last.split_whitespace().collect::<Vec<_>>(), ["-", "yes", "x,", "y", "-", "7", "x\\u{1b}[31m", "-"]);
        let counts = json!({ "gpu_counts": [1, 2, 4, 8] });
        assert_eq!(rows(&[counts], &["gpu_counts"], now()).lines().last(), Some("1, 2, 4, 8"), "numbers are short");
    }

    #[test]
    fn nested_objects_in_a_row_are_named_values() {
        let item =
            json!({ "wallets": [{ "currency": "USD", "amount_micros": -120_000, "balance_micros": 99_880_000 }] });
        let text = rows(&[item], &["wallets"], now());
        assert_eq!(text.lines().last(), Some("amount -0.12, balance 99.88, currency USD"));
    }

    #[test]
    fn a_long_value_is_cut_in_a_row_and_whole_in_an_item() {
        let item = json!({ "scopes": ["a", "b", "c", "d", "e"], "error": "x".repeat(100) });
        let text = rows(std::slice::from_ref(&item), &["scopes", "error"], now());
        assert_eq!(text.lines().last().unwrap(), format!("a, b, c +2  {}…", "x".repeat(80)));
        let text = fields(&item, now());
        assert!(text.contains(&"x".repeat(100)) && text.contains("a, b, c, d, e"), "{text}");
    }

    #[test]
    fn a_single_item_is_a_line_per_field_from_its_name_to_its_times() {
        let item = json!({
            "created_at": NOW,
            "id": "sa-1",
            "key": { "expires_at": null, "id": "key-1", "scopes": ["projects:read"] },
            "name": "ci",
            "parts": [{ "gpus": ["a", "b"] }, { "gpus": ["c"] }],
            "role": "member",
            "state_since": NOW,
        });
        let expected = [
            "id              sa-1",
            "name            ci",
            "role            member",
            "created_at      2026-03-01 00:00:00 UTC (0s ago)",
            "state_since     2026-03-01 00:00:00 UTC (0s ago)",
            "key.id          key-1",
            "key.scopes      projects:read",
            "key.expires_at  -",
            "parts.1.gpus    a, b",
            "parts.2.gpus    c",
        ];
        assert_eq!(fields(&item, now()), expected.join("\n"));
    }

    #[test]
    fn amounts_are_written_as_people_write_them() {
        let text = |micros: i64| amount("price_micros", &json!(micros)).unwrap();
        assert_eq!([text(2_500_000), text(0), text(1), text(-1_250_000)], ["2.50", "0.00", "0.000001", "-1.25"]);
        assert_eq!(amount("gpus", &json!(8)), None);
        let item = json!({ "price_micros": 2_500_000 });
        assert_eq!(fields(&item, now()), "price  2.50");
    }

    #[test]
    fn headings_say_what_is_in_the_column() {
        assert_eq!(heading("price_micros"), "PRICE");
        assert_eq!(heading("last_used_at"), "LAST USED");
        assert_eq!(heading("organization_id"), "ORGANIZATION");
        assert_eq!(heading("id"), "ID");
        assert_eq!(heading("at"), "AT");
    }
}
