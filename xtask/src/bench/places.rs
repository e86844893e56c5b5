//! Who asks, and where: callers with a key each, and organizations of their own
//! with projects in each, made straight in the database before measuring.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use contract::id::{OrganizationId, ProjectId, UserId};
use uuid::Uuid;

use super::pgbench::Database;

/// Callers of one round; also its connections.
pub const CALLERS: u64 = 64;
/// Organizations of each caller. Enough that none outgrows a usual limit of
/// projects within a round.
pub const PLACES: u64 = 8;

pub struct Fleet {
    /// Numbers of this fleet's organizations start here.
    pub first: u64,
    pub callers: Vec<Caller>,
}

#[derive(Clone)]
pub struct Caller {
    pub user: UserId,
    pub token: String,
    pub places: Vec<Place>,
}

#[derive(Clone, Copy)]
pub struct Place {
    pub organization: OrganizationId,
    pub project: ProjectId,
}

/// Fleets made so far in this process.
static FLEETS: AtomicU64 = AtomicU64::new(0);

impl Fleet {
    /// Makes a fleet that nobody has used, with so many projects in each organization.
    pub fn settle(database: &Database, projects: usize) -> Result<Self, String> {
        let fleet = Self::number(FLEETS.fetch_add(1, Ordering::Relaxed));
        database.execute(&fleet.statements(projects))?;
        Ok(fleet)
    }

    fn number(fleet: u64) -> Self {
        let caller = |number: u64| Caller {
            user: uuid(number).into(),
            token: format!("gpk_{number:043}"),
            places: (number * PLACES..(number + 1) * PLACES).map(place).collect(),
        };
        let callers = (fleet * CALLERS..(fleet + 1) * CALLERS).map(caller).collect();
        Self { first: fleet * CALLERS * PLACES, callers }
    }

    fn statements(&self, projects: usize) -> String {
        let mut text = String::from("BEGIN;\n");
        for caller in &self.callers {
            let (user, token) = (caller.user.uuid(), &caller.token);
            let lines = format!(
                "INSERT INTO users (id, email, name) VALUES ('{user}', 'bench-{user}@example.test', 'Bench');
                 INSERT INTO keys (id, hash, prefix, name, scopes, user_id, expires_at) VALUES
                   ('{user}', sha256('{token}'), 'gpk_', 'bench', '{{projects:read,projects:write}}', '{user}',
                    app_now() + interval '1 day');\n"
            );
            text.push_str(&lines);
            for place in &caller.places {
                let (organization, project) = (place.organization.uuid(), place.project.uuid());
                // Writing to a text cannot fail.
                let _ = writeln!(
                    text,
                    "INSERT INTO organizations (id, name, state) VALUES ('{organization}', 'Bench', 'active');
                     INSERT INTO memberships (organization_id, user_id, role) VALUES ('{organization}', '{user}', 'owner');
                     INSERT INTO projects (id, organization_id, name, state) VALUES
                       ('{project}', '{organization}', 'first', 'active');
                     INSERT INTO projects (id, organization_id, name, state)
                       SELECT gen_random_uuid(), '{organization}', 'project-' || n, 'active' FROM generate_series(2, {projects}) n;"
                );
            }
        }
        // Only what was filled: the planner treats a table that it has never looked
        // at as a growing one, and one that it saw empty as an empty one.
        text + "COMMIT;\nANALYZE users, keys, organizations, memberships, projects;\n"
    }
}

fn place(number: u64) -> Place {
    Place { organization: uuid(number).into(), project: uuid(number).into() }
}

/// The `write.sql` script computes the same from a number.
fn uuid(number: u64) -> Uuid {
    const PREFIX: u128 = 0x0000_0000_0000_7000_8000_0000_0000_0000;
    Uuid::from_u128(PREFIX + u128::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fleets_share_nothing() {
        let (first, second) = (Fleet::number(0), Fleet::number(1));
        assert_eq!(second.first, CALLERS * PLACES);
        let last = first.callers.last().unwrap();
        assert_ne!(last.token, second.callers[0].token);
        assert_eq!(last.places.last().unwrap().organization, uuid(second.first - 1).into());
        assert_eq!(second.callers[0].places[0].organization, uuid(second.first).into());
    }
}
