//! What the command line says about a run: which parts, how long, and what comes
//! of it.

use super::part::Part;

#[derive(Debug, PartialEq)]
pub struct Options {
    /// How long one round of one contestant lasts.
    pub seconds: u64,
    /// How often the contestants take turns.
    pub rounds: usize,
    /// In the order of [`Part::ALL`].
    pub parts: Vec<Part>,
    /// Whether a missed bar fails the run.
    pub bars: bool,
    /// Whether the figures become the recorded ones.
    pub record: bool,
    /// What CI runs: a few minutes on a debug build, with floors of its own.
    pub is_short: bool,
}

pub const USAGE: &str = "bench takes --seconds N, --rounds N, --only PART (once or more; idle, writes, reads, lists, \
                         counts, allocations, relay, money, planner, large, agents, access, or the groups requests and \
                         fleet), --no-bars, --no-record and --short";

const SHORT_PARTS: [Part; 3] = [Part::Writes, Part::Reads, Part::Counts];

impl Options {
    pub fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self::whole();
        if args.iter().any(|it| it == "--short") {
            options = Self::short();
        }
        let mut only: Vec<Part> = Vec::new();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value; {USAGE}"));
            match word.as_str() {
                "--seconds" => options.seconds = number(value()?)?,
                "--rounds" => options.rounds = number(value()?)? as usize,
                "--only" => {
                    let name = value()?;
                    only.extend(Part::named(name).ok_or(format!("{name} is no part; {USAGE}"))?);
                }
                "--no-bars" => options.bars = false,
                "--no-record" => options.record = false,
                "--short" => (),
                _ => return Err(format!("{word} is not known; {USAGE}")),
            }
        }
        if !only.is_empty() {
            options.parts = Part::ALL.into_iter().filter(|it| only.contains(it)).collect();
        }
        Ok(options)
    }

    fn whole() -> Self {
        Options { seconds: 10, rounds: 3, parts: Part::ALL.to_vec(), bars: true, record: true, is_short: false }
    }

    fn short() -> Self {
        Options { seconds: 3, rounds: 2, parts: SHORT_PARTS.to_vec(), record: false, is_short: true, ..Self::whole() }
    }

    pub fn measures(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    pub fn is_whole(&self) -> bool {
        self.parts.len() == Part::ALL.len()
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|it| *it > 0).ok_or(format!("{text} is not a number above zero; {USAGE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn options_are_read_and_a_wrong_one_says_what_is_accepted() {
        let options = parse("--seconds 3 --rounds 1 --only reads --no-bars --no-record").unwrap();
        assert_eq!((options.seconds, options.rounds, options.bars, options.record), (3, 1, false, false));
        assert!(options.measures(Part::Reads) && !options.measures(Part::Writes) && !options.is_whole());
        assert!(parse("").unwrap().is_whole());
        for wrong in ["--seconds", "--seconds 0", "--only deletes", "--fast"] {
            assert!(parse(wrong).err().unwrap().contains("bench takes"), "{wrong}");
        }
    }

    #[test]
    fn parts_add_up_in_their_own_order() {
        let options = parse("--only lists --only fleet --only lists").unwrap();
        assert_eq!(options.parts, [Part::Lists, Part::Allocations, Part::Planner, Part::Large, Part::Agents]);
    }

    #[test]
    fn short_run_records_nothing_wherever_the_word_stands() {
        let options = parse("--seconds 5 --short").unwrap();
        assert!(options.is_short && !options.record && options.bars);
        assert_eq!((options.seconds, options.parts), (5, SHORT_PARTS.to_vec()));
    }
}
