ALTER TABLE gateways DROP COLUMN joined_with;
ALTER TABLE enrolment_tokens DROP COLUMN used_with;
