-- MAAS servers, and their machines on the way to being nodes and back.

-- not tenant data: who supplies the platform's own hosts
CREATE TABLE providers (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  pool_id uuid NOT NULL REFERENCES pools (id),
  url text NOT NULL,
  -- Sealed by a key that is not in the database; absent once it is removed.
  api_key bytea,
  maas_pool text,
  tags text[] NOT NULL DEFAULT '{}',
  series text NOT NULL,
  erase text NOT NULL,
  max_machines integer NOT NULL CHECK (max_machines >= 0),
  agent_url text,
  agent_sha256 text,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  heard_at timestamptz,
  trouble text,
  created_at timestamptz NOT NULL DEFAULT app_now()
);
CREATE UNIQUE INDEX providers_by_name ON providers (name) WHERE state <> 'removed';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON providers
  FOR EACH ROW EXECUTE FUNCTION guard_state('provider');

-- not tenant data: the platform's own hosts
CREATE TABLE machines (
  id uuid PRIMARY KEY,
  provider_id uuid NOT NULL REFERENCES providers (id),
  pool_id uuid NOT NULL REFERENCES pools (id),
  system_id text NOT NULL,
  hostname text NOT NULL,
  -- What people want, what MAAS says, and the verdict, each with one writer.
  desired text NOT NULL DEFAULT 'serve',
  observed text,
  observed_at timestamptz,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  -- Hand-overs begun since it last served, and calls that release it.
  attempts integer NOT NULL DEFAULT 0,
  release_attempts integer NOT NULL DEFAULT 0,
  -- Whether MAAS was seen to erase it since it must be erased.
  erasing_seen boolean NOT NULL DEFAULT false,
  -- Whether it was installed since it was last erased.
  is_dirty boolean NOT NULL DEFAULT false,
  reason text,
  -- The token that its deployment carries; sealed until it is spent.
  token_id uuid REFERENCES enrollment_tokens (id),
  token bytea,
  node_id uuid REFERENCES nodes (id),
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (provider_id, system_id)
);
CREATE INDEX machines_by_node ON machines (node_id) WHERE node_id IS NOT NULL;
CREATE INDEX machines_by_token ON machines (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX machines_by_state ON machines (state, id) WHERE state <> 'retired';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON machines
  FOR EACH ROW EXECUTE FUNCTION guard_state('machine');

GRANT SELECT, INSERT, UPDATE ON providers, machines TO gpuaas_operator, gpuaas_system;
