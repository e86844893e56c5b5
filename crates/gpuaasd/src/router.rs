//! Every address of the API, each mounted on the context of its area.

use std::sync::Arc;

use axum::{Router, body::Body, response::Response};
use contract::Code;
use money::payments;
use people::notifications;
use platform::http::{mount, open, refuse};

use crate::{app::App, console};

pub fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    macro_rules! mount_platform {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, app.platform.clone()); )* };
    }
    macro_rules! mount_people {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, app.people.clone()); )* };
    }
    macro_rules! mount_fleet {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, app.fleet.clone()); )* };
    }
    macro_rules! mount_money {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, app.money.clone()); )* };
    }
    macro_rules! mount_compute {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, app.compute.clone()); )* };
    }
    macro_rules! mount_access {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, app.access.clone()); )* };
    }
    macro_rules! open_platform {
        ($($channel:path),* $(,)?) => { $( router = open::<$channel, _>(router, app.platform.clone()); )* };
    }
    macro_rules! open_people {
        ($($channel:path),* $(,)?) => { $( router = open::<$channel, _>(router, app.people.clone()); )* };
    }
    contract::platform_endpoints!(mount_platform);
    contract::people_endpoints!(mount_people);
    contract::fleet_endpoints!(mount_fleet);
    contract::money_endpoints!(mount_money);
    contract::compute_endpoints!(mount_compute);
    contract::access_endpoints!(mount_access);
    contract::platform_channels!(open_platform);
    contract::people_channels!(open_people);
    let router = router
        .merge(payments::intake::router(app.money.clone()))
        .merge(notifications::unsubscribe::router(app.people.clone()));
    let sessions = console::router(&app, &router);
    let wrong_method = app.clone();
    router
        .merge(sessions)
        .fallback(move |request: http::Request<Body>| show_or_refuse(app.clone(), request))
        .method_not_allowed_fallback(move |request: http::Request<Body>| {
            let app = wrong_method.clone();
            async move { refuse(&app, request, Code::MethodNotAllowed, "this address does not take this method") }
        })
}

/// What is no address of the API may be a page or a file of the console.
async fn show_or_refuse(app: Arc<App>, request: http::Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    if let Some(shown) = console::serve(&app, &parts).await {
        return shown;
    }
    refuse(&app, http::Request::from_parts(parts, body), Code::NotFound, "no such address")
}
