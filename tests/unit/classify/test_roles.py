from __future__ import annotations

from pathlib import Path

import pytest

from triage.classify.roles import Role, Roles

COLLECTED = ("tests/test_shop.py", "checks/test_cart.py", "test/unit/test_a.py", "shop/test_native.py")


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("shop/native.py", Role.PRODUCT),
        ("src/shop/cart.py", Role.PRODUCT),
        ("shop/contest.py", Role.PRODUCT),
        ("shop/utils.py", Role.UNCLEAR),  # beside shop/test_native.py it may be either
        ("shop/latest_price.py", Role.PRODUCT),
        ("server/utils.py", Role.PRODUCT),
        ("tests/test_shop.py", Role.TEST),
        ("tests/helpers.py", Role.TEST),
        ("tests/app/models.py", Role.TEST),
        ("shop/tests/factories.py", Role.TEST),
        ("conftest.py", Role.TEST),
        ("shop/conftest.py", Role.TEST),
        ("test/unit/fakes.py", Role.TEST),
        ("test/runner.py", Role.TEST),
        ("checks/test_other.py", Role.TEST),
        ("checks/helpers.py", Role.UNCLEAR),
        ("checks/util.py", Role.UNCLEAR),
        ("checks/cart.py", Role.PRODUCT),
        ("shop/test/client.py", Role.UNCLEAR),
        ("shop/testing/server.py", Role.UNCLEAR),
        ("shop/ab_test.py", Role.TEST),
        ("stats/ab_test.py", Role.UNCLEAR),
        ("server/test_mode.py", Role.UNCLEAR),
        ("server/fake_server.py", Role.UNCLEAR),
        ("mocks/server.py", Role.UNCLEAR),
        (".venv/lib/python3.11/site-packages/numpy/core.py", Role.DEPENDENCY),
        (".venv/lib/python3.11/json/decoder.py", Role.INTERPRETER),
        (".venv/bin/pytest", Role.UNCLEAR),
        (".triage/plugins/triage_levels/plugin.py", Role.INTERPRETER),
    ],
)
def test_roles_below_the_root(tmp_path: Path, file: str, expected: Role) -> None:
    assert Roles(str(tmp_path), COLLECTED).role(str(tmp_path / file)) is expected


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/opt/py/lib/python3.13/ctypes/__init__.py", Role.INTERPRETER),
        ("/opt/py/lib/pypy3.10/json/decoder.py", Role.INTERPRETER),
        ("/usr/lib/python3/dist-packages/yaml/reader.py", Role.DEPENDENCY),
        ("/opt/py/lib/python3.13t/site-packages/_pytest/python.py", Role.DEPENDENCY),
        ("/elsewhere/shop/cart.py", Role.UNCLEAR),
        ("<frozen importlib._bootstrap>", Role.INTERPRETER),
        ("<string>", Role.INTERPRETER),
        ("<doctest shop.cart.total[0]>", Role.TEST),
        ("", Role.INTERPRETER),
        ("/x/triage_probe/hooks.py", Role.INTERPRETER),
        ("/opt/py/lib/python3.13/site-packages/triage_probe/hooks.py", Role.INTERPRETER),
    ],
)
def test_roles_outside_of_the_root(tmp_path: Path, file: str, expected: Role) -> None:
    assert Roles(str(tmp_path), COLLECTED).role(file) is expected


@pytest.mark.parametrize("folder", ["", "src/"])
def test_an_installed_copy_of_the_product_is_the_product(tmp_path: Path, folder: str) -> None:
    source = tmp_path / folder / "shop/native.py"
    source.parent.mkdir(parents=True)
    source.write_text("")
    roles = Roles(str(tmp_path), COLLECTED)
    installed = "/opt/py/lib/python3.13/site-packages/shop/native.py"
    assert roles.role(installed) is Role.PRODUCT
    assert roles.shown(installed) == f"{folder}shop/native.py"
    assert roles.role("/opt/py/lib/python3.13/site-packages/shop/other.py") is Role.DEPENDENCY


def test_a_copy_in_an_environment_below_the_root_is_no_source(tmp_path: Path) -> None:
    copy = tmp_path / ".venv/lib/python3.13/site-packages/numpy/core.py"
    copy.parent.mkdir(parents=True)
    copy.write_text("")
    assert Roles(str(tmp_path)).role(str(copy)) is Role.DEPENDENCY


def test_a_flat_project(tmp_path: Path) -> None:
    roles = Roles(str(tmp_path), ("test_shop.py",))
    assert roles.role(str(tmp_path / "shop.py")) is Role.PRODUCT
    assert roles.role(str(tmp_path / "test_shop.py")) is Role.TEST
    assert roles.role(str(tmp_path / "test_more.py")) is Role.TEST
    assert roles.role(str(tmp_path / "fakes.py")) is Role.UNCLEAR
    assert roles.role(str(tmp_path / "helpers.py")) is Role.UNCLEAR


def test_shown_names_hold_no_folder_of_this_machine(tmp_path: Path) -> None:
    roles = Roles(str(tmp_path))
    assert roles.shown(str(tmp_path / "shop/cart.py")) == "shop/cart.py"
    assert roles.shown("/opt/py/lib/python3.13/site-packages/numpy/core.py") == "numpy/core.py"
    assert roles.shown("/opt/py/lib/python3.13/ctypes/__init__.py") == "__init__.py"
