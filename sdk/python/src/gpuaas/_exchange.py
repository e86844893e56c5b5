"""What both clients have in common around one attempt: the request that is sent,
and what its answer, or the lack of one, means."""

from __future__ import annotations

import dataclasses
import json
import platform
from collections.abc import Mapping
from typing import Any

import httpx

from gpuaas._call import Call
from gpuaas._errors import (
    ConfigurationError,
    GpuaasError,
    MalformedAnswerError,
    ProblemError,
    UnreachableError,
)
from gpuaas._generated import VERSION
from gpuaas._generated.problems import BY_CODE
from gpuaas._model import MisfitError, read, write
from gpuaas._retry import Failure
from gpuaas._secret import Secret

USER_AGENT = f"gpuaas-python/{VERSION} python/{platform.python_version()}"
CONNECT_TIMEOUT_S = 5.0
# No answer of the API comes near it; a stranger's might.
LARGEST_ANSWER_BYTES = 64 << 20
_PASSING_CODES = ("too_many_requests", "unavailable", "request_in_progress")
_PASSING_STATUSES = (502, 503, 504)


@dataclasses.dataclass(frozen=True)
class Prepared:
    """The same bytes for every attempt."""

    call: Call
    address: str
    # It holds the credential.
    request: dict[str, Any] = dataclasses.field(repr=False)


def prepare(call: Call, base: str, scope: Mapping[str, str], token: Secret | None) -> Prepared:
    """Writes a call down as the request that is sent."""
    address = call.address(base, scope)
    headers = {"accept": f"{call.accept}, application/problem+json", "user-agent": USER_AGENT}
    if token is not None:
        headers["authorization"] = _bearer(token)
    if call.key is not None:
        headers["idempotency-key"] = call.key
    content = call.content
    if call.body is not None or content is not None:
        headers["content-type"] = call.content_type
    if call.body is not None:
        try:
            content = json.dumps(write(call.body), allow_nan=False).encode()
        except (TypeError, ValueError):
            raise ConfigurationError(f"a value that is sent with {call.operation} has no JSON form") from None
    request = {"method": call.method, "url": address, "params": call.parameters(), "headers": headers}
    return Prepared(call, address, {**request, "content": content})


def lost(prepared: Prepared, error: httpx.TransportError) -> Failure:
    """No answer, or half of one."""
    never_sent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    text = f"no answer from {prepared.address}; check the address and that the server runs"
    unreachable = UnreachableError(text)
    unreachable.__cause__ = error
    return Failure(unreachable, no_effect=never_sent, unknown=not never_sent)


def too_large(prepared: Prepared, status: int) -> GpuaasError:
    """An answer that nobody should hold in memory."""
    return _malformed(prepared, status, "it is larger than any answer of the API")


def refused(prepared: Prepared, response: httpx.Response, content: bytes) -> Failure:
    """A problem of the API, or what a proxy in between says."""
    retry_after = _retry_after_s(response.headers)
    try:
        problem = json.loads(content)
    except ValueError:
        problem = None
    if isinstance(problem, dict) and isinstance(problem.get("code"), str):
        kind = BY_CODE.get(problem["code"], ProblemError)
        passes = problem["code"] in _PASSING_CODES
        return Failure(kind(problem, retry_after), no_effect=passes, retry_after_s=retry_after)
    what = "it is not a problem of this API; check that the address is the server's"
    error = _malformed(prepared, response.status_code, what)
    status = response.status_code
    return Failure(error, status == 429, status in _PASSING_STATUSES, retry_after)


def understood(prepared: Prepared, kind: Any, status: int, content: bytes) -> Any:
    """The answer as the type that the endpoint promises."""
    if kind is None:
        return None
    if kind is bytes:
        return content
    try:
        return content.decode() if kind is str else read(kind, json.loads(content))
    except MisfitError as misfit:
        what = (
            f"{misfit}, as it should be for {prepared.call.operation}; the server may be of another version"
        )
    except ValueError:
        what = "it is not JSON"
    raise _malformed(prepared, status, what)


def _malformed(prepared: Prepared, status: int, what: str) -> MalformedAnswerError:
    # Never quotes the answer, which may hold secrets.
    return MalformedAnswerError(f"cannot read the answer of {prepared.address} (status {status}): {what}")


def _bearer(token: Secret) -> str:
    text = token.reveal()
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigurationError(
            "the credential has characters that no token or key has; copy it again, without line breaks"
        )
    return f"Bearer {text}"


def _retry_after_s(headers: httpx.Headers) -> float | None:
    text = headers.get("retry-after", "").strip()
    return float(text) if text.isascii() and text.isdigit() else None
