//! The endpoints and channels that the area `platform` serves.

/// Calls `$callback!(A, B, …)` with every endpoint of the area.
#[macro_export]
macro_rules! platform_endpoints {
    ($($then:tt)*) => {
        $crate::hand_over! {
            [$($then)*]
            $crate::audit::ListAudit,
            $crate::audit::ListPlatformAudit,
            $crate::audit::ListSeals,
            $crate::audit::VerifySeals,
            $crate::dead_letters::ListDeadLetters,
            $crate::dead_letters::GetDeadLetter,
            $crate::dead_letters::ReplayDeadLetter,
            $crate::dead_letters::DiscardDeadLetter,
            $crate::events::ListEvents,
            $crate::events::ListPlatformEvents,
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
            $crate::work::ListWork,
            $crate::work::RetryWork,
        }
    };
}

/// Calls `$callback!(A, B, …)` with every channel of the area.
#[macro_export]
macro_rules! platform_channels {
    ($($then:tt)*) => {
        $crate::hand_over! {
            [$($then)*]
            $crate::events::WatchEvents,
            $crate::events::WatchPlatformEvents,
        }
    };
}
