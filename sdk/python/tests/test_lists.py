"""Pages as iterators, and answers of newer servers."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

import gpuaas
from conftest import Server
from gpuaas import _conversation, _follow
from gpuaas.errors import MalformedAnswerError
from proxy import Proxy, answer


def test_a_list_is_followed_through_its_pages(server: Server, proxy: Proxy) -> None:
    with server.client(url=proxy.url) as client:
        made = {client.projects.create(name=f"paged-{number}").id for number in range(5)}
        proxy.seen.clear()
        listed = [it.id for it in client.projects.list(page_size=2)]
        assert made <= set(listed)
        assert len(listed) == len(set(listed))
        assert len(proxy.seen) == -(-len(listed) // 2)
        assert all(len(page) <= 2 for page in client.projects.list(page_size=2).pages())


def test_pages_are_fetched_only_when_needed(server: Server, proxy: Proxy) -> None:
    with server.client(url=proxy.url) as client:
        pages = client.projects.list(page_size=1)
        assert proxy.seen == []
        assert pages.first() is not None
        assert len(proxy.seen) == 1
        assert len(list(itertools.islice(pages, 2))) == 2


def test_a_list_that_goes_in_circles_is_left(server: Server, proxy: Proxy) -> None:
    page = answer(200, b'{"items": [], "next_cursor": "c-1"}', "application/json")
    proxy.acts.extend([page] * 10)
    with server.client(url=proxy.url) as client, pytest.raises(MalformedAnswerError, match="names itself"):
        list(client.projects.list())


def test_unknown_fields_and_words_are_preserved(server: Server, proxy: Proxy) -> None:
    def of_tomorrow(content: bytes) -> bytes:
        return json.dumps(json.loads(content) | {"state": "hibernating", "color": {"r": 1}}).encode()

    proxy.acts.append(of_tomorrow)
    with server.client(url=proxy.url) as client:
        project = client.projects.get(server.project)
    assert project.state == "hibernating"
    assert project.unknown_fields == {"color": {"r": 1}}
    assert project.to_dict()["color"] == {"r": 1}


def test_an_answer_that_does_not_fit_names_the_place_and_not_the_value(server: Server, proxy: Proxy) -> None:
    proxy.acts.append(answer(200, b'{"id": 7, "name": "hush"}', "application/json"))
    with server.client(url=proxy.url) as client, pytest.raises(MalformedAnswerError) as caught:
        client.projects.get(server.project)
    assert "hush" not in str(caught.value)
    assert "GetProject" in str(caught.value)


def test_events_are_followed_from_now_on(client: gpuaas.Client) -> None:
    client.projects.create(name="before")
    events = client.events.follow(subject="project.")
    project = client.projects.create(name="followed")
    event = next(events)
    assert (event.subject, event.resource) == ("project.created", project.id)


def test_a_feed_that_breaks_off_loses_nothing_and_repeats_nothing(
    server: Server, client: gpuaas.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, opened = _conversation.converse, []

    @contextlib.contextmanager
    def breaking(*args: Any) -> Iterator[Iterator[dict[str, Any]]]:
        opened.append(args)
        if len(opened) == 2:
            raise gpuaas.errors.UnreachableError("it is away")
        with real(*args) as messages:
            yield itertools.islice(messages, 2) if len(opened) == 1 else messages

    monkeypatch.setattr(_follow, "converse", breaking)
    events = client.events.follow(subject="project.")
    made, told = [], []
    for number in range(4):
        made.append(client.projects.create(name=f"breaking-{number}").id)
        told.append(next(events).resource)
    assert told == made
    assert len(opened) == 3
    events.close()  # type: ignore[attr-defined]


def test_a_feed_of_somebody_else_is_refused(server: Server) -> None:
    with server.client(token="gk-wrong") as stranger, pytest.raises(gpuaas.errors.UnauthenticatedError):
        next(stranger.events.follow())
