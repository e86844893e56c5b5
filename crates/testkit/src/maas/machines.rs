//! The machines of the scripted MAAS and what happens to them over time.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Fault, Shared, State, boot};

/// The statuses of MAAS, by their numbers in its API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    New = 0,
    Ready = 4,
    Deployed = 6,
    Broken = 8,
    Deploying = 9,
    Allocated = 10,
    FailedDeployment = 11,
    Releasing = 12,
    FailedReleasing = 13,
    DiskErasing = 14,
    FailedDiskErasing = 15,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Status::New => "New",
            Status::Ready => "Ready",
            Status::Deployed => "Deployed",
            Status::Broken => "Broken",
            Status::Deploying => "Deploying",
            Status::Allocated => "Allocated",
            Status::FailedDeployment => "Failed deployment",
            Status::Releasing => "Releasing",
            Status::FailedReleasing => "Releasing failed",
            Status::DiskErasing => "Disk erasing",
            Status::FailedDiskErasing => "Failed disk erasing",
        }
    }

    /// As MAAS has it: what is being erased cannot be released again.
    fn is_releasable(self) -> bool {
        matches!(
            self,
            Status::Allocated
                | Status::Broken
                | Status::Deploying
                | Status::Deployed
                | Status::FailedDeployment
                | Status::FailedDiskErasing
                | Status::FailedReleasing
        )
    }
}

/// That a machine was allocated, and under which name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocatedMachine {
    pub system_id: String,
    pub holder: String,
}

pub struct Machine {
    pub system_id: String,
    pub hostname: String,
    pub status: Status,
    pub owner: Option<String>,
    pub agent_name: String,
    pub pool: String,
    pub tags: Vec<String>,
    pub is_on: bool,
    pub series: Option<String>,
    pub user_data: Option<String>,
    pub history: Vec<Status>,
    /// Ends what runs on it or is done to it.
    life: CancellationToken,
}

/// What the API answers with when something cannot be done.
pub type Refusal = (u16, String);

impl Machine {
    pub fn new(system_id: &str, status: Status, tags: &[&str]) -> Machine {
        Machine {
            system_id: system_id.to_owned(),
            hostname: format!("host-{system_id}"),
            status,
            owner: None,
            agent_name: String::new(),
            pool: "default".into(),
            tags: tags.iter().map(|it| (*it).to_owned()).collect(),
            is_on: false,
            series: None,
            user_data: None,
            history: vec![status],
            life: CancellationToken::new(),
        }
    }

    pub fn stop(&mut self) {
        self.life.cancel();
        self.life = CancellationToken::new();
    }

    fn become_(&mut self, status: Status) {
        self.status = status;
        self.history.push(status);
    }

    pub fn json(&self) -> Value {
        json!({
            "system_id": self.system_id, "hostname": self.hostname, "fqdn": format!("{}.maas", self.hostname),
            "status": self.status as i64, "status_name": self.status.name(), "status_message": "",
            "owner": self.owner.clone().unwrap_or_default(), "owner_data": {}, "distro_series": self.series,
            "power_state": if self.is_on { "on" } else { "off" }, "tag_names": self.tags,
            "pool": { "id": 0, "name": self.pool }, "zone": { "id": 1, "name": "default" },
            "architecture": "amd64/generic", "cpu_count": 64, "memory": 1_048_576,
        })
    }
}

impl State {
    fn take_fault(&mut self, system_id: &str, fault: Fault) -> bool {
        let at = self.faults.iter().position(|(id, it)| id == system_id && *it == fault);
        at.map(|at| self.faults.remove(at)).is_some()
    }

    pub fn allocate(&mut self, wanted: impl Fn(&Machine) -> bool, holder: &str) -> Result<Value, Refusal> {
        let found =
            self.machines.values_mut().find(|it| it.status == Status::Ready && it.owner.is_none() && wanted(it));
        let Some(machine) = found else {
            return Err((409, "No available machine matches constraints".into()));
        };
        machine.become_(Status::Allocated);
        (machine.owner, machine.agent_name) = (Some("gpuaas".into()), holder.to_owned());
        self.taken.push(AllocatedMachine { system_id: machine.system_id.clone(), holder: holder.to_owned() });
        Ok(machine.json())
    }

    /// The machine, if the caller may change it.
    fn owned(&mut self, system_id: &str) -> Result<&mut Machine, Refusal> {
        let machine = self.machines.get_mut(system_id).ok_or((404, "Not Found".to_owned()))?;
        match machine.owner.as_deref() {
            None | Some("gpuaas") => Ok(machine),
            Some(_) => Err((403, "Forbidden".into())),
        }
    }

