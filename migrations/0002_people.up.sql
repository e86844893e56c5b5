-- People and programs: accounts and how they sign in, the organizations that they
-- act in, and what belongs to each.

-- Organizations ---------------------------------------------------------------

CREATE TABLE organizations (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now()
);
COMMENT ON TABLE organizations IS 'Organizations, the tenants of the platform.';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON organizations
  FOR EACH ROW EXECUTE FUNCTION guard_state('organization');

-- Accounts of people ----------------------------------------------------------

-- Erasing a person empties the row and leaves the id.
CREATE TABLE users (
  id uuid PRIMARY KEY,
  email text UNIQUE,
  name text,
  password_hash text,
  platform_role text,
  -- When it was proven that mail to the address reaches the holder of the account: by a
  -- token in a mail, by an external issuer, or by an operator's statement.
  address_proven_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  erased_at timestamptz
);
COMMENT ON TABLE users IS 'Accounts of people: all personal data that the platform stores.';

CREATE TABLE identity_links (
  issuer text NOT NULL,
  subject text NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (issuer, subject)
);
COMMENT ON TABLE identity_links IS 'Identities at external issuers (OpenID Connect) that sign in to an account.';

CREATE TABLE account_tokens (
  id uuid PRIMARY KEY,
  purpose text NOT NULL CHECK (purpose IN ('sign_up', 'password_reset', 'address_change', 'address_changed')),
  -- The recipient of the mail.
  address text NOT NULL,
  -- The account whose address changes.
  user_id uuid REFERENCES users (id),
  -- A notice has no token.
  hash bytea UNIQUE,
  -- The token itself, until its mail is sent.
  sealed bytea,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  CHECK ((purpose IN ('address_change', 'address_changed')) = (user_id IS NOT NULL))
);
COMMENT ON TABLE account_tokens IS 'Tokens that are sent by mail: to sign up, to reset a password, to change an address.';
CREATE INDEX account_tokens_by_address ON account_tokens (address, created_at);
CREATE INDEX account_tokens_by_age ON account_tokens (expires_at);

CREATE TABLE ssh_keys (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id),
  name text NOT NULL,
  public_key text NOT NULL,
  fingerprint text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (user_id, fingerprint)
);
COMMENT ON TABLE ssh_keys IS 'Public SSH keys of people.';
CREATE UNIQUE INDEX ssh_keys_by_name ON ssh_keys (user_id, lower(name));
-- A key belongs to one person: the gateway knows by the fingerprint who signs in.
CREATE UNIQUE INDEX ssh_keys_by_fingerprint ON ssh_keys (fingerprint);

-- Signing in ------------------------------------------------------------------

CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  last_used_at timestamptz,
  -- The last use of a second factor in this session.
  mfa_at timestamptz,
  revoked_at timestamptz,
  UNIQUE (user_id, id)
);
COMMENT ON TABLE sessions IS 'Sign-ins of people.';
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE refresh_tokens (
  hash bytea PRIMARY KEY,
  user_id uuid NOT NULL,
  session_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  -- A used token returns its one successor, sealed, during a short grace period.
  successor bytea,
  FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
);
COMMENT ON TABLE refresh_tokens IS 'Refresh tokens of sessions; each is used once.';
CREATE INDEX refresh_tokens_by_session ON refresh_tokens (user_id, session_id);

CREATE TABLE oidc_starts (
  state_hash bytea PRIMARY KEY,
  verifier bytea NOT NULL,
  nonce text NOT NULL,
  redirect_uri text NOT NULL,
  expires_at timestamptz NOT NULL
);
COMMENT ON TABLE oidc_starts IS 'Sign-ins at an external issuer that have begun.';

CREATE TABLE used_id_tokens (
  hash bytea PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
COMMENT ON TABLE used_id_tokens IS 'ID tokens that were exchanged, until they expire, so that none is used twice.';
CREATE INDEX used_id_tokens_by_age ON used_id_tokens (expires_at);

CREATE TABLE known_places (
  user_id uuid NOT NULL REFERENCES users (id),
  hash bytea NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (user_id, hash)
);
COMMENT ON TABLE known_places IS
  'Addresses that a person has signed in from, as hashes: guessing from elsewhere does not lock them out.';
CREATE INDEX known_places_by_age ON known_places (seen_at);

-- Second factors --------------------------------------------------------------

CREATE TABLE mfa_factors (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id),
  kind text NOT NULL CHECK (kind IN ('totp', 'passkey')),
  name text NOT NULL,
  -- Of a TOTP device: its secret, sealed, and the last time step that was used.
  secret bytea,
  last_step bigint,
  -- Of a passkey: its id, its COSE public key and the last counter.
  credential_id bytea UNIQUE,
  public_key bytea,
  sign_count bigint,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  last_used_at timestamptz,
  CHECK ((kind = 'totp') = (secret IS NOT NULL AND last_step IS NOT NULL)),
  CHECK ((kind = 'passkey') = (credential_id IS NOT NULL AND public_key IS NOT NULL AND sign_count IS NOT NULL))
);
COMMENT ON TABLE mfa_factors IS 'Second factors of accounts: TOTP devices and passkeys.';
CREATE INDEX mfa_factors_by_user ON mfa_factors (user_id, id);

