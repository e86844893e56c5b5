//! `kind: policy`: a setting of the organization, or of a project.

use contract::{
    Name,
    id::ProjectId,
    policies::{
        self, GetOrganizationPolicy, GetProjectPolicy, OrganizationPolicyPath, PolicyLevel, PolicyValue,
        ProjectPolicyPath, SetOrganizationPolicy, SetProjectPolicy, UnsetOrganizationPolicy, UnsetProjectPolicy,
    },
};

use super::or_none;
use crate::{
    declare::{
        fields::{Fields, anything, text},
        kind::{Creation, Kind, Lookup},
        plan::Difference,
        thing::Reference,
        world::World,
    },
    exact,
    failure::Failure,
};

#[derive(Debug)]
pub struct Policy {
    key: String,
    value: String,
    project: Option<Name>,
}

/// Where it is set.
pub enum Level {
    Organization(OrganizationPolicyPath),
    Project(ProjectPolicyPath),
}

impl Policy {
    pub fn read(fields: &mut Fields) -> Option<Self> {
        let key = fields.required("key", text);
        let value = fields.required("value", anything);
        let project = fields.optional("project", text);
        Some(Self { key: key?, value: value?, project })
    }

    pub fn name(&self) -> String {
        match &self.project {
            Some(project) => format!("{project}/{}", self.key),
            None => self.key.clone(),
        }
    }

    pub fn references(&self) -> Vec<Reference<'_>> {
        self.project.iter().map(Reference::Project).collect()
    }

    async fn level(&self, world: &World<'_>, project_id: Option<ProjectId>) -> Result<Level, Failure> {
        let key = self.key.clone();
        Ok(match project_id {
            Some(project_id) => Level::Project(ProjectPolicyPath { project_id, key }),
            None => {
                let organization_id = world.organization().await?.organization_id;
                Level::Organization(OrganizationPolicyPath { organization_id, key })
            }
        })
    }

    async fn set(&self, world: &World<'_>, level: Level) -> Result<(), Failure> {
        let value = PolicyValue { value: self.value.clone() };
        match level {
            Level::Organization(path) => world.context.send::<SetOrganizationPolicy>(path, value).await?,
            Level::Project(path) => world.context.send::<SetProjectPolicy>(path, value).await?,
        };
        Ok(())
    }
}

/// The server keeps numbers in one form, however they were written.
fn is_same(one: &str, other: &str) -> bool {
    one == other || matches!((one.parse::<i64>(), other.parse::<i64>()), (Ok(one), Ok(other)) if one == other)
}

impl Kind for Policy {
    type Handle = Level;

    async fn look(&self, world: &World<'_>) -> Result<Lookup<Level>, Failure> {
        let project_id = match &self.project {
            Some(project) => match world.project(project).await? {
                Some(id) => Some(id),
                None => return Ok(Lookup::absent()),
            },
            None => None,
        };
        let level = self.level(world, project_id).await?;
        let (answer, asked) = match &level {
            Level::Organization(path) => {
                (world.context.ask::<GetOrganizationPolicy>(path.clone()).await?, PolicyLevel::Organization)
            }
            Level::Project(path) => (world.context.ask::<GetProjectPolicy>(path.clone()).await?, PolicyLevel::Project),
        };
        let policy: policies::Policy = exact::read(&answer)?;
        let Some(setting) = policy.levels.iter().find(|it| it.level == asked && it.value.is_some()) else {
            return Ok(Lookup::absent());
        };
        let before = setting.value.as_deref().unwrap_or_default();
        let differs = Difference::between("value", or_none(setting.value.as_ref()), &self.value, true);
        let differences = if is_same(before, &self.value) { Vec::new() } else { differs.into_iter().collect() };
        let note = setting.overridden.then(|| "a stricter value at a higher level applies".to_owned());
        Ok(Lookup::Present { handle: level, differences, note, removal: crate::declare::kind::Removal::Plain })
    }

    async fn create(&self, world: &World<'_>, _: &str) -> Result<Creation, Failure> {
        let project_id = match &self.project {
            Some(project) => Some(world.project_needed(project).await?),
            None => None,
        };
        self.set(world, self.level(world, project_id).await?).await?;
        Ok(Creation::default())
    }

    async fn change(&self, world: &World<'_>, level: Level) -> Result<(), Failure> {
        self.set(world, level).await
    }

    async fn remove(&self, world: &World<'_>, level: Level) -> Result<(), Failure> {
        match level {
            Level::Organization(path) => world.context.ask::<UnsetOrganizationPolicy>(path).await?,
            Level::Project(path) => world.context.ask::<UnsetProjectPolicy>(path).await?,
        };
        Ok(())
    }
}
