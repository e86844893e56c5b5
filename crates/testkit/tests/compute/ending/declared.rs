//! No table that belongs to somebody is forgotten when that somebody ends.

use std::collections::{BTreeMap, BTreeSet};

use gpuaasd::areas::parent_ends;
use kernel::lifecycle::ParentEnd;
use testkit::World;

#[tokio::test(flavor = "multi_thread")]
async fn every_owned_table_declares_what_its_parents_end_does_to_it() {
    let world = World::new().await;
    let mut above = world.server.database.superuser().await;
    let owned: Vec<String> = sqlx::query_scalar(
        "SELECT DISTINCT c.table_name::text FROM information_schema.columns c
         JOIN information_schema.tables t USING (table_schema, table_name)
         WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.column_name IN ('organization_id', 'project_id')",
    )
    .fetch_all(&mut above)
    .await
    .unwrap();
    let declared: BTreeMap<&str, ParentEnd> = parent_ends().into_iter().collect();
    for table in &owned {
        let end = declared.get(table.as_str()).unwrap_or_else(|| {
            panic!("say in `register` of its folder what the end of a project or organization does to {table}")
        });
        assert_ne!(*end, ParentEnd::Unowned, "{table} belongs to an organization or a project");
    }
    let owned: BTreeSet<&str> = owned.iter().map(String::as_str).collect();
    for (table, end) in declared.iter().filter(|(_, end)| **end != ParentEnd::Unowned) {
        assert!(owned.contains(table), "{table} says {end:?} and belongs to nobody");
    }
    assert!(owned.len() > 30, "the catalog was read: {owned:?}");
}
