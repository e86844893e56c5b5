//! What the kinds of a stack share: whom to ask, what other documents name, and
//! keys that make a repeated request have one effect.

use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeMap,
};

use aws_lc_rs::digest::{SHA256, digest};
use contract::{
    Endpoint, Label, Name, Nothing,
    id::ProjectId,
    organizations::OrganizationPath,
    projects::{ListProjects, Project, ProjectFilter, ProjectState},
    skus::{ListSkus, Sku, SkuFilter},
    ssh_keys::{ListSshKeys, SshKey, SshKeyFilter},
};
use serde_json::{Value, json};

use super::kind::Aim;
use crate::{
    arguments::Once,
    context::Context,
    failure::{Class, Failure},
};

pub struct World<'a> {
    pub context: &'a Context,
    pub stack: &'a Label,
    pub aim: Aim,
    organization: OnceCell<OrganizationPath>,
    projects: RefCell<BTreeMap<String, ProjectId>>,
}

impl<'a> World<'a> {
    pub fn new(context: &'a Context, stack: &'a Label, aim: Aim) -> Self {
        Self { context, stack, aim, organization: OnceCell::new(), projects: RefCell::default() }
    }

    /// Requested when first needed: SKUs and prices belong to nobody.
    pub async fn organization(&self) -> Result<OrganizationPath, Failure> {
        if let Some(path) = self.organization.get() {
            return Ok(path.clone());
        }
        let path = self.context.organization().await?;
        Ok(self.organization.get_or_init(|| path).clone())
    }

    /// The project of that name which is there and stays.
    pub async fn project(&self, name: &Name) -> Result<Option<ProjectId>, Failure> {
        let spelled = name.as_str().to_ascii_lowercase();
        if let Some(id) = self.projects.borrow().get(&spelled) {
            return Ok(Some(*id));
        }
        let found = self.projects_named(name, None).await?;
        let id = found.into_iter().find(|it| it.state == ProjectState::Active).map(|it| it.id);
        if let Some(id) = id {
            self.projects.borrow_mut().insert(spelled, id);
        }
        Ok(id)
    }

    /// As [`Self::project`], where nothing can be done without it.
    pub async fn project_needed(&self, name: &Name) -> Result<ProjectId, Failure> {
        self.project(name).await?.ok_or_else(|| missing("project", name.as_str()))
    }

    /// Newest first; all but deleted ones when no state is said.
    pub async fn projects_named(&self, name: &Name, state: Option<ProjectState>) -> Result<Vec<Project>, Failure> {
        let query = ProjectFilter { name: Some(name.clone()), state, ..ProjectFilter::default() };
        self.context.all::<ListProjects>(self.organization().await?, query).await
    }

    /// On offer or not.
    pub async fn sku(&self, name: &Label) -> Result<Option<Sku>, Failure> {
        let query = SkuFilter { name: Some(name.clone()), retired: Some(true), ..SkuFilter::default() };
        Ok(self.context.all::<ListSkus>(Nothing {}, query).await?.pop())
    }

    pub async fn sku_needed(&self, name: &Label) -> Result<Sku, Failure> {
        self.sku(name).await?.ok_or_else(|| missing("SKU", name.as_str()))
    }

    /// The caller's own.
    pub async fn ssh_keys(&self) -> Result<Vec<SshKey>, Failure> {
        self.context.all::<ListSshKeys>(Nothing {}, SshKeyFilter::default()).await
    }

    /// Sends a body under a key that follows from the stack, the request and
    /// `salt`: after a crash, and beside another run, it has its effect once.
    /// A refusal of an earlier run is not taken for the answer to this one: the
    /// next key follows from it, so that runs at the same time still agree.
    pub async fn send_once<E>(&self, path: E::Path, body: E::Body, salt: &str) -> Result<Value, Failure>
    where
        E: Endpoint<Query = Nothing, Path: Clone, Body: Clone>,
    {
        let mut salt = salt.to_owned();
        for _ in 0..MOST_REFUSALS {
            let once = Once { idempotency_key: Some(key::<E>(self.stack, &path, &body, &salt)) };
            let answer = self.context.create::<E>(&once, path.clone(), body.clone()).await;
            match answer.as_ref().err().and_then(Failure::replay_of) {
                Some(earlier) => salt = format!("{salt} {earlier}"),
                None => return answer,
            }
        }
        let once = Once { idempotency_key: None };
        self.context.create::<E>(&once, path, body).await
    }
}

/// How many runs that were refused within a minute are looked past.
const MOST_REFUSALS: usize = 32;

/// What a document names and is neither in the stack nor on the server.
pub fn missing(kind: &str, name: &str) -> Failure {
    let detail = format!("{kind} `{name}` not found in the stack or on the server");
    Failure::new(Class::NotFound, detail, "Declare it in the stack, or check its name and the organization.")
}

fn key<E: Endpoint>(stack: &Label, path: &E::Path, body: &E::Body, salt: &str) -> String {
    let request = json!([stack, E::INFO.operation, path, body, salt]).to_string();
    let hash = digest(&SHA256, request.as_bytes());
    let hex: String = hash.as_ref().iter().map(|it| format!("{it:02x}")).collect();
    format!("stack-{hex}")
}

#[cfg(test)]
mod tests {
    use contract::projects::{CreateProject, ProjectSpec};

    use super::*;

    #[test]
    fn a_key_follows_from_the_stack_the_request_and_the_salt() {
        let organization_id = contract::id::OrganizationId::generate();
        let key = |stack: &str, name: &str, salt: &str| {
            let body = ProjectSpec { name: name.parse().unwrap() };
            key::<CreateProject>(&stack.parse().unwrap(), &OrganizationPath { organization_id }, &body, salt)
        };
        assert_eq!(key("lab", "a", "/0"), key("lab", "a", "/0"));
        let all = [key("lab", "a", "/0"), key("lab", "b", "/0"), key("lab", "a", "/1"), key("web", "a", "/0")];
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        assert_eq!(all[0].len(), 70);
    }
}
