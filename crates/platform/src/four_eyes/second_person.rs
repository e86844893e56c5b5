//! What needs a second person beside corrections of the books: refunds, prices
//! and the switch of four eyes itself. What was asked for waits, and is done by
//! the code that does it where one person suffices.

use contract::{
    Code, Permission, Timestamp,
    corrections::{Correction, CorrectionKind, CorrectionProposed},
    id::{OrganizationId, PaymentId, SkuId},
    prices::PriceSpec,
};
use kernel::{
    clock,
    lifecycle::{Lifecycle, transition},
    work,
};
use serde::{Deserialize, Serialize};

use super::{
    lifecycle::{CorrectionLifecycle, Event},
    store::{self, Waiting},
};
use crate::{
    Platform,
    events::emit,
    http::{Call, Failure, ProblemBuilder},
    policies::{self, settings},
};

/// What is done once somebody else agreed, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Proposal {
    Refund {
        payment_id: PaymentId,
        amount_micros: i64,
    },
    Price {
        sku_id: SkuId,
        price: PriceSpec,
    },
    /// Set for the platform, or unset where there is no value.
    Policy {
        key: String,
        value: Option<String>,
    },
}

impl Proposal {
    pub fn kind(&self) -> CorrectionKind {
        match self {
            Proposal::Refund { .. } => CorrectionKind::Refund,
            Proposal::Price { .. } => CorrectionKind::Price,
            Proposal::Policy { .. } => CorrectionKind::Policy,
        }
    }

    /// What somebody needs who does it without anybody else.
    pub fn permission(&self) -> Permission {
        match self {
            Proposal::Refund { .. } => Permission::PlatformLedgerWrite,
            Proposal::Price { .. } => Permission::PlatformFleetWrite,
            Proposal::Policy { .. } => Permission::PlatformPoliciesWrite,
        }
    }
}

/// What somebody asks for, checked as far as it can be now.
pub struct CorrectionRequest<'a> {
    pub proposal: Proposal,
    pub organization: Option<OrganizationId>,
    /// What approving it does, for the second person to read.
    pub summary: String,
    pub reason: &'a str,
}

/// Goes on where one person suffices. Else what is asked for is kept as a
/// correction, the same one while it waits, and the refusal names it.
pub async fn second_person(platform: &Platform, call: &mut Call, asked: CorrectionRequest<'_>) -> Result<(), Failure> {
    // Not from the cache: between a switch and the next read of it one person would suffice.
    if !policies::flag_in(&mut call.tx, settings::BILLING_FOUR_EYES).await? {
        return Ok(());
    }
    let now = clock::now(&mut call.tx).await?;
    let request = serde_json::to_value(&asked.proposal).map_err(|error| Failure::Internal(Box::new(error)))?;
    if let Some(waits) = store::waiting(&mut call.tx, &request).await? {
        if !has_expired(&waits, now) {
            return Err(refusal(call, &waits));
        }
        transition::<CorrectionLifecycle>(&mut call.tx, store::versioned(&waits)?, Event::Expired, "").await?;
    }
    let expires_at = now + settings::hours(platform.policies.number(settings::BILLING_CORRECTION_HOURS));
    let proposed_by = call.caller.actor().as_str().to_owned();
    let new = Waiting {
        organization: asked.organization,
        kind: asked.proposal.kind(),
        request: &request,
        summary: &asked.summary,
        reason: asked.reason,
        proposed_by: &proposed_by,
        expires_at,
    };
    let Some(correction) = store::insert_waiting(&mut call.tx, new).await? else {
        return Err(Failure::new(Code::Conflict, "the same request was made concurrently; retry"));
    };
    let id = correction.id;
    work::wake_at(&mut call.tx, CorrectionLifecycle::NAME, id.uuid(), expires_at);
    emit(&mut call.tx, None, id, &CorrectionProposed { id, kind: correction.kind.clone() });
    Err(refusal(call, &correction))
}

pub fn has_expired(correction: &Correction, now: Timestamp) -> bool {
    correction.expires_at.is_some_and(|it| it <= now)
}

/// Written, and nothing else was: the refusal commits.
fn refusal(call: &mut Call, correction: &Correction) -> Failure {
    call.note("correction", correction.id.to_string());
    let (id, by) = (correction.id, &correction.proposed_by);
    let what = correction.summary.as_deref().unwrap_or_default();
    let mine = call.caller.actor().as_str() == by;
    let who = if mine { "another member of staff" } else { "anyone else" };
    let detail = format!("proposed by {by} as {id}: {what}; {who} runs `gpuaas corrections approve {id}`");
    Failure::Refused(ProblemBuilder::new(Code::ApprovalRequired, detail))
}
