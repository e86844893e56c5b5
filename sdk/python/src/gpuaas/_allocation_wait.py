"""How long to go on waiting for an allocation. Pure: the caller sleeps and asks."""

from __future__ import annotations

import dataclasses

from gpuaas._errors import AllocationFailedError, WaitTimeoutError
from gpuaas._generated.models import Allocation

DEFAULT_WAIT_S = 600.0
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
# How long to wait before a release that met another change is tried again.
RELEASE_PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8)
_GIVEN_BACK = ("releasing", "released", "failed")
# From which states the wanted one does not come by itself. Words that this version
# does not know are waited out.
_HOPELESS = {
    "active": ("stopping", "stopped", "releasing", "released", "failed", "release_failed"),
    "stopped": ("releasing", "released", "failed", "release_failed"),
    "released": ("release_failed",),
}
_OVER = ("released", "failed")


@dataclasses.dataclass
class Wait:
    """One wait: for what, how long, since when."""

    wanted: str
    timeout_s: float
    began_s: float
    next_pause_s: float = FIRST_PAUSE_S

    def pause_s(self, allocation: Allocation, now_s: float) -> float | None:
        """How long to sleep before asking again; `None` when it is as wanted."""
        state = allocation.state
        if state == self.wanted or (self.wanted == "released" and state in _OVER):
            return None
        if state in _HOPELESS.get(self.wanted, _OVER):
            raise AllocationFailedError(allocation, self.wanted)
        left_s = self.began_s + self.timeout_s - now_s
        if left_s <= 0:
            raise WaitTimeoutError(allocation, self.wanted, self.timeout_s)
        pause_s = min(self.next_pause_s, left_s)
        self.next_pause_s = min(self.next_pause_s * 1.5, LONGEST_PAUSE_S)
        return pause_s


def is_given_back(allocation: Allocation) -> bool:
    """Whether there is nothing left to release."""
    return allocation.state in _GIVEN_BACK
