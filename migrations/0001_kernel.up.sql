-- The mechanisms that every area uses: database roles, the clock, row-level
-- security, guards of state and history, events, the audit log, idempotency, the
-- work queue and secrets.

-- Every transaction runs as one of these roles; none of them owns a table.
DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY[
    'gpuaas_public', 'gpuaas_identity', 'gpuaas_person',
    'gpuaas_tenant', 'gpuaas_operator', 'gpuaas_system'] LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', wanted);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL; -- roles belong to the cluster; another database created them
    END;
    -- Since PostgreSQL 16 the creator of a role may administer it, but may not
    -- become it until that is granted, too. Version 15 has no such distinction.
    IF NOT pg_has_role(current_user, wanted,
        CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END) THEN
      EXECUTE format('GRANT %I TO %I', wanted, current_user);
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', wanted);
  END LOOP;
END $$;

-- Clock -----------------------------------------------------------------------

-- The only source of time: the start of the transaction. Tests move it by
-- `app.clock_offset`.
CREATE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
  RETURN now() + coalesce(nullif(current_setting('app.clock_offset', true), '')::interval, interval '0');

-- The same clock at the moment of the call. Usage marks and postings read it after
-- they have their lock, so that their times are in the order of the lock.
CREATE FUNCTION app_clock() RETURNS timestamptz LANGUAGE sql VOLATILE
  RETURN clock_timestamp() + coalesce(nullif(current_setting('app.clock_offset', true), '')::interval, interval '0');

-- Row-level security ----------------------------------------------------------

-- The scope of the transaction, which policies compare rows with. Policies wrap
-- these calls in `(SELECT …)`, so that each is computed once per statement.
CREATE FUNCTION scope_organization() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('app.organization', true), '')::uuid;
CREATE FUNCTION scope_user() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('app.person', true), '')::uuid;
CREATE FUNCTION scope_principal() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
  RETURN current_setting('app.principal', true);

-- Forces row-level security, for the owner too. Only the system role passes until
-- other policies are added.
CREATE PROCEDURE secure_table(of_table regclass) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', of_table);
  EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', of_table);
  EXECUTE format('CREATE POLICY system ON %s TO gpuaas_system USING (true) WITH CHECK (true)', of_table);
END $$;

-- Secures a table whose rows belong to the organization in `organization_id`. Its
-- members see their rows; with 'SELECT' as the command, they cannot write them.
CREATE PROCEDURE tenant_table(of_table regclass, command text DEFAULT 'ALL') LANGUAGE plpgsql AS $$
BEGIN
  CALL secure_table(of_table);
  EXECUTE format('CREATE POLICY tenant ON %s FOR %s TO gpuaas_tenant USING (organization_id = (SELECT scope_organization()))',
    of_table, command)
    || CASE command WHEN 'SELECT' THEN '' ELSE ' WITH CHECK (organization_id = (SELECT scope_organization()))' END;
END $$;

-- Guards ----------------------------------------------------------------------

-- Holds against the owner and a superuser, too. A table whose trigger says 'may_expire' lets
-- rows go while a transaction expires them on purpose: it names the table in
-- `app.expiring`.
CREATE FUNCTION forbid_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND TG_ARGV[0] = 'may_expire' AND current_setting('app.expiring', true) = TG_TABLE_NAME THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
COMMENT ON FUNCTION forbid_change() IS 'Refuses to change or remove rows that were written.';

-- The servers write it when they start, so that the guard below and the code that
-- moves states cannot disagree.
-- not tenant data: derived from the code
CREATE TABLE legal_moves (
  lifecycle text NOT NULL,
  -- Empty for the states that a new row may start in.
  from_state text NOT NULL,
  to_state text NOT NULL,
  PRIMARY KEY (lifecycle, from_state, to_state)
);
COMMENT ON TABLE legal_moves IS 'State transitions that each lifecycle allows.';
GRANT SELECT ON legal_moves TO gpuaas_public, gpuaas_identity, gpuaas_person, gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT INSERT ON legal_moves TO gpuaas_system;

