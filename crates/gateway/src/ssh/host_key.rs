//! The key that this gateway shows to SSH clients: its own, which never leaves it.
//! The control plane certifies it, so that behind one name it does not matter which
//! gateway answers, and again while it runs: what is revoked ends by itself.

use super::algorithms::{HostKeyError, config};
use crate::identity::{Folder, IdentityError};
use crate::locked;
use russh::keys::ssh_key::private::Ed25519Keypair;
use russh::keys::{Certificate, PrivateKey};
use russh::server::Config;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;

const AGAIN: Duration = Duration::from_secs(3600); // bound: how long a certificate of a revoked authority is shown

pub struct HostKey {
    key: PrivateKey,
    public: String,
    /// How clients are served; nothing before there is a certificate.
    config: watch::Sender<Option<Arc<Config>>>,
    certified_at: Mutex<Option<Instant>>,
}

impl HostKey {
    /// The key of the folder; the first start makes it.
    pub fn open(folder: &Folder) -> Result<Self, HostKeyError> {
        let key = PrivateKey::from(Ed25519Keypair::from_seed(&seed(folder)?));
        let public = key.public_key().to_openssh().map_err(HostKeyError::Form)?;
        let host_key = Self { key, public, config: watch::Sender::new(None), certified_at: Mutex::default() };
        if let Some(kept) = folder.ssh_host_certificate()? {
            // One that does not fit is replaced by the first beat.
            let _ = host_key.serve_with(&kept);
        }
        Ok(host_key)
    }

    /// The public half, when it is time to have it certified.
    pub fn wanted(&self) -> Option<String> {
        let is_fresh = locked(&self.certified_at).is_some_and(|it| it.elapsed() < AGAIN);
        (!is_fresh).then(|| self.public.clone())
    }

    /// Shows a new certificate from the next connection on.
    pub fn certified(&self, folder: &Folder, certificate: &str) -> Result<(), HostKeyError> {
        self.serve_with(certificate)?;
        folder.save_ssh_host_certificate(certificate)?;
        *locked(&self.certified_at) = Some(Instant::now());
        Ok(())
    }

    pub fn config(&self) -> watch::Receiver<Option<Arc<Config>>> {
        self.config.subscribe()
    }

    fn serve_with(&self, certificate: &str) -> Result<(), HostKeyError> {
        let certificate = Certificate::from_openssh(certificate).map_err(HostKeyError::Form)?;
        if certificate.public_key() != self.key.public_key().key_data() {
            return Err(HostKeyError::OtherKey);
        }
        self.config.send_replace(Some(Arc::new(config(self.key.clone(), certificate))));
        Ok(())
    }
}

fn seed(folder: &Folder) -> Result<[u8; 32], IdentityError> {
    if let Some(seed) = folder.ssh_host_seed()? {
        return Ok(seed);
    }
    let mut seed = [0; 32];
    aws_lc_rs::rand::fill(&mut seed).expect("the operating system gives randomness");
    folder.save_ssh_host_seed(&seed)?;
    Ok(seed)
}
