//! `resources.py` and `async_resources.py`: a class for each resource, and the
//! base of the client that holds one of each.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use super::{
    NOTE,
    methods::{Face, Method},
    names,
};

/// What is written by hand and a resource has besides its endpoints.
const MORE: &[(&str, &str)] = &[("events", "EventFollowing")];

pub fn module(document: &Value, face: Face) -> String {
    let mut resources: BTreeMap<&str, Vec<Method>> = BTreeMap::new();
    let empty = serde_json::Map::new();
    for (path, item) in document["paths"].as_object().unwrap_or(&empty) {
        for (verb, operation) in item.as_object().unwrap_or(&empty) {
            let tag = operation["tags"][0].as_str().unwrap_or("other");
            resources.entry(tag).or_default().push(Method::read(document, path, verb, operation, tag));
        }
    }
    let mut text = head(face);
    for (tag, methods) in &mut resources {
        keep_apart(methods);
        let more = MORE.iter().find(|(of, _)| of == tag);
        let bases = more.map_or(String::new(), |(_, base)| format!("{}{base}, ", face.prefix()));
        let class = names::class(tag);
        let _ = write!(text, "\n\nclass {class}({bases}{}Resource):\n", face.prefix());
        let _ = writeln!(text, "    \"\"\"The endpoints of `{tag}`.\"\"\"");
        for method in methods {
            text.push_str(&method.written(face));
        }
    }
    let _ = write!(text, "\n\nclass {}Resources:\n    \"\"\"Everything that a client offers.\"\"\"\n\n", face.prefix());
    let _ = writeln!(text, "    def __init__(self, client: {}Client) -> None:", face.prefix());
    for tag in resources.keys() {
        let _ = writeln!(text, "        self.{} = {}(client)", names::safe(tag), names::class(tag));
    }
    text
}

fn head(face: Face) -> String {
    let (prefix, pages, pending) = match face {
        Face::Waiting => ("", "Pages", ""),
        Face::Awaiting => ("Async", "AsyncPages", ", PendingAllocation"),
    };
    let client = if face == Face::Waiting { "client" } else { "async_client" };
    format!(
        "\"\"\"One method for each endpoint.\n\n{NOTE}\n\"\"\"\n
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from gpuaas._allocation import {prefix}Allocation{pending}
from gpuaas._call import Call, InOrganization, InProject, given, key_or_new
from gpuaas._follow import {prefix}EventFollowing
from gpuaas._generated import models as m
from gpuaas._pages import {pages}
from gpuaas._resource import {prefix}Resource
from gpuaas._secret import Secret

if TYPE_CHECKING:
    from gpuaas.{client} import {prefix}Client
"
    )
}

/// Two endpoints whose short names are the same keep their long ones.
fn keep_apart(methods: &mut [Method]) {
    let short: Vec<String> = methods.iter().map(|method| method.name.clone()).collect();
    for method in methods {
        if short.iter().filter(|name| **name == method.name).count() > 1 {
            method.name = names::method(&method.operation, "");
        }
    }
}
