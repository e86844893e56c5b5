-- Ten thousand events that a project was created, in the organizations of a fleet.
INSERT INTO outbox (epoch, id, subject, organization_id, resource, version, correlation_id, data)
  SELECT i.epoch, gen_random_uuid(), 'project.created', o.ids[1 + n % cardinality(o.ids)],
    'proj-' || lpad(n::text, 26, '0'), NULL, 'bench',
    '{"id":"proj-0001jqzr5yf7c8tq0d0000000a","name":"bench-0197a3f2c1d07b3a9e44c0de0c0ffee0"}'
  FROM installation i, (SELECT array_agg(id) AS ids FROM organizations WHERE name = 'Bench') o, generate_series(1, 10000) n;
