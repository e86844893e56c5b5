"""What the API takes and answers.

Generated from the contract; a change made here is lost. @generated
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from gpuaas._model import Model
from gpuaas._secret import Secret

__all__ = [
    "AccessKind",
    "AccessSession",
    "AccessSessionId",
    "AccessSessionPage",
    "AccessSessionState",
    "AccessSessionStateChoice",
    "AccessTicketSpec",
    "AccountToken",
    "AddressChangeSpec",
    "Agent",
    "AgentSource",
    "AgentSourceSpec",
    "AgentUpdateSpec",
    "AgentUpdateState",
    "AgentUrl",
    "AgentVersion",
    "Agents",
    "Allocation",
    "AllocationCost",
    "AllocationId",
    "AllocationPage",
    "AllocationPart",
    "AllocationReason",
    "AllocationSpec",
    "AllocationSshKeys",
    "AllocationState",
    "AllocationStateChoice",
    "AllocationTelemetry",
    "AnnouncedWindow",
    "AnnouncedWindowPage",
    "AuditEntry",
    "AuditEntryId",
    "AuditEntryPage",
    "Balance",
    "Balances",
    "Because",
    "BillingProfile",
    "BillingProfileSpec",
    "BinaryText",
    "BreakGlassSpec",
    "Budget",
    "BudgetChange",
    "BudgetExplanation",
    "BudgetId",
    "BudgetMode",
    "BudgetModeChoice",
    "BudgetPage",
    "BudgetPeriod",
    "BudgetPeriodChoice",
    "BudgetSpec",
    "Burn",
    "CapacityLine",
    "CapacityLinePage",
    "CapacityUnit",
    "ChangeMark",
    "Charge",
    "Command",
    "Correction",
    "CorrectionId",
    "CorrectionKind",
    "CorrectionPage",
    "CorrectionSpec",
    "CorrectionState",
    "CorrectionStateChoice",
    "Credentials",
    "CurrencyCode",
    "DeadLetter",
    "DeadLetterId",
    "DeadLetterPage",
    "DeadLetterState",
    "DeadLetterStateChoice",
    "Difference",
    "Domain",
    "DrainSpec",
    "Email",
    "Ending",
    "EndingPreview",
    "EnrollmentToken",
    "EnrollmentTokenId",
    "EnrollmentTokenPage",
    "EnrollmentTokenSpec",
    "EnrollmentTokenStatus",
    "EnrollmentTokenStatusChoice",
    "Erase",
    "EraseChoice",
    "EventId",
    "EventPattern",
    "Explanation",
    "ExportPlace",
    "Factor",
    "FactorId",
    "FactorKind",
    "Gateway",
    "GatewayAgentUrl",
    "GatewayId",
    "GatewayPage",
    "GatewayPublicUrl",
    "GatewaySpec",
    "GatewayStatus",
    "GatewayStatusChoice",
    "GpuModel",
    "GpuPoint",
    "GpuSeries",
    "HostAndPort",
    "HostName",
    "HostPoint",
    "Invitation",
    "InvitationId",
    "InvitationPage",
    "InvitationSpec",
    "InvitationState",
    "InvitationStateChoice",
    "InvitationToken",
    "Invoice",
    "InvoiceId",
    "InvoiceKind",
    "InvoiceLine",
    "InvoiceSummary",
    "InvoiceSummaryPage",
    "Isolation",
    "IsolationChoice",
    "Journal",
    "JournalId",
    "JournalPage",
    "Jwk",
    "Jwks",
    "Key",
    "KeyId",
    "KeyPage",
    "KeySpec",
    "Label",
    "MaasName",
    "MaasUrl",
    "Machine",
    "MachineDesired",
    "MachineId",
    "MachinePage",
    "MachinePower",
    "MachinePowerAction",
    "MachinePowerActionChoice",
    "MachinePowerSpec",
    "MachineState",
    "MachineStateChoice",
    "Mail",
    "MailAddress",
    "MailId",
    "MailPage",
    "MailRefusal",
    "MailState",
    "MailStateChoice",
    "MaintenanceWindow",
    "MaintenanceWindowId",
    "MaintenanceWindowPage",
    "MaintenanceWindowSpec",
    "MaintenanceWindowState",
    "MaintenanceWindowStateChoice",
    "Member",
    "MemberPage",
    "MemberSpec",
    "Mfa",
    "MfaAnswer",
    "MfaChallenge",
    "MfaMethod",
    "MfaVerified",
    "Month",
    "Name",
    "NewAccessTicket",
    "NewEnrollmentToken",
    "NewFactor",
    "NewGateway",
    "NewInvitation",
    "NewKey",
    "NewPassword",
    "NewUser",
    "NewWebhook",
    "Node",
    "NodeCertificate",
    "NodeChanges",
    "NodeDetail",
    "NodeHealth",
    "NodeHealthChoice",
    "NodeHost",
    "NodeId",
    "NodePage",
    "NodeState",
    "NodeStateChoice",
    "NodeTask",
    "NodeTaskState",
    "NodeTelemetry",
    "Nothing",
    "Notification",
    "NotificationId",
    "NotificationKind",
    "NotificationKindChoice",
    "NotificationMail",
    "NotificationPage",
    "NotificationPreference",
    "NotificationPreferenceSpec",
    "NotificationPreferences",
    "OidcFinish",
    "OidcStart",
    "OidcStarted",
    "OidcToken",
    "Organization",
    "OrganizationId",
    "OrganizationPage",
    "OrganizationSpec",
    "OrganizationState",
    "OrganizationStateChoice",
    "OtherCharge",
    "OtherChargeKind",
    "Party",
    "PartySpec",
    "PasskeyAssertion",
    "PasskeyConfirmation",
    "PasskeyOptions",
    "PasskeyRequest",
    "PasskeyStarted",
    "PasswordReset",
    "PasswordResetSpec",
    "Payment",
    "PaymentDrift",
    "PaymentDriftId",
    "PaymentDriftKind",
    "PaymentDriftPage",
    "PaymentEvent",
    "PaymentEventId",
    "PaymentEventOutcome",
    "PaymentEventOutcomeChoice",
    "PaymentEventPage",
    "PaymentId",
    "PaymentPage",
    "PaymentSpec",
    "PaymentState",
    "PaymentStateChoice",
    "Permission",
    "PermissionChoice",
    "PersonName",
    "PlatformRole",
    "PlatformRoleChoice",
    "PlatformRoleSpec",
    "Policy",
    "PolicyLevel",
    "PolicyPage",
    "PolicySetting",
    "PolicyValue",
    "Pool",
    "PoolChange",
    "PoolId",
    "PoolPage",
    "PoolProvider",
    "PoolProviderChoice",
    "PoolSpec",
    "PoolUpdate",
    "Price",
    "PriceId",
    "PriceKind",
    "PriceKindChoice",
    "PricePage",
    "PriceSpec",
    "PriceUnit",
    "PriceUnitChoice",
    "PrintedLine",
    "Problem",
    "ProblemKind",
    "Profile",
    "Project",
    "ProjectId",
    "ProjectPage",
    "ProjectSpec",
    "ProjectState",
    "ProjectStateChoice",
    "Proof",
    "ProofPlace",
    "Provider",
    "ProviderChange",
    "ProviderId",
    "ProviderKind",
    "ProviderKindChoice",
    "ProviderPage",
    "ProviderSpec",
    "ProviderState",
    "ProviderStateChoice",
    "PublicKey",
    "Quota",
    "QuotaId",
    "QuotaPage",
    "QuotaSpec",
    "ReadMark",
    "Reason",
    "RecordedEvent",
    "RecordedEventPage",
    "Recording",
    "RecordingDetail",
    "RecordingGap",
    "RecordingId",
    "RecordingPage",
    "RecordingProof",
    "RecordingSegment",
    "RecordingState",
    "RecordingStateChoice",
    "RecoveryCodes",
    "RefreshToken",
    "Refund",
    "RefundId",
    "RefundPage",
    "RefundSpec",
    "RefundState",
    "RefundStateChoice",
    "Region",
    "RegionId",
    "RegionPage",
    "RegionSpec",
    "Rejection",
    "Resolution",
    "ResolutionChoice",
    "RetireSpec",
    "Revenue",
    "RevenueLine",
    "Role",
    "RoleChoice",
    "Seal",
    "SealFinding",
    "SealReport",
    "Seals",
    "SecretText",
    "ServiceAccount",
    "ServiceAccountId",
    "ServiceAccountPage",
    "ServiceAccountSpec",
    "ServiceAccountSummary",
    "Session",
    "SessionId",
    "SessionPage",
    "Sha256Hex",
    "Shape",
    "ShapeChoice",
    "ShownSecret",
    "SignUpConfirmation",
    "Sku",
    "SkuId",
    "SkuLimits",
    "SkuLimitsSpec",
    "SkuPage",
    "SkuSpec",
    "Slot",
    "SlotCondition",
    "SlotId",
    "SshCertificate",
    "SshCertificateSpec",
    "SshKey",
    "SshKeyId",
    "SshKeyPage",
    "SshKeySpec",
    "SshSignature",
    "TagValue",
    "Tax",
    "TaxSpec",
    "TicketKindChoice",
    "TokenSet",
    "TotpConfirmation",
    "TotpStarted",
    "UnreadNotifications",
    "Usage",
    "UsageBy",
    "UsageByChoice",
    "UsageExport",
    "UsageLine",
    "User",
    "UserId",
    "UserPage",
    "Utilization",
    "UtilizationLine",
    "WalletChange",
    "WalletState",
    "Webhook",
    "WebhookChange",
    "WebhookDelivery",
    "WebhookDeliveryId",
    "WebhookDeliveryPage",
    "WebhookDeliveryState",
    "WebhookDeliveryStateChoice",
    "WebhookDescription",
    "WebhookId",
    "WebhookPage",
    "WebhookSpec",
    "WebhookState",
    "WebhookStateChoice",
    "WebhookUrl",
    "Whoami",
    "WorkItem",
    "WorkItemPage",
]

# One of terminal, tcp, http, ssh; accept words that are not listed.
AccessKind: TypeAlias = Literal["terminal", "tcp", "http", "ssh"] | str
# Identifies one AccessSession; opaque.
AccessSessionId: TypeAlias = str
# One of opening, open, detached, ended; accept words that are not listed.
AccessSessionState: TypeAlias = Literal["opening", "open", "detached", "ended"] | str
AccessSessionStateChoice: TypeAlias = Literal["opening", "open", "detached", "ended"]
# One of waiting, updating, updated, rolled_back, failed, stopped; accept words that are not listed.
AgentUpdateState: TypeAlias = Literal["waiting", "updating", "updated", "rolled_back", "failed", "stopped"] | str
AgentUrl: TypeAlias = str
AgentVersion: TypeAlias = str
# Identifies one Allocation; opaque.
AllocationId: TypeAlias = str
# One of suspended, not_its_turn, older_requests, no_room, never_fits, task_failed, start_failed, keys_not_written, sanitized_again, lease_ended, stopped_too_long, stopped_by_project, released_by_project, project_deleted, out_of_funds, force_released, node_drained, node_lost, unknown; accept words that are not listed.
AllocationReason: TypeAlias = Literal["suspended", "not_its_turn", "older_requests", "no_room", "never_fits", "task_failed", "start_failed", "keys_not_written", "sanitized_again", "lease_ended", "stopped_too_long", "stopped_by_project", "released_by_project", "project_deleted", "out_of_funds", "force_released", "node_drained", "node_lost", "unknown"] | str
# One of requested, provisioning, active, stopping, stopped, starting, releasing, released, failed, release_failed; accept words that are not listed.
AllocationState: TypeAlias = Literal["requested", "provisioning", "active", "stopping", "stopped", "starting", "releasing", "released", "failed", "release_failed"] | str
AllocationStateChoice: TypeAlias = Literal["requested", "provisioning", "active", "stopping", "stopped", "starting", "releasing", "released", "failed", "release_failed"]
# Identifies one AuditEntry; opaque.
AuditEntryId: TypeAlias = str
BinaryText: TypeAlias = str
# Identifies one Budget; opaque.
BudgetId: TypeAlias = str
# One of hard, notify; accept words that are not listed.
BudgetMode: TypeAlias = Literal["hard", "notify"] | str
BudgetModeChoice: TypeAlias = Literal["hard", "notify"]
# One of month, quarter, year, total; accept words that are not listed.
BudgetPeriod: TypeAlias = Literal["month", "quarter", "year", "total"] | str
BudgetPeriodChoice: TypeAlias = Literal["month", "quarter", "year", "total"]
# One of node, gpu, mig_slice; accept words that are not listed.
CapacityUnit: TypeAlias = Literal["node", "gpu", "mig_slice"] | str
ChangeMark: TypeAlias = str
Command: TypeAlias = str
# Identifies one Correction; opaque.
CorrectionId: TypeAlias = str
# One of credit, adjustment, reversal, refund, price, policy; accept words that are not listed.
CorrectionKind: TypeAlias = Literal["credit", "adjustment", "reversal", "refund", "price", "policy"] | str
# One of proposed, posted, rejected, expired; accept words that are not listed.
CorrectionState: TypeAlias = Literal["proposed", "posted", "rejected", "expired"] | str
CorrectionStateChoice: TypeAlias = Literal["proposed", "posted", "rejected", "expired"]
CurrencyCode: TypeAlias = str
# Identifies one DeadLetter; opaque.
DeadLetterId: TypeAlias = str
# One of waiting, exhausted, delivered, discarded; accept words that are not listed.
DeadLetterState: TypeAlias = Literal["waiting", "exhausted", "delivered", "discarded"] | str
DeadLetterStateChoice: TypeAlias = Literal["waiting", "exhausted", "delivered", "discarded"]
Domain: TypeAlias = str
Email: TypeAlias = str
# Identifies one EnrollmentToken; opaque.
EnrollmentTokenId: TypeAlias = str
# One of unused, used, revoked, expired; accept words that are not listed.
EnrollmentTokenStatus: TypeAlias = Literal["unused", "used", "revoked", "expired"] | str
EnrollmentTokenStatusChoice: TypeAlias = Literal["unused", "used", "revoked", "expired"]
# One of secure, quick; accept words that are not listed.
Erase: TypeAlias = Literal["secure", "quick"] | str
EraseChoice: TypeAlias = Literal["secure", "quick"]
# Identifies one Event; opaque.
EventId: TypeAlias = str
EventPattern: TypeAlias = str
ExportPlace: TypeAlias = str
# Identifies one Factor; opaque.
FactorId: TypeAlias = str
# One of totp, passkey; accept words that are not listed.
FactorKind: TypeAlias = Literal["totp", "passkey"] | str
GatewayAgentUrl: TypeAlias = str
# Identifies one Gateway; opaque.
GatewayId: TypeAlias = str
GatewayPublicUrl: TypeAlias = str
# One of waiting, live, silent, removed; accept words that are not listed.
GatewayStatus: TypeAlias = Literal["waiting", "live", "silent", "removed"] | str
GatewayStatusChoice: TypeAlias = Literal["waiting", "live", "silent", "removed"]
GpuModel: TypeAlias = str
HostAndPort: TypeAlias = str
HostName: TypeAlias = str
# Identifies one Invitation; opaque.
InvitationId: TypeAlias = str
# One of pending, accepted, revoked, expired; accept words that are not listed.
InvitationState: TypeAlias = Literal["pending", "accepted", "revoked", "expired"] | str
InvitationStateChoice: TypeAlias = Literal["pending", "accepted", "revoked", "expired"]
# Identifies one Invoice; opaque.
InvoiceId: TypeAlias = str
# One of invoice, credit_note; accept words that are not listed.
InvoiceKind: TypeAlias = Literal["invoice", "credit_note"] | str
# One of user_revoke, full_reimage; accept words that are not listed.
Isolation: TypeAlias = Literal["user_revoke", "full_reimage"] | str
IsolationChoice: TypeAlias = Literal["user_revoke", "full_reimage"]
# Identifies one Journal; opaque.
JournalId: TypeAlias = str
# Identifies one Key; opaque.
KeyId: TypeAlias = str
Label: TypeAlias = str
MaasName: TypeAlias = str
MaasUrl: TypeAlias = str
# One of serve, retire; accept words that are not listed.
MachineDesired: TypeAlias = Literal["serve", "retire"] | str
# Identifies one Machine; opaque.
MachineId: TypeAlias = str
# One of on, off, unknown; accept words that are not listed.
MachinePower: TypeAlias = Literal["on", "off", "unknown"] | str
# One of on, off, query; accept words that are not listed.
MachinePowerAction: TypeAlias = Literal["on", "off", "query"] | str
MachinePowerActionChoice: TypeAlias = Literal["on", "off", "query"]
# One of discovered, acquiring, deploying, enrolling, in_service, releasing, erased, failed, retired; accept words that are not listed.
MachineState: TypeAlias = Literal["discovered", "acquiring", "deploying", "enrolling", "in_service", "releasing", "erased", "failed", "retired"] | str
MachineStateChoice: TypeAlias = Literal["discovered", "acquiring", "deploying", "enrolling", "in_service", "releasing", "erased", "failed", "retired"]
# Identifies one Mail; opaque.
MailId: TypeAlias = str
# One of pending, sent, refused, exhausted, withdrawn; accept words that are not listed.
MailState: TypeAlias = Literal["pending", "sent", "refused", "exhausted", "withdrawn"] | str
MailStateChoice: TypeAlias = Literal["pending", "sent", "refused", "exhausted", "withdrawn"]
# Identifies one MaintenanceWindow; opaque.
MaintenanceWindowId: TypeAlias = str
# One of planned, active, over, canceled; accept words that are not listed.
MaintenanceWindowState: TypeAlias = Literal["planned", "active", "over", "canceled"] | str
MaintenanceWindowStateChoice: TypeAlias = Literal["planned", "active", "over", "canceled"]
# One of totp, passkey, recovery_code; accept words that are not listed.
MfaMethod: TypeAlias = Literal["totp", "passkey", "recovery_code"] | str
Month: TypeAlias = str
Name: TypeAlias = str
# One of unknown, ok, degraded, silent, lying; accept words that are not listed.
NodeHealth: TypeAlias = Literal["unknown", "ok", "degraded", "silent", "lying"] | str
NodeHealthChoice: TypeAlias = Literal["unknown", "ok", "degraded", "silent", "lying"]
# Identifies one Node; opaque.
NodeId: TypeAlias = str
# One of enrolling, ready, cordoned, draining, maintenance, sanitizing, failed, retired; accept words that are not listed.
NodeState: TypeAlias = Literal["enrolling", "ready", "cordoned", "draining", "maintenance", "sanitizing", "failed", "retired"] | str
NodeStateChoice: TypeAlias = Literal["enrolling", "ready", "cordoned", "draining", "maintenance", "sanitizing", "failed", "retired"]
# One of waiting, delivered, done, failed, refused, expired; accept words that are not listed.
NodeTaskState: TypeAlias = Literal["waiting", "delivered", "done", "failed", "refused", "expired"] | str
# Identifies one Notification; opaque.
NotificationId: TypeAlias = str
# One of access_break_glass, address_change, address_changed, allocation_failed, allocation_lease_ending, allocation_needs_attention, allocation_node_lost, allocation_out_of_funds, allocation_project_ended, allocation_stop_ending, allocation_taken_back, budget_threshold, invitation_received, invoice_issued, maintenance_planned, mfa_changed, organization_suspended, password_reset, payment_disputed, payment_failed, payment_succeeded, refund_settled, sign_up_confirmation, wallet_depleted, wallet_funded, wallet_grace, wallet_low, webhook_disabled; accept words that are not listed.
NotificationKind: TypeAlias = Literal["access_break_glass", "address_change", "address_changed", "allocation_failed", "allocation_lease_ending", "allocation_needs_attention", "allocation_node_lost", "allocation_out_of_funds", "allocation_project_ended", "allocation_stop_ending", "allocation_taken_back", "budget_threshold", "invitation_received", "invoice_issued", "maintenance_planned", "mfa_changed", "organization_suspended", "password_reset", "payment_disputed", "payment_failed", "payment_succeeded", "refund_settled", "sign_up_confirmation", "wallet_depleted", "wallet_funded", "wallet_grace", "wallet_low", "webhook_disabled"] | str
NotificationKindChoice: TypeAlias = Literal["access_break_glass", "address_change", "address_changed", "allocation_failed", "allocation_lease_ending", "allocation_needs_attention", "allocation_node_lost", "allocation_out_of_funds", "allocation_project_ended", "allocation_stop_ending", "allocation_taken_back", "budget_threshold", "invitation_received", "invoice_issued", "maintenance_planned", "mfa_changed", "organization_suspended", "password_reset", "payment_disputed", "payment_failed", "payment_succeeded", "refund_settled", "sign_up_confirmation", "wallet_depleted", "wallet_funded", "wallet_grace", "wallet_low", "webhook_disabled"]
# Identifies one Organization; opaque.
OrganizationId: TypeAlias = str
# One of active, suspended, closed; accept words that are not listed.
OrganizationState: TypeAlias = Literal["active", "suspended", "closed"] | str
OrganizationStateChoice: TypeAlias = Literal["active", "suspended", "closed"]
# One of credit, adjustment, tax; accept words that are not listed.
OtherChargeKind: TypeAlias = Literal["credit", "adjustment", "tax"] | str
# Identifies one PaymentDrift; opaque.
PaymentDriftId: TypeAlias = str
# One of not_posted, amount_differs, unknown_here, missing_there; accept words that are not listed.
PaymentDriftKind: TypeAlias = Literal["not_posted", "amount_differs", "unknown_here", "missing_there"] | str
# Identifies one PaymentEvent; opaque.
PaymentEventId: TypeAlias = str
# One of received, matched, unknown; accept words that are not listed.
PaymentEventOutcome: TypeAlias = Literal["received", "matched", "unknown"] | str
PaymentEventOutcomeChoice: TypeAlias = Literal["received", "matched", "unknown"]
# Identifies one Payment; opaque.
PaymentId: TypeAlias = str
# One of created, pending, succeeded, failed, canceled, disputed, charged_back; accept words that are not listed.
PaymentState: TypeAlias = Literal["created", "pending", "succeeded", "failed", "canceled", "disputed", "charged_back"] | str
PaymentStateChoice: TypeAlias = Literal["created", "pending", "succeeded", "failed", "canceled", "disputed", "charged_back"]
# One of organization:read, organization:write, organization:close, members:read, members:write, projects:read, projects:write, service_accounts:read, service_accounts:write, policies:read, policies:write, audit:read, events:read, allocations:read, allocations:write, access:read, access:write, recordings:read, quotas:read, ledger:read, budgets:write, billing_profile:write, payments:read, payments:write, webhooks:read, webhooks:write, platform.organizations:read, platform.organizations:write, platform.users:read, platform.users:write, platform.policies:read, platform.policies:write, platform.audit:read, platform.dead_letters:read, platform.dead_letters:write, platform.work:read, platform.work:write, platform.fleet:read, platform.fleet:write, platform.allocations:read, platform.allocations:write, platform.access:read, platform.access:write, platform.recordings:read, platform.quotas:write, platform.ledger:read, platform.ledger:write, platform.events:read; accept words that are not listed.
Permission: TypeAlias = Literal["organization:read", "organization:write", "organization:close", "members:read", "members:write", "projects:read", "projects:write", "service_accounts:read", "service_accounts:write", "policies:read", "policies:write", "audit:read", "events:read", "allocations:read", "allocations:write", "access:read", "access:write", "recordings:read", "quotas:read", "ledger:read", "budgets:write", "billing_profile:write", "payments:read", "payments:write", "webhooks:read", "webhooks:write", "platform.organizations:read", "platform.organizations:write", "platform.users:read", "platform.users:write", "platform.policies:read", "platform.policies:write", "platform.audit:read", "platform.dead_letters:read", "platform.dead_letters:write", "platform.work:read", "platform.work:write", "platform.fleet:read", "platform.fleet:write", "platform.allocations:read", "platform.allocations:write", "platform.access:read", "platform.access:write", "platform.recordings:read", "platform.quotas:write", "platform.ledger:read", "platform.ledger:write", "platform.events:read"] | str
PermissionChoice: TypeAlias = Literal["organization:read", "organization:write", "organization:close", "members:read", "members:write", "projects:read", "projects:write", "service_accounts:read", "service_accounts:write", "policies:read", "policies:write", "audit:read", "events:read", "allocations:read", "allocations:write", "access:read", "access:write", "recordings:read", "quotas:read", "ledger:read", "budgets:write", "billing_profile:write", "payments:read", "payments:write", "webhooks:read", "webhooks:write", "platform.organizations:read", "platform.organizations:write", "platform.users:read", "platform.users:write", "platform.policies:read", "platform.policies:write", "platform.audit:read", "platform.dead_letters:read", "platform.dead_letters:write", "platform.work:read", "platform.work:write", "platform.fleet:read", "platform.fleet:write", "platform.allocations:read", "platform.allocations:write", "platform.access:read", "platform.access:write", "platform.recordings:read", "platform.quotas:write", "platform.ledger:read", "platform.ledger:write", "platform.events:read"]
PersonName: TypeAlias = str
# One of operator, support, auditor; accept words that are not listed.
PlatformRole: TypeAlias = Literal["operator", "support", "auditor"] | str
PlatformRoleChoice: TypeAlias = Literal["operator", "support", "auditor"]
# One of default, platform, organization, project; accept words that are not listed.
PolicyLevel: TypeAlias = Literal["default", "platform", "organization", "project"] | str
# Identifies one Pool; opaque.
PoolId: TypeAlias = str
# One of enrolled, maas, sim; accept words that are not listed.
PoolProvider: TypeAlias = Literal["enrolled", "maas", "sim"] | str
PoolProviderChoice: TypeAlias = Literal["enrolled", "maas", "sim"]
# Identifies one Price; opaque.
PriceId: TypeAlias = str
# One of on_demand, stopped, reserved, spot; accept words that are not listed.
PriceKind: TypeAlias = Literal["on_demand", "stopped", "reserved", "spot"] | str
PriceKindChoice: TypeAlias = Literal["on_demand", "stopped", "reserved", "spot"]
# One of gpu_hour, hour, gib_hour, request, token, job; accept words that are not listed.
PriceUnit: TypeAlias = Literal["gpu_hour", "hour", "gib_hour", "request", "token", "job"] | str
PriceUnitChoice: TypeAlias = Literal["gpu_hour", "hour", "gib_hour", "request", "token", "job"]
PrintedLine: TypeAlias = str
# Identifies one Project; opaque.
ProjectId: TypeAlias = str
# One of active, deleting, deleted; accept words that are not listed.
ProjectState: TypeAlias = Literal["active", "deleting", "deleted"] | str
ProjectStateChoice: TypeAlias = Literal["active", "deleting", "deleted"]
ProofPlace: TypeAlias = str
# Identifies one Provider; opaque.
ProviderId: TypeAlias = str
# One of maas; accept words that are not listed.
ProviderKind: TypeAlias = Literal["maas"] | str
ProviderKindChoice: TypeAlias = Literal["maas"]
# One of active, removing, removed; accept words that are not listed.
ProviderState: TypeAlias = Literal["active", "removing", "removed"] | str
ProviderStateChoice: TypeAlias = Literal["active", "removing", "removed"]
PublicKey: TypeAlias = str
# Identifies one Quota; opaque.
QuotaId: TypeAlias = str
Reason: TypeAlias = str
# Identifies one Recording; opaque.
RecordingId: TypeAlias = str
# One of recording, sealed, deleted; accept words that are not listed.
RecordingState: TypeAlias = Literal["recording", "sealed", "deleted"] | str
RecordingStateChoice: TypeAlias = Literal["recording", "sealed", "deleted"]
# Identifies one Refund; opaque.
RefundId: TypeAlias = str
# One of requested, pending, succeeded, failed; accept words that are not listed.
RefundState: TypeAlias = Literal["requested", "pending", "succeeded", "failed"] | str
RefundStateChoice: TypeAlias = Literal["requested", "pending", "succeeded", "failed"]
# Identifies one Region; opaque.
RegionId: TypeAlias = str
# One of raw, minute, hour; accept words that are not listed.
Resolution: TypeAlias = Literal["raw", "minute", "hour"] | str
ResolutionChoice: TypeAlias = Literal["raw", "minute", "hour"]
# One of owner, admin, billing, member, viewer; accept words that are not listed.
Role: TypeAlias = Literal["owner", "admin", "billing", "member", "viewer"] | str
RoleChoice: TypeAlias = Literal["owner", "admin", "billing", "member", "viewer"]
SecretText: TypeAlias = Secret
# Identifies one ServiceAccount; opaque.
ServiceAccountId: TypeAlias = str
# Identifies one Session; opaque.
SessionId: TypeAlias = str
Sha256Hex: TypeAlias = str
# One of baremetal, gpu_slice, mig_slice, container; accept words that are not listed.
Shape: TypeAlias = Literal["baremetal", "gpu_slice", "mig_slice", "container"] | str
ShapeChoice: TypeAlias = Literal["baremetal", "gpu_slice", "mig_slice", "container"]
# Shown in this answer only.
ShownSecret: TypeAlias = Secret
# Identifies one Sku; opaque.
SkuId: TypeAlias = str
# One of clean, dirty, quarantined, missing; accept words that are not listed.
SlotCondition: TypeAlias = Literal["clean", "dirty", "quarantined", "missing"] | str
# Identifies one Slot; opaque.
SlotId: TypeAlias = str
# Identifies one SshKey; opaque.
SshKeyId: TypeAlias = str
SshSignature: TypeAlias = str
TagValue: TypeAlias = str
TicketKindChoice: TypeAlias = Literal["terminal", "tcp", "http"]
# One of project, sku, tag, day, meter; accept words that are not listed.
UsageBy: TypeAlias = Literal["project", "sku", "tag", "day", "meter"] | str
UsageByChoice: TypeAlias = Literal["project", "sku", "tag", "day", "meter"]
# Identifies one User; opaque.
UserId: TypeAlias = str
# One of funded, low, grace, depleted; accept words that are not listed.
WalletState: TypeAlias = Literal["funded", "low", "grace", "depleted"] | str
# Identifies one WebhookDelivery; opaque.
WebhookDeliveryId: TypeAlias = str
# One of pending, delivered, exhausted; accept words that are not listed.
WebhookDeliveryState: TypeAlias = Literal["pending", "delivered", "exhausted"] | str
WebhookDeliveryStateChoice: TypeAlias = Literal["pending", "delivered", "exhausted"]
WebhookDescription: TypeAlias = str
# Identifies one Webhook; opaque.
WebhookId: TypeAlias = str
# One of active, disabled, deleted; accept words that are not listed.
WebhookState: TypeAlias = Literal["active", "disabled", "deleted"] | str
WebhookStateChoice: TypeAlias = Literal["active", "disabled", "deleted"]
WebhookUrl: TypeAlias = str


@dataclass(kw_only=True)
class AccessSession(Model):
    """See the API's `AccessSession`."""

    # The client's address.
    address: str
    allocation_id: AllocationId
    bytes_in: int
    bytes_out: int
    created_at: datetime
    # When it ends at the latest.
    ends_at: datetime
    # The current or last gateway.
    gateway_id: GatewayId
    id: AccessSessionId
    # Whether other members can join it.
    is_shared: bool
    kind: AccessKind
    node_id: NodeId
    # The person or program: `user:` or `service_account:` and an id.
    opened_by: str
    organization_id: OrganizationId
    project_id: ProjectId
    # Its recordings.
    recording_ids: list[RecordingId]
    # How often output paused because the reader was slow.
    stalls: int
    state: AccessSessionState
    state_since: datetime
    version: int
    # The operator's reason for break-glass access.
    break_glass: str | None = None
    ended_at: datetime | None = None
    # The shell's exit code.
    exit_code: int | None = None
    port: int | None = None
    # Why it ended or was disconnected.
    reason: str | None = None
    user_id: UserId | None = None
    # The session that it watches.
    watches: AccessSessionId | None = None


