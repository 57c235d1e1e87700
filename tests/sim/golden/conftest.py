"""Every test of the golden model runs on both of its engines."""

import pytest

from caesura.sim.golden import transport


@pytest.fixture(autouse=True, params=["numpy", "compiled"])
def engine(request, monkeypatch):
    """Make every golden model of the test execute with this engine."""
    monkeypatch.setattr(transport, "ENGINE", request.param)
    return request.param
