-- The fleet: regions, pools, hosts and their GPUs, where hosts come from, how they
-- are updated and maintained, and what they measure.

-- Places ----------------------------------------------------------------------

-- not tenant data: the platform's places, for everyone to read
CREATE TABLE regions (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT app_now()
);
COMMENT ON TABLE regions IS 'Regions that capacity is in.';
GRANT SELECT ON regions TO gpuaas_person, gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT, UPDATE ON regions TO gpuaas_operator, gpuaas_system;

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
COMMENT ON TABLE pools IS 'Groups of hosts in a region with one provider and one kind of isolation.';
GRANT SELECT, INSERT, UPDATE ON pools TO gpuaas_operator, gpuaas_system;

-- Nodes -----------------------------------------------------------------------

-- not tenant data: the platform's own hosts
CREATE TABLE nodes (
  id uuid PRIMARY KEY,
  region_id uuid NOT NULL REFERENCES regions (id),
  pool_id uuid NOT NULL REFERENCES pools (id),
  name text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  -- Reports of the host are separate from the verdict about it.
  health text NOT NULL DEFAULT 'unknown',
  health_reason text,
  health_since timestamptz NOT NULL DEFAULT app_now(),
  -- What the host itself reports as wrong with it, until it reports that it recovered.
  degraded_reason text,
  -- The UUID of the GPU that this is about; null where it is about the host.
  degraded_gpu text,
  inventory jsonb,
  inventory_hash text,
  fabric_domain text,
  agent_version text,
  has_wipe_script boolean NOT NULL DEFAULT false,
  -- The organization that it serves until it is sanitized.
  serves uuid REFERENCES organizations (id),
  -- The waiting allocation that it is kept free for: nothing else is placed there.
  kept_for uuid,
  drain_deadline_at timestamptz,
  machine_id text,
  created_at timestamptz NOT NULL DEFAULT app_now()
);
COMMENT ON TABLE nodes IS 'Hosts that run an agent.';
CREATE INDEX nodes_by_pool ON nodes (pool_id, id);
CREATE INDEX nodes_by_state ON nodes (state, id) WHERE state <> 'retired';
CREATE UNIQUE INDEX nodes_by_name ON nodes (pool_id, name) WHERE state <> 'retired';
CREATE INDEX nodes_kept ON nodes (kept_for) WHERE kept_for IS NOT NULL;
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON nodes
  FOR EACH ROW EXECUTE FUNCTION guard_state('node');
GRANT SELECT, INSERT, UPDATE ON nodes TO gpuaas_operator, gpuaas_system;

-- Written in batches, many times a minute, and so separate from the node itself.
-- not tenant data: the platform's own hosts
CREATE TABLE node_heartbeats (
  node_id uuid PRIMARY KEY REFERENCES nodes (id),
  last_seen_at timestamptz NOT NULL,
  generation bigint NOT NULL,
  refused bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
COMMENT ON TABLE node_heartbeats IS 'The last heartbeat of each node.';
GRANT SELECT, INSERT, UPDATE ON node_heartbeats TO gpuaas_operator, gpuaas_system;

-- not tenant data: the platform's own hosts
CREATE TABLE node_certificates (
  serial text PRIMARY KEY,
  node_id uuid NOT NULL REFERENCES nodes (id),
  issued_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  -- The first use of the certificate; recorded while a root is replaced.
  used_at timestamptz,
  revoked_at timestamptz
);
COMMENT ON TABLE node_certificates IS 'Client certificates that agents authenticate with.';
CREATE INDEX node_certificates_by_node ON node_certificates (node_id);
CREATE INDEX node_certificates_revoked ON node_certificates (revoked_at) WHERE revoked_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE ON node_certificates TO gpuaas_operator, gpuaas_system;
GRANT DELETE ON node_certificates TO gpuaas_system;

-- not tenant data: how hosts join the platform
CREATE TABLE enrollment_tokens (
  id uuid PRIMARY KEY,
  hash bytea NOT NULL UNIQUE,
  pool_id uuid NOT NULL REFERENCES pools (id),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  -- The SHA-256 of the key that the token was used with. A retry with the same key lost
  -- the answer, and receives another.
  used_with text,
  node_id uuid REFERENCES nodes (id),
  revoked_at timestamptz
);
COMMENT ON TABLE enrollment_tokens IS 'Tokens that let a host join a pool, once.';
GRANT SELECT, INSERT, UPDATE ON enrollment_tokens TO gpuaas_operator, gpuaas_system;
GRANT DELETE ON enrollment_tokens TO gpuaas_system;

-- not tenant data: the platform's own hosts; the holder of a slot is for staff only
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
  -- Why it is quarantined, in the words of the host or of the platform.
  condition_reason text,
  -- What a missing one was, and is again when the host reports it.
  condition_before text,
  -- When the whole host was wiped after the quarantine.
  wiped_at timestamptz,
  held_by uuid,
  UNIQUE (node_id, gpu_uuid),
  CHECK ((condition = 'missing') = (condition_before IS NOT NULL))
) WITH (fillfactor = 80);
COMMENT ON TABLE slots IS 'GPUs of nodes with what is near them, and the allocation that holds each.';
CREATE INDEX slots_by_holder ON slots (held_by) WHERE held_by IS NOT NULL;
CREATE INDEX slots_by_gpu ON slots (gpu_uuid);
GRANT SELECT, INSERT, UPDATE ON slots TO gpuaas_operator, gpuaas_system;

