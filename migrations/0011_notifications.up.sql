-- Notifications: what people are told, in the console and by mail.

CREATE TABLE notifications (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id),
  -- What it is about; it belongs to the person.
  organization_id uuid REFERENCES organizations (id),
  kind text NOT NULL,
  -- The event that caused it: one cause gives one notification.
  cause uuid NOT NULL,
  resource text,
  title text NOT NULL,
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  read_at timestamptz,
  UNIQUE (user_id, cause)
);
CREATE INDEX notifications_by_user ON notifications (user_id, id);
CREATE INDEX notifications_unread ON notifications (user_id) WHERE read_at IS NULL;
CREATE INDEX notifications_by_age ON notifications (created_at);

-- What differs from the defaults.
CREATE TABLE notification_preferences (
  user_id uuid NOT NULL REFERENCES users (id),
  kind text NOT NULL,
  in_app boolean,
  email boolean,
  changed_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (user_id, kind)
);

-- To a person, or to somebody who is invited. The address is looked up when it
-- is sent: it lives where it can be erased.
CREATE TABLE mails (
  id uuid PRIMARY KEY,
  user_id uuid REFERENCES users (id),
  invitation_id uuid,
  organization_id uuid REFERENCES organizations (id),
  kind text NOT NULL,
  cause uuid NOT NULL,
  title text NOT NULL,
  body text NOT NULL,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  attempts integer NOT NULL DEFAULT 0,
  last_code integer,
  error text,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  next_attempt_at timestamptz DEFAULT app_now(),
  sent_at timestamptz,
  CHECK (num_nonnulls(user_id, invitation_id) = 1),
  UNIQUE (user_id, cause),
  UNIQUE (invitation_id, cause),
  FOREIGN KEY (organization_id, invitation_id) REFERENCES invitations (organization_id, id)
);
CREATE INDEX mails_due ON mails (next_attempt_at) WHERE state = 'pending';
CREATE INDEX mails_over ON mails (state_since) WHERE state <> 'pending';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON mails
  FOR EACH ROW EXECUTE FUNCTION guard_state('mail');

-- Addresses that a mail server will never take, by their hash.
CREATE TABLE mail_refusals (
  address_hash bytea PRIMARY KEY,
  code integer NOT NULL,
  reason text NOT NULL,
  refused_at timestamptz NOT NULL DEFAULT app_now()
);

-- The lease of which its project was told that it ends.
ALTER TABLE allocations ADD COLUMN lease_told_for timestamptz;

ALTER TABLE notifications ENABLE ROW LEVEL SECURITY;
ALTER TABLE notifications FORCE ROW LEVEL SECURITY;
ALTER TABLE notification_preferences ENABLE ROW LEVEL SECURITY;
ALTER TABLE notification_preferences FORCE ROW LEVEL SECURITY;
ALTER TABLE mails ENABLE ROW LEVEL SECURITY;
ALTER TABLE mails FORCE ROW LEVEL SECURITY;
ALTER TABLE mail_refusals ENABLE ROW LEVEL SECURITY;
ALTER TABLE mail_refusals FORCE ROW LEVEL SECURITY;

GRANT SELECT, UPDATE ON notifications TO gpuaas_person;
CREATE POLICY own ON notifications TO gpuaas_person
  USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));
GRANT SELECT, INSERT, UPDATE ON notification_preferences TO gpuaas_person;
CREATE POLICY own ON notification_preferences TO gpuaas_person
  USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));
GRANT SELECT ON mails TO gpuaas_person;
CREATE POLICY own ON mails FOR SELECT TO gpuaas_person USING (user_id = (SELECT scope_user()));
-- Who knows an address may ask for it; its hash tells nobody else anything.
GRANT SELECT, DELETE ON mail_refusals TO gpuaas_person;
CREATE POLICY known ON mail_refusals TO gpuaas_person
  USING (address_hash = (SELECT sha256(convert_to(email, 'UTF8')) FROM users WHERE id = (SELECT scope_user())));
GRANT SELECT ON mails TO gpuaas_operator;
CREATE POLICY operator ON mails FOR SELECT TO gpuaas_operator USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON notifications, notification_preferences, mails, mail_refusals TO gpuaas_system;
CREATE POLICY system ON notifications TO gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY system ON notification_preferences TO gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY system ON mails TO gpuaas_system USING (true) WITH CHECK (true);
CREATE POLICY system ON mail_refusals TO gpuaas_system USING (true) WITH CHECK (true);
