-- What hosts measured: at full rate for a short while, then by minute and hour.

-- Written many times a second in bulk, from a join with what is known, and so
-- without foreign keys. One a second at most is kept of a node.
-- not tenant data: measurements of the platform's own hosts
CREATE TABLE node_samples (
  node_id uuid NOT NULL,
  at timestamptz NOT NULL,
  cpu_percent integer NOT NULL,
  memory_used_bytes bigint NOT NULL,
  PRIMARY KEY (node_id, at)
);
CREATE INDEX node_samples_by_age ON node_samples (at);

-- not tenant data: measurements of the platform's own GPUs; tenants read those that they hold through the platform
CREATE TABLE gpu_samples (
  slot_id uuid NOT NULL,
  at timestamptz NOT NULL,
  utilization_percent integer NOT NULL,
  memory_used_bytes bigint NOT NULL,
  temperature_c integer NOT NULL,
  power_mw integer NOT NULL,
  PRIMARY KEY (slot_id, at)
);
CREATE INDEX gpu_samples_by_age ON gpu_samples (at);

-- Sums and counts instead of averages: an hour is the sum of its minutes.
-- not tenant data: measurements of the platform's own hosts
CREATE TABLE node_rollups (
  node_id uuid NOT NULL,
  span_s integer NOT NULL,
  at timestamptz NOT NULL,
  samples bigint NOT NULL,
  cpu_percent_sum bigint NOT NULL,
  cpu_percent_max integer NOT NULL,
  memory_used_bytes_sum bigint NOT NULL,
  memory_used_bytes_max bigint NOT NULL,
  PRIMARY KEY (node_id, span_s, at)
);
CREATE INDEX node_rollups_by_age ON node_rollups (span_s, at);

-- not tenant data: measurements of the platform's own GPUs; tenants read those that they hold through the platform
CREATE TABLE gpu_rollups (
  slot_id uuid NOT NULL,
  span_s integer NOT NULL,
  at timestamptz NOT NULL,
  samples bigint NOT NULL,
  utilization_percent_sum bigint NOT NULL,
  utilization_percent_max integer NOT NULL,
  memory_used_bytes_sum bigint NOT NULL,
  memory_used_bytes_max bigint NOT NULL,
  temperature_c_sum bigint NOT NULL,
  temperature_c_max integer NOT NULL,
  power_mw_sum bigint NOT NULL,
  power_mw_max integer NOT NULL,
  PRIMARY KEY (slot_id, span_s, at)
);
CREATE INDEX gpu_rollups_by_age ON gpu_rollups (span_s, at);

-- How far each resolution is: 1, raw samples before it are gone; 60 and 3600,
-- minutes and hours before it are rolled up.
-- not tenant data: the keeper's own notes
CREATE TABLE telemetry_progress (
  span_s integer PRIMARY KEY,
  until timestamptz NOT NULL
);

-- Minutes of a node that were rolled up before their last sample came.
-- not tenant data: the keeper's own notes
CREATE TABLE telemetry_late (
  node_id uuid NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (node_id, at)
);

GRANT SELECT, INSERT, UPDATE, DELETE
  ON node_samples, gpu_samples, node_rollups, gpu_rollups, telemetry_progress, telemetry_late TO gpuaas_system;
GRANT SELECT ON node_samples, gpu_samples, node_rollups, gpu_rollups TO gpuaas_operator;
