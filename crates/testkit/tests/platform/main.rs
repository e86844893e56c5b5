//! What every resource shares: gates, the work queue, events, the audit log, migrations, and the programs themselves.

mod alerts;
mod availability;
mod backup;
mod bad_input;
mod bus;
mod declare;
mod demo;
mod dev;
mod embedded;
mod gates;
mod kill;
mod lifecycle;
mod limits;
mod migrations;
mod nats;
mod outage;
mod platform_events;
mod round_trips;
mod row_security;
mod seals;
mod shutdown;
mod sweep;
mod telemetry;
mod upkeep;
mod work;
mod work_together;
