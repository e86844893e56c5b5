//! `gpuaas terminal`: a shell in what one rents.

use std::io::IsTerminal;

use clap::Args;
use contract::{
    Reason,
    access_tickets::{
        AccessTicketSpec, BreakGlass, BreakGlassSpec, Command, CreateAccessTicket, NewAccessTicket, TicketKind,
    },
    allocations::{AllocationPath, AnyAllocationPath},
    id::{AccessSessionId, AllocationId, NodeId},
};

use crate::{
    arguments,
    context::Context,
    exact,
    failure::{Done, Failure},
    terminal::{self, Ticket},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas terminal notebook
  gpuaas terminal notebook -- nvidia-smi -L
  echo 'nvidia-smi -L' | gpuaas terminal notebook
  gpuaas terminal notebook --resume access-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas terminal notebook --share

The shell's exit code is passed on. After a newline, `~.` detaches and keeps the shell
running, `~x` ends it, `~?` shows help. A lost connection is resumed automatically.";

/// Open a shell on an allocation, or run a command
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Terminal {
    /// ID or name of the allocation
    #[arg(value_name = "ALLOCATION")]
    wanted: String,
    /// Node to connect to [default: the first]
    #[arg(long, value_name = "ID")]
    node: Option<NodeId>,
    /// Resume the shell of this session
    #[arg(long, value_name = "SESSION")]
    resume: Option<AccessSessionId>,
    /// Watch the session of --resume without typing
    #[arg(long, requires = "resume")]
    watch: bool,
    /// Allow other members to join the session
    #[arg(long)]
    share: bool,
    /// Access an allocation of any organization (platform staff); its owners are notified
    #[arg(long, value_name = "REASON", value_parser = arguments::text::<Reason>, conflicts_with_all = ["resume", "share", "command"])]
    break_glass: Option<Reason>,
    /// Command to run instead of a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Terminal {
    pub async fn run(self, context: &Context) -> Done {
        if let Some(reason) = &self.break_glass {
            let allocation_id: AllocationId = self.wanted.parse().map_err(|_| {
                Failure::usage(
                    "an allocation of another organization must be given by ID",
                    "Find it with `gpuaas allocations list --all`.",
                )
            })?;
            let mint = async |_: Option<&str>| {
                let body = BreakGlassSpec { reason: reason.clone(), node_id: self.node };
                let path = AnyAllocationPath { allocation_id };
                ticket(&context.send::<BreakGlass>(path, body).await?)
            };
            return terminal::run(mint).await;
        }
        let path = context.allocation_named(&self.wanted).await?;
        terminal::run(async |resume: Option<&str>| self.mint(context, &path, resume).await).await
    }

    async fn mint(&self, context: &Context, path: &AllocationPath, resume: Option<&str>) -> Result<Ticket, Failure> {
        let again = resume.map(str::parse).transpose().map_err(|_| Failure::usage("the session has no ID", ""))?;
        let command = command(&self.command)?;
        // Nobody types: an echo, and line ends for a screen, would only be in the way.
        let is_plain = !std::io::stdin().is_terminal() && self.resume.is_none() && !self.share;
        let spec = AccessTicketSpec {
            kind: TicketKind::Terminal,
            port: None,
            node_id: self.node,
            resume: again.or(self.resume),
            watch: self.watch,
            command: command.filter(|_| again.is_none()),
            plain: is_plain,
            share: self.share,
        };
        ticket(&context.send::<CreateAccessTicket>(path.clone(), spec).await?)
    }
}

/// The words as one line for the shell; a single one is a line already.
fn command(words: &[String]) -> Result<Option<Command>, Failure> {
    let line = match words {
        [] => return Ok(None),
        [line] => line.clone(),
        words => words.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(" "),
    };
    let wrong = |error: <Command as std::str::FromStr>::Err| Failure::usage(error.to_string(), "");
    line.parse().map(Some).map_err(wrong)
}

/// A word that the shell takes as it is.
pub fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./=:,@%+".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What an answer with a ticket says.
pub fn ticket(answer: &serde_json::Value) -> Result<Ticket, Failure> {
    let new: NewAccessTicket = exact::read(answer)?;
    Ok(Ticket {
        url: new.url,
        ticket: new.ticket.expose().to_owned(),
        session: new.session_id.to_string(),
        web_url: new.web_url,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> Option<String> {
        let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        command(&words).unwrap().map(|it| it.as_str().to_owned())
    }

    #[test]
    fn command_words_reach_the_shell_unchanged() {
        assert_eq!(line(&[]), None);
        assert_eq!(line(&["ls | wc -l"]).as_deref(), Some("ls | wc -l"));
        assert_eq!(line(&["ls", "-l", "a b", "it's", ""]).as_deref(), Some(r"ls -l 'a b' 'it'\''s' ''"));
    }
}
