"""The f64-heavy kernels that the compiler is measured with: calling routines changes no bit of what they compute."""

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.sim.scenario import start_job
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.compiler.image.lift import lift
from caesura.software.kernels.doubles import DOUBLES
from caesura.software.kernels.job import Job
from support.selection import quick

LANES = 48


def membrane(rng):
    states = rng.uniform(0.05, 0.95, (LANES, 20))
    states[:, 0] = rng.uniform(-90, 40, LANES)
    states[:, 1:5] = rng.uniform((8, 130, 1e-4, 0.5), (20, 150, 1e-3, 2), (LANES, 4))
    constants = np.array([310, 140, 5.4, 1.8, *rng.uniform(0.01, 1, 11), 30.0])
    return {"states": states.ravel(), "constants": constants, "changes": np.zeros(LANES * 20), "cells": LANES}


def flow(rng):
    variables = rng.uniform(0.5, 1.5, (5, LANES))
    variables[4] += 5
    return {"cells": LANES, "neighbours": rng.integers(-3, LANES, 4 * LANES, np.int32),
            "normals": rng.normal(size=12 * LANES), "variables": variables.ravel(), "fluxes": np.zeros(5 * LANES)}


def particles(rng):
    return {"xs": rng.uniform(20, 40, LANES), "ys": rng.uniform(20, 40, LANES), "weights": rng.uniform(0.1, 1, LANES),
            "seeds": rng.integers(1, 1 << 30, LANES, np.int32), "image": rng.uniform(90, 240, 64 * 64), "width": 64,
            "height": 64, "offsets": rng.integers(-3, 4, 16, np.int32), "count": LANES}


def correlation(rng):
    return {"frame": rng.uniform(size=17 * 16), "rows": 17, "columns": 16, "pattern": rng.uniform(size=64),
            "scores": np.zeros(42), "shifts": np.zeros(84)}


def fractions(rng):
    return {"tops": rng.integers(-1000, 1000, 3 * LANES, np.int64),
            "bottoms": rng.integers(1, 1 << 14, 3 * LANES, np.uint64), "sums": np.zeros(3 * LANES, np.int64),
            "values": np.zeros(3 * LANES), "terms": 3, "count": LANES}


INPUTS = {make.__name__: make for make in (membrane, flow, particles, correlation, fractions)}
LONG = "membrane", "flow"
"""Inlined, they take long to compile."""


def results(name, mode, arguments):
    image = compile_ptx(DOUBLES[name].read_text(), f"{name}.ptx", CompileOptions(calls=mode))[name]
    device = open_device("golden", "gtx480")
    job = Job((1, 1, 1), (128 if name == "particles" else 64, 1, 1), arguments)
    launch, arrays = start_job(device, device.load([image])[name], job)
    device.wait(launch, 5_000_000)
    return image, {key: array.get() for key, array in arrays.items()}


@pytest.mark.parametrize("name", quick(DOUBLES, ["fractions"]))
def test_calls_change_no_bit_of_the_results(name):
    arguments = INPUTS[name](np.random.default_rng(11))
    (called, got), (inlined, expected) = (results(name, mode, arguments) for mode in ("auto", "never"))
    assert lift(called).kernel.routines and not lift(inlined).kernel.routines
    assert len(called.code) < 0.8 * len(inlined.code)
    for key, values in expected.items():
        assert got[key].tobytes() == values.tobytes(), key
        if values.dtype.kind == "f":
            assert np.isfinite(values).mean() > 0.9, key


def test_fractions_are_what_integers_say():
    """An outside judge for the quotients of 64-bit integers, signed and unsigned."""
    arguments = fractions(np.random.default_rng(12))
    _, got = results("fractions", "auto", arguments)
    for k in range(LANES):
        top, bottom = 0, 1
        for t in range(3):
            other, under = int(arguments["tops"][3 * k + t]), int(arguments["bottoms"][3 * k + t]) | 1
            common = np.gcd(bottom, under)
            top, bottom = top * (under // common) + other * (bottom // common), bottom // common * under
            if bottom >> 40:
                top, bottom = abs(top) // 4096 * (-1 if top < 0 else 1), bottom // 4097
                bottom += not bottom
            assert got["values"][3 * k + t] == top / bottom
        quotient = abs(top) // bottom * (-1 if top < 0 else 1)
        assert got["sums"][3 * k:3 * k + 3].tolist() == [quotient, top - quotient * bottom, bottom % 1000003]
