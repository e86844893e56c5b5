//! The OpenAPI 3.0.3 document of every endpoint. Channels are only named
//! here; [`crate::asyncapi`] describes them.

mod operation;
mod responses;
mod statuses;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::{Channel, Endpoint, Problem, schemas::Schemas};

pub use statuses::statuses;

const ABOUT: &str = "A GPU cloud you own. Every error is a problem with a stable `code` and advice on what to \
    do next.";

/// Builds the document. Equal contracts give equal text, whatever the order of builds.
pub fn document() -> Value {
    let mut builder = Builder::new();
    macro_rules! add_endpoints {
        ($($endpoint:path),* $(,)?) => { $(builder.add_endpoint::<$endpoint>();)* };
    }
    macro_rules! add_channels {
        ($($channel:path),* $(,)?) => { $(builder.add_channel::<$channel>();)* };
    }
    crate::for_each_endpoint!(add_endpoints);
    crate::for_each_channel!(add_channels);
    let mut document = builder.finish();
    document.sort_all_objects();
    document
}

struct Builder {
    schemas: Schemas,
    paths: Map<String, Value>,
    responses: Map<String, Value>,
    tags: BTreeSet<&'static str>,
    channels: Vec<Value>,
}

impl Builder {
    fn new() -> Self {
        Self {
            schemas: Schemas::openapi(),
            paths: Map::new(),
            responses: Map::new(),
            tags: BTreeSet::new(),
            channels: Vec::new(),
        }
    }

    fn add_endpoint<E: Endpoint>(&mut self) {
        let info = E::INFO;
        let operation = operation::describe::<E>(&mut self.schemas);
        for codes in statuses(&info).values() {
            let (name, response) = responses::problem(codes);
            self.responses.insert(name, response);
        }
        let verb = info.verb.as_str().to_lowercase();
        self.tags.insert(info.tag());
        self.paths
            .entry(info.path)
            .or_insert_with(|| json!({}))
            .as_object_mut()
            .expect("inserted as an object")
            .insert(verb, operation);
    }

    fn add_channel<C: Channel>(&mut self) {
        self.channels.push(json!({
            "operation": C::INFO.operation,
            "path": C::INFO.path,
            "summary": operation::summary(&C::INFO),
        }));
    }

    fn finish(mut self) -> Value {
        self.schemas.answer::<Problem>();
        let tags: Vec<Value> = self.tags.iter().map(|it| json!({ "name": it })).collect();
        json!({
            "openapi": "3.0.3",
            "info": {
                "title": "gpuaas",
                "description": ABOUT,
                "version": env!("CARGO_PKG_VERSION"),
                "license": { "name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0" },
            },
            "servers": [{ "url": "/", "description": "The server that serves this document." }],
            "tags": tags,
            "paths": self.paths,
            "components": {
                "schemas": self.schemas.finish(),
                "parameters": { operation::IDEMPOTENCY_KEY: operation::idempotency_key() },
                "headers": responses::headers(),
                "responses": self.responses,
                "securitySchemes": {
                    "bearer": {
                        "type": "http",
                        "scheme": "bearer",
                        "description": "An access token of a session, or the secret of a key.",
                    },
                },
            },
            "x-channels": self.channels,
        })
    }
}

#[cfg(test)]
mod tests;
