//! Every endpoint has a command and a page of the console, or a reason.

use super::{File, Problem};
use crate::reach;

pub fn check(files: &[File]) -> Vec<Problem> {
    let problem = |gap: reach::Gap| Problem { path: reach::REASONS.to_owned(), line: gap.line, advice: gap.advice };
    reach::gaps(files).into_iter().map(problem).collect()
}
