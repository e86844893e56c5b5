"""One exception for each code of a problem.

Generated from the contract; a change made here is lost. @generated
"""

from __future__ import annotations

from gpuaas._errors import ProblemError


class InvalidPathError(ProblemError):
    """The URL path is malformed (`invalid_path`, 400).

    Use ids exactly as the API returned them.
    """


class InvalidQueryError(ProblemError):
    """A query parameter is malformed or unknown (`invalid_query`, 400).

    Check the parameters against the API reference.
    """


class InvalidHeaderError(ProblemError):
    """A header is missing or malformed (`invalid_header`, 400).

    Send the header as described in the detail.
    """


class InvalidBodyError(ProblemError):
    """The request body does not match the schema (`invalid_body`, 400).

    Check the body against the API reference; unknown fields are refused.
    """


class UnauthenticatedError(ProblemError):
    """Credentials are missing, invalid, expired or revoked (`unauthenticated`, 401).

    Sign in again, or send a valid key as `Authorization: Bearer …`.
    """


class ForbiddenError(ProblemError):
    """You do not have permission to do this (`forbidden`, 403).

    Ask an owner or administrator for a role with this permission; the reference of roles lists them.
    """


class SignInNeededError(ProblemError):
    """API keys cannot do this (`sign_in_needed`, 403).

    Sign in as yourself and use the session's token: `gpuaas login`.
    """


class MfaRequiredError(ProblemError):
    """A second factor is required (`mfa_required`, 403).

    Answer `challenge` with a code, a passkey or a recovery code: `POST /v1/sessions/mfa`.
    """


class MfaEnrollmentRequiredError(ProblemError):
    """Policy requires a second factor, and the account has none (`mfa_enrollment_required`, 403).

    Add one, then continue: `gpuaas me mfa enroll`, or your account page in the console.
    """


class StepUpRequiredError(ProblemError):
    """The second factor must be confirmed again (`step_up_required`, 403).

    Confirm it and retry: `gpuaas me mfa verify`, or the dialog in the console.
    """


class SignInAgainError(ProblemError):
    """A recent sign-in is required (`sign_in_again`, 403).

    Sign in again and retry: `gpuaas login`, or sign out of the console and in again.
    """


class ScopeExceededError(ProblemError):
    """The request grants more permissions than the caller has (`scope_exceeded`, 403).

    Grant only permissions that you have yourself.
    """


class OrganizationSuspendedError(ProblemError):
    """The organization is suspended (`organization_suspended`, 403).

    You can still read, stop and release. Ask the platform's operators for the reason and how to resolve it.
    """


class AccessRefusedError(ProblemError):
    """A policy does not allow this kind of access (`access_refused`, 403).

    Use a kind of access that the policy allows: the detail names the policy, and `gpuaas policies explain` shows where it is set.
    """


class SelfServiceOffError(ProblemError):
    """This is not available without an invitation (`self_service_off`, 403).

    Ask an operator or an administrator of your organization for an invitation.
    """


class NotFoundError(ProblemError):
    """Not found, or you do not have access (`not_found`, 404).

    Check the id, and that you are in the right organization.
    """


class MethodNotAllowedError(ProblemError):
    """The method is not allowed for this URL (`method_not_allowed`, 405).

    Check the method against the API reference.
    """


class RequestTimeoutError(ProblemError):
    """The request body did not arrive in time (`request_timeout`, 408).

    Retry over a faster connection.
    """


class ConflictError(ProblemError):
    """The resource changed, or its state does not allow this (`conflict`, 409).

    Read it again, then decide whether to retry.
    """


class NameTakenError(ProblemError):
    """The name is already in use (`name_taken`, 409).

    Choose another name.
    """


class LastOwnerError(ProblemError):
    """An organization needs at least one owner (`last_owner`, 409).

    Make somebody else an owner first.
    """


class PaymentsOffError(ProblemError):
    """This installation does not accept payments (`payments_off`, 409).

    Ask its operators for credit, or to set up a payment provider (`docs/guides/payments.md`).
    """


