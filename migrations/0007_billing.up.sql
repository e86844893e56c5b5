-- How usage is paid for: wallets and holds, budgets, payments, invoices and corrections.
-- Money moves in the ledger alone.

-- Wallets ---------------------------------------------------------------------

-- Stores no balance: its row is for locking, so that requests take turns, and for the
-- state of the organization's money.
CREATE TABLE wallets (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  organization_id uuid NOT NULL REFERENCES organizations (id),
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  state text NOT NULL DEFAULT 'funded',
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  -- When allocations that cannot be paid for end; null while none is about to.
  grace_ends_at timestamptz,
  -- The balance in the last notification that it is low.
  last_notified_balance_micros bigint,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (organization_id, currency)
);
COMMENT ON TABLE wallets IS 'Wallets of organizations, one per currency: whether their money lasts.';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON wallets
  FOR EACH ROW EXECUTE FUNCTION guard_state('wallet');
CALL tenant_table('wallets');
-- Locking a row for update requires the right to update it.
GRANT SELECT, INSERT, UPDATE ON wallets TO gpuaas_tenant;
GRANT SELECT, INSERT ON wallets TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON wallets TO gpuaas_system;
CREATE POLICY operator ON wallets FOR SELECT TO gpuaas_operator USING (true);
-- Posting money creates the wallet that it is for.
CREATE POLICY operator_adds ON wallets FOR INSERT TO gpuaas_operator WITH CHECK (true);

-- Holds -----------------------------------------------------------------------

-- An authorization, as on a card, for a subject. Until the subject is metered, all of it is held;
-- then the time from now to `held_to`, so that usage consumes it just by time passing.
CREATE TABLE holds (
  organization_id uuid NOT NULL REFERENCES organizations (id),
  subject_kind text NOT NULL,
  subject_id uuid NOT NULL,
  meter text NOT NULL,
  currency text NOT NULL,
  micros_per_hour bigint NOT NULL CHECK (micros_per_hour > 0),
  seconds bigint NOT NULL CHECK (seconds > 0),
  held_to timestamptz,
  PRIMARY KEY (organization_id, subject_id, meter)
);
COMMENT ON TABLE holds IS 'Money held in a wallet for what a subject may cost at most.';
CREATE INDEX holds_by_organization ON holds (organization_id, currency);
CALL tenant_table('holds');
GRANT SELECT, INSERT, UPDATE ON holds TO gpuaas_tenant;
GRANT SELECT ON holds TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON holds TO gpuaas_system;
CREATE POLICY operator ON holds FOR SELECT TO gpuaas_operator USING (true);

-- Budgets ---------------------------------------------------------------------

-- Spending is computed from usage, never stored.
CREATE TABLE budgets (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  -- Whose usage it bounds: all of the project, or that of something inside it.
  subject_kind text NOT NULL DEFAULT 'project'
    CHECK (subject_kind IN ('project', 'allocation', 'volume', 'app_instance', 'deployment')),
  subject_id uuid NOT NULL,
  amount_micros bigint NOT NULL CHECK (amount_micros > 0),
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  period text NOT NULL CHECK (period IN ('month', 'quarter', 'year', 'total')),
  mode text NOT NULL CHECK (mode IN ('hard', 'notify')),
  -- Percentages of the amount, ascending.
  thresholds integer[] NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (organization_id, id),
  FOREIGN KEY (organization_id, project_id) REFERENCES projects (organization_id, id)
);
COMMENT ON TABLE budgets IS 'Budgets of projects, which notify or also refuse.';
CREATE INDEX budgets_by_project ON budgets (project_id, id);
CALL tenant_table('budgets');
GRANT SELECT, INSERT, UPDATE, DELETE ON budgets TO gpuaas_tenant, gpuaas_system;

CREATE TABLE budget_notices (
  organization_id uuid NOT NULL,
  budget_id uuid NOT NULL,
  since timestamptz NOT NULL,
  percent integer NOT NULL,
  at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (budget_id, since, percent),
  FOREIGN KEY (organization_id, budget_id) REFERENCES budgets (organization_id, id) ON DELETE CASCADE
);
COMMENT ON TABLE budget_notices IS 'Thresholds that were announced, so that each is announced once in a period.';
CALL tenant_table('budget_notices');
GRANT SELECT, DELETE ON budget_notices TO gpuaas_tenant;
GRANT SELECT, INSERT, DELETE ON budget_notices TO gpuaas_system;

-- Payments --------------------------------------------------------------------

