-- Invoices: what a month came to, numbered without gaps, never changed.

-- Months are those of UTC.
CREATE FUNCTION month_of(at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN date_trunc('month', at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
CREATE FUNCTION month_after(at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN (date_trunc('month', at AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC';

-- What is printed about who buys; without an organization, about who sells.
CREATE TABLE billing_profiles (
  organization_id uuid UNIQUE NULLS NOT DISTINCT REFERENCES organizations (id),
  legal_name text NOT NULL,
  address text[] NOT NULL,
  tax_id text,
  email text,
  -- Unset is taxed as the seller's profile says.
  tax_name text,
  tax_basis_points integer CHECK (tax_basis_points BETWEEN 0 AND 10000),
  tax_note text,
  set_at timestamptz NOT NULL DEFAULT app_now(),
  CHECK ((tax_name IS NULL) = (tax_basis_points IS NULL))
);

-- How far the seller's numbers went in each year. The row is locked until the
-- invoice is committed, so that a number is used or was never taken.
-- not tenant data: counts everybody's invoices
CREATE TABLE invoice_series (
  year integer PRIMARY KEY,
  last bigint NOT NULL CHECK (last > 0),
  issued_at timestamptz NOT NULL
);

-- How far an organization's months were gone through.
CREATE TABLE invoicing (
  organization_id uuid PRIMARY KEY REFERENCES organizations (id),
  -- The beginning of the first month that was not.
  month timestamptz NOT NULL,
  -- The newest journal that was looked at for what it takes back.
  journal bigint NOT NULL DEFAULT 0
);

CREATE TABLE invoices (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  year integer NOT NULL,
  serial bigint NOT NULL CHECK (serial > 0),
  number text NOT NULL UNIQUE GENERATED ALWAYS AS (year::text || '-' || lpad(serial::text, greatest(6, length(serial::text)), '0')) STORED,
  kind text NOT NULL CHECK (kind IN ('invoice', 'credit_note')),
  -- The invoice that a credit note corrects, and the journal that took usage back.
  corrects uuid,
  reversal bigint,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL,
  issued_at timestamptz NOT NULL,
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  seller jsonb NOT NULL,
  buyer jsonb NOT NULL,
  lines jsonb NOT NULL,
  subtotal_micros bigint NOT NULL,
  rounding_micros bigint NOT NULL,
  tax jsonb,
  tax_micros bigint NOT NULL,
  total_micros bigint NOT NULL CHECK (total_micros = subtotal_micros + rounding_micros + tax_micros),
  paid_micros bigint NOT NULL,
  due_micros bigint NOT NULL CHECK (paid_micros + due_micros = total_micros),
  -- What posted rounding and tax, and the newest journal when it was issued.
  journal bigint,
  journals bigint NOT NULL,
  pdf bytea NOT NULL,
  UNIQUE (year, serial),
  UNIQUE (organization_id, id),
  CHECK ((kind = 'credit_note') = (corrects IS NOT NULL AND reversal IS NOT NULL)),
  FOREIGN KEY (organization_id, corrects) REFERENCES invoices (organization_id, id),
  FOREIGN KEY (organization_id, reversal) REFERENCES journals (organization_id, number),
  FOREIGN KEY (organization_id, journal) REFERENCES journals (organization_id, number)
);
CREATE UNIQUE INDEX invoices_once ON invoices (organization_id, period_start, currency) WHERE kind = 'invoice';
CREATE UNIQUE INDEX invoices_corrected_once ON invoices (organization_id, reversal, currency) WHERE kind = 'credit_note';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON invoices FOR EACH ROW EXECUTE FUNCTION keep_for_ever();
CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON invoices FOR EACH STATEMENT EXECUTE FUNCTION keep_for_ever();

CREATE FUNCTION guard_series() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NEW.last = 1 THEN
    RETURN NEW;
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.year = OLD.year AND NEW.last = OLD.last + 1 AND NEW.issued_at >= OLD.issued_at THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'invoice numbers go up one by one: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER one_by_one BEFORE INSERT OR UPDATE OR DELETE ON invoice_series FOR EACH ROW EXECUTE FUNCTION guard_series();
CREATE TRIGGER one_by_one_whole BEFORE TRUNCATE ON invoice_series FOR EACH STATEMENT EXECUTE FUNCTION keep_for_ever();

-- A number belongs to an invoice by the end of the transaction that takes it.
CREATE FUNCTION check_series() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM invoices i WHERE i.year = NEW.year AND i.serial = NEW.last) THEN
    RAISE EXCEPTION 'invoice number %-% was taken for no invoice', NEW.year, NEW.last USING ERRCODE = 'foreign_key_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER no_gap AFTER INSERT OR UPDATE ON invoice_series DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION check_series();

-- The journals of a month, for invoices to sum.
CREATE INDEX journals_by_window ON journals (organization_id, to_at) WHERE to_at IS NOT NULL;

-- The intervals of a period with what they came to in it, to the millionth:
-- amounts are taken from the start of each, as postings are.
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

ALTER TABLE billing_profiles ENABLE ROW LEVEL SECURITY;
ALTER TABLE billing_profiles FORCE ROW LEVEL SECURITY;
ALTER TABLE invoicing ENABLE ROW LEVEL SECURITY;
ALTER TABLE invoicing FORCE ROW LEVEL SECURITY;
ALTER TABLE invoices ENABLE ROW LEVEL SECURITY;
ALTER TABLE invoices FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON billing_profiles TO gpuaas_tenant, gpuaas_operator;
GRANT SELECT ON invoices TO gpuaas_tenant, gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON billing_profiles, invoicing TO gpuaas_system;
GRANT SELECT, INSERT ON invoices TO gpuaas_system;
GRANT SELECT, INSERT, UPDATE ON invoice_series TO gpuaas_system;
CREATE POLICY tenant ON billing_profiles TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
-- Who sells is no secret: it is on every invoice.
CREATE POLICY seller ON billing_profiles FOR SELECT TO gpuaas_tenant USING (organization_id IS NULL);
CREATE POLICY staff ON billing_profiles TO gpuaas_operator, gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY system ON invoicing TO gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY tenant ON invoices FOR SELECT TO gpuaas_tenant USING (organization_id = (SELECT scope_organization()));
CREATE POLICY staff ON invoices TO gpuaas_operator, gpuaas_system USING (true) WITH CHECK (true);
-- Staff see what projects are called, on invoices and in usage.
GRANT SELECT (id, organization_id, name) ON projects TO gpuaas_operator;