CREATE TABLE mfa_recovery_codes (
  user_id uuid NOT NULL REFERENCES users (id),
  hash bytea NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (user_id, hash)
);
COMMENT ON TABLE mfa_recovery_codes IS 'Recovery codes for accounts whose second factor is lost.';

CREATE TABLE mfa_challenges (
  -- Of the challenge's token.
  hash bytea PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id),
  purpose text NOT NULL CHECK (purpose IN ('sign_in', 'step_up', 'enroll_totp', 'enroll_passkey')),
  -- The session that it belongs to; a sign-in has none yet.
  session_id uuid,
  -- What a passkey signs, or the sealed secret of a new TOTP device.
  payload bytea NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL,
  CHECK ((purpose = 'sign_in') = (session_id IS NULL)),
  FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
);
COMMENT ON TABLE mfa_challenges IS 'Requests that wait for an answer with a second factor.';
CREATE INDEX mfa_challenges_by_user ON mfa_challenges (user_id);
CREATE INDEX mfa_challenges_by_expiry ON mfa_challenges (expires_at);

CREATE TABLE mfa_throttles (
  user_id uuid PRIMARY KEY REFERENCES users (id),
  failures integer NOT NULL,
  retry_at timestamptz NOT NULL
);
COMMENT ON TABLE mfa_throttles IS 'Wrong codes in a row per account, and when the next code is accepted.';

-- Members and projects --------------------------------------------------------

CREATE TABLE memberships (
  organization_id uuid NOT NULL REFERENCES organizations (id),
  user_id uuid NOT NULL REFERENCES users (id),
  role text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (organization_id, user_id)
);
COMMENT ON TABLE memberships IS 'Members of organizations, and their role.';
CREATE INDEX memberships_by_user ON memberships (user_id);

CREATE TABLE invitations (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  email text NOT NULL,
  role text NOT NULL,
  made_by text,
  -- The token that the inviter sees lets an existing account join.
  token_hash bytea NOT NULL UNIQUE,
  -- The token that also creates an account is known only to the reader of the mail; it is
  -- stored sealed until the mail is sent.
  mail_token_hash bytea UNIQUE,
  mail_token bytea,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  UNIQUE (organization_id, id)
);
COMMENT ON TABLE invitations IS 'Invitations to join an organization.';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON invitations
  FOR EACH ROW EXECUTE FUNCTION guard_state('invitation');

CREATE TABLE projects (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  name text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (organization_id, id)
);
COMMENT ON TABLE projects IS 'Projects, which group the allocations and budgets of an organization.';
CREATE UNIQUE INDEX projects_by_name ON projects (organization_id, lower(name)) WHERE state <> 'deleted';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON projects
  FOR EACH ROW EXECUTE FUNCTION guard_state('project');

-- Programs --------------------------------------------------------------------

CREATE TABLE service_accounts (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  name text NOT NULL,
  role text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  deleted_at timestamptz,
  UNIQUE (organization_id, id)
);
COMMENT ON TABLE service_accounts IS 'Accounts of programs, which act in one organization.';
CREATE UNIQUE INDEX service_accounts_by_name ON service_accounts (organization_id, lower(name)) WHERE deleted_at IS NULL;

CREATE TABLE keys (
  id uuid PRIMARY KEY,
  hash bytea NOT NULL UNIQUE,
  prefix text NOT NULL,
  name text NOT NULL,
  scopes text[] NOT NULL,
  user_id uuid REFERENCES users (id),
  organization_id uuid,
  service_account_id uuid,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  last_used_at timestamptz,
  -- When the creator of the key had last used a second factor.
  mfa_at timestamptz,
  revoked_at timestamptz,
  CHECK ((user_id IS NULL) = (service_account_id IS NOT NULL)),
  CHECK ((service_account_id IS NULL) = (organization_id IS NULL)),
  FOREIGN KEY (organization_id, service_account_id) REFERENCES service_accounts (organization_id, id)
);
COMMENT ON TABLE keys IS 'API keys of people and of service accounts.';
CREATE INDEX keys_by_user ON keys (user_id, id);
CREATE INDEX keys_by_service_account ON keys (organization_id, service_account_id, id);

