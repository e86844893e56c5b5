"""A web service as people run one in an allocation. `web_service.py PORT WORD`

`/headers` says what it saw, `/stream` sends a word when it is told to by `/next`,
`/length` counts a body, `/ws` echoes, and everything else answers with WORD."""

import asyncio
import base64
import hashlib
import sys

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
PORT, WORD = int(sys.argv[1]), sys.argv[2]
turns = asyncio.Queue()


async def answer(writer, body, more=""):
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def stream(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n")
    for number in range(3):
        word = f"word {number}\n".encode()
        writer.write(f"{len(word):x}\r\n".encode() + word + b"\r\n")
        await writer.drain()
        await turns.get()
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def echo(reader, writer, key):
    accept = base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()
    head = f"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    writer.write(head.encode())
    while True:
        first, second = await reader.readexactly(2)
        mask = await reader.readexactly(4)
        body = bytes(it ^ mask[at % 4] for at, it in enumerate(await reader.readexactly(second & 127)))
        writer.write(bytes([first, len(body)]) + body)
        await writer.drain()
        if first & 15 == 8:
            return


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split(" ")[1]
            fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            if path == "/ws":
                key = next(it.split(": ", 1)[1] for it in head.split("\r\n") if it.lower().startswith("sec-websocket-key"))
                return await echo(reader, writer, key)
            body = await reader.readexactly(int(fields.get("content-length", 0)))
            if path.startswith("/headers"):
                forged = "Set-Cookie: theirs=1\r\nSet-Cookie: gpuaas-app=forged\r\nSet-Cookie: __Host-gpuaas-app=forged\r\n"
                await answer(writer, head.encode(), forged)
            elif path == "/stream":
                await stream(writer)
            elif path == "/next":
                turns.put_nowait(None)
                await answer(writer, b"")
            elif path == "/length":
                await answer(writer, str(len(body)).encode())
            else:
                await answer(writer, f"{WORD} {path}".encode())
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", PORT)
    print(f"{WORD} serves", flush=True)
    await server.serve_forever()


asyncio.run(main())
