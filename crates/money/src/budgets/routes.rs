//! Setting, changing, deleting and reading budgets.

use contract::{
    Code, Page,
    budgets::{
        Budget, BudgetChanged, BudgetCreated, BudgetDeleted, BudgetExplanation, ChangeBudget, CreateBudget,
        DeleteBudget, ExplainBudget, GetBudget, ListBudgets,
    },
    id::{BudgetId, OrganizationId},
    prices::CurrencyCode,
};
use kernel::{Tx, clock, money::Currency, work};

use super::{
    explain::explain,
    period::{Span, around},
    store::{self, BudgetLimits, Change, StoredBudget},
};
use crate::{MoneyArea, wallets::Spenders};
use fleet::prices;
use people::projects;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
    policies::{self, settings},
};

// bound: what the contract's schema says; a thousand million of the currency
const MOST_MICROS: i64 = 1_000_000_000_000_000;
// bound: what the contract's schema says
const MOST_THRESHOLDS: usize = 10;
// bound: what the contract's schema says; a notify budget may be used several times over
const PERCENT: std::ops::RangeInclusive<u16> = 1..=1000;
/// Of which shares is told when nobody said.
const USUAL: [u16; 3] = [50, 80, 100];

impl Handle<CreateBudget> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateBudget>) -> Result<Budget, Failure> {
        let (organization, spec) = (call.organization(), &request.body);
        is_amount(spec.amount_micros)?;
        let thresholds = in_order(spec.thresholds.as_deref().unwrap_or(&USUAL))?;
        is_charged(&mut call.tx, &spec.currency).await?;
        // The lock makes creations in one project take turns, or two at once could pass the limit.
        if !projects::lock_active(&mut call.tx, organization, spec.project_id).await? {
            return Err(wrong(
                "project_id",
                "the organization has no such project; run `projects list` to list its projects",
            ));
        }
        let place = (Some(organization.uuid()), Some(spec.project_id.uuid()));
        let most = policies::number_in(&mut call.tx, settings::BUDGETS_MAX, place.0, place.1).await?;
        if store::count(&mut call.tx, spec.project_id).await? >= most {
            return Err(Failure::new(
                Code::LimitReached,
                format!("the project has reached its limit of {most} budgets"),
            ));
        }
        let id = BudgetId::generate();
        store::insert(&mut call.tx, id, organization, spec, &thresholds).await?;
        work::wake(&mut call.tx, store::KIND, id.uuid());
        call.about(id);
        call.note("project_id", spec.project_id.to_string());
        emit(&mut call.tx, Some(organization), id, &BudgetCreated { id, project_id: spec.project_id });
        read(self, call, organization, id).await
    }
}

impl Handle<ListBudgets> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ListBudgets>) -> Result<Page<Budget>, Failure> {
        let organization = call.organization();
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        let page = Page::cut(rows, request.query.limit, |it| it.known.id.uuid());
        let mut items = Vec::with_capacity(page.items.len());
        for found in page.items {
            items.push(shown(self, &mut call.tx, found).await?);
        }
        Ok(Page { items, next_cursor: page.next_cursor })
    }
}

impl Handle<GetBudget> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetBudget>) -> Result<Budget, Failure> {
        let organization = call.organization();
        read(self, call, organization, request.path.budget_id).await
    }
}

impl Handle<ExplainBudget> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ExplainBudget>) -> Result<BudgetExplanation, Failure> {
        let organization = call.organization();
        let budget = read(self, call, organization, request.path.budget_id).await?;
        let now = clock::now(&mut call.tx).await?;
        explain(&budget, now).map_err(|error| Failure::Internal(Box::new(error)))
    }
}

impl Handle<ChangeBudget> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ChangeBudget>) -> Result<Budget, Failure> {
        let (organization, id) = (call.organization(), request.path.budget_id);
        if let Some(amount) = request.body.amount_micros {
            is_amount(amount)?;
        }
        let thresholds = request.body.thresholds.as_deref().map(in_order).transpose()?;
        let change = Change { amount_micros: request.body.amount_micros, mode: request.body.mode, thresholds };
        if !store::change(&mut call.tx, organization, id, &change).await? {
            return Err(Failure::not_found("budget"));
        }
        let found = found(call, organization, id).await?;
        let span = around(found.known.period, clock::now(&mut call.tx).await?);
        let usage = store::usage(&mut call.tx, &found.known, span).await?;
        let reached: Vec<u16> =
            found.known.thresholds.iter().copied().filter(|it| found.known.share(*it) <= usage.spent).collect();
        store::untell_others(&mut call.tx, id, span, &reached).await?;
        work::wake(&mut call.tx, store::KIND, id.uuid());
        emit(&mut call.tx, Some(organization), id, &BudgetChanged { id, project_id: found.known.project });
        read(self, call, organization, id).await
    }
}

