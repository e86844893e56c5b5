-- The life of a wallet: whether its money lasts, and what comes when it does not.

ALTER TABLE wallets
  ADD COLUMN state text NOT NULL DEFAULT 'funded',
  ADD COLUMN version bigint NOT NULL DEFAULT 1,
  ADD COLUMN state_since timestamptz NOT NULL DEFAULT app_now(),
  -- When what cannot be paid for ends; null when nothing is about to.
  ADD COLUMN grace_ends_at timestamptz,
  -- What there was when somebody was told that it is little.
  ADD COLUMN told_micros bigint;

-- Servers of the release before make wallets too, and taught the guard nothing of them.
INSERT INTO legal_moves (machine, from_state, to_state) VALUES ('wallet', '', 'funded') ON CONFLICT DO NOTHING;
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON wallets
  FOR EACH ROW EXECUTE FUNCTION guard_state('wallet');

-- Whoever posts money makes the wallet that it is for; whoever starts something holds anew.
GRANT INSERT ON wallets TO gpuaas_operator;
CREATE POLICY operator_adds ON wallets FOR INSERT TO gpuaas_operator WITH CHECK (true);
GRANT UPDATE ON holds TO gpuaas_tenant;

-- What starts or ends changes until when the money lasts. At the commit, so
-- that nobody waits for others of the organization with locks of its own.
CREATE FUNCTION wake_wallet() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
DECLARE
  wallet uuid;
BEGIN
  SELECT id INTO wallet FROM wallets WHERE organization_id = NEW.organization_id AND currency = NEW.currency;
  IF NOT FOUND THEN
    INSERT INTO wallets (organization_id, currency) VALUES (NEW.organization_id, NEW.currency) ON CONFLICT DO NOTHING;
    SELECT id INTO STRICT wallet FROM wallets WHERE organization_id = NEW.organization_id AND currency = NEW.currency;
  END IF;
  -- Where allocations need no money nothing has to be foreseen, and so marks do
  -- not wait for each other at this row. Switching it on looks at every wallet.
  IF NOT EXISTS (SELECT FROM policies WHERE key = 'billing.required' AND organization_id IS NULL AND value = 'true') THEN
    RETURN NULL;
  END IF;
  INSERT INTO work (kind, id, due_at) VALUES ('wallet', wallet, app_now())
    ON CONFLICT (kind, id) DO UPDATE SET wakes = work.wakes + 1, due_at = least(work.due_at, excluded.due_at)
    WHERE work.due_at > excluded.due_at OR work.lease IS NOT NULL;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER wake_wallet AFTER INSERT ON usage DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.micros_per_hour > 0) EXECUTE FUNCTION wake_wallet();

-- Once it runs, what is held is at the price that it runs at, and no longer than its lease.
CREATE OR REPLACE FUNCTION move_hold() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
DECLARE
  mark record;
BEGIN
  IF NEW.state = 'active' THEN
    SELECT u.at, u.micros_per_hour INTO mark FROM usage u
      WHERE u.organization_id = NEW.organization_id AND u.allocation_id = NEW.id ORDER BY u.version DESC LIMIT 1;
    UPDATE holds SET held_to = greatest(mark.at, least(mark.at + make_interval(secs => seconds), NEW.lease_ends_at)),
        micros_per_hour = CASE WHEN mark.micros_per_hour > 0 THEN mark.micros_per_hour ELSE micros_per_hour END
      WHERE allocation_id = NEW.id;
  ELSIF NEW.state = 'stopping' THEN
    UPDATE holds SET held_to = NULL WHERE allocation_id = NEW.id;
  ELSE
    DELETE FROM holds WHERE allocation_id = NEW.id;
  END IF;
  RETURN NULL;
END $$;

-- Wallets of those who used something before there were wallets.
SET LOCAL ROLE gpuaas_system;
INSERT INTO wallets (organization_id, currency)
  SELECT organization_id, currency FROM accounts WHERE kind = 'wallet' ON CONFLICT DO NOTHING;
INSERT INTO work (kind, id) SELECT 'wallet', id FROM wallets ON CONFLICT DO NOTHING;
RESET ROLE;
