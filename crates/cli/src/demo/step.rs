//! A line of the tour: shown as people type it, run as the program that it names.

use std::{
    fmt,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{process::Command, time::timeout};

use crate::{
    arguments::Flags,
    failure::{Class, Failure},
    nouns::quoted,
};

/// The words after `gpuaas`.
pub struct Line(Vec<String>);

/// A line that did not go well.
#[derive(Debug)]
pub enum StepFailure {
    /// With the exit code of the command, which has said what there was to say.
    Code(i32),
    Late(String, Duration),
    NotRun(std::io::Error),
}

impl Line {
    /// `words` with the flags that say where, so that it works as it is shown.
    pub fn new(words: &str, flags: &Flags, project: Option<&str>) -> Self {
        let (before, after) = words.split_once(" -- ").map_or((words, None), |(before, after)| (before, Some(after)));
        let mut all: Vec<String> = before.split(' ').map(str::to_owned).collect();
        let given = [
            ("--context", flags.context.as_deref()),
            ("--url", flags.url.as_deref()),
            ("--organization", flags.organization.as_deref()),
            ("--project", flags.project.as_deref().or(project)),
        ];
        for (flag, value) in given {
            all.extend(value.into_iter().flat_map(|it| [flag.to_owned(), it.to_owned()]));
        }
        all.extend(after.into_iter().flat_map(|it| ["--"].into_iter().chain(it.split(' '))).map(str::to_owned));
        Self(all)
    }

    pub async fn run(&self, patience: Duration) -> Result<(), StepFailure> {
        self.run_in(Command::new(std::env::current_exe().map_err(StepFailure::NotRun)?), patience).await
    }

    /// Out of reach of the terminal's Ctrl-C.
    pub async fn run_apart(&self, patience: Duration) -> Result<(), StepFailure> {
        let mut command = Command::new(std::env::current_exe().map_err(StepFailure::NotRun)?);
        command.process_group(0);
        self.run_in(command, patience).await
    }

    async fn run_in(&self, mut command: Command, patience: Duration) -> Result<(), StepFailure> {
        // What is typed belongs to the tour.
        let mut child =
            command.args(&self.0).stdin(Stdio::null()).kill_on_drop(true).spawn().map_err(StepFailure::NotRun)?;
        match timeout(patience, child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(StepFailure::Code(code(status))),
            Ok(Err(error)) => Err(StepFailure::NotRun(error)),
            Err(_) => Err(StepFailure::Late(self.to_string(), patience)),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(|it| quoted(it)).collect();
        write!(f, "gpuaas {}", words.join(" "))
    }
}

impl StepFailure {
    pub fn is_late(&self) -> bool {
        matches!(self, StepFailure::Late(..))
    }

    /// Whether the server decided; else the request may still take effect.
    pub fn is_answer(&self) -> bool {
        let unsure = [Class::Unavailable, Class::Server].map(|it| i32::from(it.code()));
        matches!(self, StepFailure::Code(code) if (1..=10).contains(code) && !unsure.contains(code))
    }
}

impl From<StepFailure> for Failure {
    fn from(ended: StepFailure) -> Self {
        match ended {
            StepFailure::Code(code) => Failure::exited(code),
            StepFailure::Late(line, patience) => Failure::new(
                Class::Unavailable,
                format!("`{line}` timed out after {} seconds", patience.as_secs()),
                "Try again later, or allow more time with --timeout.",
            ),
            StepFailure::NotRun(error) => Failure::usage(format!("cannot run gpuaas: {error}"), ""),
        }
    }
}

/// As shells tell of a program that a signal ended.
fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tour_command_names_its_context_and_can_be_typed_as_shown() {
        let flags = Flags { url: Some("http://127.0.0.1:9000".into()), ..Flags::default() };
        let line = Line::new("terminal tour-1 -- nvidia-smi -L", &flags, Some("my project"));
        let shown = "gpuaas terminal tour-1 --url http://127.0.0.1:9000 --project 'my project' -- nvidia-smi -L";
        assert_eq!(line.to_string(), shown);
        assert!(crate::command().try_get_matches_from(["gpuaas".to_owned()].into_iter().chain(line.0)).is_ok());
        let flags = Flags { project: Some("said".into()), ..Flags::default() };
        assert_eq!(Line::new("why x", &flags, Some("found")).to_string(), "gpuaas why x --project said");
    }

    #[test]
    fn only_server_decisions_count_as_answers() {
        for (code, is_answer) in [(4, true), (6, true), (9, false), (10, false), (130, false), (137, false)] {
            assert_eq!(StepFailure::Code(code).is_answer(), is_answer, "{code}");
        }
        assert!(!StepFailure::Late(String::new(), Duration::ZERO).is_answer());
    }
}
