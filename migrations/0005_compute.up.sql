-- Compute: what can be requested, how much of it, allocations, and the orders that
-- hosts receive for them.

-- SKUs and quotas -------------------------------------------------------------

-- not tenant data: what is on offer, for everyone to read
CREATE TABLE skus (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE,
  shape text NOT NULL,
  gpu_model text,
  gpu_counts integer[] NOT NULL,
  numa_bound boolean NOT NULL,
  -- What a login may use of a host besides GPUs; its share of the host where empty.
  limits jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT app_now(),
  retired_at timestamptz
);
COMMENT ON TABLE skus IS 'Products that can be requested: a shape of workload with a GPU model and counts.';
GRANT SELECT ON skus TO gpuaas_person, gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT, UPDATE ON skus TO gpuaas_operator, gpuaas_system;

CREATE TABLE quotas (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  sku_id uuid NOT NULL REFERENCES skus (id),
  gpus integer NOT NULL CHECK (gpus >= 0),
  set_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (organization_id, sku_id)
);
COMMENT ON TABLE quotas IS 'The number of GPUs of a SKU that an organization may hold.';
CALL tenant_table('quotas', 'SELECT');
GRANT SELECT ON quotas TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON quotas TO gpuaas_operator, gpuaas_system;
CREATE POLICY operator ON quotas TO gpuaas_operator USING (true) WITH CHECK (true);

-- Allocations -----------------------------------------------------------------

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
  spread_group text,
  lease_minutes integer,
  tags jsonb NOT NULL DEFAULT '{}',
  -- The currency that it is charged in, chosen by the request.
  currency text NOT NULL DEFAULT 'USD',
  login text NOT NULL,
  created_by text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  -- What it waits for, or why it failed: a code with parameters, worded where it is read.
  reason jsonb,
  -- Set, like the reason, when what was prepared must be undone: it ends failed, not released.
  failure jsonb,
  needs_attention boolean NOT NULL DEFAULT false,
  attempts integer NOT NULL DEFAULT 0,
  -- Whether it was visited and found no room.
  is_waiting boolean NOT NULL DEFAULT false,
  -- False while it would not fit even if nothing else were on the nodes in service: it
  -- does not hold up the queue.
  could_run boolean NOT NULL DEFAULT true,
  -- Since when nodes are kept free for it, because it waited too long.
  kept_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  lease_ends_at timestamptz,
  -- The end of the lease that its project was last warned of.
  lease_warning_sent_for timestamptz,
  active_at timestamptz,
  -- From when its stopped time counts; starts leave it, also those that fail.
  stopped_since timestamptz,
  -- The beginning of the stop that its requester was warned of: it gives up its slots.
  stop_notified_for timestamptz,
  -- The last heartbeat of a host of it that is lost: nothing is charged beyond that.
  alive_until timestamptz,
  ended_at timestamptz,
  UNIQUE (organization_id, id),
  FOREIGN KEY (organization_id, project_id) REFERENCES projects (organization_id, id)
);
COMMENT ON TABLE allocations IS 'GPUs that a project requested, from the request to the release.';
CREATE INDEX allocations_by_project ON allocations (project_id, id);
CREATE INDEX allocations_live ON allocations (organization_id, sku_id) WHERE state NOT IN ('released', 'failed');
CREATE INDEX allocations_requested ON allocations (organization_id, created_at) WHERE state = 'requested';
CREATE INDEX allocations_waiting ON allocations (sku_id, created_at, id) WHERE state = 'requested' AND is_waiting;
CREATE INDEX allocations_active ON allocations (organization_id, id) WHERE state = 'active';
CREATE INDEX allocations_ending ON allocations (lease_ends_at) WHERE lease_ends_at IS NOT NULL AND ended_at IS NULL;
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON allocations
  FOR EACH ROW EXECUTE FUNCTION guard_state('allocation');
CALL tenant_table('allocations');
GRANT SELECT, INSERT, UPDATE ON allocations TO gpuaas_tenant;
GRANT SELECT, UPDATE ON allocations TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON allocations TO gpuaas_system;
CREATE POLICY operator ON allocations TO gpuaas_operator USING (true) WITH CHECK (true);

-- Running time pays back stopped time. Otherwise a start of a few seconds would begin a
-- new period of grace; and work of every day would run into the limit. What a
-- suspension stopped counts from the resume, when the organization's state began.
CREATE FUNCTION count_stopped_time() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
DECLARE
  -- bound: each hour of running takes so many hours off, so that keeping the slots costs at least a tenth of that time
  paid_back CONSTANT integer := 10;
  ran interval := greatest(NEW.state_since - OLD.state_since, interval '0');
  stopped interval;
