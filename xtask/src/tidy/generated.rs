//! Generated files are committed, and equal what their source says today.

use super::Problem;
use crate::generate;

pub fn check() -> Result<Vec<Problem>, String> {
    let stale = generate::generate(true).map_err(|error| error.to_string())?;
    Ok(stale.into_iter().map(problem).collect())
}

fn problem(path: String) -> Problem {
    Problem { path, line: 1, advice: "differs from its source; run make generate and commit the result".to_owned() }
}
