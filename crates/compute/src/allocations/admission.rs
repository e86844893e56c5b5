//! What has to hold before a request may wait or run: it names what exists and
//! stays within the limits. Runs in the transaction that writes the request.

use contract::{
    Code, Label,
    allocations::AllocationSpec,
    id::{OrganizationId, ProjectId, SkuId, SshKeyId, UserId},
    organizations::OrganizationState,
    prices::PriceKind,
    skus::Sku,
};
use kernel::{Tx, money::Currency};
use uuid::Uuid;

use super::{metering::GPU_TIME, reason::Reason, store, visits::Parent};
use crate::quotas;
use fleet::{prices, regions, skus};
use money::{
    budgets::{self, BudgetError, BudgetedRequest},
    wallets::{self, Hold, HoldError},
};
use people::{organizations, projects, ssh_keys};
use platform::{
    http::{Failure, ProblemBuilder},
    policies::{self, Policies, settings},
};

/// Whether projects and their organizations let anything be placed or started;
/// they stay as they are until the commit.
pub async fn parents(tx: &mut Tx, of: &[(OrganizationId, ProjectId)]) -> sqlx::Result<Vec<Parent>> {
    let organizations: Vec<Uuid> = of.iter().map(|(organization, _)| organization.uuid()).collect();
    let projects: Vec<Uuid> = of.iter().map(|(_, project)| project.uuid()).collect();
    let organizations = organizations::share_states(tx, &organizations).await?;
    let projects = projects::share_states(tx, &projects).await?;
    let parent = |(organization, project): &(OrganizationId, ProjectId)| match organizations
        .get(&organization.uuid())
        .zip(projects.get(&project.uuid()))
    {
        Some((organization, project)) => Parent::of(*organization, *project),
        None => Parent::Ended,
    };
    Ok(of.iter().map(parent).collect())
}

/// Makes requests of an organization take turns, and refuses those that come
/// too late: the caller was recognized a moment ago, and this is now.
pub async fn open(tx: &mut Tx, organization: OrganizationId, project: ProjectId) -> Result<(), Failure> {
    let state = organizations::lock(tx, organization).await?;
    let project = projects::share_states(tx, &[project.uuid()]).await?.remove(&project.uuid());
    match state.zip(project).map_or(Parent::Ended, |(state, project)| Parent::of(state, project)) {
        Parent::Active => Ok(()),
        Parent::Suspended => Err(Failure::new(Code::Suspended, Reason::Suspended)),
        Parent::Ended if state == Some(OrganizationState::Closed) => {
            Err(Failure::new(Code::Suspended, "the organization is closed"))
        }
        Parent::Ended => Err(Failure::new(Code::Conflict, "the project is being deleted; choose another one")),
    }
}

/// What a request comes to once its words are looked up.
pub struct AdmittedRequest {
    pub sku: Sku,
    pub region: Option<Uuid>,
    /// Of the caller's public keys, those to let in.
    pub ssh_keys: Vec<SshKeyId>,
}

// bound: as the API document says
const MOST_TAGS: usize = 32;
// bound: as the API document says; a task to a host carries them all
const MOST_KEYS: usize = 32;

pub async fn admit(
    tx: &mut Tx,
    organization: OrganizationId,
    project: ProjectId,
    user: Option<UserId>,
    spec: &AllocationSpec,
) -> Result<AdmittedRequest, Failure> {
    if spec.tags.len() > MOST_TAGS {
        return Err(wrong("tags", format!("an allocation has at most {MOST_TAGS} tags")));
    }
    if let Some((name, error)) = spec.tags.keys().find_map(|it| it.parse::<Label>().err().map(|error| (it, error))) {
        return Err(wrong("tags", format!("the name {name:?} of a tag: {error}")));
    }
    let sku = skus::by_name(tx, &spec.sku).await?.filter(|it| it.retired_at.is_none());
    let sku = sku.ok_or_else(|| {
        wrong("sku", format!("no SKU `{}` is available; run `skus list` to list the available SKUs", spec.sku))
    })?;
    if !sku.gpu_counts.contains(&spec.gpus.to()) {
        let counts: Vec<String> = sku.gpu_counts.iter().map(u16::to_string).collect();
        return Err(wrong("gpus", format!("`{}` comes with {} GPUs per node", sku.name, counts.join(", "))));
    }
    let region = match &spec.region {
        None => None,
        Some(name) => {
            let found = regions::by_name(tx, name).await?;
            let found = found.ok_or_else(|| {
                wrong("region", format!("no region `{name}`; run `regions list` to list the regions"))
            })?;
            Some(found.id.uuid())
        }
    };
    open(tx, organization, project).await?;
    within_limits(tx, organization, project, &sku, spec).await?;
    let ssh_keys = keys_of(tx, user, spec.ssh_keys.as_deref()).await?;
    Ok(AdmittedRequest { sku, region, ssh_keys })
}

fn few_keys(chosen: &[SshKeyId]) -> Result<(), Failure> {
    if chosen.len() > MOST_KEYS {
        return Err(wrong("ssh_keys", format!("an allocation accepts at most {MOST_KEYS} keys")));
    }
    Ok(())
}

