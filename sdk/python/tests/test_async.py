"""The same face for programs that await."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from conftest import Server
from proxy import Proxy


def test_an_allocation_is_awaited_waited_for_and_released(server: Server) -> None:
    async def program() -> None:
        async with server.async_client() as client:
            allocation = await client.allocations.create(sku="h200-slice", gpus=1)
            assert (await allocation.wait()).state == "active"
            assert (await (await allocation.stop()).wait("stopped")).state == "stopped"
            await allocation.start()
            await allocation.release()
            assert (await allocation.wait("released")).state == "released"
            waited = await client.allocations.create(sku="h200-slice", gpus=1).wait()
            assert waited.state == "active"
            await waited.release()

    asyncio.run(program())


def test_a_context_manager_releases_on_an_exception(server: Server) -> None:
    async def program() -> None:
        async with server.async_client() as client:
            with pytest.raises(ZeroDivisionError):
                async with client.allocations.create(sku="h200-slice", gpus=1) as allocation:
                    assert allocation.state == "active"
                    raise ZeroDivisionError
            assert (await allocation.wait("released")).state == "released"

    asyncio.run(program())


def test_a_canceled_wait_gives_back_what_it_asked_for(server: Server) -> None:
    async def program() -> None:
        async with server.async_client() as client:

            async def use() -> None:
                async with client.allocations.create(sku="h200-node", gpus=8, nodes=5, name="canceled"):
                    raise AssertionError("it cannot become active")

            with pytest.raises(TimeoutError):
                await asyncio.wait_for(use(), 0.7)
            left = [it.state async for it in client.allocations.list(name="canceled")]
            assert all(state == "releasing" for state in left), left

    asyncio.run(program())


def test_a_creation_that_is_cancelled_on_its_way_is_given_back(server: Server, proxy: Proxy) -> None:
    async def program() -> None:
        async with server.async_client(url=proxy.url) as client:

            async def use() -> None:
                async with client.allocations.create(sku="h200-slice", gpus=1, name="on-its-way"):
                    raise AssertionError("it was canceled before")

            using = asyncio.create_task(use())
            while not proxy.seen:
                await asyncio.sleep(0.001)
            using.cancel()
            with pytest.raises(asyncio.CancelledError):
                await using
            left = [it.state async for it in client.allocations.list(name="on-its-way")]
            assert all(state == "releasing" for state in left), left
            assert any(path.endswith("/release") for _, path, _ in proxy.seen)

    asyncio.run(program())


def test_many_at_once_and_lists_as_iterators(server: Server) -> None:
    async def program() -> None:
        async with server.async_client(project="first-project") as client:
            made = await asyncio.gather(
                *(
                    client.allocations.create(sku="h200-slice", gpus=1, name=f"at-once-{n}").wait()
                    for n in range(4)
                )
            )
            names = {it.name async for it in client.allocations.list(page_size=2)}
            assert {it.name for it in made} <= names
            first = await client.allocations.list().first()
            assert first is not None
            await asyncio.gather(*(it.release() for it in made))

    asyncio.run(program())


def test_events_are_followed_from_now_on(server: Server) -> None:
    async def program() -> None:
        async with server.async_client() as client:

            async def first() -> str:
                async with contextlib.aclosing(client.events.follow(subject="project.")) as events:
                    return (await anext(events)).subject

            waiting = asyncio.create_task(first())
            for number in range(100):
                # When the following began is not seen from here, so something goes on happening.
                await client.projects.create(name=f"followed-{number}-async")
                if (await asyncio.wait({waiting}, timeout=0.1))[0]:
                    break
            assert waiting.result() == "project.created"

    asyncio.run(program())
