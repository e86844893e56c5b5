//! The arguments of a method: what an endpoint takes in its address and its body.

use serde_json::Value;

use super::{
    names, prose,
    schema::{Side, Types, is_required, optional, resolve},
};

/// The media type of what is not a document of another kind.
pub const JSON: &str = "application/json";

/// One argument of a method.
pub struct Parameter {
    /// As the API calls it, and as Python does.
    pub name: String,
    pub python: String,
    pub kind: String,
    pub about: String,
    pub required: bool,
    pub location: ParameterLocation,
}

/// Where the API wants it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ParameterLocation {
    Path,
    /// The client's own, unless said otherwise.
    Organization,
    Project,
    Query,
    Body,
    /// The body itself, which is not JSON.
    Content,
}

impl Parameter {
    /// The expression that stands for it in the call.
    pub fn value(&self) -> String {
        match self.location {
            ParameterLocation::Organization => format!("InOrganization({})", self.python),
            ParameterLocation::Project => format!("InProject({})", self.python),
            _ => self.python.clone(),
        }
    }
}

/// Parameters of path and query. Who acts in one organization or project need
/// not name it with every call.
pub fn in_address(document: &Value, path: &str, operation: &Value, tag: &str) -> Vec<Parameter> {
    let types = Types { document, prefix: "m.", side: Side::Passed };
    let mut parameters = Vec::new();
    for given in operation["parameters"].as_array().into_iter().flatten() {
        let given = resolve(document, given);
        let name = given["name"].as_str().unwrap_or_default();
        let is_staff = path.starts_with("/v1/platform/");
        let (location, python) = match (given["in"].as_str(), name) {
            (Some("path"), "organization_id") if !is_staff && tag != "organizations" => {
                (ParameterLocation::Organization, "organization".to_owned())
            }
            (Some("path"), "project_id") if !is_staff && tag != "projects" => {
                (ParameterLocation::Project, "project".to_owned())
            }
            (Some("path"), _) => (ParameterLocation::Path, names::safe(name)),
            (Some("query"), "limit") => (ParameterLocation::Query, "page_size".to_owned()),
            (Some("query"), _) => (ParameterLocation::Query, names::safe(name)),
            _ => continue,
        };
        let mut kind = types.kind(&given["schema"]);
        kind.nullable |= location != ParameterLocation::Path;
        let about = match location {
            ParameterLocation::Organization => "By id or name; the client's own when not said.",
            ParameterLocation::Project => "By id or name; the client's own when not said.",
            _ => given["description"].as_str().unwrap_or_default(),
        };
        let kind = if matches!(location, ParameterLocation::Organization | ParameterLocation::Project) {
            "str | None".to_owned()
        } else {
            optional(kind)
        };
        let (name, about) = (name.to_owned(), prose(about));
        parameters.push(Parameter {
            name,
            python,
            kind,
            about,
            required: location == ParameterLocation::Path,
            location,
        });
    }
    parameters
}

/// A field of the body may be called like something in the address.
pub fn keep_apart(parameters: &mut [Parameter]) {
    for at in 1..parameters.len() {
        let (before, rest) = parameters.split_at_mut(at);
        if before.iter().any(|it| it.python == rest[0].python) {
            rest[0].python.push('_');
        }
    }
}

/// JSON where an endpoint takes that among others.
pub fn media(operation: &Value) -> Option<String> {
    let contents = operation["requestBody"]["content"].as_object()?;
    let json = contents.contains_key(JSON).then(|| JSON.to_owned());
    json.or_else(|| contents.keys().next().cloned())
}

/// The fields of the body, as parameters of their own.
pub fn in_body(document: &Value, operation: &Value) -> Vec<Parameter> {
    if media(operation).is_some_and(|it| it != JSON) {
        let (name, kind) = ("content".to_owned(), "bytes".to_owned());
        let (python, about) = (name.clone(), String::new());
        return vec![Parameter { name, python, kind, about, required: true, location: ParameterLocation::Content }];
    }
    let types = Types { document, prefix: "m.", side: Side::Passed };
    let schema = resolve(document, &operation["requestBody"]["content"][JSON]["schema"]);
    let fields = schema["properties"].as_object();
    let parameter = |(name, of): (&String, &Value)| {
        let required = is_required(schema, name);
        let mut kind = types.kind(of);
        kind.nullable |= !required;
        let python = names::safe(name);
        let about = prose(of["description"].as_str().unwrap_or_default());
        Parameter {
            name: name.clone(),
            python,
            kind: optional(kind),
            about,
            required,
            location: ParameterLocation::Body,
        }
    };
    fields.into_iter().flatten().map(parameter).collect()
}