    pub fn power(&mut self, system_id: &str, is_on: bool) -> Result<Value, Refusal> {
        let machine = self.owned(system_id)?;
        machine.is_on = is_on;
        Ok(machine.json())
    }
}

pub fn deploy(shared: &Arc<Shared>, system_id: &str, form: &super::api::Form) -> Result<Value, Refusal> {
    let mut state = shared.lock();
    let holder = form.get("agent_name").unwrap_or_default();
    // A free machine is allocated by deploying it.
    if state.owned(system_id)?.status == Status::Ready {
        state.allocate(|it| it.system_id == system_id, &holder)?;
    }
    let machine = state.owned(system_id)?;
    if machine.status != Status::Allocated {
        return Err((409, format!("Can't deploy a machine that is in the '{}' state", machine.status.name())));
    }
    machine.user_data = form.get("user_data").map(|it| {
        use base64::{Engine, engine::general_purpose::STANDARD};
        String::from_utf8(STANDARD.decode(it).expect("user-data is base64")).expect("it is a script")
    });
    machine.series = form.get("distro_series");
    machine.is_on = true;
    machine.become_(Status::Deploying);
    let answer = machine.json();
    let life = machine.life.clone();
    tokio::spawn(install(shared.clone(), system_id.to_owned(), life));
    Ok(answer)
}

async fn install(shared: Arc<Shared>, system_id: String, life: CancellationToken) {
    tokio::select! {
        () = life.cancelled() => return,
        () = shared.stop.cancelled() => return,
        () = tokio::time::sleep(shared.pace.deploy) => (), // pause: the pace that the test set
    }
    let (hostname, user_data) = {
        let mut state = shared.lock();
        let (fails, is_mute) =
            (state.take_fault(&system_id, Fault::DeployFails), state.take_fault(&system_id, Fault::NeverEnrolls));
        let Some(machine) = state.machines.get_mut(&system_id).filter(|_| !life.is_cancelled()) else { return };
        machine.become_(if fails { Status::FailedDeployment } else { Status::Deployed });
        if fails || is_mute {
            return;
        }
        (machine.hostname.clone(), machine.user_data.clone().unwrap_or_default())
    };
    if let Err(why) = boot::boot(&hostname, &user_data, life).await {
        shared.lock().complaints.push(format!("{hostname}: {why}"));
    }
}

pub fn release(shared: &Arc<Shared>, system_id: &str, form: &super::api::Form) -> Result<Value, Refusal> {
    let mut state = shared.lock();
    let machine = state.owned(system_id)?;
    // Asking again for what is under way or done is a success.
    if matches!(machine.status, Status::Releasing | Status::Ready) {
        return Ok(machine.json());
    }
    if !machine.status.is_releasable() {
        let name = machine.status.name();
        return Err((409, format!("Machine cannot be released in its current state ('{name}').")));
    }
    machine.stop();
    let erases = form.get("erase").as_deref() == Some("true");
    machine.become_(if erases { Status::DiskErasing } else { Status::Releasing });
    if !erases {
        machine.agent_name.clear();
    }
    let (answer, life) = (machine.json(), machine.life.clone());
    tokio::spawn(give_back(shared.clone(), system_id.to_owned(), erases, life));
    Ok(answer)
}

async fn give_back(shared: Arc<Shared>, system_id: String, erases: bool, life: CancellationToken) {
    if erases {
        tokio::select! {
            () = life.cancelled() => return,
            () = shared.stop.cancelled() => return,
            () = tokio::time::sleep(shared.pace.erase) => (), // pause: the pace that the test set
        }
        let mut state = shared.lock();
        let fails = state.take_fault(&system_id, Fault::EraseFails);
        let Some(machine) = state.machines.get_mut(&system_id).filter(|_| !life.is_cancelled()) else { return };
        machine.become_(if fails { Status::FailedDiskErasing } else { Status::Releasing });
        if fails {
            return;
        }
        // MAAS forgets under which name it was held as soon as it lets go.
        machine.agent_name.clear();
    }
    tokio::select! {
        () = life.cancelled() => return,
        () = shared.stop.cancelled() => return,
        () = tokio::time::sleep(shared.pace.release) => (), // pause: the pace that the test set
    }
    let mut state = shared.lock();
    let Some(machine) = state.machines.get_mut(&system_id).filter(|_| !life.is_cancelled()) else { return };
    machine.become_(Status::Ready);
    (machine.owner, machine.is_on, machine.user_data, machine.series) = (None, false, None, None);
}
