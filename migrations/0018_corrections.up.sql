-- What staff change in the books by hand: proposed by one person and, where
-- policy asks for it, posted by another.

-- not tenant data: staff propose and decide; an organization sees the journal that it came to
CREATE TABLE corrections (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  kind text NOT NULL CHECK (kind IN ('credit', 'adjustment', 'reversal')),
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  currency text CHECK (currency ~ '^[A-Z]{3}$'),
  amount bigint CHECK (amount <> 0),
  reverses bigint,
  reason text NOT NULL,
  proposed_by text NOT NULL,
  decided_by text,
  decision text,
  -- The journal that was posted for it.
  number bigint,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  CHECK ((kind = 'reversal') = (reverses IS NOT NULL)),
  CHECK ((kind <> 'reversal') = (amount IS NOT NULL AND currency IS NOT NULL)),
  CHECK (state <> 'posted' OR number IS NOT NULL),
  FOREIGN KEY (organization_id, reverses) REFERENCES journals (organization_id, number),
  FOREIGN KEY (organization_id, number) REFERENCES journals (organization_id, number)
);
CREATE INDEX corrections_proposed ON corrections (expires_at) WHERE state = 'proposed';

CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON corrections
  FOR EACH ROW EXECUTE FUNCTION guard_state('correction');

ALTER TABLE corrections ENABLE ROW LEVEL SECURITY;
ALTER TABLE corrections FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON corrections TO gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON corrections TO gpuaas_system;
CREATE POLICY staff ON corrections TO gpuaas_operator, gpuaas_system USING (true) WITH CHECK (true);
