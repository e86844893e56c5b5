//! Documents that are written from the code: policy table and lifecycles.

use platform::policies::keys::{ALL, Guardrail};

use crate::areas;

/// Every generated file of the control plane, by path.
pub fn generated() -> Vec<(&'static str, String)> {
    vec![
        ("docs/generated/policies.md", policies()),
        ("docs/generated/lifecycles.md", lifecycles()),
        ("docs/generated/compensation.md", compute::allocations::compensation::table()),
    ]
}

fn policies() -> String {
    let mut out = String::from(
        "# Policies\n\nWritten from `crates/platform/src/policies/keys.rs`; do not edit.\n\n\
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
    for lifecycle in areas::lifecycles() {
        out += &format!(
            "
## {}

```mermaid
{}```
",
            lifecycle.name,
            (lifecycle.mermaid)()
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use contract::Event;

    use super::*;

    #[test]
    fn every_lifecycle_is_sound() {
        let found: Vec<String> = areas::lifecycles().iter().flat_map(|it| (it.unsound)()).collect();
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn every_move_is_an_event_of_the_contract() {
        let mut known = Vec::new();
        macro_rules! collect {
            ($($event:path),* $(,)?) => { $( known.push(<$event as Event>::INFO.subject); )* };
        }
        contract::for_each_event!(collect);
        for lifecycle in areas::lifecycles() {
            for (_, event, _) in (lifecycle.moves)() {
                let subject = format!("{}.{event}", lifecycle.name);
                assert!(known.contains(&subject.as_str()), "declare {subject} in the contract");
            }
        }
    }
}
