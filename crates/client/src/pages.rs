//! Walking a list page by page.

use contract::{Endpoint, Nothing, Page, Payload};
use serde_json::Value;

use crate::{Client, ClientError, Request, request::unserializable};

/// An endpoint that answers with a page of items.
pub trait List: Endpoint<Path: Clone> {
    type Item: Payload;
    fn request(path: Self::Path, query: Self::Query) -> Request<Self>
    where
        Self: Sized;
    fn page(answer: Self::Response) -> Page<Self::Item>;
}

impl<E, T> List for E
where
    E: Endpoint<Path: Clone, Body = Nothing, Response = Page<T>>,
    T: Payload,
{
    type Item = T;
    fn request(path: E::Path, query: E::Query) -> Request<E> {
        Request::new(path, query, Nothing {})
    }
    fn page(answer: Page<T>) -> Page<T> {
        answer
    }
}

/// The pages of a list, asked for one at a time.
pub struct Pages<'a, E: List> {
    client: &'a Client,
    /// Absent after the last page.
    next: Option<Request<E>>,
}

impl<'a, E: List> Pages<'a, E> {
    pub(crate) fn new(client: &'a Client, path: E::Path, query: E::Query) -> Self {
        Self { client, next: Some(E::request(path, query)) }
    }

    /// The next page; `None` after the last. After an error the same page is asked for again.
    pub async fn next(&mut self) -> Result<Option<Vec<E::Item>>, ClientError> {
        let Some(request) = &self.next else {
            return Ok(None);
        };
        let page = E::page(self.client.send(request).await?);
        self.next = match page.next_cursor {
            Some(cursor) => {
                let query = at_cursor::<E>(&request.query, &cursor.to_string())?;
                Some(E::request(request.path.clone(), query))
            }
            None => None,
        };
        Ok(Some(page.items))
    }

    /// Items of as many pages as it takes to have `most` of them, or all there are.
    pub async fn take(mut self, most: usize) -> Result<Vec<E::Item>, ClientError> {
        let mut items = Vec::new();
        while items.len() < most {
            match self.next().await? {
                Some(page) => items.extend(page),
                None => break,
            }
        }
        items.truncate(most);
        Ok(items)
    }
}

/// Every list has a `cursor`, but their query types share nothing else; so
/// the cursor is set in the JSON form.
fn at_cursor<E: Endpoint>(query: &E::Query, cursor: &str) -> Result<E::Query, ClientError> {
    let mut fields = serde_json::to_value(query).map_err(unserializable)?;
    fields["cursor"] = Value::from(cursor);
    serde_json::from_value(fields).map_err(unserializable)
}
