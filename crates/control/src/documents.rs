//! Documents that are written from the code: policy table and lifecycles.

use kernel::machine;

use crate::policies::keys::{ALL, Guardrail};

/// Every generated file of the control plane, by path.
pub fn generated() -> Vec<(&'static str, String)> {
    vec![
        ("docs/generated/policies.md", policies()),
        ("docs/generated/lifecycles.md", lifecycles()),
        ("docs/generated/compensation.md", crate::allocations::compensation::table()),
    ]
}

fn policies() -> String {
    let mut out = String::from(
        "# Policies\n\nWritten from `crates/control/src/policies/keys.rs`; do not edit.\n\n\
         | key | unit | default | accepts | lowest level | guardrail | what it sets |\n|---|---|---|---|---|---|---|\n",
    );
    for key in ALL {
        let guardrail = match key.guardrail {
            Guardrail::None => "",
            Guardrail::LowerOnly => "lower only",
            Guardrail::RaiseOnly => "raise only",
            Guardrail::StricterOnly => "stricter only",
        };
        out += &format!(
            "| `{}` | {} | {} | {} | {} | {guardrail} | {} |\n",
            key.name,
            key.unit,
            key.default_text(),
            key.accepts(),
            key.deepest,
            key.about.trim()
        );
    }
    out
}

fn lifecycles() -> String {
    let mut out = String::from("# Lifecycles\n\nWritten from each `lifecycle.rs`; do not edit.\n");
    macro_rules! draw {
        ($($machine:path),* $(,)?) => { $( out += &section::<$machine>(); )* };
    }
    crate::for_each_machine!(draw);
    out
}

fn section<M: machine::Machine>() -> String {
    format!("\n## {}\n\n```mermaid\n{}```\n", M::NAME, machine::mermaid::<M>())
}

#[cfg(test)]
mod tests {
    use contract::Event;

    use super::*;

    #[test]
    fn every_lifecycle_is_sound() {
        let mut found = Vec::new();
        macro_rules! check {
            ($($machine:path),* $(,)?) => { $( found.extend(machine::unsound::<$machine>()); )* };
        }
        crate::for_each_machine!(check);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn every_move_is_an_event_of_the_contract() {
        let mut known = Vec::new();
        macro_rules! collect {
            ($($event:path),* $(,)?) => { $( known.push(<$event as Event>::INFO.subject); )* };
        }
        contract::for_each_event!(collect);
        macro_rules! check {
            ($($machine:path),* $(,)?) => { $(
                for (_, event, _) in machine::moves::<$machine>() {
                    let subject = format!("{}.{event}", <$machine as machine::Machine>::NAME);
                    assert!(known.contains(&subject.as_str()), "declare {subject} in the contract");
                }
            )* };
        }
        crate::for_each_machine!(check);
    }
}