CREATE FUNCTION guard_state() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before text := '';
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF NEW.state = OLD.state THEN
      RETURN NEW;
    END IF;
    IF NEW.version <> OLD.version + 1 THEN
      RAISE EXCEPTION '% %: version must go from % to %', TG_ARGV[0], NEW.id, OLD.version, OLD.version + 1
        USING ERRCODE = 'check_violation';
    END IF;
    before := OLD.state;
  END IF;
  IF NOT EXISTS (SELECT FROM legal_moves WHERE lifecycle = TG_ARGV[0] AND from_state = before AND to_state = NEW.state) THEN
    RAISE EXCEPTION '% %: no legal move from % to %', TG_ARGV[0], NEW.id, before, NEW.state
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION guard_state() IS
  'Lets a row start in an initial state and change its state only by a legal move that counts the version up by one.';

-- Installation ----------------------------------------------------------------

-- not tenant data: one row about the installation
CREATE TABLE installation (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  -- Restoring a backup starts a new epoch, because transaction ids start over.
  epoch integer NOT NULL DEFAULT 1,
  cluster_id bigint NOT NULL,
  -- The newest migration that a server must know. A migration that removes something
  -- raises it, because servers of the previous release still run meanwhile.
  needs_step bigint NOT NULL DEFAULT 1
);
COMMENT ON TABLE installation IS 'The installation itself: the epoch of its history and the oldest server that it supports.';
INSERT INTO installation (cluster_id) SELECT system_identifier FROM pg_control_system();
GRANT SELECT ON installation TO gpuaas_public, gpuaas_system;
GRANT UPDATE ON installation TO gpuaas_system;
-- Servers check that they fit the schema, and backups read every table.
GRANT SELECT ON _sqlx_migrations TO gpuaas_public, gpuaas_system;

-- Events ----------------------------------------------------------------------

-- Readers follow the order (epoch, xid, place). No part would do alone: places commit out
-- of order, and a transaction that began early may report a change that came
-- after another transaction's. So `xid` is the newest transaction known to be
-- over when the event was written, or the writer itself. Below the oldest running
-- transaction nothing can be added any more, and two changes of one row, which
-- its lock separates, stay in order.
CREATE TABLE outbox (
  epoch integer NOT NULL,
  xid xid8 NOT NULL DEFAULT greatest(
    pg_current_xact_id(), (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)::text::xid8),
  place bigint GENERATED BY DEFAULT AS IDENTITY,
  id uuid NOT NULL,
  subject text NOT NULL,
  organization_id uuid,
  resource text,
  version bigint,
  at timestamptz NOT NULL DEFAULT app_now(),
  correlation_id text NOT NULL,
  traceparent text,
  data jsonb NOT NULL,
  PRIMARY KEY (epoch, xid, place)
);
COMMENT ON TABLE outbox IS 'Events, written in the transaction of the change that they report.';
CREATE INDEX outbox_by_organization ON outbox (organization_id, id);
-- Staff read the events of all organizations, and resume after one that they know.
CREATE INDEX outbox_by_id ON outbox (id);
CREATE INDEX outbox_by_resource ON outbox (resource, id);
CALL secure_table('outbox');
GRANT INSERT ON outbox TO gpuaas_identity, gpuaas_person, gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT SELECT ON outbox TO gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT DELETE ON outbox TO gpuaas_system;
CREATE POLICY tenant_reads ON outbox FOR SELECT TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization()));
CREATE POLICY tenant_writes ON outbox FOR INSERT TO gpuaas_tenant
  WITH CHECK (organization_id = (SELECT scope_organization()));
CREATE POLICY person_writes ON outbox FOR INSERT TO gpuaas_person, gpuaas_identity WITH CHECK (organization_id IS NULL);
CREATE POLICY operator ON outbox TO gpuaas_operator USING (true) WITH CHECK (true);

-- not tenant data: positions in the outbox
CREATE TABLE consumers (
  name text PRIMARY KEY,
  epoch integer NOT NULL DEFAULT 0,
  xid xid8 NOT NULL DEFAULT '0',
  place bigint NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  retry_at timestamptz NOT NULL DEFAULT app_now()
);
COMMENT ON TABLE consumers IS 'Position of each durable consumer in the outbox.';
GRANT SELECT, INSERT, UPDATE, DELETE ON consumers TO gpuaas_system;

-- not tenant data: message ids
CREATE TABLE consumed (
  consumer text NOT NULL,
  message_id uuid NOT NULL,
  at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (consumer, message_id)
);
COMMENT ON TABLE consumed IS 'Messages that each consumer has handled, so that a redelivery does nothing.';
CREATE INDEX consumed_by_time ON consumed (at);
GRANT SELECT, INSERT, DELETE ON consumed TO gpuaas_system;

