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

impl Size {
    /// How long a bar is: a small terminal has use for the room.
    fn bar(self) -> usize {
        if self.columns < 80 { 8 } else { 16 }
    }

    /// More of a name than this is cut, so that what follows is seen.
    fn cell(self) -> usize {
        (self.columns / 3).clamp(12, 40)
    }
}

/// The picture under its age and, if so, what went wrong.
pub fn draw(picture: &Picture, error: Option<&str>, now: Timestamp, size: Size) -> Vec<String> {
    let age = |at: Option<Timestamp>| at.map_or_else(|| "never".to_owned(), |it| moments::relative(it, now));
    let mut lines = vec![format!("gpuaas top, {}", age(picture.at))];
    lines.extend(error.map(harmless));
    let of_allocations =
        if picture.allocations_at == picture.at { String::new() } else { format!(", {}", age(picture.allocations_at)) };
    let parts = [
        picture.capacity.as_ref().map(|it| part("CAPACITY", "", CAPACITY, it, size, |it| capacity_cells(it, size))),
        picture.nodes.as_ref().map(|it| part("NODES", "", NODES, it, size, |it| node_cells(it, now, size))),
        picture
            .allocations
            .as_ref()
            .map(|it| part("ALLOCATIONS", &of_allocations, ALLOCATIONS, it, size, |it| allocation_cells(it, now))),
    ];
    let parts: Vec<Vec<String>> = parts.into_iter().flatten().collect();
    lines.extend(fitted(parts, size.lines.saturating_sub(lines.len())));
    lines.iter().take(size.lines.max(1)).map(|it| shortened(it, size.columns)).collect()
}

/// The parts one below the other. What a part does not need is left to the others.
fn fitted(parts: Vec<Vec<String>>, mut room: usize) -> Vec<String> {
    // An empty line above each, where there is room for all.
    let is_tight = parts.iter().map(|it| it.len() + 1).sum::<usize>() > room;
    let gap = usize::from(!is_tight);
    let mut by_need: Vec<usize> = (0..parts.len()).collect();
    by_need.sort_by_key(|place| parts[*place].len());
    let mut shares = vec![0; parts.len()];
    for (done, place) in by_need.iter().enumerate() {
        shares[*place] = (parts[*place].len() + gap).min(room / (parts.len() - done));
        room -= shares[*place];
    }
    let shown = parts.iter().zip(shares).flat_map(|(part, share)| {
        let gap = std::iter::repeat_n(String::new(), gap);
        gap.chain(cut(part, share - usize::from(!is_tight)))
    });
    shown.collect()
}

