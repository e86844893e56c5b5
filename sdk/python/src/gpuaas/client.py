"""The client for programs that wait for each answer."""

from __future__ import annotations

import random
import time
from types import TracebackType
from typing import Any, Self, TypeVar, overload

import httpx

from gpuaas import _exchange
from gpuaas._call import Call, InOrganization, InProject
from gpuaas._errors import UnreachableError
from gpuaas._generated.resources import Resources
from gpuaas._retry import Failure, Options, pause
from gpuaas._secret import Secret
from gpuaas._settings import (
    ORGANIZATION_ID,
    PROJECT_ID,
    Settings,
    no_project,
    the_only,
    the_only_organization,
)

T = TypeVar("T")


class Client(Resources):
    """Speaks to one server as one caller. What is not said comes from the
    environment: `GPUAAS_URL`, `GPUAAS_TOKEN`, `GPUAAS_ORGANIZATION`, `GPUAAS_PROJECT`.

    Requests are repeated where that is safe, a bounded number of times, with the
    same idempotency key.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | Secret | None = None,
        *,
        organization: str | None = None,
        project: str | None = None,
        options: Options | None = None,
    ) -> None:
        super().__init__(self)
        self.settings = Settings.found(url, token, organization, project)
        self.options = options or Options()
        self._known: dict[str, str] = {}
        timeout = httpx.Timeout(self.options.timeout_s, connect=_exchange.CONNECT_TIMEOUT_S)
        # The API redirects nobody; following would take the credential elsewhere.
        self.http = httpx.Client(timeout=timeout, follow_redirects=False)

    def __repr__(self) -> str:
        it = self.settings
        return f"Client(url={it.url!r}, organization={it.organization!r}, project={it.project!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self.http.close()

    @overload
    def send(self, call: Call, kind: None) -> None: ...
    @overload
    def send(self, call: Call, kind: type[T]) -> T: ...
    def send(self, call: Call, kind: Any) -> Any:
        """Sends a call, again where that is safe and may help."""
        prepared = _exchange.prepare(call, self.settings.url, self.scope(call), self.settings.token)
        attempts_made = 0
        while True:
            answer = self._attempt(prepared)
            if not isinstance(answer, Failure):
                return _exchange.understood(prepared, kind, *answer)
            attempts_made += 1
            wait_s = pause(self.options, attempts_made, answer, call.repeatable, random.random())  # noqa: S311
            if wait_s is None:
                raise answer.error
            time.sleep(wait_s)

    def organization_id(self, named: str | None = None) -> str:
        """The id of an organization by id or name, or of the client's own."""
        name = named or self.settings.organization
        if name is None:
            if "organization" not in self._known:
                mine = [(it.name, it.id) for it in self.organizations.list()]
                self._known["organization"] = the_only_organization(mine)
            return self._known["organization"]
        if ORGANIZATION_ID.fullmatch(name):
            return name
        if f"organization {name}" not in self._known:
            ids = [it.id for it in self.organizations.list(name=name)]
            self._known[f"organization {name}"] = the_only("organization", name, ids)
        return self._known[f"organization {name}"]

    def project_id(self, named: str | None = None) -> str:
        """The id of a project by id or name, or of the client's own."""
        name = named or self.settings.project
        if name is None:
            raise no_project()
        if PROJECT_ID.fullmatch(name):
            return name
        if f"project {name}" not in self._known:
            # A deleted project leaves its name to others.
            alive = [it.id for it in self.projects.list(name=name) if it.state != "deleted"]
            self._known[f"project {name}"] = the_only("project", name, alive)
        return self._known[f"project {name}"]

    def scope(self, call: Call) -> dict[str, str]:
        """The organization and project of a call, by id."""
        scope = {}
        for name, value in call.path.items():
            match value:
                case InOrganization(named):
                    scope[name] = self.organization_id(named)
                case InProject(named):
                    scope[name] = self.project_id(named)
        return scope

    def _attempt(self, prepared: _exchange.Prepared) -> tuple[int, bytes] | Failure:
        until_s = time.monotonic() + self.options.timeout_s
        try:
            with self.http.stream(**prepared.request) as response:
                content = bytearray()
                for chunk in response.iter_bytes():
                    content += chunk
                    # The timeouts of httpx are for each read; a trickle never meets them.
                    if time.monotonic() > until_s:
                        raise httpx.ReadTimeout("the answer took too long")
                    if len(content) > _exchange.LARGEST_ANSWER_BYTES:
                        return Failure(_exchange.too_large(prepared, response.status_code))
                if response.is_success:
                    return response.status_code, bytes(content)
                return _exchange.refused(prepared, response, bytes(content))
        except httpx.TransportError as error:
            return _exchange.lost(prepared, error)
        except httpx.HTTPError as error:
            return Failure(
                UnreachableError(f"{prepared.address} sent what is no HTTP: {type(error).__name__}")
            )
