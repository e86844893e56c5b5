//! The AsyncAPI 3.0.0 document: every event that is published, and every
//! WebSocket of the API.

use serde_json::{Map, Value, json};

use crate::{Channel, Envelope, Event, schemas::Schemas, wording};

const ABOUT: &str = "Events, delivered at least once and in order per resource: de-duplicate by `message_id`. \
    WebSockets of the API, opened with the same credentials as its endpoints.";

/// Builds the document. Equal contracts give equal text, whatever the order of builds.
pub fn document() -> Value {
    let mut builder = Builder::new();
    macro_rules! add_events {
        ($($event:path),* $(,)?) => { $(builder.add_event::<$event>();)* };
    }
    macro_rules! add_channels {
        ($($channel:path),* $(,)?) => { $(builder.add_channel::<$channel>();)* };
    }
    crate::for_each_event!(add_events);
    crate::for_each_channel!(add_channels);
    let mut document = builder.finish();
    document.sort_all_objects();
    document
}

struct Builder {
    schemas: Schemas,
    channels: Map<String, Value>,
    operations: Map<String, Value>,
    messages: Map<String, Value>,
}

/// From where the server stands.
#[derive(Clone, Copy)]
enum Action {
    Send,
    Receive,
}

impl Builder {
    fn new() -> Self {
        Self { schemas: Schemas::asyncapi(), channels: Map::new(), operations: Map::new(), messages: Map::new() }
    }

    fn add_event<E: Event>(&mut self) {
        let info = E::INFO;
        let payload = json!({
            "allOf": [
                { "$ref": "#/components/schemas/Envelope" },
                {
                    "type": "object",
                    "properties": {
                        "subject": { "const": info.subject },
                        "data": self.schemas.answer::<E>(),
                    },
                    "required": ["subject", "data"],
                },
            ],
        });
        let channel = json!({
            "address": info.subject,
            "title": info.subject,
            "summary": wording::summary(info.about),
        });
        self.channels.insert(info.subject.into(), channel);
        self.add_message(info.subject, info.subject, info.about, payload);
        let operation = format!("publish.{}", info.subject);
        self.add_operation(&operation, Action::Send, info.subject, info.subject);
    }

    fn add_channel<C: Channel>(&mut self) {
        let info = C::INFO;
        let name = info.operation;
        let query = self.schemas.fields::<C::Query>();
        let channel = json!({
            "address": info.path,
            "title": name,
            "summary": wording::summary(info.about),
            "description": format!("Who may connect: {}.", wording::auth(info.policy.auth)),
            "parameters": self.path_parameters::<C>(),
            "bindings": {
                "ws": {
                    "method": "GET",
                    "query": { "type": "object", "properties": query.properties, "required": query.required },
                    "bindingVersion": "0.1.0",
                },
            },
            "x-policy": wording::policy(&info.policy),
        });
        self.channels.insert(name.into(), channel);
        let (from, to) = (format!("{name}.request"), format!("{name}.frame"));
        let request = self.schemas.request::<C::FromClient>();
        let frame = self.schemas.answer::<C::ToClient>();
        self.add_message(name, &from, &[" What a client may say."], request);
        self.add_message(name, &to, &[" What the server says."], frame);
        self.add_operation(&format!("{name}.listen"), Action::Receive, name, &from);
        self.add_operation(&format!("{name}.tell"), Action::Send, name, &to);
    }

    fn path_parameters<C: Channel>(&mut self) -> Map<String, Value> {
        let fields = self.schemas.fields::<C::Path>();
        let about = |name: &String| {
            let text = fields.properties[name]["description"].as_str();
            text.map_or_else(|| format!("The `{name}` of the path."), str::to_owned)
        };
        fields.properties.keys().map(|name| (name.clone(), json!({ "description": about(name) }))).collect()
    }

    fn add_message(&mut self, channel: &str, name: &str, about: &[&'static str], payload: Value) {
        let mut message = json!({
            "name": name,
            "title": name,
            "summary": wording::summary(about),
            "contentType": "application/json",
            "payload": payload,
        });
        let more = wording::paragraphs(about);
        if !more.is_empty() {
            message["description"] = json!(more.join("\n\n"));
        }
        self.messages.insert(name.into(), message);
        let reference = json!({ "$ref": format!("#/components/messages/{name}") });
        self.channels[channel]["messages"][name] = reference;
    }

    fn add_operation(&mut self, name: &str, action: Action, channel: &str, message: &str) {
        let operation = json!({
            "action": match action { Action::Send => "send", Action::Receive => "receive" },
            "channel": { "$ref": format!("#/channels/{channel}") },
            "messages": [{ "$ref": format!("#/channels/{channel}/messages/{message}") }],
        });
        self.operations.insert(name.into(), operation);
    }

    fn finish(mut self) -> Value {
        let envelope = self.schemas.inline_answer::<Envelope<Value>>();
        let mut schemas = self.schemas.finish();
        schemas.insert("Envelope".into(), envelope);
        json!({
            "asyncapi": "3.0.0",
            "info": {
                "title": "gpuaas",
                "description": ABOUT,
                "version": env!("CARGO_PKG_VERSION"),
                "license": { "name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0" },
            },
            "defaultContentType": "application/json",
            "channels": self.channels,
            "operations": self.operations,
            "components": { "messages": self.messages, "schemas": schemas },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk;

    #[test]
    fn every_event_has_a_channel_a_message_and_an_operation() {
        let document = document();
        macro_rules! check {
            ($($event:path),* $(,)?) => { $({
                let subject = <$event>::INFO.subject;
                assert_eq!(document["channels"][subject]["address"], subject);
                assert_eq!(document["components"]["messages"][subject]["name"], subject);
                assert_eq!(document["operations"][format!("publish.{subject}")]["action"], "send");
            })* };
        }
        crate::for_each_event!(check);
    }

    #[test]
    fn a_web_socket_both_receives_and_sends() {
        let document = document();
        let operations = &document["operations"];
        assert_eq!(operations["WatchEvents.listen"]["action"], "receive");
        assert_eq!(operations["WatchEvents.tell"]["action"], "send");
        let channel = &document["channels"]["WatchEvents"];
        assert_eq!(channel["messages"].as_object().unwrap().len(), 2);
        assert!(channel["parameters"].get("organization_id").is_some());
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_schema_is_used() {
        let document = document();
        let used = walk::references(&document);
        for target in &used {
            let pointer = target.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{target}");
        }
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            let address = format!("#/components/schemas/{name}");
            assert!(used.contains(&address), "{address} is unused");
        }
    }
}
