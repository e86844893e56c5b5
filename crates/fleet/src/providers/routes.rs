//! Registering MAAS servers, changing how they are used, and removing them.

use contract::{
    Code, Page,
    id::ProviderId,
    providers::{
        ChangeProvider, CreateProvider, GetProvider, ListProviders, Provider, ProviderChanged, ProviderCreated,
        ProviderState, RemoveProvider,
    },
};
use kernel::{
    lifecycle::{Lifecycle, transition},
    work,
};

use super::{
    lifecycle::{Event, ProviderLifecycle},
    store,
};
use crate::FleetArea;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
};

impl Handle<CreateProvider> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateProvider>) -> Result<Provider, Failure> {
        let spec = &request.body;
        check_key(self, spec.api_key.expose())?;
        if !store::is_maas_pool(&mut call.tx, spec.pool_id).await? {
            let detail = "the pool does not exist or its provider is not `maas`; `gpuaas pools list` lists the pools";
            return Err(ProblemBuilder::new(Code::InvalidValue, detail).at("pool_id").into());
        }
        let id = ProviderId::generate();
        let api_key = store::seal(&self.keyring, id, spec.api_key.expose());
        let added = store::insert(&mut call.tx, id, spec, &api_key).await?;
        let provider = added.ok_or_else(|| Failure::new(Code::NameTaken, "another provider has this name"))?;
        call.about(id);
        let event = ProviderCreated { id, pool_id: provider.pool_id, name: provider.name.clone() };
        emit(&mut call.tx, None, id, &event);
        work::wake(&mut call.tx, ProviderLifecycle::NAME, id.uuid());
        Ok(provider)
    }
}

impl Handle<ListProviders> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ListProviders>) -> Result<Page<Provider>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetProvider> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<GetProvider>) -> Result<Provider, Failure> {
        read(call, request.path.provider_id).await
    }
}

impl Handle<ChangeProvider> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ChangeProvider>) -> Result<Provider, Failure> {
        let (id, change) = (request.path.provider_id, &request.body);
        let known = read(call, id).await?;
        if let Some(key) = &change.api_key {
            check_key(self, key.expose())?;
            call.note("api_key", "replaced");
        } else if change.url.as_ref().is_some_and(|it| *it != known.url) {
            // Whoever answers at the new address would be sent the key.
            let detail = "a new address requires the API key again: the stored key was entered for the old address";
            return Err(ProblemBuilder::new(Code::InvalidValue, detail).at("api_key").into());
        }
        let api_key = change.api_key.as_ref().map(|it| store::seal(&self.keyring, id, it.expose()));
        let changed = store::change(&mut call.tx, id, change, api_key).await?;
        let provider = changed.ok_or_else(|| Failure::new(Code::Conflict, "the provider is being removed"))?;
        emit(&mut call.tx, None, id, &ProviderChanged { id });
        work::wake(&mut call.tx, ProviderLifecycle::NAME, id.uuid());
        Ok(provider)
    }
}

impl Handle<RemoveProvider> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<RemoveProvider>) -> Result<Provider, Failure> {
        let id = request.path.provider_id;
        let found = store::supply(&mut call.tx, id.uuid()).await?.ok_or_else(|| Failure::not_found("provider"))?;
        // Asking again for what is under way or done changes nothing.
        if found.state == ProviderState::Active {
            transition::<ProviderLifecycle>(&mut call.tx, found.versioned(), Event::RemoveRequested, "").await?;
        }
        read(call, id).await
    }
}

async fn read(call: &mut Call, id: ProviderId) -> Result<Provider, Failure> {
    store::get(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("provider"))
}

fn check_key(area: &FleetArea, text: &str) -> Result<(), Failure> {
    if area.metal.is_api_key(text) {
        return Ok(());
    }
    let detail = "a MAAS API key has three parts: `consumer:token:secret`; `maas apikey` prints it";
    Err(ProblemBuilder::new(Code::InvalidValue, detail).at("api_key").into())
}