@dataclass(kw_only=True)
class AccessSessionPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[AccessSession]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class AccessTicketSpec(Model):
    """See the API's `AccessTicketSpec`."""

    kind: TicketKindChoice
    # Run this instead of a prompt.
    command: Command | None = None
    # The rank of the node. Default: the first.
    node_id: NodeId | None = None
    # Without a terminal: stdout and stderr are separate, nothing is echoed, and it cannot be resumed. For
    # pipes.
    plain: bool | None = None
    # For `tcp` and `http`: the port on which the allocation listens.
    port: int | None = None
    # Resume the shell of this session, or take it over.
    resume: AccessSessionId | None = None
    # Let other members with the same permission join the session.
    share: bool | None = None
    # Watch the session in `resume` instead, without input.
    watch: bool | None = None


@dataclass(kw_only=True)
class AccountToken(Model):
    """See the API's `AccountToken`."""

    # The token from the mail.
    token: SecretText


@dataclass(kw_only=True)
class AddressChangeSpec(Model):
    """See the API's `AddressChangeSpec`."""

    # The new address.
    email: Email
    # The current password; required if the account has one.
    password: SecretText | None = None


@dataclass(kw_only=True)
class Agent(Model):
    """An available agent version."""

    sha256: str
    size_bytes: int
    # The platform that it runs on.
    target: str
    version: str


