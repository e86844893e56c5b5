//! Handing a host's GPUs and limits to a login and taking them back.

use super::LinuxDriver;
use super::devices::{Holders, openers};
use super::gpus::GpuSource;
use crate::driver::{Allocation, Failure, Result, Steps};
use crate::workloads::login::logins::Holding;
use crate::workloads::login::users::{self, User};
use crate::workloads::login::{configure, environment, keys, processes, schedulers, sessions, sshd};
use protocol::{Done, GpuRef};

impl LinuxDriver {
    /// Everything that the login needs, and the way in last.
    pub(super) async fn hand_over(&self, steps: &mut Steps, user: &User, wanted: Allocation<'_>) -> Result<Done> {
        steps.enter("set_limits");
        let of_gpus = self.gpus.list().len();
        let limits = wanted.limits.unwrap_or_default().or(self.host.share(wanted.gpus.len(), of_gpus));
        let cards = self.gpus.device_files(&self.devices, wanted.gpus);
        self.groups.ensure(user, &limits, &self.devices.allowed(&cards)).await?;
        steps.enter("assign_gpus");
        environment::write(&self.config, user, &GpuSource::environment(wanted.shape, wanted.gpus))?;
        if self.logins.get(&user.name).is_none() {
            environment::hook(&self.config, user).await?;
        }
        if self.is_set_up() {
            schedulers::deny(&user.name)?;
            configure::limit_files(&user.name, limits.open_files)?;
        }
        {
            let _one = self.users.lock().await;
            users::set_holder(user, !wanted.gpus.is_empty()).await?;
        }
        self.logins.hold(user, Holding::new(wanted.gpus, limits))?;
        self.enforce()?;
        steps.enter("self_test");
        let self_test = self.gpus.self_test(wanted.gpus, wanted.self_test)?;
        self.require_sshd(user).await?;
        steps.enter("write_keys");
        self.mark_lost_keys(user, &wanted.login.keys)?;
        keys::write(&self.config.keys_root, user, &wanted.login.keys)?;
        self.cut_off(user).await?;
        steps.enter("unlock_login");
        {
            let _one = self.users.lock().await;
            users::unlock(user).await?;
        }
        let gpus = wanted.gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
        Ok(Done::Proof { gpus, driver_version: self.gpus.driver_version(), self_test, stages: steps.finish() })
    }

    /// A tenant's own keys would outlive every removal of theirs.
    async fn require_sshd(&self, user: &User) -> Result<()> {
        let Some(file) = self.sshd_file.get() else { return Ok(()) };
        sshd::check(&self.config, file, &user.name).await.map_err(|why| {
            let detail = format!("{why}: logins could be entered with other keys; run gpuaas-node doctor on the host");
            Failure::lasting("sshd", detail)
        })
    }

    /// Whoever has a device open keeps it, so a GPU changes hands only when nobody
    /// uses it. What the login itself runs on its own GPUs is no obstacle.
    pub(super) fn require_idle(&self, user: &str, gpus: &[GpuRef]) -> Result<()> {
        let own = self.logins.get(user).map(|holding| holding.gpus).unwrap_or_default();
        let new: Vec<GpuRef> = gpus.iter().filter(|gpu| !own.contains(gpu)).cloned().collect();
        match self.processes_on(&new) {
            0 => Ok(()),
            busy => {
                let detail = format!("{busy} processes use a GPU that nobody holds; end them, or sanitize the host");
                Err(Failure::passing("gpu_busy", detail))
            }
        }
    }

    /// Processes on the GPUs, as their driver counts them, and those of ordinary
    /// users that merely have one open.
    pub(super) fn processes_on(&self, gpus: &[GpuRef]) -> u32 {
        let files = self.gpus.device_files(&self.devices, gpus);
        let open: usize = files.iter().map(|path| openers(path, ORDINARY).len()).sum();
        self.gpus.processes_on(gpus).max(open.try_into().unwrap_or(u32::MAX))
    }

