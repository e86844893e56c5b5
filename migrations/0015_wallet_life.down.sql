CREATE OR REPLACE FUNCTION move_hold() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
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
DROP TRIGGER wake_wallet ON usage;
DROP FUNCTION wake_wallet;
REVOKE UPDATE ON holds FROM gpuaas_tenant;
DROP POLICY operator_adds ON wallets;
REVOKE INSERT ON wallets FROM gpuaas_operator;
DROP TRIGGER guard_state ON wallets;
DELETE FROM legal_moves WHERE machine = 'wallet';
DELETE FROM work WHERE kind = 'wallet';
ALTER TABLE wallets DROP COLUMN state, DROP COLUMN version, DROP COLUMN state_since, DROP COLUMN grace_ends_at, DROP COLUMN told_micros;
