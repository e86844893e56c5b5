//! What is spoken: modern algorithms alone, and within which bounds.

use crate::identity::IdentityError;
use russh::keys::{Algorithm, Certificate, PrivateKey};
use russh::server::Config;
use russh::{MethodKind, MethodSet, Preferred, SshId, cipher, compression, kex, mac};
use std::borrow::Cow;
use std::time::Duration;

const ATTEMPTS: usize = 10; // bound: keys that an agent offers one after the other
const REJECTION: Duration = Duration::from_millis(200); // bound: every refusal takes as long
const WINDOW: u32 = 1024 * 1024; // bound: what a client may send ahead on one channel
const PACKET: u32 = 32 * 1024; // bound: as OpenSSH's own
const EVENTS: usize = 8; // bound: packets that wait for a client which does not read
const KEEPALIVE: Duration = Duration::from_secs(30); // bound: routers forget silent connections after minutes

const KEX: &[kex::Name] = &[
    kex::MLKEM768X25519_SHA256,
    kex::CURVE25519,
    kex::CURVE25519_PRE_RFC_8731,
    kex::EXTENSION_SUPPORT_AS_SERVER,
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_SERVER,
];
const CIPHERS: &[cipher::Name] = &[cipher::AES_256_GCM, cipher::AES_128_GCM, cipher::CHACHA20_POLY1305];
const MACS: &[mac::Name] = &[mac::HMAC_SHA256_ETM, mac::HMAC_SHA512_ETM];

#[derive(Debug, thiserror::Error)]
pub enum HostKeyError {
    #[error("the SSH host key of this gateway, or its certificate, cannot be read; remove both and restart it")]
    Form(#[source] russh::keys::ssh_key::Error),
    #[error("the certificate is for another SSH host key")]
    OtherKey,
    #[error(transparent)]
    Folder(#[from] IdentityError),
}

/// How every client is served: with this gateway's own key, and what says so.
pub fn config(key: PrivateKey, certificate: Certificate) -> Config {
    Config {
        server_id: SshId::Standard(Cow::Borrowed("SSH-2.0-gpuaas")),
        methods: MethodSet::from(&[MethodKind::PublicKey][..]),
        auth_rejection_time: REJECTION,
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: vec![key],
        certificates: vec![certificate],
        window_size: WINDOW,
        maximum_packet_size: PACKET,
        // Nothing waits there: see `feed`.
        channel_buffer_size: 1,
        event_buffer_size: EVENTS,
        preferred: Preferred {
            kex: Cow::Borrowed(KEX),
            key: Cow::Borrowed(&[Algorithm::Ed25519]),
            cipher: Cow::Borrowed(CIPHERS),
            mac: Cow::Borrowed(MACS),
            compression: Cow::Borrowed(&[compression::NONE]),
            ..Preferred::default()
        },
        max_auth_attempts: ATTEMPTS,
        // Who logs in too slowly or does not read is cut off by those who attend to
        // it; a dead line is found by TCP. A client that is stopped for an hour is
        // no reason to end its work.
        inactivity_timeout: None,
        keepalive_interval: Some(KEEPALIVE),
        keepalive_max: 0,
        ..Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obsolete_algorithms_are_not_offered() {
        let names =
            |all: &[&str]| all.iter().any(|it| it.contains("sha1") || it.contains("cbc") || it.contains("none"));
        assert!(!names(&KEX.iter().map(AsRef::as_ref).collect::<Vec<&str>>()));
        assert!(!names(&CIPHERS.iter().map(AsRef::as_ref).collect::<Vec<&str>>()));
        assert!(!names(&MACS.iter().map(AsRef::as_ref).collect::<Vec<&str>>()));
    }
}
