"""Faults name the line of CUDA beside the line of PTX."""

from pathlib import Path

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.driver import CycleLimit, KernelFault

NORMS = Path(__file__).parents[2] / "software" / "compiler" / "data" / "norms.ptx"


def launched(pointer):
    device = open_device("golden", "tiny")
    kernel = device.load_ptx(NORMS)["norms"]
    centre, result = device.array(np.ones(4, np.float32)), device.empty(8, np.float32)
    points = device.array(np.arange(32, dtype=np.float32)) if pointer is None else pointer
    return device, kernel(1, 8, [points, centre, result, 4, 8]), result


def test_a_kernel_compiled_with_lines_computes_what_it_should():
    device, launch, result = launched(None)
    device.wait(launch)
    points = np.arange(32, dtype=np.float32).reshape(8, 4)
    assert (result.get() == ((points - 1) ** 2).sum(axis=1)).all()


def test_a_fault_names_both_lines():
    device, launch, _ = launched(0)
    with pytest.raises(KernelFault, match=r"norms\.ptx:\d+, distance\.cuh:12:9, inlined at norms\.cu:9:5\)") as caught:
        device.wait(launch)
    assert caught.value.record.origin.file == "distance.cuh"


def test_where_warps_stand_names_both_lines():
    device, launch, _ = launched(None)
    with pytest.raises(CycleLimit, match=r"norms\.ptx:\d+, norms\.cu:\d"):
        device.wait(launch, max_cycles=4)
