//! The areas of the control plane: what each registers, and the hooks between them.
//! A new area is added here and in `control_plane.rs`, and nowhere else.

use std::sync::Arc;

use access::access_sessions::SessionHooks;
use compute::allocations::AllocationHooks;
use fleet::{gateways::CarriedSessions, nodes::Occupants};
use kernel::{
    Access, Db, Tx,
    hooks::Hooks,
    lifecycle::{LifecycleInfo, ParentEnd},
};
use money::wallets::{MoneyHooks, Spenders};
use people::{
    notifications::{AllocationReasons, Refunds},
    projects::{Resident, Residents},
    users::InsideSessions,
};
use platform::{
    policies::Reactions,
    registry::{Bound, Declared},
};

use crate::control_plane::ControlPlane;

/// What is inside projects and must end before they are deleted.
pub fn residents() -> Vec<Arc<dyn Resident>> {
    vec![Arc::new(AllocationHooks)]
}

/// What lower areas ask of higher ones in their own transactions.
pub fn hooks() -> Hooks {
    Hooks::default()
        .with::<dyn Reactions>(Arc::new(MoneyHooks))
        .with::<dyn Refunds>(Arc::new(MoneyHooks))
        .with::<dyn InsideSessions>(Arc::new(SessionHooks))
        .with::<dyn CarriedSessions>(Arc::new(SessionHooks))
        .with::<dyn Occupants>(Arc::new(AllocationHooks))
        .with::<dyn AllocationReasons>(Arc::new(AllocationHooks))
        .with::<Spenders>(Arc::new(Spenders(vec![Arc::new(AllocationHooks)])))
        .with::<Residents>(Arc::new(Residents(residents())))
}

/// What every resource of every area declares.
pub fn declared() -> Declared {
    let mut all = Declared::default();
    let areas = [
        platform::registry().declared,
        people::registry().declared,
        fleet::registry().declared,
        money::registry().declared,
        compute::registry().declared,
        access::registry().declared,
    ];
    for area in areas {
        all.lifecycles.extend(area.lifecycles);
        all.tables.extend(area.tables);
        all.gauges.extend(area.gauges);
        all.meters.extend(area.meters);
        all.secrets.extend(area.secrets);
        all.kinds.extend(area.kinds);
    }
    all
}

pub fn lifecycles() -> Vec<LifecycleInfo> {
    declared().lifecycles
}

/// What the end of a project or an organization does to everything that belongs
/// to it, by table.
pub fn parent_ends() -> Vec<(&'static str, ParentEnd)> {
    let Declared { lifecycles, mut tables, .. } = declared();
    tables.extend(lifecycles.iter().map(|it| (it.table, it.parent_end)));
    tables
}

/// Writes every lifecycle's legal moves into the database's guard.
pub async fn teach_lifecycles(db: &Db) -> sqlx::Result<()> {
    let mut tx = Tx::system(db, "lifecycles", Access::Write).await?;
    for lifecycle in lifecycles() {
        lifecycle.teach(&mut tx).await?;
    }
    tx.commit().await
}

/// What the areas registered, with their contexts.
pub fn bound(control_plane: &ControlPlane) -> Vec<Bound> {
    let platform = &control_plane.platform;
    vec![
        platform::registry().bind(platform.clone(), platform),
        people::registry().bind(control_plane.people.clone(), platform),
        fleet::registry().bind(control_plane.fleet.clone(), platform),
        money::registry().bind(control_plane.money.clone(), platform),
        compute::registry().bind(control_plane.compute.clone(), platform),
        access::registry().bind(control_plane.access.clone(), platform),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residents_of_projects_are_the_tables_that_end_first() {
        let first = parent_ends().into_iter().filter(|(_, end)| *end == ParentEnd::EndsFirst).map(|(table, _)| table);
        let residents = residents();
        assert_eq!(first.collect::<Vec<_>>(), residents.iter().map(|it| it.table()).collect::<Vec<_>>());
    }

    #[test]
    fn table_is_declared_once() {
        let mut tables: Vec<&str> = parent_ends().into_iter().map(|(table, _)| table).collect();
        let all = tables.len();
        tables.sort_unstable();
        tables.dedup();
        assert_eq!(tables.len(), all);
    }

    #[test]
    fn meters_are_registered_once_and_meter_what_has_a_lifecycle() {
        let Declared { meters, lifecycles, .. } = declared();
        let mut names: Vec<&str> = meters.iter().map(|it| it.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), meters.len());
        for meter in meters {
            let is_known = lifecycles.iter().any(|it| it.name == meter.subject);
            assert!(is_known, "{}: `{}` has no lifecycle whose moves could be metered", meter.name, meter.subject);
        }
    }

    #[test]
    fn kinds_of_work_are_registered_once() {
        let mut kinds = declared().kinds;
        let all = kinds.len();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), all);
    }
}
