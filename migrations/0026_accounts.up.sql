-- An account belongs to whoever receives mail at its address, and what a credential
-- opened ends with it.

-- When it was shown that mail to the address reaches whoever holds the account: by a
-- token that was mailed there, by an external issuer, or by an operator's word.
ALTER TABLE users ADD COLUMN address_proven_at timestamptz;

-- Password hashes are for signing in; nobody else reads them.
REVOKE SELECT ON users FROM gpuaas_tenant, gpuaas_operator;
GRANT SELECT (id, email, name, created_at, erased_at) ON users TO gpuaas_tenant;
GRANT SELECT (id, email, name, platform_role, created_at, erased_at, address_proven_at) ON users TO gpuaas_operator;
REVOKE UPDATE ON users FROM gpuaas_operator;
GRANT UPDATE (platform_role) ON users TO gpuaas_operator;

-- The token that an inviter sees lets an account join. The one that also creates an
-- account is known only to who reads the mail; it is kept sealed until it is mailed.
ALTER TABLE invitations ADD COLUMN made_by text;
ALTER TABLE invitations ADD COLUMN mail_token_hash bytea UNIQUE;
ALTER TABLE invitations ADD COLUMN mail_token bytea;

-- A used refresh token answers its one successor, sealed, for a short grace.
ALTER TABLE refresh_tokens ADD COLUMN successor bytea;

-- What somebody showed to open a way in.
ALTER TABLE access_tickets ADD COLUMN login_session_id uuid;
ALTER TABLE access_tickets ADD COLUMN key_id uuid;
ALTER TABLE access_sessions ADD COLUMN login_session_id uuid;
ALTER TABLE access_sessions ADD COLUMN key_id uuid;
CREATE INDEX access_sessions_of_user ON access_sessions (user_id) WHERE user_id IS NOT NULL;

-- Tokens that travel by mail. `address` is where they go.
CREATE TABLE account_tokens (
  id uuid PRIMARY KEY,
  purpose text NOT NULL CHECK (purpose IN ('sign_up', 'password_reset', 'address_change', 'address_changed')),
  address text NOT NULL,
  -- Whose address changes.
  user_id uuid REFERENCES users (id),
  -- Of an account that is made when the address is proven.
  name text,
  password_hash text,
  -- A notice has no token.
  hash bytea UNIQUE,
  sealed bytea,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  CHECK ((hash IS NULL) = (sealed IS NULL)),
  CHECK ((purpose IN ('address_change', 'address_changed')) = (user_id IS NOT NULL)),
  CHECK ((purpose = 'sign_up') = (password_hash IS NOT NULL AND name IS NOT NULL))
);
CREATE INDEX account_tokens_by_address ON account_tokens (address, created_at);
CREATE INDEX account_tokens_by_age ON account_tokens (expires_at);

-- Places that somebody signed in from, by a hash: guessing elsewhere does not lock them out.
CREATE TABLE known_places (
  user_id uuid NOT NULL REFERENCES users (id),
  hash bytea NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (user_id, hash)
);
CREATE INDEX known_places_by_age ON known_places (seen_at);

-- Identity tokens that were exchanged, until they expire.
CREATE TABLE used_id_tokens (
  hash bytea PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX used_id_tokens_by_age ON used_id_tokens (expires_at);

ALTER TABLE account_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE account_tokens FORCE ROW LEVEL SECURITY;
ALTER TABLE known_places ENABLE ROW LEVEL SECURITY;
ALTER TABLE known_places FORCE ROW LEVEL SECURITY;
ALTER TABLE used_id_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE used_id_tokens FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['account_tokens', 'known_places', 'used_id_tokens'] LOOP
    EXECUTE format('CREATE POLICY system ON %I TO gpuaas_system USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO gpuaas_system', t);
    EXECUTE format('CREATE POLICY identity ON %I TO gpuaas_identity USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO gpuaas_identity', t);
  END LOOP;
END $$;

-- Mails to an address that is no account's, or no longer.
ALTER TABLE mails ADD COLUMN account_token_id uuid REFERENCES account_tokens (id) ON DELETE CASCADE;
ALTER TABLE mails DROP CONSTRAINT mails_check;
ALTER TABLE mails ADD CONSTRAINT mails_check CHECK (num_nonnulls(user_id, invitation_id, account_token_id) = 1);
CREATE UNIQUE INDEX mails_by_account_token ON mails (account_token_id);
