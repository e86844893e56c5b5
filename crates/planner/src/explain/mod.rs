//! The long answer to a refusal: every node's reason, the rule that decided, and what
//! would have to change. It looks at the whole fleet, so it runs when somebody asks.

mod change;
mod search;

use crate::ask::{Ask, Invalid};
use crate::fleet::Fleet;
use crate::groups::SlotClass;
use crate::judge::{Teams, judge};
use crate::key::{Name, NodeKey};
use crate::node::Node;
use crate::plan::{Denial, Placement, plan};
use crate::reason::{Reason, Rule};
use std::collections::BTreeMap;
use std::fmt;

pub use change::{Audience, Change};

// bound: what a person reads; the counts tell of the rest
const MAX_REJECTED: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The last rule at which a node failed: the one that kept the closest away.
    pub rule: Rule,
    /// The closest nodes first, at most fifty.
    pub rejected: Vec<Rejection>,
    /// All rejected nodes, by the rule that each failed at.
    pub counts: BTreeMap<Rule, u32>,
    pub smallest_change: Change,
    /// Other changes of which each alone would do, the smaller first.
    pub other_changes: Vec<Change>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub node: NodeKey,
    pub name: Name,
    pub reason: Reason,
}

/// Why the request cannot run; or where it goes, when by now it can.
pub fn explain(fleet: &Fleet, ask: &Ask) -> Result<Placement, Box<Explanation>> {
    let denial = match plan(fleet, ask) {
        Ok(placement) => return Ok(placement),
        Err(Denial::Invalid(invalid)) => return Err(Box::new(nonsense(invalid))),
        Err(denial) => denial,
    };
    let (mut rejected, fitting, teams) = judge_all(fleet, ask);
    rejected.extend(fitting.into_iter().map(|(node, classes)| short(node, &classes, &teams, ask)));
    let mut counts = BTreeMap::new();
    for rejection in &rejected {
        *counts.entry(rejection.reason.rule()).or_insert(0) += 1;
    }
    let rule = counts.keys().next_back().copied().unwrap_or(Rule::AnyNode);
    rejected.sort_by_key(|rejection| (std::cmp::Reverse(rejection.reason.rule()), rejection.node));
    rejected.truncate(MAX_REJECTED);
    let mut changes = search::changes(fleet, ask, denial, &teams).into_iter();
    let smallest_change = changes.next().unwrap_or_else(|| search::more_nodes(ask, denial));
    Err(Box::new(Explanation { rule, rejected, counts, smallest_change, other_changes: changes.collect() }))
}

type Fitting<'a> = (&'a Node, Vec<Option<SlotClass>>);

fn judge_all<'a>(fleet: &'a Fleet, ask: &Ask) -> (Vec<Rejection>, Vec<Fitting<'a>>, Teams) {
    let mut rejected = Vec::with_capacity(fleet.len());
    let mut fitting = Vec::new();
    let mut teams = Teams::default();
    for node in fleet.nodes() {
        match judge(node, ask) {
            Ok(classes) => {
                teams.add(node, classes.clone());
                fitting.push((node, classes));
            }
            Err(reason) => rejected.push(Rejection { node: node.key, name: node.name.clone(), reason }),
        }
    }
    (rejected, fitting, teams)
}

/// Why a node that has room is not taken all the same: the gang lacks others.
fn short(node: &Node, classes: &[Option<SlotClass>], teams: &Teams, ask: &Ask) -> Rejection {
    let (fitting, in_domain) = teams.largest(node, classes);
    let reason = if fitting < ask.nodes {
        Reason::GangShort { fitting, wanted: ask.nodes }
    } else {
        Reason::DomainShort { domain: node.fabric_domain.clone(), fitting: in_domain, wanted: ask.nodes }
    };
    Rejection { node: node.key, name: node.name.clone(), reason }
}

fn nonsense(invalid: Invalid) -> Explanation {
    Explanation {
        rule: Rule::Valid(invalid),
        rejected: Vec::new(),
        counts: BTreeMap::new(),
        smallest_change: Change::Correct(invalid),
        other_changes: Vec::new(),
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.rule)?;
        for rejection in &self.rejected {
            writeln!(f, "  {} {}", rejection.name, rejection.reason)?;
        }
        let all = self.counts.values().map(|count| *count as usize).sum::<usize>();
        if all > self.rejected.len() {
            writeln!(f, "  and {} more nodes", all - self.rejected.len())?;
        }
        write!(f, "to fix this: {}", self.smallest_change)?;
        self.other_changes.iter().try_for_each(|change| write!(f, "; or {change}"))
    }
}
