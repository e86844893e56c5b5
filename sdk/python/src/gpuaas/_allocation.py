"""Allocations that can do things: wait, stop, start, and give themselves back."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gpuaas._allocation_wait import DEFAULT_WAIT_S, RELEASE_PAUSES_S, Wait, is_given_back
from gpuaas._call import Call
from gpuaas._errors import GpuaasError
from gpuaas._generated import models as m
from gpuaas._generated.problems import ConflictError, NotFoundError

if TYPE_CHECKING:
    from gpuaas.async_client import AsyncClient
    from gpuaas.client import Client


class Allocation(m.Allocation):
    """GPUs that were asked for. As a context manager it waits until it is active,
    and releases itself at the end, whatever happens inside."""

    def bound(self, client: Client) -> Self:
        """The same allocation, acting through a client."""
        self._client = client
        return self

    def refresh(self) -> Self:
        """Reads it again, in place."""
        return self._became(self._client.allocations.get(self.id, project=self.project_id))

    def wait(self, until: m.AllocationStateChoice = "active", *, timeout_s: float = DEFAULT_WAIT_S) -> Self:
        """Waits for a state. Raises `AllocationFailedError` when it cannot come any
        more, and `WaitTimeoutError` after `timeout_s`; then it goes on by itself."""
        wait = Wait(until, timeout_s, time.monotonic())
        while (pause_s := wait.pause_s(self, time.monotonic())) is not None:
            time.sleep(pause_s)
            self.refresh()
        return self

    def stop(self) -> Self:
        """Stops it; files and GPUs stay held."""
        return self._became(self._client.allocations.stop(self.id, project=self.project_id))

    def start(self) -> Self:
        """Starts it again."""
        return self._became(self._client.allocations.start(self.id, project=self.project_id))

    def release(self) -> Self:
        """Gives it back. Released twice is released once."""
        for pause_s in (*RELEASE_PAUSES_S, None):
            try:
                return self._became(self._client.allocations.release(self.id, project=self.project_id))
            except ConflictError:
                # Its host may have reported at the same moment; what was read then is old.
                if is_given_back(self.refresh()):
                    break
                if pause_s is None:
                    raise
                time.sleep(pause_s)
        return self

    def explain(self) -> m.Explanation:
        """Why it waits, and what would help."""
        return self._client.allocations.explain(self.id, project=self.project_id)

    def cost(self) -> m.AllocationCost:
        """What it has cost so far, to the millionth."""
        return self._client.usage.get_allocation_cost(self.id, project=self.project_id)

    def __enter__(self) -> Self:
        try:
            return self.wait()
        except BaseException as error:
            self._give_back(error)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back(error)

    def _give_back(self, error: BaseException | None) -> None:
        try:
            self.release()
        except NotFoundError:
            return
        except GpuaasError as failure:
            if error is None:
                raise
            # What went wrong first must stay visible.
            error.add_note(f"and {self.id} could not be released: {failure}")

    def _became(self, newer: m.Allocation) -> Self:
        vars(self).update({name: it for name, it in vars(newer).items() if name != "_client"})
        return self


class AsyncAllocation(m.Allocation):
    """GPUs that were asked for. With `async with` it waits until it is active, and
    releases itself at the end, whatever happens inside."""

    def bound(self, client: AsyncClient) -> Self:
        """The same allocation, acting through a client."""
        self._client = client
        return self

    async def refresh(self) -> Self:
        """Reads it again, in place."""
        return self._became(await self._client.allocations.get(self.id, project=self.project_id))

    async def wait(
        self, until: m.AllocationStateChoice = "active", *, timeout_s: float = DEFAULT_WAIT_S
    ) -> Self:
        """Waits for a state. Raises `AllocationFailedError` when it cannot come any
        more, and `WaitTimeoutError` after `timeout_s`; then it goes on by itself."""
        wait = Wait(until, timeout_s, time.monotonic())
        while (pause_s := wait.pause_s(self, time.monotonic())) is not None:
            await asyncio.sleep(pause_s)
            await self.refresh()
        return self

    async def stop(self) -> Self:
        """Stops it; files and GPUs stay held."""
        return self._became(await self._client.allocations.stop(self.id, project=self.project_id))

    async def start(self) -> Self:
        """Starts it again."""
        return self._became(await self._client.allocations.start(self.id, project=self.project_id))

    async def release(self) -> Self:
        """Gives it back. Released twice is released once."""
        for pause_s in (*RELEASE_PAUSES_S, None):
            try:
                return self._became(await self._client.allocations.release(self.id, project=self.project_id))
            except ConflictError:
                # Its host may have reported at the same moment; what was read then is old.
                if is_given_back(await self.refresh()):
                    break
                if pause_s is None:
                    raise
                await asyncio.sleep(pause_s)
        return self

    async def explain(self) -> m.Explanation:
        """Why it waits, and what would help."""
        return await self._client.allocations.explain(self.id, project=self.project_id)

    async def cost(self) -> m.AllocationCost:
        """What it has cost so far, to the millionth."""
        return await self._client.usage.get_allocation_cost(self.id, project=self.project_id)

    async def __aenter__(self) -> Self:
        try:
            return await self.wait()
        except BaseException as error:
            await asyncio.shield(self._give_back(error))
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A second cancellation must not leave GPUs behind.
        await asyncio.shield(self._give_back(error))

    async def _give_back(self, error: BaseException | None) -> None:
        try:
            await self.release()
        except NotFoundError:
            return
        except GpuaasError as failure:
            if error is None:
                raise
            # What went wrong first must stay visible.
            error.add_note(f"and {self.id} could not be released: {failure}")

    def _became(self, newer: m.Allocation) -> Self:
        vars(self).update({name: it for name, it in vars(newer).items() if name != "_client"})
        return self


class PendingAllocation:
    """A request for an allocation: await it, wait for its state, or use it with
    `async with`."""

    def __init__(self, client: AsyncClient, call: Call) -> None:
        self._client, self._call = client, call
        self._entered: AsyncAllocation | None = None

    def __await__(self) -> Generator[Any, None, AsyncAllocation]:
        return self._sent().__await__()

    async def wait(
        self, until: m.AllocationStateChoice = "active", *, timeout_s: float = DEFAULT_WAIT_S
    ) -> AsyncAllocation:
        """Asks, and waits for a state as `AsyncAllocation.wait` does."""
        return await (await self._sent()).wait(until, timeout_s=timeout_s)

    async def __aenter__(self) -> AsyncAllocation:
        sent = asyncio.ensure_future(self._sent())
        try:
            self._entered = await asyncio.shield(sent)
        except asyncio.CancelledError as error:
            # It may have had its effect already, so it is seen to its end.
            with contextlib.suppress(GpuaasError):
                await (await sent)._give_back(error)
            raise
        return await self._entered.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._entered is not None:
            await self._entered.__aexit__(kind, error, trace)

    async def _sent(self) -> AsyncAllocation:
        return (await self._client.send(self._call, AsyncAllocation)).bound(self._client)
