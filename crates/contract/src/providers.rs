//! Providers: what supplies bare machines to pools, such as a MAAS server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Open, Page, SecretText, Timestamp, endpoint, event,
    id::{PoolId, ProviderId},
    list_query, moved_event, words,
};

endpoint! {
    /// Register a provider that supplies the machines of a pool, such as a MAAS server.
    ///
    /// Its API key is sealed and never shown again.
    CreateProvider = POST "/v1/platform/providers" {
        body: ProviderSpec,
        returns: 201 Provider,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("provider.create"),
        problems: [InvalidValue, NameTaken],
    }
}

endpoint! {
    /// List the providers of machines.
    ListProviders = GET "/v1/platform/providers" {
        query: ProviderFilter,
        returns: 200 Page<Provider>,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one provider and its status.
    GetProvider = GET "/v1/platform/providers/{provider_id}" {
        path: ProviderPath,
        returns: 200 Provider,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Change a provider. Omitted fields stay unchanged.
    ///
    /// A new series or agent is used from the next install on. A new address requires the API key again,
    /// so that the stored key cannot be sent elsewhere.
    ChangeProvider = PATCH "/v1/platform/providers/{provider_id}" {
        path: ProviderPath,
        body: ProviderChange,
        returns: 200 Provider,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("provider.change"),
        problems: [NotFound, Conflict, InvalidValue],
    }
}

endpoint! {
    /// Remove a provider: its machines are erased and returned first.
    RemoveProvider = DELETE "/v1/platform/providers/{provider_id}" {
        path: ProviderPath,
        returns: 202 Provider,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: Natural,
        audit: Action("provider.remove"),
        problems: [NotFound, Conflict],
    }
}

text! {
    /// The URL of a MAAS server, up to and including `/MAAS`.
    MaasUrl {
        schema: { "type": "string", "minLength": 10, "maxLength": 300, "pattern": r"^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$" },
        rule: |text| (10..=300).contains(&text.len()) && {
            let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            rest.is_some_and(|rest| {
                let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                !host.is_empty()
                    && host.bytes().all(|it| it.is_ascii_alphanumeric() || b".:[]-".contains(&it))
                    && path.bytes().all(|it| it.is_ascii_alphanumeric() || b"._~/-".contains(&it))
            })
        },
        otherwise: "not an address like `https://maas.example.com/MAAS`",
    }
}

text! {
    /// The name of a pool, tag or series in MAAS.
    MaasName {
        schema: { "type": "string", "minLength": 1, "maxLength": 128, "pattern": r"^[A-Za-z0-9_][A-Za-z0-9._/-]*$" },
        rule: |text| (1..=128).contains(&text.len())
            && text.starts_with(|it: char| it.is_ascii_alphanumeric() || it == '_')
            && text.bytes().all(|it| it.is_ascii_alphanumeric() || b"._/-".contains(&it)),
        otherwise: "a name in MAAS has 1 to 128 letters, digits, `.`, `_`, `/` or `-`, and starts with a letter, digit or `_`",
    }
}

text! {
    /// The URL from which a deployed machine downloads its agent.
    AgentUrl {
        schema: { "type": "string", "minLength": 10, "maxLength": 500, "pattern": r"^https?://[A-Za-z0-9.:\[\]-]+/[A-Za-z0-9._~/%-]+$" },
        rule: |text| (10..=500).contains(&text.len()) && {
            let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            rest.and_then(|it| it.split_once('/')).is_some_and(|(host, path)| {
                !host.is_empty()
                    && !path.is_empty()
                    && host.bytes().all(|it| it.is_ascii_alphanumeric() || b".:[]-".contains(&it))
                    && path.bytes().all(|it| it.is_ascii_alphanumeric() || b"._~/%-".contains(&it))
            })
        },
        otherwise: "not an address like `https://files.example.com/gpuaas-node`",
    }
}

text! {
    /// SHA-256 of a file, in hex.
    Sha256Hex {
        schema: { "type": "string", "minLength": 64, "maxLength": 64, "pattern": r"^[0-9a-f]{64}$" },
        rule: |text| text.len() == 64 && text.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it)),
        otherwise: "not a SHA-256 of 64 small hex digits",
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProviderPath {
    pub provider_id: ProviderId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderSpec {
    pub name: Label,
    #[serde(default = "maas")]
    pub kind: ProviderKind,
    /// The pool that its machines become nodes of; it has the provider `maas`.
    pub pool_id: PoolId,
    pub url: MaasUrl,
    /// As MAAS shows it: `consumer:token:secret`.
    pub api_key: SecretText,
    /// Only machines of this resource pool of MAAS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maas_pool: Option<MaasName>,
    /// Only machines that have all of these tags in MAAS.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub tags: Vec<MaasName>,
    /// What is installed, such as `noble`.
    pub series: MaasName,
    #[serde(default = "secure")]
    pub erase: Erase,
    /// The most machines it may allocate.
    #[schemars(range(min = 0, max = 100_000))]
    pub max_machines: u32,
    /// The URL of the agent. Without it, the image must contain the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSourceSpec>,
}

fn maas() -> ProviderKind {
    ProviderKind::Maas
}

fn secure() -> Erase {
    Erase::Secure
}

/// A file that machines download, and its checksum.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentSourceSpec {
    pub url: AgentUrl,
    pub sha256: Sha256Hex,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<MaasUrl>,
    /// Replaces the key in use; required with a new `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<MaasName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erase: Option<Erase>,
    /// A number below the current count returns no machine; it only prevents further ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100_000))]
    pub max_machines: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSourceSpec>,
}

list_query! {
    ProviderFilter {
        /// Only providers in this state. Default: all except removed ones.
        state: ProviderState,
        /// Only the provider with this name.
        name: Label,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provider {
    pub id: ProviderId,
    pub name: Label,
    pub kind: Open<ProviderKind>,
    pub pool_id: PoolId,
    pub url: MaasUrl,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maas_pool: Option<MaasName>,
    pub tags: Vec<MaasName>,
    pub series: MaasName,
    pub erase: Open<Erase>,
    pub max_machines: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSource>,
    pub state: Open<ProviderState>,
    pub version: i64,
    pub created_at: Timestamp,
    /// When MAAS last listed its machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<Timestamp>,
    /// The last error from MAAS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// The URL of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSource {
    pub url: AgentUrl,
    pub sha256: Sha256Hex,
}

words! {
    /// The system that a provider is.
    ProviderKind {
        /// A MAAS server.
        Maas = "maas",
    }
}

words! {
    ProviderState { Active = "active", Removing = "removing", Removed = "removed" }
}

words! {
    /// How the disks of a machine are erased between two tenants.
    Erase {
        /// By the drive's own secure erase, else overwritten completely; can take hours.
        Secure = "secure",
        /// By the drive's own secure erase, else only its start and end; data may be recovered.
        Quick = "quick",
    }
}

event! {
    /// A provider was registered.
    ProviderCreated = "provider.created", staff: PlatformFleetRead { id: ProviderId, pool_id: PoolId, name: Label }
}
event! {
    /// A provider was changed.
    ProviderChanged = "provider.changed", staff: PlatformFleetRead { id: ProviderId }
}
moved_event! {
    /// A provider is being removed; its machines are returned first.
    ProviderRemoveRequested = "provider.remove_requested", staff: PlatformFleetRead
}
moved_event! {
    /// A provider and its key were removed.
    ProviderRemoved = "provider.removed", staff: PlatformFleetRead
}
