//! Stacks: things that are declared in files and made so. A stack is read
//! whole, compared with what there is, shown as a plan, and only then carried out.

mod fields;
mod kind;
mod kinds;
mod plan;
mod report;
mod source;
mod stack;
mod thing;
mod tree;
mod world;

use std::path::PathBuf;

use contract::{
    allocations::Allocation,
    projects::{ListProjects, ProjectFilter},
};
use serde_json::json;

use crate::{
    arguments::Consent,
    context::Context,
    failure::{Class, Done, Failure},
    prompt,
};
use kind::{Aim, Outcome};
use kinds::allocation;
use plan::{Action, Plan, Step};
use report::Report;
use stack::{DocumentPosition, Stack};
use thing::{AnyDocument, Reference};
use world::World;

/// How far a command may go.
pub struct ApplyOptions {
    pub files: Vec<PathBuf>,
    pub replace: bool,
    pub prune: bool,
}

/// `gpuaas apply`
pub async fn apply(context: &Context, wish: &ApplyOptions, consent: Consent) -> Done {
    let stack = stack::read(&source::read(&wish.files)?)?;
    let world = World::new(context, &stack.name, Aim::Apply { replace: wish.replace });
    let intent = Intent::to_apply(&world, &stack, wish.prune).await?;
    let refused = intent.plan.count(Action::Refuse);
    if refused > 0 {
        intent.show(context)?;
        let count = if refused == 1 { "one resource".to_owned() } else { format!("{refused} resources") };
        let detail = format!("{count} cannot be updated as declared; nothing was changed");
        return Err(Failure::new(Class::Conflict, detail, "See the lines marked `!` in the plan."));
    }
    intent.carry_out(&world, consent, "applies").await
}

/// `gpuaas delete`
pub async fn delete(context: &Context, files: &[PathBuf], consent: Consent) -> Done {
    let stack = stack::read(&source::read(files)?)?;
    let world = World::new(context, &stack.name, Aim::Delete);
    Intent::to_delete(&world, &stack).await?.carry_out(&world, consent, "deletes").await
}

/// `gpuaas diff`
pub async fn diff(context: &Context, wish: &ApplyOptions) -> Done {
    let stack = stack::read(&source::read(&wish.files)?)?;
    let world = World::new(context, &stack.name, Aim::Apply { replace: wish.replace });
    let intent = Intent::to_apply(&world, &stack, wish.prune).await?;
    intent.show(context)?;
    if intent.plan.does_nothing() {
        return Ok(());
    }
    let detail = format!("resources differ from the stack `{}`: {}", stack.name, intent.plan.summary());
    Err(Failure::new(Class::Negative, detail, "Run `gpuaas apply` with the same files to apply the changes."))
}

/// A plan, with what each step is about.
struct Intent<'a> {
    plan: Plan,
    works: Vec<Work<'a>>,
}

enum Work<'a> {
    Thing(&'a DocumentPosition, &'a AnyDocument),
    /// No document declares it any more.
    Prune(Box<Allocation>),
}

impl<'a> Intent<'a> {
    async fn to_apply(world: &World<'_>, stack: &'a Stack, prune: bool) -> Result<Self, Failure> {
        for (place, thing) in &stack.things {
            check_references(world, stack, thing).await.map_err(|it| at(it, place, thing))?;
        }
        let mut intent = Self { plan: Plan { stack: stack.name.clone(), steps: Vec::new() }, works: Vec::new() };
        for (place, thing) in &stack.things {
            intent.add(world, place, thing).await?;
        }
        if prune {
            intent.prune(world, stack).await?;
        }
        Ok(intent)
    }

    /// What needs others goes before them.
    async fn to_delete(world: &World<'_>, stack: &'a Stack) -> Result<Self, Failure> {
        let mut intent = Self { plan: Plan { stack: stack.name.clone(), steps: Vec::new() }, works: Vec::new() };
        for (place, thing) in stack.things.iter().rev() {
            intent.add(world, place, thing).await?;
        }
        Ok(intent)
    }

    async fn add(
        &mut self,
        world: &World<'_>,
        place: &'a DocumentPosition,
        thing: &'a AnyDocument,
    ) -> Result<(), Failure> {
        let verdict = thing.assess(world).await.map_err(|it| at(it, place, thing))?;
        let kind::Verdict { action, differences, note } = verdict;
        let (kind, name) = (thing.kind(), thing.name());
        self.plan.steps.push(Step { action, kind, name, differences, note });
        self.works.push(Work::Thing(place, thing));
        Ok(())
    }

