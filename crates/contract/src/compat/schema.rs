//! Comparing two versions of one schema.

use serde_json::Value;

use super::{
    Direction, Pair,
    shape::{LOWER, Shape, UPPER},
};

pub(super) fn compare<'a>(
    pair: Pair<'a>,
    place: &str,
    before: &'a Value,
    after: &'a Value,
    direction: Direction,
    found: &mut Vec<String>,
) {
    let mut comparison = Comparison { pair, direction, found, open: Vec::new() };
    comparison.schemas(place, before, after);
}

struct Comparison<'a, 'f> {
    pair: Pair<'a>,
    direction: Direction,
    found: &'f mut Vec<String>,
    /// What is being compared, to stop at a schema that contains itself.
    open: Vec<[Option<&'a Value>; 2]>,
}

impl<'a> Comparison<'a, '_> {
    fn schemas(&mut self, place: &str, before: &'a Value, after: &'a Value) {
        let old = Shape::of(self.pair.old, before);
        let new = Shape::of(self.pair.new, after);
        if !self.kinds(place, &old, &new) {
            return;
        }
        self.nulls(place, &old, &new);
        self.words(place, &old, &new);
        self.formats(place, &old, &new);
        if self.direction == Direction::Request {
            self.bounds(place, &old, &new);
        }
        let origins = [old.origin, new.origin];
        if self.is_open(origins) {
            return;
        }
        self.open.push(origins);
        self.parts(place, &old, &new);
        self.open.pop();
    }

    fn is_open(&self, origins: [Option<&Value>; 2]) -> bool {
        let same = |a: Option<&Value>, b: Option<&Value>| match (a, b) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            _ => false,
        };
        let mut open = self.open.iter();
        open.any(|it| same(it[0], origins[0]) && same(it[1], origins[1]))
    }

    fn parts(&mut self, place: &str, old: &Shape<'a>, new: &Shape<'a>) {
        self.properties(place, old, new);
        self.variants(place, old, new);
        if let (Some(before), Some(after)) = (old.items, new.items) {
            self.schemas(&format!("{place}[]"), before, after);
        }
        if let (Some(before), Some(after)) = (old.unnamed, new.unnamed) {
            self.schemas(&format!("{place}.*"), before, after);
        }
    }

    /// Whether the types still agree; comparing further makes no sense otherwise.
    fn kinds(&mut self, place: &str, old: &Shape<'_>, new: &Shape<'_>) -> bool {
        let includes = |wide: Option<&str>, narrow: Option<&str>| {
            wide.is_none() || wide == narrow || (wide, narrow) == (Some("number"), Some("integer"))
        };
        let fits = match self.direction {
            Direction::Request => includes(new.kind, old.kind),
            Direction::Answer => includes(old.kind, new.kind),
        };
        if !fits {
            let (old, new) = (old.kind.unwrap_or("any"), new.kind.unwrap_or("any"));
            self.report(place, format!("type {old} became {new}"));
        }
        fits
    }

    fn nulls(&mut self, place: &str, old: &Shape<'_>, new: &Shape<'_>) {
        match (self.direction, old.nullable, new.nullable) {
            (Direction::Request, true, false) => self.report(place, "null is no longer accepted"),
            (Direction::Answer, false, true) => self.report(place, "may now be null"),
            _ => {}
        }
    }

    fn words(&mut self, place: &str, old: &Shape<'_>, new: &Shape<'_>) {
        let (wide, narrow, what) = match self.direction {
            Direction::Request => (new, old, "is no longer accepted"),
            Direction::Answer => (old, new, "is a value that clients do not know"),
        };
        let Some(allowed) = &wide.words else {
            return;
        };
        let Some(words) = &narrow.words else {
            self.report(place, format!("any other value {what}"));
            return;
        };
        for word in words.iter().filter(|it| !allowed.contains(it)) {
            self.report(place, format!("{word} {what}"));
        }
    }

    fn formats(&mut self, place: &str, old: &Shape<'_>, new: &Shape<'_>) {
        if old.format == new.format {
            return;
        }
        let (wide, narrow) = match self.direction {
            Direction::Request => (new.format, old.format),
            Direction::Answer => (old.format, new.format),
        };
        let fits = wide.is_none() || (wide, narrow) == (Some("int64"), Some("int32"));
        if !fits {
            let (old, new) = (old.format.unwrap_or("any"), new.format.unwrap_or("any"));
            self.report(place, format!("format {old} became {new}"));
        }
    }

    fn bounds(&mut self, place: &str, old: &Shape<'_>, new: &Shape<'_>) {
        for (name, bound) in &new.bounds {
            let tighter = match old.bounds.get(name) {
                None => true,
                Some(before) if LOWER.contains(name) => bound > before,
                Some(before) => UPPER.contains(name) && bound < before,
            };
            if tighter {
                self.report(place, format!("{name} is now {bound}"));
            }
        }
        for pattern in new.patterns.difference(&old.patterns) {
            self.report(place, format!("must now match `{pattern}`"));
        }
    }

    fn properties(&mut self, place: &str, old: &Shape<'a>, new: &Shape<'a>) {
        for (name, before) in &old.properties {
            let place = format!("{place}.{name}");
            match (new.properties.get(name), self.direction) {
                (Some(after), _) => self.schemas(&place, before, after),
                (None, Direction::Answer) => self.report(&place, "is gone"),
                (None, Direction::Request) if new.refuses_unknown => {
                    self.report(&place, "is no longer accepted");
                }
                (None, Direction::Request) => {}
            }
        }
        match self.direction {
            Direction::Request => {
                for name in new.required.difference(&old.required) {
                    self.report(&format!("{place}.{name}"), "must now be sent");
                }
                if new.refuses_unknown && !old.refuses_unknown {
                    self.report(place, "unknown fields are now refused");
                }
            }
            Direction::Answer => {
                let kept = |it: &&&str| new.properties.contains_key(**it);
                for name in old.required.difference(&new.required).filter(kept) {
                    self.report(&format!("{place}.{name}"), "is no longer always present");
                }
            }
        }
    }

    /// Variants have no names, so they are compared in order.
    fn variants(&mut self, place: &str, old: &Shape<'a>, new: &Shape<'a>) {
        let (before, after) = (old.variants.len(), new.variants.len());
        match self.direction {
            Direction::Request if after > 0 && (after < before || before == 0) => {
                self.report(place, "accepts fewer variants");
            }
            Direction::Answer if after > before => self.report(place, "has more variants"),
            _ => {}
        }
        for (index, (before, after)) in old.variants.iter().zip(&new.variants).enumerate() {
            self.schemas(&format!("{place}<{index}>"), before, after);
        }
    }

    fn report(&mut self, place: &str, what: impl AsRef<str>) {
        self.found.push(format!("{place}: {}", what.as_ref()));
    }
}
