"""What is repeated, what is not, and that a repetition has one effect."""

from __future__ import annotations

import asyncio
import time

import pytest

import gpuaas
from conftest import Server
from gpuaas import errors
from gpuaas._retry import Failure, Options, pause
from proxy import LOSE_ANSWER, RESET, TRICKLE, Proxy, answer, problem

UNAVAILABLE = problem("unavailable", 503, retry_after="0")
BARE_503 = answer(503, b"upstream is away", "text/plain")


@pytest.mark.parametrize("act", [UNAVAILABLE, BARE_503, RESET, LOSE_ANSWER])
def test_a_transient_failure_is_tried_again(server: Server, proxy: Proxy, act: object) -> None:
    proxy.acts.extend([act, act])
    with server.client(url=proxy.url) as client:
        assert client.projects.get(server.project).id == server.project
    assert len(proxy.seen) == 3


@pytest.mark.parametrize("act", [UNAVAILABLE, RESET, LOSE_ANSWER])
def test_a_repeated_creation_makes_one(server: Server, proxy: Proxy, act: object) -> None:
    name = f"once-{time.monotonic_ns()}"
    proxy.acts.extend([act, act])
    with server.client(url=proxy.url) as client:
        allocation = client.allocations.create(sku="h200-slice", gpus=1, name=name)
        keys = {headers["idempotency-key"] for _, _, headers in proxy.seen}
        assert (len(proxy.seen), len(keys)) == (3, 1)
        assert [it.id for it in client.allocations.list(name=name)] == [allocation.id]
        allocation.release()


def test_a_program_that_runs_again_with_its_key_makes_one(server: Server, client: gpuaas.Client) -> None:
    first = client.projects.create(name="run-42", idempotency_key="run-42")
    with server.client() as another:
        assert another.projects.create(name="run-42", idempotency_key="run-42").id == first.id


def test_async_programs_repeat_the_same_way(server: Server, proxy: Proxy) -> None:
    async def program() -> None:
        proxy.acts.extend([UNAVAILABLE, LOSE_ANSWER, RESET])
        async with server.async_client(url=proxy.url) as client:
            made = await client.projects.create(name="async-once")
            assert [it.id async for it in client.projects.list(name="async-once")] == [made.id]

    asyncio.run(program())


def test_attempts_are_bounded(server: Server, proxy: Proxy) -> None:
    proxy.acts.extend([UNAVAILABLE] * 10)
    with server.client(url=proxy.url) as client, pytest.raises(errors.UnavailableError):
        client.users.who_am_i()
    assert len(proxy.seen) == Options().attempts


def test_a_call_is_not_sent_twice_when_its_effect_is_unknown(server: Server, proxy: Proxy) -> None:
    proxy.acts.append(LOSE_ANSWER)
    with server.client(url=proxy.url) as client, pytest.raises(errors.UnreachableError) as caught:
        client.sessions.create(email="nobody@demo.localhost", password="hush-hush-hush")
    assert len(proxy.seen) == 1
    assert "hush-hush" not in f"{caught.value!r}{caught.value}{caught.value.__cause__!r}"


def test_a_refusal_is_not_repeated(server: Server, proxy: Proxy) -> None:
    proxy.acts.append(problem("internal", 500))
    with server.client(url=proxy.url) as client, pytest.raises(errors.InternalError):
        client.users.who_am_i()
    assert len(proxy.seen) == 1


def test_retry_after_is_waited_for(server: Server, proxy: Proxy) -> None:
    proxy.acts.append(problem("too_many_requests", 429, retry_after="1"))
    began = time.monotonic()
    with server.client(url=proxy.url) as client:
        client.users.who_am_i()
    assert time.monotonic() - began >= 1


def test_a_trickle_is_not_waited_for(server: Server, proxy: Proxy) -> None:
    proxy.acts.extend([TRICKLE] * 4)
    options = gpuaas.Options(timeout_s=0.5, attempts=2)
    token = server.env["GPUAAS_TOKEN"]
    with gpuaas.Client(proxy.url, token, options=options) as client, pytest.raises(errors.UnreachableError):
        client.users.who_am_i()

    async def program() -> None:
        async with gpuaas.AsyncClient(proxy.url, token, options=options) as client:
            with pytest.raises(errors.UnreachableError):
                await client.users.who_am_i()

    asyncio.run(program())
    assert len(proxy.seen) == 4


def test_a_longer_wait_than_allowed_is_the_answer(server: Server, proxy: Proxy) -> None:
    proxy.acts.append(problem("too_many_requests", 429, retry_after="3600"))
    with server.client(url=proxy.url) as client, pytest.raises(errors.TooManyRequestsError) as caught:
        client.users.who_am_i()
    assert caught.value.retry_after_s == 3600
    assert len(proxy.seen) == 1


def test_pauses_grow_to_a_bound_and_are_jittered() -> None:
    failure = Failure(Exception(), no_effect=True)
    options = Options(attempts=100)
    pauses = [pause(options, made, failure, True, 1.0) for made in range(1, 50)]
    assert pauses[:3] == [0.1, 0.2, 0.4]
    assert max(it for it in pauses if it is not None) == 5.0
    assert pause(options, 3, failure, True, 0.0) == 0.2