-- Policies --------------------------------------------------------------------

CREATE TABLE policies (
  key text NOT NULL,
  -- Neither: the whole platform.
  organization_id uuid REFERENCES organizations (id),
  project_id uuid,
  value text NOT NULL,
  set_at timestamptz NOT NULL DEFAULT app_now(),
  FOREIGN KEY (organization_id, project_id) REFERENCES projects (organization_id, id),
  CHECK (project_id IS NULL OR organization_id IS NOT NULL),
  UNIQUE NULLS NOT DISTINCT (key, organization_id, project_id)
);
COMMENT ON TABLE policies IS 'Settings of the platform, of organizations and of projects that differ from the defaults.';
CREATE INDEX policies_by_organization ON policies (organization_id, project_id);

-- Access ----------------------------------------------------------------------
-- Grouped by role, because the question about these tables is what a role may see.

CALL secure_table('organizations');
CALL secure_table('users');
CALL secure_table('identity_links');
CALL secure_table('account_tokens');
CALL secure_table('ssh_keys');
CALL secure_table('sessions');
CALL secure_table('refresh_tokens');
CALL secure_table('oidc_starts');
CALL secure_table('used_id_tokens');
CALL secure_table('known_places');
CALL secure_table('mfa_factors');
CALL secure_table('mfa_recovery_codes');
CALL secure_table('mfa_challenges');
CALL secure_table('mfa_throttles');
CALL tenant_table('memberships');
CALL tenant_table('invitations');
CALL tenant_table('projects');
CALL tenant_table('service_accounts');
CALL tenant_table('keys');
CALL tenant_table('policies');

GRANT SELECT, INSERT, UPDATE, DELETE ON organizations, users, identity_links, account_tokens, sessions, refresh_tokens,
  oidc_starts, used_id_tokens, known_places, mfa_factors, mfa_recovery_codes, mfa_challenges, mfa_throttles, memberships,
  invitations, projects, service_accounts, keys, policies TO gpuaas_system;
GRANT SELECT, INSERT, DELETE ON ssh_keys TO gpuaas_system;

-- A tenant works in one organization.
GRANT SELECT, UPDATE ON organizations TO gpuaas_tenant;
CREATE POLICY tenant ON organizations TO gpuaas_tenant
  USING (id = (SELECT scope_organization())) WITH CHECK (id = (SELECT scope_organization()));
-- Without the password hash, which only signing in reads.
GRANT SELECT (id, email, name, created_at, erased_at) ON users TO gpuaas_tenant;
CREATE POLICY tenant_reads_members ON users FOR SELECT TO gpuaas_tenant
  USING (EXISTS (SELECT FROM memberships WHERE memberships.user_id = users.id AND memberships.organization_id = (SELECT scope_organization())));
-- An allocation is requested in the scope of an organization.
GRANT SELECT ON ssh_keys TO gpuaas_tenant;
CREATE POLICY tenant_reads_members ON ssh_keys FOR SELECT TO gpuaas_tenant
  USING (EXISTS (SELECT FROM memberships WHERE memberships.user_id = ssh_keys.user_id AND memberships.organization_id = (SELECT scope_organization())));
GRANT SELECT, INSERT, UPDATE, DELETE ON memberships, policies TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE ON invitations, projects, service_accounts, keys TO gpuaas_tenant;
-- The platform's own settings apply to everyone, so everyone may read them.
CREATE POLICY tenant_reads_platform ON policies FOR SELECT TO gpuaas_tenant USING (organization_id IS NULL);

-- A person manages their own account.
GRANT SELECT, UPDATE (name, password_hash) ON users TO gpuaas_person;
CREATE POLICY own ON users TO gpuaas_person USING (id = (SELECT scope_user())) WITH CHECK (id = (SELECT scope_user()));
GRANT SELECT, UPDATE ON sessions TO gpuaas_person;
CREATE POLICY own ON sessions TO gpuaas_person USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));
GRANT SELECT, INSERT, UPDATE ON keys TO gpuaas_person;
CREATE POLICY own ON keys TO gpuaas_person USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));
GRANT SELECT, INSERT, DELETE ON ssh_keys TO gpuaas_person;
CREATE POLICY own ON ssh_keys TO gpuaas_person USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));
GRANT SELECT ON memberships TO gpuaas_person;
CREATE POLICY own ON memberships FOR SELECT TO gpuaas_person USING (user_id = (SELECT scope_user()));
GRANT SELECT, INSERT ON organizations TO gpuaas_person;
CREATE POLICY own ON organizations FOR SELECT TO gpuaas_person
  USING (EXISTS (SELECT FROM memberships WHERE memberships.organization_id = organizations.id AND memberships.user_id = (SELECT scope_user())));
