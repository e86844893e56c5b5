//! Mounts the endpoints and channels of the contract, each on the context of its
//! area. One without a handler does not compile: "`People: Handle<CreateProject>`
//! is not satisfied".

use std::{pin::Pin, sync::Arc};

use axum::{
    Router,
    body::Body,
    response::Response,
    routing::{MethodFilter, on},
};
use contract::{Channel, Code, Endpoint, Verb};

use super::{
    Handle, ProblemBuilder,
    admit::Arrival,
    channel::{Converse, upgrade},
    failure, gates,
};
use crate::{Area, Platform};

type Reply = Pin<Box<dyn Future<Output = Response> + Send>>;

/// The router with one more endpoint.
pub fn mount<E: Endpoint, A: Area + Handle<E>>(router: Router, area: Arc<A>) -> Router {
    let filter = match E::INFO.verb {
        Verb::GET => MethodFilter::GET,
        Verb::POST => MethodFilter::POST,
        Verb::PUT => MethodFilter::PUT,
        Verb::PATCH => MethodFilter::PATCH,
        Verb::DELETE => MethodFilter::DELETE,
    };
    // One function-pointer type for all endpoints of an area keeps axum's generics from
    // being compiled once per endpoint.
    let serve: fn(Arc<A>, http::Request<Body>) -> Reply = |area, request| Box::pin(gates::serve::<E, A>(area, request));
    router.route(E::INFO.path, on(filter, move |request: http::Request<Body>| serve(area.clone(), request)))
}

/// The router with one more channel.
pub fn open<C: Channel, A: Area + Converse<C>>(router: Router, area: Arc<A>) -> Router {
    let serve: fn(Arc<A>, http::Request<Body>) -> Reply = |area, request| Box::pin(upgrade::<C, A>(area, request));
    router.route(C::INFO.path, on(MethodFilter::GET, move |request: http::Request<Body>| serve(area.clone(), request)))
}

/// Answers a request that no endpoint takes.
pub fn refuse(platform: &Platform, request: http::Request<Body>, code: Code, detail: &'static str) -> Response {
    let (parts, _) = request.into_parts();
    let arrival = Arrival::new(platform, &parts);
    failure::render(ProblemBuilder::new(code, detail), &arrival.correlation_id)
}
