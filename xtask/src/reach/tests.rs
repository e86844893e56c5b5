use super::*;

const NOUNS: &str = "nouns! {\n    #[command(subcommand)]\n    Notes(notes::Notes),\n    Sum(sum::Sum),\n}\n";

/// Verbs that name an endpoint themselves, through a function of the file,
/// through one of another file that calls itself too, and not at all.
const NOTES: &str = r#"
use crate::shared;

#[derive(Debug, Subcommand)]
pub enum Notes {
    /// Make one
    Create(Box<Create>),
    List { all: bool },
    #[command(subcommand)]
    Pages(Pages),
    MarkRead { id: String },
}

#[derive(Debug, Subcommand)]
pub enum Pages {
    Get,
}

impl Notes {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Notes::Create(it) => it.run(context).await,
            Notes::List { all } if all == true => context.list::<ListNotes>().await,
            Notes::List { .. } => (),
            Notes::Pages(it) => it.run(context).await,
            Notes::MarkRead { id } => mark(context, id).await,
        };
        context.ask::<CountNotes>(answer).await
    }
}

impl Create {
    async fn run(self, context: &Context) -> Done {
        context.create::<CreateNote>().await
    }
}

impl Pages {
    async fn run(self, context: &Context) -> Done {
        let Pages::Get = self;
        shared::page(context).await
    }
}

async fn mark(context: &Context, id: String) -> Done {
    // context.ask::<DeleteNote>(id)
    context.send::<MarkNote>(id).await
}

#[derive(Debug, Args)]
pub struct Create {
    text: String,
}
"#;

const SHARED: &str = r#"
pub async fn page(context: &Context) -> Done {
    context.ask::<GetPage>(page(context).await).await
}

async fn nobody_calls_it(context: &Context) -> Done {
    context.ask::<DeleteNote>(()).await
}

#[cfg(test)]
mod tests {
    fn f() {
        ask::<DeleteNote>();
    }
}
"#;

const SUM: &str = r#"
#[derive(Debug, Args)]
pub struct Sum {
    other: Option<Other>,
}

#[derive(Debug, Subcommand)]
pub enum Other {
    Export { month: Month },
}

impl Sum {
    pub async fn run(self, context: &Context) -> Done {
        if let Some(Other::Export { month }) = self.other {
            return context.ask::<ExportSum>(month).await;
        }
        context.ask::<GetSum>(()).await
    }
}
"#;

fn files() -> Vec<File> {
    [
        ("crates/cli/src/nouns/mod.rs", NOUNS),
        ("crates/cli/src/nouns/notes.rs", NOTES),
        ("crates/cli/src/nouns/sum.rs", SUM),
        ("crates/cli/src/shared.rs", SHARED),
        (
            "console/src/router.tsx",
            "import { Shell } from './shell/Shell';\n\n\
             const inside = createRoute({ component: Shell });\n\n\
             const views = [\n  view('/o/$org/notes', () => import('./pages/Notes'), 'Notes'),\n  \
             view('/o/$org/notes/$note', () => import('./pages/Note'), 'Note'),\n];\n",
        ),
        (
            "console/src/api/notes.ts",
            "import { api } from './client';\n\n\
             export const notesQuery = () =>\n  ask(\n    api.GET('/v1/notes', { params: {} }),\n  );\n\n\
             export const unusedQuery = () => api.GET('/v1/sum');\n",
        ),
        (
            "console/src/pages/Notes.tsx",
            "import { notesQuery as query } from '@/api/notes';\n\n\
             export function Notes() {\n  return <List of={query()} />;\n}\n",
        ),
        (
            "console/src/pages/Note.tsx",
            "import { notesQuery } from '../api/notes';\n\n\
             export function Note() {\n  return <Mark />;\n}\n\n\
             function Mark() {\n  act(() => api.POST('/v1/notes/{note_id}/mark', notesQuery()));\n}\n",
        ),
        ("console/src/shell/Shell.tsx", "export function Shell() {\n  new WebSocket(`/v1/notes/${id}/watch`);\n}\n"),
    ]
    .map(|(path, text)| File::new(path, text))
    .into()
}

fn operation(name: &'static str, verb: &'static str, path: &'static str) -> Operation {
    Operation { name, verb, path, is_channel: name == "WatchNote" }
}

fn reached(face: usize, operation: Operation) -> String {
    let all = [operation];
    faces(&files(), &all).unwrap()[face].reached(all[0].name).join(" ")
}

