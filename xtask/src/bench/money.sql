-- A hundred organizations with a thousand allocations that run, and with ten
-- thousand intervals each that are over and not posted yet.
BEGIN;
SET LOCAL session_replication_role = replica;
INSERT INTO skus (id, name, shape, gpu_counts, numa_bound) VALUES ('00000000-0000-7000-8000-00000000feed', 'money', 'gpu_slice', '{1}', false);
INSERT INTO prices (id, sku_id, version, currency, price_micros_per_gpu_hour, effective_at, created_at)
  VALUES ('00000000-0000-7000-8000-00000000cafe', '00000000-0000-7000-8000-00000000feed', 1, 'USD', 2345677,
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
INSERT INTO usage (allocation_id, version, kind, at, interval, organization_id, project_id, sku_id, gpus, nodes, tags, currency,
    price_id, micros_per_hour, cause)
  SELECT allocation_id, 3, 'start', at, 3, organization_id, project_id, '00000000-0000-7000-8000-00000000feed'::uuid, 1, '{}'::uuid[], '{}'::jsonb, 'USD',
    '00000000-0000-7000-8000-00000000cafe'::uuid, 2345677, 'active' FROM runs
  UNION ALL
  SELECT allocation_id, 4, 'end', at + interval '1234.567 seconds', 3, organization_id, project_id, '00000000-0000-7000-8000-00000000feed'::uuid,
    1, '{}'::uuid[], '{}'::jsonb, 'USD', '00000000-0000-7000-8000-00000000cafe'::uuid, 2345677, 'releasing' FROM runs WHERE n > 1000;
COMMIT;
ANALYZE usage, allocations, books, accounts;
