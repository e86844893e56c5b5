//! From where something is used back to what people start.

use std::collections::BTreeSet;

/// The goals upstream of some places, those of the fewest steps first. Breadth
/// first, with each place looked at once, so that calls in circles end; what
/// lies behind a goal is not looked at.
pub fn goals<P: Ord + Clone, G: Ord>(
    starts: Vec<P>,
    goal: impl Fn(&P) -> Option<G>,
    callers: impl Fn(&P) -> Vec<P>,
) -> Vec<BTreeSet<G>> {
    let mut seen = BTreeSet::new();
    let mut layer = starts;
    let mut found = Vec::new();
    while !layer.is_empty() {
        layer.retain(|it| seen.insert(it.clone()));
        let (mut reached, mut next) = (BTreeSet::new(), Vec::new());
        for place in &layer {
            match goal(place) {
                Some(goal) => _ = reached.insert(goal),
                None => next.extend(callers(place)),
            }
        }
        if !reached.is_empty() {
            found.push(reached);
        }
        layer = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each pair is a caller and what it calls; capitals are goals.
    fn reached(start: char, calls: &[(char, char)]) -> Vec<String> {
        let callers = |it: &char| calls.iter().filter(|(_, called)| called == it).map(|(caller, _)| *caller).collect();
        let goal = |it: &char| it.is_ascii_uppercase().then_some(*it);
        goals(vec![start], goal, callers).into_iter().map(|it| it.into_iter().collect()).collect()
    }

    #[test]
    fn the_nearest_goals_come_first_and_hide_what_is_behind_them() {
        let calls = [('b', 'a'), ('X', 'b'), ('Y', 'b'), ('c', 'b'), ('Z', 'c'), ('W', 'X')];
        assert_eq!(reached('a', &calls), ["XY", "Z"]);
    }

    #[test]
    fn calls_in_circles_end() {
        assert!(reached('a', &[('b', 'a'), ('a', 'b'), ('b', 'b')]).is_empty());
        assert_eq!(reached('a', &[('b', 'a'), ('a', 'b'), ('X', 'b')]), ["X"]);
    }
}