@dataclass(kw_only=True)
class AgentSource(Model):
    """The URL of the agent."""

    sha256: Sha256Hex
    url: AgentUrl


@dataclass(kw_only=True)
class AgentSourceSpec(Model):
    """A file that machines download, and its checksum."""

    sha256: Sha256Hex
    url: AgentUrl


@dataclass(kw_only=True)
class AgentUpdateSpec(Model):
    """See the API's `AgentUpdateSpec`."""

    reason: Reason
    # Default: the newest available.
    version: AgentVersion | None = None


@dataclass(kw_only=True)
class Agents(Model):
    """See the API's `Agents`."""

    items: list[Agent]


@dataclass(kw_only=True)
class Allocation(Model):
    """See the API's `Allocation`."""

    created_at: datetime
    gpus: int
    id: AllocationId
    # The user name for logins.
    login: str
    # Whether it needs attention from a person.
    needs_attention: bool
    nodes: int
    organization_id: OrganizationId
    parts: list[AllocationPart]
    project_id: ProjectId
    sku: Label
    sku_id: SkuId
    state: AllocationState
    state_since: datetime
    tags: dict[str, TagValue]
    version: int
    active_at: datetime | None = None
    ended_at: datetime | None = None
    lease_ends_at: datetime | None = None
    name: Name | None = None
    # What it waits for, or why it failed, ended or stopped. A sentence for people, whose wording may change.
    reason: str | None = None
    # The same for programs.
    reason_code: AllocationReason | None = None
    region: Label | None = None


@dataclass(kw_only=True)
class AllocationCost(Model):
    """What an allocation cost, to the millionth, at one moment."""

    # The accrued amount since `posted_to`; posted with the next usage journal.
    accrued_micros: int
    # How long it was active.
    active_seconds: int
    allocation_id: AllocationId
    # The total: posted minus reversed, plus accrued.
    amount_micros: int
    # The time of the calculation.
    at: datetime
    # The current cost per hour; 0 if it is not active.
    burn_micros_per_hour: int
    currency: CurrencyCode
    # GPU-seconds.
    gpu_seconds: int
    # The remaining hold.
    held_micros: int
    # How often it became active.
    intervals: int
    # The posted amount, up to `posted_to`.
    posted_micros: int
    posted_to: datetime
    # The part of it that was reversed by corrections.
    taken_back_micros: int