CREATE TABLE dead_letters (
  id uuid PRIMARY KEY,
  -- The order of messages: ids of two replicas follow two clocks.
  place bigint GENERATED BY DEFAULT AS IDENTITY,
  consumer text NOT NULL,
  message_id uuid NOT NULL,
  subject text NOT NULL,
  organization_id uuid,
  resource text,
  resource_version bigint,
  at timestamptz NOT NULL,
  correlation_id text NOT NULL,
  traceparent text,
  data jsonb NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  attempts integer NOT NULL DEFAULT 0,
  error text NOT NULL,
  redeliver_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (consumer, message_id)
);
COMMENT ON TABLE dead_letters IS
  'Messages that a consumer failed to handle, and the later messages of the same resource that wait behind them.';
CREATE INDEX dead_letters_blocking ON dead_letters (consumer, resource) WHERE state IN ('waiting', 'exhausted');
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON dead_letters
  FOR EACH ROW EXECUTE FUNCTION guard_state('dead_letter');
CALL secure_table('dead_letters');
GRANT SELECT, INSERT, UPDATE ON dead_letters TO gpuaas_operator, gpuaas_system;
GRANT DELETE ON dead_letters TO gpuaas_system;
CREATE POLICY operator ON dead_letters TO gpuaas_operator USING (true) WITH CHECK (true);
-- Backups read the positions of all sequences.
GRANT SELECT ON SEQUENCE outbox_place_seq, dead_letters_place_seq TO gpuaas_system;

-- Audit log -------------------------------------------------------------------

-- Ids of subjects only: personal data is stored where it can be erased.
CREATE TABLE audit (
  epoch integer NOT NULL,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  id uuid NOT NULL,
  organization_id uuid,
  at timestamptz NOT NULL DEFAULT app_now(),
  actor text NOT NULL,
  action text NOT NULL,
  resource text,
  outcome text NOT NULL,
  correlation_id text NOT NULL,
  detail jsonb NOT NULL,
  PRIMARY KEY (epoch, xid, id)
);
COMMENT ON TABLE audit IS 'The audit log: actor, action, resource and outcome.';
CREATE INDEX audit_by_organization ON audit (organization_id, id);
CREATE INDEX audit_by_id ON audit (id);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION forbid_change('may_expire');
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();
CALL secure_table('audit');
GRANT INSERT ON audit TO gpuaas_public, gpuaas_identity, gpuaas_person, gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT SELECT ON audit TO gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT DELETE ON audit TO gpuaas_system;
CREATE POLICY tenant_reads ON audit FOR SELECT TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization()));
CREATE POLICY tenant_writes ON audit FOR INSERT TO gpuaas_tenant
  WITH CHECK (organization_id = (SELECT scope_organization()));
CREATE POLICY person_writes ON audit FOR INSERT TO gpuaas_public, gpuaas_person, gpuaas_identity WITH CHECK (organization_id IS NULL);
CREATE POLICY operator ON audit TO gpuaas_operator USING (true) WITH CHECK (true);

-- not tenant data: hashes over the whole log
CREATE TABLE seals (
  number bigint PRIMARY KEY,
  last_epoch integer NOT NULL,
  last_xid xid8 NOT NULL,
  entries bigint NOT NULL,
  entries_root bytea NOT NULL,
  root bytea NOT NULL,
  key_id text NOT NULL,
  signature bytea NOT NULL,
  sealed_at timestamptz NOT NULL DEFAULT app_now(),
  -- 16 bytes of id and 32 of hash per entry, so that the entry that differs can be named.
  leaves bytea,
  expired_at timestamptz
);
COMMENT ON TABLE seals IS 'Signed hashes of batches of audit entries; each root chains over all batches before it.';
-- Only the columns that expiry writes can be changed, by grant.
CREATE TRIGGER append_only BEFORE DELETE ON seals FOR EACH ROW EXECUTE FUNCTION forbid_change('may_expire');
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON seals FOR EACH STATEMENT EXECUTE FUNCTION forbid_change();
GRANT SELECT, INSERT ON seals TO gpuaas_system;
GRANT UPDATE (leaves, expired_at) ON seals TO gpuaas_system;
GRANT SELECT ON seals TO gpuaas_operator;

-- Idempotency -----------------------------------------------------------------

