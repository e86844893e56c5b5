REVOKE SELECT (id, organization_id, name) ON projects FROM gpuaas_operator;
DROP INDEX journals_by_window;
DROP TABLE invoices, invoicing, invoice_series, billing_profiles;
DROP FUNCTION charges, check_series, guard_series, month_after, month_of;
DELETE FROM work WHERE kind = 'invoices';
