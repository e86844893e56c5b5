//! `gpuaas completion`: scripts that teach a shell the commands.

use clap::{Args, ValueEnum};
use clap_complete::aot;

use crate::{
    context::Context,
    failure::{Done, Failure},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas completion bash > ~/.local/share/bash-completion/completions/gpuaas
  gpuaas completion zsh > ~/.zfunc/_gpuaas
  gpuaas completion fish > ~/.config/fish/completions/gpuaas.fish";

/// Generate a shell completion script
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completion {
    /// Shell to generate the script for
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Completion {
    pub async fn run(self, context: &Context) -> Done {
        let shell = match self.shell {
            Shell::Bash => aot::Shell::Bash,
            Shell::Zsh => aot::Shell::Zsh,
            Shell::Fish => aot::Shell::Fish,
        };
        let mut script = Vec::new();
        aot::generate(shell, &mut crate::command(), "gpuaas", &mut script);
        let script =
            String::from_utf8(script).map_err(|_| Failure::usage("the completion script is not valid UTF-8", ""))?;
        context.output.line(script.trim_end())
    }
}
