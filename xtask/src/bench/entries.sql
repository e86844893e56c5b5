-- Half a million journals of two entries each for ORGANIZATION, with the
-- balances that would have been kept on the way.
BEGIN;
SET LOCAL session_replication_role = replica;
INSERT INTO accounts (organization_id, kind, currency) VALUES ('ORGANIZATION', 'wallet', 'USD'), ('ORGANIZATION', 'promotional', 'USD')
  ON CONFLICT DO NOTHING;
INSERT INTO journals (organization_id, number, kind, at, actor, hash)
  SELECT 'ORGANIZATION', b.journals + n, 'credit', app_now(), 'bench', '' FROM books b, generate_series(1, 500000) n
  WHERE b.organization_id = 'ORGANIZATION';
INSERT INTO entries (organization_id, number, line, account_id, currency, amount)
  SELECT 'ORGANIZATION', b.journals + n, CASE a.kind WHEN 'wallet' THEN 2 ELSE 1 END, a.id, 'USD', CASE a.kind WHEN 'wallet' THEN 1 ELSE -1 END
  FROM books b JOIN accounts a ON a.organization_id = b.organization_id AND a.kind IN ('wallet', 'promotional'), generate_series(1, 500000) n
  WHERE b.organization_id = 'ORGANIZATION';
INSERT INTO checkpoints (organization_id, account_id, number, balance)
  SELECT 'ORGANIZATION', a.id, b.journals + n, n FROM books b JOIN accounts a ON a.organization_id = b.organization_id AND a.kind = 'wallet',
    generate_series(256, 499900, 256) n WHERE b.organization_id = 'ORGANIZATION';
UPDATE books SET journals = journals + 500000 WHERE organization_id = 'ORGANIZATION';
COMMIT;
ANALYZE entries, journals, checkpoints;
