"""A small proxy that fails on demand: what stands between a client and a server
that is overloaded, restarts, or loses connections."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import httpx

# Instead of forwarding: reset the connection.
RESET = "reset"
# Forward, and reset instead of handing the answer on.
LOSE_ANSWER = "lose answer"
# Answer a byte at a time, until nobody listens.
TRICKLE = "trickle"


def problem(code: str, status: int, **headers: str) -> tuple[int, dict[str, str], bytes]:
    body = {
        "type": f"/v1/problems/{code}",
        "title": "A title",
        "status": status,
        "code": code,
        "detail": "a detail",
        "advice": "Some advice.",
        "correlation_id": "c-1",
    }
    return answer(status, json.dumps(body).encode(), "application/problem+json", **headers)


def answer(status: int, body: bytes, media: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"content-type": media, **named}, body


class Proxy:
    """Forwards to `upstream` after the acts that were scripted."""

    def __init__(self, upstream: str) -> None:
        self.acts: deque[Any] = deque()
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self._upstream = upstream
        self._http = httpx.Client(timeout=30)
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                proxy._handle(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._http.close()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        body = handler.rfile.read(int(headers.get("content-length", "0")))
        self.seen.append((handler.command, handler.path, headers))
        act = self.acts.popleft() if self.acts else None
        if act == RESET:
            return _reset(handler)
        if act == TRICKLE:
            return _trickle(handler)
        if isinstance(act, tuple):
            return _answer(handler, *act)
        passed = {
            name: it for name, it in headers.items() if name not in ("host", "connection", "accept-encoding")
        }
        got = self._http.request(handler.command, self._upstream + handler.path, headers=passed, content=body)
        if act == LOSE_ANSWER:
            return _reset(handler)
        content = act(got.content) if callable(act) else got.content
        kept = {name: it for name, it in got.headers.items() if name in ("content-type", "retry-after")}
        return _answer(handler, got.status_code, kept, content)


def _answer(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _trickle(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    with contextlib.suppress(OSError):
        for _ in range(1000):
            handler.wfile.write(b" ")
            time.sleep(0.05)


def _reset(handler: BaseHTTPRequestHandler) -> None:
    # Closing with unsent time to linger sends a reset instead of a goodbye.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
    handler.rfile = handler.wfile = open("/dev/null", "r+b", buffering=0)  # type: ignore[assignment]  # noqa: SIM115