BEGIN
  SELECT OLD.state_since - greatest(OLD.stopped_since, o.state_since) INTO stopped
    FROM organizations o WHERE o.id = NEW.organization_id AND OLD.stopped_since IS NOT NULL;
  NEW.stopped_since := NEW.state_since - greatest(stopped - paid_back * ran, interval '0');
  RETURN NEW;
END $$;
COMMENT ON FUNCTION count_stopped_time() IS 'Counts how long an allocation has been stopped, less what running has paid back.';
CREATE TRIGGER count_stopped_time BEFORE UPDATE OF state ON allocations
  FOR EACH ROW WHEN (OLD.state = 'active' AND NEW.state = 'stopping') EXECUTE FUNCTION count_stopped_time();

-- Whether an allocation counts against limits, quotas and shares: it has not ended, and no host of it is lost.
CREATE FUNCTION counts_against_limits(state text, alive_until timestamptz) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN state NOT IN ('released', 'failed') AND alive_until IS NULL;

CREATE TABLE allocation_parts (
  organization_id uuid NOT NULL,
  allocation_id uuid NOT NULL,
  node_id uuid NOT NULL REFERENCES nodes (id),
  -- The name of the host to log in to, as it was when the allocation was placed.
  host text,
  gpus text[] NOT NULL,
  slots uuid[] NOT NULL,
  stage text,
  proof jsonb,
  evidence jsonb,
  PRIMARY KEY (allocation_id, node_id),
  FOREIGN KEY (organization_id, allocation_id) REFERENCES allocations (organization_id, id)
);
COMMENT ON TABLE allocation_parts IS
  'The part of an allocation on one node: its GPUs, the proof that it was ready, the evidence that it was cleaned.';
CREATE INDEX allocation_parts_by_node ON allocation_parts (node_id);
CALL tenant_table('allocation_parts', 'SELECT');
GRANT SELECT ON allocation_parts TO gpuaas_tenant, gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON allocation_parts TO gpuaas_system;
CREATE POLICY operator ON allocation_parts FOR SELECT TO gpuaas_operator USING (true);

-- References, not copies of keys. What is written on hosts is derived from these at each
-- visit and from who is a member then, so that a reference to a former member, or to
-- a deleted key, lets nobody in. Hence no foreign keys to people.
CREATE TABLE allocation_keys (
  organization_id uuid NOT NULL,
  allocation_id uuid NOT NULL,
  user_id uuid NOT NULL,
  ssh_key_id uuid NOT NULL,
  place integer NOT NULL,
  PRIMARY KEY (allocation_id, ssh_key_id),
  FOREIGN KEY (organization_id, allocation_id) REFERENCES allocations (organization_id, id)
);
COMMENT ON TABLE allocation_keys IS 'SSH keys that may log in to an allocation.';
CREATE INDEX allocation_keys_by_key ON allocation_keys (ssh_key_id);
CREATE INDEX allocation_keys_by_user ON allocation_keys (user_id, organization_id);
CALL tenant_table('allocation_keys');
GRANT SELECT, INSERT, DELETE ON allocation_keys TO gpuaas_tenant, gpuaas_system;

-- The last sign of life of the most silent host of an allocation; the caller knows how long is
-- too long. That goes by heartbeats and not by reported health: a host that lies can
-- die, too. Tenants may know that of their allocations, and nothing else of nodes.
CREATE FUNCTION silent_since(allocation uuid) RETURNS timestamptz LANGUAGE plpgsql STABLE SET role = 'gpuaas_system' AS $$
BEGIN
  RETURN (SELECT min(h.last_seen_at) FROM allocation_parts p
    JOIN node_heartbeats h ON h.node_id = p.node_id WHERE p.allocation_id = allocation);
END $$;

-- Tasks -----------------------------------------------------------------------

-- Stored until they are long over, as part of the evidence.
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
COMMENT ON TABLE tasks IS 'Signed orders to hosts, and the reports on them.';
CREATE INDEX tasks_to_deliver ON tasks (created_at) WHERE delivered_at IS NULL AND reported_at IS NULL;
CREATE INDEX tasks_open ON tasks (node_id) WHERE reported_at IS NULL;
CREATE INDEX tasks_by_subject ON tasks (subject_id, version);
CREATE INDEX tasks_by_age ON tasks (created_at);
CREATE INDEX tasks_by_node ON tasks (node_id, created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON tasks TO gpuaas_system;
GRANT SELECT ON tasks TO gpuaas_operator;
