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
    /// A `hard` budget refuses allocations that could push the project over it before the period ends;
    /// `notify` only notifies. Running allocations are not ended.
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
    /// Read a budget and the project's usage of it.
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
    /// Explain a project's usage of a budget, what is refused because of it, and what to do.
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
    /// A threshold that is no longer reached notifies again the next time.
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
    /// Delete a budget; it no longer applies.
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
    /// The period of a budget, in UTC.
    BudgetPeriod {
        Month = "month",
        Quarter = "quarter",
        Year = "year",
        /// A single period without an end.
        Total = "total",
    }
}

words! {
    /// How a budget is enforced.
    BudgetMode {
        /// Refuses allocations that could exceed it.
        Hard = "hard",
        /// Notifies and refuses nothing.
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
    /// The percentages of the amount at which owners, administrators and billing are notified, in any order.
    /// Default: 50, 80 and 100.
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

/// A budget and its project's usage in the current period.
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
    /// When the current period started; absent for a single period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// When the next period starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The project's usage in the period so far.
    pub spent_micros: i64,
    /// What its current allocations and requests may still use before the period ends.
    pub held_micros: i64,
    /// The current cost per hour.
    pub burn_micros_per_hour: i64,
    /// The highest threshold notified in the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notified_percent: Option<u16>,
    pub version: i64,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetExplanation {
    pub budget_id: BudgetId,
    /// What was used, and what is refused because of it.
    pub rule: String,
    /// What would allow more; absent if nothing is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

event! {
    /// A budget was created.
    BudgetCreated = "budget.created", staff: PlatformLedgerRead { id: BudgetId, project_id: ProjectId }
}
event! {
    /// A budget was changed.
    BudgetChanged = "budget.changed", staff: PlatformLedgerRead { id: BudgetId, project_id: ProjectId }
}
event! {
    /// A budget was deleted.
    BudgetDeleted = "budget.deleted", staff: PlatformLedgerRead { id: BudgetId, project_id: ProjectId }
}
event! {
    /// A project reached a threshold of its budget.
    BudgetThresholdReached = "budget.threshold_reached", staff: PlatformLedgerRead {
        id: BudgetId,
        project_id: ProjectId,
        percent: u16,
        amount_micros: i64,
        spent_micros: i64,
        currency: CurrencyCode,
        /// When the next period starts.
        until: Option<Timestamp>,
    }
}
