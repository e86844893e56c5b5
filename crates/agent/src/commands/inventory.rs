//! `inventory`: what this host would tell the control plane.

use super::{DataFolder, Outcome};
use agent::config::Config;
use agent::host::Host;
use agent::linux::LinuxHost;
use clap::{Args, ValueEnum};
use std::process::ExitCode;

#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    place: DataFolder,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Form::Text)]
    output: Form,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    Text,
    Json,
}

pub async fn run(options: Options) -> Outcome {
    let config = Config::load(&options.place.data_dir.join("agent.toml"))?;
    let host = LinuxHost::new(config, None);
    let inventory = host.inventory().await;
    if let Form::Json = options.output {
        println!("{}", serde_json::to_string_pretty(&inventory)?);
        return Ok(ExitCode::SUCCESS);
    }
    println!("host     {} ({})", inventory.hostname, inventory.os);
    println!("kernel   {}", inventory.kernel);
    println!("cpus     {}", inventory.cpus);
    println!("memory   {} GiB", inventory.memory_bytes >> 30);
    println!("gpus     {}", inventory.gpus.len());
    for gpu in &inventory.gpus {
        println!("  {} {}", gpu.index, gpu.model);
        println!("    uuid    {}", gpu.uuid);
        println!("    pci     {}", gpu.pci);
        println!("    memory  {} GiB", gpu.memory_bytes >> 30);
        println!("    driver  {}", gpu.driver_version.as_deref().unwrap_or("unknown"));
        println!("    numa    {}", gpu.numa.map_or("unknown".to_owned(), |node| node.to_string()));
        println!("    fabric  {}", gpu.fabric.as_deref().unwrap_or("none"));
        println!("    nvme    {}", if gpu.nvme.is_empty() { "none".to_owned() } else { gpu.nvme.join(", ") });
        println!("    ecc     {}  mig {}", on_or_off(gpu.ecc), on_or_off(gpu.mig));
    }
    println!("hash     {}", inventory.hash());
    Ok(ExitCode::SUCCESS)
}

fn on_or_off(state: Option<bool>) -> &'static str {
    match state {
        Some(true) => "on",
        Some(false) => "off",
        None => "unknown",
    }
}
