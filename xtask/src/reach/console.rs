//! Which pages of the console call an endpoint: typed calls such as
//! `api.GET('/v1/skus')` and addresses of WebSockets, and from there whatever
//! uses the declaration that they stand in, up to a view of the router.

use std::collections::BTreeMap;

use super::script::{Import, Script};
use super::{Operation, walk};
use crate::tidy::File;

const SOURCE: &str = "console/src/";
const ROUTER: &str = "console/src/router.tsx";
/// What the shell and the router themselves do.
const EVERY_PAGE: &str = "every page";

pub struct Console {
    scripts: BTreeMap<String, Script>,
    /// The address of each view, by its file and component.
    views: BTreeMap<(String, String), String>,
}

/// A declaration: its file, and its index there.
type DeclarationKey = (String, usize);

impl Console {
    pub fn of(files: &[File]) -> Self {
        let is_ours = |it: &&File| {
            it.path.starts_with(SOURCE) && ["ts", "tsx"].contains(&it.extension()) && !it.name().contains(".test.")
        };
        let scripts: BTreeMap<String, Script> =
            files.iter().filter(is_ours).map(|it| (it.path.clone(), Script::of(&it.text))).collect();
        let mut console = Self { scripts, views: BTreeMap::new() };
        console.views = console.views();
        console
    }

    /// The pages that call an endpoint, the most direct ones first.
    pub fn reaching(&self, operation: &Operation) -> Vec<String> {
        let mut starts: Vec<DeclarationKey> = Vec::new();
        for (path, script) in &self.scripts {
            let calling = script.declarations.iter().enumerate().filter(|(_, it)| it.calls(operation));
            starts.extend(calling.map(|(index, _)| (path.clone(), index)));
        }
        let found = walk::goals(starts, |it| self.page(it), |it| self.users(it));
        let mut pages: Vec<String> = Vec::new();
        for page in found.into_iter().flatten() {
            if !pages.contains(&page) {
                pages.push(page);
            }
        }
        pages
    }

    /// `view('/o/$org', () => import('./pages/Overview'), 'Overview')` and its like.
    fn views(&self) -> BTreeMap<(String, String), String> {
        let Some(router) = self.scripts.get(ROUTER) else { return BTreeMap::new() };
        let mut views = BTreeMap::new();
        for declaration in &router.declarations {
            // A frame around views has no address of its own.
            let mut address = EVERY_PAGE.to_owned();
            let literals = &declaration.literals;
            for (index, literal) in literals.iter().enumerate() {
                if literal.starts_with('/') {
                    address = format!("`{literal}`");
                } else if let (Some(file), Some(name)) = (self.resolve(ROUTER, literal), literals.get(index + 1)) {
                    views.insert((file, name.clone()), address.clone());
                }
            }
        }
        views
    }

    fn page(&self, (path, index): &DeclarationKey) -> Option<String> {
        if path == ROUTER {
            return Some(EVERY_PAGE.to_owned());
        }
        let name = self.scripts.get(path)?.declarations[*index].name.clone();
        self.views.get(&(path.clone(), name)).cloned()
    }

    /// The declarations that name one.
    fn users(&self, (path, index): &DeclarationKey) -> Vec<DeclarationKey> {
        let Some(script) = self.scripts.get(path) else { return Vec::new() };
        let name = &script.declarations[*index].name;
        let mut users = Vec::new();
        for (other, script) in &self.scripts {
            let local = if other == path { Some(name) } else { self.local_name(other, script, path, name) };
            let Some(local) = local else { continue };
            let naming = script.declarations.iter().enumerate().filter(|(_, it)| it.words.contains(local));
            users.extend(naming.map(|(index, _)| (other.clone(), index)));
        }
        users
    }

    /// What a file calls a thing that it imports from another.
    fn local_name<'a>(&self, file: &str, script: &'a Script, from: &str, name: &str) -> Option<&'a String> {
        let is_it = |it: &&Import| it.name == name && self.resolve(file, &it.from).as_deref() == Some(from);
        script.imports.iter().find(is_it).map(|it| &it.local)
    }

    /// The file that a module is, as seen from another file.
    fn resolve(&self, file: &str, module: &str) -> Option<String> {
        let mut parts: Vec<&str> = Vec::new();
        let relative = match module.strip_prefix("@/") {
            Some(rest) => {
                parts.extend(SOURCE.trim_end_matches('/').split('/'));
                rest
            }
            None if module.starts_with('.') => {
                parts.extend(file.split('/'));
                parts.pop();
                module
            }
            None => return None,
        };
        for part in relative.split('/') {
            match part {
                "." => (),
                ".." => {
                    parts.pop();
                }
                other => parts.push(other),
            }
        }
        let path = parts.join("/");
        let forms = [format!("{path}.ts"), format!("{path}.tsx"), format!("{path}/index.ts"), path];
        forms.into_iter().find(|it| self.scripts.contains_key(it))
    }
}
