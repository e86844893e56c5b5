//! The tour behind `gpuaas demo`: what it says, in which order, and that nothing
//! of it stays. Each step is a command line that runs as a program of its own.

mod offer;
mod release;
mod signals;
mod step;

use std::{cell::Cell, time::Duration};

use contract::{
    Label, Nothing,
    id::{AllocationId, ProjectId},
    projects::{ListProjects, ProjectFilter, ProjectState},
    users::{WhoAmI, Whoami},
};

use crate::{
    arguments::Consent,
    context::Context,
    exact,
    failure::{Done, Failure},
    prompt,
};
use offer::Offer;
use signals::Signals;
use step::Line;

/// People whom `gpuaasd dev` makes: what they pay with is no money.
const OF_THE_DEMO: &str = "@demo.localhost";
// bound: what the tour may hold if everything else fails
const LEASE_MINUTES: i64 = 15;
const INTERRUPTED: i32 = 130;

pub struct TourOptions {
    pub sku: Option<Label>,
    /// For one step.
    pub timeout: Duration,
    pub yes: bool,
}

/// How far it got with what it takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TourProgress {
    Nothing,
    /// Requested; whether the server took it is not known.
    Perhaps,
    /// The server answered.
    Answered,
    Released,
}

struct Tour<'a> {
    context: &'a Context,
    wishes: TourOptions,
    url: String,
    project_id: ProjectId,
    /// As it is given to commands, where the context does not say it.
    project: Option<String>,
    offer: Offer,
    is_demo: bool,
    /// Of the allocation, and the value of its tag.
    name: String,
    taken: Cell<TourProgress>,
}

pub async fn run(context: &Context, wishes: TourOptions) -> Done {
    if !context.output.is_for_people() || context.output.quiet {
        return Err(Failure::usage("the tour only supports table output", "Run it without -o and --quiet."));
    }
    let mut signals = Signals::listen()?;
    let tour = tokio::select! {
        tour = Tour::prepare(context, wishes) => tour?,
        () = signals.next() => return Err(Failure::exited(INTERRUPTED)),
    };
    let walked = tokio::select! {
        walked = tour.walk() => walked,
        // What runs is dropped with the walk, and dies with it.
        () = signals.next() => Err(Failure::exited(INTERRUPTED)),
    };
    if walked.is_err() {
        release::clean_up(&tour, &mut signals).await;
    }
    walked
}

impl<'a> Tour<'a> {
    /// Looks around without changing anything.
    async fn prepare(context: &'a Context, wishes: TourOptions) -> Result<Self, Failure> {
        let who: Whoami = exact::read(&context.ask::<WhoAmI>(Nothing {}).await?)?;
        let is_demo = who.user.is_some_and(|it| it.email.as_str().ends_with(OF_THE_DEMO));
        let (project_id, project) = project(context).await?;
        let offer = offer::find(context, wishes.sku.as_ref()).await?;
        let url = context.settings()?.url.as_ref().map(|it| it.value.clone()).unwrap_or_default();
        let id = AllocationId::generate().to_string();
        let name = format!("tour-{}", &id[id.len() - 6..]);
        let taken = Cell::new(TourProgress::Nothing);
        Ok(Self { context, wishes, url, project_id, project, offer, is_demo, name, taken })
    }

    async fn walk(&self) -> Done {
        self.introduce()?;
        if !self.is_demo {
            let what = format!("allocates GPUs at {}, for at most {}", self.url, self.offer.at_most());
            prompt::confirm(Consent { yes: self.wishes.yes }, &what, "yes").await?;
        }
        self.say("1 of 6: capacity", "A SKU is a type of GPU capacity. This shows how much of each is free.")?;
        self.show(&self.line("capacity list")).await?;

        self.say(
            "2 of 6: launch",
            "The planner picks a host. The host prepares the GPUs and verifies that they are present\n\
             and working. Then the allocation becomes active, and billing starts.",
        )?;
        self.launch().await?;

        self.say(
            "3 of 6: a terminal",
            "Runs a command on the host as the allocation's user. Without a command, it opens a shell.",
        )?;
        self.show(&self.in_project(&format!("terminal {} -- nvidia-smi -L", self.name))).await?;

        self.say(
            "4 of 6: release",
            "The host deletes everything. The GPUs are not reassigned until this is verified.",
        )?;
        self.show(&self.release_line()).await?;
        self.taken.set(TourProgress::Released);

        self.say(
            "5 of 6: the bill",
            "Usage is the time the allocation was active, at the price in force. Usage is grouped by\n\
             the tag set at launch; other and untagged usage is listed separately.",
        )?;
        self.show(&self.line("usage --by tag --tag tour --since 1h")).await?;

        self.say("6 of 6: the balance", "The usage was deducted, and the hold was released.")?;
        self.show(&self.line("ledger balance")).await?;
        self.part()
    }

