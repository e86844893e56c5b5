//! The endpoints and channels that the area `people` serves.

/// Calls `$callback!(A, B, …)` with every endpoint of the area.
#[macro_export]
macro_rules! people_endpoints {
    ($($then:tt)*) => {
        $crate::hand_over! {
            [$($then)*]
            $crate::account_tokens::ConfirmSignUp,
            $crate::account_tokens::RequestPasswordReset,
            $crate::account_tokens::ConfirmPasswordReset,
            $crate::account_tokens::RequestAddressChange,
            $crate::account_tokens::ConfirmAddressChange,
            $crate::invitations::CreateInvitation,
            $crate::invitations::ListInvitations,
            $crate::invitations::RevokeInvitation,
            $crate::invitations::AcceptInvitation,
            $crate::keys::CreatePersonalKey,
            $crate::keys::ListPersonalKeys,
            $crate::keys::RevokePersonalKey,
            $crate::mails::ListMails,
            $crate::members::ListMembers,
            $crate::members::ChangeMember,
            $crate::members::RemoveMember,
            $crate::members::LeaveOrganization,
            $crate::mfa::FinishMfa,
            $crate::mfa::GetMfa,
            $crate::mfa::StartTotp,
            $crate::mfa::ConfirmTotp,
            $crate::mfa::StartPasskey,
            $crate::mfa::ConfirmPasskey,
            $crate::mfa::RemoveFactor,
            $crate::mfa::ReplaceRecoveryCodes,
            $crate::mfa::StartStepUp,
            $crate::mfa::FinishStepUp,
            $crate::notifications::ListNotifications,
            $crate::notifications::CountUnreadNotifications,
            $crate::notifications::ReadNotification,
            $crate::notifications::ReadNotifications,
            $crate::notifications::GetNotificationPreferences,
            $crate::notifications::SetNotificationPreference,
            $crate::notifications::ForgetMailRefusal,
            $crate::organizations::CreateOrganization,
            $crate::organizations::ListOrganizations,
            $crate::organizations::GetOrganization,
            $crate::organizations::RenameOrganization,
            $crate::organizations::CloseOrganization,
            $crate::organizations::PreviewOrganizationClosing,
            $crate::organizations::ListAllOrganizations,
            $crate::organizations::SuspendOrganization,
            $crate::organizations::ResumeOrganization,
            $crate::projects::CreateProject,
            $crate::projects::ListProjects,
            $crate::projects::GetProject,
            $crate::projects::RenameProject,
            $crate::projects::DeleteProject,
            $crate::projects::PreviewProjectDeletion,
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
            $crate::ssh_keys::AddSshKey,
            $crate::ssh_keys::ListSshKeys,
            $crate::ssh_keys::RemoveSshKey,
            $crate::users::SignUp,
            $crate::users::WhoAmI,
            $crate::users::ChangeProfile,
            $crate::users::ChangePassword,
            $crate::users::ListUsers,
            $crate::users::SetPlatformRole,
            $crate::users::EraseUser,
            $crate::webhook_deliveries::ListWebhookDeliveries,
            $crate::webhook_deliveries::GetWebhookDelivery,
            $crate::webhook_deliveries::ResendWebhookDelivery,
            $crate::webhooks::CreateWebhook,
            $crate::webhooks::ListWebhooks,
            $crate::webhooks::GetWebhook,
            $crate::webhooks::ChangeWebhook,
            $crate::webhooks::DeleteWebhook,
            $crate::webhooks::RotateWebhookSecret,
            $crate::webhooks::DisableWebhook,
            $crate::webhooks::EnableWebhook,
            $crate::webhooks::TestWebhook,
        }
    };
}

/// Calls `$callback!(A, B, …)` with every channel of the area.
#[macro_export]
macro_rules! people_channels {
    ($($then:tt)*) => {
        $crate::hand_over! {
            [$($then)*]
            $crate::notifications::WatchNotifications,
        }
    };
}
