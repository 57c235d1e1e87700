"""Every test that executes on the golden model runs on both of its engines."""

import pytest

from caesura.sim.golden import transport

ONE_ENGINE = "test_bounds", "test_warp", "test_engine"
"""Beginnings of the names of tests without that choice: bounds are numpy's to check, a warp executes nothing by itself,
and tests of the engines say which they mean."""


def pytest_generate_tests(metafunc: pytest.Metafunc):
    if not metafunc.definition.path.name.startswith(ONE_ENGINE):
        metafunc.parametrize("engine", ["numpy", "compiled"], indirect=True)


@pytest.fixture(autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Make every golden model of the test execute with this engine."""
    chosen = getattr(request, "param", None)
    if chosen is not None:
        monkeypatch.setattr(transport, "ENGINE", chosen)
    return chosen
