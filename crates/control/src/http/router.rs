//! Mounts every endpoint and channel of the contract. One without a handler
//! does not compile: "`App: Handle<CreateProject>` is not satisfied".

use std::{pin::Pin, sync::Arc};

use axum::{
    Router,
    body::Body,
    response::Response,
    routing::{MethodFilter, on},
};
use contract::{Channel, Code, Endpoint, Verb};

use super::{
    Handle, Trouble,
    admit::Arrival,
    channel::{Converse, upgrade},
    failure, gates,
};
use crate::app::App;

type Reply = Pin<Box<dyn Future<Output = Response> + Send>>;

pub fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    macro_rules! mount_all {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint>(router, app.clone()); )* };
    }
    contract::for_each_endpoint!(mount_all);
    macro_rules! open_all {
        ($($channel:path),* $(,)?) => { $( router = open::<$channel>(router, app.clone()); )* };
    }
    contract::for_each_channel!(open_all);
    let strange = app.clone();
    let wrong_method = app.clone();
    let router = router.merge(crate::payments::intake::router(app.clone()));
    let router = router.merge(crate::notifications::unsubscribe::router(app.clone()));
    let sessions = crate::console::router(&app, &router);
    router
        .merge(sessions)
        .fallback(move |request: http::Request<Body>| show_or_refuse(strange.clone(), request))
        .method_not_allowed_fallback(move |request: http::Request<Body>| {
            refuse(wrong_method.clone(), request, Code::MethodNotAllowed, "this address does not take this method")
        })
}

fn mount<E: Endpoint>(router: Router, app: Arc<App>) -> Router
where
    App: Handle<E>,
{
    let filter = match E::INFO.verb {
        Verb::GET => MethodFilter::GET,
        Verb::POST => MethodFilter::POST,
        Verb::PUT => MethodFilter::PUT,
        Verb::PATCH => MethodFilter::PATCH,
        Verb::DELETE => MethodFilter::DELETE,
    };
    // One function-pointer type for all endpoints keeps axum's generics from
    // being compiled once per endpoint.
    let serve: fn(Arc<App>, http::Request<Body>) -> Reply = |app, request| Box::pin(gates::serve::<E>(app, request));
    router.route(E::INFO.path, on(filter, move |request: http::Request<Body>| serve(app.clone(), request)))
}

fn open<C: Channel>(router: Router, app: Arc<App>) -> Router
where
    App: Converse<C>,
{
    let serve: fn(Arc<App>, http::Request<Body>) -> Reply = |app, request| Box::pin(upgrade::<C>(app, request));
    router.route(C::INFO.path, on(MethodFilter::GET, move |request: http::Request<Body>| serve(app.clone(), request)))
}

/// What is no address of the API may be a page or a file of the console.
async fn show_or_refuse(app: Arc<App>, request: http::Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    if let Some(shown) = crate::console::serve(&app, &parts).await {
        return shown;
    }
    refuse(app, http::Request::from_parts(parts, body), Code::NotFound, "no such address").await
}

async fn refuse(app: Arc<App>, request: http::Request<Body>, code: Code, detail: &'static str) -> Response {
    let (parts, _) = request.into_parts();
    let arrival = Arrival::new(&app, &parts);
    failure::render(Trouble::new(code, detail), &arrival.correlation_id)
}
