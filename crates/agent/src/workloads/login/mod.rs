//! A user of the host with SSH keys, processes, a home and GPUs.

mod clean;
mod configure;
mod environment;
mod files;
mod groups;
mod hold;
mod keys;
mod logins;
pub(crate) mod outlook;
pub(crate) mod processes;
mod schedulers;
mod sessions;
mod shell;
mod sshd;
pub(crate) mod users;

pub(crate) use groups::share;

use super::{Evidence, Proof, Workload};
use crate::config::Config;
use crate::linux::LinuxHost;
use crate::linux::cards::DeviceGroup;
use crate::state::{StateError, StateFolder};
use crate::steps::{Failure, Result, Steps};
use crate::streams::Refused;
use crate::streams::shell::{PortRoute, Prepared, Program};
use groups::Groups;
use logins::Logins;
use protocol::stream::refusals;
use protocol::{GpuRef, Isolation, LoginRef, LoginSpec};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tokio::sync::Mutex;
use users::{User, is_login_name};

pub struct Login {
    host: Arc<LinuxHost>,
    groups: Groups,
    logins: Arc<Logins>,
    /// What the host's sshd reads, where the agent answers for it.
    sshd_file: OnceLock<PathBuf>,
    /// useradd and its kin lock the same files and give up when they are locked.
    users: Mutex<()>,
}

impl Login {
    /// Remembers in the folder what logins hold; without one, nothing across its own end.
    pub fn open(host: &Arc<LinuxHost>, folder: Option<StateFolder>) -> std::result::Result<Self, StateError> {
        let logins = Arc::new(folder.map_or_else(|| Ok(Logins::default()), Logins::open)?);
        let known = Arc::clone(&logins);
        host.cards.add_holders(move || held(&known));
        let (host, groups) = (Arc::clone(host), Groups::find());
        Ok(Self { host, groups, logins, sshd_file: OnceLock::new(), users: Mutex::default() })
    }

    fn config(&self) -> &Config {
        &self.host.config
    }

    /// Ends what sessions of an agent that was killed have left, and says how much.
    fn sweep(&self) -> usize {
        crate::streams::processes::sweep(|uid| users::is_made_below(uid, &self.config().home_root))
    }

    /// Whether the host's own settings are the agent's to change.
    fn is_set_up(&self) -> bool {
        self.sshd_file.get().is_some()
    }

    /// From now on no login is handed over while sshd, as it reads that file, lets
    /// logins in by anything but the agent's keys.
    pub fn answer_for_sshd(&self, file: PathBuf) {
        // The first word counts: there is one sshd.
        let _ = self.sshd_file.set(file);
    }

    /// What sshd is told of logins.
    pub fn sshd_settings(&self) -> String {
        sshd::settings(self.config())
    }

    /// The user, if it is one that the agent made.
    fn ours(&self, name: &str) -> Result<Option<User>> {
        if !is_login_name(name) {
            return Err(Failure::lasting("bad_login", format!("{name:?} is not a valid user name")));
        }
        match users::find(name)? {
            Some(user) if user.is_ours => Ok(Some(user)),
            Some(_) => Err(Failure::lasting("foreign_user", format!("{name} was not created by the agent"))),
            None => Ok(None),
        }
    }

    /// The user of a login that was made before.
    fn existing(&self, name: &str) -> Result<User> {
        self.ours(name)?.ok_or_else(|| Failure::lasting("no_user", format!("{name} does not exist")))
    }

    /// The user, if it is one that the agent made and somebody may use it now.
    fn open_login(&self, name: &str) -> std::result::Result<User, Refused> {
        let refused = |detail: String| Refused::new(refusals::NO_ALLOCATION, detail);
        let user = self.ours(name).map_err(|failure| refused(failure.detail))?;
        let user = user.ok_or_else(|| refused(format!("user {name} does not exist")))?;
        if users::is_locked(&user) { Err(refused(format!("{name} is locked"))) } else { Ok(user) }
    }
}

/// What logins that exist hold.
fn held(logins: &Logins) -> Result<Vec<DeviceGroup>> {
    let mut all = Vec::new();
    for (name, holding) in logins.all() {
        if holding.gpus.is_empty() {
            continue;
        }
        if let Some(user) = users::find(&name)?.filter(|user| user.is_ours) {
            all.push(DeviceGroup { gpus: holding.gpus, group: user.gid });
        }
    }
    Ok(all)
}

impl Workload for Login {
    type Spec = LoginSpec;