CREATE POLICY create_own ON organizations FOR INSERT TO gpuaas_person WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON mfa_factors, mfa_recovery_codes, mfa_challenges, mfa_throttles
  TO gpuaas_person, gpuaas_identity;
CREATE POLICY own ON mfa_factors TO gpuaas_person USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));
CREATE POLICY own ON mfa_recovery_codes TO gpuaas_person USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));
CREATE POLICY own ON mfa_challenges TO gpuaas_person USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));
CREATE POLICY own ON mfa_throttles TO gpuaas_person USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));

-- Signing in, and recognizing callers.
GRANT SELECT, INSERT, UPDATE ON users, sessions, refresh_tokens, identity_links TO gpuaas_identity;
-- UPDATE of a start is for locking: one request takes it, and no other waits for it.
GRANT SELECT, INSERT, UPDATE, DELETE ON account_tokens, oidc_starts, used_id_tokens, known_places TO gpuaas_identity;
GRANT SELECT, UPDATE ON keys TO gpuaas_identity;
GRANT SELECT ON organizations, memberships, projects, service_accounts, invitations TO gpuaas_identity;
CREATE POLICY identity ON users TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON identity_links TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON account_tokens TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON sessions TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON refresh_tokens TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON oidc_starts TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON used_id_tokens TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON known_places TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON mfa_factors TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON mfa_recovery_codes TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON mfa_challenges TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON mfa_throttles TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON keys TO gpuaas_identity USING (true) WITH CHECK (true);
CREATE POLICY identity ON organizations FOR SELECT TO gpuaas_identity USING (true);
CREATE POLICY identity ON memberships FOR SELECT TO gpuaas_identity USING (true);
CREATE POLICY identity ON projects FOR SELECT TO gpuaas_identity USING (true);
CREATE POLICY identity ON service_accounts FOR SELECT TO gpuaas_identity USING (true);
CREATE POLICY identity ON invitations FOR SELECT TO gpuaas_identity USING (true);
GRANT SELECT ON policies TO gpuaas_identity, gpuaas_person;
CREATE POLICY reads_platform ON policies FOR SELECT TO gpuaas_identity, gpuaas_person USING (organization_id IS NULL);
-- Recognizing a caller reads what their organizations require of them.
CREATE POLICY identity_reads_mfa ON policies FOR SELECT TO gpuaas_identity USING (key = 'identity.mfa_required');

-- Staff work across organizations.
CREATE POLICY operator_reads ON organizations FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator_reads ON users FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator_reads ON identity_links FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator_reads ON sessions FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator_reads ON refresh_tokens FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator_reads ON oidc_starts FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator_reads ON memberships FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator_reads ON invitations FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator_reads ON projects FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator_reads ON service_accounts FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator_reads ON keys FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator_reads ON policies FOR SELECT TO gpuaas_operator USING (true);
GRANT SELECT ON organizations, memberships, policies TO gpuaas_operator;
GRANT SELECT (id, email, name, platform_role, created_at, erased_at, address_proven_at) ON users TO gpuaas_operator;
-- The names of projects, on invoices and in usage.
GRANT SELECT (id, organization_id, name) ON projects TO gpuaas_operator;
GRANT UPDATE ON organizations TO gpuaas_operator;
CREATE POLICY operator_moves ON organizations FOR UPDATE TO gpuaas_operator USING (true) WITH CHECK (true);
GRANT UPDATE (platform_role) ON users TO gpuaas_operator;
CREATE POLICY operator_changes ON users FOR UPDATE TO gpuaas_operator USING (true) WITH CHECK (true);
GRANT INSERT, UPDATE, DELETE ON policies TO gpuaas_operator;
CREATE POLICY operator_sets ON policies FOR INSERT TO gpuaas_operator WITH CHECK (organization_id IS NULL);
CREATE POLICY operator_changes ON policies FOR UPDATE TO gpuaas_operator USING (organization_id IS NULL) WITH CHECK (organization_id IS NULL);
CREATE POLICY operator_unsets ON policies FOR DELETE TO gpuaas_operator USING (organization_id IS NULL);