    /// The same for every GPU of the host.
    pub(super) fn processes_on_all(&self) -> u32 {
        let all = self.gpus.list().into_iter().map(|gpu| GpuRef { uuid: gpu.uuid, pci: gpu.pci });
        self.processes_on(&all.collect::<Vec<_>>())
    }

    /// Device files are open to those who hold their GPU and to nobody else.
    pub(super) fn enforce(&self) -> Result<usize> {
        let failed = |error: std::io::Error| Failure::passing("gpu_access", format!("device files: {error}"));
        self.devices.enforce(&self.holders()?, users::holders_group()).map_err(failed)
    }

    fn holders(&self) -> Result<Holders> {
        let mut holders = Holders::new();
        for (name, holding) in self.logins.all() {
            if holding.gpus.is_empty() {
                continue;
            }
            let Some(user) = users::find(&name)?.filter(|user| user.is_ours) else { continue };
            for path in self.gpus.device_files(&self.devices, &holding.gpus) {
                holders.insert(path, user.gid);
            }
        }
        Ok(holders)
    }

    pub(super) fn enforce_and_tell(&self) {
        match self.enforce() {
            Ok(0) => {}
            Ok(changed) => tracing::warn!(
                changed,
                "device files of GPUs were open to others and are closed again; set NVreg_ModifyDeviceFiles=0"
            ),
            Err(failure) => tracing::error!(detail = failure.detail, "device files of GPUs could not be closed"),
        }
    }

    /// After a start: device files as they were held, and the groups of logins,
    /// which end with the host.
    pub async fn restore(&self) {
        for (name, holding) in self.logins.all() {
            let Ok(Some(user)) = self.ours(&name) else { continue };
            let cards = self.gpus.device_files(&self.devices, &holding.gpus);
            let allowed = self.devices.allowed(&cards);
            if let Err(failure) = self.groups.ensure(&user, &holding.limits, &allowed).await {
                tracing::error!(login = name, detail = failure.detail, "the limits of a login could not be set");
            }
        }
        if !self.groups.is_there() {
            tracing::warn!(groups = self.groups.describe(), "logins of this host have no limits");
        }
        match self.enforce() {
            Ok(changed) => tracing::info!(changed, "device files of GPUs are open to their holders only"),
            Err(failure) => tracing::error!(detail = failure.detail, "device files of GPUs could not be closed"),
        }
    }

    /// The login holds no GPU any more and no key opens it; its home stays.
    pub(super) async fn take_back(&self, user: &User) -> Result<()> {
        keys::remove(&self.config.keys_root, &user.name)?;
        self.logins.drop_gpus(&user.name)?;
        self.enforce()?;
        let _one = self.users.lock().await;
        users::set_holder(user, false).await
    }

    /// Nothing is remembered of a login that is gone.
    pub(super) fn forget(&self, name: &str) -> Result<()> {
        keys::remove(&self.config.keys_root, name)?;
        environment::remove(&self.config, name)?;
        if self.is_set_up() {
            schedulers::forget(name)?;
            configure::forget_files(name)?;
        }
        self.logins.forget(name)?;
        self.enforce().map(|_| ())
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
        if keys::would_lose(&self.config.keys_root, user, keys) {
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
        tracing::info!(login = user.name, ended, "a key was taken away; connections to sshd were ended");
        self.logins.set_to_cut(&user.name, false)
    }

    /// Writes the keys of a login that exists, and ends its connections to sshd where
    /// it loses one. One whose keys cannot be written is locked: somebody who may no
    /// longer come in might still hold one of the old keys. Writing them at last opens
    /// it again.
    pub(super) async fn replace_keys(&self, user: &User, keys: &[String]) -> Result<()> {
        self.mark_lost_keys(user, keys)?;
        if let Err(failure) = keys::write(&self.config.keys_root, user, keys) {
            if !users::is_locked(user) {
                self.logins.set_locked_for_keys(&user.name, true)?;
            }
            self.lock_after(user, "ensure_keys").await;
            if let Err(failure) = self.cut_off(user).await {
                tracing::error!(login = user.name, detail = failure.detail, "connections to sshd could not be ended");
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

const ORDINARY: u32 = 1000; // bound: ids below it are the host's own services
