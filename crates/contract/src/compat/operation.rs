//! Comparing two versions of one operation.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Direction, Pair, fields, resolve, schema, texts};

pub(super) fn compare<'a>(pair: Pair<'a>, place: &str, before: &'a Value, after: &'a Value, found: &mut Vec<String>) {
    if before["operationId"] != after["operationId"] {
        found.push(format!(
            "{place}: its name {} became {}, which renames it in generated clients",
            before["operationId"], after["operationId"]
        ));
    }
    access(place, before, after, found);
    parameters(pair, place, before, after, found);
    body(pair, place, before, after, found);
    answers(pair, place, before, after, found);
}

/// Who may call: only ever more people.
fn access(place: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    let is_public = |it: &Value| it["security"].as_array().is_some_and(Vec::is_empty);
    if is_public(after) {
        return;
    }
    if is_public(before) {
        found.push(format!("{place}: now asks for credentials"));
        return;
    }
    let who = |it: &Value| {
        let policy = &it["x-policy"];
        let permission = policy["permission"].as_str();
        (policy["auth"].as_str().map(str::to_owned), permission.map(str::to_owned))
    };
    let (before, after) = (who(before), who(after));
    let is_for_everyone = after.0.as_deref() == Some("signed_in");
    if before != after && !is_for_everyone {
        let words = |(auth, permission): (Option<String>, Option<String>)| {
            let auth = auth.unwrap_or_else(|| "unstated".into());
            permission.map_or(auth.clone(), |it| format!("{auth} `{it}`"))
        };
        found.push(format!("{place}: who may call was {} and is now {}", words(before), words(after)));
    }
}

fn parameters<'a>(pair: Pair<'a>, place: &str, before: &'a Value, after: &'a Value, found: &mut Vec<String>) {
    let before = by_name(pair.old, before);
    let after = by_name(pair.new, after);
    for (name, old) in &before {
        match after.get(name) {
            Some(new) => {
                let place = format!("{place} {name}");
                let (old, new) = (&old["schema"], &new["schema"]);
                schema::compare(pair, &place, old, new, Direction::Request, found);
            }
            None => found.push(format!("{place} {name}: is no longer accepted")),
        }
    }
    for (name, new) in &after {
        let was_required = before.get(name).is_some_and(|it| it["required"] == true);
        if new["required"] == true && !was_required {
            found.push(format!("{place} {name}: must now be sent"));
        }
    }
}

/// Parameters by where they are and what they are called. Headers have no case.
fn by_name<'a>(document: &'a Value, operation: &'a Value) -> BTreeMap<String, &'a Value> {
    let list = operation["parameters"].as_array().into_iter().flatten();
    list.map(|it| resolve(document, it))
        .map(|it| {
            let kind = it["in"].as_str().unwrap_or_default();
            let name = it["name"].as_str().unwrap_or_default();
            let name = if kind == "header" { name.to_lowercase() } else { name.to_owned() };
            (format!("{kind} `{name}`"), it)
        })
        .collect()
}

fn body<'a>(pair: Pair<'a>, place: &str, before: &'a Value, after: &'a Value, found: &mut Vec<String>) {
    let place = format!("{place} body");
    let before = resolve(pair.old, &before["requestBody"]);
    let after = resolve(pair.new, &after["requestBody"]);
    if after["required"] == true && before["required"] != true {
        found.push(format!("{place}: must now be sent"));
    }
    contents(pair, &place, before, after, Direction::Request, found);
}

fn answers<'a>(pair: Pair<'a>, place: &str, before: &'a Value, after: &'a Value, found: &mut Vec<String>) {
    for (status, old) in fields(&before["responses"]) {
        let place = format!("{place} {status}");
        match after["responses"].get(status) {
            Some(new) => {
                let (old, new) = (resolve(pair.old, old), resolve(pair.new, new));
                answer(pair, &place, old, new, found);
            }
            None => found.push(format!("{place}: is no longer answered")),
        }
    }
    for (status, _) in fields(&after["responses"]) {
        if status.starts_with('2') && before["responses"].get(status).is_none() {
            found.push(format!("{place} {status}: is a success that clients do not know"));
        }
    }
}

fn answer<'a>(pair: Pair<'a>, place: &str, before: &'a Value, after: &'a Value, found: &mut Vec<String>) {
    let codes: BTreeSet<&str> = texts(&after["x-codes"]).collect();
    for code in texts(&before["x-codes"]).filter(|it| !codes.contains(it)) {
        found.push(format!("{place}: no longer means `{code}`"));
    }
    for (name, _) in fields(&before["headers"]) {
        if after["headers"].get(name).is_none() {
            found.push(format!("{place}: the header `{name}` is gone"));
        }
    }
    contents(pair, place, before, after, Direction::Answer, found);
}

fn contents<'a>(
    pair: Pair<'a>,
    place: &str,
    before: &'a Value,
    after: &'a Value,
    direction: Direction,
    found: &mut Vec<String>,
) {
    for (media_type, old) in fields(&before["content"]) {
        match after["content"].get(media_type) {
            Some(new) => schema::compare(pair, place, &old["schema"], &new["schema"], direction, found),
            None => found.push(format!("{place}: `{media_type}` is gone")),
        }
    }
}
