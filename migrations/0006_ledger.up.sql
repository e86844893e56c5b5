-- What is metered and what it costs: prices, marks of usage, and the ledger that usage
-- is charged to. Usage and ledger are append-only, for the owner too, and no balance is
-- stored that could disagree with the sum of its entries.

-- Prices ----------------------------------------------------------------------

-- Whether a unit is measured over time; the others are counted.
CREATE FUNCTION is_rate(unit text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN unit IN ('gpu_hour', 'hour', 'gib_hour');

-- A price that was charged can always be shown.
-- not tenant data: what is on offer, for everyone to read
CREATE TABLE prices (
  id uuid PRIMARY KEY,
  sku_id uuid NOT NULL REFERENCES skus (id),
  unit text NOT NULL CHECK (unit IN ('gpu_hour', 'hour', 'gib_hour', 'request', 'token', 'job')),
  kind text NOT NULL CHECK (kind IN ('on_demand', 'stopped', 'reserved', 'spot')),
  version bigint NOT NULL,
  currency text NOT NULL,
  -- Of so many units: a million tokens may cost less than one of them can be priced at.
  price_micros bigint NOT NULL CHECK (price_micros >= 0),
  per_units bigint NOT NULL DEFAULT 1 CHECK (per_units > 0 AND (per_units = 1 OR NOT is_rate(unit))),
  effective_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (sku_id, unit, kind, currency, version)
);
COMMENT ON TABLE prices IS 'Prices of SKUs per unit, kind and currency, each from a moment on.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON prices FOR EACH ROW EXECUTE FUNCTION forbid_change();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON prices FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();
GRANT SELECT ON prices TO gpuaas_person, gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT ON prices TO gpuaas_operator, gpuaas_system;

-- Which price was in force: the one that took effect last, and of those that took effect
-- together the one that was set last. Admission, metering and budgets ask this function;
-- `ledger prove` works it out on its own.
CREATE FUNCTION price_in_force(sku uuid, of_unit text, of_kind text, of_currency text, at timestamptz) RETURNS SETOF prices
  LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT * FROM prices WHERE sku_id = sku AND unit = of_unit AND kind = of_kind AND currency = of_currency AND effective_at <= at
  ORDER BY effective_at DESC, version DESC LIMIT 1
$$;

-- The advisory lock of a SKU's prices. Setting a price holds it alone until its commit,
-- starts of usage share it: no interval begins under a price that is about to change.
CREATE FUNCTION price_key(sku uuid) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN hashtextextended('price:' || sku::text, 0);

-- The cost of some time at an hourly rate: floor(rate × µs / hour), exactly.
CREATE FUNCTION accrued(micros_per_hour bigint, elapsed interval) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN div(micros_per_hour::numeric * (extract(epoch FROM elapsed) * 1000000), 3600000000);

-- The cost of a counted quantity: floor(price × quantity / units), exactly.
CREATE FUNCTION counted(price_micros bigint, per_units bigint, quantity bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN div(price_micros::numeric * quantity, per_units)::bigint;

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

-- What is metered is a subject, by a meter. A meter with a rate (gpu_hour, hour, gib_hour) has
-- intervals: a mark of their start and one of their end, which copies the start, because
-- the subject may have changed since. A meter that counts (request, token, job) has a mark for
-- each quantity, with the total of its interval: all marks at one price. Amounts
-- are differences of sums from the start of an interval, so that no rounding is lost.
CREATE TABLE usage (
  organization_id uuid NOT NULL REFERENCES organizations (id),
  subject_kind text NOT NULL,
  subject_id uuid NOT NULL,
  meter text NOT NULL,
  -- Counts the marks of a subject and meter.
  number bigint NOT NULL CHECK (number > 0),
  kind text NOT NULL CHECK (kind IN ('start', 'end', 'count')),
  at timestamptz NOT NULL,
  -- The number of the mark that began it.
  interval bigint NOT NULL,
  -- What it belongs to, so that a bill can be divided any way.
  project_id uuid NOT NULL,
  allocation_id uuid,
  volume_id uuid,
  app_instance_id uuid,
  deployment_id uuid,
  component text,
  operating_mode text,
  -- The request or visit that caused it.
  correlation_id text,
  sku_id uuid NOT NULL,
  unit text NOT NULL,
  price_kind text NOT NULL,
  -- At once where it has a rate, in this mark where it is counted.
  quantity bigint NOT NULL CHECK (quantity >= 0),
  -- Of the interval with this mark, where it is counted.
  total bigint,
  currency text NOT NULL,
  -- The version that was in force at the start of the interval; without a price it is free.
  price_id uuid,
  price_micros bigint NOT NULL CHECK (price_micros >= 0),
  per_units bigint NOT NULL CHECK (per_units > 0),
  -- Of the whole quantity, where it has a rate.
  micros_per_hour bigint NOT NULL CHECK (micros_per_hour >= 0),
  -- Of this mark, where it is counted.
  amount bigint NOT NULL CHECK (amount >= 0),
  nodes uuid[] NOT NULL,
  tags jsonb NOT NULL,
  -- Why it began or ended, such as the state that the subject moved to.
  cause text NOT NULL,
  PRIMARY KEY (organization_id, subject_id, meter, number),
  CHECK ((kind = 'start') <= (interval = number) AND (kind = 'end') <= (interval < number)),
  CHECK ((kind = 'count') = (total IS NOT NULL) AND is_rate(unit) = (kind <> 'count')),
  CHECK (CASE WHEN kind = 'count' THEN micros_per_hour = 0 AND amount = counted(price_micros, per_units, total)
    - counted(price_micros, per_units, total - quantity) ELSE amount = 0 AND micros_per_hour = price_micros * quantity END),
  FOREIGN KEY (organization_id, project_id) REFERENCES projects (organization_id, id)
);
COMMENT ON TABLE usage IS 'Marks of usage: starts, ends and quantities of what is metered, with all that a charge depends on.';
CREATE INDEX usage_by_time ON usage (organization_id, at);
CREATE INDEX usage_by_project ON usage (project_id, at);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON usage FOR EACH ROW EXECUTE FUNCTION forbid_change();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON usage FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();
CALL tenant_table('usage', 'SELECT');
GRANT SELECT ON usage TO gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT ON usage TO gpuaas_system;
CREATE POLICY operator ON usage TO gpuaas_operator USING (true) WITH CHECK (true);

-- Found through `usage` alone, open intervals would cost a search of the whole history.
CREATE TABLE open_intervals (
  organization_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  meter text NOT NULL,
  interval bigint NOT NULL,
  project_id uuid NOT NULL,
  -- When it ends at the latest, such as the end of a lease.
  ends_at timestamptz,
  PRIMARY KEY (organization_id, subject_id, meter),
  FOREIGN KEY (organization_id, subject_id, meter, interval) REFERENCES usage (organization_id, subject_id, meter, number)
);
COMMENT ON TABLE open_intervals IS 'The intervals of usage that have started and not ended; `ledger prove` compares them with the marks.';
CREATE INDEX open_intervals_by_project ON open_intervals (project_id);
CALL tenant_table('open_intervals', 'SELECT');
GRANT SELECT ON open_intervals TO gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT, UPDATE, DELETE ON open_intervals TO gpuaas_system;
CREATE POLICY operator ON open_intervals TO gpuaas_operator USING (true) WITH CHECK (true);

-- What ran when. Postings, invoices, budgets, reports and exports read usage here. The cost of
-- a piece of an interval is `amount + accrued(rate, until - started_at) - accrued(rate,
-- since - started_at)`: one of the two parts is always 0. A count is an interval of one
-- microsecond, so that each belongs to exactly one of two adjacent periods. `closed_at` is for
-- searches, which can use an index on it: it is before `ended_at` by that microsecond at most.
CREATE VIEW intervals WITH (security_invoker = true) AS
  SELECT s.organization_id, s.subject_kind, s.subject_id, s.meter, s.interval, s.number, s.project_id, s.allocation_id, s.volume_id,
    s.app_instance_id, s.deployment_id, s.component, s.operating_mode, s.sku_id, s.unit, s.price_kind, s.quantity, s.currency,
    s.price_id, s.price_micros, s.per_units, s.micros_per_hour, s.amount, s.nodes, s.tags,
    s.at AS started_at, 'infinity'::timestamptz AS ended_at, 'infinity'::timestamptz AS closed_at, true AS is_open, o.ends_at
  FROM open_intervals o JOIN usage s ON s.organization_id = o.organization_id AND s.subject_id = o.subject_id
    AND s.meter = o.meter AND s.number = o.interval
  UNION ALL
  SELECT e.organization_id, s.subject_kind, s.subject_id, s.meter, s.interval, s.number, e.project_id, s.allocation_id, s.volume_id,
    s.app_instance_id, s.deployment_id, s.component, s.operating_mode, s.sku_id, s.unit, s.price_kind, s.quantity, s.currency,
    s.price_id, s.price_micros, s.per_units, s.micros_per_hour, s.amount, s.nodes, s.tags,
    s.at, e.at, e.at, false, NULL
  FROM usage e JOIN usage s ON s.organization_id = e.organization_id AND s.subject_id = e.subject_id
    AND s.meter = e.meter AND s.number = e.interval
  WHERE e.kind = 'end'
  UNION ALL
  SELECT c.organization_id, c.subject_kind, c.subject_id, c.meter, c.interval, c.number, c.project_id, c.allocation_id, c.volume_id,
    c.app_instance_id, c.deployment_id, c.component, c.operating_mode, c.sku_id, c.unit, c.price_kind, c.quantity, c.currency,
    c.price_id, c.price_micros, c.per_units, c.micros_per_hour, c.amount, c.nodes, c.tags,
    -- bound: the smallest step of the clock
    c.at, c.at + interval '1 microsecond', c.at, false, NULL
  FROM usage c WHERE c.kind = 'count';
GRANT SELECT ON intervals TO gpuaas_tenant, gpuaas_operator, gpuaas_system;

-- What a piece of an interval used: unit-microseconds, or the counted quantity.
CREATE FUNCTION consumed(unit text, quantity bigint, since timestamptz, until timestamptz) RETURNS numeric LANGUAGE sql STABLE PARALLEL SAFE
  RETURN CASE WHEN is_rate(unit) THEN quantity::numeric * (extract(epoch FROM until - since) * 1000000) ELSE quantity END;

-- What is metered in a state has an open interval exactly while it is in that state. Metering
-- is called by the mover of states (see `crates/money/src/metering`); this refuses the commit
-- of whoever moved without it. The arguments: the meter, then the states.
CREATE FUNCTION check_metered() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
DECLARE
  is_metered boolean := EXISTS (SELECT FROM open_intervals o
    WHERE o.organization_id = NEW.organization_id AND o.subject_id = NEW.id AND o.meter = TG_ARGV[0]);
  now_in text;
BEGIN
  -- It may have moved on since: what counts is what is committed.
  EXECUTE format('SELECT state FROM %I WHERE id = $1', TG_TABLE_NAME) INTO now_in USING NEW.id;
  IF is_metered <> (now_in = ANY (TG_ARGV[1:])) THEN
    RAISE EXCEPTION '% % is % and its meter % is %', TG_TABLE_NAME, NEW.id, now_in, TG_ARGV[0],
      CASE WHEN is_metered THEN 'running' ELSE 'not running' END USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION check_metered() IS 'Refuses the commit of a move into or out of a metered state without a mark of usage.';
CREATE CONSTRAINT TRIGGER check_metered AFTER UPDATE OF state ON allocations DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((OLD.state = 'active') <> (NEW.state = 'active')) EXECUTE FUNCTION check_metered('gpu_time', 'active');

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
  -- The interval of usage that it charges.
  subject_id uuid,
  meter text,
  interval bigint,
  PRIMARY KEY (organization_id, number, line)
);
COMMENT ON TABLE entries IS
  'Entries of journals, signed: positive entries of a wallet are money of the organization.';
CREATE INDEX entries_by_account ON entries (account_id, number);
CREATE INDEX entries_by_interval ON entries (organization_id, subject_id, meter, interval, number) WHERE subject_id IS NOT NULL;
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
-- The texts that hashes are taken over. Each begins with the version of its form, in one byte: a
-- later form gets the next letter, and `ledger prove` goes on to read what was hashed in
-- this one. Each is a function of the database, so that posting and proof cannot
-- differ. Those that call something stable are declared stable, too: the planner
-- inlines them only then, at a third of the cost.

-- Microseconds since 1970: the text of a timestamp depends on settings of the session.
CREATE FUNCTION epoch_us(at timestamptz) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
  RETURN (extract(epoch FROM at) * 1000000)::bigint;

-- Arrays in JSON quote every value, so that no two marks have one text.
CREATE FUNCTION usage_text(mark usage) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
  RETURN 'a' || jsonb_build_array(mark.organization_id, mark.subject_kind, mark.subject_id, mark.meter, mark.number, mark.kind,
    epoch_us(mark.at), mark.interval, mark.project_id, mark.allocation_id, mark.volume_id, mark.app_instance_id, mark.deployment_id,
    mark.component, mark.operating_mode, mark.correlation_id, mark.sku_id, mark.unit, mark.price_kind, mark.quantity, mark.total,
    mark.currency, mark.price_id, mark.price_micros, mark.per_units, mark.micros_per_hour, mark.amount, mark.nodes, mark.tags, mark.cause)::text;

CREATE FUNCTION journal_head(organization_id uuid, number bigint, id uuid, kind text, at timestamptz, from_at timestamptz,
  to_at timestamptz, actor text, reason text, reverses bigint, reference text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
  RETURN 'a' || jsonb_build_array(organization_id, number, id, kind, epoch_us(at), epoch_us(from_at), epoch_us(to_at), actor, reason,
    reverses, reference)::text;

-- Numbers, ids, codes and names of meters contain no spaces, and so plain text will do here; it is built for every entry.
CREATE FUNCTION entry_text(line integer, account_id bigint, currency text, amount bigint, subject_id uuid, meter text, of_interval bigint)
  RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 'a' || line::text || ' ' || account_id::text || ' ' || currency || ' ' || amount::text || ' '
    || coalesce(subject_id::text, '-') || ' ' || coalesce(meter, '-') || ' ' || coalesce(of_interval::text, '-');

-- Each part is hashed first: parts of variable length, joined, could be cut elsewhere. The
-- hash of the previous journal makes the chain: a change anywhere changes all later ones.
-- The byte before all of it is the version of this form.
CREATE FUNCTION journal_hash(before bytea, head text, entries text, marks text) RETURNS bytea
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN sha256('\x01'::bytea || before || sha256(convert_to(head, 'UTF8')) || sha256(convert_to(entries, 'UTF8')) || sha256(convert_to(marks, 'UTF8')));
