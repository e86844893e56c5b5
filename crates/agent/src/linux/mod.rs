//! A real host: users with ssh keys, their processes and homes, and the GPUs that
//! NVML finds. Works as root on Debian and Ubuntu.

mod command;
mod evidence;
mod files;
mod gpus;
mod host;
mod keys;
mod processes;
mod shell;
mod users;
mod wipe;

pub use gpus::GpuSource;
pub use users::{MARK, is_login_name};

use crate::config::Config;
use crate::driver::{Allocation, Driver, Failure, Readings, Result, Steps};
use crate::streams::Refused;
use crate::streams::shell::{Prepared, Program, Way};
use crate::update::Updater;
use host::Host;
use protocol::stream::refusals;
use protocol::{Done, GpuRef, HealthEvent, Inventory, Isolation, Shape, Task};
use tokio::sync::Mutex;
use users::User;

pub struct LinuxDriver {
    config: Config,
    host: Host,
    gpus: GpuSource,
    updater: Option<Updater>,
    /// useradd and its kin lock the same files and give up when they are locked.
    users: Mutex<()>,
}

impl LinuxDriver {
    pub fn new(config: Config, updater: Option<Updater>) -> Self {
        let gpus = GpuSource::find(&config);
        Self { config, host: Host::default(), gpus, updater, users: Mutex::new(()) }
    }

    /// Ends what sessions of an agent that was killed have left, and says how much.
    pub fn sweep(&self) -> usize {
        crate::streams::processes::sweep(|uid| users::is_made_below(uid, &self.config.home_root))
    }

    pub fn gpus(&self) -> &GpuSource {
        &self.gpus
    }

    /// The user, if it is one that the agent made.
    fn ours(&self, name: &str) -> Result<Option<User>> {
        if !is_login_name(name) {
            return Err(Failure::lasting("bad_login", format!("{name:?} is not a user name that is accepted")));
        }
        match users::find(name)? {
            Some(user) if user.is_ours => Ok(Some(user)),
            Some(_) => Err(Failure::lasting("foreign_user", format!("{name} was not made by the agent"))),
            None => Ok(None),
        }
    }
}

impl LinuxDriver {
    /// The user, if it is one that the agent made and somebody may use it now.
    fn open_login(&self, name: &str) -> std::result::Result<User, Refused> {
        let refused = |detail: String| Refused::new(refusals::NO_ALLOCATION, detail);
        let user = self.ours(name).map_err(|failure| refused(failure.detail))?;
        let user = user.ok_or_else(|| refused(format!("there is no user {name}")))?;
        if users::is_locked(&user) { Err(refused(format!("{name} is locked"))) } else { Ok(user) }
    }
}

impl Driver for LinuxDriver {
    async fn inventory(&self) -> Inventory {
        let gpus = self.gpus.list();
        self.host.inventory(&self.config, gpus)
    }

    async fn sample(&self) -> Option<Readings> {
        Some(Readings { host: self.host.sample()?, gpus: self.gpus.sample() })
    }

    async fn health(&self) -> Vec<HealthEvent> {
        self.gpus.health()
    }

    async fn ensure_allocation(&self, steps: &mut Steps, wanted: Allocation<'_>) -> Result<Done> {
        if !matches!(wanted.shape, Shape::Baremetal | Shape::GpuSlice) {
            return Err(Failure::lasting("unsupported_shape", "this host gives whole machines and GPU slices"));
        }
        keys::check(&wanted.login.keys)?;
        let known = self.ours(&wanted.login.user)?;
        steps.enter("check_gpus");
        self.gpus.require(wanted.gpus)?;
        steps.enter("create_user");
        let user = {
            let _one = self.users.lock().await;
            users::ensure(&wanted.login.user, known, &self.config.home_root).await?
        };
        steps.enter("write_keys");
        keys::write(&user, &wanted.login.keys).await?;
        steps.enter("assign_gpus");
        self.gpus.assign(&user, wanted.shape, wanted.gpus).await?;
        steps.enter("self_test");
        let self_test = self.gpus.self_test(wanted.gpus, wanted.self_test)?;
        let gpus = wanted.gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
        Ok(Done::Proof { gpus, driver_version: self.gpus.driver_version(), self_test, stages: steps.finish() })
    }

    async fn ensure_keys(&self, steps: &mut Steps, user: &str, keys: &[String]) -> Result<Done> {
        keys::check(keys)?;
        let user = self.ours(user)?.ok_or_else(|| Failure::lasting("no_user", format!("{user} does not exist")))?;
        steps.enter("write_keys");
        keys::write(&user, keys).await?;
        Ok(Done::Keys { count: keys.len().try_into().unwrap_or(u32::MAX) })
    }

    async fn ensure_stopped(&self, steps: &mut Steps, user: &str, gpus: &[GpuRef]) -> Result<Done> {
        let Some(user) = self.ours(user)? else {
            return Ok(evidence::of_nothing(steps, self.gpus.processes_on(gpus)));
        };
        let processes_killed = self.quiet(steps, &user).await?;
        steps.enter("check_gpus");
        let left = self.gpus.processes_on(gpus);
        Ok(evidence::of(steps, evidence::Seen { processes_killed, gone: false, gpu_processes_left: left }))
    }

    async fn ensure_gone(&self, steps: &mut Steps, user: &str, gpus: &[GpuRef], _: Isolation) -> Result<Done> {
        let Some(user) = self.ours(user)? else {
            files::remove_orphaned_home(&self.config.home_root, user)?;
            self.gpus.free(gpus);
            return Ok(evidence::of_nothing(steps, self.gpus.processes_on(gpus)));
        };
        let processes_killed = self.quiet(steps, &user).await?;
        steps.enter("remove_home");
        // While the user still exists its files can be told by their owner.
        files::remove_all_of(&user).await?;
        steps.enter("remove_user");
        {
            let _one = self.users.lock().await;
            users::remove(&user).await?;
        }
        steps.enter("check_gpus");
        self.gpus.free(gpus);
        let left = self.gpus.processes_on(gpus);
        Ok(evidence::of(steps, evidence::Seen { processes_killed, gone: true, gpu_processes_left: left }))
    }

    async fn ensure_sanitized(&self, steps: &mut Steps) -> Result<Done> {
        steps.enter("wipe_script");
        wipe::run(self.config.wipe_script.as_deref()).await?;
        let seen = evidence::Seen { processes_killed: 0, gone: true, gpu_processes_left: self.gpus.processes_on_all() };
        Ok(evidence::of(steps, seen))
    }

    async fn ensure_agent(&self, steps: &mut Steps, task: &Task) -> Result<Option<Done>> {
        match &self.updater {
            Some(updater) => updater.ensure(steps, task).await,
            None => Err(Failure::lasting("unsupported", "this agent was started without a way to replace itself")),
        }
    }

    async fn prepare(&self, user: &str, program: Program<'_>) -> std::result::Result<Prepared, Refused> {
        shell::prepare(&self.open_login(user)?, program)
    }

    async fn connect(&self, user: &str, port: u16) -> std::result::Result<Way, Refused> {
        shell::connect(&self.open_login(user)?, port).await
    }
}

impl LinuxDriver {
    /// Nobody logs in as the user any more and nothing of it runs.
    async fn quiet(&self, steps: &mut Steps, user: &User) -> Result<u32> {
        steps.enter("lock_login");
        {
            let _one = self.users.lock().await;
            users::lock(user).await?;
        }
        steps.enter("kill_processes");
        processes::kill_all_of(user.uid).await
    }
}
