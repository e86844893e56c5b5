//! The lists that drive everything: mounting, documents, client and sweeps.
//! A new endpoint or channel is added to the list of its area, a new event to
//! `events.rs`, and nowhere else.

mod access;
mod compute;
mod events;
mod fleet;
mod money;
mod people;
mod platform;

/// Calls `$callback!(A, B, …)` with every endpoint of the API.
#[macro_export]
macro_rules! for_each_endpoint {
    ($callback:ident) => {
        $crate::platform_endpoints! { @join $callback [] people_endpoints fleet_endpoints money_endpoints compute_endpoints access_endpoints }
    };
}

/// Calls `$callback!(A, B, …)` with every channel of the API.
#[macro_export]
macro_rules! for_each_channel {
    ($callback:ident) => {
        $crate::platform_channels! { @join $callback [] people_channels }
    };
}

/// How the lists of the areas become one: each list adds its items to those
/// before and hands them to the list after it, the last one to the callback.
#[doc(hidden)]
#[macro_export]
macro_rules! hand_over {
    ([$callback:ident] $($item:tt)*) => { $callback! { $($item)* } };
    ([@join $callback:ident [$($known:tt)*]] $($item:tt)*) => { $callback! { $($known)* $($item)* } };
    ([@join $callback:ident [$($known:tt)*] $next:ident $($after:ident)*] $($item:tt)*) => {
        $crate::$next! { @join $callback [$($known)* $($item)*] $($after)* }
    };
}
