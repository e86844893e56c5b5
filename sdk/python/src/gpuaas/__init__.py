"""Take, use and give back GPUs of a gpuaas cloud.

import gpuaas

with gpuaas.Client() as client:
    with client.allocations.create(sku="h200-slice", gpus=2) as allocation:
        print(allocation.login, allocation.parts)
"""

from gpuaas import errors, models
from gpuaas._allocation import Allocation, AsyncAllocation
from gpuaas._generated import VERSION
from gpuaas._model import Model
from gpuaas._pages import AsyncPages, Pages
from gpuaas._retry import Options
from gpuaas._secret import Secret
from gpuaas.async_client import AsyncClient
from gpuaas.client import Client
from gpuaas.errors import GpuaasError, ProblemError

__version__ = VERSION

__all__ = [
    "Allocation",
    "AsyncAllocation",
    "AsyncClient",
    "AsyncPages",
    "Client",
    "GpuaasError",
    "Model",
    "Options",
    "Pages",
    "ProblemError",
    "Secret",
    "__version__",
    "errors",
    "models",
]
