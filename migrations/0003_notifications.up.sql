-- How the platform notifies people and programs: in the console, by mail and by
-- webhook.

-- Notifications ---------------------------------------------------------------

CREATE TABLE notifications (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id),
  -- The subject of the notification, which belongs to the person.
  organization_id uuid REFERENCES organizations (id),
  kind text NOT NULL,
  -- The event that caused it: one cause, one notification.
  cause uuid NOT NULL,
  resource text,
  title text NOT NULL,
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  read_at timestamptz,
  UNIQUE (user_id, cause)
);
COMMENT ON TABLE notifications IS 'Notifications that a person sees in the console.';
CREATE INDEX notifications_by_user ON notifications (user_id, id);
CREATE INDEX notifications_unread ON notifications (user_id) WHERE read_at IS NULL;
CREATE INDEX notifications_by_age ON notifications (created_at);
CALL secure_table('notifications');
GRANT SELECT, UPDATE ON notifications TO gpuaas_person;
GRANT SELECT, INSERT, UPDATE, DELETE ON notifications TO gpuaas_system;
CREATE POLICY own ON notifications TO gpuaas_person
  USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));

CREATE TABLE notification_preferences (
  user_id uuid NOT NULL REFERENCES users (id),
  kind text NOT NULL,
  in_app boolean,
  email boolean,
  changed_at timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (user_id, kind)
);
COMMENT ON TABLE notification_preferences IS 'Kinds of notifications that a person has switched on or off; the rest follow the defaults.';
CALL secure_table('notification_preferences');
GRANT SELECT, INSERT, UPDATE ON notification_preferences TO gpuaas_person;
GRANT SELECT, INSERT, UPDATE, DELETE ON notification_preferences TO gpuaas_system;
CREATE POLICY own ON notification_preferences TO gpuaas_person
  USING (user_id = (SELECT scope_user())) WITH CHECK (user_id = (SELECT scope_user()));

-- Mail ------------------------------------------------------------------------

-- The address is looked up when the mail is sent: it is stored where it can be erased.
CREATE TABLE mails (
  id uuid PRIMARY KEY,
  -- The recipient: a person, an invited address, or the address of a token.
  user_id uuid REFERENCES users (id),
  invitation_id uuid,
  account_token_id uuid REFERENCES account_tokens (id) ON DELETE CASCADE,
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
  CHECK (num_nonnulls(user_id, invitation_id, account_token_id) = 1),
  UNIQUE (user_id, cause),
  UNIQUE (invitation_id, cause),
  FOREIGN KEY (organization_id, invitation_id) REFERENCES invitations (organization_id, id)
);
COMMENT ON TABLE mails IS 'Mails to send, and the outcome of each.';
CREATE INDEX mails_due ON mails (next_attempt_at) WHERE state = 'pending';
CREATE INDEX mails_over ON mails (state_since) WHERE state <> 'pending';
CREATE UNIQUE INDEX mails_by_account_token ON mails (account_token_id);
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON mails
  FOR EACH ROW EXECUTE FUNCTION guard_state('mail');
CALL secure_table('mails');
GRANT SELECT ON mails TO gpuaas_person, gpuaas_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON mails TO gpuaas_system;
CREATE POLICY own ON mails FOR SELECT TO gpuaas_person USING (user_id = (SELECT scope_user()));
CREATE POLICY operator ON mails FOR SELECT TO gpuaas_operator USING (true);

CREATE TABLE mail_refusals (
  address_hash bytea PRIMARY KEY,
  code integer NOT NULL,
  reason text NOT NULL,
  refused_at timestamptz NOT NULL DEFAULT app_now()
);
COMMENT ON TABLE mail_refusals IS 'Addresses, as hashes, that a mail server has refused for good.';
CALL secure_table('mail_refusals');
GRANT SELECT, DELETE ON mail_refusals TO gpuaas_person;
GRANT SELECT, INSERT, UPDATE, DELETE ON mail_refusals TO gpuaas_system;
-- Only the holder of an address can look up its hash.
CREATE POLICY known ON mail_refusals TO gpuaas_person
  USING (address_hash = (SELECT sha256(convert_to(email, 'UTF8')) FROM users WHERE id = (SELECT scope_user())));

-- Webhooks --------------------------------------------------------------------

CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  url text NOT NULL,
  events text[] NOT NULL,
  description text,
  -- Sealed by a key that is not in the database; absent once the webhook is deleted.
  secret bytea,
  previous_secret bytea,
  previous_secret_until timestamptz,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  failures integer NOT NULL DEFAULT 0,
  disabled_reason text,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  UNIQUE (organization_id, id)
);
COMMENT ON TABLE webhooks IS 'Addresses that receive events of an organization.';
CREATE INDEX webhooks_listening ON webhooks (organization_id) WHERE state = 'active';
CREATE INDEX webhooks_gone ON webhooks (state_since) WHERE state = 'deleted';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON webhooks
  FOR EACH ROW EXECUTE FUNCTION guard_state('webhook');
CALL tenant_table('webhooks');
GRANT SELECT, INSERT, UPDATE ON webhooks TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks TO gpuaas_system;

-- The receiver's answer is not stored, apart from its status.
CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  event_id uuid NOT NULL,
  subject text NOT NULL,
  resource text,
  at timestamptz NOT NULL,
  correlation_id text NOT NULL,
  data jsonb NOT NULL,
  is_test boolean NOT NULL DEFAULT false,
  state text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  state_since timestamptz NOT NULL DEFAULT app_now(),
  attempts integer NOT NULL DEFAULT 0,
  last_status integer,
  error text,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  next_attempt_at timestamptz DEFAULT app_now(),
  delivered_at timestamptz,
  UNIQUE (webhook_id, event_id),
  FOREIGN KEY (organization_id, webhook_id) REFERENCES webhooks (organization_id, id)
);
COMMENT ON TABLE webhook_deliveries IS 'Deliveries: one row per webhook and event, with its attempts and outcome.';
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE state = 'pending';
-- A later event about a resource waits for the first attempt of an earlier one.
CREATE INDEX webhook_deliveries_untried ON webhook_deliveries (webhook_id, resource, id)
  WHERE state = 'pending' AND attempts = 0;
CREATE INDEX webhook_deliveries_over ON webhook_deliveries (state_since) WHERE state <> 'pending';
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE OF state ON webhook_deliveries
  FOR EACH ROW EXECUTE FUNCTION guard_state('webhook_delivery');
CALL tenant_table('webhook_deliveries');
GRANT SELECT, INSERT, UPDATE ON webhook_deliveries TO gpuaas_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_deliveries TO gpuaas_system;
