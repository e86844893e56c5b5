//! `gpuaas machines`: bare hosts of MAAS servers on their way to being nodes and back.

use std::time::Duration;

use clap::Subcommand;
use contract::{
    Nothing, Reason,
    id::MachineId,
    machines::{
        AbandonMachine, GetMachine, ListMachines, Machine, MachineFilter, MachinePath, MachinePowerAction,
        MachinePowerSpec, MachineState, PowerMachine, RetireMachine, RetryMachine,
    },
    organizations::Because,
};

use serde_json::Value;

use crate::{
    arguments::{self, Consent, Paging},
    context::Context,
    failure::{Done, Failure},
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples (platform staff):
  gpuaas machines list --provider hall-a
  gpuaas machines list --state failed
  gpuaas machines show machine-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas machines power machine-01k9z8y7x6w5v4t3s2r1q0p9n8 query
  gpuaas machines power machine-01k9z8y7x6w5v4t3s2r1q0p9n8 off --reason \"new memory\"
  gpuaas machines retry machine-01k9z8y7x6w5v4t3s2r1q0p9n8 --reason \"disk replaced\"
  gpuaas machines retire machine-01k9z8y7x6w5v4t3s2r1q0p9n8 --reason \"end of lease\" --yes
  gpuaas machines abandon machine-01k9z8y7x6w5v4t3s2r1q0p9n8 --reason \"hardware is gone\" --yes";

/// Manage MAAS bare-metal machines from commissioning to retirement (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Machines {
    /// List machines
    List {
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<MachineState>())]
        state: Option<MachineState>,
        /// Filter by provider, by ID or name
        #[arg(long)]
        provider: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a machine
    Show {
        /// ID of the machine
        #[arg(value_name = "ID")]
        id: MachineId,
    },
    /// Power a machine on or off, or query its power state
    Power {
        /// ID of the machine
        #[arg(value_name = "ID")]
        id: MachineId,
        /// Power action
        #[arg(value_parser = arguments::word::<MachinePowerAction>())]
        action: MachinePowerAction,
        /// Power off even if the node is in use or can accept allocations
        #[arg(long)]
        force: bool,
        /// Reason, recorded in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Option<Reason>,
    },
    /// Retry a failed machine from the start, or bring back a retired one
    Retry {
        /// ID of the machine
        #[arg(value_name = "ID")]
        id: MachineId,
        /// Reason, recorded in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
    },
    /// Erase a machine and release it to MAAS permanently
    Retire {
        /// ID of the machine
        #[arg(value_name = "ID")]
        id: MachineId,
        /// Reason, recorded in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
        #[command(flatten)]
        consent: Consent,
    },
    /// Remove a failed machine without contacting MAAS
    Abandon {
        /// ID of the machine
        #[arg(value_name = "ID")]
        id: MachineId,
        /// Reason, recorded in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns =
    columns!(Machine: id, hostname, system_id, state, observed, power, desired, attempts, node_id, reason);

impl Machines {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Machines::List { state, provider, paging } => {
                let provider_id = match provider {
                    Some(text) => Some(context.provider_named(&text).await?.provider_id),
                    None => None,
                };
                let query = MachineFilter { state, provider_id, limit: paging.page(), ..MachineFilter::default() };
                return context.list::<ListMachines>(Nothing {}, query, paging, COLUMNS).await;
            }
            Machines::Show { id } => context.ask::<GetMachine>(MachinePath { machine_id: id }).await?,
            Machines::Power { id, action, force, reason } => {
                power(context, MachinePath { machine_id: id }, MachinePowerSpec { action, force, reason }).await?
            }
            Machines::Retry { id, reason } => {
                context.send::<RetryMachine>(MachinePath { machine_id: id }, Because { reason }).await?
            }
            Machines::Retire { id, reason, consent } => {
                let text = id.to_string();
                prompt::confirm(consent, &format!("erases {text} and releases it to MAAS"), &text).await?;
                context.send::<RetireMachine>(MachinePath { machine_id: id }, Because { reason }).await?
            }
            Machines::Abandon { id, reason, consent } => {
                let text = id.to_string();
                prompt::confirm(consent, &format!("removes {text} without contacting MAAS"), &text).await?;
                context.send::<AbandonMachine>(MachinePath { machine_id: id }, Because { reason }).await?
            }
        };
        context.output.item(&answer)
    }
}

/// Orders it, and waits a moment for what MAAS says.
async fn power(context: &Context, path: MachinePath, spec: MachinePowerSpec) -> Result<Value, Failure> {
    // bound: controllers answer within seconds; `show` has it when it comes later
    const LOOKS: u32 = 30;
    const PAUSE: Duration = Duration::from_millis(500);
    let mut answer = context.send::<PowerMachine>(path.clone(), spec).await?;
    for _ in 0..LOOKS {
        if answer["power_wanted"].is_null() {
            return Ok(answer);
        }
        tokio::time::sleep(PAUSE).await;
        answer = context.ask::<GetMachine>(path.clone()).await?;
    }
    context.output.hint("MAAS has not responded yet. Check with `gpuaas machines show`.");
    Ok(answer)
}
