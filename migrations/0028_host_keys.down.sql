ALTER TABLE secrets DROP COLUMN revoked_at;
DROP INDEX ssh_keys_by_fingerprint;
CREATE INDEX ssh_keys_by_fingerprint ON ssh_keys (fingerprint, id);
UPDATE allocations a SET ssh_keys = lines.held FROM (
  SELECT r.allocation_id, array_agg(split_part(k.public_key, ' ', 1) || ' ' || split_part(k.public_key, ' ', 2) ORDER BY r.place) AS held
  FROM allocation_keys r JOIN ssh_keys k ON k.id = r.ssh_key_id GROUP BY r.allocation_id) AS lines
  WHERE lines.allocation_id = a.id;
ALTER TABLE allocations ALTER COLUMN ssh_keys DROP DEFAULT;
DROP TABLE allocation_keys;
