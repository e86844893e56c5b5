"""Events as they happen: a live feed that survives lost connections. What was
missed meanwhile is read back from the list, and nothing is told twice."""

from __future__ import annotations

import asyncio
import collections
import time
from collections.abc import AsyncGenerator, Iterator
from datetime import datetime, timedelta
from typing import Any

from gpuaas._call import Call, InOrganization, given
from gpuaas._conversation import async_converse, converse
from gpuaas._errors import UnreachableError
from gpuaas._generated import models as m
from gpuaas._generated.problems import UnavailableError
from gpuaas._model import MisfitError, read
from gpuaas._pages import AsyncPages, Pages
from gpuaas._resource import AsyncResource, Resource
from gpuaas._retry import backoff_s

# Events are not listed in the order they were committed in; this covers the difference.
_OVERLAP = timedelta(seconds=60)
_MOST_READ_BACK = 1000
_MOST_REMEMBERED = 10_000
# How often in a row the feed may fail to begin, which takes about half a minute.
_MOST_FAILURES = 10


class EventFollowing(Resource):
    """Following events, for programs that wait."""

    def follow(
        self, *, subject: str | None = None, organization: str | None = None
    ) -> Iterator[m.RecordedEvent]:
        """Events that are committed from now on, without an end. `subject` is how
        their subjects start, as in `allocation.`."""
        newest: Pages[m.RecordedEvent] = self.list(  # type: ignore[attr-defined]
            subject=subject, organization=organization
        )
        recent = _Recent()
        _read_back(recent, newest)
        return self._following(_call(subject, organization), recent, newest)

    def _following(
        self, call: Call, recent: _Recent, newest: Pages[m.RecordedEvent]
    ) -> Iterator[m.RecordedEvent]:
        failures = 0
        while True:
            try:
                with converse(self._client, call) as messages:
                    for message in messages:
                        if message.get("type") in ("ready", "gap"):
                            failures = 0
                            yield from _read_back(recent, newest)
                        yield from recent.told(message)
            except (UnreachableError, UnavailableError):
                if failures >= _MOST_FAILURES:
                    raise
            failures += 1
            time.sleep(backoff_s(failures, 1.0))


def _read_back(recent: _Recent, newest: Pages[m.RecordedEvent]) -> list[m.RecordedEvent]:
    recent.begin()
    for event in newest:
        if not recent.wants(event):
            break
    return recent.end()


class AsyncEventFollowing(AsyncResource):
    """Following events, for programs that await."""

    async def follow(
        self, *, subject: str | None = None, organization: str | None = None
    ) -> AsyncGenerator[m.RecordedEvent, None]:
        """Events that are committed from now on, without an end. `subject` is how
        their subjects start, as in `allocation.`. Who stops before the program does
        uses `contextlib.aclosing`, so that the connection is closed."""
        newest: AsyncPages[m.RecordedEvent] = self.list(  # type: ignore[attr-defined]
            subject=subject, organization=organization
        )
        recent = _Recent()
        await _async_read_back(recent, newest)
        call = _call(subject, organization)
        failures = 0
        while True:
            try:
                async with async_converse(self._client, call) as messages:
                    async for message in messages:
                        if message.get("type") in ("ready", "gap"):
                            failures = 0
                            for event in await _async_read_back(recent, newest):
                                yield event
                        for event in recent.told(message):
                            yield event
            except (UnreachableError, UnavailableError):
                if failures >= _MOST_FAILURES:
                    raise
            failures += 1
            await asyncio.sleep(backoff_s(failures, 1.0))


async def _async_read_back(recent: _Recent, newest: AsyncPages[m.RecordedEvent]) -> list[m.RecordedEvent]:
    recent.begin()
    async for event in newest:
        if not recent.wants(event):
            break
    return recent.end()


def _call(subject: str | None, organization: str | None) -> Call:
    return Call(
        "WatchEvents",
        "GET",
        "/v1/organizations/{organization_id}/events/watch",
        path={"organization_id": InOrganization(organization)},
        query=given({"subject": subject}),
        repeatable=False,
    )


class _Recent:
    """What was told already, as far back as it may come again."""

    def __init__(self) -> None:
        self._told: collections.OrderedDict[str, None] = collections.OrderedDict()
        self._back_to: datetime | None = None
        self._found: list[m.RecordedEvent] = []
        self._read = 0

    def begin(self) -> None:
        self._found, self._read = [], 0

    def wants(self, event: m.RecordedEvent) -> bool:
        """Takes an event of the list, newest first; false when the rest is old."""
        self._read += 1
        if self._back_to is None:
            self._back_to = event.at - _OVERLAP
        if event.at < self._back_to or self._read > _MOST_READ_BACK:
            return False
        if event.id not in self._told:
            self._found.append(event)
        return True

    def end(self) -> list[m.RecordedEvent]:
        """The new ones, oldest first."""
        found = sorted(self._found, key=lambda event: (event.at, event.id))
        for event in found:
            self._told[event.id] = None
            self._back_to = max(self._back_to or event.at, event.at - _OVERLAP)
        while len(self._told) > _MOST_REMEMBERED:
            self._told.popitem(last=False)
        return found

    def told(self, message: dict[str, Any]) -> list[m.RecordedEvent]:
        """The event in a message of the feed, unless it was told already."""
        if message.get("type") != "event":
            return []
        try:
            event: m.RecordedEvent = read(m.RecordedEvent, message.get("event"))
        except MisfitError:
            # A newer server may have more to say than this client knows.
            return []
        self.begin()
        if event.id not in self._told:
            self._found.append(event)
        return self.end()
