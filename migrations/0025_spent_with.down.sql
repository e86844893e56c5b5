ALTER TABLE gateways DROP COLUMN joined_with;
ALTER TABLE enrollment_tokens DROP COLUMN used_with;
