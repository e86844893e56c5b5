//! Writes JSON values as YAML that every parser reads back as the same values.

use serde_json::Value;

pub fn write(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => node(&mut text, value, 0),
        Value::Array(items) if !items.is_empty() => node(&mut text, value, 0),
        leaf => {
            text.push_str(&scalar(leaf));
            text.push('\n');
        }
    }
    text
}

/// Writes a value that is neither a leaf nor empty, its lines indented by `depth`.
fn node(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                indent(text, depth);
                text.push_str(&string(name));
                text.push(':');
                if is_leaf(value) {
                    text.push(' ');
                    text.push_str(&scalar(value));
                    text.push('\n');
                } else {
                    text.push('\n');
                    node(text, value, depth + 1);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                indent(text, depth);
                text.push_str("- ");
                if is_leaf(item) {
                    text.push_str(&scalar(item));
                    text.push('\n');
                } else {
                    // The first line of the item stands behind its dash.
                    let mut inner = String::new();
                    node(&mut inner, item, depth + 1);
                    text.push_str(inner.trim_start_matches(' '));
                }
            }
        }
        leaf => text.push_str(&scalar(leaf)),
    }
}

fn is_leaf(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    }
}

fn indent(text: &mut String, depth: usize) {
    text.push_str(&"  ".repeat(depth));
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(it) => it.to_string(),
        Value::Number(it) => it.to_string(),
        Value::String(it) => string(it),
        Value::Array(_) => "[]".into(),
        Value::Object(_) => "{}".into(),
    }
}

/// Words that some parser takes for something other than text.
const RESERVED: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

fn string(text: &str) -> String {
    let plain = text.starts_with(|it: char| it.is_ascii_alphabetic())
        && text.chars().all(|it| it.is_ascii_alphanumeric() || "_-./@".contains(it))
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str());
    if plain { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for it in text.chars() {
        match it {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            // What YAML does not call printable, and what ends a line in it.
            '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(it)));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nesting_is_written_by_indentation() {
        let value = json!({
            "items": [{ "id": "proj-1", "tags": ["a", "b"], "spec": { "count": 1 } }, [1, [2]], []],
            "next": null,
            "none": {},
        });
        let expected = "items:\n  - id: proj-1\n    spec:\n      count: 1\n    tags:\n      - a\n      - b\n  - - 1\n    - - 2\n  - []\nnext: null\nnone: {}\n";
        assert_eq!(write(&value), expected);
    }

    #[test]
    fn ambiguous_yaml_text_is_quoted() {
        for text in
            ["", "yes", "No", "NULL", "true", "~", "1", "1.5", "0x10", "1e3", "-", "- a", "a: b", "a #b", " a", "a "]
                .into_iter()
                .chain(["2026-01-02", "{a}", "[a]", "*a", "&a", "!a", "%a", "|", ">", "'a'", ".inf", ".nan", "a,b"])
        {
            assert_eq!(string(text), format!("\"{text}\""));
        }
        for text in ["proj-01k", "name@example.com", "projects/read", "a.b_c", "nothing"] {
            assert_eq!(string(text), text);
        }
    }

    #[test]
    fn yaml_text_cannot_break_out_of_its_quotes_or_line() {
        assert_eq!(string("a\"b\\c\nd\te\r\0\u{85}\u{2028}é"), "\"a\\\"b\\\\c\\nd\\te\\u000d\\u0000\\u0085\\u2028é\"");
    }

    #[test]
    fn a_single_yaml_value_is_one_line() {
        assert_eq!(write(&json!([])), "[]\n");
        assert_eq!(write(&json!("a b")), "\"a b\"\n");
        assert_eq!(write(&json!([1])), "- 1\n");
    }
}
