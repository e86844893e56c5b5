DROP INDEX corrections_waiting;
SET LOCAL ROLE gpuaas_system;
DELETE FROM corrections WHERE request IS NOT NULL;
RESET ROLE;
ALTER TABLE corrections
  DROP CONSTRAINT corrections_kind_check,
  DROP CONSTRAINT corrections_organization,
  DROP CONSTRAINT corrections_amount,
  DROP CONSTRAINT corrections_request,
  DROP CONSTRAINT corrections_posted,
  DROP COLUMN request,
  DROP COLUMN summary,
  DROP COLUMN result,
  ALTER COLUMN organization_id SET NOT NULL,
  ADD CONSTRAINT corrections_kind_check CHECK (kind IN ('credit', 'adjustment', 'reversal')),
  ADD CONSTRAINT corrections_check1 CHECK ((kind <> 'reversal') = (amount IS NOT NULL AND currency IS NOT NULL)),
  ADD CONSTRAINT corrections_check2 CHECK (state <> 'posted' OR number IS NOT NULL);
