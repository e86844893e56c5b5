"""A channel of the API over httpx: opened like any request, then spoken over the
connection that the request upgraded."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from gpuaas import _exchange, _websocket
from gpuaas._call import Call
from gpuaas._errors import GpuaasError, UnreachableError

if TYPE_CHECKING:
    from gpuaas.async_client import AsyncClient
    from gpuaas.client import Client

# How long it may be quiet before the server is asked whether it is there.
PING_EVERY_S = 20.0
# A server that does not even answer that is gone.
SILENCE_S = 60.0
_READ_BYTES = 1 << 16
_MOST_CHUNKS_OF_A_REFUSAL = 16
_PING = _websocket.written({"type": "ping"})


class Listening:
    """What has been heard, and how long ago."""

    def __init__(self) -> None:
        self.incoming = _websocket.Incoming()
        self._heard_s = time.monotonic()

    def heard(self, data: bytes) -> list[dict[str, Any]]:
        """The messages in what came."""
        self._heard_s = time.monotonic()
        return self.incoming.feed(data)

    def quiet(self) -> bytes:
        """What to send when nothing came for a while."""
        if time.monotonic() - self._heard_s > SILENCE_S:
            raise UnreachableError("the server went silent in the middle of a conversation")
        return _PING

    def reply(self) -> bytes:
        """What the protocol wants sent back, once."""
        reply, self.incoming.reply = self.incoming.reply, b""
        return reply


@contextlib.contextmanager
def converse(client: Client, call: Call) -> Iterator[Iterator[dict[str, Any]]]:
    """Opens a channel and gives its messages until the server says goodbye."""
    prepared, request, key = _opening(client, call, client.scope(call))
    try:
        with client.http.stream(**request) as response:
            if not _websocket.is_accepted(response.status_code, response.headers, key):
                chunks = itertools.islice(response.iter_bytes(_READ_BYTES), _MOST_CHUNKS_OF_A_REFUSAL)
                raise _refused(prepared, response, b"".join(chunks))
            stream: httpcore.NetworkStream = response.extensions["network_stream"]
            yield _messages(stream)
            with contextlib.suppress(httpcore.NetworkError, httpcore.TimeoutException):
                stream.write(_websocket.GOODBYE, timeout=_exchange.CONNECT_TIMEOUT_S)
    except httpx.TransportError as error:
        raise _exchange.lost(prepared, error).error from error
    except (httpcore.NetworkError, httpcore.TimeoutException) as error:
        raise UnreachableError(f"the conversation with {prepared.address} broke off") from error


def _messages(stream: httpcore.NetworkStream) -> Iterator[dict[str, Any]]:
    listening = Listening()
    while not listening.incoming.is_over:
        try:
            yield from listening.heard(stream.read(_READ_BYTES, timeout=PING_EVERY_S))
        except httpcore.ReadTimeout:
            stream.write(listening.quiet(), timeout=PING_EVERY_S)
        if reply := listening.reply():
            stream.write(reply, timeout=PING_EVERY_S)


@contextlib.asynccontextmanager
async def async_converse(client: AsyncClient, call: Call) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """Opens a channel and gives its messages until the server says goodbye."""
    prepared, request, key = _opening(client, call, await client.scope(call))
    try:
        async with client.http.stream(**request) as response:
            if not _websocket.is_accepted(response.status_code, response.headers, key):
                content = b""
                async for chunk in response.aiter_bytes(_READ_BYTES):
                    content += chunk
                    if len(content) > _READ_BYTES * _MOST_CHUNKS_OF_A_REFUSAL:
                        break
                raise _refused(prepared, response, content)
            stream: httpcore.AsyncNetworkStream = response.extensions["network_stream"]
            yield _async_messages(stream)
            with contextlib.suppress(httpcore.NetworkError, httpcore.TimeoutException):
                await stream.write(_websocket.GOODBYE, timeout=_exchange.CONNECT_TIMEOUT_S)
    except httpx.TransportError as error:
        raise _exchange.lost(prepared, error).error from error
    except (httpcore.NetworkError, httpcore.TimeoutException) as error:
        raise UnreachableError(f"the conversation with {prepared.address} broke off") from error


async def _async_messages(stream: httpcore.AsyncNetworkStream) -> AsyncIterator[dict[str, Any]]:
    listening = Listening()
    while not listening.incoming.is_over:
        try:
            for message in listening.heard(await stream.read(_READ_BYTES, timeout=PING_EVERY_S)):
                yield message
        except httpcore.ReadTimeout:
            await stream.write(listening.quiet(), timeout=PING_EVERY_S)
        if reply := listening.reply():
            await stream.write(reply, timeout=PING_EVERY_S)


def _opening(
    client: Client | AsyncClient, call: Call, scope: dict[str, str]
) -> tuple[_exchange.Prepared, dict[str, Any], str]:
    key = _websocket.new_key()
    prepared = _exchange.prepare(call, client.settings.url, scope, client.settings.token)
    return prepared, _websocket.upgrade(prepared.request, key), key


def _refused(prepared: _exchange.Prepared, response: httpx.Response, content: bytes) -> GpuaasError:
    error = _exchange.refused(prepared, response, content).error
    return error if isinstance(error, GpuaasError) else UnreachableError(str(error))
