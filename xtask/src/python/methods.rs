//! One endpoint as a Python method: its parameters, its call, its answer.

use std::fmt::Write;

use serde_json::Value;

use super::{
    names,
    parameters::{JSON, Parameter, ParameterLocation, in_address, in_body, keep_apart, media},
    prose, quoted,
    schema::resolve,
};

/// Answers that can do things: classes written by hand take their location.
const HANDLES: &[&str] = &["Allocation"];

/// Whether the program waits for an answer or awaits it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Waiting,
    Awaiting,
}

impl Face {
    pub fn prefix(self) -> &'static str {
        if self == Face::Waiting { "" } else { "Async" }
    }
}

pub struct Method {
    pub name: String,
    pub operation: String,
    verb: String,
    path: String,
    about: String,
    parameters: Vec<Parameter>,
    needs_key: bool,
    repeatable: bool,
    /// What the body is, if there is one.
    media: Option<String>,
    answer: Answer,
}

enum Answer {
    Nothing,
    One(String),
    Pages(String),
    /// Not JSON: its media type, and the Python type that holds it.
    Raw(String, &'static str),
}

impl Method {
    pub fn read(document: &Value, path: &str, verb: &str, operation: &Value, tag: &str) -> Self {
        let id = operation["operationId"].as_str().unwrap_or_default();
        let idempotency = operation["x-policy"]["idempotency"].as_str().unwrap_or_default();
        let answer = answer(document, operation);
        let mut parameters = in_address(document, path, operation, tag);
        parameters.retain(|it| !(matches!(answer, Answer::Pages(_)) && it.name == "cursor"));
        parameters.extend(in_body(document, operation));
        keep_apart(&mut parameters);
        let texts = ["summary", "description"].map(|part| operation[part].as_str().map(prose).unwrap_or_default());
        Self {
            name: names::method(id, tag),
            operation: id.to_owned(),
            verb: verb.to_uppercase(),
            path: path.to_owned(),
            about: texts.join("\n\n").trim().to_owned(),
            parameters,
            needs_key: idempotency.starts_with("key required"),
            media: media(operation),
            repeatable: !idempotency.starts_with("exempt"),
            answer,
        }
    }

    pub fn written(&self, face: Face) -> String {
        let mut text = format!("\n    {} {}(self", self.keyword(face), self.name);
        for it in self.positional() {
            let _ = write!(text, ", {}: {}", it.python, it.kind);
        }
        if self.named().next().is_some() || self.needs_key {
            text.push_str(", *");
        }
        for it in self.named().filter(|it| it.required) {
            let _ = write!(text, ", {}: {}", it.python, it.kind);
        }
        for it in self.named().filter(|it| !it.required) {
            let _ = write!(text, ", {}: {} = None", it.python, it.kind);
        }
        if self.needs_key {
            text.push_str(", idempotency_key: str | None = None");
        }
        let _ = writeln!(text, ") -> {}:", self.returned(face));
        let _ = write!(text, "        \"\"\"{}\n        \"\"\"\n", self.docstring());
        let _ = writeln!(text, "        call = Call(\n{}        )", self.call());
        let _ = writeln!(text, "        {}", self.sent(face));
        text
    }

    fn positional(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|it| it.location == ParameterLocation::Path)
    }

