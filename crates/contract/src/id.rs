//! Typed identifiers. The text form is a prefix, a hyphen and 26 base-32
//! digits of a UUIDv7: lower-case, a valid DNS label, and opaque to clients.

use std::{borrow::Cow, fmt, marker::PhantomData, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

/// A thing that has identifiers of its own.
pub trait Kind: 'static {
    /// Lower-case letters only, so that ids are DNS labels.
    const PREFIX: &'static str;
    const NAME: &'static str;
}

pub struct Id<K> {
    uuid: Uuid,
    kind: PhantomData<fn() -> K>,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $prefix:literal),* $(,)?) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub enum $kind {}
            impl Kind for $kind {
                const PREFIX: &'static str = $prefix;
                const NAME: &'static str = stringify!($kind);
            }
        )*
        /// The prefix of every kind.
        pub const PREFIXES: &[&str] = &[$($prefix),*];

        /// The text of an id of the kind with this noun, as in `access_session`.
        pub fn text_of(noun: &str, id: Uuid) -> Option<String> {
            let noun = noun.replace('_', "");
            $(
                if noun.eq_ignore_ascii_case(stringify!($kind)) {
                    return Some(Id::<$kind>::from(id).to_string());
                }
            )*
            None
        }
    };
}

kinds! {
    Organization = "org",
    Project = "proj",
    User = "user",
    Session = "sess",
    Invitation = "inv",
    ServiceAccount = "sa",
    Key = "key",
    AuditEntry = "aud",
    AccountToken = "proof",
    Event = "evt",
    DeadLetter = "dead",
    Region = "region",
    Pool = "pool",
    Node = "node",
    Slot = "slot",
    EnrollmentToken = "enroll",
    Sku = "sku",
    Price = "price",
    Quota = "quota",
    SshKey = "ssh",
    Allocation = "alloc",
    Provider = "provider",
    Machine = "machine",
    Webhook = "webhook",
    WebhookDelivery = "delivery",
    MaintenanceWindow = "maint",
    AgentUpdate = "update",
    Notification = "notice",
    Mail = "mail",
    Journal = "journal",
    Correction = "correction",
    Budget = "budget",
    Wallet = "wallet",
    Invoice = "invoice",
    Payment = "payment",
    PaymentEvent = "told",
    PaymentDrift = "drift",
    Refund = "refund",
    Gateway = "gateway",
    AccessTicket = "ticket",
    AccessSession = "access",
    Recording = "recording",
    Factor = "factor",
    /// Any resource, where the kind is known only from the prefix.
    Resource = "res",
}

pub type OrganizationId = Id<Organization>;
pub type ProjectId = Id<Project>;
pub type UserId = Id<User>;
pub type SessionId = Id<Session>;
pub type InvitationId = Id<Invitation>;
pub type ServiceAccountId = Id<ServiceAccount>;
pub type KeyId = Id<Key>;
pub type AuditEntryId = Id<AuditEntry>;
pub type AccountTokenId = Id<AccountToken>;
pub type EventId = Id<Event>;
pub type DeadLetterId = Id<DeadLetter>;
pub type RegionId = Id<Region>;
pub type PoolId = Id<Pool>;
pub type NodeId = Id<Node>;
pub type SlotId = Id<Slot>;
pub type EnrollmentTokenId = Id<EnrollmentToken>;
pub type SkuId = Id<Sku>;
pub type PriceId = Id<Price>;
pub type QuotaId = Id<Quota>;
pub type SshKeyId = Id<SshKey>;
pub type AllocationId = Id<Allocation>;
pub type ProviderId = Id<Provider>;
pub type MachineId = Id<Machine>;
pub type WebhookId = Id<Webhook>;
pub type WebhookDeliveryId = Id<WebhookDelivery>;
pub type JournalId = Id<Journal>;
pub type CorrectionId = Id<Correction>;
pub type BudgetId = Id<Budget>;
pub type WalletId = Id<Wallet>;
pub type InvoiceId = Id<Invoice>;
pub type PaymentId = Id<Payment>;
pub type PaymentEventId = Id<PaymentEvent>;
pub type PaymentDriftId = Id<PaymentDrift>;
pub type RefundId = Id<Refund>;
pub type GatewayId = Id<Gateway>;
pub type AccessTicketId = Id<AccessTicket>;
pub type AccessSessionId = Id<AccessSession>;
pub type RecordingId = Id<Recording>;
pub type FactorId = Id<Factor>;
pub type MaintenanceWindowId = Id<MaintenanceWindow>;
pub type AgentUpdateId = Id<AgentUpdate>;
pub type NotificationId = Id<Notification>;
pub type MailId = Id<Mail>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadId {
    name: &'static str,
    prefix: &'static str,
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a {} id: expected `{}-` and 26 characters, as the API printed it", self.name, self.prefix)
    }
}

