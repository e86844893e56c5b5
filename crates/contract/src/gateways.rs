//! Gateways: processes at the edge through which people reach what they rent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Nothing, Open, Page, ShownSecret, Timestamp, endpoint, event,
    id::{GatewayId, RegionId},
    list_query, words,
};

endpoint! {
    /// Add a gateway to a region.
    ///
    /// The secret lets one process become this gateway. It is shown once, in this response.
    CreateGateway = POST "/v1/platform/gateways" {
        body: GatewaySpec,
        returns: 201 NewGateway,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequiredSealed,
        audit: Action("gateway.create"),
        problems: [InvalidValue, NameTaken],
    }
}

endpoint! {
    /// List gateways.
    ListGateways = GET "/v1/platform/gateways" {
        query: GatewayFilter,
        returns: 200 Page<Gateway>,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one gateway.
    GetGateway = GET "/v1/platform/gateways/{gateway_id}" {
        path: GatewayPath,
        returns: 200 Gateway,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Remove a gateway: its certificate is revoked, and hosts disconnect.
    ///
    /// Its shells wait for their owners at other gateways.
    RemoveGateway = DELETE "/v1/platform/gateways/{gateway_id}" {
        path: GatewayPath,
        returns: 200 Nothing,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: Natural,
        audit: Action("gateway.remove"),
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GatewayPath {
    pub gateway_id: GatewayId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewaySpec {
    pub name: Label,
    pub region_id: RegionId,
    /// The address for hosts.
    pub agent_url: GatewayAgentUrl,
    /// The public URL; several gateways can share one.
    pub public_url: GatewayPublicUrl,
    /// The address for SSH clients, if it serves them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_address: Option<HostAndPort>,
    /// The domain of web services, each with its own host name; must not serve any other site.
    pub web_domain: Domain,
}

text! {
    /// `https`, a host and a port.
    GatewayAgentUrl {
        schema: { "type": "string", "maxLength": 260, "pattern": r"^https://[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$" },
        rule: |text| fits(text) && text.strip_prefix("https://").is_some_and(is_host_and_port),
        otherwise: "expected `https://host:port`",
    }
}

text! {
    /// `wss` (or `ws`, where all of it is on one machine), a host, and a port unless it is the usual one.
    GatewayPublicUrl {
        schema: { "type": "string", "maxLength": 260, "pattern": r"^wss?://[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$" },
        rule: |text| fits(text) && text.strip_prefix("wss://").or(text.strip_prefix("ws://")).is_some_and(|it| is_host_and_port(it) || is_host(it)),
        otherwise: "expected `wss://host` or `wss://host:port`",
    }
}

text! {
    /// A host and a port.
    HostAndPort {
        schema: { "type": "string", "maxLength": 260, "pattern": r"^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$" },
        rule: |text| fits(text) && is_host_and_port(text),
        otherwise: "expected `host:port`",
    }
}

text! {
    /// A name of the domain name system.
    Domain {
        schema: { "type": "string", "minLength": 1, "maxLength": 180, "pattern": r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?([.][a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$" },
        rule: |text| text.len() <= 180 && is_host(text) && text.bytes().all(|it| !it.is_ascii_uppercase()),
        otherwise: "expected a domain name in small letters",
    }
}

/// As long as a name of the domain name system may be, with a scheme and a port.
fn fits(text: &str) -> bool {
    text.len() <= 260
}

fn is_host_and_port(text: &str) -> bool {
    let is_number = |it: &str| it.bytes().all(|it| it.is_ascii_digit()) && !it.starts_with('0');
    let is_port = |it: &str| is_number(it) && it.parse::<u16>().is_ok();
    text.rsplit_once(':').is_some_and(|(host, port)| is_host(host) && is_port(port))
}

/// A name or an IPv4 address; who has IPv6 has names.
fn is_host(text: &str) -> bool {
    let is_label = |it: &str| {
        let is_inner = |it: u8| it.is_ascii_alphanumeric() || it == b'-';
        (1..=63).contains(&it.len()) && it.bytes().all(is_inner) && !it.starts_with('-') && !it.ends_with('-')
    };
    text.split('.').all(is_label)
}

list_query! {
    GatewayFilter {
        /// Only gateways of this region.
        region_id: RegionId,
        /// Only gateways in this condition. Default: all except removed ones.
        status: GatewayStatus,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewGateway {
    pub gateway: Gateway,
    /// Its join token.
    pub secret: ShownSecret,
    /// The control plane's URL for it: the setting `gateway.control_url`.
    pub control_url: String,
    /// SHA-256 of the root certificate that it must trust, in hex.
    pub ca_fingerprint: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gateway {
    pub id: GatewayId,
    pub name: Label,
    pub region_id: RegionId,
    pub status: Open<GatewayStatus>,
    pub agent_url: String,
    pub public_url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_address: Option<String>,
    pub web_domain: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How many hosts are connected to it.
    pub nodes: u32,
    /// How many sessions it carries.
    pub sessions: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

words! {
    /// The condition of a gateway.
    GatewayStatus {
        /// Its process has not joined.
        Waiting = "waiting",
        Live = "live",
        /// It sent no heartbeat for too long.
        Silent = "silent",
        Removed = "removed",
    }
}

event! {
    /// A gateway was added.
    GatewayCreated = "gateway.created", staff: PlatformFleetRead { id: GatewayId, name: Label, region_id: RegionId }
}
event! {
    /// A process joined as a gateway.
    GatewayJoined = "gateway.joined", staff: PlatformFleetRead { id: GatewayId }
}
event! {
    /// A gateway was removed; its certificate no longer works.
    GatewayRemoved = "gateway.removed", staff: PlatformFleetRead { id: GatewayId }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_what_they_should_be() {
        for good in ["https://gw.example.com:7443", "https://127.0.0.1:1"] {
            assert!(good.parse::<GatewayAgentUrl>().is_ok(), "{good}");
        }
        for bad in [
            "https://gw.example.com",
            "http://a:1",
            "https://a:0",
            "https://a:1/x",
            "https://user@a:1",
            "https://a:99999",
        ] {
            assert!(bad.parse::<GatewayAgentUrl>().is_err(), "{bad}");
        }
        assert!(
            "wss://gw.example.com".parse::<GatewayPublicUrl>().is_ok()
                && "ws://127.0.0.1:80".parse::<GatewayPublicUrl>().is_ok()
        );
        assert!(
            "wss://gw/path".parse::<GatewayPublicUrl>().is_err() && "https://gw".parse::<GatewayPublicUrl>().is_err()
        );
        assert!("web.localhost".parse::<Domain>().is_ok() && "Web".parse::<Domain>().is_err());
        assert!("a..b".parse::<Domain>().is_err() && "-a".parse::<Domain>().is_err());
    }
}
