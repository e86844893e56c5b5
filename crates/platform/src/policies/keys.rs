//! Every policy key: typed, with unit, default, bounds, and whether lower
//! levels may only tighten it. `docs/generated/policies.md` prints the table.

use std::time::Duration;

use contract::{Label, policies::PolicyLevel};
use kernel::money::Currency;

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
    /// How long an access token of the built-in issuer works.
    ACCESS_TOKEN_SECONDS = "identity.access_token_seconds": number(600, 30, 3600) "seconds", Platform, None;
    /// How long a session lasts, however often it is refreshed.
    SESSION_HOURS = "identity.session_hours": number(720, 1, 8760) "hours", Platform, None;
    /// How long a session is kept after it ended by itself.
    SESSION_KEEP_DAYS = "identity.session_keep_days": number(1, 0, 365) "days", Platform, None;
    /// How long a used refresh token may be repeated, for answers that were lost.
    REFRESH_GRACE_SECONDS = "identity.refresh_grace_seconds": number(5, 0, 60) "seconds", Platform, None;
    /// How long a caller's permissions may be remembered; bounds how late a revocation can take effect.
    CALLER_CACHE_MS = "identity.caller_cache_ms": number(500, 0, 900) "milliseconds", Platform, None;
    /// How often the signing keys of the built-in issuer are replaced.
    SIGNING_KEY_DAYS = "identity.signing_key_days": number(30, 1, 365) "days", Platform, None;
    /// The shortest password that is accepted.
    PASSWORD_MIN_LENGTH = "identity.password_min_length": number(12, 8, 128) "characters", Platform, None;
    /// Whether people may create accounts and organizations without an invitation.
    SELF_SERVICE = "identity.self_service": flag(false) "flag", Platform, None;
    /// How long a token can be used that was mailed to prove an address or to reset a password.
    ACCOUNT_TOKEN_MINUTES = "identity.account_token_minutes": number(60, 5, 1440) "minutes", Platform, None;
    /// How many mails with such tokens one address is sent in an hour.
    ACCOUNT_MAILS_PER_HOUR = "identity.account_mails_per_hour": number(5, 1, 100) "count", Platform, None;
    /// For how long a place counts as known that somebody signed in from.
    KNOWN_PLACE_DAYS = "identity.known_place_days": number(90, 1, 365) "days", Platform, None;
    /// How long signing in through an external issuer may take.
    OIDC_START_SECONDS = "identity.oidc_start_seconds": number(600, 60, 3600) "seconds", Platform, None;
    /// How often the external issuer's keys are fetched again.
    OIDC_REFRESH_SECONDS = "identity.oidc_refresh_seconds": number(300, 10, 86400) "seconds", Platform, None;
    /// How long the external issuer's keys are trusted while it cannot be reached.
    OIDC_STALE_SECONDS = "identity.oidc_stale_seconds": number(86400, 60, 604800) "seconds", Platform, None;
    /// How old an identity token of the external issuer may be that is exchanged for a session.
    OIDC_TOKEN_SECONDS = "identity.oidc_token_seconds": number(600, 30, 3600) "seconds", Platform, None;
    /// Who must have a second factor: nobody, staff (people with a platform role; owners, administrators and billing of organizations), or everyone.
    MFA_REQUIRED = "identity.mfa_required": choice("none", "staff", "everyone") "word", Organization, StricterOnly;
    /// Whether signing in through the external issuer asks for the second factor too.
    MFA_WITH_OIDC = "identity.mfa_with_oidc": flag(false) "flag", Platform, None;
    /// How long a second factor counts as recent, for what moves money, break-glass access, policies and ways into
    /// an account; and how long a sign-in does, where an account has neither a factor nor a password.
    MFA_STEP_UP_SECONDS = "identity.mfa_step_up_seconds": number(900, 30, 86400) "seconds", Platform, None;
    /// How long a challenge for a second factor can be answered.
    MFA_CHALLENGE_SECONDS = "identity.mfa_challenge_seconds": number(300, 30, 3600) "seconds", Platform, None;
    /// The most second factors that an account may have.
    MFA_FACTORS_MAX = "identity.mfa_factors_max": number(10, 1, 100) "count", Platform, None;
    /// The longest lifetime of a key.
    KEY_MAX_DAYS = "keys.max_days": number(365, 1, 3650) "days", Organization, LowerOnly;
    /// The most keys that a person or a service account may hold.
    KEYS_MAX = "keys.max": number(50, 1, 10000) "count", Organization, LowerOnly;
    /// How long an invitation can be accepted.
    INVITATION_HOURS = "invitations.lifetime_hours": number(168, 1, 2160) "hours", Organization, LowerOnly;
    /// The most invitations that may be pending at once.
    INVITATIONS_MAX = "invitations.max_pending": number(200, 1, 100000) "count", Organization, LowerOnly;
    /// The most projects that an organization may have.
    PROJECTS_MAX = "projects.max": number(100, 1, 1000000) "count", Organization, LowerOnly;
    /// The most service accounts that an organization may have.
    SERVICE_ACCOUNTS_MAX = "service_accounts.max": number(100, 1, 100000) "count", Organization, LowerOnly;
    /// The most public SSH keys that a person may have.
    SSH_KEYS_MAX = "ssh_keys.max": number(32, 1, 256) "count", Platform, None;
    /// The most GPUs that an organization, or a project of its own, may hold at once.
    ALLOCATIONS_MAX_GPUS = "allocations.max_gpus": number(64, 0, 1000000) "count", Project, LowerOnly;
    /// How long a stopped allocation keeps its GPUs; then it is released.
    STOPPED_HOURS = "allocations.stopped_hours": number(168, 1, 8760) "hours", Project, LowerOnly;
    /// The most organizations that one person may own.
    ORGANIZATIONS_MAX = "organizations.max_owned": number(10, 1, 10000) "count", Platform, None;
    /// How long a host may take for what it is asked to do for an allocation.
    TASK_SECONDS = "allocations.task_seconds": number(120, 1, 86400) "seconds", Platform, None;
    /// How often hosts are asked to prepare an allocation before it fails.
    PROVISION_ATTEMPTS = "allocations.provision_attempts": number(3, 1, 100) "count", Platform, None;
    /// How often hosts are asked to clean an allocation before a person must look.
    CLEANING_ATTEMPTS = "allocations.cleaning_attempts": number(5, 1, 100) "count", Platform, None;
    /// How often a request that found no room is looked at again, whatever happens.
    ALLOCATION_RETRY_SECONDS = "allocations.retry_seconds": number(60, 1, 3600) "seconds", Platform, None;
    /// After how long the oldest request that waits for a SKU in a region gets nodes kept free for it.
    RESERVE_AFTER_SECONDS = "placement.reserve_after_seconds": number(900, 1, 604800) "seconds", Platform, None;
    /// Whether an allocation needs money: what it may cost at worst is held when it is asked for.
    BILLING_REQUIRED = "billing.required": flag(false) "flag", Platform, None;
    /// In which currency allocations are charged that are asked for from now on; SKUs need prices in it.
    BILLING_CURRENCY = "billing.currency": currency("USD") "code", Platform, None;
    /// For how long an allocation without a lease must be affordable when it is asked for.
    BILLING_HOLD_MINUTES = "billing.hold_minutes": number(60, 1, 43200) "minutes", Platform, None;
    /// How long the money must last at the present use; who has less is told that it is low.
    BILLING_LOW_BALANCE_MINUTES = "billing.low_balance_minutes": number(1440, 1, 525600) "minutes", Platform, None;
    /// How long allocations run on that can no longer be paid for, before they end.
    BILLING_GRACE_MINUTES = "billing.grace_minutes": number(30, 0, 43200) "minutes", Platform, None;
    /// The tag by whose values the lines of invoices are cut, beside project and SKU; none when empty.
    BILLING_INVOICE_TAG = "billing.invoice_tag": tag("") "tag", Organization, None;
    /// How often usage is posted to the ledger.
    BILLING_WINDOW_SECONDS = "billing.window_seconds": number(60, 10, 3600) "seconds", Platform, None;
    /// Whether credit, adjustments, reversals, refunds and prices need a second person, and switching this off.
    BILLING_FOUR_EYES = "billing.four_eyes": flag(false) "flag", Platform, None;
    /// How long a correction waits for a second person.
    BILLING_CORRECTION_HOURS = "billing.correction_hours": number(72, 1, 720) "hours", Platform, None;
    /// The most budgets that a project may have.
    BUDGETS_MAX = "budgets.max": number(20, 1, 1000) "count", Project, LowerOnly;
    /// The least that a payment may be, in whole units of its currency.
    PAYMENTS_LEAST = "payments.least_units": number(1, 1, 1000000) "units", Platform, None;
    /// The most that a payment may be, in whole units of its currency.
    PAYMENTS_MOST = "payments.most_units": number(10000, 1, 999999) "units", Platform, None;
    /// The most payments of an organization that may wait for a payer at once.
    PAYMENTS_OPEN_MAX = "payments.max_open": number(10, 1, 1000) "count", Organization, LowerOnly;
    /// How far the time in a provider's signature may be from now, both ways.
    PAYMENTS_TOLERANCE_SECONDS = "payments.tolerance_seconds": number(300, 1, 3600) "seconds", Platform, None;
    /// How soon a payment is tried again after the provider could not be asked.
    PAYMENTS_RETRY_SECONDS = "payments.retry_seconds": number(30, 1, 3600) "seconds", Platform, None;
    /// How often a payment that is not paid is looked at, should nothing be heard of it.
    PAYMENTS_LOOK_MINUTES = "payments.look_minutes": number(60, 1, 1440) "minutes", Platform, None;
    /// How often the provider's payments are compared with the ledger.
    PAYMENTS_COMPARE_MINUTES = "payments.compare_minutes": number(60, 1, 1440) "minutes", Platform, None;
    /// How many days back the provider's payments are compared with the ledger.
    PAYMENTS_COMPARE_DAYS = "payments.compare_days": number(7, 1, 90) "days", Platform, None;
    /// How long a provider's events are kept after they were looked at.
    PAYMENTS_EVENTS_DAYS = "payments.events_keep_days": number(90, 7, 3650) "days", Platform, None;
    /// How long orders to hosts are kept after they are over.
    TASKS_DAYS = "tasks.keep_days": number(30, 1, 3650) "days", Platform, None;
    /// The most webhooks that an organization may have.
    WEBHOOKS_MAX = "webhooks.max": number(20, 0, 1000) "count", Organization, LowerOnly;
    /// Whether webhooks may send to the server's own host, also unencrypted; for trying things out.
    WEBHOOK_ALLOW_LOOPBACK = "webhooks.allow_http_loopback": flag(false) "flag", Platform, None;
    /// How often an event is sent to a webhook before it is given up.
    WEBHOOK_ATTEMPTS = "webhooks.attempts": number(10, 1, 50) "count", Platform, None;
    /// How long a webhook's receiver may take to answer; half of `work.lease_seconds` at most.
    WEBHOOK_TIMEOUT_SECONDS = "webhooks.timeout_seconds": number(10, 1, 30) "seconds", Platform, None;
    /// The pause after the first failure to send to a webhook; each further one is twice as long.
    WEBHOOK_RETRY_SECONDS = "webhooks.retry_seconds": number(30, 1, 3600) "seconds", Platform, None;
    /// The longest pause between two attempts to send to a webhook.
    WEBHOOK_RETRY_MAX_SECONDS = "webhooks.retry_max_seconds": number(21600, 1, 86400) "seconds", Platform, None;
    /// How long the old secret of a webhook signs beside a new one.
    WEBHOOK_ROTATION_HOURS = "webhooks.rotation_hours": number(24, 0, 720) "hours", Platform, None;
    /// How many deliveries in a row may be given up before a webhook is disabled.
    WEBHOOK_DISABLE_AFTER = "webhooks.disable_after_failures": number(20, 1, 10000) "count", Platform, None;
    /// How long deliveries that are over, and deleted webhooks, are kept.
    WEBHOOK_KEEP_DAYS = "webhooks.keep_days": number(30, 1, 365) "days", Platform, None;
    /// The largest body that is read.
    BODY_BYTES = "http.max_body_bytes": number(65536, 1024, 16777216) "bytes", Platform, None;
    /// The deepest nesting of a JSON body.
    BODY_DEPTH = "http.max_body_depth": number(32, 4, 100) "levels", Platform, None;
    /// The longest query string.
    QUERY_BYTES = "http.max_query_bytes": number(4096, 256, 16384) "bytes", Platform, None;
    /// The most headers of a request.
    HEADERS_MAX = "http.max_headers": number(64, 16, 100) "count", Platform, None;
    /// The most bytes of headers of a request.
    HEADER_BYTES = "http.max_header_bytes": number(16384, 4096, 65536) "bytes", Platform, None;
    /// How long a request may take before it is given up.
    REQUEST_SECONDS = "http.request_seconds": number(30, 1, 300) "seconds", Platform, None;
    /// How long the answer to an idempotency key is kept.
    IDEMPOTENCY_HOURS = "idempotency.keep_hours": number(24, 1, 720) "hours", Platform, None;
    /// How long a refusal under an idempotency key is repeated to copies of the request.
    IDEMPOTENCY_REFUSAL_SECONDS = "idempotency.refusal_seconds": number(60, 1, 86400) "seconds", Platform, None;
    /// How many repetitions of a running request may wait for its answer.
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
    /// How many event streams one caller may hold open.
    WATCHES_MAX = "events.max_watches": number(20, 1, 1000) "count", Platform, None;
    /// How long events can be read back.
    EVENTS_DAYS = "events.keep_days": number(30, 1, 3650) "days", Platform, None;
    /// How long audit entries are kept; their seals stay.
    AUDIT_DAYS = "audit.keep_days": number(730, 1, 36500) "days", Platform, None;
    /// Refusals of one address or caller that get an audit entry of their own in a minute; the rest are summed up.
    AUDIT_REFUSALS = "audit.refusals_per_minute": number(20, 1, 10000) "per_minute", Platform, None;
    /// The same for all addresses and callers together, in one process.
    AUDIT_REFUSALS_ALL = "audit.all_refusals_per_minute": number(1000, 1, 1000000) "per_minute", Platform, None;
    /// How often finished audit entries are sealed.
    SEAL_MS = "audit.seal_ms": number(1000, 100, 5000) "milliseconds", Platform, None;
    /// How often a consumer tries a message before it becomes a dead letter.
    DELIVERY_ATTEMPTS = "delivery.attempts": number(8, 1, 100) "count", Platform, None;
    /// How long a dead letter rests before it is delivered again.
    REDELIVERY_SECONDS = "delivery.redelivery_seconds": number(300, 1, 86400) "seconds", Platform, None;
    /// How often a dead letter is delivered again before a person must look.
    REDELIVERY_ATTEMPTS = "delivery.redelivery_attempts": number(5, 0, 100) "count", Platform, None;
    /// How long an enrollment token can be used, unless its maker says otherwise.
    NODE_ENROLLMENT_MINUTES = "nodes.enrollment_minutes": number(60, 1, 10080) "minutes", Platform, None;
    /// How long the certificate of a node works; it is renewed at two thirds.
    NODE_CERTIFICATE_HOURS = "nodes.certificate_hours": number(24, 1, 720) "hours", Platform, None;
    /// How long after its end the certificate of a node may still be renewed.
    NODE_RENEW_WINDOW_HOURS = "nodes.renew_window_hours": number(168, 0, 8760) "hours", Platform, None;
    /// How long the certificate works that signs those of the nodes; it is replaced at two thirds.
    NODE_INTERMEDIATE_DAYS = "nodes.intermediate_days": number(365, 30, 1825) "days", Platform, None;
    /// How often the key that signs tasks is replaced.
    NODE_TASK_KEY_DAYS = "nodes.task_key_days": number(90, 1, 3650) "days", Platform, None;
    /// The longest that a node waits for an answer when there is nothing to say.
    NODE_POLL_SECONDS = "nodes.poll_seconds": number(30, 1, 50) "seconds", Platform, None;
    /// After how long without a word a node counts as silent.
    NODE_SILENT_SECONDS = "nodes.silent_seconds": number(45, 5, 3600) "seconds", Platform, None;
    /// After how long without a word a node has failed, and what is on it is given up.
    NODE_LOST_MINUTES = "nodes.lost_minutes": number(15, 1, 10080) "minutes", Platform, None;
    /// After how long a task without a report is delivered again.
    NODE_REDELIVER_SECONDS = "nodes.redeliver_seconds": number(60, 5, 3600) "seconds", Platform, None;
    /// How long a node may take to wipe itself.
    NODE_SANITIZE_MINUTES = "nodes.sanitize_minutes": number(120, 1, 1440) "minutes", Platform, None;
    /// How often a node is asked to wipe itself before a person must look.
    NODE_SANITIZE_ATTEMPTS = "nodes.sanitize_attempts": number(3, 1, 20) "count", Platform, None;
    /// How long a node may take to begin the update of its agent that it was told of.
    NODE_UPDATE_MINUTES = "nodes.update_minutes": number(15, 5, 1440) "minutes", Platform, None;
    /// How many nodes of a pool may replace their agents at once; with none, updates wait.
    NODE_UPDATE_AT_ONCE = "nodes.update_at_once": number(5, 0, 1000) "count", Platform, None;
    /// How long what hosts measured is kept at full rate.
    TELEMETRY_RAW_HOURS = "telemetry.raw_hours": number(2, 1, 72) "hours", Platform, None;
    /// How long what hosts measured is kept by the minute.
    TELEMETRY_MINUTE_DAYS = "telemetry.minute_days": number(14, 4, 365) "days", Platform, None;
    /// How long what hosts measured is kept by the hour.
    TELEMETRY_HOUR_DAYS = "telemetry.hour_days": number(400, 30, 3650) "days", Platform, None;
    /// Whether what is shown on terminals is recorded; `required` refuses every way in that cannot be.
    ACCESS_RECORDING = "access.recording": choice("off", "on", "required") "word", Project, StricterOnly;
    /// Whether recordings keep what is typed as well, passwords included.
    ACCESS_RECORD_INPUT = "access.record_input": flag(false) "flag", Project, StricterOnly;
    /// How long recordings are kept.
    ACCESS_RECORDING_DAYS = "access.recording_days": number(90, 1, 3650) "days", Project, RaiseOnly;
    /// The longest that a session lasts.
    ACCESS_SESSION_HOURS = "access.session_hours": number(24, 1, 720) "hours", Project, LowerOnly;
    /// How long a shell waits for somebody to come back.
    ACCESS_GRACE_SECONDS = "access.grace_seconds": number(300, 0, 86400) "seconds", Project, LowerOnly;
    /// After how long without a byte in either direction a terminal is closed; 0 for never.
    ACCESS_IDLE_MINUTES = "access.idle_minutes": number(0, 0, 10080) "minutes", Project, None;
    /// The most sessions that an allocation may have at once.
    ACCESS_SESSIONS = "access.sessions_per_allocation": number(16, 1, 1000) "count", Project, LowerOnly;
    /// The ports of an allocation that may be forwarded and shown as apps.
    ACCESS_TCP_PORTS = "access.tcp_ports": ports("1-65535") "ports", Project, StricterOnly;
    /// How long a ticket can be used.
    ACCESS_TICKET_SECONDS = "access.ticket_seconds": number(300, 5, 3600) "seconds", Platform, None;
    /// After how long without a word a gateway counts as silent, and its sessions have lost it.
    ACCESS_GATEWAY_SECONDS = "access.gateway_seconds": number(15, 5, 600) "seconds", Platform, None;
    /// How long a recording waits for pieces of a gateway that is away, before it is sealed without them.
    ACCESS_SEAL_HOURS = "access.seal_hours": number(24, 1, 720) "hours", Platform, None;
    /// How long a certificate lets somebody log in with SSH.
    ACCESS_SSH_CERTIFICATE_MINUTES = "access.ssh_certificate_minutes": number(10, 1, 1440) "minutes", Project, LowerOnly;
    /// Whether only certificates log in with SSH at gateways. Registered keys do so on a gateway's word alone that their holder is there.
    ACCESS_SSH_CERTIFICATES_ONLY = "access.ssh_certificates_only": flag(true) "flag", Project, StricterOnly;
    /// Tickets that one caller gets.
    RATE_TICKET = "rate_limit.terminal_ticket_per_minute": number(10, 1, 10000000) "per_minute", Platform, None;
    /// Logins with SSH from one address.
    RATE_SSH = "rate_limit.ssh_login_per_minute": number(120, 1, 10000000) "per_minute", Platform, None;
    /// Requests of one gateway.
    RATE_GATEWAY = "rate_limit.gateway_per_minute": number(60000, 60, 10000000) "per_minute", Platform, None;
    /// How often a MAAS server is asked what it has, and for the machines that serve.
    MACHINE_LOOK_SECONDS = "machines.look_seconds": number(60, 5, 86400) "seconds", Platform, None;
    /// How often MAAS is asked for a machine that it installs, erases or starts.
    MACHINE_POLL_SECONDS = "machines.poll_seconds": number(10, 1, 600) "seconds", Platform, None;
    /// How long MAAS may take to install a machine.
    MACHINE_DEPLOY_MINUTES = "machines.deploy_minutes": number(60, 1, 1440) "minutes", Platform, None;
    /// How long the agent of an installed machine may take to enroll.
    MACHINE_ENROLL_MINUTES = "machines.enroll_minutes": number(30, 1, 1440) "minutes", Platform, None;
    /// How long MAAS may take to erase a machine and give it back.
    MACHINE_ERASE_MINUTES = "machines.erase_minutes": number(1440, 1, 20160) "minutes", Platform, None;
    /// How often a machine is handed over, and how often it is released, before a person must look.
    MACHINE_ATTEMPTS = "machines.attempts": number(3, 1, 100) "count", Platform, None;
    /// How long before its end the owner of a lease is told; a quarter of the lease at most, 0 for never.
    LEASE_WARNING_MINUTES = "allocations.lease_warning_minutes": number(60, 0, 10080) "minutes", Platform, None;
    /// How long notifications are kept.
    NOTIFICATIONS_KEEP_DAYS = "notifications.keep_days": number(90, 1, 3650) "days", Platform, None;
    /// How old an event may be that people are still told of.
    NOTIFICATIONS_FRESH_HOURS = "notifications.fresh_hours": number(72, 1, 720) "hours", Platform, None;
    /// How often a mail is tried before it is given up.
    MAIL_ATTEMPTS = "mail.attempts": number(20, 1, 50) "count", Platform, None;
    /// How long a mail server may take; half of `work.lease_seconds` at most.
    MAIL_TIMEOUT_SECONDS = "mail.timeout_seconds": number(20, 1, 30) "seconds", Platform, None;
    /// The pause after the first failure to send a mail; each further one is twice as long.
    MAIL_RETRY_SECONDS = "mail.retry_seconds": number(30, 1, 3600) "seconds", Platform, None;
    /// The longest pause between two attempts to send a mail.
    MAIL_RETRY_MAX_SECONDS = "mail.retry_max_seconds": number(14400, 1, 86400) "seconds", Platform, None;
    /// How long mails that are over are kept.
    MAIL_KEEP_DAYS = "mail.keep_days": number(30, 1, 365) "days", Platform, None;
    /// How long a worker holds what it works on.
    WORK_LEASE_SECONDS = "work.lease_seconds": number(60, 5, 3600) "seconds", Platform, None;
    /// How often work is tried before a person must look.
    WORK_ATTEMPTS = "work.attempts": number(10, 1, 1000) "count", Platform, None;
    /// How often every resource is checked for forgotten work.
    WORK_SWEEP_SECONDS = "work.sweep_seconds": number(300, 5, 86400) "seconds", Platform, None;
}

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
            Kind::Currency { .. } => "three capital letters, as in USD".into(),
            Kind::Tag { .. } => "the key of a tag, as in team, or nothing".into(),
            Kind::Choice { words } => format!("one of {}", words.join(", ")),
            Kind::Ports { .. } => "ports and ranges, as in 22,8000-8999; `none` for none".into(),
        }
    }

    /// The value in its normal form, or what is wrong with it.
    pub fn check(&self, text: &str) -> Result<String, String> {
        let refused = || format!("`{}` takes {}", self.name, self.accepts());
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

/// Units of time that keys count in.
pub fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}
pub fn minutes(number: u64) -> Duration {
    Duration::from_secs(number * 60)
}
pub fn hours(number: u64) -> Duration {
    Duration::from_secs(number * 3600)
}
pub fn days(number: u64) -> Duration {
    Duration::from_secs(number * 86400)
}
pub fn milliseconds(number: u64) -> Duration {
    Duration::from_millis(number)
}
