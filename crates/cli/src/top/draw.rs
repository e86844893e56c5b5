//! A picture as lines of text. Pure: what fits where is decided here.

use contract::{Page, Timestamp, allocations::Allocation, capacity::CapacityLine, nodes::Node};

use super::Picture;
use crate::{moments, table::harmless};

/// How much can be shown.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub columns: usize,
    pub lines: usize,
}

const BAR: usize = 16;

/// The picture under a line about its age and, if so, what went wrong.
pub fn draw(picture: &Picture, trouble: Option<&str>, now: Timestamp, size: Size) -> Vec<String> {
    let mut lines = vec![heading(picture, trouble, now)];
    let parts = [
        picture.capacity.as_ref().map(|it| part("CAPACITY", capacity_head(), it, capacity_line)),
        picture.nodes.as_ref().map(|it| part("NODES", node_head(), it, |node| node_line(node, now))),
        picture
            .allocations
            .as_ref()
            .map(|it| part("ALLOCATIONS", allocation_head(), it, |it| allocation_line(it, now))),
    ];
    let parts: Vec<Vec<String>> = parts.into_iter().flatten().collect();
    let mut room = size.lines.saturating_sub(lines.len());
    for (place, part) in parts.iter().enumerate() {
        // What a part does not need is left to those after it.
        let share = room / (parts.len() - place);
        let shown = cut(part, share);
        room -= shown.len();
        lines.extend(shown);
    }
    lines.into_iter().map(|it| it.chars().take(size.columns).collect()).collect()
}

fn heading(picture: &Picture, trouble: Option<&str>, now: Timestamp) -> String {
    let age = picture.at.map_or_else(|| "never".to_owned(), |it| moments::relative(it, now));
    match trouble {
        None => format!("gpuaas top, {age}"),
        Some(trouble) => format!("gpuaas top, {age}: {}", harmless(trouble)),
    }
}

fn part<T>(title: &str, head: String, page: &Page<T>, line: impl Fn(&T) -> String) -> Vec<String> {
    let more = if page.next_cursor.is_some() { "+" } else { "" };
    let mut lines = vec![String::new(), format!("{title} ({}{more})", page.items.len())];
    if !page.items.is_empty() {
        lines.push(head);
    }
    lines.extend(page.items.iter().map(line));
    lines
}

/// As many lines as there is room for, the last one saying what is left out.
fn cut(part: &[String], room: usize) -> Vec<String> {
    if part.len() <= room {
        return part.to_vec();
    }
    let Some(kept) = room.checked_sub(1) else { return Vec::new() };
    let mut lines = part[..kept].to_vec();
    lines.push(format!("  … {} more", part.len() - kept));
    lines
}

fn capacity_head() -> String {
    format!(
        "  {:<20} {:<16} {:<9} {:<BAR$} {:>6} {:>6} {:>6} {:>6}",
        "SKU", "REGION", "UNIT", "USED", "FREE", "HELD", "USED", "BROKEN"
    )
}

fn capacity_line(it: &CapacityLine) -> String {
    let all = it.free + it.held + it.used + it.broken;
    let bar = bar(it.used + it.held, all);
    format!(
        "  {:<20} {:<16} {:<9} {bar} {:>6} {:>6} {:>6} {:>6}",
        it.sku.as_str(),
        it.region.as_str(),
        harmless(it.unit.as_str()),
        it.free,
        it.held,
        it.used,
        it.broken
    )
}

fn node_head() -> String {
    format!(
        "  {:<24} {:<12} {:<9} {:<BAR$} {:>7}  {:<9} REASON",
        "NODE", "STATE", "HEALTH", "GPUS TAKEN", "TAKEN", "SEEN"
    )
}

fn node_line(it: &Node, now: Timestamp) -> String {
    let taken = it.gpus.saturating_sub(it.gpus_free);
    let seen = it.last_seen_at.map_or_else(|| "never".to_owned(), |at| moments::relative(at, now));
    format!(
        "  {:<24} {:<12} {:<9} {} {:>7}  {seen:<9} {}",
        harmless(&it.name),
        harmless(it.state.as_str()),
        harmless(it.health.as_str()),
        bar(u64::from(taken), u64::from(it.gpus)),
        format!("{taken}/{}", it.gpus),
        harmless(it.health_reason.as_deref().unwrap_or_default()),
    )
}

