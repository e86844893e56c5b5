-- What allocations cost: prices, marks of usage, and the ledger that usage is charged
-- to. Usage and ledger are append-only, for the owner too, and no balance is
-- stored that could disagree with the sum of its entries.

-- Prices ----------------------------------------------------------------------

-- A price that was charged can always be shown.
-- not tenant data: what is on offer, for everyone to read
CREATE TABLE prices (
  id uuid PRIMARY KEY,
  sku_id uuid NOT NULL REFERENCES skus (id),
  version bigint NOT NULL,
  currency text NOT NULL,
  price_micros_per_gpu_hour bigint NOT NULL CHECK (price_micros_per_gpu_hour >= 0),
  effective_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (sku_id, currency, version)
);
COMMENT ON TABLE prices IS 'Prices of SKUs per currency, each from a moment on.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON prices FOR EACH ROW EXECUTE FUNCTION forbid_change();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON prices FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();
GRANT SELECT ON prices TO gpuaas_person, gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT ON prices TO gpuaas_operator, gpuaas_system;

-- The advisory lock of a SKU's prices. Setting a price holds it alone until its commit,
-- starts of usage share it: no interval begins under a price that is about to change.
CREATE FUNCTION price_key(sku uuid) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN hashtextextended('price:' || sku::text, 0);

-- The cost of some time at an hourly rate: floor(rate × µs / hour), exactly.
CREATE FUNCTION accrued(micros_per_hour bigint, elapsed interval) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN div(micros_per_hour::numeric * (extract(epoch FROM elapsed) * 1000000), 3600000000);

-- Books -----------------------------------------------------------------------

CREATE TABLE books (
  organization_id uuid PRIMARY KEY REFERENCES organizations (id),
  posted_to timestamptz NOT NULL DEFAULT app_now(),
  -- The number and the hash of the newest journal.
  journals bigint NOT NULL DEFAULT 0,
  hash bytea NOT NULL DEFAULT ''
) WITH (fillfactor = 70);
COMMENT ON TABLE books IS 'The books of each organization: until when its usage is posted, and its newest journal.';
CALL tenant_table('books', 'SELECT');
GRANT SELECT ON books TO gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT, UPDATE ON books TO gpuaas_system;
GRANT UPDATE ON books TO gpuaas_operator;
CREATE POLICY operator ON books TO gpuaas_operator USING (true) WITH CHECK (true);

-- The advisory lock of an organization's books. A posting holds it alone, marks share it:
-- so the posting sees every mark before its moment, and every later mark has
-- a time that is not before that moment.
CREATE FUNCTION books_key(organization uuid) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN hashtextextended('books:' || organization::text, 0);

CREATE FUNCTION guard_books() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.posted_to >= OLD.posted_to AND NEW.organization_id = OLD.organization_id
     AND (NEW.journals > OLD.journals OR (NEW.journals = OLD.journals AND NEW.hash = OLD.hash)) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'books only go forward: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
COMMENT ON FUNCTION guard_books() IS 'Lets books only go forward: in time, and from journal to journal.';
CREATE TRIGGER only_forward BEFORE UPDATE OR DELETE ON books FOR EACH ROW EXECUTE FUNCTION guard_books();
CREATE TRIGGER only_forward_whole BEFORE TRUNCATE ON books FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();

CREATE FUNCTION open_books() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
BEGIN
  INSERT INTO books (organization_id) VALUES (NEW.id);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION open_books() IS 'Opens the books of a new organization.';
CREATE TRIGGER open_books AFTER INSERT ON organizations FOR EACH ROW EXECUTE FUNCTION open_books();

-- Usage -----------------------------------------------------------------------

