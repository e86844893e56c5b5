"""One method for each endpoint.

Generated from the contract; a change made here is lost. @generated
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from gpuaas._allocation import Allocation
from gpuaas._call import Call, InOrganization, InProject, given, key_or_new
from gpuaas._follow import EventFollowing
from gpuaas._generated import models as m
from gpuaas._pages import Pages
from gpuaas._resource import Resource
from gpuaas._secret import Secret

if TYPE_CHECKING:
    from gpuaas.client import Client


class AccessSessions(Resource):
    """The endpoints of `access_sessions`."""

    def list(self, *, organization: str | None = None, allocation_id: m.AllocationId | None = None, page_size: int | None = None, since: datetime | str | None = None, state: m.AccessSessionStateChoice | None = None, until: datetime | str | None = None, user_id: m.UserId | None = None) -> Pages[m.AccessSession]:
        """List the sessions of an organization.

        Who may call: members of the organization with the permission `access:read`.

        - `organization`: By id or name; the client's own when not said.
        - `allocation_id`: Only those of this allocation.
        - `page_size`: Items per page.
        - `since`: Only those that started at or after this time.
        - `state`: Only sessions in this state. Default: all that have not ended.
        - `until`: Only those that started before this time.
        - `user_id`: Only those of this person.
        """
        call = Call(
            "ListAccessSessions", "GET", "/v1/organizations/{organization_id}/access-sessions",
            path={"organization_id": InOrganization(organization)},
            query=given({"allocation_id": allocation_id, "limit": page_size, "since": since, "state": state, "until": until, "user_id": user_id}),
        )
        return Pages(self._client, call, m.AccessSession)

    def get(self, access_session_id: m.AccessSessionId, *, organization: str | None = None) -> m.AccessSession:
        """Read one session.

        Who may call: members of the organization with the permission `access:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetAccessSession", "GET", "/v1/organizations/{organization_id}/access-sessions/{access_session_id}",
            path={"organization_id": InOrganization(organization), "access_session_id": access_session_id},
        )
        return self._client.send(call, m.AccessSession)

    def end(self, access_session_id: m.AccessSessionId, *, organization: str | None = None, idempotency_key: str | None = None) -> m.AccessSession:
        """End a session: your own, or any session for administrators.

        A disconnected shell ends when its grace period is over.

        Who may call: members of the organization with the permission `access:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "EndAccessSession", "POST", "/v1/organizations/{organization_id}/access-sessions/{access_session_id}/end",
            path={"organization_id": InOrganization(organization), "access_session_id": access_session_id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.AccessSession)

    def list_all(self, *, allocation_id: m.AllocationId | None = None, gateway_id: m.GatewayId | None = None, page_size: int | None = None, organization_id: m.OrganizationId | None = None, since: datetime | str | None = None, state: m.AccessSessionStateChoice | None = None, until: datetime | str | None = None, user_id: m.UserId | None = None) -> Pages[m.AccessSession]:
        """List the sessions of every organization.

        Who may call: platform staff with the permission `platform.access:read`.

        - `allocation_id`: Only those of this allocation.
        - `gateway_id`: Only those through this gateway.
        - `page_size`: Items per page.
        - `organization_id`: Only those of this organization.
        - `since`: Only those that started at or after this time.
        - `state`: Only sessions in this state. Default: all that have not ended.
        - `until`: Only those that started before this time.
        - `user_id`: Only those of this person.
        """
        call = Call(
            "ListAllAccessSessions", "GET", "/v1/platform/access-sessions",
            query=given({"allocation_id": allocation_id, "gateway_id": gateway_id, "limit": page_size, "organization_id": organization_id, "since": since, "state": state, "until": until, "user_id": user_id}),
        )
        return Pages(self._client, call, m.AccessSession)

    def end_any(self, access_session_id: m.AccessSessionId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.AccessSession:
        """End any session.

        Who may call: platform staff with the permission `platform.access:write`.
        """
        call = Call(
            "EndAnyAccessSession", "POST", "/v1/platform/access-sessions/{access_session_id}/end",
            path={"access_session_id": access_session_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.AccessSession)


class AccessTickets(Resource):
    """The endpoints of `access_tickets`."""

    def break_glass(self, allocation_id: m.AllocationId, *, reason: m.Reason, node_id: m.NodeId | None = None, idempotency_key: str | None = None) -> m.NewAccessTicket:
        """Get a ticket for a terminal of any allocation, with a reason (break-glass).

        The session is recorded if recordings are stored, and the organization's owners and administrators are notified immediately.

        Who may call: platform staff with the permission `platform.access:write`.

        - `node_id`: The rank of the node. Default: the first.
        - `reason`: Sent to the organization.
        """
        call = Call(
            "BreakGlass", "POST", "/v1/platform/allocations/{allocation_id}/break-glass",
            path={"allocation_id": allocation_id},
            body={"reason": reason, **given({"node_id": node_id})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.NewAccessTicket)

    def create(self, allocation_id: m.AllocationId, *, kind: m.TicketKindChoice, project: str | None = None, command: m.Command | None = None, node_id: m.NodeId | None = None, plain: bool | None = None, port: int | None = None, resume: m.AccessSessionId | None = None, share: bool | None = None, watch: bool | None = None, idempotency_key: str | None = None) -> m.NewAccessTicket:
        """Get a ticket for a terminal, a port or a web service of an allocation.

        The ticket is shown once, in this response, and works once. Send it to the gateway in `Sec-WebSocket-Protocol`, never in a URL.

        Who may call: members of the project's organization with the permission `access:write`.

        - `project`: By id or name; the client's own when not said.
        - `command`: Run this instead of a prompt.
        - `node_id`: The rank of the node. Default: the first.
        - `plain`: Without a terminal: stdout and stderr are separate, nothing is echoed, and it cannot be resumed. For
        pipes.
        - `port`: For `tcp` and `http`: the port on which the allocation listens.
        - `resume`: Resume the shell of this session, or take it over.
        - `share`: Let other members with the same permission join the session.
        - `watch`: Watch the session in `resume` instead, without input.
        """
        call = Call(
            "CreateAccessTicket", "POST", "/v1/projects/{project_id}/allocations/{allocation_id}/access-tickets",
            path={"project_id": InProject(project), "allocation_id": allocation_id},
            body={"kind": kind, **given({"command": command, "node_id": node_id, "plain": plain, "port": port, "resume": resume, "share": share, "watch": watch})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.NewAccessTicket)


class AccountTokens(Resource):
    """The endpoints of `account_tokens`."""

    def request_address_change(self, *, email: m.Email, password: Secret | str | None = None) -> None:
        """Request a change of address: a token is mailed to the new address.

        The old address stays until the token is confirmed. The response is the same whether or not the new address has an account. Callers with neither a password nor a second factor must have signed in recently.

        Who may call: any signed-in person, about themselves.

        - `email`: The new address.
        - `password`: The current password; required if the account has one.
        """
        call = Call(
            "RequestAddressChange", "POST", "/v1/me/address-changes",
            body={"email": email, **given({"password": password})},
            repeatable=False,
        )
        self._client.send(call, None)

    def confirm_address_change(self, *, token: Secret | str) -> m.User:
        """Change the caller's address with the token mailed to the new one.

        All sessions end, including this one, and the old address is notified.

        Who may call: any signed-in person, about themselves.

        - `token`: The token from the mail.
        """
        call = Call(
            "ConfirmAddressChange", "POST", "/v1/me/address-changes/confirm",
            body={"token": token},
            repeatable=False,
        )
        return self._client.send(call, m.User)

    def request_password_reset(self, *, email: m.Email) -> None:
        """Request a mail with a token that sets a new password.

        The response is the same whether or not the address has an account.

        Who may call: anyone, because whoever forgot the password cannot sign in.
        """
        call = Call(
            "RequestPasswordReset", "POST", "/v1/password-resets",
            body={"email": email},
            repeatable=False,
        )
        self._client.send(call, None)

    def confirm_password_reset(self, *, password: Secret | str, token: Secret | str) -> None:
        """Set a new password with a mailed token. All sessions end.

        Who may call: anyone, because the mailed token in the body is the credential.

        - `token`: The token from the mail.
        """
        call = Call(
            "ConfirmPasswordReset", "POST", "/v1/password-resets/confirm",
            body={"password": password, "token": token},
            repeatable=False,
        )
        self._client.send(call, None)

    def confirm_sign_up(self, *, name: m.PersonName, password: Secret | str, token: Secret | str) -> None:
        """Create an account with the token mailed to its address.

        The token comes from `SignUp` or from an invitation, which is accepted after signing in. The account is created with this name and password.

        Who may call: anyone, because the mailed token in the body is the credential.

        - `token`: The token from the mail.
        """
        call = Call(
            "ConfirmSignUp", "POST", "/v1/users/confirm",
            body={"name": name, "password": password, "token": token},
            repeatable=False,
        )
        self._client.send(call, None)


class Agents(Resource):
    """The endpoints of `agents`."""

    def list(self) -> m.Agents:
        """List the available agent versions, newest first.

        Who may call: platform staff with the permission `platform.fleet:read`.
        """
        call = Call(
            "ListAgents", "GET", "/v1/platform/agents",
        )
        return self._client.send(call, m.Agents)

    def update_node(self, node_id: m.NodeId, *, reason: m.Reason, version: m.AgentVersion | None = None, idempotency_key: str | None = None) -> m.Node:
        """Update the agent of a node to another version.

        Running allocations continue. If the new agent does not report, the old one is restored.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `version`: Default: the newest available.
        """
        call = Call(
            "UpdateNode", "POST", "/v1/platform/nodes/{node_id}/update",
            path={"node_id": node_id},
            body={"reason": reason, **given({"version": version})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Node)

    def update_pool(self, pool_id: m.PoolId, *, reason: m.Reason, version: m.AgentVersion | None = None, idempotency_key: str | None = None) -> m.PoolUpdate:
        """Update the agents of a pool, a few nodes at a time.

        The update stops automatically when one of them fails or is rolled back.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `version`: Default: the newest available.
        """
        call = Call(
            "UpdatePool", "POST", "/v1/platform/pools/{pool_id}/update",
            path={"pool_id": pool_id},
            body={"reason": reason, **given({"version": version})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.PoolUpdate)

    def stop_pool_update(self, pool_id: m.PoolId, *, reason: m.Reason, idempotency_key: str | None = None) -> None:
        """Cancel the updates of a pool that have not started.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "StopPoolUpdate", "POST", "/v1/platform/pools/{pool_id}/update/stop",
            path={"pool_id": pool_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        self._client.send(call, None)


class Allocations(Resource):
    """The endpoints of `allocations`."""

    def list_all(self, *, page_size: int | None = None, node_id: m.NodeId | None = None, organization_id: m.OrganizationId | None = None, state: m.AllocationStateChoice | None = None) -> Pages[Allocation]:
        """List the allocations of every organization.

        Who may call: platform staff with the permission `platform.allocations:read`.

        - `page_size`: Items per page.
        - `node_id`: Only those on this node.
        - `organization_id`: Only those of this organization.
        - `state`: Only allocations in this state. Default: all that have or request capacity.
        """
        call = Call(
            "ListAllAllocations", "GET", "/v1/platform/allocations",
            query=given({"limit": page_size, "node_id": node_id, "organization_id": organization_id, "state": state}),
        )
        return Pages(self._client, call, Allocation)

    def force_release(self, allocation_id: m.AllocationId, *, reason: m.Reason, idempotency_key: str | None = None) -> Allocation:
        """Force the release of an allocation.

        An allocation whose cleanup failed too often, or whose host is lost, ends with its slots quarantined.

        Who may call: platform staff with the permission `platform.allocations:write`.
        """
        call = Call(
            "ForceReleaseAllocation", "POST", "/v1/platform/allocations/{allocation_id}/force-release",
            path={"allocation_id": allocation_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, Allocation).bound(self._client)

    def list(self, *, project: str | None = None, page_size: int | None = None, name: m.Name | None = None, sku: m.Label | None = None, state: m.AllocationStateChoice | None = None) -> Pages[Allocation]:
        """List the allocations of a project.

        Who may call: members of the project's organization with the permission `allocations:read`.

        - `project`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `name`: Only the one with this name.
        - `sku`: Only those of this SKU.
        - `state`: Only allocations in this state. Default: all that have or request capacity.
        """
        call = Call(
            "ListAllocations", "GET", "/v1/projects/{project_id}/allocations",
            path={"project_id": InProject(project)},
            query=given({"limit": page_size, "name": name, "sku": sku, "state": state}),
        )
        return Pages(self._client, call, Allocation)

    def create(self, *, gpus: int, sku: m.Label, project: str | None = None, lease_minutes: int | None = None, name: m.Name | None = None, nodes: int | None = None, region: m.Label | None = None, same_fabric: bool | None = None, spread_group: m.Label | None = None, ssh_keys: Sequence[m.SshKeyId] | None = None, tags: Mapping[str, m.TagValue] | None = None, idempotency_key: str | None = None) -> Allocation:
        """Request GPUs.

        The response is immediate. The allocation is `active` once its hosts have proved the GPUs. A request that does not fit waits in a fair queue.

        Who may call: members of the project's organization with the permission `allocations:write`.

        - `project`: By id or name; the client's own when not said.
        - `gpus`: GPUs per node; one of the counts that the SKU allows.
        - `lease_minutes`: Released automatically after this many minutes.
        - `nodes`: The number of nodes. All of them are placed together, or none.
        - `region`: The region's name. Default: any region.
        - `same_fabric`: Only nodes that share one fast network.
        - `sku`: The SKU's name.
        - `spread_group`: Anti-affinity: never shares a node with other allocations of this project that have the same word.
        - `ssh_keys`: The caller's public keys to accept. Default: all of the caller's keys.
        - `tags`: By name; a name is a label.
        """
        call = Call(
            "CreateAllocation", "POST", "/v1/projects/{project_id}/allocations",
            path={"project_id": InProject(project)},
            body={"gpus": gpus, "sku": sku, **given({"lease_minutes": lease_minutes, "name": name, "nodes": nodes, "region": region, "same_fabric": same_fabric, "spread_group": spread_group, "ssh_keys": ssh_keys, "tags": tags})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, Allocation).bound(self._client)

    def get(self, allocation_id: m.AllocationId, *, project: str | None = None) -> Allocation:
        """Read one allocation.

        Who may call: members of the project's organization with the permission `allocations:read`.

        - `project`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetAllocation", "GET", "/v1/projects/{project_id}/allocations/{allocation_id}",
            path={"project_id": InProject(project), "allocation_id": allocation_id},
        )
        return self._client.send(call, Allocation).bound(self._client)

    def release(self, allocation_id: m.AllocationId, *, project: str | None = None, idempotency_key: str | None = None) -> Allocation:
        """Release an allocation.

        Also works while the organization is suspended or closed.

        Who may call: members of the project's organization with the permission `allocations:write`.

        - `project`: By id or name; the client's own when not said.
        """
        call = Call(
            "ReleaseAllocation", "POST", "/v1/projects/{project_id}/allocations/{allocation_id}/release",
            path={"project_id": InProject(project), "allocation_id": allocation_id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, Allocation).bound(self._client)

    def set_ssh_keys(self, allocation_id: m.AllocationId, *, ssh_keys: Sequence[m.SshKeyId], project: str | None = None) -> Allocation:
        """Replace the public keys that an allocation accepts.

        A stopped allocation accepts them once it is started.

        Who may call: members of the project's organization with the permission `allocations:write`.

        - `project`: By id or name; the client's own when not said.
        - `ssh_keys`: Keys of the caller.
        """
        call = Call(
            "SetAllocationSshKeys", "PUT", "/v1/projects/{project_id}/allocations/{allocation_id}/ssh-keys",
            path={"project_id": InProject(project), "allocation_id": allocation_id},
            body={"ssh_keys": ssh_keys},
        )
        return self._client.send(call, Allocation).bound(self._client)

    def start(self, allocation_id: m.AllocationId, *, project: str | None = None, idempotency_key: str | None = None) -> Allocation:
        """Start a stopped allocation again.

        The allocation is `active` once its hosts have proved the GPUs again. If the start fails, it is `stopped` again, with a reason.

        Who may call: members of the project's organization with the permission `allocations:write`.

        - `project`: By id or name; the client's own when not said.
        """
        call = Call(
            "StartAllocation", "POST", "/v1/projects/{project_id}/allocations/{allocation_id}/start",
            path={"project_id": InProject(project), "allocation_id": allocation_id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, Allocation).bound(self._client)

    def stop(self, allocation_id: m.AllocationId, *, project: str | None = None, idempotency_key: str | None = None) -> Allocation:
        """Stop an allocation.

        Logins and processes end; files stay. The GPUs stay reserved for `allocations.stopped_hours` at most; release the allocation to free them. Also works while the organization is suspended.

        Who may call: members of the project's organization with the permission `allocations:write`.

        - `project`: By id or name; the client's own when not said.
        """
        call = Call(
            "StopAllocation", "POST", "/v1/projects/{project_id}/allocations/{allocation_id}/stop",
            path={"project_id": InProject(project), "allocation_id": allocation_id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, Allocation).bound(self._client)

    def explain(self, allocation_id: m.AllocationId, *, project: str | None = None) -> m.Explanation:
        """Explain why an allocation is in its state, and what would change it.

        Who may call: members of the project's organization with the permission `allocations:read`.

        - `project`: By id or name; the client's own when not said.
        """
        call = Call(
            "ExplainAllocation", "GET", "/v1/projects/{project_id}/allocations/{allocation_id}/why",
            path={"project_id": InProject(project), "allocation_id": allocation_id},
        )
        return self._client.send(call, m.Explanation)


class Audit(Resource):
    """The endpoints of `audit`."""

    def list(self, *, organization: str | None = None, action: str | None = None, actor: str | None = None, correlation_id: str | None = None, page_size: int | None = None, resource: str | None = None) -> Pages[m.AuditEntry]:
        """List the audit entries of an organization.

        Who may call: members of the organization with the permission `audit:read`.

        - `organization`: By id or name; the client's own when not said.
        - `action`: Only entries with this action, as in `project.create`.
        - `actor`: Only entries by this actor, as printed in an entry.
        - `correlation_id`: Only entries with this correlation id.
        - `page_size`: Items per page.
        - `resource`: Only entries about this resource, by its id.
        """
        call = Call(
            "ListAudit", "GET", "/v1/organizations/{organization_id}/audit",
            path={"organization_id": InOrganization(organization)},
            query=given({"action": action, "actor": actor, "correlation_id": correlation_id, "limit": page_size, "resource": resource}),
        )
        return Pages(self._client, call, m.AuditEntry)

    def list_platform(self, *, action: str | None = None, actor: str | None = None, correlation_id: str | None = None, page_size: int | None = None, resource: str | None = None) -> Pages[m.AuditEntry]:
        """List the audit entries of the whole platform.

        Who may call: platform staff with the permission `platform.audit:read`.

        - `action`: Only entries with this action, as in `project.create`.
        - `actor`: Only entries by this actor, as printed in an entry.
        - `correlation_id`: Only entries with this correlation id.
        - `page_size`: Items per page.
        - `resource`: Only entries about this resource, by its id.
        """
        call = Call(
            "ListPlatformAudit", "GET", "/v1/platform/audit",
            query=given({"action": action, "actor": actor, "correlation_id": correlation_id, "limit": page_size, "resource": resource}),
        )
        return Pages(self._client, call, m.AuditEntry)

    def list_seals(self, *, after: int | None = None, page_size: int | None = None) -> m.Seals:
        """List the seals over the audit log, oldest first.

        Store the newest root in another place: it reveals a log that was truncated before it.

        Who may call: platform staff with the permission `platform.audit:read`.

        - `after`: Only seals after this number.
        - `page_size`: Items per page.
        """
        call = Call(
            "ListSeals", "GET", "/v1/platform/audit/seals",
            query=given({"after": after, "limit": page_size}),
        )
        return self._client.send(call, m.Seals)

    def verify_seals(self, *, after: int | None = None, page_size: int | None = None) -> m.SealReport:
        """Recompute seals from the rows and report every difference.

        Who may call: platform staff with the permission `platform.audit:read`.

        - `after`: Only seals after this number.
        - `page_size`: Items per page.
        """
        call = Call(
            "VerifySeals", "GET", "/v1/platform/audit/verify",
            query=given({"after": after, "limit": page_size}),
        )
        return self._client.send(call, m.SealReport)


class BillingProfiles(Resource):
    """The endpoints of `billing_profiles`."""

    def get(self, *, organization: str | None = None) -> m.BillingProfile:
        """Show what is printed about the organization on its invoices.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetBillingProfile", "GET", "/v1/organizations/{organization_id}/billing-profile",
            path={"organization_id": InOrganization(organization)},
        )
        return self._client.send(call, m.BillingProfile)

    def set(self, *, address: Sequence[m.PrintedLine], legal_name: m.PrintedLine, organization: str | None = None, email: m.Email | None = None, tax_id: m.PrintedLine | None = None) -> m.BillingProfile:
        """Set what is printed about the organization on its invoices from now on.

        Who may call: members of the organization with the permission `billing_profile:write`.

        - `organization`: By id or name; the client's own when not said.
        - `address`: Lines of the postal address, the country last.
        - `email`: The contact for invoices.
        - `tax_id`: A tax or VAT number.
        """
        call = Call(
            "SetBillingProfile", "PUT", "/v1/organizations/{organization_id}/billing-profile",
            path={"organization_id": InOrganization(organization)},
            body={"address": address, "legal_name": legal_name, **given({"email": email, "tax_id": tax_id})},
        )
        return self._client.send(call, m.BillingProfile)

    def get_seller_profile(self) -> m.BillingProfile:
        """Show the seller: what is printed about the platform on every invoice.

        Who may call: platform staff with the permission `platform.ledger:read`.
        """
        call = Call(
            "GetSellerProfile", "GET", "/v1/platform/billing-profile",
        )
        return self._client.send(call, m.BillingProfile)

    def set_seller_profile(self, *, address: Sequence[m.PrintedLine], legal_name: m.PrintedLine, email: m.Email | None = None, tax: m.TaxSpec | None = None, tax_id: m.PrintedLine | None = None) -> m.BillingProfile:
        """Set the seller, and the default tax.

        Invoices are issued once this is set.

        Who may call: platform staff with the permission `platform.ledger:write`.

        - `address`: Lines of the postal address, the country last.
        - `email`: The contact for invoices.
        - `tax`: The tax. Default: the seller's tax, or none.
        - `tax_id`: A tax or VAT number.
        """
        call = Call(
            "SetSellerProfile", "PUT", "/v1/platform/billing-profile",
            body={"address": address, "legal_name": legal_name, **given({"email": email, "tax": tax, "tax_id": tax_id})},
        )
        return self._client.send(call, m.BillingProfile)

    def get_any(self, organization_id: m.OrganizationId) -> m.BillingProfile:
        """Show what is printed about any organization on its invoices, and how it is taxed.

        Who may call: platform staff with the permission `platform.ledger:read`.
        """
        call = Call(
            "GetAnyBillingProfile", "GET", "/v1/platform/organizations/{organization_id}/billing-profile",
            path={"organization_id": organization_id},
        )
        return self._client.send(call, m.BillingProfile)

    def set_any(self, organization_id: m.OrganizationId, *, address: Sequence[m.PrintedLine], legal_name: m.PrintedLine, email: m.Email | None = None, tax: m.TaxSpec | None = None, tax_id: m.PrintedLine | None = None) -> m.BillingProfile:
        """Set what is printed about any organization on its invoices, and how it is taxed.

        Who may call: platform staff with the permission `platform.ledger:write`.

        - `address`: Lines of the postal address, the country last.
        - `email`: The contact for invoices.
        - `tax`: The tax. Default: the seller's tax, or none.
        - `tax_id`: A tax or VAT number.
        """
        call = Call(
            "SetAnyBillingProfile", "PUT", "/v1/platform/organizations/{organization_id}/billing-profile",
            path={"organization_id": organization_id},
            body={"address": address, "legal_name": legal_name, **given({"email": email, "tax": tax, "tax_id": tax_id})},
        )
        return self._client.send(call, m.BillingProfile)


class Budgets(Resource):
    """The endpoints of `budgets`."""

    def list(self, *, organization: str | None = None, page_size: int | None = None, project_id: m.ProjectId | None = None) -> Pages[m.Budget]:
        """List the budgets of an organization.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `project_id`: Only budgets of this project.
        """
        call = Call(
            "ListBudgets", "GET", "/v1/organizations/{organization_id}/budgets",
            path={"organization_id": InOrganization(organization)},
            query=given({"limit": page_size, "project_id": project_id}),
        )
        return Pages(self._client, call, m.Budget)

    def create(self, *, amount_micros: int, currency: m.CurrencyCode, mode: m.BudgetModeChoice, period: m.BudgetPeriodChoice, project_id: m.ProjectId, organization: str | None = None, thresholds: Sequence[int] | None = None, idempotency_key: str | None = None) -> m.Budget:
        """Set a budget for a project.

        A `hard` budget refuses allocations that could push the project over it before the period ends; `notify` only notifies. Running allocations are not ended.

        Who may call: members of the organization with the permission `budgets:write`.

        - `organization`: By id or name; the client's own when not said.
        - `amount_micros`: Millionths of the currency.
        - `currency`: Only what is charged in this currency counts.
        - `thresholds`: The percentages of the amount at which owners, administrators and billing are notified, in any order.
        Default: 50, 80 and 100.
        """
        call = Call(
            "CreateBudget", "POST", "/v1/organizations/{organization_id}/budgets",
            path={"organization_id": InOrganization(organization)},
            body={"amount_micros": amount_micros, "currency": currency, "mode": mode, "period": period, "project_id": project_id, **given({"thresholds": thresholds})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Budget)

    def delete(self, budget_id: m.BudgetId, *, organization: str | None = None) -> m.Budget:
        """Delete a budget; it no longer applies.

        Who may call: members of the organization with the permission `budgets:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "DeleteBudget", "DELETE", "/v1/organizations/{organization_id}/budgets/{budget_id}",
            path={"organization_id": InOrganization(organization), "budget_id": budget_id},
        )
        return self._client.send(call, m.Budget)

    def get(self, budget_id: m.BudgetId, *, organization: str | None = None) -> m.Budget:
        """Read a budget and the project's usage of it.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetBudget", "GET", "/v1/organizations/{organization_id}/budgets/{budget_id}",
            path={"organization_id": InOrganization(organization), "budget_id": budget_id},
        )
        return self._client.send(call, m.Budget)

    def change(self, budget_id: m.BudgetId, *, organization: str | None = None, amount_micros: int | None = None, mode: m.BudgetModeChoice | None = None, thresholds: Sequence[int] | None = None, idempotency_key: str | None = None) -> m.Budget:
        """Change the amount, the mode or the thresholds of a budget.

        A threshold that is no longer reached notifies again the next time.

        Who may call: members of the organization with the permission `budgets:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "ChangeBudget", "PATCH", "/v1/organizations/{organization_id}/budgets/{budget_id}",
            path={"organization_id": InOrganization(organization), "budget_id": budget_id},
            body={**given({"amount_micros": amount_micros, "mode": mode, "thresholds": thresholds})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Budget)

    def explain(self, budget_id: m.BudgetId, *, organization: str | None = None) -> m.BudgetExplanation:
        """Explain a project's usage of a budget, what is refused because of it, and what to do.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "ExplainBudget", "GET", "/v1/organizations/{organization_id}/budgets/{budget_id}/why",
            path={"organization_id": InOrganization(organization), "budget_id": budget_id},
        )
        return self._client.send(call, m.BudgetExplanation)


class Capacity(Resource):
    """The endpoints of `capacity`."""

    def list(self, *, page_size: int | None = None, region: m.Label | None = None, sku: m.Label | None = None) -> Pages[m.CapacityLine]:
        """Show the capacity of each SKU in each region.

        Each line counts what its SKU sells: whole nodes for `baremetal`, GPUs or MIG slices otherwise.

        Who may call: any signed-in caller, about itself.

        - `page_size`: Items per page.
        - `region`: Only this region.
        - `sku`: Only this SKU.
        """
        call = Call(
            "ListCapacity", "GET", "/v1/capacity",
            query=given({"limit": page_size, "region": region, "sku": sku}),
        )
        return Pages(self._client, call, m.CapacityLine)


class Corrections(Resource):
    """The endpoints of `corrections`."""

    def list(self, *, page_size: int | None = None, organization_id: m.OrganizationId | None = None, state: m.CorrectionStateChoice | None = None) -> Pages[m.Correction]:
        """List corrections, newest first.

        Who may call: platform staff with the permission `platform.ledger:read`.

        - `page_size`: Items per page.
        - `organization_id`: Only corrections of this organization's books.
        - `state`: Only corrections in this state.
        """
        call = Call(
            "ListCorrections", "GET", "/v1/platform/corrections",
            query=given({"limit": page_size, "organization_id": organization_id, "state": state}),
        )
        return Pages(self._client, call, m.Correction)

    def get(self, correction_id: m.CorrectionId) -> m.Correction:
        """Read a correction and its result.

        Who may call: platform staff with the permission `platform.ledger:read`.
        """
        call = Call(
            "GetCorrection", "GET", "/v1/platform/corrections/{correction_id}",
            path={"correction_id": correction_id},
        )
        return self._client.send(call, m.Correction)

    def approve(self, correction_id: m.CorrectionId, *, idempotency_key: str | None = None) -> m.Correction:
        """Approve a correction that somebody else proposed: it is posted or applied.

        Requires a person who also has the permission for what the correction does. Everything is checked again.

        Who may call: platform staff with the permission `platform.ledger:write`.
        """
        call = Call(
            "ApproveCorrection", "POST", "/v1/platform/corrections/{correction_id}/approve",
            path={"correction_id": correction_id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Correction)

    def reject(self, correction_id: m.CorrectionId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Correction:
        """Reject a correction, or withdraw your own.

        Who may call: platform staff with the permission `platform.ledger:write`.
        """
        call = Call(
            "RejectCorrection", "POST", "/v1/platform/corrections/{correction_id}/reject",
            path={"correction_id": correction_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Correction)

    def adjust_balance(self, organization_id: m.OrganizationId, *, amount_micros: int, currency: m.CurrencyCode, reason: m.Reason, idempotency_key: str | None = None) -> m.Correction:
        """Adjust an organization's balance, up or down.

        If the policy `billing.four_eyes` requires it, a second person must approve it first.

        Who may call: platform staff with the permission `platform.ledger:write`.

        - `amount_micros`: Millionths of the currency; positive is money for the organization.
        """
        call = Call(
            "AdjustBalance", "POST", "/v1/platform/organizations/{organization_id}/adjustments",
            path={"organization_id": organization_id},
            body={"amount_micros": amount_micros, "currency": currency, "reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Correction)

    def grant_credit(self, organization_id: m.OrganizationId, *, amount_micros: int, currency: m.CurrencyCode, reason: m.Reason, idempotency_key: str | None = None) -> m.Correction:
        """Give an organization promotional credit.

        If the policy `billing.four_eyes` requires it, a second person must approve it first.

        Who may call: platform staff with the permission `platform.ledger:write`.

        - `amount_micros`: Millionths of the currency; positive is money for the organization.
        """
        call = Call(
            "GrantCredit", "POST", "/v1/platform/organizations/{organization_id}/credits",
            path={"organization_id": organization_id},
            body={"amount_micros": amount_micros, "currency": currency, "reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Correction)

    def reverse_journal(self, organization_id: m.OrganizationId, journal_id: m.JournalId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Correction:
        """Reverse a journal. A journal can be reversed once.

        If the policy `billing.four_eyes` requires it, a second person must approve it first.

        Who may call: platform staff with the permission `platform.ledger:write`.
        """
        call = Call(
            "ReverseJournal", "POST", "/v1/platform/organizations/{organization_id}/journals/{journal_id}/reverse",
            path={"organization_id": organization_id, "journal_id": journal_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Correction)


class DeadLetters(Resource):
    """The endpoints of `dead_letters`."""

    def list(self, *, consumer: str | None = None, page_size: int | None = None, state: m.DeadLetterStateChoice | None = None) -> Pages[m.DeadLetter]:
        """List dead letters.

        Who may call: platform staff with the permission `platform.dead_letters:read`.

        - `consumer`: Only dead letters of this consumer.
        - `page_size`: Items per page.
        - `state`: Only dead letters in this state.
        """
        call = Call(
            "ListDeadLetters", "GET", "/v1/platform/dead-letters",
            query=given({"consumer": consumer, "limit": page_size, "state": state}),
        )
        return Pages(self._client, call, m.DeadLetter)

    def get(self, dead_letter_id: m.DeadLetterId) -> m.DeadLetter:
        """Read one dead letter with its message.

        Who may call: platform staff with the permission `platform.dead_letters:read`.
        """
        call = Call(
            "GetDeadLetter", "GET", "/v1/platform/dead-letters/{dead_letter_id}",
            path={"dead_letter_id": dead_letter_id},
        )
        return self._client.send(call, m.DeadLetter)

    def discard(self, dead_letter_id: m.DeadLetterId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.DeadLetter:
        """Discard a dead letter, with a reason.

        Who may call: platform staff with the permission `platform.dead_letters:write`.
        """
        call = Call(
            "DiscardDeadLetter", "POST", "/v1/platform/dead-letters/{dead_letter_id}/discard",
            path={"dead_letter_id": dead_letter_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.DeadLetter)

    def replay(self, dead_letter_id: m.DeadLetterId, *, idempotency_key: str | None = None) -> m.DeadLetter:
        """Replay a dead letter.

        Who may call: platform staff with the permission `platform.dead_letters:write`.
        """
        call = Call(
            "ReplayDeadLetter", "POST", "/v1/platform/dead-letters/{dead_letter_id}/replay",
            path={"dead_letter_id": dead_letter_id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.DeadLetter)


class EnrollmentTokens(Resource):
    """The endpoints of `enrollment_tokens`."""

    def list(self, *, page_size: int | None = None, pool_id: m.PoolId | None = None, status: m.EnrollmentTokenStatusChoice | None = None) -> Pages[m.EnrollmentToken]:
        """List enrollment tokens.

        Who may call: platform staff with the permission `platform.fleet:read`.

        - `page_size`: Items per page.
        - `pool_id`: Only tokens for this pool.
        - `status`: Only tokens in this condition.
        """
        call = Call(
            "ListEnrollmentTokens", "GET", "/v1/platform/enrollment-tokens",
            query=given({"limit": page_size, "pool_id": pool_id, "status": status}),
        )
        return Pages(self._client, call, m.EnrollmentToken)

    def create(self, *, pool_id: m.PoolId, lifetime_minutes: int | None = None, idempotency_key: str | None = None) -> m.NewEnrollmentToken:
        """Create a token that enrolls one host into a pool.

        The secret is shown once, in this response.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `lifetime_minutes`: How long it can be used. Default: the policy `nodes.enrollment_minutes`.
        """
        call = Call(
            "CreateEnrollmentToken", "POST", "/v1/platform/enrollment-tokens",
            body={"pool_id": pool_id, **given({"lifetime_minutes": lifetime_minutes})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.NewEnrollmentToken)

    def revoke(self, enrollment_token_id: m.EnrollmentTokenId) -> None:
        """Revoke an enrollment token.

        A host that used it can request its certificate again until the token expires, in case the response was lost, but not once the token is revoked. The node that it created stays; retire it separately.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "RevokeEnrollmentToken", "DELETE", "/v1/platform/enrollment-tokens/{enrollment_token_id}",
            path={"enrollment_token_id": enrollment_token_id},
        )
        self._client.send(call, None)


class Events(EventFollowing, Resource):
    """The endpoints of `events`."""

    def list(self, *, organization: str | None = None, page_size: int | None = None, resource: str | None = None, subject: str | None = None) -> Pages[m.RecordedEvent]:
        """List the events of an organization.

        Who may call: members of the organization with the permission `events:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `resource`: Only events of this resource, by its id.
        - `subject`: Only events whose subject has this prefix, as in `project.`.
        """
        call = Call(
            "ListEvents", "GET", "/v1/organizations/{organization_id}/events",
            path={"organization_id": InOrganization(organization)},
            query=given({"limit": page_size, "resource": resource, "subject": subject}),
        )
        return Pages(self._client, call, m.RecordedEvent)

    def list_platform(self, *, page_size: int | None = None, organization_id: m.OrganizationId | None = None, resource: str | None = None, subject: str | None = None) -> Pages[m.RecordedEvent]:
        """List the events of the whole platform.

        Only events about resources that the caller has permission to read are included.

        Who may call: platform staff with the permission `platform.events:read`.

        - `page_size`: Items per page.
        - `organization_id`: Only events of this organization.
        - `resource`: Only events of this resource, by its id.
        - `subject`: Only events whose subject has this prefix, as in `node.`.
        """
        call = Call(
            "ListPlatformEvents", "GET", "/v1/platform/events",
            query=given({"limit": page_size, "organization_id": organization_id, "resource": resource, "subject": subject}),
        )
        return Pages(self._client, call, m.RecordedEvent)


class Gateways(Resource):
    """The endpoints of `gateways`."""

    def list(self, *, page_size: int | None = None, region_id: m.RegionId | None = None, status: m.GatewayStatusChoice | None = None) -> Pages[m.Gateway]:
        """List gateways.

        Who may call: platform staff with the permission `platform.fleet:read`.

        - `page_size`: Items per page.
        - `region_id`: Only gateways of this region.
        - `status`: Only gateways in this condition. Default: all except removed ones.
        """
        call = Call(
            "ListGateways", "GET", "/v1/platform/gateways",
            query=given({"limit": page_size, "region_id": region_id, "status": status}),
        )
        return Pages(self._client, call, m.Gateway)

    def create(self, *, agent_url: m.GatewayAgentUrl, name: m.Label, public_url: m.GatewayPublicUrl, region_id: m.RegionId, web_domain: m.Domain, ssh_address: m.HostAndPort | None = None, idempotency_key: str | None = None) -> m.NewGateway:
        """Add a gateway to a region.

        The secret lets one process become this gateway. It is shown once, in this response.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `agent_url`: The address for hosts.
        - `public_url`: The public URL; several gateways can share one.
        - `ssh_address`: The address for SSH clients, if it serves them.
        - `web_domain`: The domain of web services, each with its own host name; must not serve any other site.
        """
        call = Call(
            "CreateGateway", "POST", "/v1/platform/gateways",
            body={"agent_url": agent_url, "name": name, "public_url": public_url, "region_id": region_id, "web_domain": web_domain, **given({"ssh_address": ssh_address})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.NewGateway)

    def remove(self, gateway_id: m.GatewayId) -> None:
        """Remove a gateway: its certificate is revoked, and hosts disconnect.

        Its shells wait for their owners at other gateways.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "RemoveGateway", "DELETE", "/v1/platform/gateways/{gateway_id}",
            path={"gateway_id": gateway_id},
        )
        self._client.send(call, None)

    def get(self, gateway_id: m.GatewayId) -> m.Gateway:
        """Read one gateway.

        Who may call: platform staff with the permission `platform.fleet:read`.
        """
        call = Call(
            "GetGateway", "GET", "/v1/platform/gateways/{gateway_id}",
            path={"gateway_id": gateway_id},
        )
        return self._client.send(call, m.Gateway)


class Invitations(Resource):
    """The endpoints of `invitations`."""

    def accept(self, *, token: Secret | str, idempotency_key: str | None = None) -> m.Organization:
        """Accept an invitation for the caller's email address.

        The address must be verified. Accepts the inviter's token and the mailed one. An invitation ends when its creator may no longer grant the role.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "AcceptInvitation", "POST", "/v1/invitations/accept",
            body={"token": token},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Organization)

    def list(self, *, organization: str | None = None, page_size: int | None = None, state: m.InvitationStateChoice | None = None) -> Pages[m.Invitation]:
        """List invitations.

        Who may call: members of the organization with the permission `members:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `state`: Only invitations in this state.
        """
        call = Call(
            "ListInvitations", "GET", "/v1/organizations/{organization_id}/invitations",
            path={"organization_id": InOrganization(organization)},
            query=given({"limit": page_size, "state": state}),
        )
        return Pages(self._client, call, m.Invitation)

    def create(self, *, email: m.Email, role: m.RoleChoice, organization: str | None = None, idempotency_key: str | None = None) -> m.NewInvitation:
        """Invite somebody by email address.

        A person without an account gets a mail with a token that creates one and lets them join. The token in this response is shown once and lets an existing account join; it does not create one.

        Who may call: members of the organization with the permission `members:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "CreateInvitation", "POST", "/v1/organizations/{organization_id}/invitations",
            path={"organization_id": InOrganization(organization)},
            body={"email": email, "role": role},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.NewInvitation)

    def revoke(self, invitation_id: m.InvitationId, *, organization: str | None = None) -> m.Invitation:
        """Revoke an invitation.

        Who may call: members of the organization with the permission `members:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "RevokeInvitation", "DELETE", "/v1/organizations/{organization_id}/invitations/{invitation_id}",
            path={"organization_id": InOrganization(organization), "invitation_id": invitation_id},
        )
        return self._client.send(call, m.Invitation)


class Invoices(Resource):
    """The endpoints of `invoices`."""

    def list(self, *, organization: str | None = None, page_size: int | None = None, month: m.Month | None = None) -> Pages[m.InvoiceSummary]:
        """List the organization's invoices and credit notes, newest first.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `month`: Only those about this month.
        """
        call = Call(
            "ListInvoices", "GET", "/v1/organizations/{organization_id}/invoices",
            path={"organization_id": InOrganization(organization)},
            query=given({"limit": page_size, "month": month}),
        )
        return Pages(self._client, call, m.InvoiceSummary)

    def get(self, invoice_id: m.InvoiceId, *, organization: str | None = None) -> m.Invoice:
        """Read one invoice with its lines.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetInvoice", "GET", "/v1/organizations/{organization_id}/invoices/{invoice_id}",
            path={"organization_id": InOrganization(organization), "invoice_id": invoice_id},
        )
        return self._client.send(call, m.Invoice)

    def download_csv(self, invoice_id: m.InvoiceId, *, organization: str | None = None) -> str:
        """Download the lines of one invoice as a table.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "DownloadInvoiceCsv", "GET", "/v1/organizations/{organization_id}/invoices/{invoice_id}/csv",
            path={"organization_id": InOrganization(organization), "invoice_id": invoice_id},
            accept="text/csv",
        )
        return self._client.send(call, str)

    def download_pdf(self, invoice_id: m.InvoiceId, *, organization: str | None = None) -> bytes:
        """Download one invoice as it was issued, for people.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "DownloadInvoicePdf", "GET", "/v1/organizations/{organization_id}/invoices/{invoice_id}/pdf",
            path={"organization_id": InOrganization(organization), "invoice_id": invoice_id},
            accept="application/pdf",
        )
        return self._client.send(call, bytes)

    def list_all(self, *, page_size: int | None = None, month: m.Month | None = None, organization_id: m.OrganizationId | None = None) -> Pages[m.InvoiceSummary]:
        """List everybody's invoices and credit notes, newest first.

        Who may call: platform staff with the permission `platform.ledger:read`.

        - `page_size`: Items per page.
        - `month`: Only those about this month.
        - `organization_id`: Only those of this organization.
        """
        call = Call(
            "ListAllInvoices", "GET", "/v1/platform/invoices",
            query=given({"limit": page_size, "month": month, "organization_id": organization_id}),
        )
        return Pages(self._client, call, m.InvoiceSummary)

    def get_any(self, invoice_id: m.InvoiceId) -> m.Invoice:
        """Read one invoice of any organization.

        Who may call: platform staff with the permission `platform.ledger:read`.
        """
        call = Call(
            "GetAnyInvoice", "GET", "/v1/platform/invoices/{invoice_id}",
            path={"invoice_id": invoice_id},
        )
        return self._client.send(call, m.Invoice)

    def download_any_csv(self, invoice_id: m.InvoiceId) -> str:
        """Download the lines of one invoice of any organization as a table.

        Who may call: platform staff with the permission `platform.ledger:read`.
        """
        call = Call(
            "DownloadAnyInvoiceCsv", "GET", "/v1/platform/invoices/{invoice_id}/csv",
            path={"invoice_id": invoice_id},
            accept="text/csv",
        )
        return self._client.send(call, str)

    def download_any_pdf(self, invoice_id: m.InvoiceId) -> bytes:
        """Download one invoice of any organization as it was issued.

        Who may call: platform staff with the permission `platform.ledger:read`.
        """
        call = Call(
            "DownloadAnyInvoicePdf", "GET", "/v1/platform/invoices/{invoice_id}/pdf",
            path={"invoice_id": invoice_id},
            accept="application/pdf",
        )
        return self._client.send(call, bytes)


class Keys(Resource):
    """The endpoints of `keys`."""

    def list_personal(self, *, page_size: int | None = None, name: m.Name | None = None) -> Pages[m.Key]:
        """List the caller's own keys.

        Who may call: any signed-in person, about themselves.

        - `page_size`: Items per page.
        - `name`: Only keys with this name.
        """
        call = Call(
            "ListPersonalKeys", "GET", "/v1/me/keys",
            query=given({"limit": page_size, "name": name}),
        )
        return Pages(self._client, call, m.Key)

    def create_personal(self, *, name: m.Name, scopes: Sequence[m.PermissionChoice], expires_at: datetime | str | None = None, idempotency_key: str | None = None) -> m.NewKey:
        """Create a key that acts as the caller, limited to the scopes given.

        The secret is shown once, in this response.

        Who may call: any signed-in person, about themselves.

        - `expires_at`: When it expires; policy limits the maximum.
        - `scopes`: The key's maximum permissions; the owner's role still limits it.
        """
        call = Call(
            "CreatePersonalKey", "POST", "/v1/me/keys",
            body={"name": name, "scopes": scopes, **given({"expires_at": expires_at})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.NewKey)

    def revoke_personal(self, key_id: m.KeyId) -> None:
        """Revoke one of the caller's own keys; it stops working within a second.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "RevokePersonalKey", "DELETE", "/v1/me/keys/{key_id}",
            path={"key_id": key_id},
        )
        self._client.send(call, None)


class Ledger(Resource):
    """The endpoints of `ledger`."""

    def get_balance(self, *, organization: str | None = None) -> m.Balances:
        """Show the organization's balance in each of its currencies.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetBalance", "GET", "/v1/organizations/{organization_id}/balance",
            path={"organization_id": InOrganization(organization)},
        )
        return self._client.send(call, m.Balances)

    def list_journals(self, *, organization: str | None = None, kind: m.Label | None = None, page_size: int | None = None, since: datetime | str | None = None, until: datetime | str | None = None) -> Pages[m.Journal]:
        """List the organization's journals and their effect on its wallets: its statement.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        - `kind`: Only journals of this kind, as in `usage` or `credit`.
        - `page_size`: Items per page.
        - `since`: Only journals at or after this time.
        - `until`: Only journals before this time.
        """
        call = Call(
            "ListJournals", "GET", "/v1/organizations/{organization_id}/journals",
            path={"organization_id": InOrganization(organization)},
            query=given({"kind": kind, "limit": page_size, "since": since, "until": until}),
        )
        return Pages(self._client, call, m.Journal)

    def prove_books(self, *, organization: str | None = None, after: m.ProofPlace | None = None, month: m.Month | None = None) -> m.Proof:
        """Prove a part of the organization's ledger from its usage and the prices.

        Repeat with `next_after` until there is none, or a difference was found.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        - `after`: Continues after this position.
        - `month`: Only journals of this month.
        """
        call = Call(
            "ProveBooks", "GET", "/v1/organizations/{organization_id}/proof",
            path={"organization_id": InOrganization(organization)},
            query=given({"after": after, "month": month}),
        )
        return self._client.send(call, m.Proof)

    def get_any_balance(self, organization_id: m.OrganizationId) -> m.Balances:
        """Show the balance of any organization in each of its currencies.

        Who may call: platform staff with the permission `platform.ledger:read`.
        """
        call = Call(
            "GetAnyBalance", "GET", "/v1/platform/organizations/{organization_id}/balance",
            path={"organization_id": organization_id},
        )
        return self._client.send(call, m.Balances)

    def list_any_journals(self, organization_id: m.OrganizationId, *, kind: m.Label | None = None, page_size: int | None = None, since: datetime | str | None = None, until: datetime | str | None = None) -> Pages[m.Journal]:
        """List the journals of any organization.

        Who may call: platform staff with the permission `platform.ledger:read`.

        - `kind`: Only journals of this kind, as in `usage` or `credit`.
        - `page_size`: Items per page.
        - `since`: Only journals at or after this time.
        - `until`: Only journals before this time.
        """
        call = Call(
            "ListAnyJournals", "GET", "/v1/platform/organizations/{organization_id}/journals",
            path={"organization_id": organization_id},
            query=given({"kind": kind, "limit": page_size, "since": since, "until": until}),
        )
        return Pages(self._client, call, m.Journal)

    def prove(self, *, after: m.ProofPlace | None = None, month: m.Month | None = None, organization_id: m.OrganizationId | None = None) -> m.Proof:
        """Prove a part of all ledgers, one organization after the other.

        Repeat with `next_after` until there is none, or a difference was found.

        Who may call: platform staff with the permission `platform.ledger:read`.

        - `after`: Continues after this position.
        - `month`: Only journals of this month.
        - `organization_id`: Only this organization's ledger.
        """
        call = Call(
            "ProveLedger", "GET", "/v1/platform/proof",
            query=given({"after": after, "month": month, "organization_id": organization_id}),
        )
        return self._client.send(call, m.Proof)


class Machines(Resource):
    """The endpoints of `machines`."""

    def list(self, *, page_size: int | None = None, provider_id: m.ProviderId | None = None, state: m.MachineStateChoice | None = None) -> Pages[m.Machine]:
        """List the machines that MAAS servers supply.

        Who may call: platform staff with the permission `platform.fleet:read`.

        - `page_size`: Items per page.
        - `provider_id`: Only machines of this provider.
        - `state`: Only machines in this state. Default: all except retired ones.
        """
        call = Call(
            "ListMachines", "GET", "/v1/platform/machines",
            query=given({"limit": page_size, "provider_id": provider_id, "state": state}),
        )
        return Pages(self._client, call, m.Machine)

    def get(self, machine_id: m.MachineId) -> m.Machine:
        """Read one machine.

        Who may call: platform staff with the permission `platform.fleet:read`.
        """
        call = Call(
            "GetMachine", "GET", "/v1/platform/machines/{machine_id}",
            path={"machine_id": machine_id},
        )
        return self._client.send(call, m.Machine)

    def abandon(self, machine_id: m.MachineId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Machine:
        """Remove a failed machine here without contacting MAAS, for example when the hardware is gone.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "AbandonMachine", "POST", "/v1/platform/machines/{machine_id}/abandon",
            path={"machine_id": machine_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Machine)

    def power(self, machine_id: m.MachineId, *, action: m.MachinePowerActionChoice, force: bool | None = None, reason: m.Reason | None = None, idempotency_key: str | None = None) -> m.Machine:
        """Turn a machine on or off, or query its power controller.

        The response is immediate; `power_wanted` is cleared once MAAS has done it or refused. Turning a machine off is refused while its node is in use, unless it is forced.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `force`: Turn it off even if its node is in use or accepts allocations.
        """
        call = Call(
            "PowerMachine", "POST", "/v1/platform/machines/{machine_id}/power",
            path={"machine_id": machine_id},
            body={"action": action, **given({"force": force, "reason": reason})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Machine)

    def retire(self, machine_id: m.MachineId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Machine:
        """Erase a machine and return it to MAAS permanently.

        Its node must be empty.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "RetireMachine", "POST", "/v1/platform/machines/{machine_id}/retire",
            path={"machine_id": machine_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Machine)

    def retry(self, machine_id: m.MachineId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Machine:
        """Retry a failed machine from the start, or bring a retired one back.

        If it is allocated in MAAS, it is erased and released first.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "RetryMachine", "POST", "/v1/platform/machines/{machine_id}/retry",
            path={"machine_id": machine_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Machine)


class Mails(Resource):
    """The endpoints of `mails`."""

    def list(self, *, page_size: int | None = None, state: m.MailStateChoice | None = None, user_id: m.UserId | None = None) -> Pages[m.Mail]:
        """List the mails of the platform, without addresses and contents.

        Who may call: platform staff with the permission `platform.users:read`.

        - `page_size`: Items per page.
        - `state`: Only mails in this state.
        - `user_id`: Only mails to this person.
        """
        call = Call(
            "ListMails", "GET", "/v1/platform/mails",
            query=given({"limit": page_size, "state": state, "user_id": user_id}),
        )
        return Pages(self._client, call, m.Mail)


class MaintenanceWindows(Resource):
    """The endpoints of `maintenance_windows`."""

    def list_announced_windows(self, *, organization: str | None = None, page_size: int | None = None, state: m.MaintenanceWindowStateChoice | None = None) -> Pages[m.AnnouncedWindow]:
        """List the maintenance windows that affect projects of the organization.

        Who may call: members of the organization with the permission `allocations:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `state`: Only windows in this state.
        """
        call = Call(
            "ListAnnouncedWindows", "GET", "/v1/organizations/{organization_id}/maintenance-windows",
            path={"organization_id": InOrganization(organization)},
            query=given({"limit": page_size, "state": state}),
        )
        return Pages(self._client, call, m.AnnouncedWindow)

    def list(self, *, page_size: int | None = None, state: m.MaintenanceWindowStateChoice | None = None) -> Pages[m.MaintenanceWindow]:
        """List maintenance windows.

        Who may call: platform staff with the permission `platform.fleet:read`.

        - `page_size`: Items per page.
        - `state`: Only windows in this state.
        """
        call = Call(
            "ListMaintenanceWindows", "GET", "/v1/platform/maintenance-windows",
            query=given({"limit": page_size, "state": state}),
        )
        return Pages(self._client, call, m.MaintenanceWindow)

    def create(self, *, ends_at: datetime | str, reason: m.Reason, starts_at: datetime | str, node_id: m.NodeId | None = None, pool_id: m.PoolId | None = None, idempotency_key: str | None = None) -> m.MaintenanceWindow:
        """Plan a period in which a node, or every node of a pool, is out of service.

        Projects with allocations there are notified. Allocations that still run at the start are released.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `node_id`: Either a node or a pool.
        - `reason`: Sent to the affected projects.
        """
        call = Call(
            "CreateMaintenanceWindow", "POST", "/v1/platform/maintenance-windows",
            body={"ends_at": ends_at, "reason": reason, "starts_at": starts_at, **given({"node_id": node_id, "pool_id": pool_id})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.MaintenanceWindow)

    def cancel(self, maintenance_window_id: m.MaintenanceWindowId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.MaintenanceWindow:
        """Cancel a maintenance window; nodes that it drained return to service.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "CancelMaintenanceWindow", "POST", "/v1/platform/maintenance-windows/{maintenance_window_id}/cancel",
            path={"maintenance_window_id": maintenance_window_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.MaintenanceWindow)


class Members(Resource):
    """The endpoints of `members`."""

    def leave_organization(self, *, organization: str | None = None) -> None:
        """Leave an organization. No approval is needed; the last owner cannot leave.

        Who may call: any signed-in person, about themselves.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "LeaveOrganization", "DELETE", "/v1/me/memberships/{organization_id}",
            path={"organization_id": InOrganization(organization)},
        )
        self._client.send(call, None)

    def list(self, *, organization: str | None = None, email: m.Email | None = None, page_size: int | None = None, role: m.RoleChoice | None = None) -> Pages[m.Member]:
        """List the members of an organization.

        Who may call: members of the organization with the permission `members:read`.

        - `organization`: By id or name; the client's own when not said.
        - `email`: Only the member with this address.
        - `page_size`: Items per page.
        - `role`: Only members with this role.
        """
        call = Call(
            "ListMembers", "GET", "/v1/organizations/{organization_id}/members",
            path={"organization_id": InOrganization(organization)},
            query=given({"email": email, "limit": page_size, "role": role}),
        )
        return Pages(self._client, call, m.Member)

    def remove(self, user_id: m.UserId, *, organization: str | None = None) -> None:
        """Remove a member; their access to the organization ends within a second.

        Who may call: members of the organization with the permission `members:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "RemoveMember", "DELETE", "/v1/organizations/{organization_id}/members/{user_id}",
            path={"organization_id": InOrganization(organization), "user_id": user_id},
        )
        self._client.send(call, None)

    def change(self, user_id: m.UserId, *, role: m.RoleChoice, organization: str | None = None) -> m.Member:
        """Change a member's role.

        Who may call: members of the organization with the permission `members:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "ChangeMember", "PUT", "/v1/organizations/{organization_id}/members/{user_id}",
            path={"organization_id": InOrganization(organization), "user_id": user_id},
            body={"role": role},
        )
        return self._client.send(call, m.Member)


class Mfa(Resource):
    """The endpoints of `mfa`."""

    def get(self) -> m.Mfa:
        """Show the caller's second factors, and what policy requires of them.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "GetMfa", "GET", "/v1/me/mfa",
        )
        return self._client.send(call, m.Mfa)

    def start_step_up(self) -> m.MfaChallenge:
        """Request a challenge that confirms the second factor in this session.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "StartStepUp", "POST", "/v1/me/mfa/challenges",
            repeatable=False,
        )
        return self._client.send(call, m.MfaChallenge)

    def remove_factor(self, factor_id: m.FactorId) -> None:
        """Remove one of the caller's second factors.

        With the last one the recovery codes go too. Where policy requires a factor, the last one stays until another is added.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "RemoveFactor", "DELETE", "/v1/me/mfa/factors/{factor_id}",
            path={"factor_id": factor_id},
        )
        self._client.send(call, None)

    def start_passkey(self) -> m.PasskeyStarted:
        """Start adding a passkey.

        A browser creates it from `options`; send the result to `ConfirmPasskey`.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "StartPasskey", "POST", "/v1/me/mfa/passkeys",
            repeatable=False,
        )
        return self._client.send(call, m.PasskeyStarted)

    def confirm_passkey(self, *, attestation_object: m.BinaryText, challenge: Secret | str, client_data_json: m.BinaryText, name: m.Name) -> m.NewFactor:
        """Add the passkey that a browser created.

        The first factor of an account comes with recovery codes, shown once, in this response.

        Who may call: any signed-in person, about themselves.

        - `name`: The person's name for the passkey.
        """
        call = Call(
            "ConfirmPasskey", "POST", "/v1/me/mfa/passkeys/confirm",
            body={"attestation_object": attestation_object, "challenge": challenge, "client_data_json": client_data_json, "name": name},
            repeatable=False,
        )
        return self._client.send(call, m.NewFactor)

    def replace_recovery_codes(self) -> m.RecoveryCodes:
        """Replace the caller's recovery codes; the old ones stop working.

        They are shown once, in this response.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "ReplaceRecoveryCodes", "POST", "/v1/me/mfa/recovery-codes",
            repeatable=False,
        )
        return self._client.send(call, m.RecoveryCodes)

    def start_totp(self) -> m.TotpStarted:
        """Start adding an authenticator app (TOTP).

        The secret is shown once, in this response. Nothing is enrolled until `ConfirmTotp` receives a code from the app.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "StartTotp", "POST", "/v1/me/mfa/totp",
            repeatable=False,
        )
        return self._client.send(call, m.TotpStarted)

    def confirm_totp(self, *, challenge: Secret | str, code: Secret | str, name: m.Name) -> m.NewFactor:
        """Add the authenticator app, with a code that it shows.

        The first factor of an account comes with recovery codes, shown once, in this response.

        Who may call: any signed-in person, about themselves.

        - `code`: The six digits that the authenticator app shows now.
        - `name`: The person's name for the device.
        """
        call = Call(
            "ConfirmTotp", "POST", "/v1/me/mfa/totp/confirm",
            body={"challenge": challenge, "code": code, "name": name},
            repeatable=False,
        )
        return self._client.send(call, m.NewFactor)

    def finish_step_up(self, *, challenge: Secret | str, code: Secret | str | None = None, passkey: m.PasskeyAssertion | None = None, recovery_code: Secret | str | None = None) -> m.MfaVerified:
        """Confirm the second factor in this session (step-up).

        Operations that require a recent second factor then work for a while.

        Who may call: any signed-in person, about themselves.

        - `code`: The six digits that an authenticator app shows.
        - `recovery_code`: One of the recovery codes; each works once.
        """
        call = Call(
            "FinishStepUp", "POST", "/v1/me/mfa/verify",
            body={"challenge": challenge, **given({"code": code, "passkey": passkey, "recovery_code": recovery_code})},
            repeatable=False,
        )
        return self._client.send(call, m.MfaVerified)

    def finish(self, *, challenge: Secret | str, code: Secret | str | None = None, passkey: m.PasskeyAssertion | None = None, recovery_code: Secret | str | None = None) -> m.TokenSet:
        """Finish signing in with a second factor.

        Answers the challenge of an `mfa_required` problem. No session exists before.

        Who may call: anyone, because the challenge in the body proves the first factor.

        - `code`: The six digits that an authenticator app shows.
        - `recovery_code`: One of the recovery codes; each works once.
        """
        call = Call(
            "FinishMfa", "POST", "/v1/sessions/mfa",
            body={"challenge": challenge, **given({"code": code, "passkey": passkey, "recovery_code": recovery_code})},
            repeatable=False,
        )
        return self._client.send(call, m.TokenSet)


class Nodes(Resource):
    """The endpoints of `nodes`."""

    def list_changes(self, *, after: m.ChangeMark | None = None) -> m.NodeChanges:
        """Read the nodes that changed since a cursor.

        Call it without a cursor to get one, list the nodes, then call it with the cursor to get changes.

        Who may call: platform staff with the permission `platform.fleet:read`.

        - `after`: The cursor from the previous response. Without one, the response contains only a cursor.
        """
        call = Call(
            "ListNodeChanges", "GET", "/v1/platform/node-changes",
            query=given({"after": after}),
        )
        return self._client.send(call, m.NodeChanges)

    def list(self, *, health: m.NodeHealthChoice | None = None, page_size: int | None = None, name: m.HostName | None = None, pool_id: m.PoolId | None = None, region_id: m.RegionId | None = None, state: m.NodeStateChoice | None = None) -> Pages[m.Node]:
        """List the nodes of the fleet.

        Who may call: platform staff with the permission `platform.fleet:read`.

        - `health`: Only nodes of this health.
        - `page_size`: Items per page.
        - `name`: Only the node with this name.
        - `pool_id`: Only nodes of this pool.
        - `region_id`: Only nodes of this region.
        - `state`: Only nodes in this state. Default: all except retired ones.
        """
        call = Call(
            "ListNodes", "GET", "/v1/platform/nodes",
            query=given({"health": health, "limit": page_size, "name": name, "pool_id": pool_id, "region_id": region_id, "state": state}),
        )
        return Pages(self._client, call, m.Node)

    def get(self, node_id: m.NodeId) -> m.NodeDetail:
        """Read one node with its slots.

        Who may call: platform staff with the permission `platform.fleet:read`.
        """
        call = Call(
            "GetNode", "GET", "/v1/platform/nodes/{node_id}",
            path={"node_id": node_id},
        )
        return self._client.send(call, m.NodeDetail)

    def attest(self, node_id: m.NodeId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Node:
        """Attest that a node was sanitized or reinstalled; it can serve any organization again.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "AttestNode", "POST", "/v1/platform/nodes/{node_id}/attest",
            path={"node_id": node_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Node)

    def cordon(self, node_id: m.NodeId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Node:
        """Cordon a node: place nothing new on it. Running allocations continue.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "CordonNode", "POST", "/v1/platform/nodes/{node_id}/cordon",
            path={"node_id": node_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Node)

    def drain(self, node_id: m.NodeId, *, deadline_seconds: int, reason: m.Reason, idempotency_key: str | None = None) -> m.Node:
        """Drain a node: allocations that still run at the deadline are released.

        The node is `draining` until it is empty, then in `maintenance`.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `deadline_seconds`: Seconds until allocations that still run are released.
        """
        call = Call(
            "DrainNode", "POST", "/v1/platform/nodes/{node_id}/drain",
            path={"node_id": node_id},
            body={"deadline_seconds": deadline_seconds, "reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Node)

    def restore(self, node_id: m.NodeId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Node:
        """Return a node in maintenance, or a failed node, to service.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "RestoreNode", "POST", "/v1/platform/nodes/{node_id}/restore",
            path={"node_id": node_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Node)

    def retire(self, node_id: m.NodeId, *, reason: m.Reason, lost: bool | None = None, idempotency_key: str | None = None) -> m.Node:
        """Remove an empty node from the fleet permanently and revoke its certificate.

        A `lost` node does not have to be empty: its allocations end as of its last heartbeat, and its slots stay quarantined.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `lost`: The host will not come back: allocations on the node end immediately.
        """
        call = Call(
            "RetireNode", "POST", "/v1/platform/nodes/{node_id}/retire",
            path={"node_id": node_id},
            body={"reason": reason, **given({"lost": lost})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Node)

    def attest_slot(self, node_id: m.NodeId, slot_id: m.SlotId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Slot:
        """Attest that a dirty or quarantined slot was cleaned; it can be assigned again.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "AttestSlot", "POST", "/v1/platform/nodes/{node_id}/slots/{slot_id}/attest",
            path={"node_id": node_id, "slot_id": slot_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Slot)

    def uncordon(self, node_id: m.NodeId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Node:
        """Uncordon a node: allow new placements again.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "UncordonNode", "POST", "/v1/platform/nodes/{node_id}/uncordon",
            path={"node_id": node_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Node)


class Notifications(Resource):
    """The endpoints of `notifications`."""

    def forget_mail_refusal(self) -> m.MailAddress:
        """Send mail to the caller's address again, after a mail server refused it.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "ForgetMailRefusal", "DELETE", "/v1/me/mail-refusal",
        )
        return self._client.send(call, m.MailAddress)

    def get_preferences(self) -> m.NotificationPreferences:
        """Show the caller's notification preferences.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "GetNotificationPreferences", "GET", "/v1/me/notification-preferences",
        )
        return self._client.send(call, m.NotificationPreferences)

    def set_preference(self, notification_kind: m.NotificationKindChoice, *, email: bool | None = None, in_app: bool | None = None) -> m.NotificationPreference:
        """Turn a kind of notification on or off for the caller.

        Mandatory kinds cannot be turned off.

        Who may call: any signed-in person, about themselves.

        - `email`: Whether it is sent by mail; absent leaves it unchanged.
        - `in_app`: Whether it is shown in the console; absent leaves it unchanged.
        """
        call = Call(
            "SetNotificationPreference", "PUT", "/v1/me/notification-preferences/{notification_kind}",
            path={"notification_kind": notification_kind},
            body={**given({"email": email, "in_app": in_app})},
        )
        return self._client.send(call, m.NotificationPreference)

    def list(self, *, is_read: bool | None = None, kind: m.NotificationKindChoice | None = None, page_size: int | None = None, organization_id: m.OrganizationId | None = None) -> Pages[m.Notification]:
        """List the caller's notifications.

        Who may call: any signed-in person, about themselves.

        - `is_read`: Only those that are read, or only those that are not.
        - `kind`: Only notifications of this kind.
        - `page_size`: Items per page.
        - `organization_id`: Only notifications about this organization.
        """
        call = Call(
            "ListNotifications", "GET", "/v1/me/notifications",
            query=given({"is_read": is_read, "kind": kind, "limit": page_size, "organization_id": organization_id}),
        )
        return Pages(self._client, call, m.Notification)

    def notifications(self, *, up_to: m.NotificationId | None = None) -> m.UnreadNotifications:
        """Mark the caller's notifications as read, all or those up to one.

        Who may call: any signed-in person, about themselves.

        - `up_to`: The newest one that was seen; later ones stay unread. Absent for all.
        """
        call = Call(
            "ReadNotifications", "PUT", "/v1/me/notifications/read",
            body={**given({"up_to": up_to})},
        )
        return self._client.send(call, m.UnreadNotifications)

    def count_unread(self) -> m.UnreadNotifications:
        """Count the caller's unread notifications.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "CountUnreadNotifications", "GET", "/v1/me/notifications/unread",
        )
        return self._client.send(call, m.UnreadNotifications)

    def notification(self, notification_id: m.NotificationId) -> m.Notification:
        """Mark one of the caller's notifications as read.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "ReadNotification", "PUT", "/v1/me/notifications/{notification_id}/read",
            path={"notification_id": notification_id},
        )
        return self._client.send(call, m.Notification)


class Organizations(Resource):
    """The endpoints of `organizations`."""

    def list(self, *, page_size: int | None = None, name: m.Name | None = None, state: m.OrganizationStateChoice | None = None) -> Pages[m.Organization]:
        """List the organizations that the caller belongs to.

        Who may call: any signed-in caller, about itself.

        - `page_size`: Items per page.
        - `name`: Only organizations with this name.
        - `state`: Only organizations in this state. Default: all except closed ones.
        """
        call = Call(
            "ListOrganizations", "GET", "/v1/organizations",
            query=given({"limit": page_size, "name": name, "state": state}),
        )
        return Pages(self._client, call, m.Organization)

    def create(self, *, name: m.Name, idempotency_key: str | None = None) -> m.Organization:
        """Create an organization and become its owner.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "CreateOrganization", "POST", "/v1/organizations",
            body={"name": name},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Organization)

    def close(self, organization_id: m.OrganizationId) -> m.Organization:
        """Close an organization permanently; its projects and everything in them are deleted.

        Who may call: members of the organization with the permission `organization:close`.
        """
        call = Call(
            "CloseOrganization", "DELETE", "/v1/organizations/{organization_id}",
            path={"organization_id": organization_id},
        )
        return self._client.send(call, m.Organization)

    def get(self, organization_id: m.OrganizationId) -> m.Organization:
        """Read one organization.

        Who may call: members of the organization with the permission `organization:read`.
        """
        call = Call(
            "GetOrganization", "GET", "/v1/organizations/{organization_id}",
            path={"organization_id": organization_id},
        )
        return self._client.send(call, m.Organization)

    def rename(self, organization_id: m.OrganizationId, *, name: m.Name, idempotency_key: str | None = None) -> m.Organization:
        """Rename an organization.

        Who may call: members of the organization with the permission `organization:write`.
        """
        call = Call(
            "RenameOrganization", "PATCH", "/v1/organizations/{organization_id}",
            path={"organization_id": organization_id},
            body={"name": name},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Organization)

    def preview_closing(self, organization_id: m.OrganizationId) -> m.EndingPreview:
        """Preview what closing an organization would end.

        Who may call: members of the organization with the permission `organization:read`.
        """
        call = Call(
            "PreviewOrganizationClosing", "GET", "/v1/organizations/{organization_id}/closing-preview",
            path={"organization_id": organization_id},
        )
        return self._client.send(call, m.EndingPreview)

    def list_all(self, *, page_size: int | None = None, name: m.Name | None = None, state: m.OrganizationStateChoice | None = None) -> Pages[m.Organization]:
        """List every organization of the platform.

        Who may call: platform staff with the permission `platform.organizations:read`.

        - `page_size`: Items per page.
        - `name`: Only organizations with this name.
        - `state`: Only organizations in this state. Default: all except closed ones.
        """
        call = Call(
            "ListAllOrganizations", "GET", "/v1/platform/organizations",
            query=given({"limit": page_size, "name": name, "state": state}),
        )
        return Pages(self._client, call, m.Organization)

    def resume(self, organization_id: m.OrganizationId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Organization:
        """Lift an organization's suspension.

        Who may call: platform staff with the permission `platform.organizations:write`.
        """
        call = Call(
            "ResumeOrganization", "POST", "/v1/platform/organizations/{organization_id}/resume",
            path={"organization_id": organization_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Organization)

    def suspend(self, organization_id: m.OrganizationId, *, reason: m.Reason, idempotency_key: str | None = None) -> m.Organization:
        """Suspend an organization and stop its allocations.

        Nothing is placed or started for it. Members can read, stop and release.

        Who may call: platform staff with the permission `platform.organizations:write`.
        """
        call = Call(
            "SuspendOrganization", "POST", "/v1/platform/organizations/{organization_id}/suspend",
            path={"organization_id": organization_id},
            body={"reason": reason},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Organization)


class Payments(Resource):
    """The endpoints of `payments`."""

    def list(self, *, organization: str | None = None, page_size: int | None = None, state: m.PaymentStateChoice | None = None) -> Pages[m.Payment]:
        """List the organization's payments, newest first.

        Who may call: members of the organization with the permission `payments:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `state`: Only payments in this state.
        """
        call = Call(
            "ListPayments", "GET", "/v1/organizations/{organization_id}/payments",
            path={"organization_id": InOrganization(organization)},
            query=given({"limit": page_size, "state": state}),
        )
        return Pages(self._client, call, m.Payment)

    def create(self, *, amount_micros: int, currency: m.CurrencyCode, organization: str | None = None, idempotency_key: str | None = None) -> m.Payment:
        """Start a payment into the organization's wallet.

        Once the payment is `pending`, `checkout_url` is the provider's payment page. The money is in the wallet once it is `succeeded`.

        Who may call: members of the organization with the permission `payments:write`.

        - `organization`: By id or name; the client's own when not said.
        - `amount_micros`: Millionths of the currency; a whole number of its smallest units.
        """
        call = Call(
            "CreatePayment", "POST", "/v1/organizations/{organization_id}/payments",
            path={"organization_id": InOrganization(organization)},
            body={"amount_micros": amount_micros, "currency": currency},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Payment)

    def get(self, payment_id: m.PaymentId, *, organization: str | None = None) -> m.Payment:
        """Read one payment.

        Who may call: members of the organization with the permission `payments:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetPayment", "GET", "/v1/organizations/{organization_id}/payments/{payment_id}",
            path={"organization_id": InOrganization(organization), "payment_id": payment_id},
        )
        return self._client.send(call, m.Payment)

    def list_drift(self, *, page_size: int | None = None, resolved: bool | None = None) -> Pages[m.PaymentDrift]:
        """List differences between the provider and the ledger, newest first.

        Who may call: platform staff with the permission `platform.ledger:read`.

        - `page_size`: Items per page.
        - `resolved`: Include resolved differences.
        """
        call = Call(
            "ListPaymentDrift", "GET", "/v1/platform/payment-drift",
            query=given({"limit": page_size, "resolved": resolved}),
        )
        return Pages(self._client, call, m.PaymentDrift)

    def list_events(self, *, page_size: int | None = None, outcome: m.PaymentEventOutcomeChoice | None = None) -> Pages[m.PaymentEvent]:
        """List the provider's events, newest first.

        Who may call: platform staff with the permission `platform.ledger:read`.

        - `page_size`: Items per page.
        - `outcome`: Only events with this outcome.
        """
        call = Call(
            "ListPaymentEvents", "GET", "/v1/platform/payment-events",
            query=given({"limit": page_size, "outcome": outcome}),
        )
        return Pages(self._client, call, m.PaymentEvent)

    def list_all(self, *, page_size: int | None = None, organization_id: m.OrganizationId | None = None, state: m.PaymentStateChoice | None = None) -> Pages[m.Payment]:
        """List all payments, newest first.

        Who may call: platform staff with the permission `platform.ledger:read`.

        - `page_size`: Items per page.
        - `organization_id`: Only payments of this organization.
        - `state`: Only payments in this state.
        """
        call = Call(
            "ListAllPayments", "GET", "/v1/platform/payments",
            query=given({"limit": page_size, "organization_id": organization_id, "state": state}),
        )
        return Pages(self._client, call, m.Payment)


class Policies(Resource):
    """The endpoints of `policies`."""

    def list_organization(self, *, organization: str | None = None, page_size: int | None = None, set_here: bool | None = None) -> Pages[m.Policy]:
        """List all policies with their values for an organization.

        Who may call: members of the organization with the permission `policies:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `set_here`: Only policies that are set at exactly this level.
        """
        call = Call(
            "ListOrganizationPolicies", "GET", "/v1/organizations/{organization_id}/policies",
            path={"organization_id": InOrganization(organization)},
            query=given({"limit": page_size, "set_here": set_here}),
        )
        return Pages(self._client, call, m.Policy)

    def unset_organization(self, key: str, *, organization: str | None = None) -> m.Policy:
        """Unset a policy for an organization, so that the level above applies.

        Who may call: members of the organization with the permission `policies:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "UnsetOrganizationPolicy", "DELETE", "/v1/organizations/{organization_id}/policies/{key}",
            path={"organization_id": InOrganization(organization), "key": key},
        )
        return self._client.send(call, m.Policy)

    def get_organization(self, key: str, *, organization: str | None = None) -> m.Policy:
        """Explain one policy: its value for an organization, and where it is set.

        Who may call: members of the organization with the permission `policies:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetOrganizationPolicy", "GET", "/v1/organizations/{organization_id}/policies/{key}",
            path={"organization_id": InOrganization(organization), "key": key},
        )
        return self._client.send(call, m.Policy)

    def set_organization(self, key: str, *, value: str, organization: str | None = None) -> m.Policy:
        """Set a policy for an organization.

        Who may call: members of the organization with the permission `policies:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "SetOrganizationPolicy", "PUT", "/v1/organizations/{organization_id}/policies/{key}",
            path={"organization_id": InOrganization(organization), "key": key},
            body={"value": value},
        )
        return self._client.send(call, m.Policy)

    def list_platform(self, *, page_size: int | None = None, set_here: bool | None = None) -> Pages[m.Policy]:
        """List all policies with their values for the platform.

        Who may call: platform staff with the permission `platform.policies:read`.

        - `page_size`: Items per page.
        - `set_here`: Only policies that are set at exactly this level.
        """
        call = Call(
            "ListPlatformPolicies", "GET", "/v1/platform/policies",
            query=given({"limit": page_size, "set_here": set_here}),
        )
        return Pages(self._client, call, m.Policy)

    def unset_platform(self, key: str) -> m.Policy:
        """Unset a policy for the whole platform, so that the level above applies.

        Turning off `billing.four_eyes` only creates a proposal and answers `approval_required`: a second person must approve the named correction.

        Who may call: platform staff with the permission `platform.policies:write`.
        """
        call = Call(
            "UnsetPlatformPolicy", "DELETE", "/v1/platform/policies/{key}",
            path={"key": key},
        )
        return self._client.send(call, m.Policy)

    def get_platform(self, key: str) -> m.Policy:
        """Explain one policy: its value for the platform, and where it is set.

        Who may call: platform staff with the permission `platform.policies:read`.
        """
        call = Call(
            "GetPlatformPolicy", "GET", "/v1/platform/policies/{key}",
            path={"key": key},
        )
        return self._client.send(call, m.Policy)

    def set_platform(self, key: str, *, value: str) -> m.Policy:
        """Set a policy for the whole platform.

        Turning off `billing.four_eyes` only creates a proposal and answers `approval_required`: a second person must approve the named correction.

        Who may call: platform staff with the permission `platform.policies:write`.
        """
        call = Call(
            "SetPlatformPolicy", "PUT", "/v1/platform/policies/{key}",
            path={"key": key},
            body={"value": value},
        )
        return self._client.send(call, m.Policy)

    def list_project(self, *, project: str | None = None, page_size: int | None = None, set_here: bool | None = None) -> Pages[m.Policy]:
        """List all policies with their values for a project.

        Who may call: members of the project's organization with the permission `policies:read`.

        - `project`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `set_here`: Only policies that are set at exactly this level.
        """
        call = Call(
            "ListProjectPolicies", "GET", "/v1/projects/{project_id}/policies",
            path={"project_id": InProject(project)},
            query=given({"limit": page_size, "set_here": set_here}),
        )
        return Pages(self._client, call, m.Policy)

    def unset_project(self, key: str, *, project: str | None = None) -> m.Policy:
        """Unset a policy for a project, so that the level above applies.

        Who may call: members of the project's organization with the permission `policies:write`.

        - `project`: By id or name; the client's own when not said.
        """
        call = Call(
            "UnsetProjectPolicy", "DELETE", "/v1/projects/{project_id}/policies/{key}",
            path={"project_id": InProject(project), "key": key},
        )
        return self._client.send(call, m.Policy)

    def get_project(self, key: str, *, project: str | None = None) -> m.Policy:
        """Explain one policy: its value for a project, and where it is set.

        Who may call: members of the project's organization with the permission `policies:read`.

        - `project`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetProjectPolicy", "GET", "/v1/projects/{project_id}/policies/{key}",
            path={"project_id": InProject(project), "key": key},
        )
        return self._client.send(call, m.Policy)

    def set_project(self, key: str, *, value: str, project: str | None = None) -> m.Policy:
        """Set a policy for a project.

        Who may call: members of the project's organization with the permission `policies:write`.

        - `project`: By id or name; the client's own when not said.
        """
        call = Call(
            "SetProjectPolicy", "PUT", "/v1/projects/{project_id}/policies/{key}",
            path={"project_id": InProject(project), "key": key},
            body={"value": value},
        )
        return self._client.send(call, m.Policy)


class Pools(Resource):
    """The endpoints of `pools`."""

    def list(self, *, page_size: int | None = None, name: m.Label | None = None, region_id: m.RegionId | None = None) -> Pages[m.Pool]:
        """List the pools.

        Who may call: platform staff with the permission `platform.fleet:read`.

        - `page_size`: Items per page.
        - `name`: Only the pool with this name.
        - `region_id`: Only pools of this region.
        """
        call = Call(
            "ListPools", "GET", "/v1/platform/pools",
            query=given({"limit": page_size, "name": name, "region_id": region_id}),
        )
        return Pages(self._client, call, m.Pool)

    def create(self, *, isolation: m.IsolationChoice, name: m.Label, provider: m.PoolProviderChoice, region_id: m.RegionId, isolates_vms: bool | None = None, idempotency_key: str | None = None) -> m.Pool:
        """Add a pool of nodes to a region.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `isolates_vms`: Whether workloads run in virtual machines here, so that one node can serve several organizations at
        the same time.
        """
        call = Call(
            "CreatePool", "POST", "/v1/platform/pools",
            body={"isolation": isolation, "name": name, "provider": provider, "region_id": region_id, **given({"isolates_vms": isolates_vms})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Pool)

    def change(self, pool_id: m.PoolId, *, isolation: m.IsolationChoice, idempotency_key: str | None = None) -> m.Pool:
        """Change how the nodes of a pool are sanitized between tenants.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "ChangePool", "PATCH", "/v1/platform/pools/{pool_id}",
            path={"pool_id": pool_id},
            body={"isolation": isolation},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Pool)


class Prices(Resource):
    """The endpoints of `prices`."""

    def set(self, sku_id: m.SkuId, *, currency: m.CurrencyCode, price_micros: int, effective_at: datetime | str | None = None, kind: m.PriceKindChoice | None = None, per_units: int | None = None, unit: m.PriceUnitChoice | None = None, idempotency_key: str | None = None) -> m.Price:
        """Set the price of a SKU from a given time on.

        With the policy `billing.four_eyes`, this only creates a proposal and answers `approval_required`: a second person must approve the named correction.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `effective_at`: When it takes effect; never in the past. Default: now.
        - `kind`: Which usage it is for. Default: `on_demand`.
        - `per_units`: How many units the price is for, such as 1000000 tokens. Only counted units have more than 1, the default.
        - `price_micros`: Millionths of the currency for `per_units` units.
        - `unit`: What is priced. Default: `gpu_hour`.
        """
        call = Call(
            "SetPrice", "POST", "/v1/platform/skus/{sku_id}/prices",
            path={"sku_id": sku_id},
            body={"currency": currency, "price_micros": price_micros, **given({"effective_at": effective_at, "kind": kind, "per_units": per_units, "unit": unit})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Price)

    def list(self, sku_id: m.SkuId, *, currency: m.CurrencyCode | None = None, kind: m.PriceKindChoice | None = None, page_size: int | None = None, unit: m.PriceUnitChoice | None = None) -> Pages[m.Price]:
        """List every version of the prices of a SKU, newest first.

        Who may call: any signed-in caller, about itself.

        - `currency`: Only prices in this currency.
        - `kind`: Only prices of this kind.
        - `page_size`: Items per page.
        - `unit`: Only prices of this unit.
        """
        call = Call(
            "ListPrices", "GET", "/v1/skus/{sku_id}/prices",
            path={"sku_id": sku_id},
            query=given({"currency": currency, "kind": kind, "limit": page_size, "unit": unit}),
        )
        return Pages(self._client, call, m.Price)


class Problems(Resource):
    """The endpoints of `problems`."""

    def describe(self, code: str) -> m.ProblemKind:
        """Describe a problem code.

        Who may call: anyone, because it says what the public document says.
        """
        call = Call(
            "DescribeProblem", "GET", "/v1/problems/{code}",
            path={"code": code},
        )
        return self._client.send(call, m.ProblemKind)


class Projects(Resource):
    """The endpoints of `projects`."""

    def list(self, *, organization: str | None = None, page_size: int | None = None, name: m.Name | None = None, state: m.ProjectStateChoice | None = None) -> Pages[m.Project]:
        """List the projects of an organization.

        Who may call: members of the organization with the permission `projects:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `name`: Only the project with this name.
        - `state`: Only projects in this state. Default: all except deleted ones.
        """
        call = Call(
            "ListProjects", "GET", "/v1/organizations/{organization_id}/projects",
            path={"organization_id": InOrganization(organization)},
            query=given({"limit": page_size, "name": name, "state": state}),
        )
        return Pages(self._client, call, m.Project)

    def create(self, *, name: m.Name, organization: str | None = None, idempotency_key: str | None = None) -> m.Project:
        """Create a project.

        Who may call: members of the organization with the permission `projects:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "CreateProject", "POST", "/v1/organizations/{organization_id}/projects",
            path={"organization_id": InOrganization(organization)},
            body={"name": name},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Project)

    def delete(self, project_id: m.ProjectId) -> m.Project:
        """Delete a project and end everything in it.

        Allocations are released and waiting requests are canceled, as listed by `deletion-preview`. The project is `deleting` until that is done, then `deleted`.

        Who may call: members of the project's organization with the permission `projects:write`.
        """
        call = Call(
            "DeleteProject", "DELETE", "/v1/projects/{project_id}",
            path={"project_id": project_id},
        )
        return self._client.send(call, m.Project)

    def get(self, project_id: m.ProjectId) -> m.Project:
        """Read one project.

        Who may call: members of the project's organization with the permission `projects:read`.
        """
        call = Call(
            "GetProject", "GET", "/v1/projects/{project_id}",
            path={"project_id": project_id},
        )
        return self._client.send(call, m.Project)

    def rename(self, project_id: m.ProjectId, *, name: m.Name, idempotency_key: str | None = None) -> m.Project:
        """Rename a project.

        Who may call: members of the project's organization with the permission `projects:write`.
        """
        call = Call(
            "RenameProject", "PATCH", "/v1/projects/{project_id}",
            path={"project_id": project_id},
            body={"name": name},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Project)

    def preview_deletion(self, project_id: m.ProjectId) -> m.EndingPreview:
        """Preview what deleting a project would end.

        Who may call: members of the project's organization with the permission `projects:read`.
        """
        call = Call(
            "PreviewProjectDeletion", "GET", "/v1/projects/{project_id}/deletion-preview",
            path={"project_id": project_id},
        )
        return self._client.send(call, m.EndingPreview)


class Providers(Resource):
    """The endpoints of `providers`."""

    def list(self, *, page_size: int | None = None, name: m.Label | None = None, state: m.ProviderStateChoice | None = None) -> Pages[m.Provider]:
        """List the providers of machines.

        Who may call: platform staff with the permission `platform.fleet:read`.

        - `page_size`: Items per page.
        - `name`: Only the provider with this name.
        - `state`: Only providers in this state. Default: all except removed ones.
        """
        call = Call(
            "ListProviders", "GET", "/v1/platform/providers",
            query=given({"limit": page_size, "name": name, "state": state}),
        )
        return Pages(self._client, call, m.Provider)

    def create(self, *, api_key: Secret | str, max_machines: int, name: m.Label, pool_id: m.PoolId, series: m.MaasName, url: m.MaasUrl, agent: m.AgentSourceSpec | None = None, erase: m.EraseChoice | None = None, kind: m.ProviderKindChoice | None = None, maas_pool: m.MaasName | None = None, tags: Sequence[m.MaasName] | None = None, idempotency_key: str | None = None) -> m.Provider:
        """Register a provider that supplies the machines of a pool, such as a MAAS server.

        Its API key is sealed and never shown again.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `agent`: The URL of the agent. Without it, the image must contain the agent.
        - `api_key`: As MAAS shows it: `consumer:token:secret`.
        - `maas_pool`: Only machines of this resource pool of MAAS.
        - `max_machines`: The most machines it may allocate.
        - `pool_id`: The pool that its machines become nodes of; it has the provider `maas`.
        - `series`: What is installed, such as `noble`.
        - `tags`: Only machines that have all of these tags in MAAS.
        """
        call = Call(
            "CreateProvider", "POST", "/v1/platform/providers",
            body={"api_key": api_key, "max_machines": max_machines, "name": name, "pool_id": pool_id, "series": series, "url": url, **given({"agent": agent, "erase": erase, "kind": kind, "maas_pool": maas_pool, "tags": tags})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Provider)

    def remove(self, provider_id: m.ProviderId) -> m.Provider:
        """Remove a provider: its machines are erased and returned first.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "RemoveProvider", "DELETE", "/v1/platform/providers/{provider_id}",
            path={"provider_id": provider_id},
        )
        return self._client.send(call, m.Provider)

    def get(self, provider_id: m.ProviderId) -> m.Provider:
        """Read one provider and its status.

        Who may call: platform staff with the permission `platform.fleet:read`.
        """
        call = Call(
            "GetProvider", "GET", "/v1/platform/providers/{provider_id}",
            path={"provider_id": provider_id},
        )
        return self._client.send(call, m.Provider)

    def change(self, provider_id: m.ProviderId, *, agent: m.AgentSourceSpec | None = None, api_key: Secret | str | None = None, erase: m.EraseChoice | None = None, max_machines: int | None = None, series: m.MaasName | None = None, url: m.MaasUrl | None = None, idempotency_key: str | None = None) -> m.Provider:
        """Change a provider. Omitted fields stay unchanged.

        A new series or agent is used from the next install on. A new address requires the API key again, so that the stored key cannot be sent elsewhere.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `api_key`: Replaces the key in use; required with a new `url`.
        - `max_machines`: A number below the current count returns no machine; it only prevents further ones.
        """
        call = Call(
            "ChangeProvider", "PATCH", "/v1/platform/providers/{provider_id}",
            path={"provider_id": provider_id},
            body={**given({"agent": agent, "api_key": api_key, "erase": erase, "max_machines": max_machines, "series": series, "url": url})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Provider)


class Quotas(Resource):
    """The endpoints of `quotas`."""

    def list(self, *, organization: str | None = None, page_size: int | None = None, sku: m.Label | None = None) -> Pages[m.Quota]:
        """List an organization's quotas and their usage.

        Who may call: members of the organization with the permission `quotas:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `sku`: Only the quota for this SKU.
        """
        call = Call(
            "ListQuotas", "GET", "/v1/organizations/{organization_id}/quotas",
            path={"organization_id": InOrganization(organization)},
            query=given({"limit": page_size, "sku": sku}),
        )
        return Pages(self._client, call, m.Quota)

    def list_any(self, organization_id: m.OrganizationId, *, page_size: int | None = None, sku: m.Label | None = None) -> Pages[m.Quota]:
        """List the quotas of any organization and their usage.

        Who may call: platform staff with the permission `platform.allocations:read`.

        - `page_size`: Items per page.
        - `sku`: Only the quota for this SKU.
        """
        call = Call(
            "ListAnyQuotas", "GET", "/v1/platform/organizations/{organization_id}/quotas",
            path={"organization_id": organization_id},
            query=given({"limit": page_size, "sku": sku}),
        )
        return Pages(self._client, call, m.Quota)

    def unset(self, organization_id: m.OrganizationId, sku_id: m.SkuId) -> None:
        """Remove a quota: only the policy `allocations.max_gpus` applies again.

        Who may call: platform staff with the permission `platform.quotas:write`.
        """
        call = Call(
            "UnsetQuota", "DELETE", "/v1/platform/organizations/{organization_id}/quotas/{sku_id}",
            path={"organization_id": organization_id, "sku_id": sku_id},
        )
        self._client.send(call, None)

    def set(self, organization_id: m.OrganizationId, sku_id: m.SkuId, *, gpus: int) -> m.Quota:
        """Set how many GPUs of a SKU an organization may have at the same time.

        Who may call: platform staff with the permission `platform.quotas:write`.
        """
        call = Call(
            "SetQuota", "PUT", "/v1/platform/organizations/{organization_id}/quotas/{sku_id}",
            path={"organization_id": organization_id, "sku_id": sku_id},
            body={"gpus": gpus},
        )
        return self._client.send(call, m.Quota)


class Recordings(Resource):
    """The endpoints of `recordings`."""

    def list(self, *, organization: str | None = None, allocation_id: m.AllocationId | None = None, page_size: int | None = None, since: datetime | str | None = None, state: m.RecordingStateChoice | None = None, until: datetime | str | None = None, user_id: m.UserId | None = None) -> Pages[m.Recording]:
        """List the recordings of an organization.

        Who may call: members of the organization with the permission `recordings:read`.

        - `organization`: By id or name; the client's own when not said.
        - `allocation_id`: Only those of this allocation.
        - `page_size`: Items per page.
        - `since`: Only those that started at or after this time.
        - `state`: Only recordings in this state. Default: all that are stored.
        - `until`: Only those that started before this time.
        - `user_id`: Only those of this person.
        """
        call = Call(
            "ListRecordings", "GET", "/v1/organizations/{organization_id}/recordings",
            path={"organization_id": InOrganization(organization)},
            query=given({"allocation_id": allocation_id, "limit": page_size, "since": since, "state": state, "until": until, "user_id": user_id}),
        )
        return Pages(self._client, call, m.Recording)

    def get(self, recording_id: m.RecordingId, *, organization: str | None = None) -> m.RecordingDetail:
        """Read the structure of a recording: its segments, gaps and seal.

        Who may call: members of the organization with the permission `recordings:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetRecording", "GET", "/v1/organizations/{organization_id}/recordings/{recording_id}",
            path={"organization_id": InOrganization(organization), "recording_id": recording_id},
        )
        return self._client.send(call, m.RecordingDetail)

    def download(self, recording_id: m.RecordingId, *, organization: str | None = None, from_s: int | None = None, to_s: int | None = None) -> bytes:
        """Download a recording as one asciicast, version 2.

        Times continue across segments; a gap is a marker.

        Who may call: members of the organization with the permission `recordings:read`.

        - `organization`: By id or name; the client's own when not said.
        - `from_s`: Omit chunks that end before this time, in seconds since the start.
        - `to_s`: Omit chunks that start after this time.
        """
        call = Call(
            "DownloadRecording", "GET", "/v1/organizations/{organization_id}/recordings/{recording_id}/asciicast",
            path={"organization_id": InOrganization(organization), "recording_id": recording_id},
            query=given({"from_s": from_s, "to_s": to_s}),
            accept="application/octet-stream",
        )
        return self._client.send(call, bytes)

    def verify(self, recording_id: m.RecordingId, *, organization: str | None = None) -> m.RecordingProof:
        """Verify a recording against its registered hashes.

        Who may call: members of the organization with the permission `recordings:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "VerifyRecording", "GET", "/v1/organizations/{organization_id}/recordings/{recording_id}/verify",
            path={"organization_id": InOrganization(organization), "recording_id": recording_id},
        )
        return self._client.send(call, m.RecordingProof)

    def list_all(self, *, allocation_id: m.AllocationId | None = None, page_size: int | None = None, organization_id: m.OrganizationId | None = None, since: datetime | str | None = None, state: m.RecordingStateChoice | None = None, until: datetime | str | None = None, user_id: m.UserId | None = None) -> Pages[m.Recording]:
        """List the recordings of every organization.

        Who may call: platform staff with the permission `platform.recordings:read`.

        - `allocation_id`: Only those of this allocation.
        - `page_size`: Items per page.
        - `organization_id`: Only those of this organization.
        - `since`: Only those that started at or after this time.
        - `state`: Only recordings in this state. Default: all that are stored.
        - `until`: Only those that started before this time.
        - `user_id`: Only those of this person.
        """
        call = Call(
            "ListAllRecordings", "GET", "/v1/platform/recordings",
            query=given({"allocation_id": allocation_id, "limit": page_size, "organization_id": organization_id, "since": since, "state": state, "until": until, "user_id": user_id}),
        )
        return Pages(self._client, call, m.Recording)

    def download_any(self, recording_id: m.RecordingId, *, from_s: int | None = None, to_s: int | None = None) -> bytes:
        """Download any recording as one asciicast, version 2.

        Who may call: platform staff with the permission `platform.recordings:read`.

        - `from_s`: Omit chunks that end before this time, in seconds since the start.
        - `to_s`: Omit chunks that start after this time.
        """
        call = Call(
            "DownloadAnyRecording", "GET", "/v1/platform/recordings/{recording_id}/asciicast",
            path={"recording_id": recording_id},
            query=given({"from_s": from_s, "to_s": to_s}),
            accept="application/octet-stream",
        )
        return self._client.send(call, bytes)

    def verify_any(self, recording_id: m.RecordingId) -> m.RecordingProof:
        """Verify any recording against its registered hashes.

        Who may call: platform staff with the permission `platform.recordings:read`.
        """
        call = Call(
            "VerifyAnyRecording", "GET", "/v1/platform/recordings/{recording_id}/verify",
            path={"recording_id": recording_id},
        )
        return self._client.send(call, m.RecordingProof)


class Refunds(Resource):
    """The endpoints of `refunds`."""

    def list(self, payment_id: m.PaymentId, *, page_size: int | None = None, state: m.RefundStateChoice | None = None) -> Pages[m.Refund]:
        """List the refunds of a payment, newest first.

        Who may call: platform staff with the permission `platform.ledger:read`.

        - `page_size`: Items per page.
        - `state`: Only refunds in this state.
        """
        call = Call(
            "ListRefunds", "GET", "/v1/platform/payments/{payment_id}/refunds",
            path={"payment_id": payment_id},
            query=given({"limit": page_size, "state": state}),
        )
        return Pages(self._client, call, m.Refund)

    def create(self, payment_id: m.PaymentId, *, reason: m.Reason, amount_micros: int | None = None, idempotency_key: str | None = None) -> m.Refund:
        """Refund a payment, in full or in part.

        The amount leaves the wallet when the provider confirms the refund.

        With the policy `billing.four_eyes`, this only creates a proposal and answers `approval_required`: a second person must approve the named correction.

        Who may call: platform staff with the permission `platform.ledger:write`.

        - `amount_micros`: Millionths of the payment's currency. Default: the full remaining amount.
        """
        call = Call(
            "CreateRefund", "POST", "/v1/platform/payments/{payment_id}/refunds",
            path={"payment_id": payment_id},
            body={"reason": reason, **given({"amount_micros": amount_micros})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Refund)


class Regions(Resource):
    """The endpoints of `regions`."""

    def create(self, *, name: m.Label, idempotency_key: str | None = None) -> m.Region:
        """Add a region.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "CreateRegion", "POST", "/v1/platform/regions",
            body={"name": name},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Region)

    def list(self, *, page_size: int | None = None, name: m.Label | None = None) -> Pages[m.Region]:
        """List the regions.

        Who may call: any signed-in caller, about itself.

        - `page_size`: Items per page.
        - `name`: Only the region with this name.
        """
        call = Call(
            "ListRegions", "GET", "/v1/regions",
            query=given({"limit": page_size, "name": name}),
        )
        return Pages(self._client, call, m.Region)


class Revenue(Resource):
    """The endpoints of `revenue`."""

    def get(self, *, since: datetime | str | None = None, until: datetime | str | None = None) -> m.Revenue:
        """Show revenue from usage by day and SKU, from the ledger.

        Days are UTC days of posting. Reversals count on the day they were posted.

        Who may call: platform staff with the permission `platform.ledger:read`.

        - `since`: The start. Default: the beginning of the day 30 days ago.
        - `until`: The end, exclusive. Default: now.
        """
        call = Call(
            "GetRevenue", "GET", "/v1/platform/revenue",
            query=given({"since": since, "until": until}),
        )
        return self._client.send(call, m.Revenue)

    def get_utilization(self, *, since: datetime | str | None = None, until: datetime | str | None = None) -> m.Utilization:
        """Show the utilization of GPUs by day: GPU time sold and GPU time available.

        Who may call: platform staff with the permission `platform.fleet:read`.

        - `since`: The start. Default: the beginning of the day 30 days ago.
        - `until`: The end, exclusive. Default: now.
        """
        call = Call(
            "GetUtilization", "GET", "/v1/platform/utilization",
            query=given({"since": since, "until": until}),
        )
        return self._client.send(call, m.Utilization)


class ServiceAccounts(Resource):
    """The endpoints of `service_accounts`."""

    def list(self, *, organization: str | None = None, page_size: int | None = None, name: m.Name | None = None, role: m.RoleChoice | None = None) -> Pages[m.ServiceAccount]:
        """List service accounts.

        Who may call: members of the organization with the permission `service_accounts:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `name`: Only the service account with this name.
        - `role`: Only service accounts with this role.
        """
        call = Call(
            "ListServiceAccounts", "GET", "/v1/organizations/{organization_id}/service-accounts",
            path={"organization_id": InOrganization(organization)},
            query=given({"limit": page_size, "name": name, "role": role}),
        )
        return Pages(self._client, call, m.ServiceAccount)

    def create(self, *, name: m.Name, role: m.RoleChoice, organization: str | None = None, idempotency_key: str | None = None) -> m.ServiceAccount:
        """Create a service account.

        Who may call: members of the organization with the permission `service_accounts:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "CreateServiceAccount", "POST", "/v1/organizations/{organization_id}/service-accounts",
            path={"organization_id": InOrganization(organization)},
            body={"name": name, "role": role},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.ServiceAccount)

    def delete(self, service_account_id: m.ServiceAccountId, *, organization: str | None = None) -> None:
        """Delete a service account and revoke its keys.

        Who may call: members of the organization with the permission `service_accounts:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "DeleteServiceAccount", "DELETE", "/v1/organizations/{organization_id}/service-accounts/{service_account_id}",
            path={"organization_id": InOrganization(organization), "service_account_id": service_account_id},
        )
        self._client.send(call, None)

    def get(self, service_account_id: m.ServiceAccountId, *, organization: str | None = None) -> m.ServiceAccount:
        """Read one service account.

        Who may call: members of the organization with the permission `service_accounts:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetServiceAccount", "GET", "/v1/organizations/{organization_id}/service-accounts/{service_account_id}",
            path={"organization_id": InOrganization(organization), "service_account_id": service_account_id},
        )
        return self._client.send(call, m.ServiceAccount)

    def list_keys(self, service_account_id: m.ServiceAccountId, *, organization: str | None = None, page_size: int | None = None, name: m.Name | None = None) -> Pages[m.Key]:
        """List the keys of a service account.

        Who may call: members of the organization with the permission `service_accounts:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `name`: Only keys with this name.
        """
        call = Call(
            "ListServiceAccountKeys", "GET", "/v1/organizations/{organization_id}/service-accounts/{service_account_id}/keys",
            path={"organization_id": InOrganization(organization), "service_account_id": service_account_id},
            query=given({"limit": page_size, "name": name}),
        )
        return Pages(self._client, call, m.Key)

    def create_key(self, service_account_id: m.ServiceAccountId, *, name: m.Name, scopes: Sequence[m.PermissionChoice], organization: str | None = None, expires_at: datetime | str | None = None, idempotency_key: str | None = None) -> m.NewKey:
        """Create a key for a service account.

        The secret is shown once, in this response.

        Who may call: members of the organization with the permission `service_accounts:write`.

        - `organization`: By id or name; the client's own when not said.
        - `expires_at`: When it expires; policy limits the maximum.
        - `scopes`: The key's maximum permissions; the owner's role still limits it.
        """
        call = Call(
            "CreateServiceAccountKey", "POST", "/v1/organizations/{organization_id}/service-accounts/{service_account_id}/keys",
            path={"organization_id": InOrganization(organization), "service_account_id": service_account_id},
            body={"name": name, "scopes": scopes, **given({"expires_at": expires_at})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.NewKey)

    def revoke_key(self, service_account_id: m.ServiceAccountId, key_id: m.KeyId, *, organization: str | None = None) -> None:
        """Revoke a key of a service account; it stops working within a second.

        Who may call: members of the organization with the permission `service_accounts:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "RevokeServiceAccountKey", "DELETE", "/v1/organizations/{organization_id}/service-accounts/{service_account_id}/keys/{key_id}",
            path={"organization_id": InOrganization(organization), "service_account_id": service_account_id, "key_id": key_id},
        )
        self._client.send(call, None)


class Sessions(Resource):
    """The endpoints of `sessions`."""

    def get_jwks(self) -> m.Jwks:
        """The keys that verify access tokens of the built-in issuer.

        Who may call: anyone, because public keys are public.
        """
        call = Call(
            "GetJwks", "GET", "/.well-known/jwks.json",
        )
        return self._client.send(call, m.Jwks)

    def sign_out_everywhere(self) -> None:
        """End all of the caller's sessions, including this one.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "SignOutEverywhere", "DELETE", "/v1/sessions",
        )
        self._client.send(call, None)

    def list(self, *, page_size: int | None = None) -> Pages[m.Session]:
        """List the caller's sessions.

        Who may call: any signed-in person, about themselves.

        - `page_size`: Items per page.
        """
        call = Call(
            "ListSessions", "GET", "/v1/sessions",
            query=given({"limit": page_size}),
        )
        return Pages(self._client, call, m.Session)

    def create(self, *, email: m.Email, password: Secret | str) -> m.TokenSet:
        """Sign in with email address and password.

        Who may call: anyone, because signing in is how credentials are obtained.
        """
        call = Call(
            "CreateSession", "POST", "/v1/sessions",
            body={"email": email, "password": password},
            repeatable=False,
        )
        return self._client.send(call, m.TokenSet)

    def exchange_oidc_token(self, *, id_token: Secret | str) -> m.TokenSet:
        """Exchange an identity token of the external issuer for a session.

        Works while the issuer is unavailable, as long as its keys are cached.

        Who may call: anyone, because the identity token in the body is the credential.
        """
        call = Call(
            "ExchangeOidcToken", "POST", "/v1/sessions/oidc/exchange",
            body={"id_token": id_token},
            repeatable=False,
        )
        return self._client.send(call, m.TokenSet)

    def finish_oidc(self, *, code: Secret | str, state: Secret | str) -> m.TokenSet:
        """Finish signing in through the external issuer.

        Who may call: anyone, because signing in is how credentials are obtained.
        """
        call = Call(
            "FinishOidc", "POST", "/v1/sessions/oidc/finish",
            body={"code": code, "state": state},
            repeatable=False,
        )
        return self._client.send(call, m.TokenSet)

    def start_oidc(self, *, redirect_uri: str) -> m.OidcStarted:
        """Start signing in through the external issuer.

        Send the person to `authorization_url`, and pass the result to `FinishOidc`.

        Who may call: anyone, because signing in is how credentials are obtained.

        - `redirect_uri`: The redirect URI; must be allowed by the configuration.
        """
        call = Call(
            "StartOidc", "POST", "/v1/sessions/oidc/start",
            body={"redirect_uri": redirect_uri},
            repeatable=False,
        )
        return self._client.send(call, m.OidcStarted)

    def refresh(self, *, refresh_token: Secret | str) -> m.TokenSet:
        """Exchange a refresh token for new tokens.

        Each refresh token works once; using one again ends the session.

        Who may call: anyone, because the refresh token in the body is the credential.
        """
        call = Call(
            "RefreshSession", "POST", "/v1/sessions/refresh",
            body={"refresh_token": refresh_token},
            repeatable=False,
        )
        return self._client.send(call, m.TokenSet)

    def revoke(self, session_id: m.SessionId) -> None:
        """End one of the caller's sessions; its tokens stop working within a second.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "RevokeSession", "DELETE", "/v1/sessions/{session_id}",
            path={"session_id": session_id},
        )
        self._client.send(call, None)


class Skus(Resource):
    """The endpoints of `skus`."""

    def create(self, *, gpu_counts: Sequence[int], name: m.Label, shape: m.ShapeChoice, gpu_model: m.GpuModel | None = None, limits: m.SkuLimitsSpec | None = None, numa_bound: bool | None = None, idempotency_key: str | None = None) -> m.Sku:
        """Create a SKU.

        Who may call: platform staff with the permission `platform.fleet:write`.

        - `gpu_counts`: The allowed numbers of GPUs per node, each between 1 and 64.
        - `gpu_model`: The required GPU model, as hosts report it. Default: any model.
        - `limits`: What a login may use of a host besides GPUs. Default: its GPUs' share of the host.
        - `numa_bound`: Whether the GPUs of one node must share one NUMA node.
        """
        call = Call(
            "CreateSku", "POST", "/v1/platform/skus",
            body={"gpu_counts": gpu_counts, "name": name, "shape": shape, **given({"gpu_model": gpu_model, "limits": limits, "numa_bound": numa_bound})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Sku)

    def retire(self, sku_id: m.SkuId) -> m.Sku:
        """Retire a SKU; its allocations continue.

        Who may call: platform staff with the permission `platform.fleet:write`.
        """
        call = Call(
            "RetireSku", "DELETE", "/v1/platform/skus/{sku_id}",
            path={"sku_id": sku_id},
        )
        return self._client.send(call, m.Sku)

    def list(self, *, page_size: int | None = None, name: m.Label | None = None, retired: bool | None = None) -> Pages[m.Sku]:
        """List the available SKUs.

        Who may call: any signed-in caller, about itself.

        - `page_size`: Items per page.
        - `name`: Only the SKU with this name.
        - `retired`: Include retired SKUs.
        """
        call = Call(
            "ListSkus", "GET", "/v1/skus",
            query=given({"limit": page_size, "name": name, "retired": retired}),
        )
        return Pages(self._client, call, m.Sku)


class SshCertificates(Resource):
    """The endpoints of `ssh_certificates`."""

    def create(self, allocation_id: m.AllocationId, *, public_key: m.PublicKey, project: str | None = None, idempotency_key: str | None = None) -> m.SshCertificate:
        """Get an SSH certificate for an allocation.

        It names the allocation and the caller. The caller's permissions are checked again when it is used.

        Who may call: members of the project's organization with the permission `access:write`.

        - `project`: By id or name; the client's own when not said.
        - `public_key`: The key that is certified; its private half stays with the caller.
        """
        call = Call(
            "CreateSshCertificate", "POST", "/v1/projects/{project_id}/allocations/{allocation_id}/ssh-certificates",
            path={"project_id": InProject(project), "allocation_id": allocation_id},
            body={"public_key": public_key},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.SshCertificate)

    def get_ssh_known_hosts(self) -> str:
        """The gateways' host keys, as lines of a `known_hosts` file.

        Who may call: anyone, because who connects compares it before anything is said.
        """
        call = Call(
            "GetSshKnownHosts", "GET", "/v1/ssh-known-hosts",
            accept="text/plain",
        )
        return self._client.send(call, str)


class SshKeys(Resource):
    """The endpoints of `ssh_keys`."""

    def list(self, *, page_size: int | None = None, name: m.Name | None = None) -> Pages[m.SshKey]:
        """List the caller's public keys.

        Who may call: any signed-in person, about themselves.

        - `page_size`: Items per page.
        - `name`: Only the key with this name.
        """
        call = Call(
            "ListSshKeys", "GET", "/v1/me/ssh-keys",
            query=given({"limit": page_size, "name": name}),
        )
        return Pages(self._client, call, m.SshKey)

    def add(self, *, name: m.Name, proof: m.SshSignature, public_key: m.PublicKey, idempotency_key: str | None = None) -> m.SshKey:
        """Add one of the caller's public keys.

        The caller proves ownership: `proof` is the output of `printf %s <id of the caller> | ssh-keygen -Y sign -n gpuaas-ssh-key -f <private key>`. A key belongs to one account.

        Who may call: any signed-in person, about themselves.

        - `proof`: The signature of the caller's id, by this key.
        """
        call = Call(
            "AddSshKey", "POST", "/v1/me/ssh-keys",
            body={"name": name, "proof": proof, "public_key": public_key},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.SshKey)

    def remove(self, ssh_key_id: m.SshKeyId) -> None:
        """Remove one of the caller's public keys.

        Hosts stop accepting it within seconds.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "RemoveSshKey", "DELETE", "/v1/me/ssh-keys/{ssh_key_id}",
            path={"ssh_key_id": ssh_key_id},
        )
        self._client.send(call, None)


class Telemetry(Resource):
    """The endpoints of `telemetry`."""

    def get_node(self, node_id: m.NodeId, *, resolution: m.ResolutionChoice | None = None, since: datetime | str | None = None, until: datetime | str | None = None) -> m.NodeTelemetry:
        """Read the metrics of a node and its GPUs.

        Who may call: platform staff with the permission `platform.fleet:read`.

        - `resolution`: The resolution. Default: a minute.
        - `since`: The start. Default: ten minutes of samples, six hours of minutes or a week of hours before the end.
        - `until`: The end, exclusive. Default: now.
        """
        call = Call(
            "GetNodeTelemetry", "GET", "/v1/platform/nodes/{node_id}/telemetry",
            path={"node_id": node_id},
            query=given({"resolution": resolution, "since": since, "until": until}),
        )
        return self._client.send(call, m.NodeTelemetry)

    def get_allocation(self, allocation_id: m.AllocationId, *, project: str | None = None, node_id: m.NodeId | None = None, resolution: m.ResolutionChoice | None = None, since: datetime | str | None = None, until: datetime | str | None = None) -> m.AllocationTelemetry:
        """Read the metrics of an allocation's GPUs for the time that it had them.

        Minutes and hours are only included if the allocation had the GPUs for all of it.

        Who may call: members of the project's organization with the permission `allocations:read`.

        - `project`: By id or name; the client's own when not said.
        - `node_id`: Only the GPUs on this node.
        - `resolution`: The resolution. Default: a minute.
        - `since`: The start. Default: ten minutes of samples, six hours of minutes or a week of hours before the end.
        - `until`: The end, exclusive. Default: now.
        """
        call = Call(
            "GetAllocationTelemetry", "GET", "/v1/projects/{project_id}/allocations/{allocation_id}/telemetry",
            path={"project_id": InProject(project), "allocation_id": allocation_id},
            query=given({"node_id": node_id, "resolution": resolution, "since": since, "until": until}),
        )
        return self._client.send(call, m.AllocationTelemetry)


class Usage(Resource):
    """The endpoints of `usage`."""

    def get(self, *, organization: str | None = None, by: m.UsageByChoice | None = None, project_id: m.ProjectId | None = None, since: datetime | str | None = None, tag: m.Label | None = None, until: datetime | str | None = None) -> m.Usage:
        """Show the organization's usage in a period by project, SKU, tag, day or meter.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        - `by`: The grouping. Default: by project.
        - `project_id`: Only usage of this project.
        - `since`: The start. Default: the beginning of this month.
        - `tag`: The tag, when grouped by tag.
        - `until`: The end, exclusive. Default: now.
        """
        call = Call(
            "GetUsage", "GET", "/v1/organizations/{organization_id}/usage",
            path={"organization_id": InOrganization(organization)},
            query=given({"by": by, "project_id": project_id, "since": since, "tag": tag, "until": until}),
        )
        return self._client.send(call, m.Usage)

    def export(self, *, organization: str | None = None, after: m.ExportPlace | None = None, month: m.Month | None = None) -> m.UsageExport:
        """Export the organization's usage of a month, interval by interval, in parts.

        Repeat with `next_after` until there is none. Usage that is not posted yet is not included.

        Who may call: members of the organization with the permission `ledger:read`.

        - `organization`: By id or name; the client's own when not said.
        - `after`: Continues after this position.
        """
        call = Call(
            "ExportUsage", "GET", "/v1/organizations/{organization_id}/usage/charges",
            path={"organization_id": InOrganization(organization)},
            query=given({"after": after, "month": month}),
        )
        return self._client.send(call, m.UsageExport)

    def get_any(self, organization_id: m.OrganizationId, *, by: m.UsageByChoice | None = None, project_id: m.ProjectId | None = None, since: datetime | str | None = None, tag: m.Label | None = None, until: datetime | str | None = None) -> m.Usage:
        """Show the usage of any organization in a period.

        Who may call: platform staff with the permission `platform.ledger:read`.

        - `by`: The grouping. Default: by project.
        - `project_id`: Only usage of this project.
        - `since`: The start. Default: the beginning of this month.
        - `tag`: The tag, when grouped by tag.
        - `until`: The end, exclusive. Default: now.
        """
        call = Call(
            "GetAnyUsage", "GET", "/v1/platform/organizations/{organization_id}/usage",
            path={"organization_id": organization_id},
            query=given({"by": by, "project_id": project_id, "since": since, "tag": tag, "until": until}),
        )
        return self._client.send(call, m.Usage)

    def export_any(self, organization_id: m.OrganizationId, *, after: m.ExportPlace | None = None, month: m.Month | None = None) -> m.UsageExport:
        """Export the usage of any organization in a month, in parts.

        Who may call: platform staff with the permission `platform.ledger:read`.

        - `after`: Continues after this position.
        """
        call = Call(
            "ExportAnyUsage", "GET", "/v1/platform/organizations/{organization_id}/usage/charges",
            path={"organization_id": organization_id},
            query=given({"after": after, "month": month}),
        )
        return self._client.send(call, m.UsageExport)

    def get_allocation_cost(self, allocation_id: m.AllocationId, *, project: str | None = None) -> m.AllocationCost:
        """Show the cost of an allocation so far: posted, and accrued since.

        Who may call: members of the project's organization with the permission `ledger:read`.

        - `project`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetAllocationCost", "GET", "/v1/projects/{project_id}/allocations/{allocation_id}/cost",
            path={"project_id": InProject(project), "allocation_id": allocation_id},
        )
        return self._client.send(call, m.AllocationCost)


class Users(Resource):
    """The endpoints of `users`."""

    def change_profile(self, *, name: m.PersonName) -> m.User:
        """Change the caller's own name.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "ChangeProfile", "PUT", "/v1/me",
            body={"name": name},
        )
        return self._client.send(call, m.User)

    def change_password(self, *, current: Secret | str, new: Secret | str) -> None:
        """Change the caller's password; every other session ends.

        Who may call: any signed-in person, about themselves.
        """
        call = Call(
            "ChangePassword", "PUT", "/v1/me/password",
            body={"current": current, "new": new},
        )
        self._client.send(call, None)

    def list(self, *, email: m.Email | None = None, page_size: int | None = None) -> Pages[m.User]:
        """List every person of the platform.

        Who may call: platform staff with the permission `platform.users:read`.

        - `email`: Only the person with this address.
        - `page_size`: Items per page.
        """
        call = Call(
            "ListUsers", "GET", "/v1/platform/users",
            query=given({"email": email, "limit": page_size}),
        )
        return Pages(self._client, call, m.User)

    def erase(self, user_id: m.UserId) -> None:
        """Erase a person's data; only their id remains in logs.

        Who may call: platform staff with the permission `platform.users:write`.
        """
        call = Call(
            "EraseUser", "DELETE", "/v1/platform/users/{user_id}",
            path={"user_id": user_id},
        )
        self._client.send(call, None)

    def set_platform_role(self, user_id: m.UserId, *, role: m.PlatformRoleChoice | None = None) -> m.User:
        """Grant or revoke a person's platform role.

        Who may call: platform staff with the permission `platform.users:write`.

        - `role`: Absent or null revokes the role.
        """
        call = Call(
            "SetPlatformRole", "PUT", "/v1/platform/users/{user_id}/role",
            path={"user_id": user_id},
            body={**given({"role": role})},
        )
        return self._client.send(call, m.User)

    def sign_up(self, *, email: m.Email) -> None:
        """Sign up: a token is mailed to the address.

        Only where the platform is open to everybody (`identity.self_service`). `ConfirmSignUp` takes the token with the name and the password, so that the recipient of the mail chooses both. An invited person can use the token from the invitation mail directly. The response is the same whether or not the address already has an account.

        Who may call: anyone, because a newcomer has no credentials yet.

        - `email`: Where the token is mailed.
        """
        call = Call(
            "SignUp", "POST", "/v1/users",
            body={"email": email},
            repeatable=False,
        )
        self._client.send(call, None)

    def who_am_i(self) -> m.Whoami:
        """Show the caller and their permissions.

        Who may call: any signed-in caller, about itself.
        """
        call = Call(
            "WhoAmI", "GET", "/v1/whoami",
        )
        return self._client.send(call, m.Whoami)


class WebhookDeliveries(Resource):
    """The endpoints of `webhook_deliveries`."""

    def list(self, webhook_id: m.WebhookId, *, organization: str | None = None, page_size: int | None = None, state: m.WebhookDeliveryStateChoice | None = None) -> Pages[m.WebhookDelivery]:
        """List the deliveries of a webhook.

        Who may call: members of the organization with the permission `webhooks:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `state`: Only deliveries in this state.
        """
        call = Call(
            "ListWebhookDeliveries", "GET", "/v1/organizations/{organization_id}/webhooks/{webhook_id}/deliveries",
            path={"organization_id": InOrganization(organization), "webhook_id": webhook_id},
            query=given({"limit": page_size, "state": state}),
        )
        return Pages(self._client, call, m.WebhookDelivery)

    def get(self, webhook_id: m.WebhookId, delivery_id: m.WebhookDeliveryId, *, organization: str | None = None) -> m.WebhookDelivery:
        """Read one delivery.

        Who may call: members of the organization with the permission `webhooks:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetWebhookDelivery", "GET", "/v1/organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}",
            path={"organization_id": InOrganization(organization), "webhook_id": webhook_id, "delivery_id": delivery_id},
        )
        return self._client.send(call, m.WebhookDelivery)

    def resend(self, webhook_id: m.WebhookId, delivery_id: m.WebhookDeliveryId, *, organization: str | None = None, idempotency_key: str | None = None) -> m.WebhookDelivery:
        """Resend a delivery now, whatever its state; the count of attempts restarts.

        Who may call: members of the organization with the permission `webhooks:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "ResendWebhookDelivery", "POST", "/v1/organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/resend",
            path={"organization_id": InOrganization(organization), "webhook_id": webhook_id, "delivery_id": delivery_id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.WebhookDelivery)


class Webhooks(Resource):
    """The endpoints of `webhooks`."""

    def list(self, *, organization: str | None = None, page_size: int | None = None, state: m.WebhookStateChoice | None = None) -> Pages[m.Webhook]:
        """List the webhooks of an organization; deleted ones only on request.

        Who may call: members of the organization with the permission `webhooks:read`.

        - `organization`: By id or name; the client's own when not said.
        - `page_size`: Items per page.
        - `state`: Only webhooks in this state. Default: all except deleted ones.
        """
        call = Call(
            "ListWebhooks", "GET", "/v1/organizations/{organization_id}/webhooks",
            path={"organization_id": InOrganization(organization)},
            query=given({"limit": page_size, "state": state}),
        )
        return Pages(self._client, call, m.Webhook)

    def create(self, *, events: Sequence[m.EventPattern], url: m.WebhookUrl, organization: str | None = None, description: m.WebhookDescription | None = None, idempotency_key: str | None = None) -> m.NewWebhook:
        """Create a webhook: matching events are sent to its URL.

        The signing secret is shown once, in this response.

        Who may call: members of the organization with the permission `webhooks:write`.

        - `organization`: By id or name; the client's own when not said.
        - `events`: An event is sent once, even if several of these match.
        """
        call = Call(
            "CreateWebhook", "POST", "/v1/organizations/{organization_id}/webhooks",
            path={"organization_id": InOrganization(organization)},
            body={"events": events, "url": url, **given({"description": description})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.NewWebhook)

    def delete(self, webhook_id: m.WebhookId, *, organization: str | None = None) -> m.Webhook:
        """Delete a webhook and its secret; nothing is sent to it any more.

        Who may call: members of the organization with the permission `webhooks:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "DeleteWebhook", "DELETE", "/v1/organizations/{organization_id}/webhooks/{webhook_id}",
            path={"organization_id": InOrganization(organization), "webhook_id": webhook_id},
        )
        return self._client.send(call, m.Webhook)

    def get(self, webhook_id: m.WebhookId, *, organization: str | None = None) -> m.Webhook:
        """Read one webhook.

        Who may call: members of the organization with the permission `webhooks:read`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "GetWebhook", "GET", "/v1/organizations/{organization_id}/webhooks/{webhook_id}",
            path={"organization_id": InOrganization(organization), "webhook_id": webhook_id},
        )
        return self._client.send(call, m.Webhook)

    def change(self, webhook_id: m.WebhookId, *, organization: str | None = None, description: m.WebhookDescription | None = None, events: Sequence[m.EventPattern] | None = None, url: m.WebhookUrl | None = None, idempotency_key: str | None = None) -> m.Webhook:
        """Change the URL, the events or the description of a webhook.

        Waiting deliveries go to the new URL.

        Who may call: members of the organization with the permission `webhooks:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "ChangeWebhook", "PATCH", "/v1/organizations/{organization_id}/webhooks/{webhook_id}",
            path={"organization_id": InOrganization(organization), "webhook_id": webhook_id},
            body={**given({"description": description, "events": events, "url": url})},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Webhook)

    def disable(self, webhook_id: m.WebhookId, *, organization: str | None = None, idempotency_key: str | None = None) -> m.Webhook:
        """Disable a webhook: nothing is sent until it is enabled again.

        Events in the meantime are not sent; list them instead.

        Who may call: members of the organization with the permission `webhooks:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "DisableWebhook", "POST", "/v1/organizations/{organization_id}/webhooks/{webhook_id}/disable",
            path={"organization_id": InOrganization(organization), "webhook_id": webhook_id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Webhook)

    def enable(self, webhook_id: m.WebhookId, *, organization: str | None = None, idempotency_key: str | None = None) -> m.Webhook:
        """Enable a webhook again.

        Events from the meantime are not sent; list them instead.

        Who may call: members of the organization with the permission `webhooks:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "EnableWebhook", "POST", "/v1/organizations/{organization_id}/webhooks/{webhook_id}/enable",
            path={"organization_id": InOrganization(organization), "webhook_id": webhook_id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.Webhook)

    def rotate_secret(self, webhook_id: m.WebhookId, *, organization: str | None = None, idempotency_key: str | None = None) -> m.NewWebhook:
        """Rotate the secret of a webhook.

        The new secret is shown once, in this response. The old one also signs until `previous_secret_until`, so that a receiver can switch.

        Who may call: members of the organization with the permission `webhooks:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "RotateWebhookSecret", "POST", "/v1/organizations/{organization_id}/webhooks/{webhook_id}/rotate",
            path={"organization_id": InOrganization(organization), "webhook_id": webhook_id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.NewWebhook)

    def test(self, webhook_id: m.WebhookId, *, organization: str | None = None, idempotency_key: str | None = None) -> m.WebhookDelivery:
        """Send the event `webhook.tested` to a webhook, once, even to one that is disabled.

        Who may call: members of the organization with the permission `webhooks:write`.

        - `organization`: By id or name; the client's own when not said.
        """
        call = Call(
            "TestWebhook", "POST", "/v1/organizations/{organization_id}/webhooks/{webhook_id}/test",
            path={"organization_id": InOrganization(organization), "webhook_id": webhook_id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.WebhookDelivery)


class Work(Resource):
    """The endpoints of `work`."""

    def list(self, *, kind: str | None = None, page_size: int | None = None, needs_attention: bool | None = None) -> Pages[m.WorkItem]:
        """List the work queue, stuck rows first.

        Who may call: platform staff with the permission `platform.work:read`.

        - `kind`: Only work of this kind.
        - `page_size`: Items per page.
        - `needs_attention`: Only rows that need attention, or only those that do not.
        """
        call = Call(
            "ListWork", "GET", "/v1/platform/work",
            query=given({"kind": kind, "limit": page_size, "needs_attention": needs_attention}),
        )
        return Pages(self._client, call, m.WorkItem)

    def retry(self, kind: str, id: str, *, idempotency_key: str | None = None) -> m.WorkItem:
        """Retry a stuck row now.

        Who may call: platform staff with the permission `platform.work:write`.
        """
        call = Call(
            "RetryWork", "POST", "/v1/platform/work/{kind}/{id}/retry",
            path={"kind": kind, "id": id},
            key=key_or_new(idempotency_key),
        )
        return self._client.send(call, m.WorkItem)


class Resources:
    """Everything that a client offers."""

    def __init__(self, client: Client) -> None:
        self.access_sessions = AccessSessions(client)
        self.access_tickets = AccessTickets(client)
        self.account_tokens = AccountTokens(client)
        self.agents = Agents(client)
        self.allocations = Allocations(client)
        self.audit = Audit(client)
        self.billing_profiles = BillingProfiles(client)
        self.budgets = Budgets(client)
        self.capacity = Capacity(client)
        self.corrections = Corrections(client)
        self.dead_letters = DeadLetters(client)
        self.enrollment_tokens = EnrollmentTokens(client)
        self.events = Events(client)
        self.gateways = Gateways(client)
        self.invitations = Invitations(client)
        self.invoices = Invoices(client)
        self.keys = Keys(client)
        self.ledger = Ledger(client)
        self.machines = Machines(client)
        self.mails = Mails(client)
        self.maintenance_windows = MaintenanceWindows(client)
        self.members = Members(client)
        self.mfa = Mfa(client)
        self.nodes = Nodes(client)
        self.notifications = Notifications(client)
        self.organizations = Organizations(client)
        self.payments = Payments(client)
        self.policies = Policies(client)
        self.pools = Pools(client)
        self.prices = Prices(client)
        self.problems = Problems(client)
        self.projects = Projects(client)
        self.providers = Providers(client)
        self.quotas = Quotas(client)
        self.recordings = Recordings(client)
        self.refunds = Refunds(client)
        self.regions = Regions(client)
        self.revenue = Revenue(client)
        self.service_accounts = ServiceAccounts(client)
        self.sessions = Sessions(client)
        self.skus = Skus(client)
        self.ssh_certificates = SshCertificates(client)
        self.ssh_keys = SshKeys(client)
        self.telemetry = Telemetry(client)
        self.usage = Usage(client)
        self.users = Users(client)
        self.webhook_deliveries = WebhookDeliveries(client)
        self.webhooks = Webhooks(client)
        self.work = Work(client)
