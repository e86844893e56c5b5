-- A second person also agrees to refunds, to prices, and to switching four eyes
-- off: what was asked for waits as a correction and is done as it was asked for.

ALTER TABLE corrections
  ALTER COLUMN organization_id DROP NOT NULL,
  -- What is done once it is approved, and the same in words.
  ADD COLUMN request jsonb,
  ADD COLUMN summary text,
  -- What came of it: the id of a refund or a price, or the key of a policy.
  ADD COLUMN result text,
  DROP CONSTRAINT corrections_kind_check,
  DROP CONSTRAINT corrections_check1,
  DROP CONSTRAINT corrections_check2,
  ADD CONSTRAINT corrections_kind_check CHECK (kind IN ('credit', 'adjustment', 'reversal', 'refund', 'price', 'policy')),
  ADD CONSTRAINT corrections_organization CHECK ((kind IN ('price', 'policy')) = (organization_id IS NULL)),
  ADD CONSTRAINT corrections_amount CHECK ((kind IN ('credit', 'adjustment')) = (amount IS NOT NULL AND currency IS NOT NULL)),
  ADD CONSTRAINT corrections_request CHECK ((kind IN ('refund', 'price', 'policy')) = (request IS NOT NULL AND summary IS NOT NULL)),
  ADD CONSTRAINT corrections_posted CHECK (state <> 'posted' OR number IS NOT NULL OR result IS NOT NULL);

-- What is asked for again while it waits is the same correction.
CREATE UNIQUE INDEX corrections_waiting ON corrections (request) WHERE state = 'proposed';
