"""Frames of the WebSocket protocol, without a connection."""

from __future__ import annotations

import json

import pytest

from gpuaas._websocket import Incoming, is_accepted, upgrade, written
from gpuaas.errors import MalformedAnswerError


def frame(kind: int, payload: bytes, *, last: bool = True) -> bytes:
    first = bytes([(0x80 if last else 0) | kind])
    if len(payload) < 126:
        return first + bytes([len(payload)]) + payload
    return first + b"\x7e" + len(payload).to_bytes(2, "big") + payload


def test_messages_come_out_whole_however_the_bytes_come_in() -> None:
    long = {"text": "x" * 300}
    sent = frame(1, json.dumps(long).encode()) + frame(1, b'{"a":', last=False) + frame(0, b"1}")
    incoming, found = Incoming(), []
    for at in range(len(sent)):
        found += incoming.feed(sent[at : at + 1])
    assert found == [long, {"a": 1}]


def test_pings_are_answered_and_a_goodbye_is_the_end() -> None:
    incoming = Incoming()
    assert incoming.feed(frame(9, b"hi") + frame(1, b"not json") + frame(8, b"") + frame(1, b"{}")) == []
    assert incoming.is_over
    mask, masked = incoming.reply[2:6], incoming.reply[6:]
    assert incoming.reply[0] == 0x8A
    assert bytes(byte ^ mask[at % 4] for at, byte in enumerate(masked)) == b"hi"


def test_a_message_without_end_is_refused() -> None:
    with pytest.raises(MalformedAnswerError):
        Incoming().feed(b"\x81\x7f" + (1 << 40).to_bytes(8, "big"))
    incoming = Incoming()
    with pytest.raises(MalformedAnswerError):
        for _ in range(100):
            incoming.feed(frame(0, b"x" * 60_000, last=False))


def test_a_handshake_is_checked() -> None:
    # The example of RFC 6455.
    key, proof = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert is_accepted(101, {"sec-websocket-accept": proof}, key)
    assert not is_accepted(200, {"sec-websocket-accept": proof}, key)
    assert not is_accepted(101, {}, key)
    assert upgrade({"headers": {"a": "b"}}, key)["headers"]["sec-websocket-key"] == key
    assert written({"type": "ping"})[1] & 0x80
