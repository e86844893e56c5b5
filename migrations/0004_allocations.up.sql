-- Allocations, what hosts were asked to do for them, and what they answered.

CREATE TABLE allocations (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  project_id uuid NOT NULL,
  name text,
  sku_id uuid NOT NULL REFERENCES skus (id),
  gpus integer NOT NULL CHECK (gpus > 0),
  nodes integer NOT NULL CHECK (nodes > 0),
  region_id uuid REFERENCES regions (id),
  same_fabric boolean NOT NULL,
  apart text,
  lease_minutes integer,
  tags jsonb NOT NULL DEFAULT '{}',
  login text NOT NULL,
  ssh_keys text[] NOT NULL,
  created_by text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  -- What it waits for, or why it failed.
  reason text,
  -- Set when what was prepared must be taken back: it ends failed, not released.
  failure text,
  needs_attention boolean NOT NULL DEFAULT false,
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  lease_ends_at timestamptz,
  active_at timestamptz,
  ended_at timestamptz,
  UNIQUE (organization_id, id),
  FOREIGN KEY (organization_id, project_id) REFERENCES projects (organization_id, id)
);
CREATE INDEX allocations_by_project ON allocations (project_id, id);
CREATE INDEX allocations_live ON allocations (organization_id, sku_id) WHERE state NOT IN ('released', 'failed');
CREATE INDEX allocations_waiting ON allocations (organization_id, created_at) WHERE state = 'requested';
CREATE INDEX allocations_ending ON allocations (lease_ends_at) WHERE lease_ends_at IS NOT NULL AND ended_at IS NULL;
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON allocations
  FOR EACH ROW EXECUTE FUNCTION guard_state('allocation');

-- What an allocation has on one node: proof that it was ready, evidence that it was cleaned.
CREATE TABLE allocation_parts (
  organization_id uuid NOT NULL,
  allocation_id uuid NOT NULL,
  node_id uuid NOT NULL REFERENCES nodes (id),
  gpus text[] NOT NULL,
  slots uuid[] NOT NULL,
  stage text,
  proof jsonb,
  evidence jsonb,
  PRIMARY KEY (allocation_id, node_id),
  FOREIGN KEY (organization_id, allocation_id) REFERENCES allocations (organization_id, id)
);
CREATE INDEX allocation_parts_by_node ON allocation_parts (node_id);

-- Signed orders to hosts. Kept until they are long over, as part of the evidence.
-- not tenant data: ids and signed bytes for hosts
CREATE TABLE tasks (
  id uuid PRIMARY KEY,
  node_id uuid NOT NULL REFERENCES nodes (id),
  -- The kind and id of the work that waits for the report.
  kind text NOT NULL,
  subject_id uuid NOT NULL,
  version bigint NOT NULL,
  verb text NOT NULL,
  key_id text NOT NULL,
  payload bytea NOT NULL,
  signature bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  delivered_at timestamptz,
  reported_at timestamptz,
  outcome jsonb
);
CREATE INDEX tasks_to_deliver ON tasks (created_at) WHERE delivered_at IS NULL AND reported_at IS NULL;
CREATE INDEX tasks_open ON tasks (node_id) WHERE reported_at IS NULL;
CREATE INDEX tasks_by_subject ON tasks (subject_id, version);
CREATE INDEX tasks_by_age ON tasks (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON tasks TO gpuaas_system;
GRANT SELECT ON tasks TO gpuaas_operator;

ALTER TABLE allocations ENABLE ROW LEVEL SECURITY;
ALTER TABLE allocations FORCE ROW LEVEL SECURITY;
ALTER TABLE allocation_parts ENABLE ROW LEVEL SECURITY;
ALTER TABLE allocation_parts FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON allocations TO gpuaas_tenant;
GRANT SELECT ON allocation_parts TO gpuaas_tenant;
CREATE POLICY tenant ON allocations TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
CREATE POLICY tenant ON allocation_parts FOR SELECT TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization()));
GRANT SELECT, UPDATE ON allocations TO gpuaas_operator;
GRANT SELECT ON allocation_parts TO gpuaas_operator;
CREATE POLICY operator ON allocations TO gpuaas_operator USING (true) WITH CHECK (true);
CREATE POLICY operator ON allocation_parts FOR SELECT TO gpuaas_operator USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON allocations, allocation_parts TO gpuaas_system;
CREATE POLICY system ON allocations TO gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY system ON allocation_parts TO gpuaas_system USING (true) WITH CHECK (true);
