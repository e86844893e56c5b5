//! The outside world behind small faces.

pub mod maas;
pub mod nats;
pub mod redis_limits;
