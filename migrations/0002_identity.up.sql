-- People and programs, the organizations they act in, and what they hold there.

CREATE TABLE organizations (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now()
);

-- Personal data: erasing a person empties the row and keeps the id.
CREATE TABLE users (
  id uuid PRIMARY KEY,
  email text UNIQUE,
  name text,
  password_hash text,
  platform_role text,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  erased_at timestamptz
);

CREATE TABLE identity_links (
  issuer text NOT NULL,
  subject text NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (issuer, subject)
);

CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  last_used_at timestamptz,
  revoked_at timestamptz,
  UNIQUE (user_id, id)
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE refresh_tokens (
  hash bytea PRIMARY KEY,
  user_id uuid NOT NULL,
  session_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
);
CREATE INDEX refresh_tokens_by_session ON refresh_tokens (user_id, session_id);

CREATE TABLE oidc_starts (
  state_hash bytea PRIMARY KEY,
  verifier bytea NOT NULL,
  nonce text NOT NULL,
  redirect_uri text NOT NULL,
  expires_at timestamptz NOT NULL
);

CREATE TABLE memberships (
  organization_id uuid NOT NULL REFERENCES organizations (id),
  user_id uuid NOT NULL REFERENCES users (id),
  role text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX memberships_by_user ON memberships (user_id);

CREATE TABLE invitations (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  email text NOT NULL,
  role text NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  UNIQUE (organization_id, id)
);

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
CREATE UNIQUE INDEX projects_by_name ON projects (organization_id, lower(name)) WHERE state <> 'deleted';

CREATE TABLE service_accounts (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  name text NOT NULL,
  role text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  deleted_at timestamptz,
  UNIQUE (organization_id, id)
);
CREATE UNIQUE INDEX service_accounts_by_name ON service_accounts (organization_id, lower(name)) WHERE deleted_at IS NULL;

-- Credentials of programs: a person's own, or those of a service account.
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
  revoked_at timestamptz,
  CHECK ((user_id IS NULL) = (service_account_id IS NOT NULL)),
  CHECK ((service_account_id IS NULL) = (organization_id IS NULL)),
  FOREIGN KEY (organization_id, service_account_id) REFERENCES service_accounts (organization_id, id)
);
CREATE INDEX keys_by_user ON keys (user_id, id);
CREATE INDEX keys_by_service_account ON keys (organization_id, service_account_id, id);

CREATE TABLE policies (
  key text NOT NULL,
  organization_id uuid REFERENCES organizations (id),
  project_id uuid,
  value text NOT NULL,
  set_at timestamptz NOT NULL DEFAULT app_now(),
  FOREIGN KEY (organization_id, project_id) REFERENCES projects (organization_id, id),
  CHECK (project_id IS NULL OR organization_id IS NOT NULL),
  UNIQUE NULLS NOT DISTINCT (key, organization_id, project_id)
);
CREATE INDEX policies_by_organization ON policies (organization_id, project_id);

CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON organizations
  FOR EACH ROW EXECUTE FUNCTION guard_state('organization');
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON projects
  FOR EACH ROW EXECUTE FUNCTION guard_state('project');
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON invitations
  FOR EACH ROW EXECUTE FUNCTION guard_state('invitation');

-- Row-level security: forced on every table, one policy per role that may look.
DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['organizations', 'users', 'identity_links', 'sessions', 'refresh_tokens', 'oidc_starts',
    'memberships', 'invitations', 'projects', 'service_accounts', 'keys', 'policies'] LOOP
    EXECUTE format('CREATE POLICY system ON %I TO gpuaas_system USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO gpuaas_system', t);
    EXECUTE format('CREATE POLICY operator_reads ON %I FOR SELECT TO gpuaas_operator USING (true)', t);
  END LOOP;
  FOREACH t IN ARRAY ARRAY['memberships', 'invitations', 'projects', 'service_accounts', 'keys', 'policies'] LOOP
    EXECUTE format('CREATE POLICY tenant ON %I TO gpuaas_tenant USING (organization_id = (SELECT scope_organization()))'
      || ' WITH CHECK (organization_id = (SELECT scope_organization()))', t);
  END LOOP;
  FOREACH t IN ARRAY ARRAY['users', 'identity_links', 'sessions', 'refresh_tokens', 'oidc_starts', 'keys'] LOOP
    EXECUTE format('CREATE POLICY identity ON %I TO gpuaas_identity USING (true) WITH CHECK (true)', t);
  END LOOP;
  FOREACH t IN ARRAY ARRAY['organizations', 'memberships', 'projects', 'service_accounts', 'invitations'] LOOP
    EXECUTE format('CREATE POLICY identity ON %I FOR SELECT TO gpuaas_identity USING (true)', t);
    EXECUTE format('GRANT SELECT ON %I TO gpuaas_identity', t);
  END LOOP;
END $$;

