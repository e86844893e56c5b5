//! The outside world behind small faces.

pub mod maas;
pub mod mail_folder;
mod mail_form;
pub mod nats;
pub mod redis_limits;
pub mod smtp;
pub mod stripe;
