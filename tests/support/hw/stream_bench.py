"""What the bench of a block with streams says: put a payload in, get one out, and how long it may take."""

from typing import Any

from amaranth.lib import data

from .simulation import Simulator

__all__ = ["get", "memory_port", "put", "put_all", "simulate", "steady", "value"]


def simulate(dut, *benches, watches=(), cycles=20000):
    """Run benches on a block until all have ended; `watches` end with them.

    Raises
    ------
    TimeoutError
        If they have not ended after so many cycles.
    """
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    for watch in watches:
        simulator.add_testbench(watch, background=True)
    simulator.run(limit=cycles * 1e-6)


async def put(ctx, port, payload, rng=None, stall=0.0):
    """Transfer one payload into an input stream, perhaps after a pause."""
    while rng and rng.random() < stall:
        await ctx.tick()
    ctx.set(port.payload, payload)
    ctx.set(port.valid, 1)
    await ctx.tick().until(port.ready)
    ctx.set(port.valid, 0)


def put_all(port, payloads, rng=None, stall=0.0):
    """Return a bench that puts payloads into an input stream one after the other."""
    async def source(ctx):
        for payload in payloads:
            await put(ctx, port, payload, rng, stall)
    return source


async def get(ctx, port, rng=None, stall=0.0):
    """Take one payload from an output stream, perhaps after a pause."""
    while rng and rng.random() < stall:
        await ctx.tick()
    ctx.set(port.ready, 1)
    payload, = await ctx.tick().sample(port.payload).until(port.valid)
    ctx.set(port.ready, 0)
    return payload


def memory_port(port, answer, lanes, rng, stall, asked, read):
    """Return a watch: a memory that answers each read with ``read(payload)``, one cycle after it takes it, else with
    random words; a 1 is appended to `asked` for each."""
    async def watch(ctx):
        while True:
            ctx.set(port.ready, rng.random() >= stall)
            _, _, valid, ready, payload = await ctx.tick().sample(port.valid, port.ready, port.payload)
            ctx.set(answer.valid, valid and ready)
            ctx.set(answer.data, read(payload) if valid and ready else [rng.getrandbits(32)] * lanes)
            asked.extend([1] * (valid and ready))
    return watch


def steady(port):
    """Return a watch: what an output stream offers stays until it is taken."""
    async def watch(ctx):
        held = None
        async for _, _, valid, ready, payload in ctx.tick().sample(port.valid, port.ready, port.payload):
            assert held is None or valid, "an offer was withdrawn"
            assert held is None or value(payload) == held, "an offer was changed"
            held = value(payload) if valid and not ready else None
    return watch


def value(payload: Any) -> Any:
    """Return what a payload holds, as numbers, lists and dictionaries."""
    if not isinstance(payload, data.Const):
        return int(payload)
    layout = payload.shape()
    if isinstance(layout, data.ArrayLayout):
        return [value(payload[k]) for k in range(layout.length)]
    return {name: value(payload[name]) for name, _ in layout}
