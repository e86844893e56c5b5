-- The fleet: where capacity is, which hosts give it, and what it is sold as.

-- not tenant data: the platform's places, for everyone to read
CREATE TABLE regions (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT app_now()
);

-- not tenant data: the platform's own hosts
CREATE TABLE pools (
  id uuid PRIMARY KEY,
  region_id uuid NOT NULL REFERENCES regions (id),
  name text NOT NULL UNIQUE,
  provider text NOT NULL,
  isolation text NOT NULL,
  isolates_vms boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now()
);

-- not tenant data: the platform's own hosts
CREATE TABLE nodes (
  id uuid PRIMARY KEY,
  region_id uuid NOT NULL REFERENCES regions (id),
  pool_id uuid NOT NULL REFERENCES pools (id),
  name text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  -- What hosts report is kept apart from the verdict about them.
  health text NOT NULL DEFAULT 'unknown',
  health_reason text,
  health_since timestamptz NOT NULL DEFAULT app_now(),
  -- What the host itself says is wrong with it, until it says that it recovered.
  trouble text,
  inventory jsonb,
  inventory_hash text,
  fabric_domain text,
  agent_version text,
  has_wipe_script boolean NOT NULL DEFAULT false,
  -- The organization that it serves until it is sanitized.
  serves uuid REFERENCES organizations (id),
  drain_deadline_at timestamptz,
  machine_id text,
  created_at timestamptz NOT NULL DEFAULT app_now()
);
CREATE INDEX nodes_by_pool ON nodes (pool_id, id);
CREATE INDEX nodes_by_state ON nodes (state, id) WHERE state <> 'retired';
CREATE UNIQUE INDEX nodes_by_name ON nodes (pool_id, name) WHERE state <> 'retired';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON nodes
  FOR EACH ROW EXECUTE FUNCTION guard_state('node');

