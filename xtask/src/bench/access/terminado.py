"""A terminal of terminado on a WebSocket: `terminado.py PORT COMMAND`."""

import asyncio
import sys

import terminado
import tornado.web


async def main() -> None:
    port, command = int(sys.argv[1]), sys.argv[2]
    # It prints once somebody has pressed enter.
    manager = terminado.UniqueTermManager(shell_command=["sh", "-c", f"read go; {command}"])
    routes = [(r"/terminal", terminado.TermSocket, {"term_manager": manager})]
    tornado.web.Application(routes).listen(port, "127.0.0.1")
    await asyncio.Event().wait()


asyncio.run(main())
