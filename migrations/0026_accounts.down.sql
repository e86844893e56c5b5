DELETE FROM mails WHERE account_token_id IS NOT NULL;
ALTER TABLE mails DROP CONSTRAINT mails_check;
ALTER TABLE mails DROP COLUMN account_token_id;
ALTER TABLE mails ADD CONSTRAINT mails_check CHECK (num_nonnulls(user_id, invitation_id) = 1);

DROP TABLE used_id_tokens;
DROP TABLE known_places;
DROP TABLE account_tokens;

DROP INDEX access_sessions_of_user;
ALTER TABLE access_sessions DROP COLUMN key_id;
ALTER TABLE access_sessions DROP COLUMN login_session_id;
ALTER TABLE access_tickets DROP COLUMN key_id;
ALTER TABLE access_tickets DROP COLUMN login_session_id;

ALTER TABLE refresh_tokens DROP COLUMN successor;

ALTER TABLE invitations DROP COLUMN mail_token;
ALTER TABLE invitations DROP COLUMN mail_token_hash;
ALTER TABLE invitations DROP COLUMN made_by;

REVOKE UPDATE (platform_role) ON users FROM gpuaas_operator;
GRANT UPDATE ON users TO gpuaas_operator;
REVOKE SELECT (id, email, name, platform_role, created_at, erased_at, address_proven_at) ON users FROM gpuaas_operator;
REVOKE SELECT (id, email, name, created_at, erased_at) ON users FROM gpuaas_tenant;
GRANT SELECT ON users TO gpuaas_tenant, gpuaas_operator;
ALTER TABLE users DROP COLUMN address_proven_at;