CREATE TABLE idempotency (
  principal text NOT NULL,
  operation text NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL,
  status smallint,
  body bytea,
  sealed boolean NOT NULL DEFAULT false,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (principal, operation, key)
);
COMMENT ON TABLE idempotency IS 'Committed answers by caller, operation and idempotency key, so that a retry receives the same answer.';
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
CALL secure_table('idempotency');
GRANT SELECT, INSERT, UPDATE ON idempotency TO gpuaas_person, gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT DELETE ON idempotency TO gpuaas_system;
CREATE POLICY own ON idempotency TO gpuaas_person, gpuaas_tenant, gpuaas_operator
  USING (principal = (SELECT scope_principal())) WITH CHECK (principal = (SELECT scope_principal()));

-- Work queue ------------------------------------------------------------------

-- not tenant data: kinds and ids only, woken from every scope
CREATE TABLE work (
  kind text NOT NULL,
  id uuid NOT NULL,
  due_at timestamptz NOT NULL DEFAULT app_now(),
  wakes bigint NOT NULL DEFAULT 0,
  -- The number of wakes when a worker claimed it: a later wake means another visit.
  claimed_wakes bigint,
  attempts integer NOT NULL DEFAULT 0,
  lease uuid,
  lease_until timestamptz,
  needs_attention boolean NOT NULL DEFAULT false,
  last_error text,
  PRIMARY KEY (kind, id)
);
COMMENT ON TABLE work IS 'The work queue: what reconcilers have to visit, and when.';
CREATE INDEX work_by_due ON work (due_at);
GRANT SELECT, INSERT, UPDATE ON work TO gpuaas_identity, gpuaas_person, gpuaas_tenant, gpuaas_operator, gpuaas_system;
GRANT DELETE ON work TO gpuaas_system;

-- Whether a visit is due that has not begun.
CREATE FUNCTION is_awaited(w work) RETURNS boolean LANGUAGE sql STABLE
  RETURN CASE WHEN w.lease IS NULL THEN w.due_at <= app_now() ELSE w.wakes <> w.claimed_wakes END;

-- Wakes something that many transactions wake at once, such as the wallet of a busy
-- organization. An ordinary wake locks the row of the queue until its commit, and all
-- those transactions would wait for each other. Here a wake that nobody has acted on
-- serves them all: each holds a shared advisory lock until its commit, and the worker
-- waits for the holders (kernel::work::wait_for_wakers) before it reads what they wrote.
CREATE FUNCTION wake_together(of_kind text, of_id uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  is_shared boolean;
BEGIN
  -- Try only: wakers never wait for a worker. Without the lock the row itself is updated.
  is_shared := pg_try_advisory_xact_lock_shared(hashtextextended(of_kind || ':' || of_id, 0));
  BEGIN
    -- A separate statement has a newer snapshot, and so sees every claim from before the lock.
    IF is_shared AND EXISTS (SELECT FROM work w WHERE w.kind = of_kind AND w.id = of_id AND is_awaited(w)) THEN
      RETURN;
    END IF;
    INSERT INTO work (kind, id, due_at) VALUES (of_kind, of_id, app_now())
      ON CONFLICT (kind, id) DO UPDATE SET wakes = work.wakes + 1, due_at = least(work.due_at, excluded.due_at)
      WHERE NOT (is_shared AND is_awaited(work));
    -- Another transaction woke it while this one waited for the row. The conflict has
    -- locked the row; only rolling back to the savepoint of this block unlocks it now.
    IF NOT FOUND THEN
      RAISE EXCEPTION 'a wake exists' USING ERRCODE = 'triggered_action_exception';
    END IF;
  EXCEPTION WHEN triggered_action_exception THEN
    NULL;
  END;
END $$;

-- Secrets ---------------------------------------------------------------------

-- not tenant data: the platform's own keys
CREATE TABLE secrets (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  sealed bytea NOT NULL,
  public text,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  retired_at timestamptz,
  -- Not trusted from this moment on; a replacement is created where it is needed.
  revoked_at timestamptz
);
COMMENT ON TABLE secrets IS 'Signing keys and other secrets of the platform, sealed by a key that is not in the database.';
CREATE INDEX secrets_by_name ON secrets (name, created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON secrets TO gpuaas_system;
GRANT SELECT (name, public) ON secrets TO gpuaas_operator;
