//! The endpoints that the area `compute` serves.

/// Calls `$callback!(A, B, …)` with every endpoint of the area.
#[macro_export]
macro_rules! compute_endpoints {
    ($($then:tt)*) => {
        $crate::hand_over! {
            [$($then)*]
            $crate::allocations::CreateAllocation,
            $crate::allocations::ListAllocations,
            $crate::allocations::GetAllocation,
            $crate::allocations::ExplainAllocation,
            $crate::allocations::ReleaseAllocation,
            $crate::allocations::StopAllocation,
            $crate::allocations::StartAllocation,
            $crate::allocations::SetAllocationSshKeys,
            $crate::allocations::ListAllAllocations,
            $crate::allocations::ForceReleaseAllocation,
            $crate::quotas::SetQuota,
            $crate::quotas::UnsetQuota,
            $crate::quotas::ListQuotas,
            $crate::quotas::ListAnyQuotas,
        }
    };
}
