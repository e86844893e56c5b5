-- Payments into wallets through a provider, and what the provider says of them.
-- Money moves in the ledger alone, and only once the provider confirmed it.

CREATE TABLE payments (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  amount bigint NOT NULL CHECK (amount > 0),
  -- What the provider confirmed; in the ledger with it.
  received bigint NOT NULL DEFAULT 0 CHECK (received >= 0),
  provider text NOT NULL,
  -- The provider's names: of the page where it is paid, and of the money.
  checkout_id text,
  intent_id text,
  checkout_url text,
  trouble text,
  created_by text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (organization_id, id),
  UNIQUE (provider, checkout_id),
  UNIQUE (provider, intent_id)
);
CREATE INDEX payments_by_organization ON payments (organization_id, id);
CREATE INDEX payments_underway ON payments (id) WHERE state IN ('created', 'pending');
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON payments
  FOR EACH ROW EXECUTE FUNCTION guard_state('payment');

CREATE TABLE refunds (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  payment_id uuid NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  provider text NOT NULL,
  provider_id text,
  reason text NOT NULL,
  trouble text,
  created_by text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (provider, provider_id),
  FOREIGN KEY (organization_id, payment_id) REFERENCES payments (organization_id, id)
);
CREATE INDEX refunds_by_payment ON refunds (payment_id, id);
CREATE INDEX refunds_underway ON refunds (id) WHERE state = 'requested';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON refunds
  FOR EACH ROW EXECUTE FUNCTION guard_state('refund');

-- What payers' banks took back, as the provider says it.
CREATE TABLE disputes (
  provider text NOT NULL,
  provider_id text NOT NULL,
  organization_id uuid NOT NULL,
  payment_id uuid NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  standing text NOT NULL CHECK (standing IN ('warned', 'open', 'won', 'lost')),
  -- What the books say that the bank took, and how often that changed.
  taken bigint NOT NULL DEFAULT 0 CHECK (taken >= 0),
  moves integer NOT NULL DEFAULT 0,
  seen_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (provider, provider_id),
  FOREIGN KEY (organization_id, payment_id) REFERENCES payments (organization_id, id)
);
CREATE INDEX disputes_by_payment ON disputes (payment_id);

-- not tenant data: the provider tells the platform; whose payment it is about is found out later
CREATE TABLE payment_events (
  id uuid PRIMARY KEY,
  provider text NOT NULL,
  event_id text NOT NULL,
  kind text NOT NULL,
  object_id text,
  -- What else of the event can lead to a payment; it says nothing of people.
  intent_id text,
  named uuid,
  payment_id uuid,
  outcome text NOT NULL DEFAULT 'received' CHECK (outcome IN ('received', 'matched', 'unknown')),
  deliveries integer NOT NULL DEFAULT 1,
  received_at timestamptz NOT NULL DEFAULT app_now(),
  processed_at timestamptz,
  UNIQUE (provider, event_id)
);
CREATE INDEX payment_events_waiting ON payment_events (id) WHERE processed_at IS NULL;
CREATE INDEX payment_events_over ON payment_events (processed_at) WHERE processed_at IS NOT NULL;

-- not tenant data: what the platform's comparison with its provider found; staff alone read it
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
CREATE UNIQUE INDEX payment_drift_open ON payment_drift (provider, object_id, kind) WHERE resolved_at IS NULL;

ALTER TABLE payments ENABLE ROW LEVEL SECURITY;
ALTER TABLE payments FORCE ROW LEVEL SECURITY;
ALTER TABLE refunds ENABLE ROW LEVEL SECURITY;
ALTER TABLE refunds FORCE ROW LEVEL SECURITY;
ALTER TABLE disputes ENABLE ROW LEVEL SECURITY;
ALTER TABLE disputes FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON payments TO gpuaas_tenant;
GRANT SELECT ON refunds, disputes TO gpuaas_tenant;
-- Locking a payment for update asks for it.
GRANT SELECT, UPDATE ON payments TO gpuaas_operator;
GRANT SELECT, INSERT ON refunds TO gpuaas_operator;
GRANT SELECT ON disputes, payment_events, payment_drift TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON payments, refunds, disputes, payment_events, payment_drift TO gpuaas_system;
CREATE POLICY tenant ON payments TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
CREATE POLICY tenant ON refunds FOR SELECT TO gpuaas_tenant USING (organization_id = (SELECT scope_organization()));
CREATE POLICY tenant ON disputes FOR SELECT TO gpuaas_tenant USING (organization_id = (SELECT scope_organization()));
CREATE POLICY staff ON payments TO gpuaas_operator, gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY staff ON refunds TO gpuaas_operator, gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY staff ON disputes TO gpuaas_operator, gpuaas_system USING (true) WITH CHECK (true);