    fn introduce(&self) -> Done {
        let Offer { sku, gpus, .. } = &self.offer;
        let plural = if *gpus == 1 { "" } else { "s" };
        self.context.output.line(format!(
            "A tour of {}. Each step shows a command and runs it.\n\n\
             Allocates  {gpus} GPU{plural} of {sku}, named {}, for up to {LEASE_MINUTES} minutes\n\
             Price      {}\nHold       {}\nBalance    {}",
            self.url,
            self.name,
            self.offer.price_text(),
            self.offer.hold_text(),
            self.offer.balance_text(),
        ))
    }

    /// Where to go on from here.
    fn part(&self) -> Done {
        self.context.output.line(format!(
            "\nThe tour is complete, and nothing is left running. Next steps:\n\
             \n  {}/\n      open the console in a browser\
             \n  gpuaas allocations --help\n      allocate GPUs\
             \n  gpuaas ssh-config --help\n      set up ssh, scp and editors\
             \n  gpuaas apply --help\n      declare resources in a file",
            self.url.trim_end_matches('/'),
        ))
    }

    async fn launch(&self) -> Done {
        let Offer { sku, gpus, .. } = &self.offer;
        let name = &self.name;
        let line = self.in_project(&format!(
            "allocations create --sku {sku} --gpus {gpus} --name {name} --tag tour={name} --lease-minutes {LEASE_MINUTES} --wait"
        ));
        self.ask(&line).await?;
        self.taken.set(TourProgress::Perhaps);
        let ended = line.run(self.wishes.timeout).await;
        if let Err(failure) = &ended
            && failure.is_late()
        {
            self.context.output.warn("This is taking long. The server reports:");
            // What it says helps; that it could not be asked changes nothing.
            let _ = self.in_project(&format!("why {name}")).run(self.wishes.timeout).await;
        }
        if ended.as_ref().map_or_else(|it| it.is_answer(), |_| true) {
            self.taken.set(TourProgress::Answered);
        }
        Ok(ended?)
    }

    fn release_line(&self) -> Line {
        self.in_project(&format!("allocations release {} --wait --yes", self.name))
    }

    fn say(&self, heading: &str, text: &str) -> Done {
        self.context.output.line(format!("\n── {heading}\n{text}\n"))
    }

    async fn show(&self, line: &Line) -> Done {
        self.ask(line).await?;
        Ok(line.run(self.wishes.timeout).await?)
    }

    /// Shows a line, and waits for Enter where somebody sits.
    async fn ask(&self, line: &Line) -> Done {
        self.context.output.line(format!("$ {line}"))?;
        if self.wishes.yes || !prompt::is_possible() {
            return Ok(());
        }
        prompt::enter("Press Enter to run, Ctrl-C to end the tour").await
    }

    /// A command in the place where the tour was started.
    fn line(&self, words: &str) -> Line {
        Line::new(words, &self.context.flags, None)
    }

    fn in_project(&self, words: &str) -> Line {
        Line::new(words, &self.context.flags, self.project.as_deref())
    }
}

/// The project to act in: the one that was set, or the only one there is.
async fn project(context: &Context) -> Result<(ProjectId, Option<String>), Failure> {
    if context.settings()?.project.is_some() {
        return Ok((context.project().await?.project_id, None));
    }
    let mut all = context.all::<ListProjects>(context.organization().await?, ProjectFilter::default()).await?;
    all.retain(|it| it.state == ProjectState::Active);
    match all.as_slice() {
        [only] => Ok((only.id, Some(only.name.to_string()))),
        [] => Err(Failure::usage(
            "there is no project to launch in",
            "Create one with `gpuaas projects create NAME`, then run the tour again.",
        )),
        several => {
            let names: Vec<&str> = several.iter().map(|it| it.name.as_str()).take(5).collect();
            Err(Failure::usage(
                format!("no project is set, and there are several: {} …", names.join(", ")),
                "Pass --project, or set a default with `gpuaas context set --project NAME`.",
            ))
        }
    }
}
