-- Who took over a shared session of somebody else's, and with what: it goes on while
-- both may come in. Empty when its owner was the last to attach.

ALTER TABLE access_sessions
  ADD COLUMN guest_actor text,
  -- The person or the program behind the guest.
  ADD COLUMN guest_principal_id uuid,
  ADD COLUMN guest_user_id uuid REFERENCES users (id),
  ADD COLUMN guest_login_session_id uuid,
  ADD COLUMN guest_key_id uuid,
  ADD CONSTRAINT access_sessions_guest CHECK ((guest_actor IS NULL) = (guest_principal_id IS NULL));
CREATE INDEX access_sessions_of_guest ON access_sessions (guest_user_id) WHERE guest_user_id IS NOT NULL;
