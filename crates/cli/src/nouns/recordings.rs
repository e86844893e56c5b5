//! `gpuaas recordings`: what was shown on terminals, listed, proven and played.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use client::Request;
use contract::{
    Nothing, Timestamp,
    id::{AllocationId, RecordingId, UserId},
    recordings::{
        AllRecordingsFilter, AnyRecordingPath, DownloadAnyRecording, DownloadRecording, GetRecording,
        ListAllRecordings, ListRecordings, Recording, RecordingFilter, RecordingPart, RecordingPath, RecordingProof,
        RecordingState, VerifyAnyRecording, VerifyRecording,
    },
};

use crate::{
    arguments::{self, Paging},
    context::Context,
    exact,
    failure::{Class, Done, Failure},
    playback::{self, Pace},
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas recordings list --allocation alloc-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas recordings play recording-01k9z8y7x6w5v4t3s2r1q0p9n8 --speed 2
  gpuaas recordings download recording-01k9z8y7x6w5v4t3s2r1q0p9n8 --output-file session.cast
  gpuaas recordings verify recording-01k9z8y7x6w5v4t3s2r1q0p9n8

Accessing a recording adds an entry to the audit log.";

/// List, play and verify terminal recordings
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Recordings {
    /// List recordings
    List {
        /// Filter by state [default: recordings that are still stored]
        #[arg(long, value_parser = arguments::word::<RecordingState>())]
        state: Option<RecordingState>,
        /// Filter by allocation
        #[arg(long, value_name = "ID")]
        allocation: Option<AllocationId>,
        /// Filter by user
        #[arg(long, value_name = "ID")]
        user: Option<UserId>,
        /// Only recordings started since this time: a timestamp, or an age such as 7d
        #[arg(long, value_parser = arguments::past)]
        since: Option<Timestamp>,
        /// Include every organization (platform staff)
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a recording: its segments, gaps and seal
    Get {
        /// ID of the recording
        #[arg(value_name = "RECORDING")]
        id: RecordingId,
    },
    /// Play a recording in this terminal
    Play {
        #[command(flatten)]
        which: RecordingArguments,
        /// Playback speed factor
        #[arg(long, default_value_t = 1.0, value_parser = speed)]
        speed: f64,
        /// Maximum length of a pause, in seconds
        #[arg(long, default_value_t = 2, value_name = "SECONDS")]
        idle_time_limit: u64,
    },
    /// Download a recording as an asciicast
    Download {
        #[command(flatten)]
        which: RecordingArguments,
        /// File to write [default: standard output]
        #[arg(long, value_name = "FILE")]
        output_file: Option<PathBuf>,
    },
    /// Verify a recording against its registered hashes; exits with code 1 if it differs
    Verify {
        #[command(flatten)]
        which: RecordingArguments,
    },
}

#[derive(Debug, Args)]
pub struct RecordingArguments {
    /// ID of the recording
    #[arg(value_name = "RECORDING")]
    id: RecordingId,
    /// Access a recording of any organization (platform staff)
    #[arg(long)]
    all: bool,
}

const COLUMNS: Columns =
    columns!(Recording: id, allocation_id, session_id, opened_by, state, duration_ms, size_bytes, created_at);

impl Recordings {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Recordings::List { state, allocation, user, since, all: true, paging } => {
                let query = AllRecordingsFilter {
                    state,
                    allocation_id: allocation,
                    user_id: user,
                    since,
                    limit: paging.page(),
                    ..Default::default()
                };
                context.list::<ListAllRecordings>(Nothing {}, query, paging, COLUMNS).await
            }
            Recordings::List { state, allocation, user, since, all: false, paging } => {
                let query = RecordingFilter {
                    state,
                    allocation_id: allocation,
                    user_id: user,
                    since,
                    limit: paging.page(),
                    ..Default::default()
                };
                context.list::<ListRecordings>(context.organization().await?, query, paging, COLUMNS).await
            }
            Recordings::Get { id } => {
                let organization_id = context.organization().await?.organization_id;
                let path = RecordingPath { organization_id, recording_id: id };
                context.output.item_known_by(&context.ask::<GetRecording>(path).await?, "/recording/id")
            }
            Recordings::Play { which, speed, idle_time_limit } => {
                let bytes = which.download(context).await?;
                let text = String::from_utf8_lossy(&bytes);
                playback::play(&text, Pace { speed, most_idle: Duration::from_secs(idle_time_limit) }).await
            }
            Recordings::Download { which, output_file } => {
                let bytes = which.download(context).await?;
                let Some(path) = output_file else { return context.output.bytes(&bytes) };
                let cannot = |error| Failure::usage(format!("cannot write {}: {error}", path.display()), "");
                std::fs::write(&path, &bytes).map_err(cannot)?;
                context.output.hint(format!("Wrote {} bytes to {}", bytes.len(), path.display()));
                Ok(())
            }
            Recordings::Verify { which } => which.verify(context).await,
        }
    }
}

impl RecordingArguments {
    async fn download(&self, context: &Context) -> Result<Vec<u8>, Failure> {
        let part = RecordingPart::default();
        let raw = if self.all {
            let path = AnyRecordingPath { recording_id: self.id };
            context.send_request(&Request::<DownloadAnyRecording>::new(path, part, Nothing {})).await?
        } else {
            let path = self.path(context).await?;
            context.send_request(&Request::<DownloadRecording>::new(path, part, Nothing {})).await?
        };
        Ok(raw.bytes)
    }

    async fn verify(&self, context: &Context) -> Done {
        let answer = match self.all {
            true => context.ask::<VerifyAnyRecording>(AnyRecordingPath { recording_id: self.id }).await?,
            false => context.ask::<VerifyRecording>(self.path(context).await?).await?,
        };
        let proof: RecordingProof = exact::read(&answer)?;
        context.output.item_known_by(&answer, "/recording_id")?;
        match proof.problems.first() {
            None if proof.is_intact => Ok(()),
            first => Err(Failure::new(
                Class::Negative,
                format!("the recording does not match its registered hashes: {}", first.map_or("", String::as_str)),
                "Preserve the stored files and find out who can write to the recording storage.",
            )),
        }
    }

    async fn path(&self, context: &Context) -> Result<RecordingPath, Failure> {
        let organization_id = context.organization().await?.organization_id;
        Ok(RecordingPath { organization_id, recording_id: self.id })
    }
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (0.1..=100.0).contains(&speed) => Ok(speed),
        _ => Err("expected a speed between 0.1 and 100".into()),
    }
}
