//! The lists that drive everything: mounting, documents, client and sweeps.
//! A new endpoint, channel or event is added here and nowhere else.

/// Calls `$callback!(A, B, …)` with every endpoint of the API.
#[macro_export]
macro_rules! for_each_endpoint {
    ($callback:ident) => {
        $callback! {
            $crate::audit::ListAudit,
            $crate::audit::ListPlatformAudit,
            $crate::audit::ListSeals,
            $crate::audit::VerifySeals,
            $crate::dead_letters::ListDeadLetters,
            $crate::dead_letters::GetDeadLetter,
            $crate::dead_letters::ReplayDeadLetter,
            $crate::dead_letters::DiscardDeadLetter,
            $crate::events::ListEvents,
            $crate::invitations::CreateInvitation,
            $crate::invitations::ListInvitations,
            $crate::invitations::RevokeInvitation,
            $crate::invitations::AcceptInvitation,
            $crate::keys::CreatePersonalKey,
            $crate::keys::ListPersonalKeys,
            $crate::keys::RevokePersonalKey,
            $crate::members::ListMembers,
            $crate::members::ChangeMember,
            $crate::members::RemoveMember,
            $crate::organizations::CreateOrganization,
            $crate::organizations::ListOrganizations,
            $crate::organizations::GetOrganization,
            $crate::organizations::RenameOrganization,
            $crate::organizations::CloseOrganization,
            $crate::organizations::ListAllOrganizations,
            $crate::organizations::SuspendOrganization,
            $crate::organizations::ResumeOrganization,
            $crate::policies::ListPlatformPolicies,
            $crate::policies::GetPlatformPolicy,
            $crate::policies::SetPlatformPolicy,
            $crate::policies::UnsetPlatformPolicy,
            $crate::policies::ListOrganizationPolicies,
            $crate::policies::GetOrganizationPolicy,
            $crate::policies::SetOrganizationPolicy,
            $crate::policies::UnsetOrganizationPolicy,
            $crate::policies::ListProjectPolicies,
            $crate::policies::GetProjectPolicy,
            $crate::policies::SetProjectPolicy,
            $crate::policies::UnsetProjectPolicy,
            $crate::problems::DescribeProblem,
            $crate::projects::CreateProject,
            $crate::projects::ListProjects,
            $crate::projects::GetProject,
            $crate::projects::RenameProject,
            $crate::projects::DeleteProject,
            $crate::service_accounts::CreateServiceAccount,
            $crate::service_accounts::ListServiceAccounts,
            $crate::service_accounts::GetServiceAccount,
            $crate::service_accounts::DeleteServiceAccount,
            $crate::service_accounts::CreateServiceAccountKey,
            $crate::service_accounts::ListServiceAccountKeys,
            $crate::service_accounts::RevokeServiceAccountKey,
            $crate::sessions::CreateSession,
            $crate::sessions::RefreshSession,
            $crate::sessions::StartOidc,
            $crate::sessions::FinishOidc,
            $crate::sessions::ExchangeOidcToken,
            $crate::sessions::ListSessions,
            $crate::sessions::RevokeSession,
            $crate::sessions::SignOutEverywhere,
            $crate::sessions::GetJwks,
            $crate::users::SignUp,
            $crate::users::WhoAmI,
            $crate::users::ChangeProfile,
            $crate::users::ChangePassword,
            $crate::users::ListUsers,
            $crate::users::SetPlatformRole,
            $crate::users::EraseUser,
            $crate::work::ListWork,
            $crate::work::RetryWork,
        }
    };
}

/// Calls `$callback!(A, B, …)` with every WebSocket of the API.
#[macro_export]
macro_rules! for_each_channel {
    ($callback:ident) => {
        $callback! {
            $crate::events::WatchEvents,
        }
    };
}

/// Calls `$callback!(A, B, …)` with every event.
#[macro_export]
macro_rules! for_each_event {
    ($callback:ident) => {
        $callback! {
            $crate::dead_letters::DeadLetterExhausted,
            $crate::dead_letters::DeadLetterReplayRequested,
            $crate::dead_letters::DeadLetterDelivered,
            $crate::dead_letters::DeadLetterDiscarded,
            $crate::invitations::InvitationCreated,
            $crate::invitations::InvitationAccepted,
            $crate::invitations::InvitationRevoked,
            $crate::invitations::InvitationExpired,
            $crate::keys::KeyCreated,
            $crate::keys::KeyRevoked,
            $crate::members::MemberJoined,
            $crate::members::MemberChanged,
            $crate::members::MemberRemoved,
            $crate::organizations::OrganizationCreated,
            $crate::organizations::OrganizationRenamed,
            $crate::organizations::OrganizationSuspended,
            $crate::organizations::OrganizationResumed,
            $crate::organizations::OrganizationClosed,
            $crate::policies::PolicySet,
            $crate::policies::PolicyUnset,
            $crate::projects::ProjectCreated,
            $crate::projects::ProjectRenamed,
            $crate::projects::ProjectDeleteRequested,
            $crate::projects::ProjectDeleted,
            $crate::service_accounts::ServiceAccountCreated,
            $crate::service_accounts::ServiceAccountDeleted,
            $crate::sessions::SessionsRevoked,
            $crate::users::PlatformRoleChanged,
            $crate::users::UserErased,
        }
    };
}