@dataclass(kw_only=True)
class AllocationPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Allocation]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class AllocationPart(Model):
    """The part of an allocation on one node."""

    gpus: list[str]
    node_id: NodeId
    # The name of the host to log in to.
    host: str | None = None
    # The last stage that the host finished.
    stage: str | None = None


@dataclass(kw_only=True)
class AllocationSpec(Model):
    """See the API's `AllocationSpec`."""

    # GPUs per node; one of the counts that the SKU allows.
    gpus: int
    # The SKU's name.
    sku: Label
    # Released automatically after this many minutes.
    lease_minutes: int | None = None
    name: Name | None = None
    # The number of nodes. All of them are placed together, or none.
    nodes: int | None = None
    # The region's name. Default: any region.
    region: Label | None = None
    # Only nodes that share one fast network.
    same_fabric: bool | None = None
    # Anti-affinity: never shares a node with other allocations of this project that have the same word.
    spread_group: Label | None = None
    # The caller's public keys to accept. Default: all of the caller's keys.
    ssh_keys: list[SshKeyId] | None = None
    # By name; a name is a label.
    tags: dict[str, TagValue] | None = None


@dataclass(kw_only=True)
class AllocationSshKeys(Model):
    """See the API's `AllocationSshKeys`."""

    # Keys of the caller.
    ssh_keys: list[SshKeyId]


@dataclass(kw_only=True)
class AllocationTelemetry(Model):
    """See the API's `AllocationTelemetry`."""

    allocation_id: AllocationId
    gpus: list[GpuSeries]
    resolution: Resolution
    since: datetime
    until: datetime
    # Where to continue if the response was truncated.
    next_since: datetime | None = None


@dataclass(kw_only=True)
class AnnouncedWindow(Model):
    """A maintenance window as affected projects see it."""

    ends_at: datetime
    id: MaintenanceWindowId
    # The projects with current or past allocations there.
    project_ids: list[ProjectId]
    reason: Reason
    starts_at: datetime
    state: MaintenanceWindowState


@dataclass(kw_only=True)
class AnnouncedWindowPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[AnnouncedWindow]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class AuditEntry(Model):
    """See the API's `AuditEntry`."""

    action: str
    # Who acted: `user:…`, `service_account:…`, `system:…` or `public`.
    actor: str
    at: datetime
    correlation_id: str
    detail: Any
    id: AuditEntryId
    organization_id: OrganizationId | None
    outcome: str
    # The resource, by id.
    resource: str | None


@dataclass(kw_only=True)
class AuditEntryPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[AuditEntry]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class Balance(Model):
    """An organization's balance in one currency, in millionths of it."""

    # Usage since the last posting.
    accrued_micros: int
    # Posted less accrued and held.
    available_micros: int
    # The current cost per hour.
    burn_micros_per_hour: int
    currency: CurrencyCode
    # Held for requested and running allocations, beyond their accrued usage.
    held_micros: int
    # The sum of the wallet's entries.
    posted_micros: int
    # The state of the wallet.
    state: WalletState
    # When allocations end without more money; absent if none is about to.
    grace_ends_at: datetime | None = None
    # When it runs out if nothing changes; absent when nothing runs.
    lasts_until: datetime | None = None


@dataclass(kw_only=True)
class Balances(Model):
    """See the API's `Balances`."""

    # The time of the balance.
    at: datetime
    items: list[Balance]
    organization_id: OrganizationId


@dataclass(kw_only=True)
class Because(Model):
    """The operator's reason."""

    reason: Reason


@dataclass(kw_only=True)
class BillingProfile(Model):
    """See the API's `BillingProfile`."""

    party: Party
    set_at: datetime
    # Absent when the seller's tax applies.
    tax: Tax | None = None


@dataclass(kw_only=True)
class BillingProfileSpec(Model):
    """See the API's `BillingProfileSpec`."""

    # Lines of the postal address, the country last.
    address: list[PrintedLine]
    legal_name: PrintedLine
    # The contact for invoices.
    email: Email | None = None
    # The tax. Default: the seller's tax, or none.
    tax: TaxSpec | None = None
    # A tax or VAT number.
    tax_id: PrintedLine | None = None


@dataclass(kw_only=True)
class BreakGlassSpec(Model):
    """See the API's `BreakGlassSpec`."""

    # Sent to the organization.
    reason: Reason
    # The rank of the node. Default: the first.
    node_id: NodeId | None = None


@dataclass(kw_only=True)
class Budget(Model):
    """A budget and its project's usage in the current period."""

    amount_micros: int
    # The current cost per hour.
    burn_micros_per_hour: int
    created_at: datetime
    currency: CurrencyCode
    # What its current allocations and requests may still use before the period ends.
    held_micros: int
    id: BudgetId
    mode: BudgetMode
    organization_id: OrganizationId
    period: BudgetPeriod
    project_id: ProjectId
    # The project's usage in the period so far.
    spent_micros: int
    # Percentages of the amount, ascending.
    thresholds: list[int]
    version: int
    # The highest threshold notified in the period.
    notified_percent: int | None = None
    # When the current period started; absent for a single period.
    since: datetime | None = None
    # When the next period starts.
    until: datetime | None = None


@dataclass(kw_only=True)
class BudgetChange(Model):
    """See the API's `BudgetChange`."""

    amount_micros: int | None = None
    mode: BudgetModeChoice | None = None
    thresholds: list[int] | None = None


@dataclass(kw_only=True)
class BudgetExplanation(Model):
    """See the API's `BudgetExplanation`."""

    budget_id: BudgetId
    # What was used, and what is refused because of it.
    rule: str
    # What would allow more; absent if nothing is refused.
    change: str | None = None


@dataclass(kw_only=True)
class BudgetPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Budget]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class BudgetSpec(Model):
    """See the API's `BudgetSpec`."""

    # Millionths of the currency.
    amount_micros: int
    # Only what is charged in this currency counts.
    currency: CurrencyCode
    mode: BudgetModeChoice
    period: BudgetPeriodChoice
    project_id: ProjectId
    # The percentages of the amount at which owners, administrators and billing are notified, in any order.
    # Default: 50, 80 and 100.
    thresholds: list[int] | None = None


@dataclass(kw_only=True)
class Burn(Model):
    """A cost per hour."""

    currency: CurrencyCode
    micros_per_hour: int


@dataclass(kw_only=True)
class CapacityLine(Model):
    """See the API's `CapacityLine`."""

    # How many are quarantined, missing, or out of service.
    broken: int
    # How many are free.
    free: int
    # How many are being prepared or sanitized.
    held: int
    region: Label
    region_id: RegionId
    sku: Label
    sku_id: SkuId
    # What the numbers count.
    unit: CapacityUnit
    # How many are in use; a partly used node counts.
    used: int


@dataclass(kw_only=True)
class CapacityLinePage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[CapacityLine]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class Charge(Model):
    """The usage of a subject by a meter: from one start to the next end, or a counted quantity, within the month.
Amounts are millionths of the currency."""

    amount_micros: int
    # What is priced: the counted quantity, or quantity times microseconds where it is measured over time.
    consumed: int
    currency: CurrencyCode
    from_: datetime
    # Names the interval in the subject and meter.
    interval: int
    meter: str
    # The number of the mark that began it or counted it.
    number: int
    # How many units the price is for.
    per_units: int
    price_kind: PriceKind
    price_micros: int
    project: str
    project_id: ProjectId
    # How many units concurrently, or how many were counted.
    quantity: int
    sku: str
    sku_id: SkuId
    subject_id: str
    # What was metered, such as `allocation`.
    subject_kind: str
    tags: dict[str, str]
    # The end, which is not part of it.
    to: datetime
    unit: PriceUnit
    # The allocation that it belongs to, if any.
    allocation_id: AllocationId | None = None
    # The number of the month's invoice, once it is issued.
    invoice: str | None = None
    # The version of the price; absent when it was free.
    price_id: PriceId | None = None
    # The requested region, if any.
    region: str | None = None


@dataclass(kw_only=True)
class Correction(Model):
    """See the API's `Correction`."""

    created_at: datetime
    id: CorrectionId
    kind: CorrectionKind
    proposed_by: str
    # Empty where no reason is required: prices and policies.
    reason: str
    state: CorrectionState
    version: int
    # Millionths of the currency; positive is money for the organization.
    amount_micros: int | None = None
    # Of credit and adjustments.
    currency: CurrencyCode | None = None
    # Who approved or rejected it.
    decided_by: str | None = None
    # Why it was rejected.
    decision: str | None = None
    # When it expires without a decision; absent once decided.
    expires_at: datetime | None = None
    # The posted journal.
    journal: Journal | None = None
    # Absent where it concerns the platform: prices and policies.
    organization_id: OrganizationId | None = None
    # The id of the refund or price that was made, or the key of the policy that was changed.
    result: str | None = None
    # The number of the journal that it reverses.
    reverses: int | None = None
    # What approving it does, as a sentence; for refunds, prices and policies.
    summary: str | None = None


@dataclass(kw_only=True)
class CorrectionPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Correction]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class CorrectionSpec(Model):
    """See the API's `CorrectionSpec`."""

    # Millionths of the currency; positive is money for the organization.
    amount_micros: int
    currency: CurrencyCode
    reason: Reason


@dataclass(kw_only=True)
class Credentials(Model):
    """See the API's `Credentials`."""

    email: Email
    password: SecretText


@dataclass(kw_only=True)
class DeadLetter(Model):
    """See the API's `DeadLetter`."""

    attempts: int
    consumer: str
    created_at: datetime
    data: Any
    # The consumer's last error.
    error: str
    id: DeadLetterId
    message_id: str
    organization_id: OrganizationId | None
    # When it is redelivered automatically; absent if it is not.
    redeliver_at: datetime | None
    state: DeadLetterState
    subject: str


@dataclass(kw_only=True)
class DeadLetterPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[DeadLetter]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class Difference(Model):
    """See the API's `Difference`."""

    organization_id: OrganizationId
    what: str
    # The journal's number, if known.
    journal: int | None = None
    # What was metered, if known: the kind and the ID of the subject.
    subject: str | None = None


@dataclass(kw_only=True)
class DrainSpec(Model):
    """See the API's `DrainSpec`."""

    # Seconds until allocations that still run are released.
    deadline_seconds: int
    reason: Reason


@dataclass(kw_only=True)
class Ending(Model):
    """Something that ends with its project."""

    # How many GPUs it uses or requests.
    gpus: int
    id: str
    # Its kind, as in `allocation`.
    kind: str
    project_id: ProjectId
    state: str
    name: Name | None = None


@dataclass(kw_only=True)
class EndingPreview(Model):
    """What the end of a project or an organization ends."""

    # Their current cost, in each currency.
    burn: list[Burn]
    # How many end in all.
    count: int
    # What ends, newest first; the first hundred.
    ends: list[Ending]
    # How many GPUs they use or request.
    gpus: int


@dataclass(kw_only=True)
class EnrollmentToken(Model):
    """See the API's `EnrollmentToken`."""

    created_at: datetime
    expires_at: datetime
    id: EnrollmentTokenId
    pool_id: PoolId
    status: EnrollmentTokenStatus
    # The node that it enrolled.
    node_id: NodeId | None = None


@dataclass(kw_only=True)
class EnrollmentTokenPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[EnrollmentToken]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class EnrollmentTokenSpec(Model):
    """See the API's `EnrollmentTokenSpec`."""

    pool_id: PoolId
    # How long it can be used. Default: the policy `nodes.enrollment_minutes`.
    lifetime_minutes: int | None = None


