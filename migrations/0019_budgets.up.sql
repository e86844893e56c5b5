-- Budgets of projects. What is spent is computed from usage, never stored.

CREATE TABLE budgets (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
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
CREATE INDEX budgets_by_project ON budgets (project_id, id);

-- Of which thresholds was told, so that each is told of once in a period.
CREATE TABLE budget_notices (
  organization_id uuid NOT NULL,
  budget_id uuid NOT NULL,
  since timestamptz NOT NULL,
  percent integer NOT NULL,
  at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (budget_id, since, percent),
  FOREIGN KEY (organization_id, budget_id) REFERENCES budgets (organization_id, id) ON DELETE CASCADE
);

CREATE INDEX usage_by_project ON usage (project_id, at);

-- What a project used in a period: each interval counts from its own start, so
-- that months sum to what was posted, to the millionth.
CREATE FUNCTION project_runs(project uuid, of_currency text, since timestamptz)
  RETURNS TABLE (allocation_id uuid, micros_per_hour bigint, started_at timestamptz, ended_at timestamptz) LANGUAGE sql STABLE AS $$
  SELECT s.allocation_id, s.micros_per_hour, s.at, NULL::timestamptz
  FROM allocations a CROSS JOIN LATERAL (SELECT u.* FROM usage u
    WHERE u.organization_id = a.organization_id AND u.allocation_id = a.id ORDER BY u.version DESC LIMIT 1) s
  WHERE a.project_id = project AND a.state = 'active' AND s.kind = 'start' AND s.currency = of_currency AND s.micros_per_hour > 0
  UNION ALL
  SELECT e.allocation_id, e.micros_per_hour, s.at, e.at
  FROM usage e JOIN usage s ON s.organization_id = e.organization_id AND s.allocation_id = e.allocation_id AND s.version = e.interval
  WHERE e.project_id = project AND e.kind = 'end' AND e.at > since AND e.currency = of_currency AND e.micros_per_hour > 0
$$;

-- A mark changes when the next threshold is reached: its project's budgets are
-- looked at again.
CREATE FUNCTION wake_budgets() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
BEGIN
  INSERT INTO work (kind, id, due_at)
    SELECT 'budget', b.id, app_now() FROM budgets b WHERE b.project_id IN (SELECT project_id FROM added) ORDER BY b.id
    ON CONFLICT (kind, id) DO UPDATE SET wakes = work.wakes + 1, due_at = least(work.due_at, excluded.due_at);
  RETURN NULL;
END $$;
CREATE TRIGGER wake_budgets AFTER INSERT ON usage REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION wake_budgets();

ALTER TABLE budgets ENABLE ROW LEVEL SECURITY;
ALTER TABLE budgets FORCE ROW LEVEL SECURITY;
ALTER TABLE budget_notices ENABLE ROW LEVEL SECURITY;
ALTER TABLE budget_notices FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON budgets TO gpuaas_tenant, gpuaas_system;
GRANT SELECT, DELETE ON budget_notices TO gpuaas_tenant;
GRANT SELECT, INSERT, DELETE ON budget_notices TO gpuaas_system;
CREATE POLICY tenant ON budgets TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
CREATE POLICY tenant ON budget_notices TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
CREATE POLICY system ON budgets TO gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY system ON budget_notices TO gpuaas_system USING (true) WITH CHECK (true);
