//! Handing a host's GPUs and limits to a login and taking them back.

use super::logins::Holding;
use super::users::{self, User};
use super::{Login, configure, environment, keys, processes, schedulers, sessions, sshd};
use crate::linux::GpuSource;
use crate::steps::{Failure, Result, Steps};
use protocol::{GpuRef, LoginSpec};

impl Login {
    /// Everything that the login needs, but no way in.
    pub(super) async fn hand_over(&self, steps: &mut Steps, user: &User, spec: &LoginSpec) -> Result<()> {
        steps.enter("set_limits");
        let limits = spec.limits.unwrap_or_default().or(self.host.share(spec.gpus.len()));
        self.groups.ensure(user, &limits, &self.host.cards.allowed(&spec.gpus)).await?;
        steps.enter("assign_gpus");
        environment::write(self.config(), user, &GpuSource::environment(spec.shape, &spec.gpus))?;
        if self.logins.get(&user.name).is_none() {
            environment::hook(self.config(), user).await?;
        }
        if self.is_set_up() {
            schedulers::deny(&user.name)?;
            configure::limit_files(&user.name, limits.open_files)?;
        }
        {
            let _one = self.users.lock().await;
            users::set_holder(user, !spec.gpus.is_empty()).await?;
        }
        self.logins.hold(user, Holding::new(&spec.gpus, limits))?;
        self.host.cards.enforce().map(|_| ())
    }

    /// The keys, and the way in last.
    pub(super) async fn let_in(&self, steps: &mut Steps, user: &User, keys: &[String]) -> Result<()> {
        steps.enter("write_keys");
        self.mark_lost_keys(user, keys)?;
        keys::write(&self.config().keys_root, user, keys)?;
        self.cut_off(user).await?;
        steps.enter("unlock_login");
        let _one = self.users.lock().await;
        users::unlock(user).await
    }

    /// A tenant's own keys would outlive every removal of theirs.
    pub(super) async fn require_sshd(&self, user: &str) -> Result<()> {
        let Some(file) = self.sshd_file.get() else { return Ok(()) };
        sshd::check(self.config(), file, user).await.map_err(|why| {
            let detail = format!("{why}: other keys could be used to log in; run gpuaas-node doctor on the host");
            Failure::lasting("sshd", detail)
        })
    }

    /// Whoever has a device open keeps it, so a GPU changes hands only when nobody
    /// uses it. What the login itself runs on its own GPUs is no obstacle.
    pub(super) fn require_idle(&self, user: &str, gpus: &[GpuRef]) -> Result<()> {
        let own = self.logins.get(user).map(|holding| holding.gpus).unwrap_or_default();
        let new: Vec<GpuRef> = gpus.iter().filter(|gpu| !own.contains(gpu)).cloned().collect();
        match self.host.cards.processes_on(&new) {
            0 => Ok(()),
            busy => {
                let detail =
                    format!("{busy} processes use a GPU that no allocation holds; end them, or sanitize the host");
                Err(Failure::passing("gpu_busy", detail))
            }
        }
    }

    /// After a start: device files as they were held, and the groups of logins,
    /// which end with the host.
    pub async fn restore(&self) {
        for (name, holding) in self.logins.all() {
            let Ok(Some(user)) = self.ours(&name) else { continue };
            let allowed = self.host.cards.allowed(&holding.gpus);
            if let Err(failure) = self.groups.ensure(&user, &holding.limits, &allowed).await {
                tracing::error!(login = name, detail = failure.detail, "the limits of a login could not be set");
            }
        }
        if !self.groups.is_there() {
            tracing::warn!(groups = self.groups.describe(), "logins of this host have no limits");
        }
        match self.host.cards.enforce() {
            Ok(changed) => tracing::info!(changed, "device files of GPUs are open to their allocations only"),
            Err(failure) => tracing::error!(detail = failure.detail, "device files of GPUs could not be closed"),
        }
    }

    /// The login holds no GPU any more and no key opens it; its home stays.
    pub(super) async fn take_back(&self, user: &User) -> Result<()> {
        keys::remove(&self.config().keys_root, &user.name)?;
        self.logins.drop_gpus(&user.name)?;
        self.host.cards.enforce()?;
        let _one = self.users.lock().await;
        users::set_holder(user, false).await
    }

    /// Nothing is remembered of a login that is gone.
    pub(super) fn forget(&self, name: &str) -> Result<()> {
        keys::remove(&self.config().keys_root, name)?;
        environment::remove(self.config(), name)?;
        if self.is_set_up() {
            schedulers::forget(name)?;
            configure::forget_files(name)?;
        }
        self.logins.forget(name)?;
        self.host.cards.enforce().map(|_| ())
    }

    /// Nobody logs in as the user any more and nothing of it runs.
    pub(super) async fn quiet(&self, steps: &mut Steps, user: &User) -> Result<u32> {
        steps.enter("lock_login");
        {
            let _one = self.users.lock().await;
            users::lock(user).await?;
        }
        steps.enter("kill_processes");
        processes::kill_all_of(user, &users::ids_of(user), &self.groups).await
    }

    /// Remembered before the keys are written: an agent that ends in between would
    /// not see afterwards that one is missing.
    fn mark_lost_keys(&self, user: &User, keys: &[String]) -> Result<()> {
        if keys::would_lose(&self.config().keys_root, user, keys) {
            self.logins.set_to_cut(&user.name, true)?;
        }
        Ok(())
    }

    /// Ends the connections to the host's sshd where a key was taken away: which of
    /// them it had opened cannot be told.
    async fn cut_off(&self, user: &User) -> Result<()> {
        if !self.logins.is_to_cut(&user.name) {
            return Ok(());
        }
        let ended = sessions::end(user).await?;
        tracing::info!(login = user.name, ended, "a key was removed; its connections to sshd were closed");
        self.logins.set_to_cut(&user.name, false)
    }

    /// Writes the keys of a login that exists, and ends its connections to sshd where
    /// it loses one. One whose keys cannot be written is locked: somebody who may no
    /// longer come in might still hold one of the old keys. Writing them at last opens
    /// it again.
    pub(super) async fn replace_keys(&self, user: &User, keys: &[String]) -> Result<()> {
        self.mark_lost_keys(user, keys)?;
        if let Err(failure) = keys::write(&self.config().keys_root, user, keys) {
            if !users::is_locked(user) {
                self.logins.set_locked_for_keys(&user.name, true)?;
            }
            self.lock_after(user, "ensure_keys").await;
            if let Err(failure) = self.cut_off(user).await {
                tracing::error!(login = user.name, detail = failure.detail, "connections to sshd could not be closed");
            }
            return Err(failure);
        }
        self.cut_off(user).await?;
        if self.logins.is_locked_for_keys(&user.name) {
            let _one = self.users.lock().await;
            users::unlock(user).await?;
            self.logins.set_locked_for_keys(&user.name, false)?;
        }
        Ok(())
    }

    /// Locks a login whose task failed. That this fails, too, is all that is left to say.
    pub(super) async fn lock_after(&self, user: &User, task: &str) {
        let _one = self.users.lock().await;
        if let Err(failure) = users::lock(user).await {
            tracing::error!(login = user.name, task, detail = failure.detail, "a login could not be locked");
        }
    }
}
