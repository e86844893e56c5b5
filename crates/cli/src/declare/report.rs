//! What was done. Secrets are shown even when a later step fails or somebody
//! presses Ctrl-C: nobody can ask for them again.

use contract::Label;
use serde_json::{Value, json};

use super::plan::Step;
use crate::{context::Context, failure::Done, output::Output, table::harmless};

pub struct Report<'a> {
    output: Output,
    stack: &'a Label,
    done: Vec<Value>,
    secrets: Vec<(String, String)>,
    is_shown: bool,
}

impl<'a> Report<'a> {
    pub fn new(context: &Context, stack: &'a Label) -> Self {
        Self { output: context.output, stack, done: Vec::new(), secrets: Vec::new(), is_shown: false }
    }

    pub fn add(&mut self, step: &Step, id: &str, secret: Option<String>) -> Done {
        let Step { action, kind, name, .. } = step;
        if let Some(secret) = &secret {
            self.secrets.push((format!("{kind} {name}"), secret.clone()));
        }
        self.done.push(json!({ "action": action, "kind": kind, "name": name, "id": id, "secret": secret }));
        if !self.output.is_for_people() {
            return Ok(());
        }
        match (self.output.quiet, id) {
            (true, "") => Ok(()),
            (true, id) => self.output.line(id),
            (false, id) => {
                let line = format!("{:<2} {kind} {name}  {id}", action.sign());
                self.output.line(harmless(line.trim_end()))
            }
        }
    }

    /// Secrets for people, everything for programs; once.
    pub fn show(&mut self) -> Done {
        if std::mem::replace(&mut self.is_shown, true) {
            return Ok(());
        }
        if !self.output.is_for_people() {
            return self.output.document(&json!({ "stack": self.stack, "done": self.done }));
        }
        for (of, secret) in self.secrets.drain(..) {
            let text = if self.output.quiet { secret } else { format!("\nSecret of {}: {secret}", harmless(&of)) };
            self.output.line(text)?;
        }
        Ok(())
    }
}

impl Drop for Report<'_> {
    fn drop(&mut self) {
        // Nobody is left to be told when standard output is closed.
        let _ = self.show();
    }
}
