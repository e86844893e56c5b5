"""The base of everything that the API answers, and the way from and to JSON.

Answers are open: a newer server may send fields and words that this version does
not know. Unknown words stay as they are, unknown fields are in `unknown_fields`.
"""

from __future__ import annotations

import dataclasses
import functools
import keyword
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self

from gpuaas._errors import ConfigurationError
from gpuaas._secret import Secret

Reader = Callable[[Any, str], Any]


class MisfitError(Exception):
    """A value does not fit its type. Names the place and never the value."""


@dataclasses.dataclass(kw_only=True)
class Model:
    """Something that the API takes or answers."""

    unknown_fields: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Reads the JSON form."""
        return typing.cast(Self, read(cls, data))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, without what is absent. Secrets are in it."""
        return typing.cast(dict[str, Any], write(self))


def read(kind: Any, value: Any) -> Any:
    """Makes a value of `kind` from its JSON form."""
    return _reader(kind)(value, "the answer")


def write(value: Any) -> Any:
    """The JSON form of a value."""
    if isinstance(value, Model):
        named = {_api_name(it.name): getattr(value, it.name) for it in dataclasses.fields(value)}
        named.pop("unknown_fields")
        return {name: write(it) for name, it in named.items() if it is not None} | value.unknown_fields
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ConfigurationError("a moment needs a time zone, as datetime.now(UTC) has one")
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): write(it) for name, it in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [write(it) for it in value]
    return value


def _api_name(field: str) -> str:
    """Undoes the underscore that keeps a field from being a word of Python."""
    bare = field.removesuffix("_")
    return bare if keyword.iskeyword(bare) else field


@functools.cache
def _reader(kind: Any) -> Reader:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return lambda value, _: value
    if origin in (typing.Union, types.UnionType):
        return _union(inner)
    if origin is list:
        return _list(_reader(inner[0]))
    if origin is dict:
        return _dict(_reader(inner[1]))
    if origin is Literal:
        return _plain(str)
    if kind is datetime:
        return _moment
    if kind is Secret:
        return lambda value, at: Secret(_plain(str)(value, at))
    if isinstance(kind, type) and issubclass(kind, Model):
        return _model(kind)
    return _plain(kind)


def _plain(kind: type) -> Reader:
    def read_plain(value: Any, at: str) -> Any:
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if kind is float and isinstance(value, int):
            return float(value)
        if not fits:
            raise MisfitError(f"{at} is not {kind.__name__}")
        return value

    return read_plain


def _moment(value: Any, at: str) -> Any:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise MisfitError(f"{at} is not a moment") from None


def _union(kinds: tuple[Any, ...]) -> Reader:
    # Unions are `T | None` and `Literal[…] | str`; both are read as what is left.
    left = [kind for kind in kinds if kind is not types.NoneType]
    one = str if str in left else left[0]
    reader, nullable = _reader(one), len(left) < len(kinds)
    return lambda value, at: None if nullable and value is None else reader(value, at)


def _list(item: Reader) -> Reader:
    def read_list(value: Any, at: str) -> Any:
        if not isinstance(value, list):
            raise MisfitError(f"{at} is not a list")
        return [item(it, f"{at}[]") for it in value]

    return read_list


def _dict(item: Reader) -> Reader:
    def read_dict(value: Any, at: str) -> Any:
        if not isinstance(value, dict):
            raise MisfitError(f"{at} is not an object")
        return {name: item(it, f"{at}.*") for name, it in value.items()}

    return read_dict


def _model(kind: type[Model]) -> Reader:
    hints = typing.get_type_hints(kind)
    known = {_api_name(it.name): it for it in dataclasses.fields(kind) if it.name != "unknown_fields"}
    readers = {name: _reader(hints[it.name]) for name, it in known.items()}

    def read_model(value: Any, at: str) -> Any:
        if not isinstance(value, dict):
            raise MisfitError(f"{at} is not an object")
        given = {}
        for name, field in known.items():
            if name in value:
                given[field.name] = readers[name](value[name], f"{at}.{name}")
            elif field.default is dataclasses.MISSING:
                # What may be null may also be left out.
                given[field.name] = readers[name](None, f"{at}.{name}")
        unknown = {name: it for name, it in value.items() if name not in known}
        return kind(**given, unknown_fields=unknown)

    return read_model
