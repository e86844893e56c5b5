//! A set of ports, as policies say it: `22,8000-8999`. Pure.

use std::{fmt, ops::RangeInclusive, str::FromStr};

/// Ranges in order that neither overlap nor touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports(Vec<RangeInclusive<u16>>);

const NONE: &str = "none";
// bound: what one policy may name
const MAX_RANGES: usize = 64;

impl Ports {
    pub fn holds(&self, port: u16) -> bool {
        self.0.iter().any(|it| it.contains(&port))
    }

    /// Whether it has every port of the other.
    pub fn holds_all(&self, other: &Ports) -> bool {
        other.0.iter().all(|it| self.0.iter().any(|own| own.contains(it.start()) && own.contains(it.end())))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not ports and ranges like `22,8000-8999`")]
pub struct BadPorts;

impl FromStr for Ports {
    type Err = BadPorts;

    fn from_str(text: &str) -> Result<Self, BadPorts> {
        if text == NONE {
            return Ok(Self(Vec::new()));
        }
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|it| *it > 0).ok_or(BadPorts);
        let mut ranges = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = port(first)?..=port(last)?;
            if range.is_empty() || ranges.len() == MAX_RANGES {
                return Err(BadPorts);
            }
            ranges.push(range);
        }
        ranges.sort_by_key(|it| *it.start());
        let mut merged: Vec<RangeInclusive<u16>> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(last) if u32::from(*range.start()) <= u32::from(*last.end()) + 1 => {
                    *last = *last.start()..=*last.end().max(range.end());
                }
                _ => merged.push(range),
            }
        }
        Ok(Self(merged))
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(NONE);
        }
        for (place, range) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            match range.start() == range.end() {
                true => write!(f, "{comma}{}", range.start())?,
                false => write!(f, "{comma}{}-{}", range.start(), range.end())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(text: &str) -> Ports {
        text.parse().unwrap()
    }

    #[test]
    fn ranges_are_brought_into_one_form() {
        assert_eq!(ports("9000, 8000-8080,8081-8100,8050").to_string(), "8000-8100,9000");
        assert_eq!(ports("none").to_string(), "none");
        assert_eq!(ports("65535,65534").to_string(), "65534-65535");
        for bad in ["", "0", "65536", "2-1", "a", "1,,2", "-1"] {
            assert_eq!(bad.parse::<Ports>(), Err(BadPorts), "{bad}");
        }
    }

    #[test]
    fn a_part_is_stricter_than_the_whole() {
        let above = ports("22,8000-8999");
        assert!(above.holds(22) && above.holds(8500) && !above.holds(80));
        assert!(above.holds_all(&ports("8000-8001,22")) && above.holds_all(&ports("none")));
        assert!(!above.holds_all(&ports("8000-9000")) && !ports("none").holds_all(&ports("1")));
    }
}
