//! Everything that PostgreSQL has counted at a moment, and what lies between two.

use std::collections::BTreeMap;
use std::time::Instant;

pub struct Snapshot {
    pub counts: Counts,
    pub at: Instant,
}

/// What was counted in a span of time.
pub struct Span {
    counts: Counts,
    seconds: f64,
}

/// Numbers by group, such as the rows inserted, and by name, such as the table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts(BTreeMap<(String, String), f64>);

impl Snapshot {
    pub fn since(&self, before: &Snapshot) -> Span {
        let seconds = (self.at - before.at).as_secs_f64();
        Span { counts: self.counts.less(&before.counts, 1.0), seconds }
    }
}

impl Span {
    /// Without what happens in the same time anyway.
    pub fn less(self, idle: &Span) -> Counts {
        self.counts.less(&idle.counts, self.seconds / idle.seconds)
    }
}

impl Counts {
    /// From lines of `group|count|name`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut counts = Self::default();
        for line in text.lines().filter(|it| !it.is_empty()) {
            let mut words = line.splitn(3, '|');
            let (group, count, name) = (words.next(), words.next().and_then(|it| it.parse().ok()), words.next());
            match (group, count, name) {
                (Some(group), Some(count), Some(name)) => counts.add(group, name, count),
                _ => return Err(format!("psql printed no count: {line}")),
            }
        }
        Ok(counts)
    }

    pub fn add(&mut self, group: &str, name: &str, count: f64) {
        *self.0.entry((group.to_owned(), name.to_owned())).or_default() += count;
    }

    fn less(&self, other: &Counts, times: f64) -> Self {
        let mut left = self.clone();
        for ((group, name), count) in &other.0 {
            left.add(group, name, -count * times);
        }
        left
    }

    /// The share of each of so many.
    pub fn each(self, of: usize) -> Self {
        Self(self.0.into_iter().map(|(key, count)| (key, count / of as f64)).collect())
    }

    /// Where the background did less than it did at rest, there is nothing to count.
    pub fn of(&self, group: &str, name: &str) -> f64 {
        self.0.get(&(group.to_owned(), name.to_owned())).map_or(0.0, |it| it.max(0.0))
    }

    /// Of all names together, in which the noise of the background cancels out.
    pub fn total(&self, group: &str) -> f64 {
        self.0.iter().filter(|((of, _), _)| of == group).map(|(_, count)| count).sum::<f64>().max(0.0)
    }

    /// Every name in those groups, once.
    pub fn names(&self, groups: &[&str]) -> Vec<String> {
        let mut names: Vec<String> =
            self.0.keys().filter(|(group, _)| groups.contains(&group.as_str())).map(|(_, name)| name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The names with the highest numbers.
    pub fn most(&self, group: &str, shown: usize) -> Vec<(&str, f64)> {
        let of_group = self.0.iter().filter(|((of, _), _)| of == group);
        let mut all: Vec<(&str, f64)> = of_group.map(|((_, name), count)| (name.as_str(), *count)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(shown);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn background_of_the_same_time_is_subtracted() {
        let counts = |text: &str| Counts::parse(text).unwrap();
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let first = Snapshot { counts: counts("inserted|10|work\nstatement|5|SELECT a | b"), at: at(0) };
        let second = Snapshot { counts: counts("inserted|20|work\nstatement|9|SELECT a | b"), at: at(10) };
        let third = Snapshot { counts: counts("inserted|240|work\ninserted|100|audit"), at: at(30) };
        let each = third.since(&second).less(&second.since(&first)).each(100);
        assert_eq!((each.of("inserted", "work"), each.of("inserted", "audit")), (2.0, 1.0));
        assert_eq!((each.total("inserted"), each.total("statement")), (3.0, 0.0));
        assert_eq!(each.names(&["inserted", "deleted"]), ["audit", "work"]);
        assert_eq!(each.most("inserted", 1), [("work", 2.0)]);
    }

    #[test]
    fn line_without_a_count_is_an_error() {
        assert!(Counts::parse("inserted|many|work").unwrap_err().contains("inserted|many|work"));
    }
}
