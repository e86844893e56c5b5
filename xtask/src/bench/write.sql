-- Creating a project as bare SQL: the same rows in the same tables, with the
-- same triggers and row-level security forced, by a role whose policies let
-- everything pass. It finds out nothing first: no caller, no limit, no scope.
-- `first` is the number of the fleet's first organization, `base` the first
-- number of this round, `places` how many organizations a client has. A colon
-- before a word is a variable even inside a text, hence the `\x3a`.
\set turn :turn + 1
\set n :base + :turn * 64 + :client_id
\set place :first + :client_id * :places + random(0, :places - 1)
BEGIN;
INSERT INTO idempotency (principal, operation, key, request_hash, expires_at)
  VALUES (E'user\x3auser-00000000000000000000' || 100000 + :client_id, 'CreateProject', lpad(to_hex(:n::bigint), 32, '0'),
    '\x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', app_now() + interval '24 hours');
INSERT INTO projects (id, organization_id, name, state)
  VALUES ((lpad(to_hex(:n::bigint), 16, '0') || '8000000000000000')::uuid,
    ('00000000000070008000' || lpad(to_hex(:place::bigint), 12, '0'))::uuid, 'bench-' || lpad(to_hex(:n::bigint), 32, '0'), 'active');
INSERT INTO audit (epoch, id, organization_id, actor, action, resource, outcome, correlation_id, detail)
  VALUES (1, (lpad(to_hex(:n::bigint), 16, '0') || '8000000000000000')::uuid,
    ('00000000000070008000' || lpad(to_hex(:place::bigint), 12, '0'))::uuid, E'user\x3auser-00000000000000000000' || 100000 + :client_id,
    'project.create', 'proj-' || lpad(to_hex(:n::bigint), 26, '0'), 'done', lpad(to_hex(:n::bigint), 32, '0'), '{}');
INSERT INTO outbox (epoch, id, subject, organization_id, resource, version, correlation_id, data)
  VALUES (1, (lpad(to_hex(:n::bigint), 16, '0') || '8000000000000000')::uuid, 'project.created',
    ('00000000000070008000' || lpad(to_hex(:place::bigint), 12, '0'))::uuid, 'proj-' || lpad(to_hex(:n::bigint), 26, '0'), NULL,
    lpad(to_hex(:n::bigint), 32, '0'),
    '{"id":"proj-0001jqzr5yf7c8tq0d0000000a","name":"bench-0197a3f2c1d07b3a9e44c0de0c0ffee0"}');
UPDATE idempotency SET status = 201, sealed = false,
    body = '{"id":"proj-0001jqzr5yf7c8tq0d0000000a","organization_id":"org-0001jqzr5yf7c8tq0d0000000a","name":"bench-0197a3f2c1d07b3a9e44c0de0c0ffee0","state":"active","version":1,"created_at":"2026-01-01T000000000000000Z"}'
  WHERE principal = E'user\x3auser-00000000000000000000' || 100000 + :client_id AND operation = 'CreateProject'
    AND key = lpad(to_hex(:n::bigint), 32, '0');
COMMIT;
