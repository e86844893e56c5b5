-- Whom the hosts of an allocation let in: whose keys, not copies of their lines.
-- What is written on hosts is derived from these at each visit, from who is a
-- member now, so that a reference to somebody who left, or to a key that is gone,
-- lets nobody in.

CREATE TABLE allocation_keys (
  organization_id uuid NOT NULL,
  allocation_id uuid NOT NULL,
  user_id uuid NOT NULL,
  ssh_key_id uuid NOT NULL,
  place integer NOT NULL,
  PRIMARY KEY (allocation_id, ssh_key_id),
  FOREIGN KEY (organization_id, allocation_id) REFERENCES allocations (organization_id, id)
);
CREATE INDEX allocation_keys_by_key ON allocation_keys (ssh_key_id);
CREATE INDEX allocation_keys_by_user ON allocation_keys (user_id, organization_id);
ALTER TABLE allocation_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE allocation_keys FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, DELETE ON allocation_keys TO gpuaas_tenant;
CREATE POLICY tenant ON allocation_keys TO gpuaas_tenant
  USING (organization_id = (SELECT scope_organization())) WITH CHECK (organization_id = (SELECT scope_organization()));
GRANT SELECT, INSERT, DELETE ON allocation_keys TO gpuaas_system;
CREATE POLICY system ON allocation_keys TO gpuaas_system USING (true) WITH CHECK (true);

INSERT INTO allocation_keys (organization_id, allocation_id, user_id, ssh_key_id, place)
  SELECT a.organization_id, a.id, k.user_id, k.id, row_number() OVER (PARTITION BY a.id ORDER BY k.id)
  FROM allocations a JOIN memberships m ON m.organization_id = a.organization_id
  JOIN ssh_keys k ON k.user_id = m.user_id
    AND split_part(k.public_key, ' ', 1) || ' ' || split_part(k.public_key, ' ', 2) = ANY (a.ssh_keys)
  WHERE a.state NOT IN ('released', 'failed');
-- Nothing reads the copies any longer; the column goes once no release writes it.
ALTER TABLE allocations ALTER COLUMN ssh_keys SET DEFAULT '{}';
UPDATE allocations SET ssh_keys = '{}';

-- A public key belongs to one person. Where several registered the same, nobody
-- proved that it is theirs; the first keeps it.
DELETE FROM ssh_keys k USING ssh_keys earlier WHERE earlier.fingerprint = k.fingerprint AND earlier.id < k.id;
DROP INDEX ssh_keys_by_fingerprint;
CREATE UNIQUE INDEX ssh_keys_by_fingerprint ON ssh_keys (fingerprint);

-- Trusted no longer, from this moment on; what replaces it is made where it is needed.
ALTER TABLE secrets ADD COLUMN revoked_at timestamptz;
