//! The endpoints that the area `access` serves.

/// Calls `$callback!(A, B, …)` with every endpoint of the area.
#[macro_export]
macro_rules! access_endpoints {
    ($($then:tt)*) => {
        $crate::hand_over! {
            [$($then)*]
            $crate::access_sessions::ListAccessSessions,
            $crate::access_sessions::GetAccessSession,
            $crate::access_sessions::EndAccessSession,
            $crate::access_sessions::ListAllAccessSessions,
            $crate::access_sessions::EndAnyAccessSession,
            $crate::access_tickets::CreateAccessTicket,
            $crate::access_tickets::BreakGlass,
            $crate::recordings::ListRecordings,
            $crate::recordings::GetRecording,
            $crate::recordings::DownloadRecording,
            $crate::recordings::VerifyRecording,
            $crate::recordings::ListAllRecordings,
            $crate::recordings::DownloadAnyRecording,
            $crate::recordings::VerifyAnyRecording,
            $crate::ssh_certificates::CreateSshCertificate,
            $crate::ssh_certificates::GetSshKnownHosts,
        }
    };
}
