//! Budgets: what a project may use in a period, and of which shares of it
//! those who pay are told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Timestamp, endpoint, event,
    id::{BudgetId, OrganizationId, ProjectId},
    list_query,
    organizations::OrganizationPath,
    prices::CurrencyCode,
    words,
};

endpoint! {
    /// Set a budget for a project.
    ///
    /// Under a `hard` one an allocation is refused that may take the project above
    /// it before the period ends; `notify` only tells. What runs is not ended.
    CreateBudget = POST "/v1/organizations/{organization_id}/budgets" {
        path: OrganizationPath,
        body: BudgetSpec,
        returns: 201 Budget,
        auth: Organization(BudgetsWrite),
        lane: Financial,
        idempotency: KeyRequired,
        audit: Action("budget.create"),
        problems: [InvalidValue, LimitReached, Suspended],
    }
}

endpoint! {
    /// List the budgets of an organization.
    ListBudgets = GET "/v1/organizations/{organization_id}/budgets" {
        path: OrganizationPath,
        query: BudgetFilter,
        returns: 200 Page<Budget>,
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read a budget, and where the project stands with it.
    GetBudget = GET "/v1/organizations/{organization_id}/budgets/{budget_id}" {
        path: BudgetPath,
        returns: 200 Budget,
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Explain where a project stands with a budget, what is refused under it, and what to do.
    ExplainBudget = GET "/v1/organizations/{organization_id}/budgets/{budget_id}/why" {
        path: BudgetPath,
        returns: 200 BudgetExplanation,
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Change the amount, the mode or the thresholds of a budget.
    ///
    /// A threshold that is no longer reached is told of again when it is.
    ChangeBudget = PATCH "/v1/organizations/{organization_id}/budgets/{budget_id}" {
        path: BudgetPath,
        body: BudgetChange,
        returns: 200 Budget,
        auth: Organization(BudgetsWrite),
        lane: Financial,
        idempotency: KeyRequired,
        audit: Action("budget.change"),
        problems: [NotFound, InvalidValue, Suspended],
    }
}

endpoint! {
    /// Delete a budget; nothing is held to it any more.
    DeleteBudget = DELETE "/v1/organizations/{organization_id}/budgets/{budget_id}" {
        path: BudgetPath,
        returns: 200 Budget,
        auth: Organization(BudgetsWrite),
        lane: Financial,
        idempotency: Natural,
        audit: Action("budget.delete"),
        problems: [NotFound, Suspended],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BudgetPath {
    pub organization_id: OrganizationId,
    pub budget_id: BudgetId,
}

words! {
    /// How long a budget lasts before it begins anew; all are those of UTC.
    BudgetPeriod {
        Month = "month",
        Quarter = "quarter",
        Year = "year",
        /// It never begins anew.
        Total = "total",
    }
}

words! {
    /// What a budget does.
    BudgetMode {
        /// Refuses what may go beyond it.
        Hard = "hard",
        /// Tells, and refuses nothing.
        Notify = "notify",
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetSpec {
    pub project_id: ProjectId,
    /// Millionths of the currency.
    #[schemars(range(min = 1, max = 1_000_000_000_000_000_i64))]
    pub amount_micros: i64,
    /// Only what is charged in this currency counts.
    pub currency: CurrencyCode,
    pub period: BudgetPeriod,
    pub mode: BudgetMode,
    /// The percentages of the amount of which those who pay are told, in any
    /// order; 50, 80 and 100 when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 10), inner(range(min = 1, max = 1000)))]
    pub thresholds: Option<Vec<u16>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_000_i64))]
    pub amount_micros: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<BudgetMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 10), inner(range(min = 1, max = 1000)))]
    pub thresholds: Option<Vec<u16>>,
}

list_query! {
    BudgetFilter {
        /// Only budgets of this project.
        project_id: ProjectId,
    }
}

/// A budget, and where its project stands in the present period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    pub id: BudgetId,
    pub organization_id: OrganizationId,
    pub project_id: ProjectId,
    pub amount_micros: i64,
    pub currency: CurrencyCode,
    pub period: Open<BudgetPeriod>,
    pub mode: Open<BudgetMode>,
    /// Percentages of the amount, ascending.
    pub thresholds: Vec<u16>,
    /// When the present period began; absent when it is the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// When the next one begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What the project used in the period, up to now.
    pub spent_micros: i64,
    /// What it may use besides until the period ends, by what it asked for already.
    pub held_micros: i64,
    /// What runs now costs so much in an hour.
    pub burn_micros_per_hour: i64,
    /// The highest threshold of which was told in the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_percent: Option<u16>,
    pub version: i64,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetExplanation {
    pub budget_id: BudgetId,
    /// What was used, and what is refused because of it.
    pub rule: String,
    /// What would let more run; absent where nothing is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

event! {
    /// A project got a budget.
    BudgetCreated = "budget.created" { id: BudgetId, project_id: ProjectId }
}
event! {
    /// A budget was changed.
    BudgetChanged = "budget.changed" { id: BudgetId, project_id: ProjectId }
}
event! {
    /// A budget was deleted.
    BudgetDeleted = "budget.deleted" { id: BudgetId, project_id: ProjectId }
}
event! {
    /// A project used a share of its budget that those who pay want to hear of.
    BudgetThresholdReached = "budget.threshold_reached" {
        id: BudgetId,
        project_id: ProjectId,
        percent: u16,
        amount_micros: i64,
        spent_micros: i64,
        currency: CurrencyCode,
        /// When the next period begins.
        until: Option<Timestamp>,
    }
}
