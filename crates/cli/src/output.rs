//! What is printed, where: answers to standard output in the form asked for,
//! hints to standard error and only for people.

use std::io::{self, Write};

use clap::ValueEnum;
use contract::Timestamp;
use serde_json::Value;

use crate::{
    failure::{Done, Failure},
    table::{self, Columns},
    yaml,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Table for reading
    Table,
    /// JSON, as returned by the API
    Json,
    /// YAML
    Yaml,
}

#[derive(Debug, Clone, Copy)]
pub struct Output {
    pub format: Format,
    pub quiet: bool,
}

impl Output {
    pub fn is_for_people(self) -> bool {
        self.format == Format::Table
    }

    /// One thing; in quiet only its id.
    pub fn item(self, item: &Value) -> Done {
        self.item_known_by(item, "/id")
    }

    /// One thing; in quiet only what the JSON pointer `known_by` names.
    pub fn item_known_by(self, item: &Value, known_by: &str) -> Done {
        match self.format {
            Format::Table if self.quiet => self.line(text_of(item.pointer(known_by).unwrap_or(&Value::Null))),
            Format::Table => self.line(table::fields(item, Timestamp::now())),
            Format::Json | Format::Yaml => self.document(item),
        }
    }

    /// A new thing beside a secret that nobody can read again; in quiet only the secret.
    pub fn item_with_secret(self, answer: &Value, thing: &str, secret: &str) -> Done {
        if self.quiet || !self.is_for_people() {
            return self.item_known_by(answer, &format!("/{secret}"));
        }
        self.item(&answer[thing])?;
        self.line(format!("\n{secret}  {}", text_of(&answer[secret])))
    }

    /// Many things; in quiet only their ids, or what the first column holds.
    pub fn list(self, items: Vec<Value>, columns: Columns) -> Done {
        match self.format {
            Format::Table if self.quiet => {
                let first = columns.first().copied().unwrap_or_default();
                items.iter().try_for_each(|it| self.line(text_of(it.get("id").unwrap_or(&it[first]))))
            }
            Format::Table if items.is_empty() => {
                self.hint("No results.");
                Ok(())
            }
            Format::Table => self.line(table::rows(&items, columns, Timestamp::now())),
            Format::Json | Format::Yaml => self.document(&Value::Array(items)),
        }
    }

    /// An answer that holds nothing to show: a sentence for people.
    pub fn done(self, answer: &Value, sentence: impl AsRef<str>) -> Done {
        match self.format {
            Format::Table => {
                self.hint(sentence);
                Ok(())
            }
            Format::Json | Format::Yaml => self.document(answer),
        }
    }

    /// A value as a document of its own, whatever the format.
    pub fn document(self, value: &Value) -> Done {
        let text = match self.format {
            Format::Yaml => yaml::write(value),
            Format::Json | Format::Table => format!("{value:#}\n"),
        };
        write(&text)
    }

    /// A document as it is.
    pub fn bytes(self, bytes: &[u8]) -> Done {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()?;
        Ok(())
    }

    /// A line of the answer.
    pub fn line(self, text: impl AsRef<str>) -> Done {
        write(&format!("{}\n", text.as_ref()))
    }

    /// Something good to know; never part of the answer.
    pub fn hint(self, text: impl AsRef<str>) {
        if self.is_for_people() && !self.quiet {
            self.warn(text);
        }
    }

    /// Something that must not be missed, whatever the format.
    pub fn warn(self, text: impl AsRef<str>) {
        // Nobody is left to be told when standard error is closed.
        let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
    }

    pub fn failure(self, failure: &Failure) {
        match self.format {
            Format::Table => self.warn(table_safe(&failure.for_people())),
            Format::Json => self.warn(format!("{:#}", failure.for_programs())),
            Format::Yaml => self.warn(yaml::write(&failure.for_programs()).trim_end()),
        }
    }
}

fn write(text: &str) -> Done {
    Output { format: Format::Table, quiet: false }.bytes(text.as_bytes())
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => table::harmless(text),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn table_safe(text: &str) -> String {
    text.lines().map(table::harmless).collect::<Vec<_>>().join("\n")
}
