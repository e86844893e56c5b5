//! The first start of an installed machine: does what its user-data says, with
//! the real agent on a pretended host.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use ::agent::{
    enroll::enroll,
    host::{Host, Readings},
    journal::{Bounds, Journal},
    poll::{Agent, Keep, Start, Timing},
    sim::{SimHardware, SimHost, of_sim},
    steps::{Result as Did, Steps, no_points},
    workloads::Workloads,
};
use protocol::{Done, DriverKind, HealthEvent, Inventory, Task};
use tokio_util::sync::CancellationToken;
use trust::{PendingRequest, Trust};

/// What user-data tells a machine to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    pub node_url: String,
    pub token: String,
    pub ca_fingerprint: String,
}

pub fn read_instructions(user_data: &str) -> Option<Instructions> {
    let after = |mark: &str| {
        let (_, rest) = user_data.split_once(mark)?;
        rest.split_once('\'').map(|(value, _)| value.to_owned())
    };
    Some(Instructions {
        node_url: after("GPUAAS_NODE_URL='")?,
        token: after("GPUAAS_NODE_TOKEN='")?,
        ca_fingerprint: after("--ca-fingerprint '")?,
    })
}

/// Enrolls and runs the agent until the machine's life ends.
pub async fn boot(hostname: &str, user_data: &str, life: CancellationToken) -> Result<(), String> {
    let told = read_instructions(user_data).ok_or("the user-data enrolls nothing")?;
    let (name, model) = (hostname.to_owned(), "NVIDIA H200".into());
    let sim = Arc::new(SimHost::new(SimHardware { name, gpus: 2, model, gpu_memory_bytes: 141 << 30 }));
    let host = Arc::new(Metal(Arc::clone(&sim)));
    let trust = Trust::in_fingerprint(&told.ca_fingerprint).map_err(|it| it.to_string())?;
    let asked = PendingRequest::new().map_err(|it| it.to_string())?;
    let enrolled = enroll(&told.node_url, &told.token, &trust, host.inventory().await, asked).await;
    let identity = enrolled.map_err(|it| it.to_string())?;
    let timing = Timing { heartbeat: Duration::from_millis(200), ..Timing::default() };
    let agent = Agent::new(Start {
        identity,
        generation: 1,
        host,
        workloads: of_sim(&sim),
        journal: Arc::new(Mutex::new(Journal::in_memory(Bounds::SIM))),
        keep: Keep::default(),
        timing,
        points: no_points(),
        trust: None,
        voice: None,
        guard: None,
        streams: false,
    });
    agent.map_err(|it| it.to_string())?.run(life).await;
    Ok(())
}

/// A simulated host that says it is a real one without a wipe script.
struct Metal(Arc<SimHost>);

impl Host for Metal {
    async fn inventory(&self) -> Inventory {
        Inventory { driver: DriverKind::Linux, wipe_script: false, isolates_vms: false, ..self.0.inventory().await }
    }
    async fn sample(&self) -> Option<Readings> {
        self.0.sample().await
    }
    async fn health(&self) -> Vec<HealthEvent> {
        self.0.health().await
    }
    async fn sanitize(&self, steps: &mut Steps, workloads: &Workloads) -> Did<Done> {
        self.0.sanitize(steps, workloads).await
    }
    async fn update(&self, steps: &mut Steps, task: &Task) -> Did<Option<Done>> {
        self.0.update(steps, task).await
    }
}
