//! Every address of the API, each mounted on the context of its area.

use std::sync::Arc;

use axum::{Router, body::Body, response::Response};
use contract::Code;
use money::payments;
use people::notifications;
use platform::http::{mount, open, refuse};

use crate::{console, control_plane::ControlPlane};

pub fn router(control_plane: Arc<ControlPlane>) -> Router {
    let mut router = Router::new();
    macro_rules! mount_platform {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, control_plane.platform.clone()); )* };
    }
    macro_rules! mount_people {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, control_plane.people.clone()); )* };
    }
    macro_rules! mount_fleet {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, control_plane.fleet.clone()); )* };
    }
    macro_rules! mount_money {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, control_plane.money.clone()); )* };
    }
    macro_rules! mount_compute {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, control_plane.compute.clone()); )* };
    }
    macro_rules! mount_access {
        ($($endpoint:path),* $(,)?) => { $( router = mount::<$endpoint, _>(router, control_plane.access.clone()); )* };
    }
    macro_rules! open_platform {
        ($($channel:path),* $(,)?) => { $( router = open::<$channel, _>(router, control_plane.platform.clone()); )* };
    }
    macro_rules! open_people {
        ($($channel:path),* $(,)?) => { $( router = open::<$channel, _>(router, control_plane.people.clone()); )* };
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
        .merge(payments::intake::router(control_plane.money.clone()))
        .merge(notifications::unsubscribe::router(control_plane.people.clone()));
    let sessions = console::router(&control_plane, &router);
    let wrong_method = control_plane.clone();
    router
        .merge(sessions)
        .fallback(move |request: http::Request<Body>| show_or_refuse(control_plane.clone(), request))
        .method_not_allowed_fallback(move |request: http::Request<Body>| {
            let control_plane = wrong_method.clone();
            async move { refuse(&control_plane, request, Code::MethodNotAllowed, "the method is not allowed for this URL") }
        })
}

/// What is no address of the API may be a page or a file of the console.
async fn show_or_refuse(control_plane: Arc<ControlPlane>, request: http::Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    if let Some(shown) = console::serve(&control_plane, &parts).await {
        return shown;
    }
    refuse(&control_plane, http::Request::from_parts(parts, body), Code::NotFound, "no such URL")
}
