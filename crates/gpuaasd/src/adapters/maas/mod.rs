//! The MAAS 2.0 API as a supplier of bare machines. One request per call, but
//! for reads, which are repeated a little; nothing here decides what comes next.

mod calls;
mod oauth;
mod wire;

use std::sync::Arc;

use contract::providers::Erase;
use futures_util::future::BoxFuture;
use kernel::clock::Clock;
use reqwest::{Client, redirect};
use url::{Url, form_urlencoded};

use calls::{Calls, Form, encode};
use oauth::ApiKey;
use platform::ports::metal::{
    Install, MachineRequirements, MetalAccess, MetalConnector, MetalError, MetalFilter, MetalMachine, MetalProvider,
    Power,
};

/// Opens MAAS servers; they share one set of connections.
pub struct MaasConnector {
    http: Client,
    clock: Clock,
}

impl MaasConnector {
    pub fn new(clock: Clock) -> Self {
        // A redirect could lead the key to another host.
        let builder = Client::builder().redirect(redirect::Policy::none()).timeout(calls::PATIENCE);
        let http = builder.connect_timeout(calls::CONNECT_PATIENCE).build().expect("the TLS library starts");
        Self { http, clock }
    }
}

impl MetalConnector for MaasConnector {
    fn is_api_key(&self, text: &str) -> bool {
        is_api_key(text)
    }

    fn connect(&self, access: &MetalAccess) -> Result<Arc<dyn MetalProvider>, MetalError> {
        let base = format!("{}/api/2.0/", access.url.trim_end_matches('/'));
        let base = Url::parse(&base).map_err(|_| MetalError::BadAccess("the URL is not valid"))?;
        let key = ApiKey::parse(&access.api_key)?;
        Ok(Arc::new(Maas { calls: Calls { http: self.http.clone(), base, key, clock: self.clock.clone() } }))
    }
}

struct Maas {
    calls: Calls,
}

/// Whether an API key has the form that MAAS gives them.
fn is_api_key(text: &str) -> bool {
    ApiKey::parse(&text.to_owned().into()).is_ok()
}

impl MetalProvider for Maas {
    fn list<'a>(&'a self, filter: &'a MetalFilter) -> BoxFuture<'a, Result<Vec<MetalMachine>, MetalError>> {
        Box::pin(async move {
            let said = [("id", &filter.system_id), ("agent_name", &filter.holder), ("pool", &filter.pool)];
            let query = encode(&given(said));
            let machines = self.calls.read::<Vec<wire::Machine>>("machines/", &query).await?;
            let machines = machines.into_iter().map(MetalMachine::from);
            // Servers before 2.9 ignore what they cannot filter by, and none filters by tags.
            let fits = |it: &MetalMachine| filter.pool.is_none() || it.pool.is_none() || it.pool == filter.pool;
            Ok(machines.filter(fits).filter(|it| filter.tags.iter().all(|tag| it.tags.contains(tag))).collect())
        })
    }

    fn get<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<Option<MetalMachine>, MetalError>> {
        Box::pin(async move {
            match self.calls.read::<wire::Machine>(&machine(system_id)?, "").await {
                Ok(found) => Ok(Some(found.into())),
                Err(MetalError::NotFound) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn allocate<'a>(&'a self, wish: &'a MachineRequirements) -> BoxFuture<'a, Result<MetalMachine, MetalError>> {
        Box::pin(async move {
            let mut form = given([("system_id", &wish.system_id), ("pool", &wish.pool)]);
            // Repeated: the machine must have every one of them.
            form.extend(wish.tags.iter().map(|tag| ("tags", tag.into())));
            form.push(("agent_name", (&wish.holder).into()));
            self.calls.post::<wire::Machine>("machines/", "allocate", form).await.map(MetalMachine::from)
        })
    }

    fn install<'a>(
        &'a self,
        system_id: &'a str,
        install: &'a Install,
    ) -> BoxFuture<'a, Result<MetalMachine, MetalError>> {
        use base64::{Engine, engine::general_purpose::STANDARD};
        Box::pin(async move {
            let form = vec![
                ("distro_series", (&install.series).into()),
                ("user_data", STANDARD.encode(install.user_data.expose()).into()),
                ("agent_name", (&install.holder).into()),
            ];
            self.calls.post::<wire::Machine>(&machine(system_id)?, "deploy", form).await.map(MetalMachine::from)
        })
    }

    fn release<'a>(
        &'a self,
        system_id: &'a str,
        erase: Erase,
        comment: &'a str,
    ) -> BoxFuture<'a, Result<MetalMachine, MetalError>> {
        Box::pin(async move {
            let quick = if erase == Erase::Quick { "true" } else { "false" };
            let form = vec![
                ("comment", comment.into()),
                ("erase", "true".into()),
                ("secure_erase", "true".into()),
                ("quick_erase", quick.into()),
            ];
            self.calls.post::<wire::Machine>(&machine(system_id)?, "release", form).await.map(MetalMachine::from)
        })
    }

    fn power_on<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<(), MetalError>> {
        Box::pin(async move { self.calls.order(&machine(system_id)?, "power_on", Vec::new()).await })
    }

    fn power_off<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<(), MetalError>> {
        Box::pin(async move { self.calls.order(&machine(system_id)?, "power_off", Vec::new()).await })
    }

    fn power<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<Power, MetalError>> {
        Box::pin(async move {
            let path = machine(system_id)?;
            let state = self.calls.read::<wire::PowerState>(&path, "op=query_power_state").await?;
            Ok(wire::power(&state.state))
        })
    }
}

/// The parameters that are given.
fn given<'a, const COUNT: usize>(said: [(&'static str, &'a Option<String>); COUNT]) -> Form<'a> {
    said.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?.into()))).collect()
}

/// The address of one machine; MAAS's ids are plain, so nothing else passes.
fn machine(system_id: &str) -> Result<String, MetalError> {
    let is_plain =
        !system_id.is_empty() && system_id.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it));
    if !is_plain {
        return Err(MetalError::Malformed("a machine's id"));
    }
    let name: String = form_urlencoded::byte_serialize(system_id.as_bytes()).collect();
    Ok(format!("machines/{name}/"))
}
