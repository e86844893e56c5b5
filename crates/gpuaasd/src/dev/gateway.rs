//! The gateway of `gpuaasd dev`: one of the demo's region, in this process, which
//! joins and speaks as any other does.

use contract::{Label, gateways::GatewaySpec, id::GatewayId};
use gateway::identity::Folder;
use kernel::{Access, Tx, clock};
use tokio::net::TcpListener;

use super::{DevError, Options, demo_fleet};
use crate::{control_plane::ControlPlane, gateway_role::Bound};
use fleet::gateways;
use platform::{config::Config, policies::settings};

const NAME: &str = "local";
const WEB_DOMAIN: &str = "web.localhost";
/// Where SSH clients find it.
const SSH: &str = "127.0.0.1:2222";

/// Listens where the configuration says, or anywhere if that place is taken.
pub async fn bind(config: &mut Config, options: &Options, base: &str) -> Result<Bound, DevError> {
    let gateway = &mut config.gateway;
    let agents = super::listen_or_anywhere(&gateway.agent_listen).await?;
    let public = super::listen_or_anywhere(&gateway.listen).await?;
    gateway.agent_listen = address(&agents, &gateway.agent_listen)?;
    gateway.listen = address(&public, &gateway.listen)?;
    let wanted = gateway.ssh_listen.clone().unwrap_or_else(|| SSH.into());
    let ssh = super::listen_or_anywhere(&wanted).await?;
    gateway.ssh_listen = Some(address(&ssh, &wanted)?);
    gateway.folder = options.data_dir.join("gateway");
    gateway.web_domain = Some(WEB_DOMAIN.into());
    gateway.web_over_https = false;
    gateway.origins.push(base.to_owned());
    Ok(Bound { agents, public, ssh: Some(ssh), ops: None })
}

fn address(listener: &TcpListener, wanted: &str) -> Result<String, DevError> {
    let cannot = |source| DevError::Listen { address: wanted.to_owned(), source };
    listener.local_addr().map(|it| it.to_string()).map_err(cannot)
}

/// Makes the gateway known under its addresses of today. One whose folder is gone
/// is replaced. Answers the configuration that the role runs with.
pub async fn seed(control_plane: &ControlPlane) -> Result<Config, DevError> {
    let mut config = control_plane.config.clone();
    let known = Folder::open(&config.gateway.folder).and_then(|it| it.identity()).map_err(DevError::Gateway)?;
    let known: Option<GatewayId> = known.and_then(|it| it.gateway_id.parse().ok());
    let mut tx = Tx::system(&control_plane.db, "seed", Access::Write).await?;
    let region = demo_fleet::region(&mut tx).await?;
    let literal = |text: &str| text.parse::<Label>().expect("a literal above");
    let text = |text: String| text.parse().map_err(|_| sqlx::Error::RowNotFound);
    let spec = GatewaySpec {
        name: literal(NAME),
        region_id: region,
        agent_url: text(format!("https://{}", config.gateway.agent_listen))?,
        public_url: format!("ws://{}", config.gateway.listen).parse().map_err(|_| sqlx::Error::RowNotFound)?,
        ssh_address: config
            .gateway
            .ssh_listen
            .as_ref()
            .map(|it| it.parse().map_err(|_| sqlx::Error::RowNotFound))
            .transpose()?,
        web_domain: WEB_DOMAIN.parse().expect("a literal above"),
    };
    let found = gateways::by_name(&mut tx, &spec.name).await?;
    if known.is_some() && found == known {
        gateways::moved(&mut tx, &spec).await?;
    } else {
        if let Some(old) = found {
            gateways::remove(&mut tx, old).await?;
        }
        // What it was before is nobody any more.
        let _ = std::fs::remove_file(config.gateway.folder.join("identity.json"));
        let minutes = control_plane.policies.number(settings::NODE_ENROLLMENT_MINUTES);
        let expires_at = clock::now(&mut tx).await? + settings::minutes(minutes);
        let added = gateways::add(&mut tx, &spec, expires_at).await?;
        config.gateway.join_token = Some(added.map_err(|_| sqlx::Error::RowNotFound)?.token);
    }
    tx.commit().await?;
    config.gateway.control_url = Some(control_plane.config.node.url.clone());
    config.gateway.ca_fingerprint = Some(control_plane.fleet.ca.authority().root_fingerprint().to_owned());
    Ok(config)
}
