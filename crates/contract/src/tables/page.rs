//! A Markdown page of sections and tables.

pub(super) struct Page {
    text: String,
}

impl Page {
    pub fn new(title: &str, about: &str) -> Self {
        Self {
            text: format!(
                "<!-- Generated from crates/contract; a change made here is lost. -->\n\n# {title}\n\n{about}\n"
            ),
        }
    }

    pub fn section(&mut self, title: &str, about: &str) {
        self.text.push_str(&format!("\n## {title}\n\n{about}\n"));
    }

    pub fn columns(&mut self, names: &[&str]) {
        self.text.push('\n');
        self.row(names);
        self.row(&vec!["---"; names.len()]);
    }

    pub fn finish(self) -> String {
        self.text
    }

    pub fn row(&mut self, cells: &[impl AsRef<str>]) {
        self.text.push('|');
        for cell in cells {
            let cell = cell.as_ref().replace('|', "\\|");
            self.text.push_str(&format!(" {cell} |"));
        }
        self.text.push('\n');
    }
}
