//! A real host: its GPUs as NVML finds them, its operator's wipe script, and its
//! agent's updates. Works as root on Debian and Ubuntu.

pub(crate) mod cards;
pub(crate) mod command;
mod devices;
mod gpus;
mod machine;
pub(crate) mod mounts;
pub(crate) mod tree;
mod wipe;

pub use gpus::GpuSource;

use crate::config::Config;
use crate::host::{Host, Readings};
use crate::steps::{Failure, Result, Steps};
use crate::update::Updater;
use crate::workloads::{Evidence, Workloads};
use cards::Cards;
use machine::Machine;
use protocol::{Done, HealthEvent, Inventory, Limits, Task};

pub struct LinuxHost {
    pub(crate) config: Config,
    pub(crate) cards: Cards,
    machine: Machine,
    updater: Option<Updater>,
}

impl LinuxHost {
    pub fn new(config: Config, updater: Option<Updater>) -> Self {
        Self { cards: Cards::find(&config), config, machine: Machine::default(), updater }
    }

    /// What a workload with that many GPUs gets of this host where its task does not say.
    pub(crate) fn share(&self, gpus: usize) -> Limits {
        self.machine.share(gpus, self.cards.gpus.list().len())
    }
}

impl Host for LinuxHost {
    async fn inventory(&self) -> Inventory {
        let gpus = self.cards.gpus.list();
        self.machine.inventory(&self.config, gpus)
    }

    async fn sample(&self) -> Option<Readings> {
        self.cards.enforce_and_log();
        Some(Readings { host: self.machine.sample()?, gpus: self.cards.gpus.sample() })
    }

    async fn health(&self) -> Vec<HealthEvent> {
        self.cards.gpus.health()
    }

    async fn sanitize(&self, steps: &mut Steps, workloads: &Workloads) -> Result<Done> {
        steps.enter("wipe_script");
        wipe::run(self.config.wipe_script.as_deref()).await?;
        steps.enter("inspect");
        let left = self.cards.processes_on_all();
        wipe::check_idle(left)?;
        workloads.wiped().await?;
        self.cards.enforce()?;
        Ok(Evidence::of_nothing(left).done(steps))
    }

    async fn update(&self, steps: &mut Steps, task: &Task) -> Result<Option<Done>> {
        match &self.updater {
            Some(updater) => updater.ensure(steps, task).await,
            None => Err(Failure::lasting("unsupported", "this agent was started without the ability to update itself")),
        }
    }
}
