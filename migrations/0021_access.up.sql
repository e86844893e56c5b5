-- Ways into allocations: gateways, tickets, sessions and what is recorded of them.

-- not tenant data: the platform's own gateways
CREATE TABLE gateways (
  id uuid PRIMARY KEY,
  region_id uuid NOT NULL REFERENCES regions (id),
  name text NOT NULL,
  agent_url text NOT NULL,
  public_url text NOT NULL,
  ssh_address text,
  app_domain text NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  token_expires_at timestamptz NOT NULL,
  joined_at timestamptz,
  removed_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT app_now()
);
CREATE UNIQUE INDEX gateways_by_name ON gateways (name) WHERE removed_at IS NULL;

-- not tenant data: the platform's own gateways
CREATE TABLE gateway_certificates (
  serial text PRIMARY KEY,
  gateway_id uuid NOT NULL REFERENCES gateways (id),
  issued_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX gateway_certificates_by_gateway ON gateway_certificates (gateway_id);
CREATE INDEX gateway_certificates_revoked ON gateway_certificates (revoked_at) WHERE revoked_at IS NOT NULL;

-- Written every few seconds, and so apart from the gateway itself.
-- not tenant data: the platform's own gateways
CREATE TABLE gateway_beats (
  gateway_id uuid PRIMARY KEY REFERENCES gateways (id),
  last_seen_at timestamptz NOT NULL,
  -- Counts its starts: sessions of an earlier one have lost their gateway.
  generation bigint NOT NULL,
  version text NOT NULL,
  nodes integer NOT NULL,
  sessions integer NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE access_tickets (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  allocation_id uuid NOT NULL,
  hash bytea NOT NULL UNIQUE,
  session_id uuid NOT NULL,
  node_id uuid NOT NULL REFERENCES nodes (id),
  kind text NOT NULL CHECK (kind IN ('terminal', 'tcp', 'http')),
  port integer CHECK (port BETWEEN 1 AND 65535),
  -- The session whose shell it joins, and whether it only looks on there.
  resumes uuid,
  is_watching boolean NOT NULL DEFAULT false,
  is_shared boolean NOT NULL DEFAULT false,
  command text,
  is_plain boolean NOT NULL DEFAULT false,
  -- Who asked for it, as audit entries name them.
  actor text NOT NULL,
  -- Set for staff of the platform: why.
  break_glass text,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  FOREIGN KEY (organization_id, allocation_id) REFERENCES allocations (organization_id, id)
);
CREATE INDEX access_tickets_by_age ON access_tickets (expires_at);

CREATE TABLE access_sessions (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  allocation_id uuid NOT NULL,
  node_id uuid NOT NULL REFERENCES nodes (id),
  kind text NOT NULL,
  port integer,
  actor text NOT NULL,
  -- The person or the program behind the actor.
  principal_id uuid NOT NULL,
  user_id uuid REFERENCES users (id),
  address text NOT NULL,
  -- Through which gateway it goes, of which start of it, and when that last said so.
  gateway_id uuid NOT NULL REFERENCES gateways (id),
  generation bigint NOT NULL,
  heard_at timestamptz NOT NULL DEFAULT app_now(),
  is_shared boolean NOT NULL DEFAULT false,
  watches uuid,
  break_glass text,
  -- By which a browser is known at any gateway.
  cookie_hash bytea UNIQUE,
  grace_seconds integer NOT NULL,
  until timestamptz NOT NULL,
  bytes_in bigint NOT NULL DEFAULT 0,
  bytes_out bigint NOT NULL DEFAULT 0,
  stalls bigint NOT NULL DEFAULT 0,
  -- What gateways before the present one had carried.
  before_in bigint NOT NULL DEFAULT 0,
  before_out bigint NOT NULL DEFAULT 0,
  before_stalls bigint NOT NULL DEFAULT 0,
  exit_code integer,
  reason text,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  ended_at timestamptz,
  UNIQUE (organization_id, id),
  FOREIGN KEY (organization_id, project_id) REFERENCES projects (organization_id, id),
  FOREIGN KEY (organization_id, allocation_id) REFERENCES allocations (organization_id, id)
) WITH (fillfactor = 80);
CREATE INDEX access_sessions_by_organization ON access_sessions (organization_id, id);
CREATE INDEX access_sessions_by_allocation ON access_sessions (allocation_id, id);
CREATE INDEX access_sessions_live ON access_sessions (gateway_id, id) WHERE state <> 'ended';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON access_sessions
  FOR EACH ROW EXECUTE FUNCTION guard_state('access_session');

CREATE TABLE recordings (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  session_id uuid NOT NULL,
  has_input boolean NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  sealed_at timestamptz,
  root text,
  delete_at timestamptz,
  UNIQUE (organization_id, id),
  FOREIGN KEY (organization_id, session_id) REFERENCES access_sessions (organization_id, id)
);
CREATE INDEX recordings_by_organization ON recordings (organization_id, id);
CREATE INDEX recordings_by_session ON recordings (session_id);
CREATE INDEX recordings_ending ON recordings (delete_at) WHERE state = 'sealed';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON recordings
  FOR EACH ROW EXECUTE FUNCTION guard_state('recording');

-- What one gateway writes in one go; nobody else may add to it.
CREATE TABLE recording_segments (
  organization_id uuid NOT NULL,
  recording_id uuid NOT NULL,
  number integer NOT NULL CHECK (number >= 0),
  gateway_id uuid NOT NULL REFERENCES gateways (id),
  from_offset bigint NOT NULL,
  is_complete boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (recording_id, number),
  FOREIGN KEY (organization_id, recording_id) REFERENCES recordings (organization_id, id)
);

-- The bytes are in the store of recordings, under these ids and numbers.
CREATE TABLE recording_chunks (
  organization_id uuid NOT NULL,
  recording_id uuid NOT NULL,
  segment integer NOT NULL,
  number integer NOT NULL CHECK (number >= 0),
  sha256 bytea NOT NULL CHECK (length(sha256) = 32),
  size_bytes integer NOT NULL,
  from_offset bigint NOT NULL,
  to_offset bigint NOT NULL,
  began_ms bigint NOT NULL,
  ended_ms bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (recording_id, segment, number),
  FOREIGN KEY (recording_id, segment) REFERENCES recording_segments (recording_id, number),
  FOREIGN KEY (organization_id, recording_id) REFERENCES recordings (organization_id, id)
);

-- A ticket says where its gateway is. Who knows a node's id may know its region;
-- the fleet stays hidden.
CREATE FUNCTION node_region(of_node uuid) RETURNS uuid LANGUAGE sql STABLE SET role = 'gpuaas_system'
AS $$ SELECT region_id FROM nodes WHERE id = of_node $$;
GRANT SELECT (id, region_id, public_url, ssh_address, app_domain, joined_at, removed_at) ON gateways TO gpuaas_tenant;
GRANT SELECT (gateway_id, last_seen_at) ON gateway_beats TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE ON gateways, gateway_certificates, gateway_beats TO gpuaas_operator, gpuaas_system;
GRANT DELETE ON gateway_certificates TO gpuaas_system;

ALTER TABLE access_tickets ENABLE ROW LEVEL SECURITY;
ALTER TABLE access_tickets FORCE ROW LEVEL SECURITY;
ALTER TABLE access_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE access_sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE recordings ENABLE ROW LEVEL SECURITY;
ALTER TABLE recordings FORCE ROW LEVEL SECURITY;
ALTER TABLE recording_segments ENABLE ROW LEVEL SECURITY;
ALTER TABLE recording_segments FORCE ROW LEVEL SECURITY;
ALTER TABLE recording_chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE recording_chunks FORCE ROW LEVEL SECURITY;

GRANT INSERT ON access_tickets TO gpuaas_tenant, gpuaas_operator;
CREATE POLICY tenant ON access_tickets TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
CREATE POLICY operator ON access_tickets FOR INSERT TO gpuaas_operator WITH CHECK (break_glass IS NOT NULL);
GRANT SELECT, INSERT, UPDATE, DELETE ON access_tickets TO gpuaas_system;
CREATE POLICY system ON access_tickets TO gpuaas_system USING (true) WITH CHECK (true);

GRANT SELECT, UPDATE ON access_sessions TO gpuaas_tenant, gpuaas_operator;
CREATE POLICY tenant ON access_sessions TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
CREATE POLICY operator ON access_sessions TO gpuaas_operator USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON access_sessions TO gpuaas_system;
CREATE POLICY system ON access_sessions TO gpuaas_system USING (true) WITH CHECK (true);

GRANT SELECT ON recordings, recording_segments, recording_chunks TO gpuaas_tenant, gpuaas_operator;
CREATE POLICY tenant ON recordings FOR SELECT TO gpuaas_tenant USING (organization_id = (SELECT scope_organization()));
CREATE POLICY tenant ON recording_segments FOR SELECT TO gpuaas_tenant USING (organization_id = (SELECT scope_organization()));
CREATE POLICY tenant ON recording_chunks FOR SELECT TO gpuaas_tenant USING (organization_id = (SELECT scope_organization()));
CREATE POLICY operator ON recordings FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator ON recording_segments FOR SELECT TO gpuaas_operator USING (true);
CREATE POLICY operator ON recording_chunks FOR SELECT TO gpuaas_operator USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON recordings, recording_segments, recording_chunks TO gpuaas_system;
CREATE POLICY system ON recordings TO gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY system ON recording_segments TO gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY system ON recording_chunks TO gpuaas_system USING (true) WITH CHECK (true);