-- An interval is named by the version of its start; its end copies the start, because
-- the allocation may have changed since.
CREATE TABLE usage (
  allocation_id uuid NOT NULL,
  version bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('start', 'end')),
  at timestamptz NOT NULL,
  interval bigint NOT NULL,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  sku_id uuid NOT NULL,
  -- Of all nodes together.
  gpus integer NOT NULL,
  nodes uuid[] NOT NULL,
  tags jsonb NOT NULL,
  currency text NOT NULL,
  -- The version that was in force at the start; without a price it is free.
  price_id uuid,
  -- Of all GPUs together.
  micros_per_hour bigint NOT NULL CHECK (micros_per_hour >= 0),
  app_instance_id uuid,
  deployment_id uuid,
  component text,
  operating_mode text,
  -- The state that the allocation moved to.
  cause text NOT NULL,
  PRIMARY KEY (organization_id, allocation_id, version),
  CHECK ((kind = 'start') = (interval = version)),
  FOREIGN KEY (organization_id, allocation_id) REFERENCES allocations (organization_id, id)
);
COMMENT ON TABLE usage IS 'Marks of usage: each start and end of an allocation, with all that its charge depends on.';
CREATE INDEX usage_by_time ON usage (organization_id, at);
CREATE INDEX usage_by_project ON usage (project_id, at);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON usage FOR EACH ROW EXECUTE FUNCTION forbid_change();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON usage FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();
CALL tenant_table('usage', 'SELECT');
GRANT SELECT ON usage TO gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT ON usage TO gpuaas_system;
CREATE POLICY operator ON usage TO gpuaas_operator USING (true) WITH CHECK (true);

-- Runs as the system, so that no other role needs to write usage. Its name sorts before
-- `move_hold`, which reads the mark: triggers of one event run by name.
CREATE FUNCTION mark_usage() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
DECLARE
  moment timestamptz;
  last usage%ROWTYPE;
  price record;
  all_gpus integer := NEW.gpus * NEW.nodes;
BEGIN
  -- Both before the clock is read: the moment of the mark must lie after any posting and
  -- any price that committed first.
  PERFORM pg_advisory_xact_lock_shared(books_key(NEW.organization_id));
  PERFORM pg_advisory_xact_lock_shared(price_key(NEW.sku_id));
  SELECT * INTO last FROM usage WHERE organization_id = NEW.organization_id AND allocation_id = NEW.id
    ORDER BY version DESC LIMIT 1;
  -- A clock that was set back moves nothing backwards.
  SELECT greatest(app_clock(), posted_to, last.at) INTO STRICT moment FROM books WHERE organization_id = NEW.organization_id;
  IF NEW.state = 'active' THEN
    SELECT id, price_micros_per_gpu_hour AS micros INTO price FROM prices
      WHERE sku_id = NEW.sku_id AND currency = NEW.currency AND effective_at <= moment
      ORDER BY effective_at DESC, version DESC LIMIT 1;
    INSERT INTO usage (allocation_id, version, kind, at, interval, organization_id, project_id, sku_id, gpus, nodes, tags, currency,
        price_id, micros_per_hour, cause)
      VALUES (NEW.id, NEW.version, 'start', moment, NEW.version, NEW.organization_id, NEW.project_id, NEW.sku_id, all_gpus,
        ARRAY(SELECT node_id FROM allocation_parts WHERE allocation_id = NEW.id ORDER BY node_id), NEW.tags, NEW.currency,
        price.id, coalesce(price.micros * all_gpus, 0), NEW.state);
    IF price.micros > 0 THEN
      -- Looked up first, because an insert that conflicts takes a number of the sequence, too.
      INSERT INTO accounts (organization_id, kind, subject, currency)
        SELECT NEW.organization_id, wanted.kind, wanted.subject, NEW.currency
        FROM (VALUES ('wallet', ''), ('revenue', NEW.sku_id::text)) AS wanted (kind, subject)
        WHERE NOT EXISTS (SELECT FROM accounts a WHERE a.organization_id = NEW.organization_id AND a.kind = wanted.kind
          AND a.subject = wanted.subject AND a.currency = NEW.currency)
        ON CONFLICT DO NOTHING;
    END IF;
  ELSIF last.kind = 'start' THEN
    INSERT INTO usage (allocation_id, version, kind, at, interval, organization_id, project_id, sku_id, gpus, nodes, tags, currency,
        price_id, micros_per_hour, app_instance_id, deployment_id, component, operating_mode, cause)
      VALUES (NEW.id, NEW.version, 'end', moment, last.interval, last.organization_id, last.project_id, last.sku_id, last.gpus,
        last.nodes, last.tags, last.currency, last.price_id, last.micros_per_hour, last.app_instance_id, last.deployment_id,
        last.component, last.operating_mode, NEW.state);
  END IF;
  -- A posting that finds nothing to come back for leaves the queue while it holds the
  -- lock alone, so that this insert cannot be lost between the two.
  INSERT INTO work (kind, id, due_at) VALUES ('books', NEW.organization_id, app_now() + interval '10 seconds')
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION mark_usage() IS 'Writes the mark of usage for every way into and out of `active`: no code can forget it.';
CREATE TRIGGER mark_usage AFTER UPDATE OF state ON allocations
  FOR EACH ROW WHEN ((OLD.state = 'active') <> (NEW.state = 'active')) EXECUTE FUNCTION mark_usage();

