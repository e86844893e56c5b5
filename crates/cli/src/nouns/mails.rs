//! `gpuaas mails`: what became of the platform's mails, for operators.

use clap::Subcommand;
use contract::{
    Nothing,
    id::UserId,
    mails::{ListMails, Mail, MailFilter, MailState},
};

use crate::{
    arguments::{self, Paging},
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas mails list --state refused
  gpuaas mails list --state pending -o json";

/// Show the delivery status of emails (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Mails {
    /// List emails, newest first, without addresses or contents
    List {
        /// Filter by state
        #[arg(long, value_parser = arguments::word::<MailState>())]
        state: Option<MailState>,
        /// Filter by recipient (user ID)
        #[arg(long)]
        user: Option<UserId>,
        #[command(flatten)]
        paging: Paging,
    },
}

const COLUMNS: Columns = columns!(Mail: id, kind, state, attempts, last_code, error, created_at);

impl Mails {
    pub async fn run(self, context: &Context) -> Done {
        let Mails::List { state, user, paging } = self;
        let query = MailFilter { state, user_id: user, limit: paging.page(), ..MailFilter::default() };
        context.list::<ListMails>(Nothing {}, query, paging, COLUMNS).await
    }
}
