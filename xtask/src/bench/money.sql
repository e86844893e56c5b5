-- A hundred organizations with a thousand allocations that run, and with ten
-- thousand intervals each that are over and not posted yet.
BEGIN;
SET LOCAL session_replication_role = replica;
INSERT INTO skus (id, name, shape, gpu_counts, numa_bound) VALUES ('00000000-0000-7000-8000-00000000feed', 'money', 'gpu_slice', '{1}', false);
INSERT INTO prices (id, sku_id, unit, kind, version, currency, price_micros, effective_at, created_at)
  VALUES ('00000000-0000-7000-8000-00000000cafe', '00000000-0000-7000-8000-00000000feed', 'gpu_hour', 'on_demand', 1, 'USD', 2345677,
    app_now() - interval '10 days', app_now() - interval '10 days');
CREATE TABLE bench_money AS SELECT gen_random_uuid() AS organization_id, gen_random_uuid() AS project_id FROM generate_series(1, 100);
INSERT INTO organizations (id, name, state) SELECT organization_id, 'Money', 'active' FROM bench_money;
INSERT INTO projects (id, organization_id, name, state) SELECT project_id, organization_id, 'first', 'active' FROM bench_money;
INSERT INTO books (organization_id, posted_to) SELECT organization_id, app_now() - interval '3 days' FROM bench_money;
INSERT INTO accounts (organization_id, kind, subject, currency) SELECT organization_id, 'wallet', '', 'USD' FROM bench_money
  UNION ALL SELECT organization_id, 'revenue', '00000000-0000-7000-8000-00000000feed', 'USD' FROM bench_money;
CREATE TEMP TABLE runs AS SELECT b.*, gen_random_uuid() AS allocation_id, n, app_now() - interval '2 days' + n * interval '10 seconds' AS at
  FROM bench_money b, generate_series(1, 11000) n;
INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state, version)
  SELECT allocation_id, organization_id, project_id, '00000000-0000-7000-8000-00000000feed', 1, 1, false, 'g', 'bench',
    CASE WHEN n <= 1000 THEN 'active' ELSE 'released' END, 5 FROM runs;
INSERT INTO usage (organization_id, subject_kind, subject_id, meter, number, kind, at, interval, project_id, allocation_id, sku_id, unit,
    price_kind, quantity, currency, price_id, price_micros, per_units, micros_per_hour, amount, nodes, tags, cause)
  SELECT organization_id, 'allocation', allocation_id, 'gpu_time', 1, 'start', at, 1, project_id, allocation_id,
    '00000000-0000-7000-8000-00000000feed'::uuid, 'gpu_hour', 'on_demand', 1, 'USD', '00000000-0000-7000-8000-00000000cafe'::uuid, 2345677, 1,
    2345677, 0, '{}'::uuid[], '{}'::jsonb, 'active' FROM runs
  UNION ALL
  SELECT organization_id, 'allocation', allocation_id, 'gpu_time', 2, 'end', at + interval '1234.567 seconds', 1, project_id, allocation_id,
    '00000000-0000-7000-8000-00000000feed'::uuid, 'gpu_hour', 'on_demand', 1, 'USD', '00000000-0000-7000-8000-00000000cafe'::uuid, 2345677, 1,
    2345677, 0, '{}'::uuid[], '{}'::jsonb, 'releasing' FROM runs WHERE n > 1000;
INSERT INTO open_intervals (organization_id, subject_id, meter, interval, project_id)
  SELECT organization_id, allocation_id, 'gpu_time', 1, project_id FROM runs WHERE n <= 1000;
COMMIT;
ANALYZE usage, open_intervals, allocations, books, accounts;