impl Handle<DeleteBudget> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<DeleteBudget>) -> Result<Budget, Failure> {
        let (organization, id) = (call.organization(), request.path.budget_id);
        let budget = read(self, call, organization, id).await?;
        if store::delete(&mut call.tx, id).await? {
            emit(&mut call.tx, Some(organization), id, &BudgetDeleted { id, project_id: budget.project_id });
        }
        Ok(budget)
    }
}

fn is_amount(micros: i64) -> Result<(), Failure> {
    if (1..=MOST_MICROS).contains(&micros) {
        return Ok(());
    }
    Err(wrong("amount_micros", &format!("a budget must be between 1 and {MOST_MICROS} millionths")))
}

/// Each once, ascending.
fn in_order(thresholds: &[u16]) -> Result<Vec<u16>, Failure> {
    if thresholds.len() > MOST_THRESHOLDS || !thresholds.iter().all(|it| PERCENT.contains(it)) {
        let detail = format!("a budget has at most {MOST_THRESHOLDS} thresholds, each from 1 to 1000 percent");
        return Err(wrong("thresholds", &detail));
    }
    let mut sorted = thresholds.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    Ok(sorted)
}

/// A budget in a currency in which nothing is charged would never be reached.
async fn is_charged(tx: &mut Tx, currency: &CurrencyCode) -> Result<(), Failure> {
    if prices::is_used(tx, currency).await? {
        return Ok(());
    }
    Err(wrong("currency", &format!("no SKU is charged in {currency}; run `prices list` to see the currencies in use")))
}

async fn found(call: &mut Call, organization: OrganizationId, id: BudgetId) -> Result<StoredBudget, Failure> {
    store::get(&mut call.tx, organization, id).await?.ok_or_else(|| Failure::not_found("budget"))
}

async fn read(
    area: &MoneyArea,
    call: &mut Call,
    organization: OrganizationId,
    id: BudgetId,
) -> Result<Budget, Failure> {
    let found = found(call, organization, id).await?;
    Ok(shown(area, &mut call.tx, found).await?)
}

/// With where the project stands.
async fn shown(area: &MoneyArea, tx: &mut Tx, found: StoredBudget) -> sqlx::Result<Budget> {
    let StoredBudget { known, mode, created_at } = found;
    let span = around(known.period, clock::now(tx).await?);
    let usage = store::usage(tx, &known, span).await?;
    let held = held(area, tx, &known, span).await?;
    let notified_percent = store::notified(tx, known.id, span).await?;
    let whole = |micros: i128| i64::try_from(micros).unwrap_or(i64::MAX);
    Ok(Budget {
        id: known.id,
        organization_id: known.organization,
        project_id: known.project,
        amount_micros: known.amount_micros,
        currency: known.currency,
        period: known.period.into(),
        mode: mode.into(),
        thresholds: known.thresholds,
        since: span.since,
        until: span.until,
        spent_micros: whole(usage.spent),
        held_micros: whole(held),
        burn_micros_per_hour: whole(usage.burn),
        notified_percent,
        version: known.version,
        created_at,
    })
}

/// What the project may use besides until the period ends.
async fn held(area: &MoneyArea, tx: &mut Tx, known: &BudgetLimits, span: Span) -> sqlx::Result<i128> {
    let currency: Currency = platform::rows::text(known.currency.as_str())?;
    let expected = tx.hook::<Spenders>().expected(tx, known.project, currency).await?;
    let window_minutes = area.policies.number(settings::BILLING_HOLD_MINUTES);
    Ok(store::may_use(tx, (known.organization, currency), &expected, span, window_minutes, None).await?.0)
}

fn wrong(field: &str, detail: &str) -> Failure {
    ProblemBuilder::new(Code::InvalidValue, detail.to_owned()).at(field).into()
}