class MailOffError(ProblemError):
    """This installation does not send mail (`mail_off`, 409).

    Ask its operators to do this with `gpuaasd admin`, or to set up mail (`docs/guides/notifications.md`).
    """


class NotPricedError(ProblemError):
    """The SKU has no price in the charged currency (`not_priced`, 409).

    Use another SKU, or ask an operator to set a price in that currency: `gpuaas prices set`; 0 makes it free.
    """


class ApprovalRequiredError(ProblemError):
    """A second person must approve this (`approval_required`, 409).

    It was proposed and has not taken effect. Ask another member of staff to run the command in the detail.
    """


class RequestInProgressError(ProblemError):
    """The same request is still in progress (`request_in_progress`, 409).

    Retry with the same key after the time in `Retry-After`.
    """


class PayloadTooLargeError(ProblemError):
    """The request body is too large (`payload_too_large`, 413).

    Send less; the detail names the limit.
    """


class UnsupportedMediaTypeError(ProblemError):
    """The request body is not JSON (`unsupported_media_type`, 415).

    Send `Content-Type: application/json`.
    """


class IdempotencyKeyReusedError(ProblemError):
    """The idempotency key was used for a different request (`idempotency_key_reused`, 422).

    Use a new key for a new request.
    """


class InvalidValueError(ProblemError):
    """A value is not accepted (`invalid_value`, 422).

    Change the value as described in the detail.
    """


class InsufficientFundsError(ProblemError):
    """Insufficient funds (`insufficient_funds`, 402).

    Top up, or request less or a shorter lease; `gpuaas ledger balance` shows what is available and what is held.
    """


class LimitReachedError(ProblemError):
    """A limit set by policy is reached (`limit_reached`, 422).

    Remove what you do not need, or ask for a higher limit; `gpuaas policies explain` shows where it is set.
    """


class TooManyRequestsError(ProblemError):
    """Too many requests (`too_many_requests`, 429).

    Wait for the time in `Retry-After`, then send requests more slowly.
    """


class HeadersTooLargeError(ProblemError):
    """The headers or the URL are too large (`headers_too_large`, 431).

    Send fewer or shorter headers.
    """


class InternalError(ProblemError):
    """Internal server error (`internal`, 500).

    Retry with the same idempotency key. If it persists, report the correlation id.
    """


class UnavailableError(ProblemError):
    """A required dependency is unavailable (`unavailable`, 503).

    Retry after the time in `Retry-After`; `/readyz` names the dependency.
    """


BY_CODE: dict[str, type[ProblemError]] = {
    "invalid_path": InvalidPathError,
    "invalid_query": InvalidQueryError,
    "invalid_header": InvalidHeaderError,
    "invalid_body": InvalidBodyError,
    "unauthenticated": UnauthenticatedError,
    "forbidden": ForbiddenError,
    "sign_in_needed": SignInNeededError,
    "mfa_required": MfaRequiredError,
    "mfa_enrollment_required": MfaEnrollmentRequiredError,
    "step_up_required": StepUpRequiredError,
    "sign_in_again": SignInAgainError,
    "scope_exceeded": ScopeExceededError,
    "organization_suspended": OrganizationSuspendedError,
    "access_refused": AccessRefusedError,
    "self_service_off": SelfServiceOffError,
    "not_found": NotFoundError,
    "method_not_allowed": MethodNotAllowedError,
    "request_timeout": RequestTimeoutError,
    "conflict": ConflictError,
    "name_taken": NameTakenError,
    "last_owner": LastOwnerError,
    "payments_off": PaymentsOffError,
    "mail_off": MailOffError,
    "not_priced": NotPricedError,
    "approval_required": ApprovalRequiredError,
    "request_in_progress": RequestInProgressError,
    "payload_too_large": PayloadTooLargeError,
    "unsupported_media_type": UnsupportedMediaTypeError,
    "idempotency_key_reused": IdempotencyKeyReusedError,
    "invalid_value": InvalidValueError,
    "insufficient_funds": InsufficientFundsError,
    "limit_reached": LimitReachedError,
    "too_many_requests": TooManyRequestsError,
    "headers_too_large": HeadersTooLargeError,
    "internal": InternalError,
    "unavailable": UnavailableError,
}
