//! How many recordings are read at once, in all, for each organization and for each
//! caller: each is a piece in memory for as long as its reader takes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use contract::{Code, id::OrganizationId};

use platform::http::ProblemBuilder;

// bound: downloads at once in one process; each holds a piece, some megabytes at most
const MOST: usize = 32;
// bound: downloads at once of one organization, whoever of it asks
const PER_ORGANIZATION: usize = 8;
// bound: downloads at once of one caller
const PER_CALLER: usize = 4;
// bound: how soon one more may be tried
const RETRY: Duration = Duration::from_secs(5);

/// Those under way, by who asked for them, and of which organization.
#[derive(Clone, Default)]
pub struct Downloads(Arc<Mutex<HashMap<Reader, usize>>>);

type Reader = (String, Option<OrganizationId>);

/// A download under way, until it is dropped.
pub struct Turn {
    downloads: Downloads,
    reader: Reader,
}

impl Downloads {
    /// A turn for a caller: one of an organization's, or of the platform's staff.
    pub fn take(&self, caller: &str, organization: Option<OrganizationId>) -> Result<Turn, ProblemBuilder> {
        let mut running = self.0.lock().expect("no code panics while it holds this lock");
        let refused = |detail: String| ProblemBuilder::new(Code::TooManyRequests, detail).after(RETRY);
        let count = |wanted: &dyn Fn(&Reader) -> bool| -> usize {
            running.iter().filter(|(reader, _)| wanted(reader)).map(|(_, count)| count).sum()
        };
        if count(&|(it, _)| it == caller) >= PER_CALLER {
            return Err(refused(format!(
                "you are already reading {PER_CALLER} recordings; finish or cancel one first"
            )));
        }
        if organization.is_some() && count(&|(_, it)| *it == organization) >= PER_ORGANIZATION {
            let detail = format!("{PER_ORGANIZATION} recordings of the organization are being read; try again later");
            return Err(refused(detail));
        }
        if count(&|_| true) >= MOST {
            return Err(refused(format!("{MOST} recordings are already being read; try again later")));
        }
        let reader = (caller.to_owned(), organization);
        *running.entry(reader.clone()).or_default() += 1;
        Ok(Turn { downloads: self.clone(), reader })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut running = self.downloads.0.lock().expect("no code panics while it holds this lock");
        if let Some(count) = running.get_mut(&self.reader) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.reader);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_are_bounded_for_each_caller_organization_and_in_all() {
        let downloads = Downloads::default();
        let mut turns: Vec<Turn> = (0..PER_CALLER).map(|_| downloads.take("user:a", None).unwrap()).collect();
        let refused = downloads.take("user:a", None).err().unwrap();
        assert_eq!((refused.code, refused.retry_after), (Code::TooManyRequests, Some(RETRY)));
        let own = Some(OrganizationId::generate());
        turns.extend((0..PER_ORGANIZATION).map(|nth| downloads.take(&format!("service_account:{nth}"), own).unwrap()));
        assert!(downloads.take("service_account:more", own).is_err(), "one organization leaves room for others");
        turns.extend((turns.len()..MOST).map(|nth| downloads.take(&format!("user:{nth}"), None).unwrap()));
        assert!(downloads.take("user:b", None).is_err(), "the process has no room");
        turns.remove(0);
        turns.push(downloads.take("user:a", None).unwrap());
        drop(turns);
        assert!(downloads.0.lock().unwrap().is_empty(), "nobody is remembered");
    }
}
