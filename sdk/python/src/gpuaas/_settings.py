"""Where a client speaks to, as whom, and where it acts: what the program says,
else what the environment says."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Sequence

from gpuaas._call import base_url
from gpuaas._errors import ConfigurationError
from gpuaas._secret import Secret

_ID = "[0-7][0-9a-hjkmnp-tv-z]{25}"
ORGANIZATION_ID = re.compile(f"org-{_ID}")
PROJECT_ID = re.compile(f"proj-{_ID}")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a client is made of."""

    url: str
    token: Secret | None
    organization: str | None
    project: str | None

    @classmethod
    def found(
        cls, url: str | None, token: str | Secret | None, organization: str | None, project: str | None
    ) -> Settings:
        """Takes the same variables as the command line."""
        address = url or _environment("GPUAAS_URL")
        if address is None:
            raise ConfigurationError("it is not known where the server is; set GPUAAS_URL, or pass url=")
        found = token or _environment("GPUAAS_TOKEN")
        return cls(
            url=base_url(address),
            token=None if found is None else Secret(found),
            organization=organization or _environment("GPUAAS_ORGANIZATION"),
            project=project or _environment("GPUAAS_PROJECT"),
        )


def the_only(noun: str, name: str, ids: Sequence[str]) -> str:
    """A name must mean exactly one thing."""
    match ids:
        case [one]:
            return one
        case []:
            raise ConfigurationError(
                f"there is no {noun} named {name!r}, or not for you; check the name, or use the id"
            )
    raise ConfigurationError(f"several {noun}s are named {name!r}; use the id: {', '.join(sorted(ids))}")


def the_only_organization(names_and_ids: Sequence[tuple[str, str]]) -> str:
    """Who belongs to exactly one organization need not name it."""
    match names_and_ids:
        case [(_, one)]:
            return one
        case []:
            raise ConfigurationError("you belong to no organization yet; make one, or accept an invitation")
    names = ", ".join(sorted(name for name, _ in names_and_ids))
    raise ConfigurationError(
        f"you belong to several organizations: {names}; set GPUAAS_ORGANIZATION, or pass organization="
    )


def no_project() -> ConfigurationError:
    """A project is never guessed."""
    return ConfigurationError("it is not known which project is meant; set GPUAAS_PROJECT, or pass project=")


def _environment(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None