/// A column of a part: what it is called, and whether numbers stand in it.
type Column = (&'static str, Align);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}
use Align::{Left, Right};

fn part<T>(
    title: &str,
    note: &str,
    columns: &[Column],
    page: &Page<T>,
    size: Size,
    cells: impl Fn(&T) -> Vec<String>,
) -> Vec<String> {
    let more = if page.next_cursor.is_some() { "+" } else { "" };
    let mut lines = vec![format!("{title} ({}{more}){note}", page.items.len())];
    if !page.items.is_empty() {
        let heads = columns.iter().map(|(head, _)| (*head).to_owned()).collect();
        let rows: Vec<Vec<String>> = std::iter::once(heads).chain(page.items.iter().map(cells)).collect();
        lines.extend(aligned(columns, &rows, size.cell()));
    }
    lines
}

/// Every column as wide as what stands in it, so that a small terminal shows as much as it can.
fn aligned(columns: &[Column], rows: &[Vec<String>], most: usize) -> Vec<String> {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0).min(most);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for (at, (text, (_, align))) in row.iter().zip(columns).enumerate() {
            let width = widths[at];
            line += &match align {
                // The edge of the terminal cuts what stands last.
                Left if at + 1 == columns.len() => format!("  {text}"),
                Left => format!("  {:<width$}", shortened(text, width)),
                Right => format!("  {text:>width$}"),
            };
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// As many characters as there is room for; the last one says that there are more.
fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let Some(kept) = room.checked_sub(1) else { return String::new() };
    text.chars().take(kept).chain(['…']).collect()
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

const CAPACITY: &[Column] = &[
    ("SKU", Left),
    ("REGION", Left),
    ("UNIT", Left),
    ("UTILIZATION", Left),
    ("FREE", Right),
    ("HELD", Right),
    ("USED", Right),
    ("BROKEN", Right),
];

fn capacity_cells(it: &CapacityLine, size: Size) -> Vec<String> {
    let all = it.free + it.held + it.used + it.broken;
    let (sku, region, unit) = (it.sku.to_string(), it.region.to_string(), harmless(it.unit.as_str()));
    let numbers = [it.free, it.held, it.used, it.broken].map(|it| it.to_string());
    [sku, region, unit, bar(it.used + it.held, all, size.bar())].into_iter().chain(numbers).collect()
}

const NODES: &[Column] = &[
    ("NODE", Left),
    ("STATE", Left),
    ("HEALTH", Left),
    ("IN USE", Left),
    ("GPUS", Right),
    ("LAST SEEN", Left),
    ("REASON", Left),
];

fn node_cells(it: &Node, now: Timestamp, size: Size) -> Vec<String> {
    let taken = it.gpus.saturating_sub(it.gpus_free);
    vec![
        harmless(&it.name),
        harmless(it.state.as_str()),
        harmless(it.health.as_str()),
        bar(u64::from(taken), u64::from(it.gpus), size.bar()),
        format!("{taken}/{}", it.gpus),
        it.last_seen_at.map_or_else(|| "never".to_owned(), |at| moments::relative(at, now)),
        harmless(it.health_reason.as_deref().unwrap_or_default()),
    ]
}

const ALLOCATIONS: &[Column] = &[
    ("ALLOCATION", Left),
    ("STATE", Left),
    ("SKU", Left),
    ("GPUS", Right),
    ("NODES", Right),
    ("SINCE", Left),
    ("REASON", Left),
];

fn allocation_cells(it: &Allocation, now: Timestamp) -> Vec<String> {
    vec![
        it.name.as_ref().map_or_else(|| it.id.to_string(), |name| harmless(name.as_str())),
        harmless(it.state.as_str()),
        it.sku.to_string(),
        it.gpus.to_string(),
        it.nodes.to_string(),
        moments::relative(it.state_since, now),
        harmless(it.reason.as_deref().unwrap_or_default()),
    ]
}

/// Full only when everything is taken, and empty only when nothing is.
fn bar(part: u64, all: u64, length: usize) -> String {
    let width = length as u64;
    let full = if all == 0 { 0 } else { (part * width).div_ceil(all).min(width) };
    let full = if part < all { full.min(width - 1) } else { full };
    let full = usize::try_from(full).unwrap_or(length);
    "█".repeat(full) + &"·".repeat(length - full)
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
        let at = Some(now());
        Picture { at, nodes: Some(Page { items, next_cursor: None }), allocations_at: at, ..Picture::default() }
    }

    #[test]
    fn a_node_row_has_a_bar_of_its_gpus_in_use() {
        let lines = draw(&picture(1), None, now(), Size { columns: 200, lines: 50 });
        assert_eq!(lines[0], "gpuaas top, 0s ago");
        assert_eq!(lines[2], "NODES (1)");
        assert_eq!(lines[3], "  NODE    STATE  HEALTH  IN USE            GPUS  LAST SEEN  REASON");
        assert_eq!(lines[4], "  gpu-00  ready  ok      ████············   2/8  2s ago");
    }

    #[test]
    fn a_small_terminal_shows_what_fits_and_counts_the_rest() {
        let lines = draw(&picture(40), Some("no answer\u{1b}[31m"), now(), Size { columns: 40, lines: 10 });
        assert_eq!(lines.len(), 10);
        assert!(lines.iter().all(|it| it.chars().count() <= 40), "{lines:?}");
        assert_eq!(lines[1], "no answer\\u{1b}[31m");
        assert_eq!(lines[9], "  … 35 more");
        assert!(draw(&picture(3), None, now(), Size { columns: 0, lines: 0 }).iter().all(String::is_empty));
    }

    #[test]
    fn top_sections_that_need_few_lines_get_them_and_the_others_share_the_rest() {
        let part = |title: &str, lines: usize| vec![title.to_owned(); lines];
        let parts = || vec![part("a", 4), part("b", 20), part("c", 5)];
        let shown = fitted(parts(), 14);
        assert_eq!(shown.len(), 14);
        let count = |title: &str| shown.iter().filter(|it| *it == title).count();
        assert_eq!([count("a"), count("b"), count("c")], [4, 4, 5], "{shown:?}");
        assert_eq!(fitted(parts(), 32).iter().filter(|it| it.is_empty()).count(), 3, "with room they stand apart");
        assert!((0..40).all(|room| fitted(parts(), room).len() <= room));
    }

    #[test]
    fn stale_top_sections_show_their_age() {
        let mut picture = picture(1);
        picture.allocations = Some(Page { items: Vec::new(), next_cursor: None });
        let title = |picture: &Picture| draw(picture, None, now(), Size { columns: 80, lines: 50 }).pop().unwrap();
        assert_eq!(title(&picture), "ALLOCATIONS (0)");
        picture.allocations_at = Some("2026-02-28T23:59:50Z".parse().unwrap());
        assert_eq!(title(&picture), "ALLOCATIONS (0), 20s ago");
    }

    #[test]
    fn a_long_name_is_cut_and_pushes_nothing_out_of_line() {
        let mut picture = picture(1);
        let nodes = picture.nodes.as_mut().unwrap();
        nodes.items.push(node(&"a".repeat(200), 0));
        let lines = draw(&picture, None, now(), Size { columns: 80, lines: 50 });
        let place = |line: &str| line.chars().position(|it| it == '█');
        assert_eq!(place(&lines[4]), place(&lines[5]));
        assert!(lines[5].contains(&format!("  {}…  ready", "a".repeat(25))), "{}", lines[5]);
    }

    #[test]
    fn a_bar_is_full_only_when_everything_is_in_use_and_empty_only_when_nothing_is() {
        let full = |part, all| bar(part, all, 16).chars().filter(|it| *it == '█').count();
        assert_eq!([full(0, 8), full(1, 80_000), full(79_999, 80_000), full(8, 8), full(0, 0)], [0, 1, 15, 16, 0]);
    }
}
