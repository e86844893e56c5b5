//! A folder of an area that holds rows, handlers, states, reconcilers or consumers
//! is a resource, and the area's `registry()` asks it what it registers. A folder
//! that is forgotten there would be served and never driven, swept or measured.
//! A meter that its resource does not register could be started, and have no price.
//! `registrations.rs` looks at the other things that a resource registers.

use super::{File, Problem, files::CONTROL_PLANE, registrations};

const SIGNS: &[&str] = &["routes.rs", "lifecycle.rs", "reconcile.rs", "consume.rs", "store.rs"];

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for area in CONTROL_PLANE.iter().filter(|it| **it != "gpuaasd") {
        let root = format!("crates/{area}/src/");
        let Some(list) = files.iter().find(|file| file.path == format!("{root}lib.rs")) else { continue };
        let mut folders: Vec<&str> = files.iter().filter_map(|file| resource(&root, &file.path)).collect();
        folders.sort_unstable();
        folders.dedup();
        let forgotten = folders.into_iter().filter(|it| !list.text.contains(&format!("    {it}::register(")));
        problems.extend(forgotten.map(|folder| {
            let advice = format!("call `{folder}::register(&mut registry)` in `registry()`");
            Problem::new(list, 1, advice)
        }));
        problems.extend(meters(files, &root));
    }
    problems.extend(registrations::check(files));
    problems
}

/// Meters of an area that no resource of it registers.
fn meters(files: &[File], root: &str) -> Vec<Problem> {
    let of_area: Vec<&File> =
        files.iter().filter(|it| it.path.starts_with(root) && it.is_rust() && !it.is_test()).collect();
    let mut problems = Vec::new();
    for file in &of_area {
        for (number, line) in file.text.lines().enumerate() {
            let Some((before, _)) = line.split_once(": Meter =") else { continue };
            let Some((_, name)) = before.rsplit_once(' ') else { continue };
            let call = format!("{name});");
            let is_registered = |it: &&File| {
                it.text.lines().any(|line| line.trim().starts_with("registry.meter(&") && line.ends_with(&call))
            };
            if !of_area.iter().any(is_registered) {
                let advice = format!("call `registry.meter(&{name})` in `register()`");
                problems.push(Problem::new(file, number + 1, advice));
            }
        }
    }
    problems
}

/// The resource that a file is of, by its folder.
fn resource<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let (folder, name) = path.strip_prefix(root)?.split_once('/')?;
    (SIGNS.contains(&name) || name.starts_with("store/")).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_that_its_area_does_not_register_is_found() {
        let list = "pub fn registry() {\n    users::register(&mut registry);\n}";
        let files = |folder: &str| {
            [File::new("crates/people/src/lib.rs", list), File::new(format!("crates/people/src/{folder}/store.rs"), "")]
        };
        assert_eq!(check(&files("users")), []);
        assert_eq!(check(&files("notes")).len(), 1);
        let helper = [File::new("crates/people/src/lib.rs", list), File::new("crates/people/src/text/mod.rs", "")];
        assert_eq!(check(&helper), [], "a folder of functions registers nothing");
    }

    #[test]
    fn meter_that_its_resource_does_not_register_is_found() {
        let meter = "pub static STORAGE: Meter = Meter {\n};";
        let files = |registered: &str| {
            [
                File::new("crates/people/src/lib.rs", "pub fn registry() {\n    volumes::register(&mut registry);\n}"),
                File::new("crates/people/src/volumes/mod.rs", registered),
                File::new("crates/people/src/volumes/metering.rs", meter),
            ]
        };
        assert_eq!(check(&files("    registry.meter(&STORAGE);")), []);
        assert_eq!(check(&files("    registry.meter(&metering::STORAGE);")), []);
        assert_eq!(check(&files("    registry.meter(&OTHER);")).len(), 1);
    }
}
