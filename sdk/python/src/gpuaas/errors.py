"""Every exception of this package: one for each code of a problem, and those
that come from this side."""

from __future__ import annotations

from gpuaas._errors import (
    AllocationFailedError,
    ConfigurationError,
    GpuaasError,
    MalformedAnswerError,
    ProblemError,
    UnreachableError,
    WaitTimeoutError,
)
from gpuaas._generated.problems import *  # noqa: F403
from gpuaas._generated.problems import BY_CODE

__all__ = [
    "AllocationFailedError",
    "ConfigurationError",
    "GpuaasError",
    "MalformedAnswerError",
    "ProblemError",
    "UnreachableError",
    "WaitTimeoutError",
    *(it.__name__ for it in BY_CODE.values()),
]
