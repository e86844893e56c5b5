"""The WebSocket protocol without its connection: bytes in, messages out, and the
other way round. Only what a client of this API needs."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import struct
from collections.abc import Mapping
from typing import Any

from gpuaas._errors import MalformedAnswerError

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_LARGEST_MESSAGE_BYTES = 1 << 20
_CONTINUATION, _TEXT, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x8, 0x9, 0xA
GOODBYE = struct.pack("!BBI", 0x80 | _CLOSE, 0x80, 0)


def new_key() -> str:
    """What the server must prove to have read."""
    return base64.b64encode(os.urandom(16)).decode()


def upgrade(request: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The request as the beginning of a conversation."""
    headers = {
        **request["headers"],
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": key,
    }
    return {**request, "headers": headers}


def is_accepted(status: int, headers: Mapping[str, str], key: str) -> bool:
    """Whether the answer begins the conversation that was asked for."""
    digest = hashlib.sha1(key.encode() + _MAGIC, usedforsecurity=False).digest()
    given = headers.get("sec-websocket-accept", "")
    return status == 101 and hmac.compare_digest(given.encode(), base64.b64encode(digest))


def written(message: Mapping[str, Any]) -> bytes:
    """A message as it is sent."""
    return _frame(_TEXT, json.dumps(message).encode())


class Incoming:
    """What was received and not yet understood."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._message = bytearray()
        self.is_over = False
        # What the protocol wants sent back.
        self.reply = b""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that are complete now. No data is the end."""
        self._bytes += data
        self.is_over |= not data
        messages = []
        while not self.is_over and (frame := self._next_frame()) is not None:
            is_last, kind, payload = frame
            if kind in (_TEXT, _CONTINUATION):
                self._message += payload
                if len(self._message) > _LARGEST_MESSAGE_BYTES:
                    raise MalformedAnswerError("a message of the conversation is larger than any of the API")
                if is_last:
                    messages.append(bytes(self._message))
                    self._message.clear()
            elif kind == _PING:
                self.reply += _frame(_PONG, payload)
            elif kind == _CLOSE:
                self.is_over = True
        return [read for message in messages if isinstance(read := _json(message), dict)]

    def _next_frame(self) -> tuple[bool, int, bytes] | None:
        if len(self._bytes) < 2:
            return None
        first, second = self._bytes[0], self._bytes[1]
        size, start = second & 0x7F, 2
        if second & 0x80:
            raise MalformedAnswerError("the other side speaks WebSocket as only clients do")
        if size >= 126:
            start = 4 if size == 126 else 10
            if len(self._bytes) < start:
                return None
            size = int.from_bytes(self._bytes[2:start], "big")
        if size > _LARGEST_MESSAGE_BYTES:
            raise MalformedAnswerError("a message of the conversation is larger than any of the API")
        if len(self._bytes) < start + size:
            return None
        payload = bytes(self._bytes[start : start + size])
        del self._bytes[: start + size]
        return bool(first & 0x80), first & 0x0F, payload


def _frame(kind: int, payload: bytes) -> bytes:
    # Clients mask what they send, so that no proxy takes it for a request.
    mask = os.urandom(4)
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
    size = len(payload)
    head = (
        struct.pack("!BB", 0x80 | kind, 0x80 | size)
        if size < 126
        else struct.pack("!BBH", 0x80 | kind, 0xFE, size)
    )
    return head + mask + masked


def _json(message: bytes) -> Any:
    try:
        return json.loads(message)
    except ValueError:
        return None
