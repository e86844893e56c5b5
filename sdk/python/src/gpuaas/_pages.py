"""Lists as iterators: pages are fetched as they are needed, one at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gpuaas._call import Call
from gpuaas._errors import MalformedAnswerError
from gpuaas._model import MisfitError, Model, read

if TYPE_CHECKING:
    from gpuaas.async_client import AsyncClient
    from gpuaas.client import Client

T = TypeVar("T")


@dataclasses.dataclass(kw_only=True)
class RawPage(Model):
    """A page whose items were not looked at yet."""

    items: list[Any]
    next_cursor: str | None = None


class Pages(Generic[T]):
    """A list of the API. Iterate over it for the items, over `pages()` for the
    pages; each iteration begins anew."""

    def __init__(self, client: Client, call: Call, kind: type[T]) -> None:
        self._client, self._call, self._kind = client, call, kind

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page

    def pages(self) -> Iterator[list[T]]:
        """The items, page by page."""
        call: Call | None = self._call
        while call is not None:
            page = self._client.send(call, RawPage)
            yield [_item(self._client, self._kind, it) for it in page.items]
            call = _following(call, page)

    def first(self) -> T | None:
        """The first item, which is the newest in most lists."""
        return next(iter(self), None)


class AsyncPages(Generic[T]):
    """A list of the API. Iterate over it with `async for`; each iteration begins anew."""

    def __init__(self, client: AsyncClient, call: Call, kind: type[T]) -> None:
        self._client, self._call, self._kind = client, call, kind

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page:
                yield item

    async def pages(self) -> AsyncIterator[list[T]]:
        """The items, page by page."""
        call: Call | None = self._call
        while call is not None:
            page = await self._client.send(call, RawPage)
            yield [_item(self._client, self._kind, it) for it in page.items]
            call = _following(call, page)

    async def first(self) -> T | None:
        """The first item, which is the newest in most lists."""
        async for page in self.pages():
            if page:
                return page[0]
        return None


def _item(client: Any, kind: type[T], value: Any) -> T:
    try:
        item: T = read(kind, value)
    except MisfitError as misfit:
        raise MalformedAnswerError(f"an item of the list cannot be read: {misfit}") from None
    bound = getattr(item, "bound", None)
    return item if bound is None else bound(client)


def _following(call: Call, page: RawPage) -> Call | None:
    if page.next_cursor is None:
        return None
    # A server that goes in circles must not keep us forever.
    if page.next_cursor == call.query.get("cursor"):
        raise MalformedAnswerError(f"a page of {call.operation} names itself as the next one")
    return call.at(page.next_cursor)