@dataclass(kw_only=True)
class Explanation(Model):
    """See the API's `Explanation`."""

    allocation_id: AllocationId
    # How many nodes were rejected for each reason.
    rejected: list[Rejection]
    # The rule that applies now, as a sentence.
    rule: str
    state: AllocationState
    # The smallest change that would let it proceed.
    change: str | None = None
    # How many requests of the same organization are ahead in the queue.
    waits_behind: int | None = None


@dataclass(kw_only=True)
class Factor(Model):
    """See the API's `Factor`."""

    created_at: datetime
    id: FactorId
    kind: FactorKind
    last_used_at: datetime | None
    name: Name


@dataclass(kw_only=True)
class Gateway(Model):
    """See the API's `Gateway`."""

    agent_url: str
    created_at: datetime
    id: GatewayId
    name: Label
    # How many hosts are connected to it.
    nodes: int
    public_url: str
    region_id: RegionId
    # How many sessions it carries.
    sessions: int
    status: GatewayStatus
    web_domain: str
    last_seen_at: datetime | None = None
    ssh_address: str | None = None
    # Its version.
    version: str | None = None


@dataclass(kw_only=True)
class GatewayPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Gateway]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class GatewaySpec(Model):
    """See the API's `GatewaySpec`."""

    # The address for hosts.
    agent_url: GatewayAgentUrl
    name: Label
    # The public URL; several gateways can share one.
    public_url: GatewayPublicUrl
    region_id: RegionId
    # The domain of web services, each with its own host name; must not serve any other site.
    web_domain: Domain
    # The address for SSH clients, if it serves them.
    ssh_address: HostAndPort | None = None


@dataclass(kw_only=True)
class GpuPoint(Model):
    """The metrics of a GPU from a time on."""

    at: datetime
    memory_used_bytes_avg: int
    memory_used_bytes_max: int
    power_mw_avg: int
    power_mw_max: int
    # How many samples it aggregates.
    samples: int
    temperature_c_avg: int
    temperature_c_max: int
    utilization_percent_avg: int
    utilization_percent_max: int


@dataclass(kw_only=True)
class GpuSeries(Model):
    """See the API's `GpuSeries`."""

    gpu_uuid: str
    index: int
    node_id: NodeId
    # Oldest first.
    points: list[GpuPoint]
    slot_id: SlotId


@dataclass(kw_only=True)
class HostPoint(Model):
    """The metrics of a host from a time on."""

    at: datetime
    cpu_percent_avg: int
    cpu_percent_max: int
    memory_used_bytes_avg: int
    memory_used_bytes_max: int
    # How many samples it aggregates.
    samples: int


@dataclass(kw_only=True)
class Invitation(Model):
    """See the API's `Invitation`."""

    created_at: datetime
    email: Email
    expires_at: datetime
    id: InvitationId
    role: Role
    state: InvitationState
    version: int


@dataclass(kw_only=True)
class InvitationPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Invitation]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class InvitationSpec(Model):
    """See the API's `InvitationSpec`."""

    email: Email
    role: RoleChoice


@dataclass(kw_only=True)
class InvitationToken(Model):
    """See the API's `InvitationToken`."""

    token: SecretText


@dataclass(kw_only=True)
class Invoice(Model):
    """An invoice as it was issued. Amounts are millionths of the currency."""

    buyer: Party
    currency: CurrencyCode
    # The rest.
    due_micros: int
    id: InvoiceId
    issued_at: datetime
    kind: InvoiceKind
    lines: list[InvoiceLine]
    month: Month
    net_micros: int
    # The seller's numbers have no gaps: `2026-000123`.
    number: str
    organization_id: OrganizationId
    # What the prepaid balance covered.
    paid_micros: int
    # Of the PDF, hexadecimal.
    pdf_sha256: str
    # The end of the period, which is not part of it.
    period_end: datetime
    period_start: datetime
    # What rounding to whole minor units adds.
    rounding_micros: int
    seller: Party
    # The sum of the lines, and the ledger's charges.
    subtotal_micros: int
    tax_micros: int
    total_micros: int
    # The number of the invoice that a credit note corrects.
    corrects: str | None = None
    # The journal that posted rounding and tax.
    journal: int | None = None
    # The tag that breaks down the lines: the policy `billing.invoice_tag` at the time of issue.
    tag_key: Label | None = None
    tax: Tax | None = None


@dataclass(kw_only=True)
class InvoiceLine(Model):
    """Usage in one project, of one SKU, at one price, with one value of the invoice's tag."""

    amount_micros: int
    # What is priced: the counted quantity, or quantity times microseconds where it is measured over time.
    consumed: int
    # How many units the price is for.
    per_units: int
    price_kind: PriceKind
    price_micros: int
    project: str
    project_id: ProjectId
    sku: str
    sku_id: SkuId
    unit: PriceUnit
    # The value of the invoice's tag: empty for usage without the tag, `(other)` for everything beyond the
    # 500 largest; absent when lines are not broken down by a tag.
    tag: str | None = None


@dataclass(kw_only=True)
class InvoiceSummary(Model):
    """See the API's `InvoiceSummary`."""

    currency: CurrencyCode
    # What the balance did not cover when it was issued.
    due_micros: int
    id: InvoiceId
    issued_at: datetime
    kind: InvoiceKind
    month: Month
    # The seller's numbers have no gaps: `2026-000123`.
    number: str
    organization_id: OrganizationId
    # With tax; negative on a credit note.
    total_micros: int


@dataclass(kw_only=True)
class InvoiceSummaryPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[InvoiceSummary]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class Journal(Model):
    """See the API's `Journal`."""

    actor: str
    at: datetime
    # Covers this journal and all before it, hexadecimal.
    hash: str
    id: JournalId
    # Its kind, as in `usage` or `credit`.
    kind: str
    # Counts up in the organization, without gaps.
    number: int
    # Its effect on each wallet.
    wallets: list[WalletChange]
    # The window of usage that it closes.
    from_at: datetime | None = None
    reason: str | None = None
    # Its reference.
    reference: str | None = None
    # The number of the journal that it reverses.
    reverses: int | None = None
    # The end of that window, which is not part of it.
    to_at: datetime | None = None


@dataclass(kw_only=True)
class JournalPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Journal]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class Jwk(Model):
    """A public key as in RFC 8037."""

    alg: str
    crv: str
    kid: str
    kty: str
    use: str
    x: str


@dataclass(kw_only=True)
class Jwks(Model):
    """See the API's `Jwks`."""

    keys: list[Jwk]


@dataclass(kw_only=True)
class Key(Model):
    """See the API's `Key`."""

    created_at: datetime
    expires_at: datetime
    id: KeyId
    last_used_at: datetime | None
    name: Name
    # The first characters of the secret, to recognize it by.
    prefix: str
    revoked_at: datetime | None
    scopes: list[Permission]


@dataclass(kw_only=True)
class KeyPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Key]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class KeySpec(Model):
    """See the API's `KeySpec`."""

    name: Name
    # The key's maximum permissions; the owner's role still limits it.
    scopes: list[PermissionChoice]
    # When it expires; policy limits the maximum.
    expires_at: datetime | None = None


@dataclass(kw_only=True)
class Machine(Model):
    """See the API's `Machine`."""

    # How many installs were started since it last served.
    attempts: int
    created_at: datetime
    # Its requested use.
    desired: MachineDesired
    hostname: str
    id: MachineId
    pool_id: PoolId
    provider_id: ProviderId
    state: MachineState
    state_since: datetime
    # Its id in MAAS.
    system_id: str
    version: int
    # The node that its agent enrolled as.
    node_id: NodeId | None = None
    # Its last status in MAAS.
    observed: str | None = None
    observed_at: datetime | None = None
    # Its last observed power state.
    power: MachinePower | None = None
    power_at: datetime | None = None
    # The last power error.
    power_error: str | None = None
    # The power change that an operator requested and that MAAS has not received yet.
    power_wanted: MachinePowerAction | None = None
    # Why the last install was aborted.
    reason: str | None = None


@dataclass(kw_only=True)
class MachinePage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Machine]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class MachinePowerSpec(Model):
    """See the API's `MachinePowerSpec`."""

    action: MachinePowerActionChoice
    # Turn it off even if its node is in use or accepts allocations.
    force: bool | None = None
    reason: Reason | None = None


@dataclass(kw_only=True)
class Mail(Model):
    """See the API's `Mail`."""

    attempts: int
    created_at: datetime
    id: MailId
    kind: NotificationKind
    # The Message-ID, the same for every attempt.
    message_id: str
    state: MailState
    error: str | None = None
    invitation_id: InvitationId | None = None
    # The mail server's last status code.
    last_code: int | None = None
    next_attempt_at: datetime | None = None
    organization_id: OrganizationId | None = None
    sent_at: datetime | None = None
    # The recipient; absent for an invited person without an account.
    user_id: UserId | None = None


@dataclass(kw_only=True)
class MailAddress(Model):
    """The status of a person's mail."""

    email: Email
    # Whether this installation sends mail at all.
    is_configured: bool
    # Why mail to it is stopped.
    refusal: MailRefusal | None = None


@dataclass(kw_only=True)
class MailPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Mail]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class MailRefusal(Model):
    """A mail server rejected the address permanently."""

    # Its status code.
    code: int
    # Its error, without the address.
    reason: str
    refused_at: datetime


@dataclass(kw_only=True)
class MaintenanceWindow(Model):
    """See the API's `MaintenanceWindow`."""

    created_at: datetime
    ends_at: datetime
    id: MaintenanceWindowId
    reason: Reason
    starts_at: datetime
    state: MaintenanceWindowState
    version: int
    node_id: NodeId | None = None
    pool_id: PoolId | None = None


@dataclass(kw_only=True)
class MaintenanceWindowPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[MaintenanceWindow]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class MaintenanceWindowSpec(Model):
    """See the API's `MaintenanceWindowSpec`."""

    ends_at: datetime
    # Sent to the affected projects.
    reason: Reason
    starts_at: datetime
    # Either a node or a pool.
    node_id: NodeId | None = None
    pool_id: PoolId | None = None


@dataclass(kw_only=True)
class Member(Model):
    """See the API's `Member`."""

    email: Email
    joined_at: datetime
    name: PersonName
    role: Role
    user_id: UserId


@dataclass(kw_only=True)
class MemberPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Member]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class MemberSpec(Model):
    """See the API's `MemberSpec`."""

    role: RoleChoice


@dataclass(kw_only=True)
class Mfa(Model):
    """See the API's `Mfa`."""

    factors: list[Factor]
    # How many recovery codes are unused.
    recovery_codes_left: int
    # Whether a policy requires the account to have a factor.
    required: bool
    # When the second factor was last used in this session.
    verified_at: datetime | None


@dataclass(kw_only=True)
class MfaAnswer(Model):
    """The answer to a challenge: exactly one of the three."""

    challenge: SecretText
    # The six digits that an authenticator app shows.
    code: SecretText | None = None
    passkey: PasskeyAssertion | None = None
    # One of the recovery codes; each works once.
    recovery_code: SecretText | None = None


@dataclass(kw_only=True)
class MfaChallenge(Model):
    """A request for a second factor. Works once and expires soon."""

    expires_at: datetime
    # What the account can answer with.
    methods: list[MfaMethod]
    # Send it back with the answer.
    token: ShownSecret
    # For `navigator.credentials.get`, when the account has a passkey.
    passkey: PasskeyRequest | None = None


@dataclass(kw_only=True)
class MfaVerified(Model):
    """See the API's `MfaVerified`."""

    # Until when it counts as recent.
    recent_until: datetime
    verified_at: datetime


@dataclass(kw_only=True)
class NewAccessTicket(Model):
    """See the API's `NewAccessTicket`."""

    expires_at: datetime
    # The session that it opens or joins.
    session_id: AccessSessionId
    ticket: ShownSecret
    # The gateway's base URL for `/v1/terminal` and `/v1/forward`.
    url: str
    # For web services: the web service's URL. Post the ticket to `/.gpuaas/enter` there.
    web_url: str | None = None


