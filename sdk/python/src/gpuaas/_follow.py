"""Events as they happen: the list is read again and again, and nothing is told twice."""

from __future__ import annotations

import asyncio
import collections
import time
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta

from gpuaas._generated import models as m
from gpuaas._pages import AsyncPages, Pages
from gpuaas._resource import AsyncResource, Resource

# Events are not listed in the order they were committed in; this covers the difference.
_OVERLAP = timedelta(seconds=60)
_MOST_READ_BACK = 1000
_MOST_REMEMBERED = 10_000


class EventFollowing(Resource):
    """Following events, for programs that wait."""

    def follow(
        self, *, subject: str | None = None, organization: str | None = None, every_s: float = 1.0
    ) -> Iterator[m.RecordedEvent]:
        """Events that are committed from now on, without an end. `subject` is how
        their subjects start, as in `allocation.`."""
        recent = _Recent()
        newest: Pages[m.RecordedEvent] = self.list(subject=subject, organization=organization)  # type: ignore[attr-defined]
        _read_back(recent, newest)
        return _following(recent, newest, every_s)


def _following(recent: _Recent, newest: Pages[m.RecordedEvent], every_s: float) -> Iterator[m.RecordedEvent]:
    while True:
        yield from _read_back(recent, newest)
        time.sleep(every_s)


def _read_back(recent: _Recent, newest: Pages[m.RecordedEvent]) -> list[m.RecordedEvent]:
    recent.begin()
    for event in newest:
        if not recent.wants(event):
            break
    return recent.end()


class AsyncEventFollowing(AsyncResource):
    """Following events, for programs that await."""

    async def follow(
        self, *, subject: str | None = None, organization: str | None = None, every_s: float = 1.0
    ) -> AsyncIterator[m.RecordedEvent]:
        """Events that are committed from now on, without an end. `subject` is how
        their subjects start, as in `allocation.`."""
        recent = _Recent()
        newest: AsyncPages[m.RecordedEvent] = self.list(subject=subject, organization=organization)  # type: ignore[attr-defined]
        is_first = True
        while True:
            recent.begin()
            async for event in newest:
                if not recent.wants(event):
                    break
            found = recent.end()
            for event in [] if is_first else found:
                yield event
            is_first = False
            await asyncio.sleep(every_s)


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
