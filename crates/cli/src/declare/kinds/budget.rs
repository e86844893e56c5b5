//! `kind: budget`: one for each project, currency and period.

use contract::{
    Name, Within,
    budgets::{
        self, BudgetChange, BudgetFilter, BudgetMode, BudgetPath, BudgetPeriod, BudgetSpec, ChangeBudget, CreateBudget,
        DeleteBudget, ListBudgets,
    },
    prices::CurrencyCode,
};

use super::{joined, said};
use crate::{
    declare::{
        fields::{Fields, amount, list, number, text, word},
        kind::{Creation, Kind, Lookup},
        thing::Reference,
        world::World,
    },
    exact,
    failure::Failure,
    table::money,
};

#[derive(Debug)]
pub struct Budget {
    project: Name,
    amount_micros: i64,
    currency: CurrencyCode,
    period: BudgetPeriod,
    mode: Option<BudgetMode>,
    thresholds: Option<Vec<u16>>,
}

impl Budget {
    pub fn read(fields: &mut Fields) -> Option<Self> {
        let project = fields.required("project", text);
        let amount_micros = fields.required("amount", amount);
        let currency = fields.required("currency", text);
        let period = fields.required("period", word);
        let mode = fields.optional("mode", word);
        let thresholds = fields.optional("thresholds", list(number::<Within<1, 1000>>));
        let thresholds = thresholds.map(|it| {
            let mut percents: Vec<u16> = it.into_iter().map(Within::to).collect();
            percents.sort_unstable();
            percents
        });
        let (amount_micros, currency) = (amount_micros?, currency?);
        Some(Self { project: project?, amount_micros, currency, period: period?, mode, thresholds })
    }

    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.project, self.currency, self.period)
    }

    pub fn references(&self) -> Vec<Reference<'_>> {
        vec![Reference::Project(&self.project)]
    }
}

fn path(there: &budgets::Budget) -> BudgetPath {
    BudgetPath { organization_id: there.organization_id, budget_id: there.id }
}

impl Kind for Budget {
    type Handle = budgets::Budget;
    const LEAVES_NO_TRACE: bool = true;

    async fn look(&self, world: &World<'_>) -> Result<Lookup<Self::Handle>, Failure> {
        let Some(project_id) = world.project(&self.project).await? else { return Ok(Lookup::absent()) };
        let query = BudgetFilter { project_id: Some(project_id), ..BudgetFilter::default() };
        let mut all = world.context.all::<ListBudgets>(world.organization().await?, query).await?;
        all.retain(|it| it.currency == self.currency && it.period == self.period);
        if all.len() > 1 {
            return Ok(Lookup::InTheWay("several budgets match; delete all but one".into()));
        }
        let Some(there) = all.pop() else { return Ok(Lookup::absent()) };
        let thresholds = self.thresholds.as_ref().map(|it| joined(it));
        let differences = [
            said("amount", money(there.amount_micros), Some(&money(self.amount_micros)), true),
            said("mode", there.mode.as_str(), self.mode.as_ref(), true),
            said("thresholds", joined(&there.thresholds), thresholds.as_ref(), true),
        ];
        Ok(Lookup::present(there, differences.into_iter().flatten().collect()))
    }

    async fn create(&self, world: &World<'_>, salt: &str) -> Result<Creation, Failure> {
        let spec = BudgetSpec {
            project_id: world.project_needed(&self.project).await?,
            amount_micros: self.amount_micros,
            currency: self.currency.clone(),
            period: self.period,
            mode: self.mode.unwrap_or(BudgetMode::Hard),
            thresholds: self.thresholds.clone(),
        };
        let answer = world.send_once::<CreateBudget>(world.organization().await?, spec, salt).await?;
        let made: budgets::Budget = exact::read(&answer)?;
        Ok(Creation { id: made.id.to_string(), secret: None })
    }

    async fn change(&self, world: &World<'_>, there: Self::Handle) -> Result<(), Failure> {
        let change = BudgetChange {
            amount_micros: Some(self.amount_micros),
            mode: self.mode,
            thresholds: self.thresholds.clone(),
        };
        world.send_once::<ChangeBudget>(path(&there), change, &there.version.to_string()).await?;
        Ok(())
    }

    async fn remove(&self, world: &World<'_>, there: Self::Handle) -> Result<(), Failure> {
        world.context.ask::<DeleteBudget>(path(&there)).await?;
        Ok(())
    }
}