    /// Allocations that carry the name of the stack, in whichever project, and
    /// that no document declares. Nothing else says of which stack it is.
    async fn prune(&mut self, world: &World<'_>, stack: &Stack) -> Result<(), Failure> {
        let path = world.organization().await?;
        for project in world.context.all::<ListProjects>(path, ProjectFilter::default()).await? {
            for there in allocation::wanted_in(world, project.id, None).await? {
                let name = there.name.as_ref().map_or_else(|| there.id.to_string(), ToString::to_string);
                let name = format!("{}/{name}", project.name);
                let is_declared = stack.declares("allocation", &name.to_ascii_lowercase());
                if !allocation::is_of(&there, &stack.name) || is_declared {
                    continue;
                }
                let note = Some("no longer in the stack; will be released and its data deleted".to_owned());
                let (action, kind, differences) = (Action::Remove, "allocation", Vec::new());
                self.plan.steps.push(Step { action, kind, name, differences, note });
                self.works.push(Work::Prune(Box::new(there)));
            }
        }
        Ok(())
    }

    fn show(&self, context: &Context) -> Done {
        match (context.output.is_for_people(), context.output.quiet) {
            (true, true) => Ok(()),
            (true, false) => context.output.line(self.plan.for_people()),
            (false, _) => context.output.document(&json!(self.plan)),
        }
    }

    async fn carry_out(self, world: &World<'_>, consent: Consent, verb: &str) -> Done {
        let (context, plan) = (world.context, &self.plan);
        if context.output.is_for_people() {
            self.show(context)?;
        } else if !consent.yes {
            // Standard output is for what was done.
            context.output.warn(plan.for_people());
        }
        let mut report = Report::new(context, &plan.stack);
        if !plan.does_nothing() {
            let what = format!("{verb} the stack `{}`: {}", plan.stack, plan.summary());
            prompt::confirm(consent, &what, plan.stack.as_str()).await?;
            context.output.hint("");
        }
        let steps = plan.steps.iter().zip(&self.works).filter(|(it, _)| it.action != Action::Keep);
        let total = plan.steps.iter().filter(|it| it.action != Action::Keep).count();
        for (done, (step, work)) in steps.enumerate() {
            if let Err(failure) = perform(world, step, work, &mut report).await {
                report.show()?;
                context
                    .output
                    .hint(format!("Completed {done} of {total} steps. Run the same command again to continue."));
                return Err(failure);
            }
        }
        report.show()
    }
}

async fn perform(world: &World<'_>, step: &Step, work: &Work<'_>, report: &mut Report<'_>) -> Done {
    let outcome = match work {
        Work::Thing(place, thing) => thing.carry_out(world, step.action).await.map_err(|it| at(it, place, thing))?,
        Work::Prune(there) => {
            allocation::release(world, there).await?;
            Outcome::Done(kind::Creation { id: there.id.to_string(), secret: None })
        }
    };
    match outcome {
        Outcome::Done(made) => report.add(step, &made.id, made.secret),
        Outcome::Already => {
            world.context.output.hint(format!("{} {}: already deleted by someone else", step.kind, step.name));
            Ok(())
        }
    }
}

fn at(failure: Failure, place: &DocumentPosition, thing: &AnyDocument) -> Failure {
    failure.with_prefix(&format!("{place} ({} {})", thing.kind(), thing.name()))
}

/// What a document names must be declared or be there.
async fn check_references(world: &World<'_>, stack: &Stack, thing: &AnyDocument) -> Done {
    for reference in thing.references() {
        let (kind, called, name) = match reference {
            Reference::Project(name) => ("project", "project", name.as_str()),
            Reference::Sku(name) => ("sku", "SKU", name.as_str()),
            Reference::SshKey(name) => ("ssh_key", "SSH key", name.as_str()),
        };
        if stack.declares(kind, &name.to_ascii_lowercase()) {
            continue;
        }
        let is_there = match reference {
            Reference::Project(name) => world.project(name).await?.is_some(),
            Reference::Sku(name) => world.sku(name).await?.is_some(),
            Reference::SshKey(name) => {
                let is_it = |it: &contract::Name| it.as_str().eq_ignore_ascii_case(name.as_str());
                world.ssh_keys().await?.iter().any(|it| is_it(&it.name))
            }
        };
        if !is_there {
            return Err(world::missing(called, name));
        }
    }
    Ok(())
}
