"""Predicate registers: the file against a dictionary, and the turns of its writers."""

import random

import pytest

from caesura.hw.arch.geometry import PREDICATES, preset
from caesura.hw.arch.isa.opcodes import PT
from caesura.hw.core.execute.overdue import MOST_WAIT
from caesura.hw.core.execute.predicates import PREDICATE_WRITERS, PredicateFile, PredicateWriteBack
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.selection import quick

GEOMETRIES = {"8x8": preset("tiny"), "16x4": preset("tiny").replace(warp_size=16, lanes=4, warps=6)}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_every_read_gives_what_was_written_since_the_warp_began(name):
    g, rng = GEOMETRIES[name], random.Random(name)
    dut, full = component(PredicateFile, g), (1 << g.warp_size) - 1

    async def bench(ctx):
        values, beat, writing = {}, 0, None

        def read(warp, predicate):
            return full if predicate == PT else values.get((warp, predicate), 0)

        for _ in range(250):
            if writing is None and rng.random() < 0.6:
                writing = {"warp": rng.randrange(g.warps), "predicate": rng.randrange(PREDICATES)}
                mask, bits, beat = rng.choice([full, rng.getrandbits(g.warp_size)]), rng.getrandbits(g.warp_size), 0
            write, restore, clear = {"valid": 0}, {"valid": 0}, {"valid": 0}
            others = [warp for warp in range(g.warps) if writing is None or warp != writing["warp"]]
            if writing is not None and rng.random() < 0.7:
                low, lanes = beat * g.lanes, (1 << g.lanes) - 1
                write = {"valid": 1, "write": {**writing, "beat": beat, "last": beat == g.beats - 1,
                                               "mask": mask >> low & lanes, "value": bits >> low & lanes}}
            if not write["valid"] and rng.random() < 0.3:
                restore = {"valid": 1, "write": {
                    "warp": others.pop(rng.randrange(len(others))), "predicate": rng.randrange(PREDICATES),
                    "value": rng.getrandbits(g.warp_size)}}
            if rng.random() < 0.1:
                clear = {"valid": 1, "warp": rng.choice(others)}
            for port, what in ((dut.write, write), (dut.restore, restore), (dut.clear, clear)):
                ctx.set(port, what)
            for _ in range(2):
                warp, numbers = rng.randrange(g.warps), [rng.randrange(PREDICATES + 1) for _ in range(4)]
                if writing is not None and beat and warp == writing["warp"]:
                    continue  # in the middle of a write
                ctx.set(dut.read.select, {"warp": warp, "guard": numbers[0], "pa": numbers[1], "pb": numbers[2]})
                ctx.set(dut.save_warp, warp)
                ctx.set(dut.save_select, numbers[3])
                got = [ctx.get(signal) for signal in (dut.read.guard, dut.read.pa, dut.read.pb, dut.save_value)]
                assert got == [read(warp, number) for number in numbers]
                assert ctx.get(dut.written) == sum(1 << p for p in range(PREDICATES) if (warp, p) in values)
            await ctx.tick()
            if clear["valid"]:
                values = {key: bits_ for key, bits_ in values.items() if key[0] != clear["warp"]}
            if restore["valid"]:
                whole = restore["write"]
                values[whole["warp"], whole["predicate"]] = whole["value"]
            if write["valid"]:
                beat += 1
                if beat == g.beats:
                    key, beat = (writing["warp"], writing["predicate"]), 0
                    values[key] = values.get(key, 0) & ~mask | bits & mask
                    writing = None

    simulate(dut, bench)


@pytest.mark.parametrize("alu", [0.0, 0.5, 1.0])
def test_results_of_the_alu_never_wait_and_the_others_take_turns(alu):
    """The ALU has a result in a cycle whenever it may issue: what throttling leaves is enough for the others."""
    g, rng, per_unit = GEOMETRIES["16x4"], random.Random(alu), 30
    dut = component(PredicateWriteBack, g)
    sent = {name: [{"warp": number % g.warps, "predicate": unit, "beat": 0, "last": 1, "mask": number % 16,
                    "value": rng.getrandbits(4)} for number in range(per_unit)]
            for unit, name in enumerate(PREDICATE_WRITERS)}
    streams = {name: getattr(dut, f"{name}_predicate") for name in PREDICATE_WRITERS}

    async def bench(ctx):
        left, order, allowed = {name: list(beats) for name, beats in sent.items()}, [], True
        ctx.set(dut.accepting, 1)
        for cycle in range(1000):
            result = {"valid": allowed and rng.random() < alu,
                      "write": {"warp": cycle % g.warps, "predicate": 6, "mask": 15, "value": cycle % 16}}
            ctx.set(dut.result, result)
            for name, port in streams.items():
                ctx.set(port.valid, bool(left[name]))
                if left[name]:
                    ctx.set(port.payload, left[name][0])
            taken = [name for name, port in streams.items() if left[name] and ctx.get(port.ready)]
            write = value(ctx.get(dut.write))
            assert write["valid"] == (bool(result["valid"]) or any(left.values()))
            if result["valid"]:
                assert not taken and {n: write["write"][n] for n in result["write"]} == result["write"]
            elif any(left.values()):
                assert len(taken) == 1 and write["write"] == left[taken[0]][0]
            allowed = not ctx.get(dut.throttle)
            assert allowed or any(left.values()), "held back for nobody"
            await ctx.tick()
            for name in taken:
                left[name].pop(0)
                order.append(name)
            if not any(left.values()):
                break
        assert len(order) == 3 * per_unit
        assert cycle <= 3 * per_unit * 4, "the others starve"
        assert all(set(order[at:at + 3]) == set(PREDICATE_WRITERS) for at in range(0, len(order), 3)), "not in turn"

    simulate(dut, bench)


@pytest.mark.parametrize("alu, units", quick(
    [(0.0, 0.0), (0.0, 1.0), (0.5, 0.5), (1.0, 0.0), (1.0, 1.0)], [(0.5, 0.5), (1.0, 1.0)]))
def test_restores_wait_for_everybody_else_but_not_for_ever(alu, units):
    """A restored predicate is written in a cycle without a beat: the next one if none writes, else before long."""
    g, rng, count = GEOMETRIES["16x4"], random.Random(f"{alu} {units}"), 40
    dut, waits = component(PredicateWriteBack, g), []
    streams = [getattr(dut, f"{name}_predicate") for name in PREDICATE_WRITERS]

    async def bench(ctx):
        ctx.set(dut.accepting, 1)
        allowed, waited = True, 0
        ctx.set(dut.restore.valid, 1)
        while len(waits) < count:
            payload = {"warp": len(waits) % g.warps, "predicate": len(waits) % PREDICATES, "value": len(waits)}
            ctx.set(dut.restore.payload, payload)
            ctx.set(dut.result, {"valid": allowed and rng.random() < alu, "write": {"warp": 1}})
            for port in streams:
                ctx.set(port.valid, rng.random() < units)
            taken, restored = ctx.get(dut.restore.ready), value(ctx.get(dut.restored))
            assert restored["valid"] == taken and not (taken and ctx.get(dut.write.valid))
            assert taken or ctx.get(dut.write.valid), "it waits for nobody"
            assert not taken or restored["write"] == payload
            allowed = not ctx.get(dut.throttle)
            await ctx.tick()
            waited += 1
            if taken:
                waits.append(waited - 1)
                waited = 0

    simulate(dut, bench, cycles=2000)
    assert max(waits) <= MOST_WAIT + 2
    assert max(waits) > 0 or not alu + units
