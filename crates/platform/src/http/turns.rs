//! One running request per idempotency key and process. Repetitions wait here,
//! bounded and without a database connection, so they cannot exhaust the pool.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use contract::Code;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ProblemBuilder;

pub type TurnKey = (String, &'static str, String);

#[derive(Clone, Default)]
pub struct Turns(Arc<Mutex<HashMap<TurnKey, Line>>>);

#[derive(Clone)]
struct Line {
    gate: Arc<Semaphore>,
    people: usize,
}

/// Held while the request runs; the next in line goes on when it is dropped.
pub struct Turn {
    turns: Turns,
    key: TurnKey,
    _permit: OwnedSemaphorePermit,
}

// bound: how soon a repetition that found the line full may try again
const FULL_RETRY: Duration = Duration::from_secs(1);

impl Turns {
    pub async fn wait(&self, key: TurnKey, most: usize) -> Result<Turn, ProblemBuilder> {
        let gate = self.join(&key, most)?;
        let place = QueuePosition { turns: self, key: Some(key) };
        let permit = gate.acquire_owned().await.expect("the gate is never closed");
        Ok(Turn { turns: self.clone(), key: place.keep(), _permit: permit })
    }

    fn join(&self, key: &TurnKey, most: usize) -> Result<Arc<Semaphore>, ProblemBuilder> {
        let mut lines = self.0.lock().expect("no code panics while it holds this lock");
        let line = lines.entry(key.clone()).or_insert_with(|| Line { gate: Arc::new(Semaphore::new(1)), people: 0 });
        if line.people > most {
            let detail = "too many retries of this request are already waiting";
            return Err(ProblemBuilder::new(Code::InProgress, detail).after(FULL_RETRY));
        }
        line.people += 1;
        Ok(line.gate.clone())
    }

    fn leave(&self, key: &TurnKey) {
        let mut lines = self.0.lock().expect("no code panics while it holds this lock");
        if let Some(line) = lines.get_mut(key) {
            line.people -= 1;
            if line.people == 0 {
                lines.remove(key);
            }
        }
    }
}

/// A place in line that is given up if the wait is.
struct QueuePosition<'a> {
    turns: &'a Turns,
    key: Option<TurnKey>,
}

impl QueuePosition<'_> {
    fn keep(mut self) -> TurnKey {
        self.key.take().expect("taken only here")
    }
}

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.turns.leave(key);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.leave(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> TurnKey {
        ("user:1".into(), "CreateProject", "k".into())
    }

    #[tokio::test]
    async fn the_line_is_bounded_and_leaves_nothing_behind() {
        let turns = Turns::default();
        let first = turns.wait(key(), 1).await.unwrap();
        let waiting = tokio::spawn({
            let turns = turns.clone();
            async move { turns.wait(key(), 1).await.map(drop) }
        });
        while turns.0.lock().unwrap()[&key()].people < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(turns.wait(key(), 1).await.err().map(|it| it.code), Some(Code::InProgress));
        drop(first);
        waiting.await.unwrap().unwrap();
        assert!(turns.0.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_wait_that_is_given_up_frees_its_place() {
        let turns = Turns::default();
        let _first = turns.wait(key(), 8).await.unwrap();
        let waiting = turns.wait(key(), 8);
        assert!(tokio::time::timeout(Duration::from_millis(5), waiting).await.is_err());
        assert_eq!(turns.0.lock().unwrap()[&key()].people, 1);
    }
}