fn allocation_head() -> String {
    format!("  {:<38} {:<14} {:<16} {:>5} {:>6}  {:<9} REASON", "ALLOCATION", "STATE", "SKU", "GPUS", "NODES", "SINCE")
}

fn allocation_line(it: &Allocation, now: Timestamp) -> String {
    let name = it.name.as_ref().map_or_else(|| it.id.to_string(), |name| harmless(name.as_str()));
    format!(
        "  {name:<38} {:<14} {:<16} {:>5} {:>6}  {:<9} {}",
        harmless(it.state.as_str()),
        it.sku.as_str(),
        it.gpus,
        it.nodes,
        moments::relative(it.state_since, now),
        harmless(it.reason.as_deref().unwrap_or_default()),
    )
}

/// Full only when everything is taken, and empty only when nothing is.
fn bar(part: u64, all: u64) -> String {
    let width = BAR as u64;
    let full = if all == 0 { 0 } else { (part * width).div_ceil(all).min(width) };
    let full = if part < all { full.min(width - 1) } else { full };
    let full = usize::try_from(full).unwrap_or(BAR);
    "█".repeat(full) + &"·".repeat(BAR - full)
}

#[cfg(test)]
mod tests {
    use contract::{Open, nodes::NodeState};
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        "2026-03-01T00:00:10Z".parse().unwrap()
    }

    fn node(name: &str, free: u32) -> Node {
        let id = |kind: &str| format!("{kind}-01k9z8y7x6w5v4t3s2r1q0p9n8");
        serde_json::from_value(json!({
            "id": id("node"), "name": name, "region_id": id("region"), "pool_id": id("pool"), "provider": "sim",
            "state": Open::Known(NodeState::Ready), "version": 1, "health": "ok", "gpus": 8, "gpus_free": free,
            "last_seen_at": "2026-03-01T00:00:08Z", "created_at": "2026-02-01T00:00:00Z",
        }))
        .unwrap()
    }

    fn picture(nodes: u32) -> Picture {
        let items = (0..nodes).map(|it| node(&format!("gpu-{it:02}"), 6)).collect();
        Picture { at: Some(now()), nodes: Some(Page { items, next_cursor: None }), ..Picture::default() }
    }

    #[test]
    fn a_node_is_a_line_with_a_bar_of_the_gpus_that_are_taken() {
        let lines = draw(&picture(1), None, now(), Size { columns: 200, lines: 50 });
        assert_eq!(lines[0], "gpuaas top, 0s ago");
        assert_eq!(lines[2], "NODES (1)");
        assert_eq!(
            lines[4].trim_end(),
            "  gpu-00                   ready        ok        ████············     2/8  2s ago"
        );
    }

    #[test]
    fn a_small_terminal_shows_what_fits_and_says_what_does_not() {
        let lines = draw(&picture(40), Some("no answer\u{1b}[31m"), now(), Size { columns: 40, lines: 10 });
        assert_eq!(lines.len(), 10);
        assert!(lines.iter().all(|it| it.chars().count() <= 40), "{lines:?}");
        assert!(lines[0].contains("no answer\\u{1b}"), "{}", lines[0]);
        assert_eq!(lines[9], "  … 35 more");
        assert!(draw(&picture(3), None, now(), Size { columns: 0, lines: 0 }).iter().all(String::is_empty));
    }

    #[test]
    fn a_bar_is_full_only_when_all_is_taken_and_empty_only_when_nothing_is() {
        let full = |part, all| bar(part, all).chars().filter(|it| *it == '█').count();
        assert_eq!([full(0, 8), full(1, 80_000), full(79_999, 80_000), full(8, 8), full(0, 0)], [0, 1, 15, 16, 0]);
    }
}
