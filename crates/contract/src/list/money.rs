//! The endpoints that the area `money` serves.

/// Calls `$callback!(A, B, …)` with every endpoint of the area.
#[macro_export]
macro_rules! money_endpoints {
    ($($then:tt)*) => {
        $crate::hand_over! {
            [$($then)*]
            $crate::budgets::CreateBudget,
            $crate::budgets::ListBudgets,
            $crate::budgets::GetBudget,
            $crate::budgets::ExplainBudget,
            $crate::budgets::ChangeBudget,
            $crate::budgets::DeleteBudget,
            $crate::billing_profiles::GetBillingProfile,
            $crate::billing_profiles::SetBillingProfile,
            $crate::billing_profiles::GetAnyBillingProfile,
            $crate::billing_profiles::SetAnyBillingProfile,
            $crate::billing_profiles::GetSellerProfile,
            $crate::billing_profiles::SetSellerProfile,
            $crate::corrections::GrantCredit,
            $crate::corrections::AdjustBalance,
            $crate::corrections::ReverseJournal,
            $crate::corrections::ListCorrections,
            $crate::corrections::GetCorrection,
            $crate::corrections::ApproveCorrection,
            $crate::corrections::RejectCorrection,
            $crate::invoices::ListInvoices,
            $crate::invoices::GetInvoice,
            $crate::invoices::DownloadInvoicePdf,
            $crate::invoices::DownloadInvoiceCsv,
            $crate::invoices::ListAllInvoices,
            $crate::invoices::GetAnyInvoice,
            $crate::invoices::DownloadAnyInvoicePdf,
            $crate::invoices::DownloadAnyInvoiceCsv,
            $crate::ledger::GetBalance,
            $crate::ledger::GetAnyBalance,
            $crate::ledger::ListJournals,
            $crate::ledger::ListAnyJournals,
            $crate::ledger::ProveBooks,
            $crate::ledger::ProveLedger,
            $crate::payments::CreatePayment,
            $crate::payments::ListPayments,
            $crate::payments::GetPayment,
            $crate::payments::ListAllPayments,
            $crate::payments::ListPaymentEvents,
            $crate::payments::ListPaymentDrift,
            $crate::refunds::CreateRefund,
            $crate::refunds::ListRefunds,
            $crate::revenue::GetRevenue,
            $crate::revenue::GetUtilization,
            $crate::usage::GetAllocationCost,
            $crate::usage::GetUsage,
            $crate::usage::GetAnyUsage,
            $crate::usage::ExportUsage,
            $crate::usage::ExportAnyUsage,
        }
    };
}
