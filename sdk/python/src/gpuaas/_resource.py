"""The base of what is generated: a resource calls through its client."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuaas.async_client import AsyncClient
    from gpuaas.client import Client


class Resource:
    """The endpoints of one resource."""

    def __init__(self, client: Client) -> None:
        self._client = client


class AsyncResource:
    """The endpoints of one resource, awaited."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