impl std::error::Error for BadId {}

impl<K: Kind> Id<K> {
    pub const LENGTH: usize = K::PREFIX.len() + 1 + DIGITS;

    /// A new identifier; later ones sort after earlier ones.
    pub fn generate() -> Self {
        Self::from(Uuid::now_v7())
    }

    pub fn uuid(self) -> Uuid {
        self.uuid
    }
}

impl<K> From<Uuid> for Id<K> {
    fn from(uuid: Uuid) -> Self {
        Self { uuid, kind: PhantomData }
    }
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode(K::PREFIX, self.uuid))
    }
}

impl<K: Kind> FromStr for Id<K> {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        text.strip_prefix(K::PREFIX)
            .and_then(|it| it.strip_prefix('-'))
            .and_then(decode)
            .map(Self::from)
            .ok_or(BadId { name: K::NAME, prefix: K::PREFIX })
    }
}

const DIGITS: usize = 26;
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The text form of any identifier, for places that hold the prefix as data.
pub fn encode(prefix: &str, uuid: Uuid) -> String {
    let bits = uuid.as_u128();
    let mut text = String::with_capacity(prefix.len() + 1 + DIGITS);
    text.push_str(prefix);
    text.push('-');
    for place in (0..DIGITS).rev() {
        text.push(ALPHABET[(bits >> (5 * place)) as usize & 31] as char);
    }
    text
}

fn decode(digits: &str) -> Option<Uuid> {
    if digits.len() != DIGITS {
        return None;
    }
    let mut bits: u128 = 0;
    for digit in digits.bytes() {
        let value = ALPHABET.iter().position(|it| *it == digit)? as u128;
        // 26 digits carry 130 bits: the first may only be 0 to 7.
        if bits >> 123 != 0 {
            return None;
        }
        bits = (bits << 5) | value;
    }
    Some(Uuid::from_u128(bits))
}

impl<K: Kind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl<K: Kind> JsonSchema for Id<K> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Id", K::NAME).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": format!("Identifies one {}; opaque.", K::NAME),
            "pattern": format!("^{}-[0-7][0-9a-hjkmnp-tv-z]{{25}}$", K::PREFIX),
        })
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.uuid == other.uuid
    }
}
impl<K> Eq for Id<K> {}
impl<K> std::hash::Hash for Id<K> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.uuid.hash(state);
    }
}
impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_text_form_round_trips(bits: u128) {
            let id = ProjectId::from(Uuid::from_u128(bits));
            let text = id.to_string();
            prop_assert_eq!(text.parse::<ProjectId>().unwrap(), id);
            prop_assert!(text.len() <= 63 && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-'));
        }

        #[test]
        fn text_order_is_id_order(a: u128, b: u128) {
            let text = |bits| ProjectId::from(Uuid::from_u128(bits)).to_string();
            prop_assert_eq!(a.cmp(&b), text(a).cmp(&text(b)));
        }
    }

    #[test]
    fn wrong_prefix_length_digit_or_overflow_is_refused() {
        let good = ProjectId::generate().to_string();
        for bad in [
            good.replace("proj", "org"),
            good[..good.len() - 1].to_owned(),
            format!("{good}0"),
            good.replace("proj-", "proj-u"),
            good.to_uppercase(),
            format!("proj-8{}", "0".repeat(25)),
            format!("proj-{}", "é".repeat(13)),
            String::new(),
        ] {
            assert!(bad.parse::<ProjectId>().is_err(), "{bad}");
        }
    }
}
