//! JSON schemas of the contract's types, in the dialect of each document.

use std::collections::{BTreeMap, BTreeSet};

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value, json};

/// Collects the schemas of requests and of answers. They differ: a request
/// refuses unknown fields and may leave optional ones out, an answer is open
/// and always has its fields.
pub(crate) struct Schemas {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

/// The fields of a struct whose values travel one by one: a path or a query.
#[derive(Default)]
pub(crate) struct Fields {
    pub properties: BTreeMap<String, Value>,
    pub required: BTreeSet<String>,
}

impl Schemas {
    /// As OpenAPI 3.0 has them: `nullable` instead of a null type, no `const`,
    /// nothing beside a `$ref`.
    pub fn openapi() -> Self {
        Self::new(
            SchemaSettings::openapi3()
                .with_transform(RecursiveTransform(use_known_formats))
                .with_transform(RecursiveTransform(simplify_null)),
        )
    }

    /// As AsyncAPI 3.0 has them: draft 7, stored where OpenAPI stores them.
    pub fn asyncapi() -> Self {
        let place = "/components/schemas";
        Self::new(SchemaSettings::draft07().with(|it| it.definitions_path = place.into()))
    }

    fn new(dialect: SchemaSettings) -> Self {
        let dialect = dialect.with(|it| it.meta_schema = None).with_transform(RecursiveTransform(drop_null_defaults));
        Self {
            requests: dialect.clone().for_deserialize().into_generator(),
            answers: dialect.for_serialize().with_transform(RecursiveTransform(admit_new_fields)).into_generator(),
        }
    }

    pub fn request<T: JsonSchema>(&mut self) -> Value {
        let schema = self.requests.subschema_for::<T>();
        translate(&mut self.requests, schema)
    }

    pub fn answer<T: JsonSchema>(&mut self) -> Value {
        let schema = self.answers.subschema_for::<T>();
        translate(&mut self.answers, schema)
    }

    /// A schema of an answer in place, for types whose generated name would mislead.
    pub fn inline_answer<T: JsonSchema>(&mut self) -> Value {
        let schema = T::json_schema(&mut self.answers);
        translate(&mut self.answers, schema)
    }

    /// The fields of a path or query type, none of which can be null.
    pub fn fields<T: JsonSchema>(&mut self) -> Fields {
        let schema = T::json_schema(&mut self.requests);
        let mut fields = Fields::of(translate(&mut self.requests, schema));
        for schema in fields.properties.values_mut() {
            *schema = never_null(schema.take());
        }
        fields
    }

    /// The fields of an answer or an event.
    pub fn answer_fields<T: JsonSchema>(&mut self) -> Fields {
        let mut schema = self.inline_answer::<T>();
        // A transparent type stands for the one it wraps.
        if let Some(name) = wrapped(&schema) {
            schema = self.answers.definitions()[&name].clone();
        }
        Fields::of(schema)
    }

    /// Every named schema that was used.
    pub fn finish(mut self) -> Map<String, Value> {
        let mut all = self.answers.take_definitions(true);
        for (name, request) in self.requests.take_definitions(true) {
            if let Some(answer) = all.get(&name) {
                assert_eq!(
                    *answer, request,
                    "`{name}` means one thing in requests and another in answers: give each a type of its own"
                );
            }
            all.insert(name, request);
        }
        all
    }
}

impl Fields {
    fn of(mut schema: Value) -> Self {
        let properties = match schema["properties"].take() {
            Value::Object(fields) => fields.into_iter().collect(),
            _ => BTreeMap::new(),
        };
        let required = schema["required"].as_array().into_iter().flatten();
        Self { properties, required: required.filter_map(Value::as_str).map(str::to_owned).collect() }
    }
}

fn wrapped(schema: &Value) -> Option<String> {
    let reference = schema.pointer("/allOf/0/$ref").or(schema.get("$ref"))?;
    Some(reference.as_str()?.rsplit('/').next()?.to_owned())
}

fn translate(generator: &mut SchemaGenerator, mut schema: Schema) -> Value {
    for transform in generator.transforms_mut() {
        transform.transform(&mut schema);
    }
    schema.to_value()
}

/// OpenAPI knows two sizes of integer; the bounds say the rest.
fn use_known_formats(schema: &mut Schema) {
    let known = match schema.get("format").and_then(Value::as_str) {
        Some("int8" | "int16" | "uint8" | "uint16") => "int32",
        Some("uint32" | "uint64") => "int64",
        _ => return,
    };
    schema.insert("format".into(), json!(known));
}

/// `nullable` is only allowed beside a `type`, and this says it without one.
fn simplify_null(schema: &mut Schema) {
    if schema.get("enum") == Some(&json!([null])) {
        schema.remove("nullable");
    }
}

/// Leaving a field out already means null; as a default it would make
/// generated clients ask for the field.
fn drop_null_defaults(schema: &mut Schema) {
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
}

/// A newer server may add fields to an answer.
fn admit_new_fields(schema: &mut Schema) {
    if schema.get("additionalProperties") == Some(&json!(false)) {
        schema.remove("additionalProperties");
    }
}

/// A parameter is given or left out, never null.
fn never_null(mut schema: Value) -> Value {
    let Some(object) = schema.as_object_mut() else {
        return schema;
    };
    object.remove("nullable");
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|it| it != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(mut options)) = object.remove("anyOf") {
        options.retain(|it| it["enum"] != json!([null]) && it["type"] != "null");
        let keyword = if options.len() == 1 { "allOf" } else { "anyOf" };
        object.insert(keyword.into(), Value::Array(options));
    }
    schema
}
