//! A real host: users with ssh keys, their processes and homes, and the GPUs that
//! NVML finds. Works as root on Debian and Ubuntu.

pub(crate) mod command;
pub(crate) mod devices;
pub(crate) mod gpus;
mod hold;
pub(crate) mod host;
pub(crate) mod mounts;
pub(crate) mod tree;
pub(crate) mod wipe;

pub use crate::workloads::login::users::{LOGINS, MARK, is_login_name};
pub use gpus::GpuSource;

use crate::config::Config;
use crate::driver::{Allocation, Driver, Failure, Readings, Result, Steps};
use crate::state::{StateError, StateFolder};
use crate::streams::Refused;
use crate::streams::shell::{Prepared, Program, Way};
use crate::update::Updater;
use crate::workloads::login::groups::{self, Groups};
use crate::workloads::login::logins::Logins;
use crate::workloads::login::users::{self, User};
use crate::workloads::login::{clean, configure, environment, evidence, files, keys, shell, sshd};
use devices::Devices;
use host::Host;
use protocol::stream::refusals;
use protocol::{Done, GpuRef, HealthEvent, Inventory, Isolation, Shape, Task};
use std::path::PathBuf;
use std::sync::OnceLock;
use tokio::sync::Mutex;

pub struct LinuxDriver {
    config: Config,
    host: Host,
    gpus: GpuSource,
    devices: Devices,
    groups: Groups,
    logins: Logins,
    updater: Option<Updater>,
    /// What the host's sshd reads, where the agent answers for it.
    sshd_file: OnceLock<PathBuf>,
    /// useradd and its kin lock the same files and give up when they are locked.
    users: Mutex<()>,
}

impl LinuxDriver {
    /// Remembers nothing across its own end.
    pub fn new(config: Config, updater: Option<Updater>) -> Self {
        Self::with(config, updater, Logins::default())
    }

    /// Remembers in the folder what logins hold.
    pub fn open(
        config: Config,
        updater: Option<Updater>,
        folder: StateFolder,
    ) -> std::result::Result<Self, StateError> {
        Ok(Self::with(config, updater, Logins::open(folder)?))
    }

    fn with(config: Config, updater: Option<Updater>, logins: Logins) -> Self {
        let gpus = GpuSource::find(&config);
        let devices = Devices::below(&config.device_root);
        let (host, groups) = (Host::default(), Groups::find());
        let (sshd_file, users) = (OnceLock::new(), Mutex::new(()));
        Self { config, host, gpus, devices, groups, logins, updater, sshd_file, users }
    }

    /// Ends what sessions of an agent that was killed have left, and says how much.
    pub fn sweep(&self) -> usize {
        crate::streams::processes::sweep(|uid| users::is_made_below(uid, &self.config.home_root))
    }

    /// Whether the host's own settings are the agent's to change.
    fn is_set_up(&self) -> bool {
        self.sshd_file.get().is_some()
    }

    /// Sets the host itself up for logins; what could not be done is in the answer.
    pub async fn configure(&self) -> Vec<String> {
        self.answer_for_sshd(sshd::MAIN_FILE.into());
        configure::configure(&self.config).await
    }

    /// From now on no login is handed over while sshd, as it reads that file, lets
    /// logins in by anything but the agent's keys.
    pub fn answer_for_sshd(&self, file: PathBuf) {
        // The first word counts: there is one sshd.
        let _ = self.sshd_file.set(file);
    }

    /// What sshd is told of logins.
    pub fn sshd_settings(&self) -> String {
        sshd::settings(&self.config)
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
        // Programs of the driver may reset what they find; see `outlook`.
        self.enforce_and_tell();
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
        self.require_idle(&wanted.login.user, wanted.gpus)?;
        steps.enter("create_user");
        let user = {
            let _one = self.users.lock().await;
            let range = (self.config.first_uid, self.config.last_uid);
            let next_uid = || self.logins.take_uid(range, users::is_free);
            users::ensure(&wanted.login.user, known, &self.config.home_root, next_uid).await?
        };
        match self.hand_over(steps, &user, wanted).await {
            Ok(done) => Ok(done),
            Err(failure) => {
                // Nobody uses what is not wholly there.
                self.lock_after(&user, "ensure_allocation").await;
                Err(failure)
            }
        }
    }