ALTER TABLE organizations ENABLE ROW LEVEL SECURITY;
ALTER TABLE organizations FORCE ROW LEVEL SECURITY;
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
ALTER TABLE identity_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity_links FORCE ROW LEVEL SECURITY;
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE refresh_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE refresh_tokens FORCE ROW LEVEL SECURITY;
ALTER TABLE oidc_starts ENABLE ROW LEVEL SECURITY;
ALTER TABLE oidc_starts FORCE ROW LEVEL SECURITY;
ALTER TABLE memberships ENABLE ROW LEVEL SECURITY;
ALTER TABLE memberships FORCE ROW LEVEL SECURITY;
ALTER TABLE invitations ENABLE ROW LEVEL SECURITY;
ALTER TABLE invitations FORCE ROW LEVEL SECURITY;
ALTER TABLE projects ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects FORCE ROW LEVEL SECURITY;
ALTER TABLE service_accounts ENABLE ROW LEVEL SECURITY;
ALTER TABLE service_accounts FORCE ROW LEVEL SECURITY;
ALTER TABLE keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE keys FORCE ROW LEVEL SECURITY;
ALTER TABLE policies ENABLE ROW LEVEL SECURITY;
ALTER TABLE policies FORCE ROW LEVEL SECURITY;

-- Organization work.
GRANT SELECT, UPDATE ON organizations TO gpuaas_tenant;
CREATE POLICY tenant ON organizations TO gpuaas_tenant
  USING (id = (SELECT scope_organization())) WITH CHECK (id = (SELECT scope_organization()));
GRANT SELECT ON users TO gpuaas_tenant;
CREATE POLICY tenant_reads_members ON users FOR SELECT TO gpuaas_tenant
  USING (EXISTS (SELECT FROM memberships WHERE memberships.user_id = users.id AND memberships.organization_id = (SELECT scope_organization())));
GRANT SELECT, INSERT, UPDATE, DELETE ON memberships TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE ON invitations, projects, service_accounts, keys TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON policies TO gpuaas_tenant;
-- The platform's own settings apply to everyone, so everyone may read them.
CREATE POLICY tenant_reads_platform ON policies FOR SELECT TO gpuaas_tenant USING (organization_id IS NULL);

-- A person's own things.
GRANT SELECT, UPDATE (name, password_hash) ON users TO gpuaas_person;
CREATE POLICY own ON users TO gpuaas_person USING (id = (SELECT scope_user())) WITH CHECK (id = (SELECT scope_user()));
GRANT SELECT, UPDATE ON sessions TO gpuaas_person;
CREATE POLICY own ON sessions TO gpuaas_person USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));
GRANT SELECT, INSERT, UPDATE ON keys TO gpuaas_person;
CREATE POLICY own ON keys TO gpuaas_person USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));
GRANT SELECT ON memberships TO gpuaas_person;
CREATE POLICY own ON memberships FOR SELECT TO gpuaas_person USING (user_id = (SELECT scope_user()));
GRANT SELECT, INSERT ON organizations TO gpuaas_person;
CREATE POLICY own ON organizations FOR SELECT TO gpuaas_person
  USING (EXISTS (SELECT FROM memberships WHERE memberships.organization_id = organizations.id AND memberships.user_id = (SELECT scope_user())));
CREATE POLICY create_own ON organizations FOR INSERT TO gpuaas_person WITH CHECK (true);

-- Signing in and recognizing callers.
GRANT SELECT, INSERT, UPDATE ON users, sessions, refresh_tokens, identity_links TO gpuaas_identity;
-- UPDATE is for locking: a start is taken by one request, and no other waits for it.
GRANT SELECT, INSERT, UPDATE, DELETE ON oidc_starts TO gpuaas_identity;
GRANT SELECT, UPDATE ON keys TO gpuaas_identity;
GRANT SELECT ON policies TO gpuaas_identity, gpuaas_person;
CREATE POLICY reads_platform ON policies FOR SELECT TO gpuaas_identity, gpuaas_person USING (organization_id IS NULL);

-- Platform staff, across organizations.
GRANT SELECT ON organizations, users, memberships, policies TO gpuaas_operator;
GRANT UPDATE ON organizations TO gpuaas_operator;
CREATE POLICY operator_moves ON organizations FOR UPDATE TO gpuaas_operator USING (true) WITH CHECK (true);
GRANT UPDATE ON users TO gpuaas_operator;
CREATE POLICY operator_changes ON users FOR UPDATE TO gpuaas_operator USING (true) WITH CHECK (true);
GRANT INSERT, UPDATE, DELETE ON policies TO gpuaas_operator;
CREATE POLICY operator_sets ON policies FOR INSERT TO gpuaas_operator WITH CHECK (organization_id IS NULL);
CREATE POLICY operator_changes ON policies FOR UPDATE TO gpuaas_operator USING (organization_id IS NULL) WITH CHECK (organization_id IS NULL);
CREATE POLICY operator_unsets ON policies FOR DELETE TO gpuaas_operator USING (organization_id IS NULL);
