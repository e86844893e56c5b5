-- Second factors of people's accounts, what is asked of them, and recovery codes.

CREATE TABLE mfa_factors (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id),
  kind text NOT NULL CHECK (kind IN ('totp', 'passkey')),
  name text NOT NULL,
  -- Of a TOTP device: its secret, sealed, and the last time step that was used.
  secret bytea,
  last_step bigint,
  -- Of a passkey: its id, its COSE public key and the counter last seen.
  credential_id bytea UNIQUE,
  public_key bytea,
  sign_count bigint,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  last_used_at timestamptz,
  CHECK ((kind = 'totp') = (secret IS NOT NULL AND last_step IS NOT NULL)),
  CHECK ((kind = 'passkey') = (credential_id IS NOT NULL AND public_key IS NOT NULL AND sign_count IS NOT NULL))
);
CREATE INDEX mfa_factors_by_user ON mfa_factors (user_id, id);

CREATE TABLE mfa_recovery_codes (
  user_id uuid NOT NULL REFERENCES users (id),
  hash bytea NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (user_id, hash)
);

-- What waits for an answer with a second factor, by the hash of its token.
CREATE TABLE mfa_challenges (
  hash bytea PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id),
  purpose text NOT NULL CHECK (purpose IN ('sign_in', 'step_up', 'enroll_totp', 'enroll_passkey')),
  -- The session that it belongs to; a sign-in has none yet.
  session_id uuid,
  -- What a passkey signs, or the sealed secret of a TOTP device to be.
  payload bytea NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL,
  CHECK ((purpose = 'sign_in') = (session_id IS NULL)),
  FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
);
CREATE INDEX mfa_challenges_by_user ON mfa_challenges (user_id);
CREATE INDEX mfa_challenges_by_expiry ON mfa_challenges (expires_at);

-- Wrong codes in a row, and until when no further one is looked at.
CREATE TABLE mfa_throttles (
  user_id uuid PRIMARY KEY REFERENCES users (id),
  failures integer NOT NULL,
  retry_at timestamptz NOT NULL
);

-- When the second factor was last used in a session, and by who made a key.
ALTER TABLE sessions ADD COLUMN mfa_at timestamptz;
ALTER TABLE keys ADD COLUMN mfa_at timestamptz;

ALTER TABLE mfa_factors ENABLE ROW LEVEL SECURITY;
ALTER TABLE mfa_factors FORCE ROW LEVEL SECURITY;
ALTER TABLE mfa_recovery_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE mfa_recovery_codes FORCE ROW LEVEL SECURITY;
ALTER TABLE mfa_challenges ENABLE ROW LEVEL SECURITY;
ALTER TABLE mfa_challenges FORCE ROW LEVEL SECURITY;
ALTER TABLE mfa_throttles ENABLE ROW LEVEL SECURITY;
ALTER TABLE mfa_throttles FORCE ROW LEVEL SECURITY;

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['mfa_factors', 'mfa_recovery_codes', 'mfa_challenges', 'mfa_throttles'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO gpuaas_system, gpuaas_identity, gpuaas_person', t);
    EXECUTE format('CREATE POLICY system ON %I TO gpuaas_system USING (true) WITH CHECK (true)', t);
    EXECUTE format('CREATE POLICY identity ON %I TO gpuaas_identity USING (true) WITH CHECK (true)', t);
    EXECUTE format('CREATE POLICY own ON %I TO gpuaas_person USING (user_id = (SELECT scope_user()))'
      || ' WITH CHECK (user_id = (SELECT scope_user()))', t);
  END LOOP;
END $$;

-- Recognizing a caller reads what their organizations require of them.
CREATE POLICY identity_reads_mfa ON policies FOR SELECT TO gpuaas_identity USING (key = 'identity.mfa_required');
