//! `gpuaas policies`: typed settings of the platform, an organization or a project.

use clap::{Args, Subcommand};
use contract::{
    Nothing, Timestamp,
    organizations::OrganizationPath,
    policies::{
        GetOrganizationPolicy, GetPlatformPolicy, GetProjectPolicy, ListOrganizationPolicies, ListPlatformPolicies,
        ListProjectPolicies, OrganizationPolicyPath, PlatformPolicyPath, Policy, PolicyFilter, PolicyValue,
        ProjectPolicyPath, SetOrganizationPolicy, SetPlatformPolicy, SetProjectPolicy, UnsetOrganizationPolicy,
        UnsetPlatformPolicy, UnsetProjectPolicy,
    },
    projects::ProjectPath,
};
use serde_json::Value;

use crate::{
    arguments::Paging,
    context::Context,
    exact,
    explain::explain,
    failure::{Done, Failure},
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas policies list
  gpuaas policies list --explicit --project training
  gpuaas policies explain projects.max --organization acme
  gpuaas policies set projects.max 20
  gpuaas policies unset projects.max
  gpuaas policies set projects.max 50 --platform

A policy applies at a level: the current organization, the project given with
--project, or the whole platform with --platform.";

/// Manage policies of the platform, an organization or a project
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Policies {
    /// List every policy and its effective value at a level
    List {
        /// Only policies set explicitly at this level
        #[arg(long)]
        explicit: bool,
        #[command(flatten)]
        level: LevelArguments,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a policy; --quiet prints only its value
    Get {
        /// Policy key; see `policies list`
        key: String,
        #[command(flatten)]
        level: LevelArguments,
    },
    /// Explain which level sets a policy and why it applies
    Explain {
        /// Policy key; see `policies list`
        key: String,
        #[command(flatten)]
        level: LevelArguments,
    },
    /// Set a policy at a level
    Set {
        /// Policy key; see `policies list`
        key: String,
        /// Value: a number, true or false, or a word; see `policies explain`
        #[arg(allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        level: LevelArguments,
    },
    /// Unset a policy at a level, so that the parent level applies
    Unset {
        /// Policy key; see `policies list`
        key: String,
        #[command(flatten)]
        level: LevelArguments,
    },
}

#[derive(Debug, Args)]
pub struct LevelArguments {
    /// Use the platform level (platform staff)
    #[arg(long, conflicts_with_all = ["organization", "project"])]
    platform: bool,
}

enum Level {
    Platform,
    Organization(OrganizationPath),
    Project(ProjectPath),
}

const COLUMNS: Columns = columns!(Policy: key, value, unit, source, guardrail, about);

impl Policies {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Policies::List { explicit, level, paging } => {
                let query = PolicyFilter {
                    set_here: explicit.then_some(true),
                    limit: paging.page(),
                    ..PolicyFilter::default()
                };
                match level.read(context).await? {
                    Level::Platform => context.list::<ListPlatformPolicies>(Nothing {}, query, paging, COLUMNS).await,
                    Level::Organization(path) => {
                        context.list::<ListOrganizationPolicies>(path, query, paging, COLUMNS).await
                    }
                    Level::Project(path) => context.list::<ListProjectPolicies>(path, query, paging, COLUMNS).await,
                }
            }
            Policies::Get { key, level } => show(context, &level.read(context).await?.get(context, key).await?),
            Policies::Explain { key, level } => {
                let answer = level.read(context).await?.get(context, key).await?;
                if context.output.is_for_people() && !context.output.quiet {
                    let policy: Policy = exact::read(&answer)?;
                    return context.output.line(explain(&policy, Timestamp::now()));
                }
                show(context, &answer)
            }
            Policies::Set { key, value, level } => {
                show(context, &level.read(context).await?.set(context, key, PolicyValue { value }).await?)
            }
            Policies::Unset { key, level } => show(context, &level.read(context).await?.unset(context, key).await?),
        }
    }
}

fn show(context: &Context, answer: &Value) -> Done {
    if !context.output.is_for_people() || context.output.quiet {
        return context.output.item_known_by(answer, "/value");
    }
    let mut shown = answer.clone();
    // `explain` draws them as a table.
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("levels");
    }
    context.output.item(&shown)
}

impl LevelArguments {
    /// A project in the context or the environment does not count: anyone who sets
    /// a policy says for what.
    async fn read(&self, context: &Context) -> Result<Level, Failure> {
        Ok(if self.platform {
            Level::Platform
        } else if context.flags.project.is_some() {
            Level::Project(context.project().await?)
        } else {
            Level::Organization(context.organization().await?)
        })
    }
}

impl Level {
    async fn get(self, context: &Context, key: String) -> Result<Value, Failure> {
        match self {
            Level::Platform => context.ask::<GetPlatformPolicy>(PlatformPolicyPath { key }).await,
            Level::Organization(OrganizationPath { organization_id }) => {
                context.ask::<GetOrganizationPolicy>(OrganizationPolicyPath { organization_id, key }).await
            }
            Level::Project(ProjectPath { project_id }) => {
                context.ask::<GetProjectPolicy>(ProjectPolicyPath { project_id, key }).await
            }
        }
    }

    async fn set(self, context: &Context, key: String, value: PolicyValue) -> Result<Value, Failure> {
        match self {
            Level::Platform => context.send::<SetPlatformPolicy>(PlatformPolicyPath { key }, value).await,
            Level::Organization(OrganizationPath { organization_id }) => {
                context.send::<SetOrganizationPolicy>(OrganizationPolicyPath { organization_id, key }, value).await
            }
            Level::Project(ProjectPath { project_id }) => {
                context.send::<SetProjectPolicy>(ProjectPolicyPath { project_id, key }, value).await
            }
        }
    }

    async fn unset(self, context: &Context, key: String) -> Result<Value, Failure> {
        match self {
            Level::Platform => context.ask::<UnsetPlatformPolicy>(PlatformPolicyPath { key }).await,
            Level::Organization(OrganizationPath { organization_id }) => {
                context.ask::<UnsetOrganizationPolicy>(OrganizationPolicyPath { organization_id, key }).await
            }
            Level::Project(ProjectPath { project_id }) => {
                context.ask::<UnsetProjectPolicy>(ProjectPolicyPath { project_id, key }).await
            }
        }
    }
}
