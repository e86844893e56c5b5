SET LOCAL ROLE gpuaas_system;
UPDATE account_tokens SET sealed = '' WHERE sealed IS NULL AND hash IS NOT NULL;
DELETE FROM account_tokens WHERE purpose = 'sign_up';
RESET ROLE;
ALTER TABLE account_tokens ADD CONSTRAINT account_tokens_check CHECK ((hash IS NULL) = (sealed IS NULL));
ALTER TABLE account_tokens ADD COLUMN name text, ADD COLUMN password_hash text;
ALTER TABLE account_tokens ADD CONSTRAINT account_tokens_check2
  CHECK ((purpose = 'sign_up') = (password_hash IS NOT NULL AND name IS NOT NULL));
UPDATE installation SET needs_step = 1;
