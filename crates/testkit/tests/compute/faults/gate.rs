//! Holds up a transaction at a named step, so that its process can be killed there.

use sqlx::{AssertSqlSafe, PgConnection};
use testkit::{Database, server::eventually};

/// A step of the control plane: its name, and the trigger that meets it.
pub struct Step {
    pub name: &'static str,
    pub when: &'static str,
}

pub const PROVISION: &[Step] = &[
    Step { name: "request", when: "BEFORE INSERT ON allocations FOR EACH ROW" },
    Step {
        name: "reserve",
        when: "BEFORE UPDATE ON slots FOR EACH ROW WHEN (OLD.held_by IS NULL AND NEW.held_by IS NOT NULL)",
    },
    Step {
        name: "place",
        when: "BEFORE UPDATE ON allocations FOR EACH ROW WHEN (OLD.state = 'requested' AND NEW.state = 'provisioning')",
    },
    Step { name: "order", when: "BEFORE INSERT ON tasks FOR EACH ROW WHEN (NEW.verb = 'ensure_allocation')" },
    Step {
        name: "deliver",
        when: "BEFORE UPDATE ON tasks FOR EACH ROW
               WHEN (NEW.verb = 'ensure_allocation' AND OLD.delivered_at IS NULL AND NEW.delivered_at IS NOT NULL)",
    },
    Step {
        name: "report",
        when: "BEFORE UPDATE ON tasks FOR EACH ROW
               WHEN (NEW.verb = 'ensure_allocation' AND OLD.reported_at IS NULL AND NEW.reported_at IS NOT NULL)",
    },
    Step {
        name: "prove",
        when: "BEFORE UPDATE ON allocations FOR EACH ROW WHEN (OLD.state = 'provisioning' AND NEW.state = 'active')",
    },
];

pub const RELEASE: &[Step] = &[
    Step {
        name: "release",
        when: "BEFORE UPDATE ON allocations FOR EACH ROW WHEN (OLD.state = 'active' AND NEW.state = 'releasing')",
    },
    Step { name: "order", when: "BEFORE INSERT ON tasks FOR EACH ROW WHEN (NEW.verb = 'ensure_gone')" },
    Step {
        name: "deliver",
        when: "BEFORE UPDATE ON tasks FOR EACH ROW
               WHEN (NEW.verb = 'ensure_gone' AND OLD.delivered_at IS NULL AND NEW.delivered_at IS NOT NULL)",
    },
    Step {
        name: "report",
        when: "BEFORE UPDATE ON tasks FOR EACH ROW
               WHEN (NEW.verb = 'ensure_gone' AND OLD.reported_at IS NULL AND NEW.reported_at IS NOT NULL)",
    },
    Step {
        name: "clean",
        when: "BEFORE UPDATE ON slots FOR EACH ROW WHEN (OLD.held_by IS NOT NULL AND NEW.held_by IS NULL)",
    },
    Step {
        name: "end",
        when: "BEFORE UPDATE ON allocations FOR EACH ROW WHEN (OLD.state = 'releasing' AND NEW.state = 'released')",
    },
];

const LOCK: i64 = 774_411;
const WAITING: &str = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 774411 AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Closed from the moment it is made.
pub struct Gate {
    above: PgConnection,
}

impl Gate {
    pub async fn close(database: &Database, step: &Step) -> Gate {
        let mut above = database.superuser().await;
        sqlx::query("SELECT pg_advisory_lock($1)").bind(LOCK).execute(&mut above).await.unwrap();
        let statement = format!(
            "CREATE OR REPLACE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN PERFORM pg_advisory_xact_lock({LOCK}); RETURN NEW; END $$;
             CREATE TRIGGER hold_up {} EXECUTE FUNCTION hold_up()",
            step.when
        );
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut above).await.unwrap();
        Gate { above }
    }

    /// Waits until a transaction stands at the gate.
    pub async fn is_met(&mut self, database: &Database) {
        eventually("somebody at the gate", || async {
            let mut above = database.superuser().await;
            let waiting: Vec<i32> = sqlx::query_scalar(WAITING).fetch_all(&mut above).await.unwrap();
            !waiting.is_empty()
        })
        .await;
    }

    /// Ends who stands there, whose process is dead, and takes the gate away.
    pub async fn open(mut self) {
        let ended = format!("SELECT pg_terminate_backend(pid) FROM ({WAITING}) AS waiting");
        sqlx::query(AssertSqlSafe(ended)).execute(&mut self.above).await.unwrap();
        let gone = "DROP FUNCTION hold_up CASCADE";
        sqlx::raw_sql(gone).execute(&mut self.above).await.unwrap();
        sqlx::query("SELECT pg_advisory_unlock($1)").bind(LOCK).execute(&mut self.above).await.unwrap();
    }
}
