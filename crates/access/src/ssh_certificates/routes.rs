//! Getting a certificate, and the gateways' keys.

use contract::{
    Code, Raw,
    allocations::AllocationState,
    ssh_certificates::{CreateSshCertificate, GetSshKnownHosts, SshCertificate},
};
use kernel::{Scope, clock};
use ssh_key::PublicKey;

use super::{authority, authority::Bearer, known_hosts};
use crate::AccessArea;
use compute::allocations;
use fleet::gateways;
use people::credentials::Credential;
use people::ssh_keys;
use platform::{
    http::{Call, Failure, Handle, ProblemBuilder, Request, unavailable},
    policies::{PolicyScope, ProjectPolicies, settings},
};

impl Handle<CreateSshCertificate> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateSshCertificate>) -> Result<SshCertificate, Failure> {
        let (path, line) = (request.path, request.body.public_key);
        let unfit = |detail: String| Failure::from(ProblemBuilder::new(Code::InvalidValue, detail).at("public_key"));
        ssh_keys::fingerprint(line.as_str())
            .map_err(|error| unfit(format!("this is not a usable public key: {error}")))?;
        let key =
            PublicKey::from_openssh(line.as_str()).map_err(|_| unfit("this is not a usable public key".into()))?;
        if matches!(key.algorithm(), ssh_key::Algorithm::Rsa { .. }) {
            return Err(unfit("gateways do not support RSA keys; generate a key with `ssh-keygen -t ed25519`".into()));
        }
        let allocation = allocations::find(&mut call.tx, path.allocation_id).await?;
        let allocation = allocation.filter(|it| it.project_id == path.project_id);
        let allocation = allocation.ok_or_else(|| Failure::not_found("allocation"))?;
        if allocation.state != AllocationState::Active {
            let detail = format!("the allocation is {}; you can only connect while it is active", allocation.state);
            return Err(Failure::new(Code::Conflict, detail));
        }
        let node = allocation.parts.first().map(|it| it.node_id);
        let node = node.ok_or_else(|| Failure::new(Code::Conflict, "the allocation has no node yet"))?;
        let silent = settings::seconds(self.policies.number(settings::ACCESS_GATEWAY_SECONDS));
        let address = gateways::ssh_address_for(&mut call.tx, node, silent).await?;
        let address = address.ok_or_else(|| unavailable("no gateway with SSH is online in the allocation's region"))?;
        let place =
            PolicyScope { organization: allocation.organization_id.uuid(), project: allocation.project_id.uuid() };
        let mut here = ProjectPolicies { tx: &mut call.tx, place };
        let life = settings::minutes(here.number(settings::ACCESS_SSH_CERTIFICATE_MINUTES).await?);
        let now = clock::now(&mut call.tx).await?;
        let expires_at = now + life;
        let bearer = Bearer {
            actor: call.caller.actor().as_str().to_owned(),
            login: allocation.id.to_string(),
            credential: Credential::of(&call.caller),
        };
        // The platform's own keys are nobody's rows.
        let scope = call.tx.scope();
        call.tx.enter(Scope::System).await?;
        let signed = authority::issue(&mut call.tx, &self.keyring, &key, &bearer, (now, expires_at)).await;
        let certificate = signed.map_err(internal)?;
        let host_key = authority::host_line(&mut call.tx, &self.keyring).await.map_err(internal)?;
        call.tx.enter(scope).await?;
        call.about(allocation.id);
        call.note("expires_at", expires_at.to_string());
        metrics::counter!("gpuaas_ssh_certificates_total").increment(1);
        let known_hosts = vec![known_hosts::line(&address, &host_key)];
        Ok(SshCertificate { certificate, expires_at, login: bearer.login, address, known_hosts })
    }
}

impl Handle<GetSshKnownHosts> for AccessArea {
    async fn handle(&self, call: &mut Call, _: Request<GetSshKnownHosts>) -> Result<Raw, Failure> {
        call.tx.enter(Scope::System).await?;
        let key = authority::host_line(&mut call.tx, &self.keyring).await.map_err(internal)?;
        let addresses = gateways::ssh_addresses(&mut call.tx).await?;
        let lines: String = addresses.iter().map(|it| known_hosts::line(it, &key) + "\n").collect();
        Ok(Raw { bytes: lines.into_bytes(), file_name: "known_hosts".into() })
    }
}

fn internal(error: impl std::error::Error) -> Failure {
    tracing::error!(error = %error, "the SSH keys of the platform cannot be used");
    Failure::from(unavailable("the platform's SSH keys are unavailable"))
}
