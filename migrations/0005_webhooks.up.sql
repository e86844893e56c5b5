-- Webhooks: where organizations want their events sent, and what became of each.

CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  url text NOT NULL,
  events text[] NOT NULL,
  description text,
  -- Sealed by a key that is not in the database; absent once it is deleted.
  secret bytea,
  previous_secret bytea,
  previous_secret_until timestamptz,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  failures integer NOT NULL DEFAULT 0,
  disabled_reason text,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (organization_id, id)
);
CREATE INDEX webhooks_listening ON webhooks (organization_id) WHERE state = 'active';
CREATE INDEX webhooks_gone ON webhooks (state_since) WHERE state = 'deleted';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON webhooks
  FOR EACH ROW EXECUTE FUNCTION guard_state('webhook');

-- One row per webhook and event. What the receiver answered is not kept.
CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  event_id uuid NOT NULL,
  subject text NOT NULL,
  resource text,
  at timestamptz NOT NULL,
  correlation_id text NOT NULL,
  data jsonb NOT NULL,
  is_test boolean NOT NULL DEFAULT false,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  attempts integer NOT NULL DEFAULT 0,
  last_status integer,
  error text,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  next_attempt_at timestamptz DEFAULT app_now(),
  delivered_at timestamptz,
  UNIQUE (webhook_id, event_id),
  FOREIGN KEY (organization_id, webhook_id) REFERENCES webhooks (organization_id, id)
);
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_untried ON webhook_deliveries (webhook_id, resource, id)
  WHERE state = 'pending' AND attempts = 0;
CREATE INDEX webhook_deliveries_over ON webhook_deliveries (state_since) WHERE state <> 'pending';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON webhook_deliveries
  FOR EACH ROW EXECUTE FUNCTION guard_state('webhook_delivery');

ALTER TABLE webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhooks FORCE ROW LEVEL SECURITY;
ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_deliveries FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON webhooks, webhook_deliveries TO gpuaas_tenant;
CREATE POLICY tenant ON webhooks TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
CREATE POLICY tenant ON webhook_deliveries TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks, webhook_deliveries TO gpuaas_system;
CREATE POLICY system ON webhooks TO gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY system ON webhook_deliveries TO gpuaas_system USING (true) WITH CHECK (true);