    async fn ensure(&self, steps: &mut Steps, spec: &LoginSpec) -> Result<()> {
        keys::check(&spec.login.keys)?;
        let known = self.ours(&spec.login.user)?;
        steps.enter("check_gpus");
        self.host.cards.gpus.require(&spec.gpus)?;
        self.require_idle(&spec.login.user, &spec.gpus)?;
        steps.enter("create_user");
        let user = {
            let _one = self.users.lock().await;
            let range = (self.config().first_uid, self.config().last_uid);
            let next_uid = || self.logins.take_uid(range, users::is_free);
            users::ensure(&spec.login.user, known, &self.config().home_root, next_uid).await?
        };
        let handed_over = self.hand_over(steps, &user, spec).await;
        if handed_over.is_err() {
            self.lock_after(&user, "ensure_allocation").await;
        }
        handed_over
    }

    async fn prove(&self, steps: &mut Steps, spec: &LoginSpec) -> Result<Proof> {
        steps.enter("self_test");
        let self_test = self.host.cards.gpus.self_test(&spec.gpus, spec.self_test)?;
        self.require_sshd(&spec.login.user).await?;
        let gpus = spec.gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
        Ok(Proof { gpus, driver_version: self.host.cards.gpus.driver_version(), self_test })
    }

    async fn open(&self, steps: &mut Steps, spec: &LoginSpec) -> Result<()> {
        let user = self.existing(&spec.login.user)?;
        self.let_in(steps, &user, &spec.login.keys).await
    }

    async fn close(&self, spec: &LoginSpec) {
        if let Ok(Some(user)) = self.ours(&spec.login.user) {
            self.lock_after(&user, "ensure_allocation").await;
        }
    }

    async fn keys(&self, steps: &mut Steps, workload: &LoginRef, keys: &[String]) -> Result<()> {
        keys::check(keys)?;
        let user = self.existing(&workload.user)?;
        steps.enter("write_keys");
        self.replace_keys(&user, keys).await
    }

    async fn stop(&self, steps: &mut Steps, workload: &LoginRef, gpus: &[GpuRef]) -> Result<Evidence> {
        let Some(user) = self.ours(&workload.user)? else {
            return Ok(Evidence::of_nothing(self.host.cards.processes_on(gpus)));
        };
        let processes_killed = self.quiet(steps, &user).await?;
        steps.enter("check_gpus");
        self.take_back(&user).await?;
        let gpu_processes_left = self.host.cards.processes_on(gpus);
        Ok(Evidence { processes_killed, home_removed: false, user_removed: false, gpu_processes_left })
    }

    async fn remove(&self, steps: &mut Steps, workload: &LoginRef, gpus: &[GpuRef], _: Isolation) -> Result<Evidence> {
        let Some(user) = self.ours(&workload.user)? else {
            files::remove_orphaned_home(&self.config().home_root, &workload.user).await?;
            self.forget(&workload.user)?;
            return Ok(Evidence::of_nothing(self.host.cards.processes_on(gpus)));
        };
        let processes_killed = self.quiet(steps, &user).await?;
        steps.enter("remove_home");
        // While the user still exists its files can be told by their owner.
        self.groups.remove(&user).await?;
        files::remove_all_of(&user, &users::ids_of(&user), self.config()).await?;
        steps.enter("remove_user");
        {
            let _one = self.users.lock().await;
            users::remove(&user).await?;
        }
        steps.enter("check_gpus");
        self.forget(&user.name)?;
        let (user_removed, home_removed) = (users::find(&user.name)?.is_none(), !user.home.exists());
        let gpu_processes_left = self.host.cards.processes_on(gpus);
        Ok(Evidence { processes_killed, home_removed, user_removed, gpu_processes_left })
    }

    async fn wiped(&self) -> Result<()> {
        let config = self.config().clone();
        let inspected = tokio::task::spawn_blocking(move || clean::inspect(&config)).await;
        inspected.unwrap_or_else(|error| Err(Failure::passing("not_clean", error.to_string())))?;
        self.logins.sanitized()?;
        environment::clear(self.config());
        Ok(())
    }

    async fn open_stream(&self, workload: &LoginRef, program: Program<'_>) -> std::result::Result<Prepared, Refused> {
        let user = self.open_login(&workload.user)?;
        let open_files = self.logins.get(&user.name).map_or(groups::OPEN_FILES, |it| it.limits.open_files);
        shell::prepare(&user, &self.groups.enter(&user, open_files), program)
    }

    async fn reach_port(&self, workload: &LoginRef, port: u16) -> std::result::Result<PortRoute, Refused> {
        shell::connect(&self.open_login(&workload.user)?, port).await
    }

    async fn start(&self, configures_host: bool) -> Vec<String> {
        let problems = if configures_host {
            self.answer_for_sshd(sshd::MAIN_FILE.into());
            configure::configure(self.config()).await
        } else {
            tracing::warn!("started without --configure-host: sshd settings are not checked");
            Vec::new()
        };
        self.restore().await;
        let left = self.sweep();
        if left > 0 {
            tracing::warn!(left, "ended session processes left by a previous agent");
        }
        problems
    }
}