-- A heartbeat proves that a host is alive. Usage on a lost host ended with the last one, or
-- where more than that is posted already, where the posting ends: the rest is
-- refunded by a journal. Runs below the lock that the mark was made under.
CREATE FUNCTION end_at_last_sign_of_life() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
DECLARE
  alive timestamptz;
BEGIN
  SELECT alive_until INTO alive FROM allocations WHERE organization_id = NEW.organization_id AND id = NEW.allocation_id;
  IF alive < NEW.at THEN
    SELECT greatest(alive, b.posted_to, s.at) INTO STRICT NEW.at FROM books b
      JOIN usage s ON s.organization_id = b.organization_id AND s.allocation_id = NEW.allocation_id AND s.version = NEW.interval
      WHERE b.organization_id = NEW.organization_id;
  END IF;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION end_at_last_sign_of_life() IS 'Ends the usage of a lost host at its last heartbeat.';
CREATE TRIGGER end_at_last_sign_of_life BEFORE INSERT ON usage
  FOR EACH ROW WHEN (NEW.kind = 'end') EXECUTE FUNCTION end_at_last_sign_of_life();

-- The three functions below read intervals for postings, invoices and budgets. All find
-- running intervals through `allocations_active` and the newest mark of each, because a search of
-- all starts without an end would read the whole history.

-- Intervals that a posting has something to charge for: running ones, and those that
-- ended after the last posting.
CREATE FUNCTION unposted(organization uuid) RETURNS TABLE (allocation_id uuid, of_interval bigint, sku_id uuid, currency text,
  micros_per_hour bigint, started_at timestamptz, ended_at timestamptz) LANGUAGE sql STABLE AS $$
  SELECT s.allocation_id, s.interval, s.sku_id, s.currency, s.micros_per_hour, s.at, NULL::timestamptz
  FROM allocations a CROSS JOIN LATERAL (SELECT u.* FROM usage u
    WHERE u.organization_id = a.organization_id AND u.allocation_id = a.id ORDER BY u.version DESC LIMIT 1) s
  WHERE a.organization_id = organization AND a.state = 'active' AND s.kind = 'start'
  UNION ALL
  SELECT e.allocation_id, e.interval, e.sku_id, e.currency, e.micros_per_hour, s.at, e.at
  FROM usage e JOIN usage s ON s.organization_id = e.organization_id AND s.allocation_id = e.allocation_id AND s.version = e.interval
  WHERE e.organization_id = organization AND e.kind = 'end' AND e.at > (SELECT b.posted_to FROM books b WHERE b.organization_id = organization)
$$;

-- The intervals of a period, each with its cost in the period. The cost is the difference of
-- two sums from the start of the interval, as in postings: rounding each period
-- alone would not add up to what was posted.
CREATE FUNCTION charges(organization uuid, since timestamptz, until timestamptz) RETURNS TABLE (allocation_id uuid, of_interval bigint,
  project_id uuid, sku_id uuid, gpus integer, tags jsonb, currency text, price_id uuid, micros_per_hour bigint,
  from_at timestamptz, to_at timestamptz, amount bigint) LANGUAGE sql STABLE AS $$
  WITH runs AS (
    SELECT s.*, NULL::timestamptz AS ended FROM allocations a CROSS JOIN LATERAL (SELECT u.* FROM usage u
      WHERE u.organization_id = a.organization_id AND u.allocation_id = a.id ORDER BY u.version DESC LIMIT 1) s
    WHERE a.organization_id = organization AND a.state = 'active' AND s.kind = 'start'
    UNION ALL
    SELECT s.*, e.at FROM usage e
    JOIN usage s ON s.organization_id = e.organization_id AND s.allocation_id = e.allocation_id AND s.version = e.interval
    WHERE e.organization_id = organization AND e.kind = 'end' AND e.at > since)
  SELECT r.allocation_id, r.version, r.project_id, r.sku_id, r.gpus, r.tags, r.currency, r.price_id, r.micros_per_hour, c.since, c.until,
    (accrued(r.micros_per_hour, c.until - r.at) - accrued(r.micros_per_hour, c.since - r.at))::bigint
  FROM runs r CROSS JOIN LATERAL (SELECT greatest(charges.since, r.at) AS since, least(charges.until, r.ended) AS until) c
  WHERE c.until > c.since
