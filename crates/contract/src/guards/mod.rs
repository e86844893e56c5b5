//! Rules that every entry of the lists keeps, whoever adds it. What the
//! compiler can hold is held by [`crate::EndpointInfo::assert_sound`] instead.

mod events;
mod names;
mod payloads;
mod source;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use crate::{Channel, Endpoint, EndpointInfo};

/// An endpoint as the rules see it: each schema holds all that it refers to.
struct Entry {
    info: EndpointInfo,
    path: Value,
    query: Value,
    body: Value,
    response: Value,
    answers_with_page: bool,
}

fn endpoints() -> Vec<Entry> {
    let mut all = Vec::new();
    macro_rules! collect {
        ($($endpoint:path),* $(,)?) => { $(all.push(entry::<$endpoint>());)* };
    }
    crate::for_each_endpoint!(collect);
    all
}

fn entry<E: Endpoint>() -> Entry {
    let response = std::any::type_name::<E::Response>();
    Entry {
        info: E::INFO,
        path: request::<E::Path>(),
        query: request::<E::Query>(),
        body: request::<E::Body>(),
        response: answer::<E::Response>(),
        answers_with_page: response.starts_with("contract::page::Page<"),
    }
}

/// Endpoints and channels, for rules about what both have.
fn infos() -> Vec<EndpointInfo> {
    let mut all: Vec<EndpointInfo> = endpoints().iter().map(|it| it.info).collect();
    macro_rules! collect {
        ($($channel:path),* $(,)?) => { $(all.push(<$channel as Channel>::INFO);)* };
    }
    crate::for_each_channel!(collect);
    all
}

fn request<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().for_deserialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn answer<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Fails on the first value that occurs twice.
fn assert_unique<T: Eq + std::hash::Hash + std::fmt::Debug>(values: impl IntoIterator<Item = T>) {
    let mut seen = std::collections::HashSet::new();
    for value in values {
        let shown = format!("{value:?}");
        assert!(seen.insert(value), "{shown} occurs twice");
    }
}

/// Lower-case words with underscores, joined by at least one dot.
fn is_dotted(name: &str) -> bool {
    name.contains('.')
        && name.split('.').all(|word| {
            word.starts_with(|it: char| it.is_ascii_lowercase())
                && word.chars().all(|it| it.is_ascii_lowercase() || it == '_')
        })
}
