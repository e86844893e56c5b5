ALTER TABLE machines
  DROP COLUMN power_wanted,
  DROP COLUMN power_forced,
  DROP COLUMN power,
  DROP COLUMN power_at,
  DROP COLUMN power_trouble;
ALTER TABLE node_certificates DROP COLUMN used_at;
ALTER TABLE maintenance_notices DROP COLUMN told;
DROP TABLE agent_updates;
