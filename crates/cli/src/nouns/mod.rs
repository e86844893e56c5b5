//! The commands. A new noun is a file here, its `mod` line and its line in the list.

mod audit;
mod completion;
mod contexts;
mod dead_letters;
mod events;
mod invitations;
mod keys;
mod login;
mod logout;
mod me;
mod members;
mod organizations;
mod policies;
mod projects;
mod service_accounts;
mod sessions;
#[cfg(test)]
mod tests;
mod users;
mod whoami;
mod work;

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
    #[command(subcommand)]
    Context(contexts::Contexts),
    #[command(subcommand)]
    Organizations(organizations::Organizations),
    #[command(subcommand)]
    Projects(projects::Projects),
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
    Policies(policies::Policies),
    #[command(subcommand)]
    Events(events::Events),
    #[command(subcommand)]
    Audit(audit::Audit),
    #[command(subcommand)]
    Users(users::Users),
    #[command(subcommand)]
    DeadLetters(dead_letters::DeadLetters),
    #[command(subcommand)]
    Work(work::Work),
    Completion(completion::Completion),
}
