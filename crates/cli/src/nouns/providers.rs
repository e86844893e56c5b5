//! `gpuaas providers`: what supplies bare machines to pools, such as a MAAS server.

use clap::{Args, Subcommand};
use contract::{
    Label, Nothing,
    providers::{
        AgentSourceSpec, AgentUrl, ChangeProvider, CreateProvider, Erase, GetProvider, ListProviders, MaasName,
        MaasUrl, Provider, ProviderChange, ProviderFilter, ProviderKind, ProviderSpec, ProviderState, RemoveProvider,
        Sha256Hex,
    },
};

use crate::{
    arguments::{self, Consent, Once, Paging},
    context::Context,
    failure::{Done, Failure},
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples (platform staff):
  gpuaas providers create hall-a --kind maas --pool metal --maas-url https://maas.example.com/MAAS --series noble --max-machines 40 --key-stdin < key.txt
  gpuaas providers list
  gpuaas providers show hall-a
  gpuaas providers change hall-a --max-machines 60
  gpuaas providers change hall-a --key-stdin < key.txt
  gpuaas providers change hall-a --maas-url https://new.example.com/MAAS --key-stdin < key.txt
  gpuaas providers remove hall-a --yes";

/// Manage the MAAS servers that supply bare-metal machines (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Providers {
    /// Register a MAAS server; prompts for its API key
    Create(Box<Create>),
    /// List MAAS servers
    List {
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<ProviderState>())]
        state: Option<ProviderState>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a MAAS server and its last contact
    Show {
        /// ID or name of the provider
        provider: String,
    },
    /// Change the settings of a MAAS server
    Change(Box<Change>),
    /// Remove a MAAS server, erasing and releasing its machines
    Remove {
        /// ID or name of the provider
        provider: String,
        #[command(flatten)]
        consent: Consent,
    },
}

#[derive(Debug, Args)]
pub struct Create {
    /// Name of the provider
    #[arg(value_parser = arguments::text::<Label>)]
    name: Label,
    /// Kind of the provider
    #[arg(long, value_parser = arguments::word::<ProviderKind>(), default_value = "maas")]
    kind: ProviderKind,
    /// Pool that its machines join as nodes, by ID or name
    #[arg(long)]
    pool: String,
    /// MAAS URL, up to and including `/MAAS`
    #[arg(long, value_parser = arguments::text::<MaasUrl>)]
    maas_url: MaasUrl,
    /// Only machines in this MAAS resource pool
    #[arg(long, value_parser = arguments::text::<MaasName>)]
    maas_pool: Option<MaasName>,
    /// Only machines with this MAAS tag; repeatable
    #[arg(long, value_parser = arguments::text::<MaasName>)]
    tag: Vec<MaasName>,
    /// OS release to install, such as noble
    #[arg(long, value_parser = arguments::text::<MaasName>)]
    series: MaasName,
    /// How disks are erased between tenants
    #[arg(long, value_parser = arguments::word::<Erase>(), default_value = "secure")]
    erase: Erase,
    /// Maximum number of machines in use
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    max_machines: u32,
    #[command(flatten)]
    agent: Agent,
    /// Read the API key from standard input
    #[arg(long)]
    key_stdin: bool,
    #[command(flatten)]
    once: Once,
}

#[derive(Debug, Args)]
pub struct Change {
    /// ID or name of the provider
    provider: String,
    /// New MAAS URL; requires the API key again
    #[arg(long, value_parser = arguments::text::<MaasUrl>)]
    maas_url: Option<MaasUrl>,
    /// OS release to install from now on
    #[arg(long, value_parser = arguments::text::<MaasName>)]
    series: Option<MaasName>,
    /// How disks are erased from now on
    #[arg(long, value_parser = arguments::word::<Erase>())]
    erase: Option<Erase>,
    /// Maximum number of machines in use
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    max_machines: Option<u32>,
    #[command(flatten)]
    agent: Agent,
    /// Read a new API key from standard input
    #[arg(long)]
    key_stdin: bool,
}

#[derive(Debug, Args)]
pub struct Agent {
    /// URL that machines download the agent from [default: the image contains it]
    #[arg(long, requires = "agent_sha256", value_parser = arguments::text::<AgentUrl>)]
    agent_url: Option<AgentUrl>,
    /// SHA-256 checksum of the agent, in hex
    #[arg(long, requires = "agent_url", value_parser = arguments::text::<Sha256Hex>)]
    agent_sha256: Option<Sha256Hex>,
}

impl Agent {
    fn source(self) -> Option<AgentSourceSpec> {
        Some(AgentSourceSpec { url: self.agent_url?, sha256: self.agent_sha256? })
    }
}

const COLUMNS: Columns =
    columns!(Provider: id, name, kind, pool_id, url, series, erase, max_machines, state, heard_at, last_error);

impl Providers {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Providers::Create(it) => return create(context, *it).await,
            Providers::List { state, paging } => {
                let query = ProviderFilter { state, limit: paging.page(), ..ProviderFilter::default() };
                return context.list::<ListProviders>(Nothing {}, query, paging, COLUMNS).await;
            }
            Providers::Show { provider } => {
                let path = context.provider_named(&provider).await?;
                context.ask::<GetProvider>(path).await?
            }
            Providers::Change(it) => return change(context, *it).await,
            Providers::Remove { provider, consent } => {
                let path = context.provider_named(&provider).await?;
                let what = format!("erases every machine of {provider} and releases it to MAAS");
                prompt::confirm(consent, &what, &provider).await?;
                context.ask::<RemoveProvider>(path).await?
            }
        };
        context.output.item(&answer)
    }
}

async fn create(context: &Context, it: Create) -> Done {
    let pool_id = context.pool_named(&it.pool).await?.pool_id;
    let api_key = if it.key_stdin {
        let [key] = prompt::piped_secrets()?;
        key
    } else {
        prompt::secret("MAAS API key").await?
    };
    let spec = ProviderSpec {
        name: it.name,
        kind: it.kind,
        pool_id,
        url: it.maas_url,
        api_key,
        maas_pool: it.maas_pool,
        tags: it.tag,
        series: it.series,
        erase: it.erase,
        max_machines: it.max_machines,
        agent: it.agent.source(),
    };
    let answer = context.create::<CreateProvider>(&it.once, Nothing {}, spec).await?;
    context.output.item(&answer)
}

async fn change(context: &Context, it: Change) -> Done {
    let path = context.provider_named(&it.provider).await?;
    let api_key = match (it.key_stdin, &it.maas_url) {
        (true, _) => {
            let [key] = prompt::piped_secrets()?;
            Some(key)
        }
        (false, Some(_)) if prompt::is_possible() => Some(prompt::secret("MAAS API key").await?),
        (false, _) => None,
    };
    let agent = it.agent.source();
    let change = ProviderChange {
        url: it.maas_url,
        api_key,
        series: it.series,
        erase: it.erase,
        max_machines: it.max_machines,
        agent,
    };
    let is_empty = change.url.is_none()
        && change.api_key.is_none()
        && change.series.is_none()
        && change.erase.is_none()
        && change.max_machines.is_none()
        && change.agent.is_none();
    if is_empty {
        return Err(Failure::usage("nothing to change", "Pass at least one setting, such as --max-machines 60."));
    }
    let answer = context.send::<ChangeProvider>(path, change).await?;
    context.output.item(&answer)
}
