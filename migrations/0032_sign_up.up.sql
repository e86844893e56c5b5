-- Whoever reads the mail chooses the name and the password; who asks for it chooses nothing.
SET LOCAL ROLE gpuaas_system;
DELETE FROM account_tokens WHERE purpose = 'sign_up';
RESET ROLE;
ALTER TABLE account_tokens DROP COLUMN name, DROP COLUMN password_hash;
UPDATE installation SET needs_step = 32;

-- A token is forgotten once its mail was sent; its hash stays.
ALTER TABLE account_tokens DROP CONSTRAINT account_tokens_check;
SET LOCAL ROLE gpuaas_system;
UPDATE account_tokens SET sealed = NULL WHERE sealed = '';
RESET ROLE;