    async fn ensure_keys(&self, steps: &mut Steps, user: &str, keys: &[String]) -> Result<Done> {
        keys::check(keys)?;
        let user = self.ours(user)?.ok_or_else(|| Failure::lasting("no_user", format!("{user} does not exist")))?;
        steps.enter("write_keys");
        self.replace_keys(&user, keys).await?;
        Ok(Done::Keys { count: keys.len().try_into().unwrap_or(u32::MAX) })
    }

    async fn ensure_stopped(&self, steps: &mut Steps, user: &str, gpus: &[GpuRef]) -> Result<Done> {
        let Some(user) = self.ours(user)? else {
            return Ok(evidence::of_nothing(steps, self.processes_on(gpus)));
        };
        let processes_killed = self.quiet(steps, &user).await?;
        steps.enter("check_gpus");
        self.take_back(&user).await?;
        let gone = evidence::Gone { user: false, home: false };
        let left = self.processes_on(gpus);
        Ok(evidence::of(steps, evidence::Seen { processes_killed, gone, gpu_processes_left: left }))
    }

    async fn ensure_gone(&self, steps: &mut Steps, user: &str, gpus: &[GpuRef], _: Isolation) -> Result<Done> {
        let Some(user) = self.ours(user)? else {
            files::remove_orphaned_home(&self.config.home_root, user).await?;
            self.forget(user)?;
            return Ok(evidence::of_nothing(steps, self.processes_on(gpus)));
        };
        let processes_killed = self.quiet(steps, &user).await?;
        steps.enter("remove_home");
        // While the user still exists its files can be told by their owner.
        self.groups.remove(&user).await?;
        files::remove_all_of(&user, &users::ids_of(&user), &self.config).await?;
        steps.enter("remove_user");
        {
            let _one = self.users.lock().await;
            users::remove(&user).await?;
        }
        steps.enter("check_gpus");
        self.forget(&user.name)?;
        let gone = evidence::Gone { user: users::find(&user.name)?.is_none(), home: !user.home.exists() };
        let left = self.processes_on(gpus);
        Ok(evidence::of(steps, evidence::Seen { processes_killed, gone, gpu_processes_left: left }))
    }

    async fn ensure_sanitized(&self, steps: &mut Steps) -> Result<Done> {
        steps.enter("wipe_script");
        wipe::run(self.config.wipe_script.as_deref()).await?;
        steps.enter("inspect");
        let config = self.config.clone();
        let inspected = tokio::task::spawn_blocking(move || clean::inspect(&config)).await;
        inspected.unwrap_or_else(|error| Err(Failure::passing("not_clean", error.to_string())))?;
        let left = self.processes_on_all();
        clean::check_idle(left)?;
        self.logins.sanitized()?;
        environment::clear(&self.config);
        self.enforce()?;
        let gone = evidence::Gone { user: true, home: true };
        Ok(evidence::of(steps, evidence::Seen { processes_killed: 0, gone, gpu_processes_left: left }))
    }

    async fn ensure_agent(&self, steps: &mut Steps, task: &Task) -> Result<Option<Done>> {
        match &self.updater {
            Some(updater) => updater.ensure(steps, task).await,
            None => Err(Failure::lasting("unsupported", "this agent was started without a way to replace itself")),
        }
    }

    async fn prepare(&self, user: &str, program: Program<'_>) -> std::result::Result<Prepared, Refused> {
        let user = self.open_login(user)?;
        let open_files = self.logins.get(&user.name).map_or(groups::OPEN_FILES, |it| it.limits.open_files);
        shell::prepare(&user, &self.groups.enter(&user, open_files), program)
    }

    async fn connect(&self, user: &str, port: u16) -> std::result::Result<Way, Refused> {
        shell::connect(&self.open_login(user)?, port).await
    }
}
