//! Erasing a person, from everything of the area that names them.

mod routes;

use crate::PeopleArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<PeopleArea>) {}
