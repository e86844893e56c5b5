"""What is refused, and that nothing secret is said about it."""

from __future__ import annotations

import pickle
import traceback
from datetime import UTC, datetime, timedelta

import pytest

import gpuaas
from conftest import Server
from gpuaas import errors
from gpuaas._exchange import LARGEST_ANSWER_BYTES
from gpuaas._generated.problems import BY_CODE
from proxy import Proxy, answer, problem

NOBODY = "proj-00000000000000000000000000"


def test_refusals_of_the_server_have_their_classes(server: Server, client: gpuaas.Client) -> None:
    with pytest.raises(errors.NotFoundError) as caught:
        client.projects.get(NOBODY)
    assert (caught.value.status, caught.value.code) == (404, "not_found")
    assert caught.value.advice
    assert caught.value.correlation_id
    assert caught.value.correlation_id in str(caught.value)
    with pytest.raises(errors.InvalidPathError):
        client.projects.get("nonsense")
    with pytest.raises(errors.NameTakenError):
        client.projects.create(name="first-project")
    with pytest.raises(errors.InvalidBodyError):
        client.projects.create(name="<b>")
    with pytest.raises(errors.InvalidValueError):
        client.allocations.create(sku="no-such-sku", gpus=1)
    with pytest.raises(errors.InvalidQueryError):
        client.projects.list(page_size=100_000).first()
    with pytest.raises(errors.ForbiddenError):
        client.users.list().first()
    with pytest.raises(errors.SignInNeededError):
        client.keys.create_personal(
            name="another", scopes=["projects:read"], expires_at=datetime.now(UTC) + timedelta(days=7)
        )
    with server.client(token="gk-wrong") as stranger, pytest.raises(errors.UnauthenticatedError):
        stranger.users.who_am_i()


def test_limits_keys_and_states_are_refused(client: gpuaas.Client) -> None:
    client.policies.set_project("allocations.max_gpus", value="1")
    try:
        with pytest.raises(errors.LimitReachedError, match="policies explain"):
            client.allocations.create(sku="h200-slice", gpus=2)
    finally:
        client.policies.unset_project("allocations.max_gpus")
    client.projects.create(name="keyed", idempotency_key="sdk-key-1")
    with pytest.raises(errors.IdempotencyKeyReusedError):
        client.projects.create(name="keyed-otherwise", idempotency_key="sdk-key-1")
    with (
        client.allocations.create(sku="h200-slice", gpus=1) as allocation,
        pytest.raises(errors.ConflictError),
    ):
        allocation.start()


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_every_code_has_a_class_of_its_own(server: Server, proxy: Proxy, code: str) -> None:
    proxy.acts.extend([problem(code, 418, retry_after="0")] * 4)
    with server.client(url=proxy.url) as client, pytest.raises(BY_CODE[code]) as caught:
        client.users.who_am_i()
    assert type(caught.value) is BY_CODE[code]
    assert (caught.value.code, caught.value.advice) == (code, "Some advice.")
    assert caught.value.retry_after_s == 0


def test_a_code_of_a_newer_server_is_a_problem(server: Server, proxy: Proxy) -> None:
    proxy.acts.append(problem("of_tomorrow", 409))
    with server.client(url=proxy.url) as client, pytest.raises(errors.ProblemError) as caught:
        client.users.who_am_i()
    assert (type(caught.value), caught.value.code) == (errors.ProblemError, "of_tomorrow")


def test_a_stranger_at_the_address_is_recognized(server: Server, proxy: Proxy) -> None:
    proxy.acts.extend([answer(404, b"<html>hush</html>", "text/html"), answer(200, b"<html>", "text/html")])
    with server.client(url=proxy.url) as client:
        for _ in range(2):
            with pytest.raises(errors.MalformedAnswerError) as caught:
                client.users.who_am_i()
            assert "hush" not in str(caught.value)


def test_an_answer_without_end_is_not_read_to_its_end(server: Server, proxy: Proxy) -> None:
    proxy.acts.append(answer(200, b" " * (LARGEST_ANSWER_BYTES + 1), "application/json"))
    with server.client(url=proxy.url) as client, pytest.raises(errors.MalformedAnswerError, match="larger"):
        client.users.who_am_i()


def test_secrets_are_never_printed(server: Server) -> None:
    with server.client() as client:
        token = server.env["GPUAAS_TOKEN"]
        said = [repr(client), repr(client.settings), repr(vars(client)), str(client.settings.token)]
        try:
            client.projects.get(NOBODY)
        except errors.NotFoundError as error:
            said += ["".join(traceback.format_exception(error)), repr(error), repr(vars(error))]
        account = client.service_accounts.create(name="sdk", role="member")
        new = client.service_accounts.create_key(
            account.id,
            name="sdk",
            scopes=["projects:read"],
            expires_at=account.created_at + timedelta(days=7),
        )
        said.append(repr(new))
        assert new.secret.reveal() not in "".join(said)
        assert token not in "".join(said)
        with server.client(token=new.secret.reveal()) as with_key:
            assert with_key.projects.get(server.project).id == server.project


def test_wrong_settings_are_refused_before_anything_is_sent(server: Server) -> None:
    for url in ("", "host", "ftp://host", "http://me:hush@host", "http://host/?a=b"):
        with pytest.raises(errors.ConfigurationError) as caught:
            gpuaas.Client(url or " ")
        assert "hush" not in str(caught.value)
    with server.client(token="two words") as client, pytest.raises(errors.ConfigurationError) as caught:
        client.users.who_am_i()
    assert "two words" not in str(caught.value)
    with server.client() as client:
        for bad in ("", "..", "."):
            with pytest.raises(errors.ConfigurationError):
                client.projects.get(bad)
        with pytest.raises(errors.ConfigurationError, match="idempotency key"):
            client.projects.create(name="x", idempotency_key="with space")


def test_an_unreachable_address_is_reported() -> None:
    options = gpuaas.Options(attempts=2)
    with (
        gpuaas.Client("http://127.0.0.1:1", options=options) as client,
        pytest.raises(errors.UnreachableError),
    ):
        client.users.who_am_i()


def test_problems_survive_a_process_boundary() -> None:
    error = errors.NotFoundError({"code": "not_found", "detail": "x", "status": 404})
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.code, str(again)) == (errors.NotFoundError, "not_found", str(error))
