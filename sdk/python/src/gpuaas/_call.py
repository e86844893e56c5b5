"""One call before it is sent: which endpoint, with what, and under which key."""

from __future__ import annotations

import dataclasses
import re
import urllib.parse
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from gpuaas._errors import ConfigurationError
from gpuaas._model import write

_KEY = re.compile(r"[\x21-\x7e]{1,128}")


class InOrganization(NamedTuple):
    """An organization by id or name; the client's own when `None`."""

    named: str | None


class InProject(NamedTuple):
    """A project by id or name; the client's own when `None`."""

    named: str | None


@dataclasses.dataclass(frozen=True)
class Call:
    """What is said to an endpoint. Sent twice it has one effect, if it has a key."""

    operation: str
    method: str
    template: str
    path: Mapping[str, str | int | InOrganization | InProject] = dataclasses.field(default_factory=dict)
    query: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    # Bodies hold passwords and keys.
    body: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    # A body that is not JSON, and what it is instead.
    content: bytes | None = dataclasses.field(default=None, repr=False)
    content_type: str = "application/json"
    key: str | None = None
    # Whether it may be sent again when nobody knows what became of it.
    repeatable: bool = True
    accept: str = "application/json"

    def at(self, cursor: str) -> Call:
        """The same call for the page at a cursor."""
        return dataclasses.replace(self, query={**self.query, "cursor": cursor})

    def address(self, base: str, scope: Mapping[str, str]) -> str:
        """Where it goes, without the query, which may name people."""
        values = {**self.path, **scope}
        parts = [_segment(part, values) for part in self.template.split("/")[1:]]
        return "/".join([base.rstrip("/"), *parts])

    def parameters(self) -> list[tuple[str, str]]:
        """The query as it is written into the address; a list item by item."""
        pairs = []
        for name, value in self.query.items():
            written = write(value)
            for it in written if isinstance(written, list) else [written]:
                pairs.append((name, str(it).lower() if isinstance(it, bool) else str(it)))
        return pairs


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """What was said; `None` says nothing."""
    return {name: value for name, value in values.items() if value is not None}


def key_or_new(key: str | None) -> str:
    """The caller's idempotency key, or one of our own."""
    if key is None:
        return str(uuid.uuid4())
    if not _KEY.fullmatch(key):
        raise ConfigurationError("an idempotency key has 1 to 128 visible ASCII characters and no spaces")
    return key


def base_url(text: str) -> str:
    """Checks where the server is said to be."""
    try:
        url = urllib.parse.urlsplit(text)
        is_server = url.scheme in ("http", "https") and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        is_server = False
    if not is_server:
        raise ConfigurationError("the server's address is no URL; write it like https://gpu.example.com")
    if url.username or url.password or url.query or url.fragment:
        raise ConfigurationError(
            "the server's address holds a credential, a query or a fragment; "
            "write it like https://gpu.example.com"
        )
    return text.rstrip("/")


def _segment(part: str, values: Mapping[str, Any]) -> str:
    if not part.startswith("{"):
        return part
    name = part.strip("{}")
    text = str(values[name])
    # These would silently name another address, whatever their encoding.
    if text in ("", ".", ".."):
        raise ConfigurationError(f"`{name}` is `{text}`, which cannot be part of an address")
    return urllib.parse.quote(text, safe="")
