-- Wallets, and what is held in them for what was asked for: an authorization,
-- as a card knows it. Neither stores a balance.

-- One row per organization and currency, for creates to take turns at.
CREATE TABLE wallets (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  organization_id uuid NOT NULL REFERENCES organizations (id),
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (organization_id, currency)
);

-- What an allocation may cost at worst. Until it runs the whole of it is held;
-- then what is left until `held_to`, so that usage consumes it by time passing.
CREATE TABLE holds (
  allocation_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  currency text NOT NULL,
  micros_per_hour bigint NOT NULL CHECK (micros_per_hour > 0),
  seconds bigint NOT NULL CHECK (seconds > 0),
  held_to timestamptz,
  FOREIGN KEY (organization_id, allocation_id) REFERENCES allocations (organization_id, id)
);
CREATE INDEX holds_by_organization ON holds (organization_id, currency);

-- After `mark_usage`, by its name. What is stopped may be started again, and so
-- the whole hold stands for that; what is over holds nothing.
CREATE FUNCTION move_hold() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
BEGIN
  IF NEW.state = 'active' THEN
    UPDATE holds SET held_to = make_interval(secs => seconds) + (SELECT u.at FROM usage u
        WHERE u.organization_id = NEW.organization_id AND u.allocation_id = NEW.id ORDER BY u.version DESC LIMIT 1)
      WHERE allocation_id = NEW.id;
  ELSIF NEW.state = 'stopping' THEN
    UPDATE holds SET held_to = NULL WHERE allocation_id = NEW.id;
  ELSE
    DELETE FROM holds WHERE allocation_id = NEW.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER move_hold AFTER UPDATE OF state ON allocations FOR EACH ROW
  WHEN (OLD.state <> NEW.state AND NEW.state IN ('active', 'stopping', 'releasing', 'released', 'failed'))
  EXECUTE FUNCTION move_hold();

ALTER TABLE wallets ENABLE ROW LEVEL SECURITY;
ALTER TABLE wallets FORCE ROW LEVEL SECURITY;
ALTER TABLE holds ENABLE ROW LEVEL SECURITY;
ALTER TABLE holds FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON wallets, holds TO gpuaas_tenant;
-- Locking a row for update asks for it.
GRANT UPDATE ON wallets TO gpuaas_tenant;
GRANT SELECT ON wallets, holds TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON wallets, holds TO gpuaas_system;
CREATE POLICY tenant ON wallets TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
CREATE POLICY tenant ON holds TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
CREATE POLICY operator ON wallets FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator ON holds FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY system ON wallets TO gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY system ON holds TO gpuaas_system USING (true) WITH CHECK (true);
