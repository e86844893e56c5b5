//! From what people call things to ids. An id is taken as it is; anything else
//! is looked up, and must mean exactly one thing.

use contract::{
    Name, Nothing,
    allocations::{AllocationFilter, ListAllocations},
    id::{AllocationId, OrganizationId, ProjectId, RegionId, ServiceAccountId, UserId},
    members::{ListMembers, MemberFilter},
    nodes::{ListNodes, NodeFilter, NodePath},
    organizations::{ListAllOrganizations, ListOrganizations, Organization, OrganizationFilter, OrganizationPath},
    pools::{ListPools, PoolFilter, PoolPath},
    projects::{ListProjects, ProjectFilter, ProjectPath, ProjectState},
    providers::{ListProviders, ProviderFilter, ProviderPath},
    regions::{ListRegions, RegionFilter},
    service_accounts::{ListServiceAccounts, ServiceAccountFilter, ServiceAccountPath},
    skus::{ListSkus, SkuFilter, SkuPath},
    ssh_keys::{ListSshKeys, SshKeyFilter, SshKeyPath},
    users::{ListUsers, UserFilter},
};

use crate::{
    context::Context,
    failure::{Class, Failure},
};

impl Context {
    /// The organization to act in: the one that was set, or the only one there is.
    pub async fn organization(&self) -> Result<OrganizationPath, Failure> {
        if let Some(setting) = &self.settings()?.organization {
            return self.organization_named(&setting.value).await;
        }
        let mut mine = self.all::<ListOrganizations>(Nothing {}, OrganizationFilter::default()).await?;
        match (mine.pop(), mine.as_slice()) {
            (Some(only), []) => Ok(OrganizationPath { organization_id: only.id }),
            (None, _) => Err(Failure::usage(
                "you are not a member of any organization",
                "Create one with `gpuaas organizations create NAME`, or accept an invitation.",
            )),
            (Some(last), rest) => {
                let mut names: Vec<String> = rest.iter().chain([&last]).map(|it| it.name.to_string()).collect();
                names.sort();
                Err(Failure::usage(
                    format!("no organization is set, and you are a member of several: {}", names.join(", ")),
                    "Pass --organization, or set a default with `gpuaas context set --organization NAME`.",
                ))
            }
        }
    }

    pub async fn organization_named(&self, text: &str) -> Result<OrganizationPath, Failure> {
        if let Ok(organization_id) = text.parse() {
            return Ok(OrganizationPath { organization_id });
        }
        let mine = self.all::<ListOrganizations>(Nothing {}, organizations_named(text)?).await?;
        let organization_id = only(ORGANIZATION, text, among(&mine, text))?;
        Ok(OrganizationPath { organization_id })
    }

    /// Among all of the platform, for its staff.
    pub async fn any_organization_named(&self, text: &str) -> Result<OrganizationPath, Failure> {
        if let Ok(organization_id) = text.parse() {
            return Ok(OrganizationPath { organization_id });
        }
        let all = self.all::<ListAllOrganizations>(Nothing {}, organizations_named(text)?).await?;
        let organization_id = only(ORGANIZATION, text, among(&all, text))?;
        Ok(OrganizationPath { organization_id })
    }

    /// The project to act in.
    pub async fn project(&self) -> Result<ProjectPath, Failure> {
        match &self.settings()?.project {
            Some(setting) => self.project_named(&setting.value).await,
            None => {
                // Who is not signed in has another question to answer first.
                self.check_signed_in()?;
                Err(Failure::usage(
                    "no project is set",
                    "Pass --project, or set a default with `gpuaas context set --project NAME`. See `gpuaas projects list`.",
                ))
            }
        }
    }

    pub async fn project_named(&self, text: &str) -> Result<ProjectPath, Failure> {
        if let Ok(project_id) = text.parse() {
            return Ok(ProjectPath { project_id });
        }
        let name = text.parse::<Name>().map_err(|_| missing(PROJECT, text))?;
        let query = ProjectFilter { name: Some(name), ..ProjectFilter::default() };
        let found = self.all::<ListProjects>(self.organization().await?, query).await?;
        // A deleted project leaves its name to others.
        let alive = found.iter().filter(|it| it.state != ProjectState::Deleted).map(|it| it.id);
        let project_id: ProjectId = only(PROJECT, text, alive.collect())?;
        Ok(ProjectPath { project_id })
    }

