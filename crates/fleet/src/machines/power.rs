//! The power of machines: whether what an operator wants of it may be, and
//! asking MAAS for it. A machine's state does not follow from its power.

use contract::{
    Word,
    machines::{MachinePowerAction, MachineState},
};

use crate::nodes::Occupancy;
use platform::ports::metal::{MetalError, MetalProvider, Power};

/// What an operator wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerCommand {
    pub action: MachinePowerAction,
    /// Also under somebody's allocation.
    pub is_forced: bool,
}

/// What came of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Powered {
    pub power: Option<Power>,
    pub error: Option<String>,
    /// Whether it is answered; otherwise it is tried again.
    pub is_over: bool,
}

/// Why a wish cannot be granted, if it cannot.
pub fn refusal(state: MachineState, wish: PowerCommand, node: Option<Occupancy>) -> Option<String> {
    use MachinePowerAction::{Off, On, Query};
    let why = match (state, wish.action) {
        (MachineState::Retired, On | Off | Query) => {
            "the machine is retired; `gpuaas machines retry` adds it again".to_owned()
        }
        (_, Query) => return None,
        (MachineState::Discovered | MachineState::Erased, On | Off) => {
            "the machine is not allocated to this platform in MAAS; its power cannot be changed".to_owned()
        }
        (MachineState::Acquiring | MachineState::Deploying | MachineState::Releasing, On | Off) => {
            format!("the machine is {state}, and MAAS controls its power until that is finished")
        }
        (MachineState::Enrolling, Off) => {
            "the agent of the machine is about to enroll; to return the machine, run `gpuaas machines retire`"
                .to_owned()
        }
        (MachineState::Enrolling | MachineState::InService | MachineState::Failed, On) => return None,
        (MachineState::InService | MachineState::Failed, Off) => return under_work(wish, node),
    };
    Some(why)
}

fn under_work(wish: PowerCommand, node: Option<Occupancy>) -> Option<String> {
    let node = node.filter(|_| !wish.is_forced)?;
    if node.held > 0 {
        return Some(format!(
            "allocations use {} slots of its node; drain the node first, or use `--force` to end them",
            node.held
        ));
    }
    node.takes_work
        .then(|| "its node accepts new allocations; cordon or drain the node first, or use `--force`".to_owned())
}

/// Asks MAAS. What passes is tried again, what does not is told.
pub async fn carry_out(metal: &dyn MetalProvider, system_id: &str, action: MachinePowerAction) -> Powered {
    let ordered = match action {
        MachinePowerAction::On => metal.power_on(system_id).await,
        MachinePowerAction::Off => metal.power_off(system_id).await,
        MachinePowerAction::Query => Ok(()),
    };
    let outcome = match ordered {
        Ok(()) => metal.power(system_id).await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok(power) => Powered { power: Some(power), error: None, is_over: true },
        Err(error) => {
            let is_over = is_final(&error);
            let error = Some(format!("power {}: {error}", action.as_str()));
            Powered { power: None, error, is_over }
        }
    }
}

fn is_final(error: &MetalError) -> bool {
    match error {
        MetalError::NotFound
        | MetalError::Conflict { .. }
        | MetalError::BadRequest { .. }
        | MetalError::Forbidden { .. }
        | MetalError::Unexpected { .. } => true,
        MetalError::BadAccess(_)
        | MetalError::Unreachable(_)
        | MetalError::TimedOut
        | MetalError::WrongKey
        | MetalError::Busy { .. }
        | MetalError::TooLarge { .. }
        | MetalError::Malformed(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFF: PowerCommand = PowerCommand { action: MachinePowerAction::Off, is_forced: false };
    const ON: PowerCommand = PowerCommand { action: MachinePowerAction::On, is_forced: false };
    const QUERY: PowerCommand = PowerCommand { action: MachinePowerAction::Query, is_forced: false };

    #[test]
    fn power_goes_off_under_nobody_unless_it_is_forced() {
        let off = |held, takes_work, is_forced| {
            let node = Some(Occupancy { held, takes_work });
            refusal(MachineState::InService, PowerCommand { is_forced, ..OFF }, node)
        };
        assert!(off(2, false, false).is_some_and(|it| it.contains("2 slots")));
        assert!(off(0, true, false).is_some_and(|it| it.contains("cordon")));
        assert_eq!(off(0, false, false), None);
        assert_eq!(off(2, true, true), None);
        assert_eq!(refusal(MachineState::Failed, OFF, None), None);
    }

    #[test]
    fn power_of_a_free_or_moving_machine_may_be_queried_and_not_changed() {
        use MachineState::{Acquiring, Deploying, Discovered, Enrolling, Erased, Releasing, Retired};
        for state in [Discovered, Erased, Acquiring, Deploying, Releasing] {
            assert!(refusal(state, ON, None).is_some() && refusal(state, OFF, None).is_some(), "{state}");
            assert_eq!(refusal(state, QUERY, None), None, "{state}");
        }
        assert!(refusal(Enrolling, OFF, None).is_some() && refusal(Enrolling, ON, None).is_none());
        assert!(refusal(Retired, QUERY, None).is_some());
    }
}
