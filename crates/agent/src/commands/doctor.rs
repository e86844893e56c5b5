//! `doctor`: prints what was found and fails when something must be fixed.

use super::{DataFolder, Outcome};
use agent::config::Config;
use agent::doctor::{Verdict, examine, is_broken};
use std::process::ExitCode;

pub async fn run(place: &DataFolder) -> Outcome {
    let config = Config::load(&place.data_dir.join("agent.toml"))?;
    let findings = examine(&place.data_dir, &config).await;
    for finding in &findings {
        let mark = match finding.verdict {
            Verdict::Good => "ok  ",
            Verdict::Warning => "warn",
            Verdict::Broken => "FIX ",
        };
        println!("{mark} {:<14} {}", finding.what, finding.seen);
        if !finding.advice.is_empty() {
            println!("     {:<14} -> {}", "", finding.advice);
        }
    }
    if is_broken(&findings) {
        println!("\nThis host is not ready. Fix the checks marked FIX.");
        return Ok(ExitCode::FAILURE);
    }
    println!("\nThis host is ready.");
    Ok(ExitCode::SUCCESS)
}