CREATE TABLE payments (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  amount bigint NOT NULL CHECK (amount > 0),
  -- The amount that the provider confirmed; posted to the ledger in the same transaction.
  received bigint NOT NULL DEFAULT 0 CHECK (received >= 0),
  provider text NOT NULL,
  -- The provider's ids: of the checkout page, and of the money.
  checkout_id text,
  intent_id text,
  checkout_url text,
  last_error text,
  created_by text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (organization_id, id),
  UNIQUE (provider, checkout_id),
  UNIQUE (provider, intent_id)
);
COMMENT ON TABLE payments IS 'Payments into wallets through a payment provider.';
CREATE INDEX payments_by_organization ON payments (organization_id, id);
CREATE INDEX payments_underway ON payments (id) WHERE state IN ('created', 'pending');
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON payments
  FOR EACH ROW EXECUTE FUNCTION guard_state('payment');
CALL tenant_table('payments');
GRANT SELECT, INSERT ON payments TO gpuaas_tenant;
-- Locking a row for update requires the right to update it.
GRANT SELECT, UPDATE ON payments TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON payments TO gpuaas_system;
CREATE POLICY operator ON payments TO gpuaas_operator USING (true) WITH CHECK (true);

CREATE TABLE refunds (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  payment_id uuid NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  provider text NOT NULL,
  provider_id text,
  reason text NOT NULL,
  last_error text,
  created_by text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (provider, provider_id),
  FOREIGN KEY (organization_id, payment_id) REFERENCES payments (organization_id, id)
);
COMMENT ON TABLE refunds IS 'Refunds of payments.';
CREATE INDEX refunds_by_payment ON refunds (payment_id, id);
CREATE INDEX refunds_underway ON refunds (id) WHERE state = 'requested';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON refunds
  FOR EACH ROW EXECUTE FUNCTION guard_state('refund');
CALL tenant_table('refunds', 'SELECT');
GRANT SELECT ON refunds TO gpuaas_tenant;
GRANT SELECT, INSERT ON refunds TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON refunds TO gpuaas_system;
CREATE POLICY operator ON refunds TO gpuaas_operator USING (true) WITH CHECK (true);

CREATE TABLE disputes (
  provider text NOT NULL,
  provider_id text NOT NULL,
  organization_id uuid NOT NULL,
  payment_id uuid NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  standing text NOT NULL CHECK (standing IN ('warned', 'open', 'won', 'lost')),
  -- The amount that the ledger shows as withdrawn by the bank, and how often it changed.
  taken bigint NOT NULL DEFAULT 0 CHECK (taken >= 0),
  moves integer NOT NULL DEFAULT 0,
  seen_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (provider, provider_id),
  FOREIGN KEY (organization_id, payment_id) REFERENCES payments (organization_id, id)
);
COMMENT ON TABLE disputes IS 'Payments that a payer disputed at their bank, as the provider reports it.';
CREATE INDEX disputes_by_payment ON disputes (payment_id);
CALL tenant_table('disputes', 'SELECT');
GRANT SELECT ON disputes TO gpuaas_tenant, gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON disputes TO gpuaas_system;
CREATE POLICY operator ON disputes TO gpuaas_operator USING (true) WITH CHECK (true);

-- not tenant data: reports of the provider to the platform; the payment that each is about is found later
CREATE TABLE payment_events (
  id uuid PRIMARY KEY,
  provider text NOT NULL,
  event_id text NOT NULL,
  kind text NOT NULL,
  object_id text,
  -- Other ids in the event that can lead to a payment; none is personal data.
  intent_id text,
  named uuid,
  payment_id uuid,
  outcome text NOT NULL DEFAULT 'received' CHECK (outcome IN ('received', 'matched', 'unknown')),
  deliveries integer NOT NULL DEFAULT 1,
  received_at timestamptz NOT NULL DEFAULT app_now(),
  processed_at timestamptz,
  UNIQUE (provider, event_id)
);
COMMENT ON TABLE payment_events IS 'Events that a payment provider delivered.';
CREATE INDEX payment_events_waiting ON payment_events (id) WHERE processed_at IS NULL;
CREATE INDEX payment_events_over ON payment_events (processed_at) WHERE processed_at IS NOT NULL;
GRANT SELECT ON payment_events TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON payment_events TO gpuaas_system;

