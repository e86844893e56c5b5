//! `models.py`: a dataclass for everything with fields, a name for every other
//! schema. What a newer server adds is kept by their base, `Model`.

use std::fmt::Write;

use serde_json::Value;

use super::{
    NOTE, names, prose, quoted,
    schema::{Side, Types, is_model, is_required, optional},
};

const HEAD: &str = "\
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from gpuaas._model import Model
from gpuaas._secret import Secret
";

pub fn module(document: &Value) -> String {
    let mut text = format!("\"\"\"What the API takes and answers.\n\n{NOTE}\n\"\"\"\n\n{HEAD}");
    let empty = serde_json::Map::new();
    let schemas = document["components"]["schemas"].as_object().unwrap_or(&empty);
    let types = Types { document, prefix: "", side: Side::Received };
    let names: Vec<String> = schemas.keys().map(|name| format!("    {},\n", quoted(name))).collect();
    let _ = write!(text, "\n__all__ = [\n{}]\n\n", names.concat());
    for (name, schema) in schemas.iter().filter(|(_, schema)| !is_model(schema)) {
        if let Some(about) = schema["description"].as_str() {
            comment(&mut text, "", about);
        }
        let _ = writeln!(text, "{name}: TypeAlias = {}", optional(types.kind(schema)));
    }
    for (name, schema) in schemas.iter().filter(|(_, schema)| is_model(schema)) {
        class(&mut text, &types, name, schema);
    }
    text
}

fn class(text: &mut String, types: &Types, name: &str, schema: &Value) {
    let about = schema["description"].as_str().map(prose).unwrap_or_else(|| format!("See the API's `{name}`."));
    let _ = write!(text, "\n\n@dataclass(kw_only=True)\nclass {name}(Model):\n    \"\"\"{about}\"\"\"\n");
    let Some(fields) = schema["properties"].as_object() else { return };
    text.push('\n');
    let required = |name: &&String| is_required(schema, name);
    for field in fields.keys().filter(required).chain(fields.keys().filter(|name| !required(name))) {
        let of = &fields[field];
        let mut kind = types.kind(of);
        let default = if is_required(schema, field) { "" } else { " = None" };
        kind.nullable |= !default.is_empty();
        if let Some(about) = of["description"].as_str() {
            comment(text, "    ", about);
        }
        let _ = writeln!(text, "    {}: {}{default}", names::safe(field), optional(kind));
    }
}

fn comment(text: &mut String, indent: &str, about: &str) {
    for line in about.lines() {
        let _ = writeln!(text, "{}", format!("{indent}# {line}").trim_end());
    }
}
