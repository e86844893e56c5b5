-- Ways into allocations: gateways, tickets, sessions and their recordings.

-- Gateways --------------------------------------------------------------------

-- not tenant data: the platform's own gateways
CREATE TABLE gateways (
  id uuid PRIMARY KEY,
  region_id uuid NOT NULL REFERENCES regions (id),
  name text NOT NULL,
  agent_url text NOT NULL,
  public_url text NOT NULL,
  ssh_address text,
  web_domain text NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  token_expires_at timestamptz NOT NULL,
  joined_at timestamptz,
  -- The SHA-256 of the key that the token was used with, for a retry whose answer was lost.
  joined_with text,
  removed_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT app_now()
);
COMMENT ON TABLE gateways IS 'Gateways, which carry sessions between people and hosts.';
CREATE UNIQUE INDEX gateways_by_name ON gateways (name) WHERE removed_at IS NULL;
GRANT SELECT (id, region_id, public_url, ssh_address, web_domain, joined_at, removed_at) ON gateways TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE ON gateways TO gpuaas_operator, gpuaas_system;

-- not tenant data: the platform's own gateways
CREATE TABLE gateway_certificates (
  serial text PRIMARY KEY,
  gateway_id uuid NOT NULL REFERENCES gateways (id),
  issued_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);
COMMENT ON TABLE gateway_certificates IS 'Client certificates that gateways authenticate with.';
CREATE INDEX gateway_certificates_by_gateway ON gateway_certificates (gateway_id);
CREATE INDEX gateway_certificates_revoked ON gateway_certificates (revoked_at) WHERE revoked_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE ON gateway_certificates TO gpuaas_operator, gpuaas_system;
GRANT DELETE ON gateway_certificates TO gpuaas_system;

-- Written every few seconds, and so separate from the gateway itself.
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
COMMENT ON TABLE gateway_beats IS 'The last heartbeat of each gateway.';
GRANT SELECT (gateway_id, last_seen_at) ON gateway_beats TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE ON gateway_beats TO gpuaas_operator, gpuaas_system;

-- A ticket names a gateway near the node. Tenants may learn the region of a node whose id
-- they know; the rest of the fleet stays hidden.
CREATE FUNCTION node_region(of_node uuid) RETURNS uuid LANGUAGE sql STABLE SET role = 'gpuaas_system'
AS $$ SELECT region_id FROM nodes WHERE id = of_node $$;

-- Tickets ---------------------------------------------------------------------

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
  -- The session whose shell it joins, and whether it only watches there.
  resumes uuid,
  is_watching boolean NOT NULL DEFAULT false,
  is_shared boolean NOT NULL DEFAULT false,
  command text,
  is_plain boolean NOT NULL DEFAULT false,
  -- The requester, as audit entries name them, and the credential of the request.
  actor text NOT NULL,
  login_session_id uuid,
  key_id uuid,
  -- For staff of the platform: the reason.
  break_glass text,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  FOREIGN KEY (organization_id, allocation_id) REFERENCES allocations (organization_id, id)
);
COMMENT ON TABLE access_tickets IS 'Tickets that open one session each, soon after they are issued.';
CREATE INDEX access_tickets_by_age ON access_tickets (expires_at);
CALL tenant_table('access_tickets');
GRANT INSERT ON access_tickets TO gpuaas_tenant, gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON access_tickets TO gpuaas_system;
CREATE POLICY operator ON access_tickets FOR INSERT TO gpuaas_operator WITH CHECK (break_glass IS NOT NULL);

-- Sessions --------------------------------------------------------------------

