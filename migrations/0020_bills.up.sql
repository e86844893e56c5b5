-- Bills: invoices cut by a tag, and exports of what is not usage.

-- The tag by whose values an invoice's lines are cut; null when they are not.
ALTER TABLE invoices ADD COLUMN tag_key text;

-- What costs or gives something besides usage, for exports: one in thousands of an organization's journals.
CREATE INDEX journals_besides_usage ON journals (organization_id, number) WHERE kind <> 'usage';

-- How many wakes there were when a worker claimed it.
ALTER TABLE work ADD COLUMN claimed_wakes bigint;

-- Asks for a visit, as many do at once for the same thing, without making them wait for each other: a wake that
-- nobody has acted upon does for all. What they share is held until their commit; who visits waits for those who
-- have it (kernel::work::wait_for_wakers) and so sees what they wrote. Nobody waits for who visits.
CREATE FUNCTION wake_together(of_kind text, of_id uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  is_shared boolean;
BEGIN
  is_shared := pg_try_advisory_xact_lock_shared(hashtextextended(of_kind || ':' || of_id, 0));
  BEGIN
    -- Another statement, and so it sees every claim from before it was shared.
    IF is_shared AND EXISTS (SELECT FROM work w WHERE w.kind = of_kind AND w.id = of_id AND is_awaited(w)) THEN
      RETURN;
    END IF;
    INSERT INTO work (kind, id, due_at) VALUES (of_kind, of_id, app_now())
      ON CONFLICT (kind, id) DO UPDATE SET wakes = work.wakes + 1, due_at = least(work.due_at, excluded.due_at)
      WHERE NOT (is_shared AND is_awaited(work));
    -- Somebody else asked while this waited for the row, which is let go at once: only what fails does that.
    IF NOT FOUND THEN
      RAISE EXCEPTION 'a wake is there' USING ERRCODE = 'triggered_action_exception';
    END IF;
  EXCEPTION WHEN triggered_action_exception THEN
    NULL;
  END;
END $$;

-- Whether somebody will visit who has not begun.
CREATE FUNCTION is_awaited(w work) RETURNS boolean LANGUAGE sql STABLE
  RETURN CASE WHEN w.lease IS NULL THEN w.due_at <= app_now() ELSE w.wakes <> w.claimed_wakes END;

CREATE OR REPLACE FUNCTION wake_wallet() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
DECLARE
  wallet uuid;
BEGIN
  SELECT id INTO wallet FROM wallets WHERE organization_id = NEW.organization_id AND currency = NEW.currency;
  IF NOT FOUND THEN
    INSERT INTO wallets (organization_id, currency) VALUES (NEW.organization_id, NEW.currency) ON CONFLICT DO NOTHING;
    SELECT id INTO STRICT wallet FROM wallets WHERE organization_id = NEW.organization_id AND currency = NEW.currency;
  END IF;
  -- Where allocations need no money nothing has to be foreseen. Switching it on looks at every wallet.
  IF EXISTS (SELECT FROM policies WHERE key = 'billing.required' AND organization_id IS NULL AND value = 'true') THEN
    PERFORM wake_together('wallet', wallet);
  END IF;
  RETURN NULL;
END $$;
