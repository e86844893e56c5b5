//! Whether a grant may be acted on: genuine, for this node and this gateway, in
//! time by the control plane's clock, and for the first time.

use super::refusal::Refused;
use jiff::{SignedDuration, Timestamp};
use protocol::TaskKey;
use protocol::stream::{Grant, SignedGrant, refusals};
use std::collections::HashMap;
use std::time::Instant;
use trust::ControlClock;
use uuid::Uuid;

const MOST_SEEN: usize = 65_536; // bound: grants live seconds; more than these in that time is an attack

/// What a grant is judged by.
#[derive(Clone, Debug)]
pub struct Judge {
    pub node: String,
    pub clock: ControlClock,
    /// When this agent started; what was issued before may have been used before.
    pub started: Instant,
}

/// What changes while the agent runs.
#[derive(Clone, Debug, Default)]
pub struct Trusted {
    pub keys: Vec<TaskKey>,
    pub epoch: i64,
}

impl Judge {
    /// The grant in a header, unless it must be refused. It is not yet spent.
    pub fn read(&self, header: Option<&str>, gateway: &str, trusted: &Trusted) -> Result<Grant, Refused> {
        let header = header.ok_or_else(|| Refused::new(refusals::MALFORMED, "the grant is missing"))?;
        let signed = SignedGrant::from_header(header)
            .ok_or_else(|| Refused::new(refusals::MALFORMED, "the header is not a signed grant"))?;
        let grant = signed.verify(&trusted.keys).map_err(|code| Refused::new(code, "the signature was checked"))?;
        if grant.node != self.node {
            return Err(Refused::new(refusals::OTHER_NODE, format!("this is {}", self.node)));
        }
        if grant.gateway != gateway {
            return Err(Refused::new(refusals::OTHER_GATEWAY, format!("this connection belongs to {gateway}")));
        }
        if grant.epoch < trusted.epoch {
            return Err(Refused::new(refusals::OLD_EPOCH, format!("the epoch is {}", trusted.epoch)));
        }
        self.judge_time(&grant)?;
        Ok(grant)
    }

    fn judge_time(&self, grant: &Grant) -> Result<(), Refused> {
        let expired = |detail: &str| Refused::new(refusals::EXPIRED, detail);
        let now = self.clock.now().ok_or_else(|| expired("this agent has not received the time yet"))?;
        if now >= grant.expires_at || now >= grant.limits.until {
            return Err(expired("it has expired according to the control plane's clock"));
        }
        let uptime = SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX);
        let started = now.checked_sub(uptime).unwrap_or(Timestamp::MIN);
        if grant.issued_at < started {
            return Err(expired("it was issued before this agent started"));
        }
        Ok(())
    }
}

/// The grants that were spent, until they would have expired anyway.
#[derive(Debug, Default)]
pub struct SpentGrants(HashMap<Uuid, Timestamp>);

impl SpentGrants {
    /// Spends a grant; refuses the second time.
    pub fn spend(&mut self, grant: &Grant, now: Timestamp) -> Result<(), Refused> {
        if self.0.len() >= MOST_SEEN {
            self.0.retain(|_, until| *until > now);
        }
        if self.0.contains_key(&grant.id) {
            return Err(Refused::new(refusals::USED, "each grant opens one stream"));
        }
        if self.0.len() >= MOST_SEEN {
            return Err(Refused::new(refusals::TOO_MANY, "this host has too many recent grants"));
        }
        self.0.insert(grant.id, grant.expires_at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::SigningKey;
    use protocol::stream::{Kind, Limits};

    fn now() -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    fn grant() -> Grant {
        let limits =
            Limits { until: now() + SignedDuration::from_hours(1), grace_seconds: 60, idle_seconds: 0, sessions: 2 };
        Grant {
            protocol: Grant::PROTOCOL,
            id: Uuid::now_v7(),
            node: "n".into(),
            gateway: "g".into(),
            epoch: 3,
            allocation: "a".into(),
            workload: protocol::WorkloadRef::login(protocol::Shape::GpuSlice, "u"),
            session: Uuid::now_v7(),
            kind: Kind::File,
            limits,
            issued_at: now(),
            expires_at: now() + SignedDuration::from_secs(30),
        }
    }

    fn judge(at: Option<Timestamp>) -> Judge {
        let (clock, started) = (ControlClock::default(), Instant::now());
        if let Some(at) = at {
            clock.learn(at);
        }
        Judge { node: "n".into(), clock, started }
    }

    fn verdict(judge: &Judge, change: impl FnOnce(&mut Grant)) -> Result<Grant, &'static str> {
        let key = SigningKey::from_seed(&[1; 32]).unwrap();
        let mut grant = grant();
        change(&mut grant);
        let header = SignedGrant::sign(&grant, &key).unwrap().to_header();
        let trusted = Trusted { keys: vec![key.public()], epoch: 3 };
        judge.read(Some(&header), "g", &trusted).map_err(|refused| refused.code)
    }

    #[test]
    fn a_good_grant_passes_and_each_wrong_one_has_its_code() {
        let good = judge(Some(now()));
        assert!(verdict(&good, |_| ()).is_ok());
        let second = SignedDuration::from_secs(1);
        assert_eq!(verdict(&good, |it| it.node = "m".into()), Err(refusals::OTHER_NODE));
        assert_eq!(verdict(&good, |it| it.gateway = "h".into()), Err(refusals::OTHER_GATEWAY));
        assert_eq!(verdict(&good, |it| it.epoch = 2), Err(refusals::OLD_EPOCH));
        assert_eq!(verdict(&good, |it| it.expires_at = now()), Err(refusals::EXPIRED));
        assert_eq!(verdict(&good, |it| it.limits.until = now()), Err(refusals::EXPIRED));
        assert_eq!(verdict(&good, |it| it.issued_at = now() - second), Err(refusals::EXPIRED));
        assert_eq!(verdict(&judge(None), |_| ()), Err(refusals::EXPIRED));
        let nobody = Trusted { keys: vec![], epoch: 3 };
        let code = |header: Option<&str>| good.read(header, "g", &nobody).map_err(|refused| refused.code);
        assert_eq!(code(None), Err(refusals::MALFORMED));
        assert_eq!(code(Some("!")), Err(refusals::MALFORMED));
        let header = SignedGrant::sign(&grant(), &SigningKey::from_seed(&[1; 32]).unwrap()).unwrap().to_header();
        assert_eq!(code(Some(&header)), Err(refusals::FORGED));
    }

    #[test]
    fn a_grant_is_spent_once_and_the_memory_of_it_is_bounded() {
        let mut spent = SpentGrants::default();
        let first = grant();
        assert!(spent.spend(&first, now()).is_ok());
        assert_eq!(spent.spend(&first, now()).unwrap_err().code, refusals::USED);
        for _ in 1..MOST_SEEN {
            spent.spend(&grant(), now()).unwrap();
        }
        assert_eq!(spent.spend(&grant(), now()).unwrap_err().code, refusals::TOO_MANY);
        let later = now() + SignedDuration::from_mins(1);
        assert!(spent.spend(&grant(), later).is_ok(), "what expired is forgotten");
        assert_eq!(spent.0.len(), 1);
    }
}
