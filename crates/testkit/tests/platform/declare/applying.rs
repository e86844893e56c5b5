//! The example stacks: planned, applied, applied again, changed, pruned, deleted.

use contract::{allocations::AllocationState, budgets::BudgetMode};

use crate::declare::stand::{OFFER, Stand, TEAM};

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_is_made_once_and_then_is_as_it_should_be() {
    let stand = Stand::new().await;
    stand.run("apply", TEAM, &[]).await.has(2, &["+  project vision", "7 to create", "Pass --yes to confirm"]);
    assert!(stand.projects().await.is_empty());
    stand.run("diff", TEAM, &[]).await.has(1, &["+  allocation vision/notebook", "7 to create"]);

    let made = stand.run("apply", TEAM, &["--yes"]).await.has(0, &["+  budget vision/USD/month", "Secret of webhook"]);
    assert_eq!(made.out.matches("Secret of").count(), 1);
    stand.has_one_of_each().await;
    let allocation = stand.allocations().await.remove(0);
    let tag = |name: &str| allocation.tags.get(&name.parse().unwrap()).map(|it| it.as_str().to_owned());
    assert_eq!((tag("stack").as_deref(), tag("purpose").as_deref()), (Some("vision-team"), Some("notebooks")));
    assert_eq!(tag("stack-options").as_deref(), Some("lease_minutes=480"));

    stand.run("diff", TEAM, &[]).await.has(0, &["no changes, 7 unchanged."]);
    let again = stand.run("apply", TEAM, &[]).await.has(0, &["no changes"]);
    assert!(!again.out.contains("Secret"));
    stand.has_one_of_each().await;
    stand.staff("diff", OFFER, &[]).await.has(0, &["no changes, 2 unchanged."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_shown_by_field_and_impossible_ones_are_refused() {
    let stand = Stand::new().await;
    stand.run("apply", TEAM, &["--yes"]).await.has(0, &[]);
    let changed = TEAM
        .replace("amount: 500", "amount: 750")
        .replace("mode: hard", "mode: notify")
        .replace("[allocation.*, ", "[\"*\", ")
        .replace("value: 20", "value: 10")
        .replace("what the team's bot tells", "<script>alert(1)</script>");
    stand
        .run("apply", &changed, &["--yes"])
        .await
        .has(0, &["amount: 500.00 → 750.00", "mode: hard → notify", "value: 20 → 10", "→ <script>alert(1)</script>"]);
    let budget = stand.budgets().await.remove(0);
    assert_eq!((budget.amount_micros, budget.mode == BudgetMode::Notify), (750_000_000, true));
    stand.run("diff", &changed, &[]).await.has(0, &["no changes"]);

    let before = stand.allocations().await.remove(0).id;
    let larger = changed.replace("gpus: 2", "gpus: 4").replace("480", "60").replace("amount: 750", "amount: 800");
    let says = ["gpus: 2 → 4 (requires replacement)", "lease_minutes: 480 → 60 (requires replacement)", "--replace"];
    stand.run("apply", &larger, &["--yes"]).await.has(6, &says);
    assert_eq!(stand.budgets().await[0].amount_micros, 750_000_000);
    stand.run("apply", &larger, &["--yes", "--replace"]).await.has(0, &["-+ allocation vision/notebook"]);
    let after = stand.allocations().await.into_iter().find(|it| it.state == AllocationState::Requested).unwrap();
    assert!(after.id != before && after.gpus == 4);
    stand.run("diff", &larger, &[]).await.has(0, &["no changes"]);

    let dearer = OFFER.replace("2.50", "2.75");
    stand.staff("apply", &dearer, &["--yes"]).await.has(0, &["amount: 2.50 → 2.75"]);
    stand.staff("apply", OFFER, &["--yes"]).await.has(0, &["amount: 2.75 → 2.50"]);
    stand.staff("apply", &dearer, &["--yes"]).await.has(0, &["amount: 2.50 → 2.75"]);
    stand.staff("diff", &dearer, &[]).await.has(0, &["no changes"]);
    let other = dearer.replace("gpu_counts: [1,", "gpu_counts: [16,");
    stand.staff("apply", &other, &["--yes", "--replace"]).await.has(6, &["SKUs cannot be changed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_allocations_of_the_stack_are_pruned() {
    let stand = Stand::new().await;
    stand.run("apply", TEAM, &["--yes"]).await.has(0, &[]);
    let other =
        "kind: stack\nname: other\n---\nkind: allocation\nproject: vision\nname: theirs\nsku: a100-slice\ngpus: 1\n";
    stand.run("apply", other, &["--yes"]).await.has(0, &[]);
    let stolen = other.replace("theirs", "notebook");
    stand.run("apply", &stolen, &["--yes"]).await.has(6, &["belongs to another stack or none"]);
    stand.run("delete", &stolen, &["--yes"]).await.has(0, &["no changes"]);

    let (less, _) = TEAM.rsplit_once("---").unwrap();
    stand.run("diff", less, &[]).await.has(0, &["no changes"]);
    stand.run("diff", less, &["--prune"]).await.has(1, &["-  allocation vision/notebook"]);
    stand.run("apply", less, &["--prune", "--yes"]).await.has(0, &["1 to delete"]);
    let left: Vec<_> = stand.allocations().await.into_iter().filter_map(|it| it.name).collect();
    assert_eq!(left.iter().map(|it| it.as_str()).collect::<Vec<_>>(), ["theirs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_resources_can_be_made_again() {
    let stand = Stand::new().await;
    for _ in 0..3 {
        stand.run("apply", TEAM, &["--yes"]).await.has(0, &["7 to create"]);
        stand.has_one_of_each().await;
        let gone = stand.run("delete", TEAM, &["--yes"]).await.has(0, &["7 to delete", "and everything in it"]);
        let place = |what: &str| gone.out.find(what).unwrap();
        assert!(place("allocation vision") < place("project vision"), "{}", gone.out);
        stand.world.server.settle().await;
        assert!(stand.webhooks().await.is_empty() && stand.budgets().await.is_empty());
        assert!(stand.projects().await.is_empty(), "{:?}", stand.projects().await);
        stand.run("delete", TEAM, &["--yes"]).await.has(0, &["no changes"]);
    }
    stand.staff("delete", OFFER, &["--yes"]).await.has(0, &["prices cannot be deleted", "1 to delete"]);
    stand.staff("apply", OFFER, &["--yes"]).await.has(6, &["is permanently retired"]);
}
