DROP INDEX access_sessions_of_guest;
ALTER TABLE access_sessions
  DROP CONSTRAINT access_sessions_guest,
  DROP COLUMN guest_actor,
  DROP COLUMN guest_principal_id,
  DROP COLUMN guest_user_id,
  DROP COLUMN guest_login_session_id,
  DROP COLUMN guest_key_id;
