//! `status`: how the node stood when the agent last wrote it down.

use super::{DataFolder, Outcome};
use agent::state::{StateError, StateFolder};
use std::process::ExitCode;

pub fn run(place: &DataFolder) -> Outcome {
    let folder = StateFolder::open(&place.data_dir)?;
    let identity = folder.identity()?;
    let Some(status) = folder.status()? else {
        println!("{} is enrolled at {}, but the agent has never run", identity.node_id, identity.url);
        return Ok(ExitCode::SUCCESS);
    };
    println!("node         {}", status.node_id);
    println!("control      {}", status.url);
    println!("state        {}", status.state);
    if !status.detail.is_empty() {
        println!("             {}", status.detail);
    }
    println!("advice       {}", advice(&status.state));
    let shown = |moment: Option<jiff::Timestamp>| moment.map_or("never".to_owned(), |at| at.to_string());
    println!("contact      {}", shown(status.last_contact));
    println!("certificate  until {}", shown(status.certificate_until));
    println!("agent        {}, start {}", status.agent_version, status.generation);
    println!("refused      {}", serde_json::to_string(&status.refused).map_err(|_| StateError::NotEnrolled)?);
    let refused = serde_json::to_string(&status.streams_refused).map_err(|_| StateError::NotEnrolled)?;
    println!("streams      {} sessions, refused {refused}", status.sessions);
    let is_well = status.state == "connected";
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn advice(state: &str) -> &'static str {
    match state {
        "connected" => "no action needed",
        "unreachable" => "check the network; the agent keeps retrying, and running tasks continue",
        protocol::codes::CERTIFICATE_REVOKED => "an operator revoked this node; clean the host and enroll again",
        protocol::codes::UNKNOWN_NODE => "the control plane does not know this node; enroll again",
        _ => "see the message above",
    }
}
