//! The catalogs that people read: problems, roles, endpoints, events and notifications, as
//! Markdown.

mod page;

use serde_json::Value;

use page::Page;

use crate::{
    Code, Endpoint, EndpointInfo, Event, EventInfo, Permission, Role, Word,
    notification_kinds::NotificationKind,
    permission::PlatformRole,
    schemas::{Fields, Schemas},
    wording,
};

/// `docs/generated/errors.md`
pub fn errors() -> String {
    let mut page = Page::new(
        "Problems",
        "Every error is an `application/problem+json` body with one of these codes. The code is \
         stable and meant for programs; `detail` says what is wrong this time and `advice` what to \
         do next.",
    );
    page.columns(&["Code", "Status", "Meaning", "What to do"]);
    for code in Code::ALL {
        let info = code.info();
        page.row(&[format!("`{}`", info.name), info.status.to_string(), info.title.into(), info.advice.into()]);
    }
    page.finish()
}

/// `docs/generated/roles.md`
pub fn roles() -> String {
    let mut page = Page::new(
        "Roles and permissions",
        "An endpoint asks for one permission; a role grants it or does not. A key can do no more \
         than its scopes, nor more than the role of whom it acts as.",
    );
    page.section("In an organization", "What a member or a service account may do.");
    grants(&mut page, Role::ALL, |it| !it.is_platform(), Role::grants);
    page.section("On the platform", "What platform staff may do.");
    grants(&mut page, PlatformRole::ALL, Permission::is_platform, PlatformRole::grants);
    page.finish()
}

fn grants<R: Word>(page: &mut Page, roles: &[R], concerns: fn(Permission) -> bool, grants: fn(R, Permission) -> bool) {
    let names = roles.iter().map(|it| it.as_str());
    page.columns(&std::iter::once("Permission").chain(names).collect::<Vec<_>>());
    for permission in Permission::ALL.iter().copied().filter(|it| concerns(*it)) {
        let mut row = vec![format!("`{permission}`")];
        row.extend(roles.iter().map(|it| {
            let granted = grants(*it, permission);
            if granted { "yes" } else { "–" }.to_owned()
        }));
        page.row(&row);
    }
}

/// `docs/generated/endpoints.md`
pub fn endpoints() -> String {
    let mut page = Page::new(
        "Endpoints and their policies",
        "Who may call, which budget of requests a call draws from, what is asked of a person's \
         second factor, what makes a repetition harmless, and what the audit log keeps.",
    );
    let mut all: Vec<EndpointInfo> = Vec::new();
    macro_rules! collect {
        ($($endpoint:path),* $(,)?) => { $(all.push(<$endpoint>::INFO);)* };
    }
    crate::for_each_endpoint!(collect);
    page.section("HTTP", "Described in `api/openapi.json`.");
    policies(&mut page, &all);

    let mut all: Vec<EndpointInfo> = Vec::new();
    macro_rules! collect {
        ($($channel:path),* $(,)?) => { $(all.push(<$channel as crate::Channel>::INFO);)* };
    }
    crate::for_each_channel!(collect);
    page.section("WebSocket", "Described in `api/asyncapi.json`.");
    policies(&mut page, &all);
    page.finish()
}

fn policies(page: &mut Page, all: &[EndpointInfo]) {
    page.columns(&["Verb", "Path", "Operation", "Who may call", "Lane", "Second factor", "Idempotency", "Audit"]);
    for info in all {
        page.row(&[
            info.verb.as_str().into(),
            format!("`{}`", info.path),
            info.operation.into(),
            wording::auth(info.policy.auth),
            info.policy.lane.as_str().into(),
            wording::second_factor(info.policy.second_factor).into(),
            wording::idempotency(info.policy.idempotency),
            wording::audit(info.policy.audit),
        ]);
    }
}

/// `docs/generated/events.md`
pub fn events() -> String {
    let mut page = Page::new(
        "Events",
        "Facts that were committed, in the order of their subjects. Delivery is at least once: \
         de-duplicate by `message_id`. Described in `api/asyncapi.json`. Members read the events of \
         their organization; platform staff read those that their permissions name.",
    );
    let mut all: Vec<(EventInfo, Fields)> = Vec::new();
    let mut schemas = Schemas::openapi();
    macro_rules! collect {
        ($($event:path),* $(,)?) => {
            $(all.push((<$event>::INFO, schemas.answer_fields::<$event>()));)*
        };
    }
    crate::for_each_event!(collect);
    all.sort_by_key(|(info, _)| info.subject);
    page.columns(&["Subject", "What happened", "Staff need", "Fields"]);
    for (info, fields) in &all {
        let fields: Vec<String> =
            fields.properties.iter().map(|(name, schema)| format!("`{name}` {}", type_name(schema))).collect();
        page.row(&[
            format!("`{}`", info.subject),
            wording::summary(info.about).into(),
            format!("`{}`", info.staff),
            fields.join(", "),
        ]);
    }
    page.finish()
}

/// `docs/generated/notifications.md`
pub fn notifications() -> String {
    let mut page = Page::new(
        "Notifications",
        "What people are told of, in the console and by mail. A mandatory kind cannot be switched \
         off and carries no link to do so; of the others each person chooses, by kind and channel.",
    );
    page.columns(&["Kind", "What it tells", "Caused by", "Who is told", "Mandatory", "By mail at first"]);
    let said = |it: bool| if it { "yes" } else { "–" }.to_owned();
    for kind in NotificationKind::ALL {
        let info = kind.info();
        let subjects: Vec<String> = info.subjects.iter().map(|it| format!("`{it}`")).collect();
        page.row(&[
            format!("`{kind}`"),
            info.about.into(),
            subjects.join(", "),
            info.audience.wording().into(),
            said(info.is_mandatory),
            said(info.by_mail),
        ]);
    }
    page.finish()
}

/// A schema in a word or two.
fn type_name(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().into();
    }
    for keyword in ["anyOf", "allOf"] {
        if let Some([first, rest @ ..]) = schema[keyword].as_array().map(Vec::as_slice) {
            let or_null = if rest.is_empty() { "" } else { " or null" };
            return format!("{}{or_null}", type_name(first));
        }
    }
    let name = schema["format"].as_str().or(schema["type"].as_str());
    let or_null = if schema["nullable"] == true { " or null" } else { "" };
    format!("{}{or_null}", name.unwrap_or("any"))
}

#[cfg(test)]
mod tests;
