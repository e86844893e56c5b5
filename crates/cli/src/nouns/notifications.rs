//! `gpuaas notifications`: what you are told, in the console and by mail.

use clap::{Args, Subcommand, ValueEnum};
use contract::{
    Nothing,
    id::NotificationId,
    notification_kinds::NotificationKind,
    notifications::{
        CountUnreadNotifications, ForgetMailRefusal, GetNotificationPreferences, ListNotifications, Notification,
        NotificationFilter, NotificationPath, NotificationPreference, NotificationPreferencePath,
        NotificationPreferenceSpec, ReadMark, ReadNotification, ReadNotifications, SetNotificationPreference,
    },
};
use serde_json::Value;

use crate::{
    arguments::{self, Paging},
    context::Context,
    failure::{Done, Failure},
    notification_watch,
    table::{Columns, columns, harmless},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas notifications list --unread
  gpuaas notifications unread
  gpuaas notifications read --all
  gpuaas notifications watch
  gpuaas notifications preferences
  gpuaas notifications preferences wallet_low --email off
  gpuaas notifications resume-mail

Marking as read and changing preferences require a session: run `gpuaas login`.";

/// Read notifications and manage how you receive them
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Notifications {
    /// List your notifications, newest first
    List {
        /// Only unread notifications
        #[arg(long)]
        unread: bool,
        /// Filter by kind
        #[arg(long, value_parser = arguments::word::<NotificationKind>())]
        kind: Option<NotificationKind>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Print the number of unread notifications
    Unread,
    /// Mark notifications as read
    Read(Read),
    /// Stream notifications until Ctrl-C; -o json prints one object per line
    Watch {
        /// Exit after this many notifications
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        count: Option<u64>,
    },
    /// Show notification preferences, or change them for one kind
    Preferences {
        /// Notification kind
        #[arg(value_parser = arguments::word::<NotificationKind>())]
        kind: Option<NotificationKind>,
        /// Show in the console
        #[arg(long, requires = "kind")]
        in_app: Option<Switch>,
        /// Send by email
        #[arg(long, requires = "kind")]
        email: Option<Switch>,
    },
    /// Resume email to your address after a mail server rejected it
    ResumeMail,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Read {
    /// ID of the notification
    #[arg(value_name = "ID")]
    notification: Option<NotificationId>,
    /// Mark every notification as read
    #[arg(long)]
    all: bool,
    /// Mark this notification and all older ones as read
    #[arg(long, value_name = "ID")]
    up_to: Option<NotificationId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

const COLUMNS: Columns = columns!(Notification: id, created_at, kind, is_read, title);
const KINDS: Columns = columns!(NotificationPreference: kind, in_app, email, is_mandatory, about);

impl Notifications {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Notifications::List { unread, kind, paging } => {
                let query = NotificationFilter {
                    is_read: unread.then_some(false),
                    kind,
                    limit: paging.page(),
                    ..NotificationFilter::default()
                };
                context.list::<ListNotifications>(Nothing {}, query, paging, COLUMNS).await
            }
            Notifications::Unread => {
                let answer = context.ask::<CountUnreadNotifications>(Nothing {}).await?;
                context.output.item(&answer)
            }
            Notifications::Read(read) => read.run(context).await,
            Notifications::Watch { count } => notification_watch::run(context, count).await,
            Notifications::Preferences { kind: None, .. } => preferences(context, None).await,
            Notifications::Preferences { kind: Some(kind), in_app: None, email: None } => {
                preferences(context, Some(kind)).await
            }
            Notifications::Preferences { kind: Some(notification_kind), in_app, email } => {
                let spec =
                    NotificationPreferenceSpec { in_app: in_app.map(Switch::is_on), email: email.map(Switch::is_on) };
                let path = NotificationPreferencePath { notification_kind };
                context.output.item(&context.send::<SetNotificationPreference>(path, spec).await?)
            }
            Notifications::ResumeMail => {
                let answer = context.ask::<ForgetMailRefusal>(Nothing {}).await?;
                context.output.done(&answer, "Resumed email to your address.")
            }
        }
    }
}

impl Read {
    async fn run(self, context: &Context) -> Done {
        if let Some(notification_id) = self.notification {
            let answer = context.ask::<ReadNotification>(NotificationPath { notification_id }).await?;
            return show(context, &answer);
        }
        let answer = context.send::<ReadNotifications>(Nothing {}, ReadMark { up_to: self.up_to }).await?;
        let sentence = format!("Marked as read. {} unread.", answer["unread"]);
        context.output.done(&answer, sentence)
    }
}

impl Switch {
    fn is_on(self) -> bool {
        self == Switch::On
    }
}

/// A notification as people read it; programs get it as it is.
fn show(context: &Context, it: &Value) -> Done {
    if !context.output.is_for_people() || context.output.quiet {
        return context.output.item(it);
    }
    let text = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
    context.output.line(harmless(&text("title")))?;
    context.output.line("")?;
    for line in text("body").lines() {
        context.output.line(harmless(line))?;
    }
    Ok(())
}

async fn preferences(context: &Context, kind: Option<NotificationKind>) -> Result<(), Failure> {
    let mut answer = context.ask::<GetNotificationPreferences>(Nothing {}).await?;
    let mail = answer["mail"].take();
    let kinds = match answer["kinds"].take() {
        Value::Array(kinds) => kinds,
        _ => Vec::new(),
    };
    let kinds =
        kinds.into_iter().filter(|it| kind.is_none_or(|kind| it["kind"] == kind.to_string().as_str())).collect();
    context.output.list(kinds, KINDS)?;
    if mail["is_configured"] == false {
        context.output.hint("Email is not configured on this server. You are notified in the console only.");
    }
    if let Some(reason) = mail["refusal"]["reason"].as_str() {
        context.output.warn(format!(
            "Email to {} is paused: its mail server answered {} {reason}. Once that is fixed, run `gpuaas notifications resume-mail`.",
            mail["email"].as_str().unwrap_or("your address"),
            mail["refusal"]["code"],
        ));
    }
    Ok(())
}