CREATE TABLE access_sessions (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  project_id uuid NOT NULL,
  allocation_id uuid NOT NULL,
  node_id uuid NOT NULL REFERENCES nodes (id),
  kind text NOT NULL,
  port integer,
  actor text NOT NULL,
  -- The person or the program behind the actor, and the credential of the request.
  principal_id uuid NOT NULL,
  user_id uuid REFERENCES users (id),
  login_session_id uuid,
  key_id uuid,
  -- The guest who took over a shared session, and their credential: it goes on while both
  -- may come in. Empty when its owner was the last to attach.
  guest_actor text,
  guest_principal_id uuid,
  guest_user_id uuid REFERENCES users (id),
  guest_login_session_id uuid,
  guest_key_id uuid,
  address text NOT NULL,
  -- The gateway that carries it, which start of that gateway, and its last report.
  gateway_id uuid NOT NULL REFERENCES gateways (id),
  generation bigint NOT NULL,
  heard_at timestamptz NOT NULL DEFAULT app_now(),
  is_shared boolean NOT NULL DEFAULT false,
  watches uuid,
  break_glass text,
  -- Identifies a browser at any gateway.
  cookie_hash bytea UNIQUE,
  grace_seconds integer NOT NULL,
  until timestamptz NOT NULL,
  bytes_in bigint NOT NULL DEFAULT 0,
  bytes_out bigint NOT NULL DEFAULT 0,
  stalls bigint NOT NULL DEFAULT 0,
  -- The same counts of the gateways before the present one.
  before_in bigint NOT NULL DEFAULT 0,
  before_out bigint NOT NULL DEFAULT 0,
  before_stalls bigint NOT NULL DEFAULT 0,
  -- A recording, and each of its segments, begins with its first piece. Until then only the
  -- session knows the id of its recording and how many parts gateways were to write.
  recording_id uuid UNIQUE,
  recording_parts integer NOT NULL DEFAULT 0 CHECK (recording_parts >= 0),
  records_input boolean NOT NULL DEFAULT false,
  exit_code integer,
  reason text,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  ended_at timestamptz,
  UNIQUE (organization_id, id),
  CONSTRAINT access_sessions_guest CHECK ((guest_actor IS NULL) = (guest_principal_id IS NULL)),
  FOREIGN KEY (organization_id, project_id) REFERENCES projects (organization_id, id),
  FOREIGN KEY (organization_id, allocation_id) REFERENCES allocations (organization_id, id)
) WITH (fillfactor = 80);
COMMENT ON TABLE access_sessions IS 'Terminals, port forwards and web services that are or were open.';
CREATE INDEX access_sessions_by_organization ON access_sessions (organization_id, id);
CREATE INDEX access_sessions_by_allocation ON access_sessions (allocation_id, id);
CREATE INDEX access_sessions_live ON access_sessions (gateway_id, id) WHERE state <> 'ended';
CREATE INDEX access_sessions_of_user ON access_sessions (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX access_sessions_of_guest ON access_sessions (guest_user_id) WHERE guest_user_id IS NOT NULL;
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON access_sessions
  FOR EACH ROW EXECUTE FUNCTION guard_state('access_session');
CALL tenant_table('access_sessions');
GRANT SELECT, UPDATE ON access_sessions TO gpuaas_tenant, gpuaas_operator;
GRANT SELECT, INSERT, UPDATE ON access_sessions TO gpuaas_system;
CREATE POLICY operator ON access_sessions TO gpuaas_operator USING (true) WITH CHECK (true);

-- Recordings ------------------------------------------------------------------

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
COMMENT ON TABLE recordings IS 'Recordings of sessions, sealed by a hash over all pieces.';
CREATE INDEX recordings_by_organization ON recordings (organization_id, id);
CREATE INDEX recordings_by_session ON recordings (session_id);
CREATE INDEX recordings_ending ON recordings (delete_at) WHERE state = 'sealed';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON recordings
  FOR EACH ROW EXECUTE FUNCTION guard_state('recording');
CALL tenant_table('recordings', 'SELECT');
GRANT SELECT ON recordings TO gpuaas_tenant, gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON recordings TO gpuaas_system;
CREATE POLICY operator ON recordings FOR SELECT TO gpuaas_operator USING (true);

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
COMMENT ON TABLE recording_segments IS 'Parts of a recording that one gateway writes without interruption; no other may add to them.';
CALL tenant_table('recording_segments', 'SELECT');
GRANT SELECT ON recording_segments TO gpuaas_tenant, gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON recording_segments TO gpuaas_system;
CREATE POLICY operator ON recording_segments FOR SELECT TO gpuaas_operator USING (true);

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
COMMENT ON TABLE recording_chunks IS 'Pieces of a segment, with the hash and the size of their bytes.';
CALL tenant_table('recording_chunks', 'SELECT');
GRANT SELECT ON recording_chunks TO gpuaas_tenant, gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON recording_chunks TO gpuaas_system;
CREATE POLICY operator ON recording_chunks FOR SELECT TO gpuaas_operator USING (true);
