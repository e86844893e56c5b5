//! `gpuaas billing-profile`: what is printed about who sells and who buys.

use clap::{Args, Subcommand};
use contract::{
    Email, Nothing, Within,
    billing_profiles::{
        BillingProfileSpec, GetAnyBillingProfile, GetBillingProfile, GetSellerProfile, PartySpec, PrintedLine,
        SetAnyBillingProfile, SetBillingProfile, SetSellerProfile, TaxSpec,
    },
};

use crate::{
    arguments,
    context::Context,
    failure::{Done, Failure},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas billing-profile get
  gpuaas billing-profile set --name \"Acme AG\" --address \"Hauptstrasse 1\" --address \"8001 Zürich\" --tax-id CHE-123

For platform staff:
  gpuaas billing-profile set --platform --name \"GPU Cloud Ltd\" --address \"1 Main St\" --tax-name VAT --tax-percent 19
  gpuaas billing-profile set --for-organization acme --name \"Acme AG\" --tax-name VAT --tax-percent 0 --tax-note \"Reverse charge\"

Invoices are issued once the platform's profile is set. An invoice keeps the
details it was issued with; changes apply to later invoices only.";

/// Manage the seller and buyer details printed on invoices
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum BillingProfile {
    /// Show the billing profile
    Get {
        #[command(flatten)]
        whose: OwnerArguments,
    },
    /// Set the billing profile, replacing all fields
    Set {
        /// Legal name
        #[arg(long, value_parser = arguments::text::<PrintedLine>)]
        name: PrintedLine,
        /// Line of the postal address; repeat for each line
        #[arg(long, value_parser = arguments::text::<PrintedLine>)]
        address: Vec<PrintedLine>,
        /// Tax or VAT number
        #[arg(long, value_parser = arguments::text::<PrintedLine>)]
        tax_id: Option<PrintedLine>,
        /// Billing contact email address
        #[arg(long, value_parser = arguments::text::<Email>)]
        email: Option<Email>,
        #[command(flatten)]
        tax: Tax,
        #[command(flatten)]
        whose: OwnerArguments,
    },
}

/// How it is taxed, which staff say.
#[derive(Debug, Args)]
pub struct Tax {
    /// Name of the tax, such as VAT (platform staff)
    #[arg(long, requires = "tax_percent", value_parser = arguments::text::<PrintedLine>)]
    tax_name: Option<PrintedLine>,
    /// Tax rate in percent, with at most two decimals (platform staff)
    #[arg(long, requires = "tax_name", value_parser = percent)]
    tax_percent: Option<Within<0, 10_000>>,
    /// Tax note printed on invoices (platform staff)
    #[arg(long, requires = "tax_name", value_parser = arguments::text::<PrintedLine>)]
    tax_note: Option<PrintedLine>,
}

#[derive(Debug, Args)]
pub struct OwnerArguments {
    /// Use the platform's own profile, the seller (platform staff)
    #[arg(long, conflicts_with = "for_organization")]
    platform: bool,
    /// Act on another organization, by ID or name (platform staff)
    #[arg(long, value_name = "ORGANIZATION")]
    for_organization: Option<String>,
}

impl BillingProfile {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            BillingProfile::Get { whose } => match whose.for_organization {
                Some(buyer) => {
                    context.ask::<GetAnyBillingProfile>(context.any_organization_named(&buyer).await?).await?
                }
                None if whose.platform => context.ask::<GetSellerProfile>(Nothing {}).await?,
                None => context.ask::<GetBillingProfile>(context.organization().await?).await?,
            },
            BillingProfile::Set { name, address, tax_id, email, tax, whose } => {
                let party = PartySpec { legal_name: name, address, tax_id, email };
                let tax = tax.spec();
                let spec = BillingProfileSpec { tax: tax.clone(), ..party.clone().into() };
                match whose.for_organization {
                    Some(buyer) => {
                        let path = context.any_organization_named(&buyer).await?;
                        context.send::<SetAnyBillingProfile>(path, spec).await?
                    }
                    None if whose.platform => context.send::<SetSellerProfile>(Nothing {}, spec).await?,
                    None if tax.is_some() => {
                        return Err(Failure::usage(
                            "only platform staff can set an organization's taxes",
                            "Remove the tax flags, or name the organization with --for-organization.",
                        ));
                    }
                    None => context.send::<SetBillingProfile>(context.organization().await?, party).await?,
                }
            }
        };
        context.output.item_known_by(&answer, "/party/legal_name")
    }
}

impl Tax {
    fn spec(self) -> Option<TaxSpec> {
        let (name, basis_points) = self.tax_name.zip(self.tax_percent)?;
        Some(TaxSpec { name, basis_points, note: self.tax_note })
    }
}

/// A percentage as hundredths of one.
fn percent(text: &str) -> Result<Within<0, 10_000>, String> {
    let refused = || "expected a percentage from 0 to 100 with at most two decimals, such as 19 or 7.7".to_owned();
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 3 || decimals.len() > 2 || !digits(whole) || !digits(decimals) {
        return Err(refused());
    }
    format!("{whole}{decimals:0<2}").parse().ok().and_then(Within::new).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_exactly() {
        let read = |text: &str| percent(text).map(Within::get).ok();
        assert_eq!(read("19"), Some(1900));
        assert_eq!(read("7.7"), Some(770));
        assert_eq!(read("8.25"), Some(825));
        assert_eq!(read("100"), Some(10_000));
        for bad in ["", "101", "-1", "1.234", "1,5", "x", ".5"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