@dataclass(kw_only=True)
class NewEnrollmentToken(Model):
    """See the API's `NewEnrollmentToken`."""

    # SHA-256 of the root certificate that the host must trust, in hex.
    ca_fingerprint: str
    # Where the host connects to.
    node_url: str
    secret: ShownSecret
    token: EnrollmentToken


@dataclass(kw_only=True)
class NewFactor(Model):
    """See the API's `NewFactor`."""

    factor: Factor
    # With the first factor of an account.
    recovery_codes: list[ShownSecret] | None = None


@dataclass(kw_only=True)
class NewGateway(Model):
    """See the API's `NewGateway`."""

    # SHA-256 of the root certificate that it must trust, in hex.
    ca_fingerprint: str
    # The control plane's URL for it: the setting `gateway.control_url`.
    control_url: str
    gateway: Gateway
    # Its join token.
    secret: ShownSecret


@dataclass(kw_only=True)
class NewInvitation(Model):
    """See the API's `NewInvitation`."""

    invitation: Invitation
    token: ShownSecret


@dataclass(kw_only=True)
class NewKey(Model):
    """See the API's `NewKey`."""

    key: Key
    secret: ShownSecret


@dataclass(kw_only=True)
class NewPassword(Model):
    """See the API's `NewPassword`."""

    current: SecretText
    new: SecretText


@dataclass(kw_only=True)
class NewUser(Model):
    """See the API's `NewUser`."""

    # Where the token is mailed.
    email: Email


@dataclass(kw_only=True)
class NewWebhook(Model):
    """See the API's `NewWebhook`."""

    # The signing secret; shown once.
    secret: ShownSecret
    webhook: Webhook


@dataclass(kw_only=True)
class Node(Model):
    """See the API's `Node`."""

    created_at: datetime
    gpus: int
    gpus_free: int
    # The observed health, independent of the state.
    health: NodeHealth
    id: NodeId
    name: str
    pool_id: PoolId
    provider: PoolProvider
    region_id: RegionId
    state: NodeState
    version: int
    agent_update: AgentUpdateState | None = None
    # Why the agent was not updated.
    agent_update_reason: str | None = None
    agent_version: str | None = None
    # The requested agent version and the status of the update.
    agent_wanted: str | None = None
    drain_deadline_at: datetime | None = None
    fabric_domain: str | None = None
    gpu_model: str | None = None
    # Why the health is not `ok`.
    health_reason: str | None = None
    last_seen_at: datetime | None = None
    # The organization that the node serves until it is sanitized.
    serves: OrganizationId | None = None


@dataclass(kw_only=True)
class NodeCertificate(Model):
    """See the API's `NodeCertificate`."""

    expires_at: datetime
    issued_at: datetime
    serial: str
    revoked_at: datetime | None = None


@dataclass(kw_only=True)
class NodeChanges(Model):
    """See the API's `NodeChanges`."""

    # Too many changes for one response: list the nodes again.
    is_cut: bool
    # Send it as `after` the next time.
    mark: ChangeMark
    # Their current state, including retired nodes. Unchanged nodes may be included.
    nodes: list[Node]


@dataclass(kw_only=True)
class NodeDetail(Model):
    """See the API's `NodeDetail`."""

    # Its certificates, newest first.
    certificates: list[NodeCertificate]
    node: Node
    slots: list[Slot]
    # Its latest tasks, newest first.
    tasks: list[NodeTask]
    # The inventory that the host reported; absent until it did.
    host: NodeHost | None = None


@dataclass(kw_only=True)
class NodeHost(Model):
    """See the API's `NodeHost`."""

    cpus: int
    kernel: str
    memory_bytes: int
    os: str
    driver_version: str | None = None


@dataclass(kw_only=True)
class NodePage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Node]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class NodeTask(Model):
    """See the API's `NodeTask`."""

    created_at: datetime
    id: str
    # The kind of its resource, as in the work queue.
    kind: str
    state: NodeTaskState
    subject_id: str
    # What the node has to do.
    verb: str
    # Why it failed or was refused.
    detail: str | None = None
    reported_at: datetime | None = None


@dataclass(kw_only=True)
class NodeTelemetry(Model):
    """See the API's `NodeTelemetry`."""

    gpus: list[GpuSeries]
    # Oldest first.
    host: list[HostPoint]
    node_id: NodeId
    resolution: Resolution
    since: datetime
    until: datetime
    # Where to continue if the response was truncated.
    next_since: datetime | None = None


@dataclass(kw_only=True)
class Nothing(Model):
    """An empty object."""


@dataclass(kw_only=True)
class Notification(Model):
    """See the API's `Notification`."""

    # Paragraphs of plain text.
    body: str
    created_at: datetime
    id: NotificationId
    is_read: bool
    kind: NotificationKind
    title: str
    # The status of its mail, if there is one.
    mail: NotificationMail | None = None
    organization_id: OrganizationId | None = None
    # The resource, by id.
    resource: str | None = None


@dataclass(kw_only=True)
class NotificationMail(Model):
    """See the API's `NotificationMail`."""

    attempts: int
    state: MailState
    # Why the last attempt failed.
    error: str | None = None
    sent_at: datetime | None = None


@dataclass(kw_only=True)
class NotificationPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Notification]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class NotificationPreference(Model):
    """See the API's `NotificationPreference`."""

    about: str
    email: bool
    in_app: bool
    # Whether it cannot be turned off.
    is_mandatory: bool
    kind: NotificationKind


@dataclass(kw_only=True)
class NotificationPreferenceSpec(Model):
    """See the API's `NotificationPreferenceSpec`."""

    # Whether it is sent by mail; absent leaves it unchanged.
    email: bool | None = None
    # Whether it is shown in the console; absent leaves it unchanged.
    in_app: bool | None = None


@dataclass(kw_only=True)
class NotificationPreferences(Model):
    """See the API's `NotificationPreferences`."""

    kinds: list[NotificationPreference]
    mail: MailAddress


@dataclass(kw_only=True)
class OidcFinish(Model):
    """See the API's `OidcFinish`."""

    code: SecretText
    state: SecretText


@dataclass(kw_only=True)
class OidcStart(Model):
    """See the API's `OidcStart`."""

    # The redirect URI; must be allowed by the configuration.
    redirect_uri: str


@dataclass(kw_only=True)
class OidcStarted(Model):
    """See the API's `OidcStarted`."""

    authorization_url: str
    state: ShownSecret


@dataclass(kw_only=True)
class OidcToken(Model):
    """See the API's `OidcToken`."""

    id_token: SecretText


@dataclass(kw_only=True)
class Organization(Model):
    """See the API's `Organization`."""

    created_at: datetime
    id: OrganizationId
    name: Name
    state: OrganizationState
    version: int
    # The caller's role in it; absent for platform staff.
    role: Role | None = None


@dataclass(kw_only=True)
class OrganizationPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Organization]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class OrganizationSpec(Model):
    """See the API's `OrganizationSpec`."""

    name: Name


@dataclass(kw_only=True)
class OtherCharge(Model):
    """What a journal adds to what the organization pays, besides usage. Payments,
refunds and disputes are no charges."""

    # Negative when the organization pays less.
    amount_micros: int
    currency: CurrencyCode
    # The start of its period: the reversed window, the invoice's month, or the day of posting.
    from_: datetime
    # Whether it corrects a month that was invoiced before.
    is_correction: bool
    journal_id: JournalId
    kind: OtherChargeKind
    reason: str
    # The end, which is not part of it.
    to: datetime
    # The number of the invoice or credit note that it belongs to.
    invoice: str | None = None


@dataclass(kw_only=True)
class Party(Model):
    """A seller or buyer, as printed."""

    address: list[str]
    legal_name: str
    email: str | None = None
    tax_id: str | None = None


@dataclass(kw_only=True)
class PartySpec(Model):
    """A seller or buyer."""

    # Lines of the postal address, the country last.
    address: list[PrintedLine]
    legal_name: PrintedLine
    # The contact for invoices.
    email: Email | None = None
    # A tax or VAT number.
    tax_id: PrintedLine | None = None


@dataclass(kw_only=True)
class PasskeyAssertion(Model):
    """The result of `navigator.credentials.get`."""

    authenticator_data: BinaryText
    client_data_json: BinaryText
    credential_id: BinaryText
    signature: BinaryText


@dataclass(kw_only=True)
class PasskeyConfirmation(Model):
    """The result of `navigator.credentials.create`."""

    attestation_object: BinaryText
    challenge: SecretText
    client_data_json: BinaryText
    # The person's name for the passkey.
    name: Name


@dataclass(kw_only=True)
class PasskeyOptions(Model):
    """For `navigator.credentials.create`; bytes as base64url."""

    # COSE algorithms that are accepted, the preferred one first.
    algorithms: list[int]
    challenge: str
    # Passkeys that the account has already.
    exclude_credential_ids: list[str]
    rp_id: str
    rp_name: str
    user_id: str
    user_name: str


@dataclass(kw_only=True)
class PasskeyRequest(Model):
    """See the API's `PasskeyRequest`."""

    # What the passkey signs, as base64url.
    challenge: str
    credential_ids: list[str]
    rp_id: str


@dataclass(kw_only=True)
class PasskeyStarted(Model):
    """See the API's `PasskeyStarted`."""

    # Send it back with the confirmation.
    challenge: ShownSecret
    expires_at: datetime
    options: PasskeyOptions


@dataclass(kw_only=True)
class PasswordReset(Model):
    """See the API's `PasswordReset`."""

    password: SecretText
    # The token from the mail.
    token: SecretText


@dataclass(kw_only=True)
class PasswordResetSpec(Model):
    """See the API's `PasswordResetSpec`."""

    email: Email


@dataclass(kw_only=True)
class Payment(Model):
    """See the API's `Payment`."""

    # The requested amount, in millionths.
    amount_micros: int
    created_at: datetime
    created_by: str
    currency: CurrencyCode
    # The amount reversed by the payer's bank, in millionths.
    disputed_micros: int
    id: PaymentId
    organization_id: OrganizationId
    provider: str
    # The confirmed amount, in millionths.
    received_micros: int
    # The refunded amount, in millionths.
    refunded_micros: int
    # The amount of pending refunds, in millionths.
    refunding_micros: int
    state: PaymentState
    version: int
    # Where to pay; only while it is `pending`.
    checkout_url: str | None = None
    # The last error, if any.
    last_error: str | None = None
    # The provider's id of the payment, as in `pi_…`; absent until it has one.
    provider_id: str | None = None


@dataclass(kw_only=True)
class PaymentDrift(Model):
    """A difference between the provider and the ledger."""

    found_at: datetime
    id: PaymentDriftId
    kind: PaymentDriftKind
    # The ledger's amount, in millionths.
    ledger_micros: int
    # The provider's id of the object, as in `pi_…`, `re_…` or `dp_…`.
    object_id: str
    provider: str
    # The provider's amount, in millionths.
    provider_micros: int
    # When it was seen last.
    seen_at: datetime
    currency: CurrencyCode | None = None
    payment_id: PaymentId | None = None
    resolved_at: datetime | None = None


@dataclass(kw_only=True)
class PaymentDriftPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[PaymentDrift]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class PaymentEvent(Model):
    """An event from the provider. Its content is not stored; the current state is read from the provider."""

    # How often it arrived.
    deliveries: int
    # The provider's id of the event, as in `evt_…`.
    event_id: str
    id: PaymentEventId
    # What happened, in the provider's words.
    kind: str
    outcome: PaymentEventOutcome
    provider: str
    received_at: datetime
    # What it happened to, in the provider's words.
    object_id: str | None = None
    payment_id: PaymentId | None = None
    processed_at: datetime | None = None


