"""An S3-compatible store (moto) that believes only signatures which Amazon's own
library would have made. `server.py PORT BUCKET ACCESS_KEY SECRET_KEY`

`GET /.keys` lists what the bucket holds, and `GET /.alter?KEY` changes an object."""

import json
import sys

from moto import settings
from moto.iam.models import iam_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, run_simple

PORT, BUCKET, ACCESS_KEY, SECRET_KEY = sys.argv[1:]
ACCOUNT = "123456789012"
ALLOWED = ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"]

iam = iam_backends[ACCOUNT]["aws"]
s3 = s3_backends[ACCOUNT]["aws"]
user = iam.create_user("us-east-1", "recorder")
key = iam.create_access_key(user.name)
key.access_key_id, key.secret_access_key = ACCESS_KEY, SECRET_KEY
policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ALLOWED, "Resource": "*"}]}
iam.put_user_policy(user.name, "recordings", json.dumps(policy))
s3.create_bucket(BUCKET, "us-east-1")
# From here on everybody must sign.
settings.INITIAL_NO_AUTH_ACTION_COUNT = 0

store = DomainDispatcherApplication(create_backend_app)


def serve(environ, start):
    path = environ["PATH_INFO"]
    if path == "/.keys":
        body = json.dumps(sorted(s3.buckets[BUCKET].keys.keys()))
    elif path == "/.alter":
        s3.put_object(BUCKET, environ["QUERY_STRING"], b"altered")
        body = "{}"
    else:
        return store(environ, start)
    start("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body.encode()]


class Quiet(WSGIRequestHandler):
    # Connections are kept, as stores do.
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        pass


run_simple("127.0.0.1", int(PORT), serve, threaded=True, request_handler=Quiet)
