"""localstripe on this machine alone: its own command listens everywhere. `serve.py PORT`"""

import sys

from aiohttp import web
from localstripe.server import app

web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
