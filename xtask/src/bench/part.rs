//! The parts of a benchmark. Each is measured on data of its own, so that one
//! that fails costs the others nothing.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Idle,
    Writes,
    Reads,
    Lists,
    Counts,
    Allocations,
    Relay,
    Money,
    Planner,
    Large,
    Agents,
    Access,
}

impl Part {
    /// In the order in which they are measured and shown.
    pub const ALL: [Part; 12] = [
        Part::Idle,
        Part::Writes,
        Part::Reads,
        Part::Lists,
        Part::Counts,
        Part::Allocations,
        Part::Relay,
        Part::Money,
        Part::Planner,
        Part::Large,
        Part::Agents,
        Part::Access,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Part::Idle => "idle",
            Part::Writes => "writes",
            Part::Reads => "reads",
            Part::Lists => "lists",
            Part::Counts => "counts",
            Part::Allocations => "allocations",
            Part::Relay => "relay",
            Part::Money => "money",
            Part::Planner => "planner",
            Part::Large => "large",
            Part::Agents => "agents",
            Part::Access => "access",
        }
    }

    /// The parts that a word of the command line names: one, or a group.
    pub fn named(word: &str) -> Option<Vec<Part>> {
        Some(match word {
            "requests" => vec![Part::Idle, Part::Writes, Part::Reads, Part::Lists],
            "fleet" => vec![Part::Allocations, Part::Planner, Part::Large, Part::Agents],
            word => vec![Self::of(word)?],
        })
    }

    pub fn of(name: &str) -> Option<Part> {
        Part::ALL.into_iter().find(|it| it.name() == name)
    }

    pub fn title(self) -> &'static str {
        match self {
            Part::Idle => "At rest",
            Part::Writes => "Creates",
            Part::Reads => "Reads",
            Part::Lists => "Lists",
            Part::Counts => "The cost of one allocation",
            Part::Allocations => "From request to active",
            Part::Relay => "Events",
            Part::Money => "Money",
            Part::Planner => "The planner alone",
            Part::Large => "A large fleet",
            Part::Agents => "Many agents",
            Part::Access => "Terminals",
        }
    }

    /// What is measured, for a reader of the page.
    pub fn about(self) -> &'static str {
        match self {
            Part::Idle => {
                "Memory of `gpuaasd dev` after ten seconds of rest, without its PostgreSQL, and how soon it answers \
                 `/readyz` after a stop and after a kill, on the data of the parts below."
            }
            Part::Writes => {
                "64 connections create projects, by turns with `pgbench`, which writes the same rows bare on the same \
                 PostgreSQL while the server is paused. The ratio is between the medians of the rounds."
            }
            Part::Reads => "The same with one project that is read by its id.",
            Part::Lists => "The same with a page of 50 of an organization's 60 projects.",
            Part::Counts => {
                "50 allocations of one GPU, one after the other, from the request until each is active, and one posting \
                 that charges all of them for the first time. What an idle server does in the same time is subtracted. \
                 A round trip is a message to PostgreSQL that the server waits for; a statement is what PostgreSQL \
                 ran; rows are inserted, updated or deleted; a wake requests a visit of a reconciler, a visit is one \
                 claimed. These hardly depend on the machine."
            }
            Part::Allocations => {
                "400 simulated hosts that take no time. Latencies are from the request to the first answer that says \
                 `active`, at 50 requests a second; the rate is that of 1500 requests from 16 callers that nothing \
                 holds back."
            }
            Part::Relay => {
                "10,000 events written by one statement: how fast the relay copies them into NATS JetStream, how fast \
                 all consumers have acknowledged them there, and how fast the consumers are without NATS."
            }
            Part::Money => {
                "100,000 running allocations that are charged in one window, beside the same rows inserted bare; the \
                 proof of 1,100,000 intervals; a balance with a million entries behind it."
            }
            Part::Planner => "Decisions of the planner's own example, without a database.",
            Part::Large => "From a request to a placement through the API, with ten thousand nodes in the database.",
            Part::Agents => "What one server needs that holds so many agents, with five allocations a second flowing.",
            Part::Access => {
                "A flood of output through a terminal, beside a loop that reads a PTY bare and beside terminado; how \
                 long an echo takes; what an idle session costs a gateway."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_and_group_are_found_by_name() {
        for part in Part::ALL {
            assert_eq!(Part::named(part.name()), Some(vec![part]));
        }
        assert_eq!(Part::named("fleet").unwrap().len(), 4);
        assert_eq!(Part::named("deletes"), None);
    }
}