    /// An allocation of a project that is not over.
    pub async fn allocation_by_name(&self, project_id: ProjectId, text: &str) -> Result<AllocationId, Failure> {
        let name = text.parse::<Name>().map_err(|_| missing(ALLOCATION, text))?;
        let query = AllocationFilter { name: Some(name), ..AllocationFilter::default() };
        let found = self.all::<ListAllocations>(ProjectPath { project_id }, query).await?;
        only(ALLOCATION, text, found.iter().map(|it| it.id).collect())
    }

    pub async fn service_account_named(&self, text: &str) -> Result<ServiceAccountPath, Failure> {
        let OrganizationPath { organization_id } = self.organization().await?;
        if let Ok(service_account_id) = text.parse() {
            return Ok(ServiceAccountPath { organization_id, service_account_id });
        }
        let path = OrganizationPath { organization_id };
        let name = text.parse::<Name>().map_err(|_| missing(SERVICE_ACCOUNT, text))?;
        let query = ServiceAccountFilter { name: Some(name), ..ServiceAccountFilter::default() };
        let found = self.all::<ListServiceAccounts>(path, query).await?;
        let named = found.iter().map(|it| it.id).collect();
        let service_account_id: ServiceAccountId = only(SERVICE_ACCOUNT, text, named)?;
        Ok(ServiceAccountPath { organization_id, service_account_id })
    }

    /// A member of the organization, by id or email address.
    pub async fn member_named(&self, organization: &OrganizationPath, text: &str) -> Result<UserId, Failure> {
        if let Ok(user_id) = text.parse() {
            return Ok(user_id);
        }
        let email = text.parse().map_err(|_| missing(MEMBER, text))?;
        let query = MemberFilter { email: Some(email), ..MemberFilter::default() };
        let found = self.all::<ListMembers>(organization.clone(), query).await?;
        only(MEMBER, text, found.iter().map(|it| it.user_id).collect())
    }

    /// Anybody on the platform, by id or email address.
    pub async fn user_named(&self, text: &str) -> Result<UserId, Failure> {
        if let Ok(user_id) = text.parse() {
            return Ok(user_id);
        }
        let email = text.parse().map_err(|_| missing(PERSON, text))?;
        let query = UserFilter { email: Some(email), ..UserFilter::default() };
        let found = self.all::<ListUsers>(Nothing {}, query).await?;
        only(PERSON, text, found.iter().map(|it| it.id).collect())
    }

    pub async fn region_named(&self, text: &str) -> Result<RegionId, Failure> {
        if let Ok(region_id) = text.parse() {
            return Ok(region_id);
        }
        let name = Some(text.parse().map_err(|_| missing(REGION, text))?);
        let found = self.all::<ListRegions>(Nothing {}, RegionFilter { name, ..RegionFilter::default() }).await?;
        only(REGION, text, found.iter().map(|it| it.id).collect())
    }

    pub async fn pool_named(&self, text: &str) -> Result<PoolPath, Failure> {
        if let Ok(pool_id) = text.parse() {
            return Ok(PoolPath { pool_id });
        }
        let name = Some(text.parse().map_err(|_| missing(POOL, text))?);
        let found = self.all::<ListPools>(Nothing {}, PoolFilter { name, ..PoolFilter::default() }).await?;
        let pool_id = only(POOL, text, found.iter().map(|it| it.id).collect())?;
        Ok(PoolPath { pool_id })
    }

    /// A provider that was not removed.
    pub async fn provider_named(&self, text: &str) -> Result<ProviderPath, Failure> {
        if let Ok(provider_id) = text.parse() {
            return Ok(ProviderPath { provider_id });
        }
        let name = Some(text.parse().map_err(|_| missing(PROVIDER, text))?);
        let found = self.all::<ListProviders>(Nothing {}, ProviderFilter { name, ..ProviderFilter::default() }).await?;
        let provider_id = only(PROVIDER, text, found.iter().map(|it| it.id).collect())?;
        Ok(ProviderPath { provider_id })
    }

    /// A node that did not retire; hosts of several pools may share a name.
    pub async fn node_named(&self, text: &str) -> Result<NodePath, Failure> {
        if let Ok(node_id) = text.parse() {
            return Ok(NodePath { node_id });
        }
        let name = Some(text.parse().map_err(|_| missing(NODE, text))?);
        let found = self.all::<ListNodes>(Nothing {}, NodeFilter { name, ..NodeFilter::default() }).await?;
        let node_id = only(NODE, text, found.iter().map(|it| it.id).collect())?;
        Ok(NodePath { node_id })
    }

