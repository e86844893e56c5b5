"""From JSON to types and back, without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from conftest import Server
from gpuaas import Secret, models
from gpuaas._call import Call
from gpuaas._generated import resources
from gpuaas._model import MisfitError, Model, read, write
from gpuaas.errors import ConfigurationError
from proxy import Proxy, answer

ALL = [it for it in vars(models).values() if isinstance(it, type) and issubclass(it, Model)]


def price(**changes: object) -> dict[str, object]:
    return {
        "id": "price-1",
        "sku_id": "sku-1",
        "unit": "gpu_hour",
        "kind": "on_demand",
        "version": 3,
        "currency": "USD",
        "price_micros": 2_500_000,
        "per_units": 1,
        "effective_at": "2026-01-02T03:04:05.678901234Z",
        "created_at": "2026-01-02T03:04:05Z",
        **changes,
    }


def test_moments_have_a_zone_and_come_back_as_json() -> None:
    found = models.Price.from_dict(price(of_tomorrow=[1]))
    assert found.effective_at == datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    assert found.to_dict()["created_at"] == "2026-01-02T03:04:05+00:00"
    assert models.Price.from_dict(found.to_dict()) == found


def test_a_moment_without_a_zone_is_not_guessed() -> None:
    with pytest.raises(ConfigurationError, match="time zone"):
        write({"since": datetime(2026, 1, 1) - timedelta(days=1)})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("version", "3"), ("version", True), ("id", None), ("created_at", "soon"), ("created_at", 7)],
)
def test_a_value_of_another_kind_is_named_and_not_quoted(name: str, wrong: object) -> None:
    with pytest.raises(MisfitError, match=f"the answer.{name} is not"):
        models.Price.from_dict(price(**{name: wrong}))


def test_secrets_hide_and_are_sent() -> None:
    secret = Secret("hush")
    assert "hush" not in f"{secret!r} {secret} {[secret]}"
    assert write({"password": secret}) == {"password": "hush"}
    assert secret == Secret("hush")
    assert secret != Secret("other")


def test_every_model_can_be_read(server: Server) -> None:
    assert len(ALL) > 100
    for kind in ALL:
        with pytest.raises(MisfitError):
            read(kind, "not an object")


def test_a_document_is_bytes_and_a_table_is_text(server: Server, proxy: Proxy) -> None:
    proxy.acts.append(answer(200, b"%PDF-1.7 \xff", "application/pdf"))
    proxy.acts.append(answer(200, "a;ä".encode(), "text/csv"))
    with server.client(url=proxy.url) as client:
        call = Call("GetInvoice", "GET", "/v1/whoami", accept="application/pdf")
        assert client.send(call, bytes) == b"%PDF-1.7 \xff"
        assert client.send(Call("GetTable", "GET", "/v1/whoami", accept="text/csv"), str) == "a;ä"
    assert proxy.seen[0][2]["accept"].startswith("application/pdf")


def test_the_methods_say_what_the_document_says() -> None:
    said = resources.Allocations.create.__doc__ or ""
    assert said.startswith("Request GPUs.")
    assert "`sku`: The SKU's name." in said
