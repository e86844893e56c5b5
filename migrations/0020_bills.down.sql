CREATE OR REPLACE FUNCTION wake_wallet() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
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
DROP FUNCTION wake_together, is_awaited;
ALTER TABLE work DROP COLUMN claimed_wakes;
DROP INDEX journals_besides_usage;
ALTER TABLE invoices DROP COLUMN tag_key;
