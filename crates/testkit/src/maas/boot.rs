//! The first start of an installed machine: does what its user-data says, with
//! the real agent on a pretended host.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use ::agent::{
    driver::{Allocation, Driver, Readings, Result as Did, Steps, no_points},
    enroll::enroll,
    journal::{Bounds, Journal},
    poll::{Agent, Keep, Start, Timing},
    sim::{SimDriver, SimHost},
    streams::{
        Refused,
        shell::{Prepared, Program, Way},
    },
};
use protocol::{Done, DriverKind, GpuRef, HealthEvent, Inventory, Isolation, Task};
use tokio_util::sync::CancellationToken;
use trust::{Asked, Trust};

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
    let host = SimHost { name: hostname.to_owned(), gpus: 2, model: "NVIDIA H200".into(), gpu_memory_bytes: 141 << 30 };
    let driver = Arc::new(Metal(SimDriver::new(host)));
    let trust = Trust::in_fingerprint(&told.ca_fingerprint).map_err(|it| it.to_string())?;
    let asked = Asked::new().map_err(|it| it.to_string())?;
    let enrolled = enroll(&told.node_url, &told.token, &trust, driver.inventory().await, asked).await;
    let identity = enrolled.map_err(|it| it.to_string())?;
    let timing = Timing { heartbeat: Duration::from_millis(200), ..Timing::default() };
    let agent = Agent::new(Start {
        identity,
        generation: 1,
        driver,
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
struct Metal(SimDriver);

impl Driver for Metal {
    async fn inventory(&self) -> Inventory {
        Inventory { driver: DriverKind::Linux, wipe_script: false, isolates_vms: false, ..self.0.inventory().await }
    }
    async fn sample(&self) -> Option<Readings> {
        self.0.sample().await
    }
    async fn health(&self) -> Vec<HealthEvent> {
        self.0.health().await
    }
    async fn ensure_allocation(&self, steps: &mut Steps, wanted: Allocation<'_>) -> Did<Done> {
        self.0.ensure_allocation(steps, wanted).await
    }
    async fn ensure_keys(&self, steps: &mut Steps, user: &str, keys: &[String]) -> Did<Done> {
        self.0.ensure_keys(steps, user, keys).await
    }
    async fn ensure_stopped(&self, steps: &mut Steps, user: &str, gpus: &[GpuRef]) -> Did<Done> {
        self.0.ensure_stopped(steps, user, gpus).await
    }
    async fn ensure_gone(&self, steps: &mut Steps, user: &str, gpus: &[GpuRef], isolation: Isolation) -> Did<Done> {
        self.0.ensure_gone(steps, user, gpus, isolation).await
    }
    async fn ensure_sanitized(&self, steps: &mut Steps) -> Did<Done> {
        self.0.ensure_sanitized(steps).await
    }
    async fn ensure_agent(&self, steps: &mut Steps, task: &Task) -> Did<Option<Done>> {
        self.0.ensure_agent(steps, task).await
    }
    async fn prepare(&self, user: &str, program: Program<'_>) -> Result<Prepared, Refused> {
        self.0.prepare(user, program).await
    }
    async fn connect(&self, user: &str, port: u16) -> Result<Way, Refused> {
        self.0.connect(user, port).await
    }
}