-- Written in batches, many times a minute, and so apart from the node itself.
-- not tenant data: the platform's own hosts
CREATE TABLE node_heartbeats (
  node_id uuid PRIMARY KEY REFERENCES nodes (id),
  last_seen_at timestamptz NOT NULL,
  generation bigint NOT NULL,
  refused bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- not tenant data: the platform's own hosts
CREATE TABLE node_certificates (
  serial text PRIMARY KEY,
  node_id uuid NOT NULL REFERENCES nodes (id),
  issued_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX node_certificates_by_node ON node_certificates (node_id);
CREATE INDEX node_certificates_revoked ON node_certificates (revoked_at) WHERE revoked_at IS NOT NULL;

-- not tenant data: how hosts join the platform
CREATE TABLE enrollment_tokens (
  id uuid PRIMARY KEY,
  hash bytea NOT NULL UNIQUE,
  pool_id uuid NOT NULL REFERENCES pools (id),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  node_id uuid REFERENCES nodes (id),
  revoked_at timestamptz
);

-- A GPU with what is near it, or later a part of one.
-- not tenant data: the platform's own hosts; who holds a slot is for staff only
CREATE TABLE slots (
  id uuid PRIMARY KEY,
  node_id uuid NOT NULL REFERENCES nodes (id),
  kind text NOT NULL DEFAULT 'gpu',
  place integer NOT NULL,
  gpu_uuid text NOT NULL,
  pci text NOT NULL,
  model text NOT NULL,
  memory_bytes bigint NOT NULL,
  numa integer,
  fabric text,
  nvme text[] NOT NULL DEFAULT '{}',
  condition text NOT NULL DEFAULT 'clean',
  condition_reason text,
  held_by uuid,
  UNIQUE (node_id, gpu_uuid)
) WITH (fillfactor = 80);
CREATE INDEX slots_by_holder ON slots (held_by) WHERE held_by IS NOT NULL;
CREATE INDEX slots_by_gpu ON slots (gpu_uuid);

-- What changed since a planner last looked: it reads every node whose change
-- is not older than the oldest transaction that ran then.
-- not tenant data: derived from nodes and slots
CREATE TABLE node_changes (
  node_id uuid PRIMARY KEY REFERENCES nodes (id),
  xid xid8 NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX node_changes_by_xid ON node_changes (xid);

CREATE FUNCTION note_node_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'slots' THEN
    INSERT INTO node_changes SELECT DISTINCT node_id, pg_current_xact_id() FROM changed ORDER BY node_id
      ON CONFLICT (node_id) DO UPDATE SET xid = excluded.xid;
  ELSE
    INSERT INTO node_changes SELECT id, pg_current_xact_id() FROM changed ORDER BY id
      ON CONFLICT (node_id) DO UPDATE SET xid = excluded.xid;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note_insert AFTER INSERT ON slots REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_node_change();
CREATE TRIGGER note_update AFTER UPDATE ON slots REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_node_change();
CREATE TRIGGER note_insert AFTER INSERT ON nodes REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_node_change();
CREATE TRIGGER note_update AFTER UPDATE ON nodes REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_node_change();

-- not tenant data: what is on offer, for everyone to read
CREATE TABLE skus (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE,
  shape text NOT NULL,
  gpu_model text,
  gpu_counts integer[] NOT NULL,
  numa_bound boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  retired_at timestamptz
);

-- Append-only: a price that was charged can always be shown.
-- not tenant data: what is on offer, for everyone to read
CREATE TABLE prices (
  id uuid PRIMARY KEY,
  sku_id uuid NOT NULL REFERENCES skus (id),
  version bigint NOT NULL,
  currency text NOT NULL,
  price_micros_per_gpu_hour bigint NOT NULL CHECK (price_micros_per_gpu_hour >= 0),
  effective_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (sku_id, currency, version)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON prices FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON prices FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE quotas (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  sku_id uuid NOT NULL REFERENCES skus (id),
  gpus integer NOT NULL CHECK (gpus >= 0),
  set_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (organization_id, sku_id)
);
ALTER TABLE quotas ENABLE ROW LEVEL SECURITY;
ALTER TABLE quotas FORCE ROW LEVEL SECURITY;
GRANT SELECT ON quotas TO gpuaas_tenant;
CREATE POLICY tenant ON quotas FOR SELECT TO gpuaas_tenant USING (organization_id = (SELECT scope_organization()));
GRANT SELECT, INSERT, UPDATE, DELETE ON quotas TO gpuaas_operator, gpuaas_system;
CREATE POLICY operator ON quotas TO gpuaas_operator USING (true) WITH CHECK (true);
CREATE POLICY system ON quotas TO gpuaas_system USING (true) WITH CHECK (true);

CREATE TABLE ssh_keys (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id),
  name text NOT NULL,
  public_key text NOT NULL,
  fingerprint text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (user_id, fingerprint)
);
CREATE UNIQUE INDEX ssh_keys_by_name ON ssh_keys (user_id, lower(name));
ALTER TABLE ssh_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE ssh_keys FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, DELETE ON ssh_keys TO gpuaas_person;
CREATE POLICY own ON ssh_keys TO gpuaas_person
  USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));
-- Asking for an allocation happens in an organization's scope.
GRANT SELECT ON ssh_keys TO gpuaas_tenant;
CREATE POLICY tenant_reads_members ON ssh_keys FOR SELECT TO gpuaas_tenant
  USING (EXISTS (SELECT FROM memberships WHERE memberships.user_id = ssh_keys.user_id AND memberships.organization_id = (SELECT scope_organization())));
GRANT SELECT, INSERT, DELETE ON ssh_keys TO gpuaas_system;
CREATE POLICY system ON ssh_keys TO gpuaas_system USING (true) WITH CHECK (true);

GRANT SELECT ON regions, skus, prices TO gpuaas_person, gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT, UPDATE ON regions, skus TO gpuaas_operator, gpuaas_system;
GRANT INSERT ON prices TO gpuaas_operator, gpuaas_system;
GRANT SELECT, INSERT, UPDATE ON pools, nodes, node_certificates, enrollment_tokens, slots, node_changes, node_heartbeats
  TO gpuaas_operator, gpuaas_system;
GRANT DELETE ON node_certificates, enrollment_tokens TO gpuaas_system;
