"""One exception for each code of a problem.

Generated from the contract; a change made here is lost. @generated
"""

from __future__ import annotations

from gpuaas._errors import ProblemError


class InvalidPathError(ProblemError):
    """A part of the address is malformed (`invalid_path`, 400).

    Use ids exactly as the API printed them.
    """


class InvalidQueryError(ProblemError):
    """A query parameter is malformed or unknown (`invalid_query`, 400).

    Compare the parameters with the API document.
    """


class InvalidHeaderError(ProblemError):
    """A header is missing or malformed (`invalid_header`, 400).

    Send the header as the detail says.
    """


class InvalidBodyError(ProblemError):
    """The body does not fit the schema (`invalid_body`, 400).

    Compare the body with the API document; unknown fields are refused.
    """


class UnauthenticatedError(ProblemError):
    """Credentials are missing, wrong, expired or revoked (`unauthenticated`, 401).

    Sign in again, or send a valid key as `Authorization: Bearer …`.
    """


class ForbiddenError(ProblemError):
    """The caller lacks the permission (`forbidden`, 403).

    Ask an owner or administrator for a role that grants it; the role table lists them.
    """


class SignInNeededError(ProblemError):
    """A key cannot do this (`sign_in_needed`, 403).

    Sign in as yourself and use the session's token: `gpuaas login`.
    """


class MfaRequiredError(ProblemError):
    """The account needs its second factor too (`mfa_required`, 403).

    Answer `challenge` with a code, a passkey or a recovery code: `POST /v1/sessions/mfa`.
    """


class MfaEnrollmentRequiredError(ProblemError):
    """Policy requires a second factor, and the account has none (`mfa_enrollment_required`, 403).

    Add one, then go on: `gpuaas me mfa enroll`, or your account's page of the console.
    """


class StepUpRequiredError(ProblemError):
    """This needs the second factor again (`step_up_required`, 403).

    Confirm it and repeat the request: `gpuaas me mfa verify`, or the dialog of the console.
    """


class SignInAgainError(ProblemError):
    """This needs a recent sign-in (`sign_in_again`, 403).

    Sign in again and repeat the request: `gpuaas login`, or sign out of the console and in again.
    """


class ScopeExceededError(ProblemError):
    """The request grants more than the caller has (`scope_exceeded`, 403).

    Ask for no more than you hold yourself.
    """


class OrganizationSuspendedError(ProblemError):
    """The organization is suspended (`organization_suspended`, 403).

    Reading, stopping and releasing still work; ask the platform's operators why and what would lift it.
    """


class AccessRefusedError(ProblemError):
    """Policy does not let this way in (`access_refused`, 403).

    Use a way that policy allows: the detail names the policy, and `policies explain` shows who set it.
    """


class SelfServiceOffError(ProblemError):
    """This platform does not offer it without an invitation (`self_service_off`, 403).

    Ask an operator or an administrator of your organization for an invitation.
    """


class NotFoundError(ProblemError):
    """There is no such thing, or not for you (`not_found`, 404).

    Check the id, and that you act in the right organization.
    """


class MethodNotAllowedError(ProblemError):
    """The address does not take this method (`method_not_allowed`, 405).

    Compare the method with the API document.
    """


class RequestTimeoutError(ProblemError):
    """The body did not arrive in time (`request_timeout`, 408).

    Send the request again, over a connection that carries it in time.
    """


class ConflictError(ProblemError):
    """The thing changed, or is not in a state that allows this (`conflict`, 409).

    Read it again and decide anew.
    """


class NameTakenError(ProblemError):
    """The name is already used (`name_taken`, 409).

    Choose another name.
    """


class LastOwnerError(ProblemError):
    """An organization keeps at least one owner (`last_owner`, 409).

    Make somebody else an owner first.
    """


class PaymentsOffError(ProblemError):
    """This installation takes no payments (`payments_off`, 409).

    Ask its operators for credit, or to set up a payment provider as `docs/guides/payments.md` says.
    """


class MailOffError(ProblemError):
    """This installation sends no mail (`mail_off`, 409).

    Ask its operators, who can do it with `gpuaasd admin`, or to set up mail as `docs/guides/notifications.md` says.
    """


class NotPricedError(ProblemError):
    """It has no price in the currency that is charged (`not_priced`, 409).

    Ask for another SKU, or ask an operator to set a price in that currency: `gpuaas prices set`; 0 makes it free.
    """


class ApprovalRequiredError(ProblemError):
    """Another person has to approve it (`approval_required`, 409).

    It is proposed and nothing else happened: ask another member of staff to run the command in the detail.
    """


class RequestInProgressError(ProblemError):
    """The same request is still running (`request_in_progress`, 409).

    Repeat it with the same key after the time in `Retry-After`.
    """


class PayloadTooLargeError(ProblemError):
    """The body is larger than this endpoint takes (`payload_too_large`, 413).

    Send less; the detail names the limit.
    """


class UnsupportedMediaTypeError(ProblemError):
    """The body is not JSON (`unsupported_media_type`, 415).

    Send `Content-Type: application/json`.
    """


class IdempotencyKeyReusedError(ProblemError):
    """The idempotency key was used for another request (`idempotency_key_reused`, 422).

    Use a new key for a new request.
    """


class InvalidValueError(ProblemError):
    """A value is well-formed but not acceptable (`invalid_value`, 422).

    Change the value as the detail says.
    """


class InsufficientFundsError(ProblemError):
    """There is not enough money for it (`insufficient_funds`, 402).

    Top up, ask for less or for a shorter lease; `ledger balance` shows what is available and what is held.
    """


class LimitReachedError(ProblemError):
    """A limit set by policy is reached (`limit_reached`, 422).

    Remove what is not needed, or ask for a higher limit; `policies explain` shows where it is set.
    """


class TooManyRequestsError(ProblemError):
    """Too many requests (`too_many_requests`, 429).

    Wait for the time in `Retry-After`, then go on more slowly.
    """


class HeadersTooLargeError(ProblemError):
    """The headers or the address are too large (`headers_too_large`, 431).

    Send fewer or shorter headers.
    """


class InternalError(ProblemError):
    """The server failed (`internal`, 500).

    Repeat the request with the same idempotency key; if it persists, report the correlation id.
    """


class UnavailableError(ProblemError):
    """A part that the server needs is away (`unavailable`, 503).

    Repeat after the time in `Retry-After`; `/readyz` names the missing part.
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