$$;

-- The intervals of a project that cost something and did not end before a moment. Whole
-- intervals, so that the caller can subtract sums as above.
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

-- Ledger ----------------------------------------------------------------------

CREATE TABLE accounts (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  kind text NOT NULL CHECK (kind IN
    ('wallet', 'revenue', 'promotional', 'clearing', 'refunds', 'write_offs', 'tax', 'rounding', 'disputes')),
  -- The SKU of revenue, the provider of clearing; else empty.
  subject text NOT NULL DEFAULT '',
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  UNIQUE (organization_id, kind, subject, currency)
);
COMMENT ON TABLE accounts IS 'Accounts of the ledger. An account stores no balance.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION forbid_change();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON accounts FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();
CALL tenant_table('accounts', 'SELECT');
GRANT SELECT ON accounts TO gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT ON accounts TO gpuaas_operator, gpuaas_system;
GRANT USAGE ON SEQUENCE accounts_id_seq TO gpuaas_operator, gpuaas_system;
-- Backups read the position of the sequence.
GRANT SELECT ON SEQUENCE accounts_id_seq TO gpuaas_system;
CREATE POLICY operator ON accounts TO gpuaas_operator USING (true) WITH CHECK (true);

CREATE TABLE journals (
  organization_id uuid NOT NULL REFERENCES organizations (id),
  -- Without gaps in each organization.
  number bigint NOT NULL,
  id uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
  kind text NOT NULL,
  at timestamptz NOT NULL,
  -- The window of usage that it closes, without its end.
  from_at timestamptz,
  to_at timestamptz,
  actor text NOT NULL,
  reason text NOT NULL DEFAULT '',
  reverses bigint,
  -- What it was posted for; nothing is posted twice.
  reference text,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  -- Over the previous journal, this one, its entries, and the marks of its window.
  hash bytea NOT NULL,
  PRIMARY KEY (organization_id, number),
  UNIQUE (organization_id, reference),
  CHECK ((kind = 'usage') = (from_at IS NOT NULL AND to_at IS NOT NULL)),
  FOREIGN KEY (organization_id, reverses) REFERENCES journals (organization_id, number)
);
COMMENT ON TABLE journals IS 'Journals of the ledger: numbered postings, chained by hash in each organization.';
CREATE UNIQUE INDEX journals_reversed_once ON journals (organization_id, reverses) WHERE reverses IS NOT NULL;
-- Invoices sum the journals of a month.
CREATE INDEX journals_by_window ON journals (organization_id, to_at) WHERE to_at IS NOT NULL;
-- Exports list what is not usage: one in thousands of an organization's journals.
CREATE INDEX journals_besides_usage ON journals (organization_id, number) WHERE kind <> 'usage';
-- Revenue is summed by the day of posting.
CREATE INDEX journals_by_time ON journals (at);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON journals FOR EACH ROW EXECUTE FUNCTION forbid_change();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON journals FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();
CALL tenant_table('journals', 'SELECT');
GRANT SELECT ON journals TO gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT ON journals TO gpuaas_operator, gpuaas_system;
CREATE POLICY operator ON journals TO gpuaas_operator USING (true) WITH CHECK (true);

-- Without foreign keys: `check_entries` checks the same for a whole statement, at a tenth
-- of the cost.
CREATE TABLE entries (
  organization_id uuid NOT NULL,
  number bigint NOT NULL,
  line integer NOT NULL,
  account_id bigint NOT NULL,
  currency text NOT NULL,
  amount bigint NOT NULL CHECK (amount <> 0),
  allocation_id uuid,
  interval bigint,
  PRIMARY KEY (organization_id, number, line)
);
COMMENT ON TABLE entries IS
  'Entries of journals, signed: positive entries of a wallet are money of the organization.';
CREATE INDEX entries_by_account ON entries (account_id, number);
CREATE INDEX entries_by_interval ON entries (organization_id, allocation_id, interval, number) WHERE allocation_id IS NOT NULL;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON entries FOR EACH ROW EXECUTE FUNCTION forbid_change();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();
CALL tenant_table('entries', 'SELECT');
GRANT SELECT ON entries TO gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT ON entries TO gpuaas_operator, gpuaas_system;
CREATE POLICY operator ON entries TO gpuaas_operator USING (true) WITH CHECK (true);

