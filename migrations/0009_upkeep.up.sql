-- What keeps the fleet going: agents that are replaced, what projects were
-- told of maintenance, the power of machines, and which certificates are used.

-- not tenant data: the platform's own hosts
CREATE TABLE agent_updates (
  id uuid PRIMARY KEY,
  -- Which came first; hosts tell a newer order from an older one by it.
  number bigint GENERATED ALWAYS AS IDENTITY,
  node_id uuid NOT NULL REFERENCES nodes (id),
  pool_id uuid NOT NULL REFERENCES pools (id),
  -- Those that were ordered together: one that fails stops the others.
  rollout_id uuid NOT NULL,
  agent_version text NOT NULL,
  -- Whether an operator called it off before it began.
  is_called_off boolean NOT NULL DEFAULT false,
  reason text,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now()
);
CREATE INDEX agent_updates_by_node ON agent_updates (node_id, number);
CREATE UNIQUE INDEX agent_updates_live ON agent_updates (node_id) WHERE state IN ('waiting', 'updating');
CREATE INDEX agent_updates_by_pool ON agent_updates (pool_id, number) WHERE state IN ('waiting', 'updating');
CREATE INDEX agent_updates_by_rollout ON agent_updates (rollout_id) WHERE state IN ('rolled_back', 'failed');
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON agent_updates
  FOR EACH ROW EXECUTE FUNCTION guard_state('agent_update');
GRANT SELECT, INSERT, UPDATE ON agent_updates TO gpuaas_operator, gpuaas_system;

-- Which state of a window its project was last told of; not known of old ones.
ALTER TABLE maintenance_notices ADD COLUMN told text;

-- When a node was first heard with a certificate; noted while a root is replaced.
ALTER TABLE node_certificates ADD COLUMN used_at timestamptz;

-- What an operator wants done with a machine's power, and what was last seen of it.
ALTER TABLE machines
  ADD COLUMN power_wanted text,
  ADD COLUMN power_forced boolean NOT NULL DEFAULT false,
  ADD COLUMN power text,
  ADD COLUMN power_at timestamptz,
  ADD COLUMN power_trouble text;
