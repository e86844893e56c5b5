//! Corrections: what staff change in an organization's books by hand. Where
//! policy asks for four eyes, one person proposes and another one posts.

mod carry_out;
mod routes;

use platform::registry::Registry;

use crate::MoneyArea;

pub fn register(_: &mut Registry<MoneyArea>) {}