@dataclass(kw_only=True)
class PaymentEventPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[PaymentEvent]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class PaymentPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Payment]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class PaymentSpec(Model):
    """See the API's `PaymentSpec`."""

    # Millionths of the currency; a whole number of its smallest units.
    amount_micros: int
    currency: CurrencyCode


@dataclass(kw_only=True)
class PlatformRoleSpec(Model):
    """See the API's `PlatformRoleSpec`."""

    # Absent or null revokes the role.
    role: PlatformRoleChoice | None = None


@dataclass(kw_only=True)
class Policy(Model):
    """See the API's `Policy`."""

    about: str
    # The accepted values, as a sentence.
    accepts: str
    default: str
    # Whether lower levels may only tighten it.
    guardrail: bool
    key: str
    # Every level from the default to the one asked about, with its value where one is set.
    levels: list[PolicySetting]
    # The lowest level at which it can be set.
    lowest_level: PolicyLevel
    # Where it is set.
    source: PolicyLevel
    # What the number counts: `seconds`, `per_minute`, `count` …
    unit: str
    # The value that applies.
    value: str


@dataclass(kw_only=True)
class PolicyPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Policy]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class PolicySetting(Model):
    """See the API's `PolicySetting`."""

    level: PolicyLevel
    # Whether a tighter value at a higher level overrides this one.
    overridden: bool
    set_at: datetime | None
    value: str | None


@dataclass(kw_only=True)
class PolicyValue(Model):
    """A value in its text form: a number, `true` or `false`, or a word."""

    value: str


@dataclass(kw_only=True)
class Pool(Model):
    """See the API's `Pool`."""

    created_at: datetime
    id: PoolId
    isolates_vms: bool
    isolation: Isolation
    name: Label
    provider: PoolProvider
    region_id: RegionId


@dataclass(kw_only=True)
class PoolChange(Model):
    """See the API's `PoolChange`."""

    isolation: IsolationChoice


@dataclass(kw_only=True)
class PoolPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Pool]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class PoolSpec(Model):
    """See the API's `PoolSpec`."""

    isolation: IsolationChoice
    name: Label
    provider: PoolProviderChoice
    region_id: RegionId
    # Whether workloads run in virtual machines here, so that one node can serve several organizations at
    # the same time.
    isolates_vms: bool | None = None


@dataclass(kw_only=True)
class PoolUpdate(Model):
    """See the API's `PoolUpdate`."""

    # How many nodes are updated; the others run it already.
    nodes: int
    pool_id: PoolId
    version: str


@dataclass(kw_only=True)
class Price(Model):
    """See the API's `Price`."""

    created_at: datetime
    currency: CurrencyCode
    effective_at: datetime
    id: PriceId
    kind: PriceKind
    per_units: int
    # Millionths of the currency for `per_units` units.
    price_micros: int
    sku_id: SkuId
    unit: PriceUnit
    # Counts up per SKU, unit, kind and currency.
    version: int


@dataclass(kw_only=True)
class PricePage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Price]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class PriceSpec(Model):
    """See the API's `PriceSpec`."""

    currency: CurrencyCode
    # Millionths of the currency for `per_units` units.
    price_micros: int
    # When it takes effect; never in the past. Default: now.
    effective_at: datetime | None = None
    # Which usage it is for. Default: `on_demand`.
    kind: PriceKindChoice | None = None
    # How many units the price is for, such as 1000000 tokens. Only counted units have more than 1, the default.
    per_units: int | None = None
    # What is priced. Default: `gpu_hour`.
    unit: PriceUnitChoice | None = None


@dataclass(kw_only=True)
class Problem(Model):
    """An `application/problem+json` body."""

    # What to do next.
    advice: str
    # Stable and meant for programs.
    code: str
    # Mention it when you ask for help; it is in the logs.
    correlation_id: str
    # What is wrong in this request.
    detail: str
    status: int
    title: str
    # Stable address of the code's description, relative to the server.
    type: str
    # The challenge to answer with a second factor, for the code `mfa_required`.
    challenge: MfaChallenge | None = None
    # The part of the request that is wrong, if known.
    field: str | None = None


@dataclass(kw_only=True)
class ProblemKind(Model):
    """See the API's `ProblemKind`."""

    advice: str
    code: str
    status: int
    title: str


@dataclass(kw_only=True)
class Profile(Model):
    """See the API's `Profile`."""

    name: PersonName


@dataclass(kw_only=True)
class Project(Model):
    """See the API's `Project`."""

    created_at: datetime
    id: ProjectId
    name: Name
    organization_id: OrganizationId
    state: ProjectState
    version: int


@dataclass(kw_only=True)
class ProjectPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Project]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class ProjectSpec(Model):
    """See the API's `ProjectSpec`."""

    name: Name


@dataclass(kw_only=True)
class Proof(Model):
    """The result of a part of a proof."""

    entries: int
    intervals: int
    journals: int
    # Organizations whose ledgers were checked completely.
    organizations: int
    # The first difference; the proof ends there.
    difference: Difference | None = None
    # Send it as `after` to continue; absent at the end.
    next_after: ProofPlace | None = None


@dataclass(kw_only=True)
class Provider(Model):
    """See the API's `Provider`."""

    created_at: datetime
    erase: Erase
    id: ProviderId
    kind: ProviderKind
    max_machines: int
    name: Label
    pool_id: PoolId
    series: MaasName
    state: ProviderState
    tags: list[MaasName]
    url: MaasUrl
    version: int
    agent: AgentSource | None = None
    # When MAAS last listed its machines.
    heard_at: datetime | None = None
    # The last error from MAAS.
    last_error: str | None = None
    maas_pool: MaasName | None = None


@dataclass(kw_only=True)
class ProviderChange(Model):
    """See the API's `ProviderChange`."""

    agent: AgentSourceSpec | None = None
    # Replaces the key in use; required with a new `url`.
    api_key: SecretText | None = None
    erase: EraseChoice | None = None
    # A number below the current count returns no machine; it only prevents further ones.
    max_machines: int | None = None
    series: MaasName | None = None
    url: MaasUrl | None = None


@dataclass(kw_only=True)
class ProviderPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Provider]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class ProviderSpec(Model):
    """See the API's `ProviderSpec`."""

    # As MAAS shows it: `consumer:token:secret`.
    api_key: SecretText
    # The most machines it may allocate.
    max_machines: int
    name: Label
    # The pool that its machines become nodes of; it has the provider `maas`.
    pool_id: PoolId
    # What is installed, such as `noble`.
    series: MaasName
    url: MaasUrl
    # The URL of the agent. Without it, the image must contain the agent.
    agent: AgentSourceSpec | None = None
    erase: EraseChoice | None = None
    kind: ProviderKindChoice | None = None
    # Only machines of this resource pool of MAAS.
    maas_pool: MaasName | None = None
    # Only machines that have all of these tags in MAAS.
    tags: list[MaasName] | None = None


@dataclass(kw_only=True)
class Quota(Model):
    """See the API's `Quota`."""

    gpus: int
    id: QuotaId
    organization_id: OrganizationId
    set_at: datetime
    sku: Label
    sku_id: SkuId
    # How many are in use.
    used: int


@dataclass(kw_only=True)
class QuotaPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Quota]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class QuotaSpec(Model):
    """See the API's `QuotaSpec`."""

    gpus: int


@dataclass(kw_only=True)
class ReadMark(Model):
    """See the API's `ReadMark`."""

    # The newest one that was seen; later ones stay unread. Absent for all.
    up_to: NotificationId | None = None


@dataclass(kw_only=True)
class RecordedEvent(Model):
    """See the API's `RecordedEvent`."""

    at: datetime
    correlation_id: str
    data: Any
    id: EventId
    message_id: str
    resource: str | None
    subject: str
    # The organization of the event; absent for the platform.
    organization_id: OrganizationId | None = None


@dataclass(kw_only=True)
class RecordedEventPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[RecordedEvent]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class Recording(Model):
    """See the API's `Recording`."""

    allocation_id: AllocationId
    created_at: datetime
    # Its duration.
    duration_ms: int
    # Whether input is recorded too.
    has_input: bool
    id: RecordingId
    # Who was recorded: `user:` or `service_account:` and an id.
    opened_by: str
    organization_id: OrganizationId
    project_id: ProjectId
    session_id: AccessSessionId
    # Its stored size.
    size_bytes: int
    state: RecordingState
    version: int
    # SHA-256 over the hashes of all chunks, in hex; also in the audit log.
    root: str | None = None
    sealed_at: datetime | None = None
    user_id: UserId | None = None


@dataclass(kw_only=True)
class RecordingDetail(Model):
    """See the API's `RecordingDetail`."""

    gaps: list[RecordingGap]
    recording: Recording
    segments: list[RecordingSegment]


@dataclass(kw_only=True)
class RecordingGap(Model):
    """Output that is missing."""

    after_segment: int
    from_: int
    to: int


@dataclass(kw_only=True)
class RecordingPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Recording]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class RecordingProof(Model):
    """See the API's `RecordingProof`."""

    is_intact: bool
    # How many chunks were verified.
    pieces: int
    # The errors, chunk by chunk.
    problems: list[str]
    recording_id: RecordingId
    root: str


@dataclass(kw_only=True)
class RecordingSegment(Model):
    """A part that one gateway wrote continuously."""

    began_ms: int
    ended_ms: int
    # Offsets of the output in it.
    from_: int
    # Whether its gateway finished it.
    is_complete: bool
    number: int
    pieces: int
    to: int


@dataclass(kw_only=True)
class RecoveryCodes(Model):
    """See the API's `RecoveryCodes`."""

    recovery_codes: list[ShownSecret]


@dataclass(kw_only=True)
class RefreshToken(Model):
    """See the API's `RefreshToken`."""

    refresh_token: SecretText


@dataclass(kw_only=True)
class Refund(Model):
    """See the API's `Refund`."""

    amount_micros: int
    created_at: datetime
    created_by: str
    currency: CurrencyCode
    id: RefundId
    organization_id: OrganizationId
    payment_id: PaymentId
    reason: str
    state: RefundState
    version: int
    # The last error, if any.
    last_error: str | None = None
    # The provider's id of it, as in `re_…`; absent until it has one.
    provider_id: str | None = None


@dataclass(kw_only=True)
class RefundPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Refund]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class RefundSpec(Model):
    """See the API's `RefundSpec`."""

    reason: Reason
    # Millionths of the payment's currency. Default: the full remaining amount.
    amount_micros: int | None = None


@dataclass(kw_only=True)
class Region(Model):
    """See the API's `Region`."""

    created_at: datetime
    id: RegionId
    name: Label


@dataclass(kw_only=True)
class RegionPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Region]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class RegionSpec(Model):
    """See the API's `RegionSpec`."""

    name: Label


@dataclass(kw_only=True)
class Rejection(Model):
    """See the API's `Rejection`."""

    nodes: int
    reason: str


@dataclass(kw_only=True)
class RetireSpec(Model):
    """See the API's `RetireSpec`."""

    reason: Reason
    # The host will not come back: allocations on the node end immediately.
    lost: bool | None = None


@dataclass(kw_only=True)
class Revenue(Model):
    """See the API's `Revenue`."""

    # In the order of days; days without any are left out.
    lines: list[RevenueLine]
    since: datetime
    until: datetime


@dataclass(kw_only=True)
class RevenueLine(Model):
    """See the API's `RevenueLine`."""

    # Negative when reversals exceed revenue.
    amount_micros: int
    currency: CurrencyCode
    # Like `2026-11-15`.
    day: str
    sku: str
    sku_id: SkuId


@dataclass(kw_only=True)
class Seal(Model):
    """See the API's `Seal`."""

    entries: int
    # Merkle root over the entries, hexadecimal.
    entries_root: str
    # When retention removed the entries; the root remains.
    expired_at: datetime | None
    key_id: str
    number: int
    # Hash over the previous root and this seal, hexadecimal.
    root: str
    sealed_at: datetime
    signature: str


