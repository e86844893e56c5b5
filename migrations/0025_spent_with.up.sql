-- The key that a token was spent with, by its SHA-256: whoever asks again with the
-- same key lost the answer, and gets another.
ALTER TABLE enrollment_tokens ADD COLUMN used_with text;
ALTER TABLE gateways ADD COLUMN joined_with text;
