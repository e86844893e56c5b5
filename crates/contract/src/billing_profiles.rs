//! Billing profiles: what is printed about the seller and the buyer on
//! invoices. Each invoice keeps a copy of what it was issued with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Email, Timestamp, Within, endpoint, organizations::OrganizationPath};

endpoint! {
    /// Show what is printed about the organization on its invoices.
    GetBillingProfile = GET "/v1/organizations/{organization_id}/billing-profile" {
        path: OrganizationPath,
        returns: 200 BillingProfile,
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Set what is printed about the organization on its invoices from now on.
    SetBillingProfile = PUT "/v1/organizations/{organization_id}/billing-profile" {
        path: OrganizationPath,
        body: PartySpec,
        returns: 200 BillingProfile,
        auth: Organization(BillingProfileWrite),
        lane: Financial,
        idempotency: Natural,
        audit: Action("billing_profile.set"),
        problems: [InvalidValue, Suspended],
    }
}

endpoint! {
    /// Show what is printed about any organization on its invoices, and how it is taxed.
    GetAnyBillingProfile = GET "/v1/platform/organizations/{organization_id}/billing-profile" {
        path: OrganizationPath,
        returns: 200 BillingProfile,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.billing_profile.read"),
        problems: [NotFound],
    }
}

endpoint! {
    /// Set what is printed about any organization on its invoices, and how it is taxed.
    SetAnyBillingProfile = PUT "/v1/platform/organizations/{organization_id}/billing-profile" {
        path: OrganizationPath,
        body: BillingProfileSpec,
        returns: 200 BillingProfile,
        auth: Platform(PlatformLedgerWrite),
        lane: Financial,
        idempotency: Natural,
        audit: Action("platform.billing_profile.set"),
        problems: [NotFound, InvalidValue],
    }
}

endpoint! {
    /// Show the seller: what is printed about the platform on every invoice.
    GetSellerProfile = GET "/v1/platform/billing-profile" {
        returns: 200 BillingProfile,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Set the seller, and the default tax.
    ///
    /// Invoices are issued once this is set.
    SetSellerProfile = PUT "/v1/platform/billing-profile" {
        body: BillingProfileSpec,
        returns: 200 BillingProfile,
        auth: Platform(PlatformLedgerWrite),
        lane: Financial,
        idempotency: Natural,
        audit: Action("platform.seller_profile.set"),
        problems: [InvalidValue],
    }
}

text! {
    /// A line that is printed on invoices.
    PrintedLine {
        schema: { "type": "string", "minLength": 1, "maxLength": 120, "pattern": r"^[^\x00-\x1f\x7f]+$" },
        rule: |text| (1..=120).contains(&text.chars().count()) && !text.chars().any(|it| it.is_ascii_control()),
        otherwise: "a printed line has 1 to 120 characters without control characters",
    }
}

/// A seller or buyer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartySpec {
    pub legal_name: PrintedLine,
    /// Lines of the postal address, the country last.
    #[schemars(length(max = 6))]
    pub address: Vec<PrintedLine>,
    /// A tax or VAT number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_id: Option<PrintedLine>,
    /// The contact for invoices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<Email>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BillingProfileSpec {
    pub legal_name: PrintedLine,
    /// Lines of the postal address, the country last.
    #[schemars(length(max = 6))]
    pub address: Vec<PrintedLine>,
    /// A tax or VAT number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_id: Option<PrintedLine>,
    /// The contact for invoices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<Email>,
    /// The tax. Default: the seller's tax, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<TaxSpec>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaxSpec {
    /// Its name, as in `VAT`.
    pub name: PrintedLine,
    /// Hundredths of a percent: 1900 is 19 %.
    pub basis_points: Within<0, 10_000>,
    /// A sentence for the invoice, as in `Reverse charge`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<PrintedLine>,
}

/// A seller or buyer, as printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Party {
    pub legal_name: String,
    pub address: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// A tax.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tax {
    pub name: String,
    /// Hundredths of a percent: 1900 is 19 %.
    pub basis_points: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BillingProfile {
    pub party: Party,
    /// Absent when the seller's tax applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<Tax>,
    pub set_at: Timestamp,
}

impl From<PartySpec> for BillingProfileSpec {
    fn from(spec: PartySpec) -> Self {
        let PartySpec { legal_name, address, tax_id, email } = spec;
        Self { legal_name, address, tax_id, email, tax: None }
    }
}