    fn named(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|it| it.location != ParameterLocation::Path)
    }

    fn keyword(&self, face: Face) -> &'static str {
        let at_once = matches!(&self.answer, Answer::Pages(_)) || self.handle().is_some();
        if face == Face::Waiting || at_once { "def" } else { "async def" }
    }

    fn handle(&self) -> Option<&str> {
        match &self.answer {
            Answer::One(name) if HANDLES.contains(&name.as_str()) => Some(name),
            _ => None,
        }
    }

    fn returned(&self, face: Face) -> String {
        let prefix = face.prefix();
        match &self.answer {
            Answer::Nothing => "None".to_owned(),
            Answer::Raw(_, python) => (*python).to_owned(),
            Answer::Pages(item) => format!("{prefix}Pages[{}]", class(item, face)),
            Answer::One(name) if self.handle().is_some() && face == Face::Awaiting => format!("Pending{name}"),
            Answer::One(name) => class(name, face),
        }
    }

    fn sent(&self, face: Face) -> String {
        let wait = if face == Face::Waiting { "" } else { "await " };
        match &self.answer {
            Answer::Nothing => format!("{wait}self._client.send(call, None)"),
            Answer::Raw(_, python) => format!("return {wait}self._client.send(call, {python})"),
            Answer::Pages(item) => format!("return {}Pages(self._client, call, {})", face.prefix(), class(item, face)),
            Answer::One(name) => match (self.handle(), face) {
                (Some(_), Face::Waiting) => format!("return self._client.send(call, {name}).bound(self._client)"),
                (Some(_), Face::Awaiting) => format!("return Pending{name}(self._client, call)"),
                (None, _) => format!("return {wait}self._client.send(call, {})", class(name, face)),
            },
        }
    }

    fn docstring(&self) -> String {
        let mut text = self.about.clone();
        for it in self.parameters.iter().filter(|it| !it.about.is_empty()) {
            let _ = write!(text, "\n- `{}`: {}", it.python, it.about);
        }
        text = text.replacen("\n- ", "\n\n- ", 1);
        text.lines()
            .map(|line| format!("        {line}").trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
            .trim()
            .to_owned()
    }

    fn call(&self) -> String {
        let mut text =
            format!("            {}, {}, {},\n", quoted(&self.operation), quoted(&self.verb), quoted(&self.path));
        let of = |locations: &[ParameterLocation], required: Option<bool>| -> Vec<String> {
            let those = self.parameters.iter().filter(|it| locations.contains(&it.location));
            let those = those.filter(|it| required.is_none_or(|wanted| it.required == wanted));
            those.map(|it| format!("{}: {}", quoted(&it.name), it.value())).collect()
        };
        let path = of(&[ParameterLocation::Path, ParameterLocation::Organization, ParameterLocation::Project], None);
        if !path.is_empty() {
            let _ = writeln!(text, "            path={{{}}},", path.join(", "));
        }
        let query = of(&[ParameterLocation::Query], None);
        if !query.is_empty() {
            let _ = writeln!(text, "            query=given({{{}}}),", query.join(", "));
        }
        let (needed, wished) =
            (of(&[ParameterLocation::Body], Some(true)), of(&[ParameterLocation::Body], Some(false)));
        if let Some(media) = self.media.as_ref().filter(|it| *it != JSON) {
            let _ = writeln!(text, "            content=content, content_type={},", quoted(media));
        } else if self.media.is_some() {
            let wished = if wished.is_empty() { String::new() } else { format!("**given({{{}}})", wished.join(", ")) };
            let parts: Vec<String> = needed.into_iter().chain((!wished.is_empty()).then_some(wished)).collect();
            let _ = writeln!(text, "            body={{{}}},", parts.join(", "));
        }
        if self.needs_key {
            text.push_str("            key=key_or_new(idempotency_key),\n");
        }
        if !self.repeatable {
            text.push_str("            repeatable=False,\n");
        }
        if let Answer::Raw(media, _) = &self.answer {
            let _ = writeln!(text, "            accept={},", quoted(media));
        }
        text
    }
}

fn class(name: &str, face: Face) -> String {
    if HANDLES.contains(&name) { format!("{}{name}", face.prefix()) } else { format!("m.{name}") }
}

fn answer(document: &Value, operation: &Value) -> Answer {
    let empty = serde_json::Map::new();
    let responses = operation["responses"].as_object().unwrap_or(&empty);
    let success = responses.iter().find(|(status, _)| status.starts_with('2')).map(|(_, it)| it);
    let Some(contents) = success.and_then(|it| it["content"].as_object()) else { return Answer::Nothing };
    let Some(json) = contents.get(JSON) else {
        let media = contents.keys().next().cloned().unwrap_or_default();
        let python = if media.starts_with("text/") { "str" } else { "bytes" };
        return Answer::Raw(media, python);
    };
    let name = json["schema"]["$ref"].as_str().and_then(|it| it.rsplit('/').next()).unwrap_or("Nothing");
    if name == "Nothing" {
        return Answer::Nothing;
    }
    let fields = &resolve(document, &json["schema"])["properties"];
    match fields["items"]["items"]["$ref"].as_str().and_then(|it| it.rsplit('/').next()) {
        Some(item) if fields["next_cursor"].is_object() => Answer::Pages(item.to_owned()),
        _ => Answer::One(name.to_owned()),
    }
}
