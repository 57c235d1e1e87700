"""AXI4-Lite access to the registers: every register and field of the map, any order and pace, rules of the bus."""

import functools
import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.registers import register_map
from caesura.hw.control.axi_lite import AxiLiteHost, AxiLitePort, Response
from caesura.hw.control.register_block import RegisterBlock, value_layout
from caesura.hw.control.register_ports import KERNEL_BASE, KERNEL_STRIDE
from support.hw.simulation import component
from support.hw.stream_bench import simulate
from support.selection import quick

G = preset("tiny").replace(kernel_slots=3, watches=3, entries=6, proactive=True)
"""With every register that an SM may have."""
MAP = register_map()
CHANNELS = {"aw": ("awaddr", "awprot"), "w": ("wdata", "wstrb"), "ar": ("araddr", "arprot")}


class Registers(wiring.Component):
    """A register block behind the bridge, with the kernel slots' words in a plain memory."""

    axi: AxiLitePort
    interrupt: Signal

    def __init__(self):
        self.block, self.bridge = RegisterBlock(G), AxiLiteHost()
        super().__init__({"axi": In(AxiLitePort()), "interrupt": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.bridge = bridge = self.bridge
        m.submodules.block = block = self.block
        m.submodules.table = table = Memory(shape=32, depth=8 * KERNEL_STRIDE // 4, init=[])
        store, load = table.write_port(), table.read_port()
        wiring.connect(m, wiring.flipped(self.axi), bridge.axi)
        wiring.connect(m, bridge.host, block.host)
        m.d.comb += [
            self.interrupt.eq(bridge.interrupt),
            store.addr.eq(block.table.write.kernel * (KERNEL_STRIDE // 4) + block.table.write.word),
            store.data.eq(block.table.write.data), store.en.eq(block.table.write.valid),
            load.addr.eq(block.table.select.kernel * (KERNEL_STRIDE // 4) + block.table.select.word),
            block.table.read_data.eq(load.data),
        ]
        return m


class Master:
    """Drives the channels, each at a pace of its own; what is offered stays until it is taken."""

    def __init__(self, ctx, axi, rng=None, stall=0.0):
        self.ctx, self.axi, self.rng, self.stall = ctx, axi, rng, stall

    def waits(self):
        return self.rng is not None and self.rng.random() < self.stall

    async def send(self, channel, *values):
        """Offer something on one channel, and wait until it is taken."""
        ctx, axi = self.ctx, self.axi
        for name, value in zip(CHANNELS[channel], values, strict=True):
            ctx.set(getattr(axi, name), value)
        ctx.set(getattr(axi, f"{channel}valid"), 1)
        await ctx.tick().until(getattr(axi, f"{channel}ready"))
        ctx.set(getattr(axi, f"{channel}valid"), 0)

    async def take(self, channel, *names):
        """Wait for a response, and take it."""
        ctx, axi = self.ctx, self.axi
        while self.waits():
            await ctx.tick()
        ctx.set(getattr(axi, f"{channel}ready"), 1)
        values = await ctx.tick().sample(*(getattr(axi, name) for name in names)).until(getattr(axi, f"{channel}valid"))
        ctx.set(getattr(axi, f"{channel}ready"), 0)
        return values

    async def write(self, address, data, strobes=0xF):
        ctx, axi = self.ctx, self.axi
        ctx.set(axi.wdata, data)
        ctx.set(axi.wstrb, strobes)
        ctx.set(axi.wvalid, 1)
        await self.send("aw", address, 0)
        ctx.set(axi.wvalid, 0)
        response, = await self.take("b", "bresp")
        return Response(response)

    async def read(self, address):
        await self.send("ar", address, 0)
        data, response = await self.take("r", "rdata", "rresp")
        assert response == Response.OKAY
        return data


def run(scenario, *watches):
    """Run a scenario of one master; each watch gets the registers, too."""
    dut = component(Registers)

    async def bench(ctx):
        await scenario(ctx, dut, Master(ctx, dut.axi))

    simulate(dut, bench, watches=[functools.partial(watch, dut) for watch in watches], cycles=60_000)


def exists(register):
    return register.exists(G) and register.address < KERNEL_BASE + G.kernel_slots * KERNEL_STRIDE


@pytest.mark.parametrize("path", quick(
    [path for path, register in MAP.items() if exists(register)],
    [path for path in MAP if not path.startswith(("kernel[0]", "kernel[1]"))]))
def test_every_field_is_where_the_map_says(path):
    """What software writes it reads back, bits that are no field read 0, and what the machine drives is seen."""
    register = MAP[path]

    async def scenario(ctx, dut, master):
        for field in register.fields.values():
            most = (1 << field.width) - 1
            for value in {0, 1, most, most // 3, 1 << field.width - 1}:
                word = register.pack(**{field.name: value})
                if path in value_layout(G).members:
                    for other in register.fields:
                        ctx.set(dut.block.values[path][other], 0)
                    ctx.set(dut.block.values[path][field.name], value)
                    assert await master.write(register.address, 0xFFFF_FFFF) is Response.OKAY
                    assert await master.read(register.address) == word, field.name
                elif register.clear_on_one:
                    ctx.set(dut.block.events.set[field.name], value)
                    await ctx.tick()
                    ctx.set(dut.block.events.set[field.name], 0)
                    assert await master.read(register.address) == word and ctx.get(dut.interrupt) == bool(value)
                    assert await master.write(register.address, word) is Response.OKAY
                    assert await master.read(register.address) == 0 and not ctx.get(dut.interrupt)
                elif register.readable and register.writable:
                    assert await master.write(register.address, word) is Response.OKAY
                    assert await master.read(register.address) == word, field.name

    run(scenario)


def test_no_register_of_the_map_is_left_out():
    assert all(register.exists(G) for register in MAP.values())


def test_each_field_of_a_command_is_given():
    register, seen = MAP["command"], []
    fields = [(field, value) for field in register.fields.values()
              for value in sorted({0, 1, (1 << field.width) - 1, 1 << field.width - 1})]

    async def scenario(ctx, dut, master):
        for field, value in fields:
            assert await master.write(register.address, register.pack(**{field.name: value})) is Response.OKAY

    async def commands(dut, ctx):
        async for _, _, command in ctx.tick().sample(dut.block.commands.command):
            if command.valid:
                seen.append({name: int(getattr(command, name)) for name in register.fields})

    run(scenario, commands)
    assert seen == [dict.fromkeys(register.fields, 0) | {field.name: value} for field, value in fields]


def test_a_command_is_given_once_by_a_whole_write():
    seen = []

    async def scenario(ctx, dut, master):
        register = MAP["command"]
        word = register.pack(op=3, kernel=2, gang=1)
        for strobes, response in ((0b0111, Response.SLVERR), (0, Response.OKAY), (0b1000, Response.SLVERR),
                                  (0xF, Response.OKAY)):
            assert await master.write(register.address, word, strobes) is response
        assert await master.read(register.address) == 0

    async def commands(dut, ctx):
        async for _, _, command in ctx.tick().sample(dut.block.commands.command):
            if command.valid:
                seen.append((command.op, command.kernel, command.gang))

    run(scenario, commands)
    assert seen == [(3, 2, 1)]


@pytest.mark.parametrize("seed", range(3))
def test_reads_and_writes_at_any_pace_are_those_of_a_dictionary(seed):
    """Reads and writes of two masters of their own; each answer in order, and what is offered stays as it is."""
    dut, rng = component(Registers), random.Random(seed)
    words = [MAP[f"kernel[{k}].{name}"].address for k in range(3)
             for name in ("code_base", "param_base", "window_end[1]")]
    count, stall = 120, (0.0, 0.3, 0.7)[seed]
    log: list[tuple] = []
    held: dict[int, int] = {}
    writes = [(rng.choice(words), rng.getrandbits(32), rng.choice((0xF, 0xF, 0xF, 0x3, 0))) for _ in range(count)]
    reads = [rng.choice(words) for _ in range(count)]
    found, answers = [], []

    def source(channel, payloads):
        own = random.Random(f"{seed}{channel}")

        async def bench(ctx):
            master = Master(ctx, dut.axi, own, stall)
            for payload in payloads:
                while master.waits():
                    await ctx.tick()
                await master.send(channel, *payload)
        return bench

    def sink(channel, names, into):
        own = random.Random(f"{seed}{channel}")

        async def bench(ctx):
            master = Master(ctx, dut.axi, own, stall)
            while len(into) < count:
                into.append(await master.take(channel, *names))
        return bench

    async def order(ctx):
        """Note what is carried out, in its order."""
        bridge, host = dut.bridge, dut.bridge.host
        async for _, _, write, read, address, word in ctx.tick().sample(host.write, bridge.read, host.address,
                                                                        host.write_data):
            assert not (write and read)
            if write or read:
                log.append((address, word if write else None))

    async def rules(ctx):
        axi = dut.axi
        before = None
        async for _, _, bv, br, bresp, rv, rr, rdata in ctx.tick().sample(
                axi.bvalid, axi.bready, axi.bresp, axi.rvalid, axi.rready, axi.rdata):
            if before:
                b, r = before
                assert b is None or (bv, bresp) == (1, b)
                assert r is None or (rv, rdata) == (1, r)
            before = bresp if bv and not br else None, rdata if rv and not rr else None

    simulate(dut, source("aw", [(a, 0) for a, _, _ in writes]), source("w", [(d, s) for _, d, s in writes]),
             source("ar", [(a, 0) for a in reads]), sink("b", ("bresp",), answers), sink("r", ("rdata",), found),
             watches=[order, rules])
    expected = []
    for address, word in log:
        if word is None:
            expected.append(held.get(address, 0))
        else:
            held[address] = word
    assert [entry for entry in log if entry[1] is not None] == [(a, d) for a, d, s in writes if s == 0xF]
    assert [address for address, word in log if word is None] == reads
    assert [data for data, in found] == expected
    assert [Response(value) for value, in answers] == [
        Response.SLVERR if s not in (0, 0xF) else Response.OKAY for _, _, s in writes]


@pytest.mark.parametrize("writes, reads", [(1, 1), (1, 0), (0, 1)])
def test_an_access_a_cycle_and_neither_side_starves(writes, reads):
    dut, cycles, filling = component(Registers), 60, 8
    names = "awready", "wready", "arready", "bvalid", "rvalid"
    counts = dict.fromkeys(names, 0)

    async def bench(ctx):
        axi = dut.axi
        for name, value in (("awvalid", writes), ("wvalid", writes), ("arvalid", reads), ("bready", 1), ("rready", 1),
                            ("wstrb", 0xF), ("awaddr", MAP["kernel[0].code_base"].address)):
            ctx.set(getattr(axi, name), value)
        for cycle in range(filling + cycles):
            *_, aw, w, ar, b, r = await ctx.tick().sample(*(getattr(axi, name) for name in names))
            if cycle >= filling:
                for name, now in zip(names, (aw * writes, w * writes, ar * reads, b, r), strict=True):
                    counts[name] += now

    simulate(dut, bench)
    wrote, read = cycles * writes // (1 + reads), cycles * reads // (1 + writes)
    assert counts == {"awready": wrote, "wready": wrote, "bvalid": wrote, "arready": read, "rvalid": read}