#[test]
fn a_verb_reaches_what_it_calls_however_far_away() {
    for (name, command) in [
        ("CreateNote", "`gpuaas notes create`"),
        ("ListNotes", "`gpuaas notes list`"),
        ("MarkNote", "`gpuaas notes mark-read`"),
        ("GetPage", "`gpuaas notes pages get`"),
        ("CountNotes", "`gpuaas notes`"),
        ("GetSum", "`gpuaas sum`"),
        ("ExportSum", "`gpuaas sum export`"),
        ("DeleteNote", ""),
    ] {
        assert_eq!(reached(0, operation(name, "GET", "/v1/x")), command, "{name}");
    }
}

#[test]
fn a_page_reaches_what_it_calls_however_far_away() {
    for (name, verb, path, pages) in [
        ("ListNotes", "GET", "/v1/notes", "`/o/$org/notes` `/o/$org/notes/$note`"),
        ("CreateNote", "POST", "/v1/notes", ""),
        ("MarkNote", "POST", "/v1/notes/{note_id}/mark", "`/o/$org/notes/$note`"),
        ("WatchNote", "GET", "/v1/notes/{note_id}/watch", "every page"),
        ("GetSum", "GET", "/v1/sum", ""),
    ] {
        assert_eq!(reached(1, operation(name, verb, path)), pages, "{name}");
    }
}

/// What is said about two endpoints, of which a command reaches the first and a page both.
fn said(reasons: &str) -> Vec<(usize, String)> {
    let mut files = files();
    files.push(File::new(REASONS, reasons));
    let all = [operation("ListNotes", "GET", "/v1/notes"), operation("DeleteNote", "POST", "/v1/notes/{note_id}/mark")];
    gaps_among(&files, &all).into_iter().map(|it| (it.line, it.advice)).collect()
}

#[test]
fn an_endpoint_without_command_and_reason_is_found() {
    let found = said("");
    assert_eq!(found.len(), 1, "{found:?}");
    let wanted = "no command reaches DeleteNote (POST /v1/notes/{note_id}/mark); add a verb";
    assert!(found[0].1.starts_with(wanted), "{found:?}");
    assert_eq!(said("[command.programs-only]\nDeleteNote = \"a reason\"\n"), []);
}

#[test]
fn a_reason_that_is_not_needed_is_found_at_its_line() {
    let reasons = |more: &str| format!("[command.not-yet]\nDeleteNote = \"a reason\"\n{more}");
    for (more, line, advice) in [
        ("ListNotes = \"x\"\n", 3, "ListNotes is reached now: `gpuaas notes list`; delete this line"),
        ("Gone = \"x\"\n", 3, "the contract has no operation Gone; delete this line"),
        (
            "[console.not-yet]\nDeleteNote = \"x\"\n",
            4,
            "DeleteNote is reached now: `/o/$org/notes/$note`; delete this line",
        ),
        ("[command.other]\nDeleteNote = \"x\"\n", 2, "DeleteNote has two reasons; delete one of them"),
    ] {
        assert_eq!(said(&reasons(more)), [(line, advice.to_owned())]);
    }
    assert_eq!(
        said("[command.other]\nDeleteNote = \" \"\n")[0].1,
        "DeleteNote has no reason; say why it is not reached"
    );
    assert!(said("[command]\nDeleteNote = \"no group\"\n")[0].1.contains("[command] cannot be read"));
    assert!(said("nothing")[0].1.starts_with("cannot be read"));
}

#[test]
fn the_page_shows_ways_and_reasons() {
    let mut files = files();
    files.push(File::new(REASONS, "[command.programs-only]\nDeleteNote = \"a reason\"\n"));
    let all = [operation("ListNotes", "GET", "/v1/notes"), operation("DeleteNote", "DELETE", "/v1/notes/{note_id}")];
    let page = page::write(&all, &faces(&files, &all).unwrap());
    for line in [
        "Of 2 endpoints 1 have a command and 1 a page.",
        "| GET `/v1/notes` | ListNotes | `gpuaas notes list` | `/o/$org/notes`, `/o/$org/notes/$note` |",
        "| DELETE `/v1/notes/{note_id}` | DeleteNote | – | – |",
        "### Programs only",
        "| DELETE `/v1/notes/{note_id}` | DeleteNote | a reason |",
        "| DELETE `/v1/notes/{note_id}` | DeleteNote | **missing** |",
    ] {
        assert!(page.lines().any(|it| it == line), "{line}\n{page}");
    }
}
