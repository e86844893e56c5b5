//! What each kind of thing in a stack can do, and what follows from what is
//! found of it. Nothing is done on what a plan saw: it is looked at again first.

use super::{
    plan::{Action, Difference},
    world::World,
};
use crate::failure::{Class, Failure};

/// One kind of thing that a stack can hold.
pub trait Kind {
    /// What is needed to change or remove one that is there.
    type Handle;
    /// Whether one that was removed leaves nothing to be seen, so that only
    /// looking tells a repeated answer from a new one.
    const LEAVES_NO_TRACE: bool = false;

    async fn look(&self, world: &World<'_>) -> Result<Lookup<Self::Handle>, Failure>;
    /// Makes it. The same `salt` means the same creation.
    async fn create(&self, world: &World<'_>, salt: &str) -> Result<Creation, Failure>;
    /// Makes it as the stack says, as far as that is possible in place.
    async fn change(&self, world: &World<'_>, handle: Self::Handle) -> Result<(), Failure>;
    async fn remove(&self, world: &World<'_>, handle: Self::Handle) -> Result<(), Failure>;
}

/// What there is of a thing.
pub enum Lookup<H> {
    Absent {
        /// What was there last, so that making it again is a new creation.
        after: String,
    },
    Present {
        handle: H,
        differences: Vec<Difference>,
        /// Something good to know.
        note: Option<String>,
        /// Whether it can be removed, and what is said of that.
        removal: Removal,
    },
    /// It can neither be made nor changed, and a sentence says why.
    InTheWay(String),
}

pub enum Removal {
    Plain,
    /// It takes more along than itself.
    Also(String),
    /// It stays where it is.
    Never(&'static str),
}

impl<H> Lookup<H> {
    pub fn absent() -> Self {
        Lookup::Absent { after: String::new() }
    }

    pub fn present(handle: H, differences: Vec<Difference>) -> Self {
        Lookup::Present { handle, differences, note: None, removal: Removal::Plain }
    }
}

/// What a creation answered.
#[derive(Debug, Default)]
pub struct Creation {
    pub id: String,
    /// Shown once.
    pub secret: Option<String>,
}

/// What a command wants of the things of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    Apply {
        /// What cannot be changed in place may be removed and made again.
        replace: bool,
    },
    Delete,
}

/// What is to be done, and what to say about it.
#[derive(Debug, PartialEq)]
pub struct Verdict {
    pub action: Action,
    pub differences: Vec<Difference>,
    pub note: Option<String>,
}

/// What follows from what was found. Pure.
pub fn decide<H>(found: &Lookup<H>, aim: Aim) -> Verdict {
    let plain = |action| Verdict { action, differences: Vec::new(), note: None };
    match (found, aim) {
        (Lookup::Absent { .. }, Aim::Apply { .. }) => plain(Action::Create),
        (Lookup::Absent { .. }, Aim::Delete) => plain(Action::Keep),
        (Lookup::InTheWay(why), Aim::Apply { .. }) => Verdict { note: Some(why.clone()), ..plain(Action::Refuse) },
        (Lookup::InTheWay(why), Aim::Delete) => Verdict { note: Some(why.clone()), ..plain(Action::Keep) },
        (Lookup::Present { removal, .. }, Aim::Delete) => match removal {
            Removal::Plain => plain(Action::Remove),
            Removal::Also(what) => Verdict { note: Some(what.clone()), ..plain(Action::Remove) },
            Removal::Never(why) => Verdict { note: Some((*why).into()), ..plain(Action::Keep) },
        },
        (Lookup::Present { differences, note, removal, .. }, Aim::Apply { replace }) => {
            let differences = differences.clone();
            let (action, said) = match (differences.iter().all(|it| it.in_place), removal) {
                _ if differences.is_empty() => (Action::Keep, None),
                (true, _) => (Action::Change, None),
                (false, Removal::Never(why)) => (Action::Refuse, Some((*why).to_owned())),
                (false, _) if replace => (Action::Replace, Some("will be deleted and recreated".into())),
                (false, _) => (
                    Action::Refuse,
                    Some("cannot be updated in place; pass --replace to delete and recreate it".into()),
                ),
            };
            Verdict { action, differences, note: said.or_else(|| note.clone()) }
        }
    }
}

/// How carrying out a step ended.
pub enum Outcome {
    Done(Creation),
    /// Somebody else did it meanwhile.
    Already,
}

// bound: how often something may have been made and removed within the time that answers are kept
const MOST_ANSWERS_KEPT: usize = 32;

pub async fn carry_out<K: Kind>(kind: &K, world: &World<'_>, planned: Action) -> Result<Outcome, Failure> {
    let found = kind.look(world).await?;
    let now = decide(&found, world.aim).action;
    if now == Action::Keep {
        return Ok(Outcome::Already);
    }
    if now != planned {
        return Err(Failure::new(
            Class::Conflict,
            format!("it changed since the plan was made ({} instead of {})", now.verb(), planned.verb()),
            "Run the command again and review the new plan.",
        ));
    }
    match (now, found) {
        (Action::Create, Lookup::Absent { after }) => create(kind, world, &after).await,
        (Action::Change, Lookup::Present { handle, .. }) => {
            kind.change(world, handle).await.map(|()| Outcome::Done(Creation::default()))
        }
        (Action::Remove, Lookup::Present { handle, .. }) => {
            kind.remove(world, handle).await.map(|()| Outcome::Done(Creation::default()))
        }
        (Action::Replace, Lookup::Present { handle, .. }) => {
            kind.remove(world, handle).await?;
            match kind.look(world).await? {
                Lookup::Absent { after } => create(kind, world, &after).await,
                Lookup::Present { .. } | Lookup::InTheWay(_) => Err(Failure::new(
                    Class::Conflict,
                    "the old resource was deleted, and another one took its place",
                    "Run the command again and review the new plan.",
                )),
            }
        }
        _ => unreachable!("what is decided follows from what was found"),
    }
}

async fn create<K: Kind>(kind: &K, world: &World<'_>, after: &str) -> Result<Outcome, Failure> {
    for attempt in 0..MOST_ANSWERS_KEPT {
        let made = match kind.create(world, &format!("{after}/{attempt}")).await {
            Ok(made) => made,
            // Somebody else may have made the same thing in this moment.
            Err(failure) if failure.class == Class::Conflict => {
                let now = decide(&kind.look(world).await?, Aim::Apply { replace: false });
                return if now.action == Action::Keep { Ok(Outcome::Already) } else { Err(failure) };
            }
            Err(failure) => return Err(failure),
        };
        if !K::LEAVES_NO_TRACE || !matches!(kind.look(world).await?, Lookup::Absent { .. }) {
            return Ok(Outcome::Done(made));
        }
    }
    Err(Failure::new(
        Class::Conflict,
        format!(
            "it was created and deleted {MOST_ANSWERS_KEPT} times recently, and the server still caches those responses"
        ),
        "Create it with its own command, or try again tomorrow.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(differences: Vec<Difference>, removal: Removal) -> Lookup<()> {
        Lookup::Present { handle: (), differences, note: Some("note".into()), removal }
    }

    fn differs(in_place: bool) -> Vec<Difference> {
        vec![Difference { field: "gpus".into(), before: "1".into(), after: "2".into(), in_place }]
    }

    #[test]
    fn plan_action_follows_from_the_resource_found() {
        let apply = Aim::Apply { replace: false };
        let action = |found: Lookup<()>, aim| decide(&found, aim).action;
        assert_eq!(action(Lookup::absent(), apply), Action::Create);
        assert_eq!(action(Lookup::absent(), Aim::Delete), Action::Keep);
        assert_eq!(action(present(vec![], Removal::Plain), apply), Action::Keep);
        assert_eq!(action(present(vec![], Removal::Plain), Aim::Delete), Action::Remove);
        assert_eq!(action(present(differs(true), Removal::Plain), apply), Action::Change);
        assert_eq!(action(present(differs(false), Removal::Plain), apply), Action::Refuse);
        assert_eq!(action(present(differs(false), Removal::Plain), Aim::Apply { replace: true }), Action::Replace);
        assert_eq!(action(Lookup::InTheWay("x".into()), Aim::Apply { replace: true }), Action::Refuse);
        assert_eq!(action(Lookup::InTheWay("x".into()), Aim::Delete), Action::Keep);
    }

    #[test]
    fn permanent_resources_are_never_replaced() {
        let found = || present(differs(false), Removal::Never("stays"));
        let verdict = decide(&found(), Aim::Apply { replace: true });
        assert_eq!((verdict.action, verdict.note.as_deref()), (Action::Refuse, Some("stays")));
        assert_eq!(decide(&found(), Aim::Delete).action, Action::Keep);
    }
}
