//! A recording played in this terminal, as it happened or faster.

use std::{io::IsTerminal, time::Duration};

use serde_json::Value;
use tokio::{io::AsyncWriteExt, time::sleep};

use crate::failure::{Class, Done, Failure};

/// How a recording is played.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// How many times as fast as it was.
    pub speed: f64,
    /// Pauses are cut to this.
    pub most_idle: Duration,
}

/// What happened, when.
#[derive(Debug, PartialEq)]
enum Event<'a> {
    Output(f64, &'a str),
    /// Something to tell: a gap, or where a piece of it begins.
    Marker(f64, &'a str),
    /// Typed, resized, or of a kind that is not known.
    Other,
}

/// Plays an asciicast of the second version.
pub async fn play(recording: &str, pace: Pace) -> Done {
    let mut lines = recording.lines();
    let header: Value = lines.next().and_then(|it| serde_json::from_str(it).ok()).ok_or_else(unreadable)?;
    if header["version"] != 2 {
        return Err(unreadable());
    }
    let mut out = tokio::io::stdout();
    let mut last = 0.0;
    for line in lines.filter(|it| !it.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).map_err(|_| unreadable())?;
        let (at, text) = match read(&value).ok_or_else(unreadable)? {
            Event::Output(at, text) => (at, text.to_owned()),
            Event::Marker(at, text) => (at, format!("\r\n[{text}]\r\n")),
            Event::Other => continue,
        };
        if std::io::stdout().is_terminal() {
            sleep(pause(at - last, pace)).await;
        }
        last = at;
        out.write_all(text.as_bytes()).await?;
        out.flush().await?;
    }
    // Colors and modes that the recording left behind are not the reader's.
    if std::io::stdout().is_terminal() {
        out.write_all(b"\x1b[0m\x1b[?25h\r\n").await?;
        out.flush().await?;
    }
    Ok(())
}

fn pause(seconds: f64, pace: Pace) -> Duration {
    let scaled = (seconds / pace.speed).clamp(0.0, pace.most_idle.as_secs_f64());
    Duration::from_secs_f64(scaled)
}

fn read(line: &Value) -> Option<Event<'_>> {
    let [at, kind, text] = line.as_array()?.as_slice() else { return None };
    let (at, text) = (at.as_f64()?, text.as_str()?);
    Some(match kind.as_str()? {
        "o" => Event::Output(at, text),
        "m" => Event::Marker(at, text),
        _ => Event::Other,
    })
}

fn unreadable() -> Failure {
    Failure::new(Class::Server, "the recording is not a valid asciicast", "Check it with `gpuaas recordings verify`.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_are_output_markers_or_something_else() {
        assert_eq!(read(&json!([1.5, "o", "x"])), Some(Event::Output(1.5, "x")));
        assert_eq!(read(&json!([2, "m", "gap"])), Some(Event::Marker(2.0, "gap")));
        assert_eq!(read(&json!([2, "i", "id"])), Some(Event::Other));
        assert_eq!(read(&json!({"version": 2})), None);
    }

    #[test]
    fn pauses_are_scaled_and_cut_and_never_negative() {
        let pace = Pace { speed: 2.0, most_idle: Duration::from_secs(3) };
        assert_eq!(pause(1.0, pace), Duration::from_millis(500));
        assert_eq!(pause(1000.0, pace), Duration::from_secs(3));
        assert_eq!(pause(-1.0, pace), Duration::ZERO);
    }
}