@dataclass(kw_only=True)
class SealFinding(Model):
    """See the API's `SealFinding`."""

    # The entry that was removed, edited or inserted, if known.
    entry: AuditEntryId | None
    seal: int | None
    what: str


@dataclass(kw_only=True)
class SealReport(Model):
    """See the API's `SealReport`."""

    entries_checked: int
    findings: list[SealFinding]
    # Send it as `after` to continue; absent at the end.
    next_after: int | None
    # The roots that were checked, oldest first.
    roots: list[str]
    seals_checked: int
    # Entries that wait for the next seal; only counted at the end.
    unsealed: int | None


@dataclass(kw_only=True)
class Seals(Model):
    """See the API's `Seals`."""

    items: list[Seal]
    # The newest root of all, to be stored in another place.
    newest_root: str | None
    # Send it as `after` for more; absent at the end.
    next_after: int | None


@dataclass(kw_only=True)
class ServiceAccount(Model):
    """See the API's `ServiceAccount`."""

    created_at: datetime
    id: ServiceAccountId
    name: Name
    role: Role


@dataclass(kw_only=True)
class ServiceAccountPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[ServiceAccount]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class ServiceAccountSpec(Model):
    """See the API's `ServiceAccountSpec`."""

    name: Name
    role: RoleChoice


@dataclass(kw_only=True)
class ServiceAccountSummary(Model):
    """See the API's `ServiceAccountSummary`."""

    id: ServiceAccountId
    name: Name
    organization_id: OrganizationId


@dataclass(kw_only=True)
class Session(Model):
    """See the API's `Session`."""

    created_at: datetime
    # Whether it is the caller's current session.
    current: bool
    expires_at: datetime
    id: SessionId
    last_used_at: datetime | None


@dataclass(kw_only=True)
class SessionPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Session]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class SignUpConfirmation(Model):
    """See the API's `SignUpConfirmation`."""

    name: PersonName
    password: SecretText
    # The token from the mail.
    token: SecretText


@dataclass(kw_only=True)
class Sku(Model):
    """See the API's `Sku`."""

    created_at: datetime
    gpu_counts: list[int]
    id: SkuId
    limits: SkuLimits
    name: Label
    numa_bound: bool
    shape: Shape
    gpu_model: GpuModel | None = None
    retired_at: datetime | None = None


@dataclass(kw_only=True)
class SkuLimits(Model):
    """How much of a host a login of a SKU may use. Default: its GPUs' share of the host."""

    # CPUs per GPU: the share when CPUs are scarce. Idle CPUs are available to everybody.
    cpus_per_gpu: int | None = None
    # GiB of memory per GPU. Only a login that exceeds it is killed.
    memory_gib_per_gpu: int | None = None
    # Open files per process.
    open_files: int | None = None
    # Processes and threads per GPU.
    tasks_per_gpu: int | None = None


@dataclass(kw_only=True)
class SkuLimitsSpec(Model):
    """How much of a host a login of a SKU may use. Default: its GPUs' share of the host."""

    # CPUs per GPU: the share when CPUs are scarce. Idle CPUs are available to everybody.
    cpus_per_gpu: int | None = None
    # GiB of memory per GPU. Only a login that exceeds it is killed.
    memory_gib_per_gpu: int | None = None
    # Open files per process.
    open_files: int | None = None
    # Processes and threads per GPU.
    tasks_per_gpu: int | None = None


@dataclass(kw_only=True)
class SkuPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Sku]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class SkuSpec(Model):
    """See the API's `SkuSpec`."""

    # The allowed numbers of GPUs per node, each between 1 and 64.
    gpu_counts: list[int]
    name: Label
    shape: ShapeChoice
    # The required GPU model, as hosts report it. Default: any model.
    gpu_model: GpuModel | None = None
    # What a login may use of a host besides GPUs. Default: its GPUs' share of the host.
    limits: SkuLimitsSpec | None = None
    # Whether the GPUs of one node must share one NUMA node.
    numa_bound: bool | None = None


@dataclass(kw_only=True)
class Slot(Model):
    """See the API's `Slot`."""

    condition: SlotCondition
    gpu_uuid: str
    id: SlotId
    index: int
    memory_bytes: int
    model: str
    nvme: list[str]
    pci: str
    # Why it is quarantined.
    condition_reason: str | None = None
    fabric: str | None = None
    held_by: AllocationId | None = None
    numa: int | None = None


@dataclass(kw_only=True)
class SshCertificate(Model):
    """See the API's `SshCertificate`."""

    # Host and port of the gateways of the allocation's region.
    address: str
    # In OpenSSH's form: what `CertificateFile` names a file of.
    certificate: str
    expires_at: datetime
    # The gateways' keys at that address, as lines of a `known_hosts` file.
    known_hosts: list[str]
    # The login before the `@`.
    login: str


@dataclass(kw_only=True)
class SshCertificateSpec(Model):
    """See the API's `SshCertificateSpec`."""

    # The key that is certified; its private half stays with the caller.
    public_key: PublicKey


@dataclass(kw_only=True)
class SshKey(Model):
    """See the API's `SshKey`."""

    created_at: datetime
    # As `ssh-keygen -l` prints it.
    fingerprint: str
    id: SshKeyId
    name: Name
    public_key: PublicKey


@dataclass(kw_only=True)
class SshKeyPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[SshKey]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class SshKeySpec(Model):
    """See the API's `SshKeySpec`."""

    name: Name
    # The signature of the caller's id, by this key.
    proof: SshSignature
    public_key: PublicKey


@dataclass(kw_only=True)
class Tax(Model):
    """A tax."""

    # Hundredths of a percent: 1900 is 19 %.
    basis_points: int
    name: str
    note: str | None = None


@dataclass(kw_only=True)
class TaxSpec(Model):
    """See the API's `TaxSpec`."""

    # Hundredths of a percent: 1900 is 19 %.
    basis_points: int
    # Its name, as in `VAT`.
    name: PrintedLine
    # A sentence for the invoice, as in `Reverse charge`.
    note: PrintedLine | None = None


@dataclass(kw_only=True)
class TokenSet(Model):
    """See the API's `TokenSet`."""

    access_expires_at: datetime
    access_token: ShownSecret
    refresh_expires_at: datetime
    refresh_token: ShownSecret
    session_id: SessionId
    user_id: UserId


@dataclass(kw_only=True)
class TotpConfirmation(Model):
    """See the API's `TotpConfirmation`."""

    challenge: SecretText
    # The six digits that the authenticator app shows now.
    code: SecretText
    # The person's name for the device.
    name: Name


@dataclass(kw_only=True)
class TotpStarted(Model):
    """See the API's `TotpStarted`."""

    # Send it back with the confirmation.
    challenge: ShownSecret
    expires_at: datetime
    # For typing into an authenticator app, in base32.
    secret: ShownSecret
    # The same as an `otpauth://` address, for a QR code.
    uri: ShownSecret


@dataclass(kw_only=True)
class UnreadNotifications(Model):
    """See the API's `UnreadNotifications`."""

    unread: int


@dataclass(kw_only=True)
class Usage(Model):
    """See the API's `Usage`."""

    by: UsageBy
    # The largest amount first; days in order.
    lines: list[UsageLine]
    since: datetime
    until: datetime


@dataclass(kw_only=True)
class UsageExport(Model):
    """See the API's `UsageExport`."""

    charges: list[Charge]
    organization: str
    organization_id: OrganizationId
    # Charges and credits besides usage, after the last usage charge.
    other_charges: list[OtherCharge]
    # The end of the month, which is not part of it.
    period_end: datetime
    period_start: datetime
    # When usage was last posted, the same for all parts of an export.
    posted_to: datetime
    # Send it as `after` to continue; absent at the end.
    next_after: ExportPlace | None = None
    # The seller, as on invoices; absent until it is set.
    seller: str | None = None


@dataclass(kw_only=True)
class UsageLine(Model):
    """See the API's `UsageLine`."""

    amount_micros: int
    currency: CurrencyCode
    # GPU-seconds. What is not measured in GPU hours adds none.
    gpu_seconds: int
    # How many intervals it consists of.
    intervals: int
    # The name of the project, SKU or meter, the tag's value (empty without the tag), or the day.
    key: str
    # By meter: the quantity; where it is measured over time, times seconds.
    quantity: int | None = None
    # By meter: the unit of its prices.
    unit: PriceUnit | None = None


@dataclass(kw_only=True)
class User(Model):
    """See the API's `User`."""

    created_at: datetime
    email: Email
    id: UserId
    name: PersonName
    platform_role: PlatformRole | None


@dataclass(kw_only=True)
class UserPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[User]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class Utilization(Model):
    """See the API's `Utilization`."""

    # Every day, in order.
    lines: list[UtilizationLine]
    since: datetime
    until: datetime


@dataclass(kw_only=True)
class UtilizationLine(Model):
    """See the API's `UtilizationLine`."""

    # Like `2026-11-15`.
    day: str
    # GPU-seconds sold.
    sold_gpu_seconds: int
    # GPU-seconds available in the fleet.
    there_gpu_seconds: int


@dataclass(kw_only=True)
class WalletChange(Model):
    """See the API's `WalletChange`."""

    # Positive is money for the organization.
    amount_micros: int
    # The wallet's balance afterwards.
    balance_micros: int
    currency: CurrencyCode


@dataclass(kw_only=True)
class Webhook(Model):
    """See the API's `Webhook`."""

    created_at: datetime
    description: WebhookDescription | None
    # Why it is disabled, when it is.
    disabled_reason: str | None
    events: list[EventPattern]
    # Consecutive exhausted deliveries; a successful one resets it.
    failures: int
    id: WebhookId
    organization_id: OrganizationId
    # How long the previous secret also signs, after a rotation.
    previous_secret_until: datetime | None
    state: WebhookState
    url: WebhookUrl
    version: int


@dataclass(kw_only=True)
class WebhookChange(Model):
    """See the API's `WebhookChange`."""

    description: WebhookDescription | None = None
    events: list[EventPattern] | None = None
    url: WebhookUrl | None = None


@dataclass(kw_only=True)
class WebhookDelivery(Model):
    """See the API's `WebhookDelivery`."""

    attempts: int
    created_at: datetime
    delivered_at: datetime | None
    # The error of the last attempt, if it failed.
    error: str | None
    # The event, as `message_id` in the body names it too.
    event_id: EventId
    id: WebhookDeliveryId
    # Whether it is a test.
    is_test: bool
    # The status of the last response, if any.
    last_status: int | None
    # The time of the next attempt; absent if there is none.
    next_attempt_at: datetime | None
    state: WebhookDeliveryState
    subject: str
    webhook_id: WebhookId


@dataclass(kw_only=True)
class WebhookDeliveryPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[WebhookDelivery]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class WebhookPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[Webhook]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None


@dataclass(kw_only=True)
class WebhookSpec(Model):
    """See the API's `WebhookSpec`."""

    # An event is sent once, even if several of these match.
    events: list[EventPattern]
    url: WebhookUrl
    description: WebhookDescription | None = None


@dataclass(kw_only=True)
class Whoami(Model):
    """See the API's `Whoami`."""

    key_id: KeyId | None
    # The credential's maximum permissions; absent if only roles limit it.
    scopes: list[Permission] | None
    service_account: ServiceAccountSummary | None
    session_id: SessionId | None
    # The person, if the caller is a person.
    user: User | None


@dataclass(kw_only=True)
class WorkItem(Model):
    """See the API's `WorkItem`."""

    attempts: int
    due_at: datetime
    id: str
    kind: str
    last_error: str | None
    needs_attention: bool


@dataclass(kw_only=True)
class WorkItemPage(Model):
    """One page of a list, newest first unless the endpoint says otherwise."""

    items: list[WorkItem]
    # Send it as `cursor` for the next page; absent on the last one.
    next_cursor: str | None = None
