//! `problems.py`: an exception for each code of the catalog, so that programs
//! catch what they can do something about.

use std::fmt::Write;

use contract::Code;

use super::{NOTE, names, prose, quoted};

pub fn module() -> String {
    let mut text = format!("\"\"\"One exception for each code of a problem.\n\n{NOTE}\n\"\"\"\n\n");
    text.push_str("from __future__ import annotations\n\nfrom gpuaas._errors import ProblemError\n");
    let name = |code: &Code| format!("{}Error", names::class(code.info().name));
    for code in Code::ALL {
        let info = code.info();
        let (title, advice) = (prose(info.title), prose(info.advice));
        let _ = write!(
            text,
            "\n\nclass {}(ProblemError):\n    \"\"\"{title} (`{}`, {}).\n\n    {advice}\n    \"\"\"\n",
            name(code),
            info.name,
            info.status,
        );
    }
    text.push_str("\n\nBY_CODE: dict[str, type[ProblemError]] = {\n");
    for code in Code::ALL {
        let _ = writeln!(text, "    {}: {},", quoted(code.info().name), name(code));
    }
    text.push_str("}\n");
    text
}