    /// On offer or not: a name is never given to another.
    pub async fn sku_named(&self, text: &str) -> Result<SkuPath, Failure> {
        if let Ok(sku_id) = text.parse() {
            return Ok(SkuPath { sku_id });
        }
        let name = Some(text.parse().map_err(|_| missing(SKU, text))?);
        let query = SkuFilter { name, retired: Some(true), ..SkuFilter::default() };
        let found = self.all::<ListSkus>(Nothing {}, query).await?;
        let sku_id = only(SKU, text, found.iter().map(|it| it.id).collect())?;
        Ok(SkuPath { sku_id })
    }

    /// One of the caller's own.
    pub async fn ssh_key_named(&self, text: &str) -> Result<SshKeyPath, Failure> {
        if let Ok(ssh_key_id) = text.parse() {
            return Ok(SshKeyPath { ssh_key_id });
        }
        let name = Some(text.parse().map_err(|_| missing(SSH_KEY, text))?);
        let found = self.all::<ListSshKeys>(Nothing {}, SshKeyFilter { name, ..SshKeyFilter::default() }).await?;
        let ssh_key_id = only(SSH_KEY, text, found.iter().map(|it| it.id).collect())?;
        Ok(SshKeyPath { ssh_key_id })
    }
}

/// What is looked for, and which command lists all of them.
#[derive(Clone, Copy)]
struct Kind {
    one: &'static str,
    many: &'static str,
}

const ORGANIZATION: Kind = Kind { one: "organization", many: "organizations" };
const ALLOCATION: Kind = Kind { one: "allocation", many: "allocations" };
const PROJECT: Kind = Kind { one: "project", many: "projects" };
const SERVICE_ACCOUNT: Kind = Kind { one: "service account", many: "service-accounts" };
const MEMBER: Kind = Kind { one: "member", many: "members" };
const PERSON: Kind = Kind { one: "user", many: "users" };
const REGION: Kind = Kind { one: "region", many: "regions" };
const NODE: Kind = Kind { one: "node", many: "nodes" };
const POOL: Kind = Kind { one: "pool", many: "pools" };
const PROVIDER: Kind = Kind { one: "provider", many: "providers" };
const SKU: Kind = Kind { one: "SKU", many: "skus" };
const SSH_KEY: Kind = Kind { one: "SSH key", many: "ssh-keys" };

fn organizations_named(text: &str) -> Result<OrganizationFilter, Failure> {
    let name = text.parse::<Name>().map_err(|_| missing(ORGANIZATION, text))?;
    Ok(OrganizationFilter { name: Some(name), ..OrganizationFilter::default() })
}

/// Names of organizations need not differ, and may differ in capitals alone:
/// then the spelling decides.
fn among(found: &[Organization], text: &str) -> Vec<OrganizationId> {
    let exact: Vec<_> = found.iter().filter(|it| it.name.as_str() == text).map(|it| it.id).collect();
    if exact.is_empty() { found.iter().map(|it| it.id).collect() } else { exact }
}

fn only<T: Copy + ToString>(kind: Kind, text: &str, found: Vec<T>) -> Result<T, Failure> {
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(missing(kind, text)),
        several => {
            let ids: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(Failure::new(
                Class::Invalid,
                format!("more than one {} is named `{text}`: {}", kind.one, ids.join(", ")),
                "Use the ID instead of the name.",
            ))
        }
    }
}

fn missing(kind: Kind, text: &str) -> Failure {
    Failure::new(
        Class::NotFound,
        format!("{} `{text}` not found, or you do not have access", kind.one),
        format!("Check the name with `gpuaas {} list`, and the organization with `gpuaas context show`.", kind.many),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_must_mean_exactly_one_thing() {
        assert_eq!(only(PROJECT, "a", vec![7]).unwrap(), 7);
        assert_eq!(only::<i32>(PROJECT, "a", vec![]).unwrap_err().exit_code(), 5);
        let error = only(PROJECT, "a", vec![7, 8]).unwrap_err();
        assert_eq!(error.exit_code(), 7);
        assert!(error.for_people().contains("7, 8"), "{}", error.for_people());
    }
}
