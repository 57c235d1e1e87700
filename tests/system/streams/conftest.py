"""Devices of one and of two SMs, on both machines."""

import pytest

from caesura import open_device
from support.sim.queues import DEVICE

MEMORY = 1 << 22


@pytest.fixture(params=["golden-one", "golden-two", "rtl-one", pytest.param("rtl-two", marks=pytest.mark.full)])
def device(request):
    backend, sms = request.param.split("-")
    with open_device(backend, DEVICE if sms == "two" else "tiny", memory_bytes=MEMORY) as device:
        yield device


@pytest.fixture(scope="module")
def golden():
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        yield device
