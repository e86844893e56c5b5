//! Every policy key: typed, with unit, default, bounds, and whether lower
//! levels may only tighten it. `docs/generated/policies.md` prints the table.

use contract::{Label, policies::PolicyLevel};
use kernel::money::Currency;

pub use super::units::{days, hours, milliseconds, minutes, seconds};

use super::ports::Ports;

pub struct KeyInfo {
    pub name: &'static str,
    pub about: &'static str,
    pub unit: &'static str,
    pub kind: Kind,
    /// The lowest level at which it can be set.
    pub deepest: PolicyLevel,
    pub guardrail: Guardrail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Number {
        default: u64,
        min: u64,
        max: u64,
    },
    Flag {
        default: bool,
    },
    Currency {
        default: &'static str,
    },
    /// The key of a tag, or nothing.
    Tag {
        default: &'static str,
    },
    /// Words from the loosest to the strictest; the first is the default.
    Choice {
        words: &'static [&'static str],
    },
    /// Port numbers and ranges of them.
    Ports {
        default: &'static str,
    },
}

/// What lower levels may do to a value set above them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guardrail {
    /// Replace it.
    None,
    /// Lower it only: limits and lifetimes.
    LowerOnly,
    /// Raise it only: how long evidence is retained.
    RaiseOnly,
    /// Be stricter only: choices and sets; of flags, turn it on only.
    StricterOnly,
}

