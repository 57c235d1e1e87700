"""The TB supply of an SM beside a model: whose turn it is, and how many TBs the SM has got."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.dispatch.tb_supply import TbSupply
from support.hw.lockstep import lockstep, noise
from support.hw.simulation import component
from support.selection import quick

G = preset("tiny").replace(sms=3)


def anything(dut, rng, cycles):
    """Yield offers, requests and launches of any kernels, and whose turn it is."""
    g = dut.geometry
    kernels, every = range(g.kernel_slots), (1 << g.kernel_slots) - 1
    launched, order = [0] * g.kernel_slots, [*kernels]  # the one that launched longest ago is first
    for _ in range(cycles):
        offered, request = (rng.choice([every, rng.getrandbits(g.kernel_slots)]) for _ in range(2))
        adopted = noise(rng, dut.adopted.shape()) | {"valid": int(rng.random() < 0.1), "kernel": rng.choice(kernels)}
        advance = {"valid": int(rng.random() < 0.7), "kernel": rng.choice(kernels)}
        start, exhausted = every & rng.choice([0, 0, 0, 1 << rng.choice(kernels)]), rng.getrandbits(g.kernel_slots)
        places = noise(rng, dut.places.shape())
        turn = next((k for k in order if offered & request & 1 << k), None)
        outputs = {"fresh.next_valid": turn is not None, "launched": list(launched), "exhausted": exhausted,
                   "places": places}
        if turn is not None:
            outputs["fresh.next.kernel"] = turn
        yield {"port.offered": offered, "port.exhausted": exhausted, "port.places": places, "start": start,
               "fresh.request": request, "adopted": adopted, "fresh.advance": advance}, outputs
        if advance["valid"]:
            order.append(order.pop(order.index(advance["kernel"])))
        for k in kernels:
            if start >> k & 1:
                launched[k] = 0
            elif adopted["valid"] and adopted["kernel"] == k:
                launched[k] = adopted["progress"]["launched"]
            elif advance["valid"] and advance["kernel"] == k:
                launched[k] = (launched[k] + 1) % (1 << 32)


@pytest.mark.parametrize("slots", quick([3, 4], [3]))
def test_kernels_take_turns_and_are_counted(slots):
    dut = component(TbSupply, G.replace(kernel_slots=slots))
    lockstep(dut, anything(dut, random.Random(slots), 400))
