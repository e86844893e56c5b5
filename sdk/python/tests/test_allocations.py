"""Taking and giving back, against a real server with simulated hosts."""

from __future__ import annotations

import pytest

import gpuaas
from conftest import Server
from gpuaas.errors import AllocationFailedError, WaitTimeoutError
from proxy import Proxy, problem


def test_an_allocation_becomes_active_and_is_released(client: gpuaas.Client) -> None:
    allocation = client.allocations.create(sku="h200-slice", gpus=2, tags={"team": "vision"})
    assert allocation.wait() is allocation
    assert (allocation.state, allocation.gpus, allocation.tags) == ("active", 2, {"team": "vision"})
    assert len(allocation.parts[0].gpus) == 2
    assert allocation.active_at is not None
    assert allocation.active_at >= allocation.created_at
    assert allocation.release().state in ("releasing", "released")
    assert allocation.wait("released").state == "released"


def test_an_allocation_reports_its_cost(client: gpuaas.Client) -> None:
    allocation = client.allocations.create(sku="h200-slice", gpus=2).wait()
    running = allocation.cost()
    assert (running.currency, running.burn_micros_per_hour) == ("USD", 7_000_000)
    assert running.amount_micros == running.posted_micros - running.taken_back_micros + running.accrued_micros
    allocation.release().wait("released")
    over = allocation.cost()
    assert (over.burn_micros_per_hour, over.held_micros, over.intervals) == (0, 0, 1)
    assert over.amount_micros >= running.amount_micros


def test_an_allocation_stops_and_starts_again(client: gpuaas.Client) -> None:
    allocation = client.allocations.create(sku="h200-slice", gpus=1).wait()
    assert allocation.stop().wait("stopped").state == "stopped"
    assert allocation.start().wait().state == "active"
    allocation.release()


def test_a_context_manager_gives_active_gpus_and_releases_them(client: gpuaas.Client) -> None:
    with client.allocations.create(sku="h200-slice", gpus=1) as allocation:
        assert allocation.state == "active"
    assert allocation.wait("released").state == "released"


def test_an_exception_inside_releases_and_stays_visible(client: gpuaas.Client) -> None:
    with pytest.raises(ZeroDivisionError), client.allocations.create(sku="h200-slice", gpus=1) as allocation:
        raise ZeroDivisionError
    assert allocation.state in ("releasing", "released")


def test_an_allocation_released_inside_is_not_released_twice(client: gpuaas.Client) -> None:
    with client.allocations.create(sku="h200-slice", gpus=1) as allocation:
        allocation.release().wait("released")
    assert allocation.state == "released"


def test_a_release_that_meets_another_change_is_tried_again(server: Server, proxy: Proxy) -> None:
    with server.client(url=proxy.url) as client:
        allocation = client.allocations.create(sku="h200-slice", gpus=1).wait()
        proxy.acts.extend([problem("conflict", 409), None, problem("conflict", 409)])
        assert allocation.release().state in ("releasing", "released")


def test_a_wait_ends_and_says_why(client: gpuaas.Client) -> None:
    allocation = client.allocations.create(sku="h200-node", gpus=8, nodes=5)
    with pytest.raises(WaitTimeoutError, match=r"still requested after 0\.3 s") as caught:
        allocation.wait(timeout_s=0.3)
    assert isinstance(caught.value, TimeoutError)
    assert allocation.explain().change is not None
    allocation.release()
    with pytest.raises(AllocationFailedError, match="will not be active"):
        allocation.wait()


def test_a_wait_that_is_interrupted_leaves_nothing_behind(
    client: gpuaas.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    allocation = client.allocations.create(sku="h200-node", gpus=8, nodes=5)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(allocation), "wait", interrupted)
    with pytest.raises(KeyboardInterrupt), allocation:
        pass
    assert client.allocations.get(allocation.id).state in ("releasing", "released")


def test_a_project_may_be_given_by_name(server: Server) -> None:
    with server.client(project="first-project", organization="Demo") as client:
        assert client.project_id() == server.project
        assert client.organization_id() == server.organization
        assert list(client.allocations.list(state="failed")) == []
        with pytest.raises(gpuaas.errors.ConfigurationError, match="no project named 'nowhere'"):
            client.allocations.create(sku="h200-slice", gpus=1, project="nowhere")


def test_settings_come_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(gpuaas.errors.ConfigurationError, match="GPUAAS_URL"):
        gpuaas.Client()
    for name, value in server.env.items():
        monkeypatch.setenv(name, value)
    with gpuaas.Client() as client:
        assert client.project_id() == server.project
        assert client.users.who_am_i().user is not None