async fn within_limits(
    tx: &mut Tx,
    organization: OrganizationId,
    project: ProjectId,
    sku: &Sku,
    spec: &AllocationSpec,
) -> Result<(), Failure> {
    let wanted = store::wanted(tx, organization, project, sku.id.uuid()).await?;
    let more = spec.gpus.to::<i64>() * spec.nodes.to::<i64>();
    let check = |what: &str, held: i64, most: u64, set_by: &str| {
        if held + more <= i64::try_from(most).unwrap_or(i64::MAX) {
            return Ok(());
        }
        let detail = format!(
            "{what} is limited to {most} GPUs ({set_by}); {held} are in use or requested, and this request needs {more}"
        );
        Err(Failure::new(Code::LimitReached, detail))
    };
    if let Some(most) = quotas::limit(tx, organization, sku.id).await? {
        check(&format!("SKU `{}` in this organization", sku.name), wanted.of_sku, u64::from(most), "a quota")?;
    }
    let (own, below) = (Some(organization.uuid()), Some(project.uuid()));
    let policy = format!("the policy `{}`", settings::ALLOCATIONS_MAX_GPUS.0.name);
    let most = policies::number_in(tx, settings::ALLOCATIONS_MAX_GPUS, own, None).await?;
    check("the organization", wanted.in_all, most, &policy)?;
    let most = policies::number_in(tx, settings::ALLOCATIONS_MAX_GPUS, own, below).await?;
    check("the project", wanted.in_project, most, &policy)
}

/// Refuses what has no price in its currency, may take the project above a hard
/// budget, or cannot be paid for. Whatever is about to run passes here, asked for
/// or started again. Late, because others of the organization wait for it.
pub async fn paid_for(
    tx: &mut Tx,
    policies: &Policies,
    project: ProjectId,
    sku: &str,
    hold: Hold,
) -> Result<(), Failure> {
    priced(tx, hold.sku, sku, hold.currency).await?;
    within_budgets(tx, policies, project, &hold).await?;
    afford(tx, policies, hold).await
}

/// Refuses what nobody set a price for in the currency that it would be charged
/// in: a price of nothing is a price, and a forgotten one must not cost a fleet.
async fn priced(tx: &mut Tx, sku: SkuId, name: &str, currency: Currency) -> Result<(), Failure> {
    let priced_in = prices::currencies(tx, sku, GPU_TIME.unit, PriceKind::OnDemand).await?;
    if priced_in.iter().any(|it| it == currency.as_str()) {
        return Ok(());
    }
    let others = match priced_in.as_slice() {
        [] => String::new(),
        others => format!(" a price in {} but", others.join(", ")),
    };
    let detail = format!(
        "`{name}` has{others} no price in {currency}, the currency that it would be charged in; an operator can set one with `gpuaas prices set {name} AMOUNT --currency {currency}` (0 makes it free)"
    );
    Err(Failure::new(Code::NotPriced, detail))
}

/// Refuses what may take the project above a hard budget.
async fn within_budgets(tx: &mut Tx, policies: &Policies, project: ProjectId, hold: &Hold) -> Result<(), Failure> {
    let asked = BudgetedRequest {
        organization: hold.subject.organization,
        project,
        subject: hold.subject.id,
        currency: hold.currency,
        window_minutes: policies.number(settings::BILLING_HOLD_MINUTES),
    };
    match budgets::check(tx, asked).await {
        Ok(()) => Ok(()),
        Err(BudgetError::Database(error)) => Err(error.into()),
        Err(error @ BudgetError::Exceeded(_)) => Err(Failure::new(Code::LimitReached, error)),
    }
}

/// Holds what the allocation may cost, where the platform asks for money.
async fn afford(tx: &mut Tx, policies: &Policies, hold: Hold) -> Result<(), Failure> {
    if !policies.flag(settings::BILLING_REQUIRED) {
        return Ok(());
    }
    match wallets::hold(tx, hold).await {
        Ok(()) => Ok(()),
        Err(HoldError::Database(error)) => Err(error.into()),
        Err(error @ HoldError::Insufficient { .. }) => {
            let detail = format!("{error} (for {} GPUs over {:#})", hold.quantity, hold.lasts);
            Err(Failure::new(Code::InsufficientFunds, detail))
        }
        Err(error @ HoldError::Money(_)) => Err(Failure::new(Code::InvalidValue, error)),
    }
}

/// How long a request must be affordable: as long as its lease, or as policy says.
pub fn lasts(policies: &Policies, spec: &AllocationSpec) -> jiff::SignedDuration {
    spec.lease_minutes.map_or_else(|| window(policies), |it| jiff::SignedDuration::from_mins(it.to()))
}

/// How long what has no lease must be affordable.
pub fn window(policies: &Policies) -> jiff::SignedDuration {
    let minutes = policies.number(settings::BILLING_HOLD_MINUTES);
    jiff::SignedDuration::from_mins(i64::try_from(minutes).unwrap_or(i64::MAX / 60))
}

/// The public keys to let in: some of the caller's, or all.
pub async fn keys_of(tx: &mut Tx, user: Option<UserId>, chosen: Option<&[SshKeyId]>) -> Result<Vec<SshKeyId>, Failure> {
    few_keys(chosen.unwrap_or_default())?;
    match (user, chosen) {
        (Some(user), chosen) => ssh_keys::chosen(tx, user, chosen).await?.map_err(|missing| {
            wrong("ssh_keys", format!("you have no SSH key {missing}; run `ssh-keys list` to list your keys"))
        }),
        (None, None | Some([])) => Ok(Vec::new()),
        (None, Some(_)) => Err(wrong("ssh_keys", "a service account has no SSH keys; omit `ssh_keys`".into())),
    }
}

fn wrong(field: &str, detail: String) -> Failure {
    Failure::Problem(ProblemBuilder::new(Code::InvalidValue, detail).at(field))
}
