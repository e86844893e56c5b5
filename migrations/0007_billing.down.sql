DROP TABLE corrections, invoice_series, invoices, invoicing, billing_profiles;
DROP FUNCTION check_series, guard_series, month_after, month_of;
DROP TABLE payment_drift, payment_events, disputes, refunds, payments;
DROP TABLE budget_notices, budgets;
DROP TABLE holds;
DROP TABLE wallets;
DELETE FROM work WHERE kind IN ('wallet', 'budget');