-- Planners cache the fleet. Transactions do not commit in the order of their ids, so a
-- planner reads each node again whose change is not older than the oldest
-- transaction that was running at its last read: it may have committed since.
-- not tenant data: derived from nodes and slots
CREATE TABLE node_changes (
  node_id uuid PRIMARY KEY REFERENCES nodes (id),
  xid xid8 NOT NULL
) WITH (fillfactor = 70);
COMMENT ON TABLE node_changes IS 'The last transaction that changed each node or its slots, so that planners read only what is new.';
CREATE INDEX node_changes_by_xid ON node_changes (xid);
GRANT SELECT, INSERT, UPDATE ON node_changes TO gpuaas_operator, gpuaas_system;

-- Once per statement, and in the order of ids: two statements that change the same
-- nodes cannot deadlock here.
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
COMMENT ON FUNCTION note_node_change() IS 'Records the change in `node_changes`, for planners.';
CREATE TRIGGER note_insert AFTER INSERT ON slots REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_node_change();
CREATE TRIGGER note_update AFTER UPDATE ON slots REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_node_change();
CREATE TRIGGER note_insert AFTER INSERT ON nodes REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_node_change();
CREATE TRIGGER note_update AFTER UPDATE ON nodes REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_node_change();

-- Machines --------------------------------------------------------------------

-- not tenant data: the suppliers of the platform's own hosts
CREATE TABLE providers (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  kind text NOT NULL,
  pool_id uuid NOT NULL REFERENCES pools (id),
  url text NOT NULL,
  -- Sealed by a key that is not in the database; absent once the provider is removed.
  api_key bytea,
  maas_pool text,
  tags text[] NOT NULL DEFAULT '{}',
  series text NOT NULL,
  erase text NOT NULL,
  max_machines integer NOT NULL CHECK (max_machines >= 0),
  agent_url text,
  agent_sha256 text,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  heard_at timestamptz,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT app_now()
);
COMMENT ON TABLE providers IS 'What supplies machines to a pool, such as a MAAS server.';
CREATE UNIQUE INDEX providers_by_name ON providers (name) WHERE state <> 'removed';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON providers
  FOR EACH ROW EXECUTE FUNCTION guard_state('provider');
GRANT SELECT, INSERT, UPDATE ON providers TO gpuaas_operator, gpuaas_system;

