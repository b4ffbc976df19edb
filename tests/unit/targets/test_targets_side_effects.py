"""What counts as reaching beyond this machine."""

from __future__ import annotations

import pytest

from triage.targets.side_effects import Reach, reach

INSIDE = [
    "127.0.0.1:8080",
    "127.255.0.3",
    "0.0.0.0:0",
    "::1",
    "[::1]:8080",
    "[::]:80",
    "::",
    "[::ffff:127.0.0.1]:80",
    "::1%lo",
    "localhost",
    "LocalHost.:80",
    "app.localhost:80",
    "/run/service.sock",
    "@abstract",
    "\0abstract",
    "",
]
OUTSIDE = [
    "93.184.216.34:443",
    "10.0.0.1:5432",
    "192.168.1.1",
    "169.254.169.254:80",
    "224.0.0.1",
    "[2001:db8::1]:443",
    "fe80::1%eth0",
    "[::ffff:10.0.0.1]:80",
    "db.internal",
    "localhost.example.com",
    "127.0.0.1.example.com:80",
    "?",
]


@pytest.mark.parametrize("address", INSIDE)
def test_stays_inside(address: str) -> None:
    assert reach([address], [address]) is None


@pytest.mark.parametrize("address", OUTSIDE)
def test_reaches_out(address: str) -> None:
    assert reach(["127.0.0.1:1", address], []) == Reach(addresses=(address,), names=())
    assert reach([], ["localhost", address]) == Reach(addresses=(), names=(address,))


def test_the_machine_is_no_stranger_to_itself() -> None:
    assert reach(["build-7:80"], ["build-7", "BUILD-7."], own_names=["Build-7"]) is None


def test_the_statement_names_what_was_reached() -> None:
    found = reach(["10.0.0.1:5432", "10.0.0.1:5432"], ["db.internal"])
    assert found is not None
    assert found.statement == ("reaches beyond this machine: it connects to `10.0.0.1:5432` and looks up `db.internal`")
    many = reach([f"10.0.0.{number}" for number in range(5)], [])
    assert many is not None
    assert many.statement.endswith("it connects to `10.0.0.0`, `10.0.0.1`, `10.0.0.2` and 2 more")


def test_a_command_with_the_name_of_another_machine_reaches_out() -> None:
    local = ["curl http://localhost:8000", "psql postgres://127.0.0.1", "git http://[::1]"]
    assert reach([], [], commands=local) is None
    found = reach([], [], commands=[*local, "curl https://example.com", "ssh build-7"], own_names=["build-7"])
    assert found is not None
    assert found.commands == ("curl https://example.com",)
    assert found.statement.endswith("it starts `curl https://example.com`")