CREATE FUNCTION check_entries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  wrong record;
BEGIN
  SELECT number, currency INTO wrong FROM added GROUP BY organization_id, number, currency HAVING sum(amount) <> 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'journal % does not balance in %', wrong.number, wrong.currency USING ERRCODE = 'check_violation';
  END IF;
  SELECT a.number INTO wrong FROM added a
    LEFT JOIN accounts ON accounts.id = a.account_id AND accounts.organization_id = a.organization_id AND accounts.currency = a.currency
    WHERE accounts.id IS NULL LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'journal % has an entry for an account of another organization or currency', wrong.number
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  -- The journal's transaction id closes it: entries that came later would not be in its hash.
  SELECT a.number INTO wrong FROM (SELECT DISTINCT organization_id, number FROM added) a
    LEFT JOIN journals j USING (organization_id, number) WHERE j.xid IS DISTINCT FROM pg_current_xact_id() LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'journal % is closed: entries come with their journal', wrong.number USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION check_entries() IS
  'Refuses entries that do not balance, that name a foreign account, or that come after their journal.';
CREATE TRIGGER check_entries AFTER INSERT ON entries REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION check_entries();

CREATE TABLE checkpoints (
  organization_id uuid NOT NULL REFERENCES organizations (id),
  account_id bigint NOT NULL REFERENCES accounts (id),
  number bigint NOT NULL,
  balance bigint NOT NULL,
  PRIMARY KEY (account_id, number)
);
COMMENT ON TABLE checkpoints IS
  'The sum of an account''s entries up to a journal, so that a balance reads few rows; it can be deleted and computed again.';
CALL tenant_table('checkpoints', 'SELECT');
GRANT SELECT ON checkpoints TO gpuaas_tenant, gpuaas_operator, gpuaas_system;
-- Staff post journals, too, and now and then a posting writes a checkpoint.
GRANT INSERT ON checkpoints TO gpuaas_operator, gpuaas_system;
GRANT DELETE ON checkpoints TO gpuaas_system;
CREATE POLICY operator ON checkpoints TO gpuaas_operator USING (true) WITH CHECK (true);

-- Hash chain ------------------------------------------------------------------
-- The texts that hashes are taken over. A change of any of them would make `ledger prove` fail
-- on all journals before it: they are fixed for all time. Each is a function of the
-- database, so that posting and proof cannot differ. Those that call something stable are
-- declared stable, too: the planner inlines them only then, at a third of the cost.

-- Microseconds since 1970: the text of a timestamp depends on settings of the session.
CREATE FUNCTION epoch_us(at timestamptz) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
  RETURN (extract(epoch FROM at) * 1000000)::bigint;

-- Arrays in JSON quote every value, so that no two marks have one text.
CREATE FUNCTION usage_text(mark usage) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
  RETURN jsonb_build_array(mark.allocation_id, mark.version, mark.kind, epoch_us(mark.at), mark.interval, mark.organization_id,
    mark.project_id, mark.sku_id, mark.gpus, mark.nodes, mark.tags, mark.currency, mark.price_id, mark.micros_per_hour,
    mark.app_instance_id, mark.deployment_id, mark.component, mark.operating_mode, mark.cause)::text;

CREATE FUNCTION journal_head(organization_id uuid, number bigint, id uuid, kind text, at timestamptz, from_at timestamptz,
  to_at timestamptz, actor text, reason text, reverses bigint, reference text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
  RETURN jsonb_build_array(organization_id, number, id, kind, epoch_us(at), epoch_us(from_at), epoch_us(to_at), actor, reason,
    reverses, reference)::text;

-- Numbers, ids and codes contain no spaces, and so plain text will do here; it is built for every entry.
CREATE FUNCTION entry_text(line integer, account_id bigint, currency text, amount bigint, allocation_id uuid, of_interval bigint)
  RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN line::text || ' ' || account_id::text || ' ' || currency || ' ' || amount::text || ' '
    || coalesce(allocation_id::text, '-') || ' ' || coalesce(of_interval::text, '-');

-- Each part is hashed first: parts of variable length, joined, could be cut elsewhere. The
-- hash of the previous journal makes the chain: a change anywhere changes all later ones.
CREATE FUNCTION journal_hash(before bytea, head text, entries text, marks text) RETURNS bytea
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN sha256(before || sha256(convert_to(head, 'UTF8')) || sha256(convert_to(entries, 'UTF8')) || sha256(convert_to(marks, 'UTF8')));