-- not tenant data: the platform's own hosts
CREATE TABLE machines (
  id uuid PRIMARY KEY,
  provider_id uuid NOT NULL REFERENCES providers (id),
  pool_id uuid NOT NULL REFERENCES pools (id),
  system_id text NOT NULL,
  hostname text NOT NULL,
  -- The intent of people, the report of MAAS, and the verdict: each has one writer.
  desired text NOT NULL DEFAULT 'serve',
  observed text,
  observed_at timestamptz,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  -- Installs begun since it last served, and calls that release it.
  attempts integer NOT NULL DEFAULT 0,
  release_attempts integer NOT NULL DEFAULT 0,
  -- Whether MAAS was seen to erase it since it must be erased.
  erasing_seen boolean NOT NULL DEFAULT false,
  -- Whether it was installed since it was last erased.
  is_dirty boolean NOT NULL DEFAULT false,
  reason text,
  -- The token that its install carries; sealed until it is used.
  token_id uuid REFERENCES enrollment_tokens (id),
  token bytea,
  node_id uuid REFERENCES nodes (id),
  -- The power state that an operator requested, and the one last observed.
  power_wanted text,
  power_forced boolean NOT NULL DEFAULT false,
  power text,
  power_at timestamptz,
  power_error text,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (provider_id, system_id)
);
COMMENT ON TABLE machines IS 'Machines of a provider, on their way to being nodes and back.';
CREATE INDEX machines_by_node ON machines (node_id) WHERE node_id IS NOT NULL;
CREATE INDEX machines_by_token ON machines (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX machines_by_state ON machines (state, id) WHERE state <> 'retired';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON machines
  FOR EACH ROW EXECUTE FUNCTION guard_state('machine');
GRANT SELECT, INSERT, UPDATE ON machines TO gpuaas_operator, gpuaas_system;

-- Agent updates ---------------------------------------------------------------

-- not tenant data: the platform's own hosts
CREATE TABLE agent_updates (
  id uuid PRIMARY KEY,
  -- Hosts tell a newer order from an older one by it.
  number bigint GENERATED BY DEFAULT AS IDENTITY,
  node_id uuid NOT NULL REFERENCES nodes (id),
  pool_id uuid NOT NULL REFERENCES pools (id),
  -- Updates that were ordered together: one that fails stops the others.
  rollout_id uuid NOT NULL,
  agent_version text NOT NULL,
  -- Whether an operator canceled it before it began.
  is_called_off boolean NOT NULL DEFAULT false,
  reason text,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now()
);
COMMENT ON TABLE agent_updates IS 'Updates of agents to another version, one row per node and rollout.';
CREATE INDEX agent_updates_by_node ON agent_updates (node_id, number);
CREATE UNIQUE INDEX agent_updates_live ON agent_updates (node_id) WHERE state IN ('waiting', 'updating');
CREATE INDEX agent_updates_by_pool ON agent_updates (pool_id, number) WHERE state IN ('waiting', 'updating');
CREATE INDEX agent_updates_by_rollout ON agent_updates (rollout_id) WHERE state IN ('rolled_back', 'failed');
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON agent_updates
  FOR EACH ROW EXECUTE FUNCTION guard_state('agent_update');
GRANT SELECT, INSERT, UPDATE ON agent_updates TO gpuaas_operator, gpuaas_system;
-- Backups read the position of the sequence.
GRANT SELECT ON SEQUENCE agent_updates_number_seq TO gpuaas_system;

-- Maintenance -----------------------------------------------------------------

-- not tenant data: the platform's plans for its own hosts; tenants read those that they were notified of
CREATE TABLE maintenance_windows (
  id uuid PRIMARY KEY,
  node_id uuid REFERENCES nodes (id),
  pool_id uuid REFERENCES pools (id),
  starts_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL,
  reason text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  CHECK ((node_id IS NULL) <> (pool_id IS NULL)),
  CHECK (starts_at < ends_at)
);
COMMENT ON TABLE maintenance_windows IS 'Planned times in which a node or a pool is out of service.';
CREATE INDEX maintenance_windows_live ON maintenance_windows (starts_at) WHERE state IN ('planned', 'active');
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON maintenance_windows
  FOR EACH ROW EXECUTE FUNCTION guard_state('maintenance_window');
GRANT SELECT (id, starts_at, ends_at, reason, state) ON maintenance_windows TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE ON maintenance_windows TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON maintenance_windows TO gpuaas_system;

-- not tenant data: the platform's own hosts
CREATE TABLE maintenance_nodes (
  window_id uuid NOT NULL REFERENCES maintenance_windows (id),
  node_id uuid NOT NULL REFERENCES nodes (id),
  was_cordoned boolean NOT NULL,
  restored_at timestamptz,
  PRIMARY KEY (window_id, node_id)
);
COMMENT ON TABLE maintenance_nodes IS 'Nodes that a maintenance window took out of service, so that its end restores exactly those.';
CREATE INDEX maintenance_nodes_out ON maintenance_nodes (window_id) WHERE restored_at IS NULL;
GRANT SELECT ON maintenance_nodes TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON maintenance_nodes TO gpuaas_system;

CREATE TABLE maintenance_notices (
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  window_id uuid NOT NULL REFERENCES maintenance_windows (id),
  announced_at timestamptz NOT NULL DEFAULT app_now(),
  -- The state of the window in the last notice to its project.
  notified_state text,
  PRIMARY KEY (window_id, project_id),
  FOREIGN KEY (organization_id, project_id) REFERENCES projects (organization_id, id)
);
COMMENT ON TABLE maintenance_notices IS 'Projects that were notified of a maintenance window.';
CREATE INDEX maintenance_notices_by_organization ON maintenance_notices (organization_id, window_id);
CALL tenant_table('maintenance_notices', 'SELECT');
GRANT SELECT ON maintenance_notices TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON maintenance_notices TO gpuaas_system;

-- Telemetry -------------------------------------------------------------------

-- Written many times a second in bulk, from a join with what is known, and so without
-- foreign keys. At most one sample per second and node is stored.
-- not tenant data: measurements of the platform's own hosts
CREATE TABLE node_samples (
  node_id uuid NOT NULL,
  at timestamptz NOT NULL,
  cpu_percent integer NOT NULL,
  memory_used_bytes bigint NOT NULL,
  PRIMARY KEY (node_id, at)
);
COMMENT ON TABLE node_samples IS 'Measurements of nodes at full rate, for a short while.';
CREATE INDEX node_samples_by_age ON node_samples (at);
GRANT SELECT ON node_samples TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON node_samples TO gpuaas_system;

-- not tenant data: measurements of the platform's own GPUs; tenants read those that they hold through the platform
CREATE TABLE gpu_samples (
  slot_id uuid NOT NULL,
  at timestamptz NOT NULL,
  utilization_percent integer NOT NULL,
  memory_used_bytes bigint NOT NULL,
  temperature_c integer NOT NULL,
  power_mw integer NOT NULL,
  PRIMARY KEY (slot_id, at)
);
COMMENT ON TABLE gpu_samples IS 'Measurements of GPUs at full rate, for a short while.';
CREATE INDEX gpu_samples_by_age ON gpu_samples (at);
GRANT SELECT ON gpu_samples TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON gpu_samples TO gpuaas_system;

-- Sums and counts instead of averages: an hour is the sum of its minutes.
-- not tenant data: measurements of the platform's own hosts
CREATE TABLE node_rollups (
  node_id uuid NOT NULL,
  span_s integer NOT NULL,
  at timestamptz NOT NULL,
  samples bigint NOT NULL,
  cpu_percent_sum bigint NOT NULL,
  cpu_percent_max integer NOT NULL,
  memory_used_bytes_sum bigint NOT NULL,
  memory_used_bytes_max bigint NOT NULL,
  PRIMARY KEY (node_id, span_s, at)
);
COMMENT ON TABLE node_rollups IS 'Measurements of nodes, summed by minute and by hour.';
CREATE INDEX node_rollups_by_age ON node_rollups (span_s, at);
GRANT SELECT ON node_rollups TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON node_rollups TO gpuaas_system;

-- not tenant data: measurements of the platform's own GPUs; tenants read those that they hold through the platform
CREATE TABLE gpu_rollups (
  slot_id uuid NOT NULL,
  span_s integer NOT NULL,
  at timestamptz NOT NULL,
  samples bigint NOT NULL,
  utilization_percent_sum bigint NOT NULL,
  utilization_percent_max integer NOT NULL,
  memory_used_bytes_sum bigint NOT NULL,
  memory_used_bytes_max bigint NOT NULL,
  temperature_c_sum bigint NOT NULL,
  temperature_c_max integer NOT NULL,
  power_mw_sum bigint NOT NULL,
  power_mw_max integer NOT NULL,
  PRIMARY KEY (slot_id, span_s, at)
);
COMMENT ON TABLE gpu_rollups IS 'Measurements of GPUs, summed by minute and by hour.';
CREATE INDEX gpu_rollups_by_age ON gpu_rollups (span_s, at);
GRANT SELECT ON gpu_rollups TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON gpu_rollups TO gpuaas_system;

-- not tenant data: the progress of a background task
CREATE TABLE telemetry_progress (
  -- 1: raw samples before `until` are deleted; 60 and 3600: minutes and hours
  -- before it are summed.
  span_s integer PRIMARY KEY,
  until timestamptz NOT NULL
);
COMMENT ON TABLE telemetry_progress IS 'Progress of summing and deleting measurements, per resolution.';
GRANT SELECT, INSERT, UPDATE, DELETE ON telemetry_progress TO gpuaas_system;

-- not tenant data: the progress of a background task
CREATE TABLE telemetry_late (
  node_id uuid NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (node_id, at)
);
COMMENT ON TABLE telemetry_late IS 'Minutes of a node that were summed before their last sample arrived, to sum once more.';
GRANT SELECT, INSERT, UPDATE, DELETE ON telemetry_late TO gpuaas_system;