-- not tenant data: differences between the platform and its provider; only staff read them
CREATE TABLE payment_drift (
  id uuid PRIMARY KEY,
  provider text NOT NULL,
  object_id text NOT NULL,
  kind text NOT NULL,
  payment_id uuid,
  currency text,
  provider_micros bigint NOT NULL,
  ledger_micros bigint NOT NULL,
  found_at timestamptz NOT NULL DEFAULT app_now(),
  seen_at timestamptz NOT NULL DEFAULT app_now(),
  resolved_at timestamptz
);
COMMENT ON TABLE payment_drift IS 'Differences between the ledger and the records of a payment provider.';
CREATE UNIQUE INDEX payment_drift_open ON payment_drift (provider, object_id, kind) WHERE resolved_at IS NULL;
GRANT SELECT ON payment_drift TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON payment_drift TO gpuaas_system;

-- Invoices --------------------------------------------------------------------

-- The month that a moment is in begins, and the next one; months are those of UTC.
CREATE FUNCTION month_of(at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN date_trunc('month', at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
CREATE FUNCTION month_after(at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN (date_trunc('month', at AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC';

CREATE TABLE billing_profiles (
  -- Null for the seller.
  organization_id uuid UNIQUE NULLS NOT DISTINCT REFERENCES organizations (id),
  legal_name text NOT NULL,
  address text[] NOT NULL,
  tax_id text,
  email text,
  -- The tax of the seller's profile where unset.
  tax_name text,
  tax_basis_points integer CHECK (tax_basis_points BETWEEN 0 AND 10000),
  tax_note text,
  set_at timestamptz NOT NULL DEFAULT app_now(),
  CHECK ((tax_name IS NULL) = (tax_basis_points IS NULL))
);
COMMENT ON TABLE billing_profiles IS 'Names, addresses and taxes of buyers and of the seller, as invoices print them.';
CALL tenant_table('billing_profiles');
GRANT SELECT, INSERT, UPDATE ON billing_profiles TO gpuaas_tenant, gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON billing_profiles TO gpuaas_system;
-- The seller is no secret: it is on every invoice.
CREATE POLICY seller ON billing_profiles FOR SELECT TO gpuaas_tenant USING (organization_id IS NULL);
CREATE POLICY operator ON billing_profiles TO gpuaas_operator USING (true) WITH CHECK (true);

CREATE TABLE invoicing (
  organization_id uuid PRIMARY KEY REFERENCES organizations (id),
  -- The beginning of the first month that is not done.
  month timestamptz NOT NULL,
  -- The newest journal that was searched for reversals.
  journal bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE invoicing IS 'Progress of invoicing: the next month of each organization.';
CALL secure_table('invoicing');
GRANT SELECT, INSERT, UPDATE, DELETE ON invoicing TO gpuaas_system;

CREATE TABLE invoices (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  year integer NOT NULL,
  serial bigint NOT NULL CHECK (serial > 0),
  number text NOT NULL UNIQUE GENERATED ALWAYS AS (year::text || '-' || lpad(serial::text, greatest(6, length(serial::text)), '0')) STORED,
  kind text NOT NULL CHECK (kind IN ('invoice', 'credit_note')),
  -- The invoice that a credit note corrects, and the journal that reversed the usage.
  corrects uuid,
  reversal bigint,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL,
  issued_at timestamptz NOT NULL,
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  seller jsonb NOT NULL,
  buyer jsonb NOT NULL,
  -- The tag by whose values the lines are split; null if they are not.
  tag_key text,
  lines jsonb NOT NULL,
  subtotal_micros bigint NOT NULL,
  rounding_micros bigint NOT NULL,
  tax jsonb,
  tax_micros bigint NOT NULL,
  total_micros bigint NOT NULL CHECK (total_micros = subtotal_micros + rounding_micros + tax_micros),
  paid_micros bigint NOT NULL,
  due_micros bigint NOT NULL CHECK (paid_micros + due_micros = total_micros),
  -- The journal that posted rounding and tax, and the newest journal at the issue.
  journal bigint,
  journals bigint NOT NULL,
  pdf bytea NOT NULL,
  UNIQUE (year, serial),
  UNIQUE (organization_id, id),
  CHECK ((kind = 'credit_note') = (corrects IS NOT NULL AND reversal IS NOT NULL)),
  FOREIGN KEY (organization_id, corrects) REFERENCES invoices (organization_id, id),
  FOREIGN KEY (organization_id, reversal) REFERENCES journals (organization_id, number),
  FOREIGN KEY (organization_id, journal) REFERENCES journals (organization_id, number)
);
COMMENT ON TABLE invoices IS 'Invoices and credit notes, as issued, with their PDF.';
CREATE UNIQUE INDEX invoices_once ON invoices (organization_id, period_start, currency) WHERE kind = 'invoice';
CREATE UNIQUE INDEX invoices_corrected_once ON invoices (organization_id, reversal, currency) WHERE kind = 'credit_note';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON invoices FOR EACH ROW EXECUTE FUNCTION forbid_change();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON invoices FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();
CALL tenant_table('invoices', 'SELECT');
GRANT SELECT ON invoices TO gpuaas_tenant, gpuaas_operator;
GRANT SELECT, INSERT ON invoices TO gpuaas_system;
CREATE POLICY operator ON invoices TO gpuaas_operator USING (true) WITH CHECK (true);

-- A sequence of the database would leave gaps when a transaction rolls back. This row is
-- locked until the invoice is committed, so that a number is used or was never taken.
-- not tenant data: counts the invoices of everybody
CREATE TABLE invoice_series (
  year integer PRIMARY KEY,
  last bigint NOT NULL CHECK (last > 0),
  issued_at timestamptz NOT NULL
);
COMMENT ON TABLE invoice_series IS 'The last invoice number of each year.';
GRANT SELECT, INSERT, UPDATE ON invoice_series TO gpuaas_system;

CREATE FUNCTION guard_series() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NEW.last = 1 THEN
    RETURN NEW;
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.year = OLD.year AND NEW.last = OLD.last + 1 AND NEW.issued_at >= OLD.issued_at THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'invoice numbers go up one by one: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
COMMENT ON FUNCTION guard_series() IS 'Lets invoice numbers only go up, one by one.';
CREATE TRIGGER one_by_one BEFORE INSERT OR UPDATE OR DELETE ON invoice_series FOR EACH ROW EXECUTE FUNCTION guard_series();
CREATE TRIGGER one_by_one_whole BEFORE TRUNCATE ON invoice_series FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();

-- At the commit, because the invoice is written after its number is taken.
CREATE FUNCTION check_series() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM invoices i WHERE i.year = NEW.year AND i.serial = NEW.last) THEN
    RAISE EXCEPTION 'invoice number %-% was taken for no invoice', NEW.year, NEW.last USING ERRCODE = 'foreign_key_violation';
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION check_series() IS 'Refuses a number that no invoice has at the commit.';
CREATE CONSTRAINT TRIGGER no_gap AFTER INSERT OR UPDATE ON invoice_series DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION check_series();

-- Corrections -----------------------------------------------------------------

CREATE TABLE corrections (
  id uuid PRIMARY KEY,
  -- Null where the correction is about the platform.
  organization_id uuid REFERENCES organizations (id),
  kind text NOT NULL CHECK (kind IN ('credit', 'adjustment', 'reversal', 'refund', 'price', 'policy')),
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  currency text CHECK (currency ~ '^[A-Z]{3}$'),
  amount bigint CHECK (amount <> 0),
  reverses bigint,
  -- The request that is carried out once it is approved, and the same in words.
  request jsonb,
  summary text,
  reason text NOT NULL,
  proposed_by text NOT NULL,
  decided_by text,
  decision text,
  -- The journal that was posted for it; or the id of a refund or a price, or the key of a policy.
  number bigint,
  result text,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  CHECK ((kind = 'reversal') = (reverses IS NOT NULL)),
  CONSTRAINT corrections_organization CHECK ((kind IN ('price', 'policy')) = (organization_id IS NULL)),
  CONSTRAINT corrections_amount CHECK ((kind IN ('credit', 'adjustment')) = (amount IS NOT NULL AND currency IS NOT NULL)),
  CONSTRAINT corrections_request CHECK ((kind IN ('refund', 'price', 'policy')) = (request IS NOT NULL AND summary IS NOT NULL)),
  CONSTRAINT corrections_posted CHECK (state <> 'posted' OR number IS NOT NULL OR result IS NOT NULL),
  FOREIGN KEY (organization_id, reverses) REFERENCES journals (organization_id, number),
  FOREIGN KEY (organization_id, number) REFERENCES journals (organization_id, number)
);
COMMENT ON TABLE corrections IS
  'Changes of money, prices and policies by staff: proposed by one person and, where policy requires it, approved by another.';
CREATE INDEX corrections_proposed ON corrections (expires_at) WHERE state = 'proposed';
-- The same request, made again while it waits, is the same correction.
CREATE UNIQUE INDEX corrections_waiting ON corrections (request) WHERE state = 'proposed';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON corrections
  FOR EACH ROW EXECUTE FUNCTION guard_state('correction');
CALL secure_table('corrections');
GRANT SELECT, INSERT, UPDATE ON corrections TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON corrections TO gpuaas_system;
CREATE POLICY operator ON corrections TO gpuaas_operator USING (true) WITH CHECK (true);