#[derive(Clone, Copy)]
pub struct NumberKey(pub &'static KeyInfo);

#[derive(Clone, Copy)]
pub struct FlagKey(pub &'static KeyInfo);

#[derive(Clone, Copy)]
pub struct CurrencyKey(pub &'static KeyInfo);

#[derive(Clone, Copy)]
pub struct TagKey(pub &'static KeyInfo);

#[derive(Clone, Copy)]
pub struct ChoiceKey(pub &'static KeyInfo);

#[derive(Clone, Copy)]
pub struct PortsKey(pub &'static KeyInfo);

macro_rules! policy_keys {
    (@kind number, $default:literal, $min:literal, $max:literal) => { Kind::Number { default: $default, min: $min, max: $max } };
    (@kind flag, $default:literal) => { Kind::Flag { default: $default } };
    (@kind currency, $default:literal) => { Kind::Currency { default: $default } };
    (@kind tag, $default:literal) => { Kind::Tag { default: $default } };
    (@kind choice, $($word:literal),+) => { Kind::Choice { words: &[$($word),+] } };
    (@kind ports, $default:literal) => { Kind::Ports { default: $default } };
    (@type choice) => { ChoiceKey };
    (@type ports) => { PortsKey };
    (@type number) => { NumberKey };
    (@type currency) => { CurrencyKey };
    (@type tag) => { TagKey };
    (@type flag) => { FlagKey };
    ($($(#[doc = $doc:literal])+ $const:ident = $name:literal: $kind:ident($($value:literal),+) $unit:literal, $deepest:ident, $guardrail:ident;)+) => {
        $(
            $(#[doc = $doc])+
            pub const $const: policy_keys!(@type $kind) = <policy_keys!(@type $kind)>::new(&KeyInfo {
                name: $name,
                about: concat!($($doc),+),
                unit: $unit,
                kind: policy_keys!(@kind $kind, $($value),+),
                deepest: PolicyLevel::$deepest,
                guardrail: Guardrail::$guardrail,
            });
        )+
        pub const ALL: &[&KeyInfo] = &[$($const.0),+];
    };
}

macro_rules! made_of_info {
    ($($key:ident),+) => { $(
        impl $key {
            const fn new(info: &'static KeyInfo) -> Self {
                Self(info)
            }
        }
    )+ };
}
made_of_info!(NumberKey, FlagKey, CurrencyKey, TagKey, ChoiceKey, PortsKey);

policy_keys! {
    /// How long an access token of the built-in issuer is valid.
    ACCESS_TOKEN_SECONDS = "identity.access_token_seconds": number(600, 30, 3600) "seconds", Platform, None;
    /// The maximum lifetime of a session, including refreshes.
    SESSION_HOURS = "identity.session_hours": number(720, 1, 8760) "hours", Platform, None;
    /// How long an expired session is stored.
    SESSION_KEEP_DAYS = "identity.session_keep_days": number(1, 0, 365) "days", Platform, None;
    /// How long a used refresh token can be reused, for clients that did not receive the response.
    REFRESH_GRACE_SECONDS = "identity.refresh_grace_seconds": number(5, 0, 60) "seconds", Platform, None;
    /// How long a caller's permissions are cached, and therefore how late a revocation can take effect.
    CALLER_CACHE_MS = "identity.caller_cache_ms": number(500, 0, 900) "milliseconds", Platform, None;
    /// How often the signing keys of the built-in issuer are replaced.
    SIGNING_KEY_DAYS = "identity.signing_key_days": number(30, 1, 365) "days", Platform, None;
    /// The minimum length of a password.
    PASSWORD_MIN_LENGTH = "identity.password_min_length": number(12, 8, 128) "characters", Platform, None;
    /// Whether people may create accounts and organizations without an invitation.
    SELF_SERVICE = "identity.self_service": flag(false) "flag", Platform, None;
    /// How long an emailed token to verify an address or to reset a password is valid.
    ACCOUNT_TOKEN_MINUTES = "identity.account_token_minutes": number(60, 5, 1440) "minutes", Platform, None;
    /// The maximum number of emails with such tokens to one address per hour.
    ACCOUNT_MAILS_PER_HOUR = "identity.account_mails_per_hour": number(5, 1, 100) "count", Platform, None;
    /// How long a location that a user signed in from counts as known.
    KNOWN_PLACE_DAYS = "identity.known_place_days": number(90, 1, 365) "days", Platform, None;
    /// How long signing in through an external issuer may take.
    OIDC_START_SECONDS = "identity.oidc_start_seconds": number(600, 60, 3600) "seconds", Platform, None;
    /// How often the external issuer's keys are fetched again.
    OIDC_REFRESH_SECONDS = "identity.oidc_refresh_seconds": number(300, 10, 86400) "seconds", Platform, None;
    /// How long the external issuer's keys are trusted while it cannot be reached.
    OIDC_STALE_SECONDS = "identity.oidc_stale_seconds": number(86400, 60, 604800) "seconds", Platform, None;
    /// The maximum age of an identity token of the external issuer that is exchanged for a session.
    OIDC_TOKEN_SECONDS = "identity.oidc_token_seconds": number(600, 30, 3600) "seconds", Platform, None;
    /// Who must have a second factor: no one, staff (users with a platform role; owners, administrators and billing members of organizations), or everyone.
    MFA_REQUIRED = "identity.mfa_required": choice("none", "staff", "everyone") "word", Organization, StricterOnly;
    /// Whether signing in through the external issuer also requires the second factor.
    MFA_WITH_OIDC = "identity.mfa_with_oidc": flag(false) "flag", Platform, None;
    /// How long a second factor counts as recent, for payments, break-glass access, policies and credentials of
    /// an account; for an account with neither a factor nor a password, how long a sign-in counts as recent.
    MFA_STEP_UP_SECONDS = "identity.mfa_step_up_seconds": number(900, 30, 86400) "seconds", Platform, None;
    /// How long a challenge for a second factor can be answered.
    MFA_CHALLENGE_SECONDS = "identity.mfa_challenge_seconds": number(300, 30, 3600) "seconds", Platform, None;
    /// The maximum number of second factors of an account.
    MFA_FACTORS_MAX = "identity.mfa_factors_max": number(10, 1, 100) "count", Platform, None;
    /// The maximum lifetime of an API key.
    KEY_MAX_DAYS = "keys.max_days": number(365, 1, 3650) "days", Organization, LowerOnly;
    /// The maximum number of API keys of a user or service account.
    KEYS_MAX = "keys.max": number(50, 1, 10000) "count", Organization, LowerOnly;
    /// How long an invitation can be accepted.
    INVITATION_HOURS = "invitations.lifetime_hours": number(168, 1, 2160) "hours", Organization, LowerOnly;
    /// The maximum number of pending invitations.
    INVITATIONS_MAX = "invitations.max_pending": number(200, 1, 100000) "count", Organization, LowerOnly;
    /// The maximum number of projects of an organization.
    PROJECTS_MAX = "projects.max": number(100, 1, 1000000) "count", Organization, LowerOnly;
    /// The maximum number of service accounts of an organization.
    SERVICE_ACCOUNTS_MAX = "service_accounts.max": number(100, 1, 100000) "count", Organization, LowerOnly;
    /// The maximum number of SSH keys of a user.
    SSH_KEYS_MAX = "ssh_keys.max": number(32, 1, 256) "count", Platform, None;
    /// The maximum number of GPUs in use or requested at the same time, by an organization or one of its projects.
    ALLOCATIONS_MAX_GPUS = "allocations.max_gpus": number(64, 0, 1000000) "count", Project, LowerOnly;
    /// How long a stopped allocation keeps its GPUs before it is released.
    STOPPED_HOURS = "allocations.stopped_hours": number(168, 1, 8760) "hours", Project, LowerOnly;
    /// The maximum number of organizations that a user can own.
    ORGANIZATIONS_MAX = "organizations.max_owned": number(10, 1, 10000) "count", Platform, None;
    /// How long a host may take for a task of an allocation.
    TASK_SECONDS = "allocations.task_seconds": number(120, 1, 86400) "seconds", Platform, None;
    /// The maximum number of attempts to prepare an allocation before it fails.
    PROVISION_ATTEMPTS = "allocations.provision_attempts": number(3, 1, 100) "count", Platform, None;
    /// The maximum number of attempts to sanitize an allocation before it needs attention.
    CLEANING_ATTEMPTS = "allocations.cleaning_attempts": number(5, 1, 100) "count", Platform, None;
    /// How often a request that found no capacity is evaluated again, at least.
    ALLOCATION_RETRY_SECONDS = "allocations.retry_seconds": number(60, 1, 3600) "seconds", Platform, None;
    /// How long the oldest request for a SKU in a region waits before nodes are reserved for it.
    STARVATION_GUARD_SECONDS = "placement.starvation_guard_seconds": number(900, 1, 604800) "seconds", Platform, None;
    /// Whether an allocation must be funded: its maximum cost is held when it is requested.
    BILLING_REQUIRED = "billing.required": flag(false) "flag", Platform, None;
    /// The currency in which new allocations are charged; SKUs need prices in it.
    BILLING_CURRENCY = "billing.currency": currency("USD") "code", Platform, None;
    /// For how long an allocation without a lease must be affordable when it is requested.
    BILLING_HOLD_MINUTES = "billing.hold_minutes": number(60, 1, 43200) "minutes", Platform, None;
    /// How long the balance must last at the current rate; below that, owners are notified that it is low.
    BILLING_LOW_BALANCE_MINUTES = "billing.low_balance_minutes": number(1440, 1, 525600) "minutes", Platform, None;
    /// The grace period: how long allocations continue after the balance is used up.
    BILLING_GRACE_MINUTES = "billing.grace_minutes": number(30, 0, 43200) "minutes", Platform, None;
    /// The tag by which the lines of invoices are grouped, in addition to project and SKU; none if empty.
    BILLING_INVOICE_TAG = "billing.invoice_tag": tag("") "tag", Organization, None;
    /// How often usage is posted to the ledger.
    BILLING_WINDOW_SECONDS = "billing.window_seconds": number(60, 10, 3600) "seconds", Platform, None;
    /// Whether credit, adjustments, reversals, refunds, prices, and turning this policy off need approval by a second person.
    BILLING_FOUR_EYES = "billing.four_eyes": flag(false) "flag", Platform, None;
    /// How long a correction waits for approval by a second person.
    BILLING_CORRECTION_HOURS = "billing.correction_hours": number(72, 1, 720) "hours", Platform, None;
    /// The maximum number of budgets of a project.
    BUDGETS_MAX = "budgets.max": number(20, 1, 1000) "count", Project, LowerOnly;
    /// The minimum amount of a payment, in whole units of its currency.
    PAYMENTS_LEAST = "payments.least_units": number(1, 1, 1000000) "units", Platform, None;
    /// The maximum amount of a payment, in whole units of its currency.
    PAYMENTS_MOST = "payments.most_units": number(10000, 1, 999999) "units", Platform, None;
    /// The maximum number of unpaid payments of an organization at the same time.
    PAYMENTS_OPEN_MAX = "payments.max_open": number(10, 1, 1000) "count", Organization, LowerOnly;
    /// The maximum difference between the timestamp in a provider's signature and the current time.
    PAYMENTS_TOLERANCE_SECONDS = "payments.tolerance_seconds": number(300, 1, 3600) "seconds", Platform, None;
    /// How soon a payment is retried after the provider could not be reached.
    PAYMENTS_RETRY_SECONDS = "payments.retry_seconds": number(30, 1, 3600) "seconds", Platform, None;
    /// How often an unpaid payment is checked if no event about it is received.
    PAYMENTS_LOOK_MINUTES = "payments.look_minutes": number(60, 1, 1440) "minutes", Platform, None;
    /// How often the provider's payments are compared with the ledger.
    PAYMENTS_COMPARE_MINUTES = "payments.compare_minutes": number(60, 1, 1440) "minutes", Platform, None;
    /// How many days back the provider's payments are compared with the ledger.
    PAYMENTS_COMPARE_DAYS = "payments.compare_days": number(7, 1, 90) "days", Platform, None;
    /// How long a provider's events are stored after they were processed.
    PAYMENTS_EVENTS_DAYS = "payments.events_keep_days": number(90, 7, 3650) "days", Platform, None;
    /// How long completed tasks of hosts are stored.
    TASKS_DAYS = "tasks.keep_days": number(30, 1, 3650) "days", Platform, None;
    /// The maximum number of webhooks of an organization.
    WEBHOOKS_MAX = "webhooks.max": number(20, 0, 1000) "count", Organization, LowerOnly;
    /// Whether webhooks may send to the server's own host, also unencrypted; for testing only.
    WEBHOOK_ALLOW_LOOPBACK = "webhooks.allow_http_loopback": flag(false) "flag", Platform, None;
    /// The maximum number of attempts to deliver an event to a webhook.
    WEBHOOK_ATTEMPTS = "webhooks.attempts": number(10, 1, 50) "count", Platform, None;
    /// How long a webhook's receiver may take to respond; at most half of `work.lease_seconds`.
    WEBHOOK_TIMEOUT_SECONDS = "webhooks.timeout_seconds": number(10, 1, 30) "seconds", Platform, None;
    /// The backoff after the first failed delivery to a webhook; it doubles with each further failure.
    WEBHOOK_RETRY_SECONDS = "webhooks.retry_seconds": number(30, 1, 3600) "seconds", Platform, None;
    /// The maximum backoff between two attempts to deliver to a webhook.
    WEBHOOK_RETRY_MAX_SECONDS = "webhooks.retry_max_seconds": number(21600, 1, 86400) "seconds", Platform, None;
    /// How long the old secret of a webhook also signs deliveries after a rotation.
    WEBHOOK_ROTATION_HOURS = "webhooks.rotation_hours": number(24, 0, 720) "hours", Platform, None;
    /// How many deliveries in a row may fail before a webhook is disabled.
    WEBHOOK_DISABLE_AFTER = "webhooks.disable_after_failures": number(20, 1, 10000) "count", Platform, None;
    /// How long finished deliveries and deleted webhooks are stored.
    WEBHOOK_KEEP_DAYS = "webhooks.keep_days": number(30, 1, 365) "days", Platform, None;
    /// The maximum size of a request body.
    BODY_BYTES = "http.max_body_bytes": number(65536, 1024, 16777216) "bytes", Platform, None;
    /// The maximum nesting depth of a JSON body.
    BODY_DEPTH = "http.max_body_depth": number(32, 4, 100) "levels", Platform, None;
    /// The maximum length of the query string.
    QUERY_BYTES = "http.max_query_bytes": number(4096, 256, 16384) "bytes", Platform, None;
    /// The maximum number of headers of a request.
    HEADERS_MAX = "http.max_headers": number(64, 16, 100) "count", Platform, None;
    /// The maximum total size of the headers of a request.
    HEADER_BYTES = "http.max_header_bytes": number(16384, 4096, 65536) "bytes", Platform, None;
    /// How long a request may take before it times out.
    REQUEST_SECONDS = "http.request_seconds": number(30, 1, 300) "seconds", Platform, None;
    /// How long the response to an idempotency key is stored.
    IDEMPOTENCY_HOURS = "idempotency.keep_hours": number(24, 1, 720) "hours", Platform, None;
    /// How long an error response to an idempotency key is returned to retries of the request.
    IDEMPOTENCY_REFUSAL_SECONDS = "idempotency.refusal_seconds": number(60, 1, 86400) "seconds", Platform, None;
    /// How many retries of a running request may wait for its response.
    IDEMPOTENCY_WAITERS = "idempotency.max_waiters": number(256, 1, 10000) "count", Platform, None;
    /// Requests from one address.
    RATE_ADDRESS = "rate_limit.address_per_minute": number(6000, 60, 10000000) "per_minute", Platform, None;
    /// Requests of one caller in the default lane.
    RATE_DEFAULT = "rate_limit.default_per_minute": number(3000, 10, 10000000) "per_minute", Platform, None;
    /// Requests of one caller in the financial lane.
    RATE_FINANCIAL = "rate_limit.financial_per_minute": number(120, 10, 10000000) "per_minute", Platform, None;
    /// Requests of one caller in the administrative lane.
    RATE_ADMIN = "rate_limit.admin_per_minute": number(1200, 10, 10000000) "per_minute", Platform, None;
    /// Attempts to sign in from one address, and failed ones for one account.
    RATE_LOGIN = "rate_limit.login_per_minute": number(30, 3, 10000000) "per_minute", Platform, None;
    /// Requests of one caller in the terminal lane.
    RATE_TERMINAL = "rate_limit.terminal_per_minute": number(60, 1, 10000000) "per_minute", Platform, None;
    /// Requests of one caller in the launch lane.
    RATE_LAUNCH = "rate_limit.launch_per_minute": number(60, 1, 10000000) "per_minute", Platform, None;
    /// Requests of one node.
    RATE_NODE = "rate_limit.node_per_minute": number(600, 10, 10000000) "per_minute", Platform, None;
    /// Attempts to enroll hosts from one address.
    RATE_ENROLL = "rate_limit.enroll_per_minute": number(6000, 10, 10000000) "per_minute", Platform, None;
    /// The maximum number of open event streams of one caller.
    WATCHES_MAX = "events.max_watches": number(20, 1, 1000) "count", Platform, None;
    /// How long events are stored.
    EVENTS_DAYS = "events.keep_days": number(30, 1, 3650) "days", Platform, None;
    /// How long audit entries are retained; their seals are retained permanently.
    AUDIT_DAYS = "audit.keep_days": number(730, 1, 36500) "days", Platform, None;
    /// Refusals of one address or caller per minute that get a separate audit entry; further ones are summarized.
    AUDIT_REFUSALS = "audit.refusals_per_minute": number(20, 1, 10000) "per_minute", Platform, None;
    /// The same for all addresses and callers together, in one process.
    AUDIT_REFUSALS_ALL = "audit.all_refusals_per_minute": number(1000, 1, 1000000) "per_minute", Platform, None;
    /// How often finished audit entries are sealed.
    SEAL_MS = "audit.seal_ms": number(1000, 100, 5000) "milliseconds", Platform, None;
    /// The maximum number of attempts of a consumer before an event becomes a dead letter.
    DELIVERY_ATTEMPTS = "delivery.attempts": number(8, 1, 100) "count", Platform, None;
    /// How long a dead letter waits before it is redelivered.
    REDELIVERY_SECONDS = "delivery.redelivery_seconds": number(300, 1, 86400) "seconds", Platform, None;
    /// The maximum number of redeliveries of a dead letter before it needs attention.
    REDELIVERY_ATTEMPTS = "delivery.redelivery_attempts": number(5, 0, 100) "count", Platform, None;
    /// The default lifetime of an enrollment token.
    NODE_ENROLLMENT_MINUTES = "nodes.enrollment_minutes": number(60, 1, 10080) "minutes", Platform, None;
    /// The lifetime of a node certificate; it is renewed after two thirds of it.
    NODE_CERTIFICATE_HOURS = "nodes.certificate_hours": number(24, 1, 720) "hours", Platform, None;
    /// How long a node certificate can still be renewed after it has expired.
    NODE_RENEW_WINDOW_HOURS = "nodes.renew_window_hours": number(168, 0, 8760) "hours", Platform, None;
    /// The lifetime of the intermediate certificate that signs node certificates; it is replaced after two thirds of it.
    NODE_INTERMEDIATE_DAYS = "nodes.intermediate_days": number(365, 30, 1825) "days", Platform, None;
    /// How often the key that signs tasks is replaced.
    NODE_TASK_KEY_DAYS = "nodes.task_key_days": number(90, 1, 3650) "days", Platform, None;
    /// How long a poll of a node waits for a response if there is no task.
    NODE_POLL_SECONDS = "nodes.poll_seconds": number(30, 1, 50) "seconds", Platform, None;
    /// How long a node may be without a heartbeat before it is silent.
    NODE_SILENT_SECONDS = "nodes.silent_seconds": number(45, 5, 3600) "seconds", Platform, None;
    /// How long a node may be without a heartbeat before it is lost and its allocations end.
    NODE_LOST_MINUTES = "nodes.lost_minutes": number(15, 1, 10080) "minutes", Platform, None;
    /// How long a task may be without a report before it is redelivered.
    NODE_REDELIVER_SECONDS = "nodes.redeliver_seconds": number(60, 5, 3600) "seconds", Platform, None;
    /// How long a node may take to sanitize itself.
    NODE_SANITIZE_MINUTES = "nodes.sanitize_minutes": number(120, 1, 1440) "minutes", Platform, None;
    /// The maximum number of attempts to sanitize a node before it needs attention.
    NODE_SANITIZE_ATTEMPTS = "nodes.sanitize_attempts": number(3, 1, 20) "count", Platform, None;
    /// How long a node may take to start a requested update of its agent.
    NODE_UPDATE_MINUTES = "nodes.update_minutes": number(15, 5, 1440) "minutes", Platform, None;
    /// How many nodes of a pool update their agents at the same time; 0 pauses updates.
    NODE_UPDATE_AT_ONCE = "nodes.update_at_once": number(5, 0, 1000) "count", Platform, None;
    /// How long telemetry of hosts is stored at full resolution.
    TELEMETRY_RAW_HOURS = "telemetry.raw_hours": number(2, 1, 72) "hours", Platform, None;
    /// How long telemetry of hosts is stored per minute.
    TELEMETRY_MINUTE_DAYS = "telemetry.minute_days": number(14, 4, 365) "days", Platform, None;
    /// How long telemetry of hosts is stored per hour.
    TELEMETRY_HOUR_DAYS = "telemetry.hour_days": number(400, 30, 3650) "days", Platform, None;
    /// Whether the output of terminals is recorded; `required` refuses access methods that cannot be recorded.
    ACCESS_RECORDING = "access.recording": choice("off", "on", "required") "word", Project, StricterOnly;
    /// Whether recordings also contain the input, including passwords.
    ACCESS_RECORD_INPUT = "access.record_input": flag(false) "flag", Project, StricterOnly;
    /// How long recordings are retained.
    ACCESS_RECORDING_DAYS = "access.recording_days": number(90, 1, 3650) "days", Project, RaiseOnly;
    /// The maximum duration of an access session.
    ACCESS_SESSION_HOURS = "access.session_hours": number(24, 1, 720) "hours", Project, LowerOnly;
    /// How long a shell continues after its client disconnected.
    ACCESS_GRACE_SECONDS = "access.grace_seconds": number(300, 0, 86400) "seconds", Project, LowerOnly;
    /// How long a terminal may be idle before it is closed; 0 for no limit.
    ACCESS_IDLE_MINUTES = "access.idle_minutes": number(0, 0, 10080) "minutes", Project, None;
    /// The maximum number of access sessions of an allocation at the same time.
    ACCESS_SESSIONS = "access.sessions_per_allocation": number(16, 1, 1000) "count", Project, LowerOnly;
    /// The ports of an allocation that can be forwarded and opened as web services.
    ACCESS_TCP_PORTS = "access.tcp_ports": ports("1-65535") "ports", Project, StricterOnly;
    /// How long a ticket is valid.
    ACCESS_TICKET_SECONDS = "access.ticket_seconds": number(300, 5, 3600) "seconds", Platform, None;
    /// How long a gateway may be without a heartbeat before it is silent and its sessions are disconnected.
    ACCESS_GATEWAY_SECONDS = "access.gateway_seconds": number(15, 5, 600) "seconds", Platform, None;
    /// How long a recording waits for chunks of an unavailable gateway before it is sealed without them.
    ACCESS_SEAL_HOURS = "access.seal_hours": number(24, 1, 720) "hours", Platform, None;
    /// How long an SSH certificate is valid.
    ACCESS_SSH_CERTIFICATE_MINUTES = "access.ssh_certificate_minutes": number(10, 1, 1440) "minutes", Project, LowerOnly;
    /// Whether SSH logins at gateways require a certificate. With registered keys, the control plane relies on the gateway to verify the user.
    ACCESS_SSH_CERTIFICATES_ONLY = "access.ssh_certificates_only": flag(true) "flag", Project, StricterOnly;
    /// Tickets issued to one caller.
    RATE_TICKET = "rate_limit.terminal_ticket_per_minute": number(10, 1, 10000000) "per_minute", Platform, None;
    /// SSH logins from one address.
    RATE_SSH = "rate_limit.ssh_login_per_minute": number(120, 1, 10000000) "per_minute", Platform, None;
    /// Requests of one gateway.
    RATE_GATEWAY = "rate_limit.gateway_per_minute": number(60000, 60, 10000000) "per_minute", Platform, None;
    /// How often the machines of a MAAS server are listed, and the machines in service are checked.
    MACHINE_LOOK_SECONDS = "machines.look_seconds": number(60, 5, 86400) "seconds", Platform, None;
    /// How often MAAS is polled for a machine that it installs, erases or starts.
    MACHINE_POLL_SECONDS = "machines.poll_seconds": number(10, 1, 600) "seconds", Platform, None;
    /// How long MAAS may take to install a machine.
    MACHINE_DEPLOY_MINUTES = "machines.deploy_minutes": number(60, 1, 1440) "minutes", Platform, None;
    /// How long the agent of an installed machine may take to enroll.
    MACHINE_ENROLL_MINUTES = "machines.enroll_minutes": number(30, 1, 1440) "minutes", Platform, None;
    /// How long MAAS may take to erase and release a machine.
    MACHINE_ERASE_MINUTES = "machines.erase_minutes": number(1440, 1, 20160) "minutes", Platform, None;
    /// The maximum number of attempts to deploy a machine, and to release it, before it needs attention.
    MACHINE_ATTEMPTS = "machines.attempts": number(3, 1, 100) "count", Platform, None;
    /// How long before the end of a lease its owner is notified; at most a quarter of the lease, 0 for never.
    LEASE_WARNING_MINUTES = "allocations.lease_warning_minutes": number(60, 0, 10080) "minutes", Platform, None;
    /// How long notifications are stored.
    NOTIFICATIONS_KEEP_DAYS = "notifications.keep_days": number(90, 1, 3650) "days", Platform, None;
    /// The maximum age of an event that users are still notified of.
    NOTIFICATIONS_FRESH_HOURS = "notifications.fresh_hours": number(72, 1, 720) "hours", Platform, None;
    /// The maximum number of attempts to send an email.
    MAIL_ATTEMPTS = "mail.attempts": number(20, 1, 50) "count", Platform, None;
    /// How long a mail server may take to respond; at most half of `work.lease_seconds`.
    MAIL_TIMEOUT_SECONDS = "mail.timeout_seconds": number(20, 1, 30) "seconds", Platform, None;
    /// The backoff after the first failure to send an email; it doubles with each further failure.
    MAIL_RETRY_SECONDS = "mail.retry_seconds": number(30, 1, 3600) "seconds", Platform, None;
    /// The maximum backoff between two attempts to send an email.
    MAIL_RETRY_MAX_SECONDS = "mail.retry_max_seconds": number(14400, 1, 86400) "seconds", Platform, None;
    /// How long sent and failed emails are stored.
    MAIL_KEEP_DAYS = "mail.keep_days": number(30, 1, 365) "days", Platform, None;
    /// How long the lease of a worker lasts.
    WORK_LEASE_SECONDS = "work.lease_seconds": number(60, 5, 3600) "seconds", Platform, None;
    /// The maximum number of attempts before work needs attention.
    WORK_ATTEMPTS = "work.attempts": number(10, 1, 1000) "count", Platform, None;
    /// How often every resource is checked for work that is missing from the queue.
    WORK_SWEEP_SECONDS = "work.sweep_seconds": number(300, 5, 86400) "seconds", Platform, None;
}

/// Old and new names of policies. An old one is refused with an error that names the new one.
pub const RENAMED: &[(&str, &str)] = &[
    ("machines.enrol_minutes", "machines.enroll_minutes"),
    ("nodes.enrolment_minutes", "nodes.enrollment_minutes"),
    ("placement.reserve_after_seconds", "placement.starvation_guard_seconds"),
    ("rate_limit.enrol_per_minute", "rate_limit.enroll_per_minute"),
];

impl KeyInfo {
    pub fn find(name: &str) -> Option<&'static KeyInfo> {
        ALL.iter().copied().find(|it| it.name == name)
    }

    pub fn default_text(&self) -> String {
        match self.kind {
            Kind::Number { default, .. } => default.to_string(),
            Kind::Flag { default } => default.to_string(),
            Kind::Currency { default } | Kind::Tag { default } | Kind::Ports { default } => default.to_owned(),
            Kind::Choice { words } => words[0].to_owned(),
        }
    }

    pub fn accepts(&self) -> String {
        match self.kind {
            Kind::Number { min, max, .. } => format!("a whole number from {min} to {max}"),
            Kind::Flag { .. } => "true or false".into(),
            Kind::Currency { .. } => "three capital letters, such as USD".into(),
            Kind::Tag { .. } => "the key of a tag, such as team, or nothing".into(),
            Kind::Choice { words } => format!("one of {}", words.join(", ")),
            Kind::Ports { .. } => "ports and ranges, such as 22,8000-8999, or `none`".into(),
        }
    }

    /// The value in its normal form, or what is wrong with it.
    pub fn check(&self, text: &str) -> Result<String, String> {
        let refused = || format!("`{}` must be {}", self.name, self.accepts());
        match self.kind {
            Kind::Number { min, max, .. } => match text.parse::<u64>() {
                Ok(number) if (min..=max).contains(&number) => Ok(number.to_string()),
                _ => Err(refused()),
            },
            Kind::Flag { .. } => match text {
                "true" | "false" => Ok(text.to_owned()),
                _ => Err(refused()),
            },
            Kind::Currency { .. } => match text.parse::<Currency>() {
                Ok(code) => Ok(code.to_string()),
                Err(_) => Err(refused()),
            },
            Kind::Tag { .. } => match text.is_empty() || text.parse::<Label>().is_ok() {
                true => Ok(text.to_owned()),
                false => Err(refused()),
            },
            Kind::Choice { words } => match words.contains(&text) {
                true => Ok(text.to_owned()),
                false => Err(refused()),
            },
            Kind::Ports { .. } => text.parse::<Ports>().map(|it| it.to_string()).map_err(|_| refused()),
        }
    }

    /// Whether `value` asks for no more than `above` allows.
    pub fn is_within(&self, value: &str, above: &str) -> bool {
        match (self.guardrail, value.parse::<u64>(), above.parse::<u64>()) {
            (Guardrail::LowerOnly, Ok(value), Ok(above)) => value <= above,
            (Guardrail::RaiseOnly, Ok(value), Ok(above)) => value >= above,
            (Guardrail::StricterOnly, ..) => self.is_stricter(value, above),
            (Guardrail::None, ..) | (Guardrail::LowerOnly, ..) | (Guardrail::RaiseOnly, ..) => true,
        }
    }

    fn is_stricter(&self, value: &str, above: &str) -> bool {
        match self.kind {
            Kind::Choice { words } => {
                let place = |text: &str| words.iter().position(|it| *it == text);
                place(value) >= place(above)
            }
            Kind::Ports { .. } => match (value.parse::<Ports>(), above.parse::<Ports>()) {
                (Ok(value), Ok(above)) => above.holds_all(&value),
                _ => false,
            },
            Kind::Flag { .. } => value == "true" || above == "false",
            Kind::Number { .. } | Kind::Currency { .. } | Kind::Tag { .. } => true,
        }
    }
}
