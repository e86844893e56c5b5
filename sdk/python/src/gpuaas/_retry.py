"""When to ask again, and after how long. Pure: the caller waits."""

from __future__ import annotations

import dataclasses

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0


@dataclasses.dataclass(frozen=True)
class Options:
    """How patient a client is."""

    # How long one attempt may take.
    timeout_s: float = 30.0
    # How often a request is sent at most.
    attempts: int = 4
    # The longest `Retry-After` that is waited for; a longer one is the answer.
    longest_wait_s: float = 15.0


@dataclasses.dataclass(frozen=True)
class Failure:
    """An attempt that failed, and what is known about its effect."""

    error: Exception
    # The request had no effect, and the cause may pass.
    no_effect: bool = False
    # It was sent, and nobody knows what became of it.
    unknown: bool = False
    retry_after_s: float | None = None


def pause(
    options: Options, attempts_made: int, failure: Failure, repeatable: bool, jitter: float
) -> float | None:
    """How long to wait before the next attempt; `None` gives up. `jitter` is in 0 to 1."""
    if attempts_made >= options.attempts:
        return None
    if not (failure.no_effect or (failure.unknown and repeatable)):
        return None
    if failure.retry_after_s is not None:
        # Asking sooner than told would only be refused again.
        return failure.retry_after_s if failure.retry_after_s <= options.longest_wait_s else None
    return min(backoff_s(attempts_made, jitter), options.longest_wait_s)


def backoff_s(attempts_made: int, jitter: float) -> float:
    """Doubles with each attempt; the jitter keeps many clients from coming back at once."""
    full: float = min(FIRST_PAUSE_S * 2.0 ** min(attempts_made - 1, 10), LONGEST_PAUSE_S)
    return full * (0.5 + 0.5 * jitter)
