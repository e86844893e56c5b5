//! What a deletion would end or a suspension stop, said before anybody is asked whether they mean it.

use contract::{
    allocations::{Allocation, AllocationState},
    projects::{Ending, EndingPreview},
};

use crate::{context::Context, table};

// bound: a terminal's screen; the rest is counted
const SHOWN: usize = 20;

/// Lists what ends, beside the answer: with `--yes` too.
pub fn show(context: &Context, preview: &EndingPreview) {
    if preview.count == 0 {
        return;
    }
    let mut lines = vec![format!("This ends {}:", summary(preview))];
    lines.extend(preview.ends.iter().take(SHOWN).map(line));
    let rest = preview.count - i64::try_from(preview.ends.len().min(SHOWN)).unwrap_or(i64::MAX);
    if rest > 0 {
        lines.push(format!("  and {rest} more"));
    }
    context.output.warn(lines.join("\n"));
}

/// How much ends, in the middle of a sentence.
pub fn summary(preview: &EndingPreview) -> String {
    if preview.count == 0 {
        return "no allocations".into();
    }
    let things = if preview.count == 1 { "1 allocation".to_owned() } else { format!("{} allocations", preview.count) };
    let gpus = gpus(preview.gpus);
    let burn: Vec<String> = preview
        .burn
        .iter()
        .map(|it| format!("{} {} per hour", table::money(it.micros_per_hour), it.currency))
        .collect();
    match burn.is_empty() {
        true => format!("{things} with {gpus}"),
        false => format!("{things} with {gpus}, costing {}", burn.join(" and ")),
    }
}

/// Those of an organization's allocations that a suspension stops.
pub fn stopped(live: &[Allocation]) -> Vec<&Allocation> {
    let runs = [AllocationState::Provisioning, AllocationState::Active, AllocationState::Starting];
    live.iter().filter(|it| runs.iter().any(|state| it.state == *state)).collect()
}

/// Lists what is stopped, beside the answer: with `--yes` too.
pub fn show_stops(context: &Context, stops: &[&Allocation]) {
    if !stops.is_empty() {
        context.output.warn(listed(stops));
    }
}

fn listed(stops: &[&Allocation]) -> String {
    let mut lines = vec![format!("This stops {}:", count(stops))];
    lines.extend(stops.iter().take(SHOWN).map(|it| {
        let name = it.name.as_ref().map(|name| format!("{name} ")).unwrap_or_default();
        format!("  allocation {name}({}) in {}, {}, {}", it.id, it.project_id, it.state, gpus(gpus_of(it)))
    }));
    if stops.len() > SHOWN {
        lines.push(format!("  and {} more", stops.len() - SHOWN));
    }
    lines.join("\n")
}

/// How much is stopped, in the middle of a sentence.
pub fn count(stops: &[&Allocation]) -> String {
    match stops.len() {
        0 => "no allocations".into(),
        1 => format!("1 allocation with {}", gpus(gpus_of(stops[0]))),
        many => format!("{many} allocations with {}", gpus(stops.iter().map(|it| gpus_of(it)).sum())),
    }
}

fn gpus_of(it: &Allocation) -> i64 {
    i64::from(it.gpus) * i64::from(it.nodes)
}

fn gpus(count: i64) -> String {
    if count == 1 { "1 GPU".to_owned() } else { format!("{count} GPUs") }
}

fn line(it: &Ending) -> String {
    let gpus = gpus(it.gpus);
    match &it.name {
        Some(name) => format!("  {} {name} ({}), {}, {gpus}", it.kind, it.id, it.state),
        None => format!("  {} {}, {}, {gpus}", it.kind, it.id, it.state),
    }
}

#[cfg(test)]
mod tests {
    use contract::{id::ProjectId, projects::Burn};

    use super::*;

    #[test]
    fn preview_says_how_much_ends_and_what_it_costs() {
        let ending = Ending {
            kind: "allocation".into(),
            id: "alloc-1".into(),
            name: Some("train".parse().unwrap()),
            project_id: ProjectId::generate(),
            state: "active".into(),
            gpus: 2,
        };
        assert_eq!(line(&ending), "  allocation train (alloc-1), active, 2 GPUs");
        let burn = vec![Burn { currency: "USD".parse().unwrap(), micros_per_hour: 3_500_000 }];
        let mut preview = EndingPreview { ends: vec![ending], count: 1, gpus: 2, burn };
        assert_eq!(summary(&preview), "1 allocation with 2 GPUs, costing 3.50 USD per hour");
        preview.burn.clear();
        assert_eq!(summary(&preview), "1 allocation with 2 GPUs");
        preview = EndingPreview { ends: Vec::new(), count: 0, gpus: 0, burn: Vec::new() };
        assert_eq!(summary(&preview), "no allocations");
    }
}
