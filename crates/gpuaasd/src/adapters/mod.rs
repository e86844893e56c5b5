//! The outside world behind small faces.

pub mod configured;
pub mod maas;
pub mod mail_folder;
mod mail_form;
pub mod nats;
pub mod recording_folder;
pub mod redis_limits;
pub mod s3;
pub mod smtp;
pub mod stripe;
