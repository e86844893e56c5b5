"""What can go wrong, by what the caller can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuaas._generated.models import Allocation


class GpuaasError(Exception):
    """The base of every error of this package."""


class ConfigurationError(GpuaasError):
    """The request was never sent, because of what was said or is missing."""


class UnreachableError(GpuaasError):
    """No answer came. Whether there was an effect is unknown, unless the same
    idempotency key is used again."""


class MalformedAnswerError(GpuaasError):
    """The answer is not one of this API's; another version, or not this server."""


class ProblemError(GpuaasError):
    """The server refused. `advice` says what to do next, and `correlation_id` is
    what to name when asking for help. Each code has a class of its own."""

    def __init__(self, problem: dict[str, Any], retry_after_s: float | None = None) -> None:
        def text(name: str) -> str:
            value = problem.get(name)
            return value if isinstance(value, str) else ""

        # Everything that was sent, also what this version does not know.
        self.problem: dict[str, Any] = dict(problem)
        status = problem.get("status")
        self.code: str = text("code")
        self.title: str = text("title")
        self.detail: str = text("detail")
        self.advice: str = text("advice")
        self.correlation_id: str = text("correlation_id")
        self.status: int = status if isinstance(status, int) else 0
        self.field: str | None = text("field") or None
        self.retry_after_s = retry_after_s
        super().__init__(f"{self.detail or self.title} ({self.code})")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problem, self.retry_after_s)

    def __str__(self) -> str:
        said = [self.args[0], self.advice, self.correlation_id and f"correlation id {self.correlation_id}"]
        return "\n".join(it for it in said if it)


class AllocationFailedError(GpuaasError):
    """An allocation will not get to the state that was waited for."""

    def __init__(self, allocation: Allocation, wanted: str) -> None:
        self.allocation = allocation
        why = f": {allocation.reason}" if allocation.reason else ""
        super().__init__(f"{allocation.id} is {allocation.state} and will not be {wanted}{why}")


class WaitTimeoutError(GpuaasError, TimeoutError):
    """An allocation did not get to the wanted state in time; it goes on by itself."""

    def __init__(self, allocation: Allocation, wanted: str, waited_s: float) -> None:
        self.allocation = allocation
        why = f" ({allocation.reason})" if allocation.reason else ""
        super().__init__(
            f"{allocation.id} is still {allocation.state} after {waited_s:g} s{why}; "
            f"wait longer for it to be {wanted}, or release it"
        )
