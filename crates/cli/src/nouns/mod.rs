//! The commands. A new noun is a file here, its `mod` line and its line in the list.

mod access_sessions;
mod agents;
mod allocations;
mod apply;
mod audit;
mod billing_profile;
mod budgets;
mod capacity;
mod completion;
mod contexts;
mod corrections;
mod dead_letters;
mod delete;
mod demo;
mod diff;
mod enrollment_tokens;
mod events;
mod forward;
mod gateways;
mod invitations;
mod invoices;
mod keys;
mod ledger;
mod login;
mod logout;
mod machines;
mod mails;
mod maintenance_windows;
mod me;
mod members;
mod nodes;
mod notifications;
mod open;
mod organizations;
mod payments;
mod policies;
mod pools;
mod prices;
mod problems;
mod projects;
mod providers;
mod quotas;
mod recordings;
mod regions;
mod revenue;
mod service_accounts;
mod sessions;
mod skus;
mod ssh;
mod ssh_config;
mod ssh_keys;
mod ssh_proxy;
mod terminal;
#[cfg(test)]
mod tests;
mod top;
mod usage;
mod users;
mod utilization;
mod webhooks;
mod whoami;
mod why;
mod work;

pub use terminal::quoted;

use crate::{context::Context, failure::Done};

macro_rules! nouns {
    ($($(#[$attribute:meta])* $variant:ident($module:ident::$kind:ident),)+) => {
        #[derive(Debug, clap::Subcommand)]
        pub enum Noun {
            $($(#[$attribute])* $variant($module::$kind),)+
        }

        impl Noun {
            pub async fn run(self, context: &Context) -> Done {
                match self {
                    $(Noun::$variant(it) => Box::pin(it.run(context)).await,)+
                }
            }
        }
    };
}

nouns! {
    Login(login::Login),
    Logout(logout::Logout),
    Whoami(whoami::Whoami),
    Demo(demo::Demo),
    #[command(subcommand)]
    Context(contexts::Contexts),
    #[command(subcommand)]
    Organizations(organizations::Organizations),
    #[command(subcommand)]
    Projects(projects::Projects),
    #[command(subcommand)]
    Allocations(allocations::Allocations),
    Terminal(terminal::Terminal),
    Forward(forward::Forward),
    Open(open::Open),
    #[command(subcommand)]
    AccessSessions(access_sessions::AccessSessions),
    #[command(subcommand)]
    Recordings(recordings::Recordings),
    Why(why::Why),
    Apply(apply::Apply),
    Diff(diff::Diff),
    Delete(delete::Delete),
    Top(top::Top),
    Ssh(ssh::Ssh),
    SshConfig(ssh_config::SshConfig),
    SshProxy(ssh_proxy::SshProxy),
    #[command(subcommand)]
    SshKeys(ssh_keys::SshKeys),
    #[command(subcommand)]
    Skus(skus::Skus),
    #[command(subcommand)]
    Prices(prices::Prices),
    #[command(subcommand)]
    Capacity(capacity::Capacity),
    #[command(subcommand)]
    Quotas(quotas::Quotas),
    Usage(usage::Usage),
    Revenue(revenue::Revenue),
    Utilization(utilization::Utilization),
    #[command(subcommand)]
    Budgets(budgets::Budgets),
    #[command(subcommand)]
    Ledger(ledger::Ledger),
    #[command(subcommand)]
    Corrections(corrections::Corrections),
    #[command(subcommand)]
    Invoices(invoices::Invoices),
    #[command(subcommand)]
    BillingProfile(billing_profile::BillingProfile),
    #[command(subcommand)]
    Payments(payments::Payments),
    #[command(subcommand)]
    Members(members::Members),
    #[command(subcommand)]
    Invitations(invitations::Invitations),
    #[command(subcommand)]
    ServiceAccounts(service_accounts::ServiceAccounts),
    #[command(subcommand)]
    Keys(keys::Keys),
    #[command(subcommand)]
    Sessions(sessions::Sessions),
    #[command(subcommand)]
    Me(me::Me),
    #[command(subcommand)]
    Notifications(notifications::Notifications),
    #[command(subcommand)]
    Policies(policies::Policies),
    #[command(subcommand)]
    Events(events::Events),
    #[command(subcommand)]
    Webhooks(webhooks::Webhooks),
    #[command(subcommand)]
    Audit(audit::Audit),
    #[command(subcommand)]
    Problems(problems::Problems),
    #[command(subcommand)]
    Users(users::Users),
    #[command(subcommand)]
    Mails(mails::Mails),
    #[command(subcommand)]
    Regions(regions::Regions),
    #[command(subcommand)]
    Pools(pools::Pools),
    #[command(subcommand)]
    Nodes(nodes::Nodes),
    #[command(subcommand)]
    Gateways(gateways::Gateways),
    #[command(subcommand)]
    Agents(agents::Agents),
    #[command(subcommand)]
    MaintenanceWindows(maintenance_windows::MaintenanceWindows),
    #[command(subcommand)]
    Providers(providers::Providers),
    #[command(subcommand)]
    Machines(machines::Machines),
    #[command(subcommand)]
    EnrollmentTokens(enrollment_tokens::EnrollmentTokens),
    #[command(subcommand)]
    DeadLetters(dead_letters::DeadLetters),
    #[command(subcommand)]
    Work(work::Work),
    Completion(completion::Completion),
}

impl Noun {
    /// Whether it handles Ctrl-C itself, because it has something to release.
    pub fn hears_interrupts(&self) -> bool {
        matches!(self, Noun::Demo(_))
    }
}
