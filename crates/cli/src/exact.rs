//! The same endpoints with their answers as plain JSON, so that what is
//! printed is what the server said, fields of newer versions included.

use std::marker::PhantomData;

use contract::{Endpoint, EndpointInfo, Page};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::{Class, Failure};

pub struct Exact<E>(PhantomData<E>);

impl<E: Endpoint> Endpoint for Exact<E> {
    const INFO: EndpointInfo = E::INFO;
    type Path = E::Path;
    type Query = E::Query;
    type Body = E::Body;
    type Response = Value;
}

/// As [`Exact`], for an endpoint that answers with a page.
pub struct ExactList<E>(PhantomData<E>);

impl<E: Endpoint> Endpoint for ExactList<E> {
    const INFO: EndpointInfo = E::INFO;
    type Path = E::Path;
    type Query = E::Query;
    type Body = E::Body;
    type Response = Page<Value>;
}

/// Reads an exact answer as the contract describes it.
pub fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, Failure> {
    T::deserialize(answer).map_err(|error| {
        Failure::new(
            Class::Server,
            format!("cannot read the response: {error}"),
            "The server version may differ from this program. Use -o json to see the raw response.",
        )
    })
}
