-- Times in which nodes are out of service by plan, and who was told.

-- not tenant data: the platform's plans for its own hosts; tenants read those that they were told of
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
CREATE INDEX maintenance_windows_live ON maintenance_windows (starts_at) WHERE state IN ('planned', 'active');
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON maintenance_windows
  FOR EACH ROW EXECUTE FUNCTION guard_state('maintenance_window');

-- Nodes that a window emptied, so that its end gives back those and no others.
-- not tenant data: the platform's own hosts
CREATE TABLE maintenance_nodes (
  window_id uuid NOT NULL REFERENCES maintenance_windows (id),
  node_id uuid NOT NULL REFERENCES nodes (id),
  was_cordoned boolean NOT NULL,
  restored_at timestamptz,
  PRIMARY KEY (window_id, node_id)
);
CREATE INDEX maintenance_nodes_out ON maintenance_nodes (window_id) WHERE restored_at IS NULL;

CREATE TABLE maintenance_notices (
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  window_id uuid NOT NULL REFERENCES maintenance_windows (id),
  announced_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (window_id, project_id),
  FOREIGN KEY (organization_id, project_id) REFERENCES projects (organization_id, id)
);
CREATE INDEX maintenance_notices_by_organization ON maintenance_notices (organization_id, window_id);
ALTER TABLE maintenance_notices ENABLE ROW LEVEL SECURITY;
ALTER TABLE maintenance_notices FORCE ROW LEVEL SECURITY;
GRANT SELECT ON maintenance_notices TO gpuaas_tenant;
CREATE POLICY tenant ON maintenance_notices FOR SELECT TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization()));
GRANT SELECT, INSERT, UPDATE, DELETE ON maintenance_notices TO gpuaas_system;
CREATE POLICY system ON maintenance_notices TO gpuaas_system USING (true) WITH CHECK (true);

GRANT SELECT (id, starts_at, ends_at, reason, state) ON maintenance_windows TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE ON maintenance_windows TO gpuaas_operator;
GRANT SELECT ON maintenance_nodes TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON maintenance_windows, maintenance_nodes TO gpuaas_system;
