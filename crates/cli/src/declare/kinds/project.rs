//! `kind: project`

use contract::{
    Name,
    id::ProjectId,
    projects::{self, CreateProject, DeleteProject, ProjectPath, ProjectSpec, ProjectState, RenameProject},
};

use super::allocation;
use crate::{
    declare::{
        fields::{Fields, text},
        kind::{Aim, Creation, Kind, Lookup, Removal},
        plan::Difference,
        thing::Reference,
        world::World,
    },
    exact,
    failure::Failure,
};

#[derive(Debug)]
pub struct Project {
    name: Name,
}

impl Project {
    pub fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { name: fields.required("name", text)? })
    }

    pub fn name(&self) -> String {
        self.name.to_string()
    }

    pub fn references(&self) -> Vec<Reference<'_>> {
        Vec::new()
    }

    fn spec(&self) -> ProjectSpec {
        ProjectSpec { name: self.name.clone() }
    }
}

/// How many allocations in it are of no document of this stack.
async fn others_in(world: &World<'_>, project_id: ProjectId) -> Result<usize, Failure> {
    let inside = allocation::wanted_in(world, project_id, None).await?;
    Ok(inside.iter().filter(|it| !allocation::is_of(it, world.stack)).count())
}

impl Kind for Project {
    type Handle = projects::Project;

    async fn look(&self, world: &World<'_>) -> Result<Lookup<Self::Handle>, Failure> {
        let Some(there) = world.projects_named(&self.name, None).await?.into_iter().next() else {
            let gone = world.projects_named(&self.name, Some(ProjectState::Deleted)).await?;
            return Ok(Lookup::Absent { after: gone.first().map(|it| it.id.to_string()).unwrap_or_default() });
        };
        if there.state != ProjectState::Active {
            return Ok(Lookup::InTheWay(format!("is {}; try again once it is deleted", there.state)));
        }
        // Only who deletes it has to know, and may look.
        let others = if world.aim == Aim::Delete { others_in(world, there.id).await? } else { 0 };
        let removal = match others {
            0 => Removal::Also("and everything in it".into()),
            count => Removal::Also(format!("and everything in it, including {count} allocations outside the stack")),
        };
        let differences = Difference::between("name", &there.name, &self.name, true).into_iter().collect();
        Ok(Lookup::Present { handle: there, differences, note: None, removal })
    }

    async fn create(&self, world: &World<'_>, salt: &str) -> Result<Creation, Failure> {
        let answer = world.send_once::<CreateProject>(world.organization().await?, self.spec(), salt).await?;
        let made: projects::Project = exact::read(&answer)?;
        Ok(Creation { id: made.id.to_string(), secret: None })
    }

    async fn change(&self, world: &World<'_>, there: Self::Handle) -> Result<(), Failure> {
        let path = ProjectPath { project_id: there.id };
        world.send_once::<RenameProject>(path, self.spec(), &there.version.to_string()).await?;
        Ok(())
    }

    async fn remove(&self, world: &World<'_>, there: Self::Handle) -> Result<(), Failure> {
        world.context.ask::<DeleteProject>(ProjectPath { project_id: there.id }).await?;
        Ok(())
    }
}
