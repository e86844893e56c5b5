//! Does what waited for a second person.

use contract::corrections::Correction;
use fleet::prices;
use platform::{
    four_eyes::Proposal,
    http::{Call, Failure},
    policies,
};

use crate::{MoneyArea, refunds};

/// Does what was asked for, once, and says what came of it. All of it is checked
/// again: money, prices and policies may have changed since.
pub async fn carry_out(
    area: &MoneyArea,
    call: &mut Call,
    correction: &Correction,
    proposal: Proposal,
) -> Result<String, Failure> {
    call.caller.check_platform(proposal.permission())?;
    Ok(match proposal {
        Proposal::Refund { payment_id, amount_micros } => {
            let by = refunds::By { actor: &correction.proposed_by, reason: &correction.reason };
            refunds::create(area, call, payment_id, amount_micros, by).await?.id.to_string()
        }
        Proposal::Price { sku_id, price } => prices::set_late(call, sku_id, price).await?.id.to_string(),
        Proposal::Policy { key, value } => {
            policies::change(call, &key, value.as_deref()).await?;
            key
        }
    })
}
