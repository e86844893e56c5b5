//! Starting again asks what asking anew does.

use contract::{
    Code, Nothing,
    allocations::AllocationState,
    budgets::{BudgetMode, BudgetPeriod, BudgetSpec, CreateBudget},
    organizations::OrganizationPath,
};
use testkit::cloud::ask;

use crate::ending::stand::{PRICE, cloud};

#[tokio::test(flavor = "multi_thread")]
async fn stopped_allocation_starts_only_within_hard_budgets() {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    let stopped = tenant.get_one(ask(1)).await;
    tenant.stop(stopped.id).await.unwrap();
    tenant.reaches(stopped.id, AllocationState::Stopped).await;
    let path = OrganizationPath { organization_id: tenant.organization };
    let spec = BudgetSpec {
        project_id: tenant.project,
        amount_micros: PRICE / 2,
        currency: "USD".parse().unwrap(),
        period: BudgetPeriod::Total,
        mode: BudgetMode::Hard,
        thresholds: None,
    };
    tenant.client.call::<CreateBudget>(path, Nothing {}, spec).await.unwrap();
    let refused = tenant.start(stopped.id).await.expect_err("a start above a hard budget is refused");
    assert!(refused.is(Code::LimitReached), "{refused}");
    assert_eq!(tenant.get(stopped.id).await.state, AllocationState::Stopped);
}

/// What a budget allows is what others left of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_another_allocation_uses_up_refuses_a_start_until_it_ends() {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    let (stopped, other) = (tenant.get_one(ask(1)).await, tenant.get_one(ask(1)).await);
    tenant.stop(stopped.id).await.unwrap();
    tenant.reaches(stopped.id, AllocationState::Stopped).await;
    let path = OrganizationPath { organization_id: tenant.organization };
    let spec = BudgetSpec {
        project_id: tenant.project,
        amount_micros: PRICE * 3 / 2,
        currency: "USD".parse().unwrap(),
        period: BudgetPeriod::Total,
        mode: BudgetMode::Hard,
        thresholds: None,
    };
    tenant.client.call::<CreateBudget>(path, Nothing {}, spec).await.unwrap();
    let refused = tenant.start(stopped.id).await.expect_err("the other one may use what is left");
    assert!(refused.is(Code::LimitReached), "{refused}");
    tenant.gives_back(other.id).await;
    tenant.start(stopped.id).await.unwrap();
    tenant.reaches(stopped.id, AllocationState::Active).await;
}
