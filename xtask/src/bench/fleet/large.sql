-- Ten thousand nodes with eight GPUs each, as if they had enrolled.
BEGIN;
INSERT INTO regions (id, name) VALUES (gen_random_uuid(), 'large');
INSERT INTO pools (id, region_id, name, provider, isolation, isolates_vms)
  SELECT gen_random_uuid(), id, 'large', 'enrolled', 'user_revoke', true FROM regions WHERE name = 'large';
INSERT INTO skus (id, name, shape, gpu_model, gpu_counts, numa_bound)
  VALUES (gen_random_uuid(), 'large-slice', 'gpu_slice', 'Large GPU', '{1,2,4,8}', false);
INSERT INTO prices (id, sku_id, unit, kind, version, currency, price_micros, effective_at)
  SELECT gen_random_uuid(), id, 'gpu_hour', 'on_demand', 1, 'USD', 0, app_now() FROM skus WHERE name = 'large-slice';
-- They never enroll, so they must begin as what enrolling makes of a host.
INSERT INTO legal_moves (lifecycle, from_state, to_state) VALUES ('node', '', 'ready') ON CONFLICT DO NOTHING;
INSERT INTO nodes (id, region_id, pool_id, name, state, health, fabric_domain, inventory)
  SELECT gen_random_uuid(), region_id, id, 'large-' || number, 'ready', 'ok', 'domain-' || number / 64, '{"isolates_vms": true}'
  FROM pools, generate_series(1, 10000) AS number WHERE name = 'large';
INSERT INTO node_heartbeats (node_id, last_seen_at, generation)
  SELECT id, app_now() + interval '1 day', 1 FROM nodes WHERE name LIKE 'large-%';
INSERT INTO slots (id, node_id, place, gpu_uuid, pci, model, memory_bytes, numa)
  SELECT gen_random_uuid(), id, place, 'GPU-' || gen_random_uuid(), '0000:0' || place || ':00.0', 'Large GPU', 1, place / 4
  FROM nodes, generate_series(0, 7) AS place WHERE name LIKE 'large-%';
COMMIT;
ANALYZE nodes, slots, node_changes, node_heartbeats;
