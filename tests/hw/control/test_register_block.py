"""The register block: every register at its address, commands, events, and the way through to the kernel slots."""

import functools
import itertools
import random

import pytest

from caesura.hw.arch.geometry import SEGMENT_BYTES, preset
from caesura.hw.arch.registers import UNLIMITED_PATIENCE, register_map
from caesura.hw.control.register_block import RegisterBlock, value_layout
from caesura.hw.control.register_ports import KERNEL_BASE, KERNEL_STRIDE
from support.hw.lockstep import lockstep, number
from support.hw.simulation import component
from support.hw.stream_bench import simulate
from support.selection import quick

G = preset("tiny").replace(kernel_slots=3)
MAP = register_map()


def run(bench):
    dut = RegisterBlock(G)
    simulate(dut, functools.partial(bench, dut))


async def read(dut, ctx, address):
    ctx.set(dut.host.address, address)
    await ctx.tick()
    return ctx.get(dut.host.read_data)


async def write(dut, ctx, path, value):
    ctx.set(dut.host.address, MAP[path].address)
    ctx.set(dut.host.write_data, value)
    ctx.set(dut.host.write, 1)
    await ctx.tick()
    ctx.set(dut.host.write, 0)


def test_hardware_driven_registers_read_their_fields_one_cycle_later():
    rng = random.Random(1)

    async def bench(dut, ctx):
        expected = {}
        for path in value_layout(G).members:
            for field in MAP[path].fields.values():
                value = rng.getrandbits(field.width)
                ctx.set(dut.values[path][field.name], value)
                expected[path] = expected.get(path, 0) | value << field.low
        assert "kernel[2].launched" in expected and "kernel[3].launched" not in expected
        await ctx.tick()
        for path, value in expected.items():
            assert await read(dut, ctx, MAP[path].address) == value, path
        addresses = {r.address for r in MAP.values()}
        for address in set(range(0, KERNEL_BASE, 4)) - addresses:
            assert await read(dut, ctx, address) == 0, hex(address)
        assert await read(dut, ctx, MAP["kernel[3].state"].address) == 0

    run(bench)


def test_kernel_slots_are_passed_through_with_one_cycle_latency():
    async def bench(dut, ctx):
        for path in ("kernel[0].code_base", "kernel[1].param_bytes", "kernel[2].window_end[7]", "kernel[7].param_base"):
            register = MAP[path]
            ctx.set(dut.host.address, register.address)
            ctx.set(dut.host.write_data, 0xDEADBEEF)
            ctx.set(dut.host.write, 1)
            slot, offset = divmod(register.address - KERNEL_BASE, 0x200)
            port = ctx.get(dut.table.write)
            assert (port.valid, port.kernel, port.word, port.data) == (1, slot, offset // 4, 0xDEADBEEF)
            assert ctx.get(dut.table.select.kernel) == slot and ctx.get(dut.table.select.word) == offset // 4
            await ctx.tick()
            ctx.set(dut.host.write, 0)
            ctx.set(dut.table.read_data, 0x1234)
            assert ctx.get(dut.host.read_data) == 0x1234
            assert ctx.get(dut.table.write.valid) == 0
        assert await read(dut, ctx, MAP["status"].address) == 0, "table data only for the kernel slots"
        ctx.set(dut.host.write, 1)
        assert ctx.get(dut.table.write.valid) == 0

    run(bench)


def test_a_command_is_valid_in_the_cycle_it_is_written():
    async def bench(dut, ctx):
        fields = {"op": 2, "kernel": 5, "mechanism": 1, "scramble": 1}
        ctx.set(dut.host.address, MAP["command"].address)
        ctx.set(dut.host.write_data, MAP["command"].pack(**fields))
        assert ctx.get(dut.commands.command.valid) == 0
        ctx.set(dut.host.write, 1)
        assert ctx.get(dut.commands.command.valid) == 1
        assert {name: ctx.get(dut.commands.command[name]) for name in fields} == fields
        ctx.set(dut.host.address, MAP["status"].address)
        assert ctx.get(dut.commands.command.valid) == 0

    run(bench)


def test_events_stick_until_written_with_one_and_a_set_wins_over_a_clear():
    event = MAP["event"]

    async def bench(dut, ctx):
        assert ctx.get(dut.host.interrupt) == 0
        ctx.set(dut.events.set.finished, 0b100)
        ctx.set(dut.events.set.fault, 1)
        await ctx.tick()
        ctx.set(dut.events.set.finished, 0)
        ctx.set(dut.events.set.fault, 0)
        both = event.pack(finished=0b100, fault=1)
        assert await read(dut, ctx, event.address) == both and ctx.get(dut.host.interrupt) == 1
        await write(dut, ctx, "event", event.pack(finished=0b11, fault=1))
        assert await read(dut, ctx, event.address) == event.pack(finished=0b100)
        ctx.set(dut.events.set.finished, 0b100)
        ctx.set(dut.host.write_data, 0xFFFF_FFFF)
        ctx.set(dut.host.write, 1)
        assert ctx.get(dut.events.clear.finished) == 0xFF
        await ctx.tick()
        ctx.set(dut.events.set.finished, 0)
        ctx.set(dut.host.write, 0)
        assert await read(dut, ctx, event.address) == event.pack(finished=0b100)
        await write(dut, ctx, "event", 0xFFFF_FFFF)
        assert await read(dut, ctx, event.address) == 0 and ctx.get(dut.host.interrupt) == 0

    run(bench)


def test_patience_is_without_a_bound_until_it_is_written():
    async def bench(dut, ctx):
        assert ctx.get(dut.commands.patience) == UNLIMITED_PATIENCE == await read(dut, ctx, MAP["patience"].address)
        for value in (0, 1, 0x8000_0001, UNLIMITED_PATIENCE):
            await write(dut, ctx, "patience", value)
            await write(dut, ctx, "inspect", 0x0305)
            assert ctx.get(dut.commands.patience) == value == await read(dut, ctx, MAP["patience"].address)

    run(bench)


def test_the_guaranteed_share_is_an_eighth_after_a_reset_and_stored():
    async def bench(dut, ctx):
        assert ctx.get(dut.bus_share.beats) == MAP["bus_share"].reset == 32
        assert await read(dut, ctx, MAP["bus_share"].address) == 32
        await write(dut, ctx, "bus_share", 0xFFFF_FF85)
        assert ctx.get(dut.bus_share.beats) == 5 and ctx.get(dut.inspect.warp) == 0
        assert await read(dut, ctx, MAP["bus_share"].address) == 5

    run(bench)


def test_inspect_select_is_stored_and_read_only_registers_ignore_writes():
    async def bench(dut, ctx):
        await write(dut, ctx, "inspect", 0xFFFF_0305)
        assert ctx.get(dut.inspect.warp) == 5 and ctx.get(dut.inspect.entry) == 3
        assert await read(dut, ctx, MAP["inspect"].address) == 0x0305
        await write(dut, ctx, "status", 0xFFFF_FFFF)
        assert await read(dut, ctx, MAP["status"].address) == 0

    run(bench)


STORED = ("inspect", "patience", "grace", "spared", "bus_share")
"""Registers that the block holds itself, besides those of events."""
PORTS = {**dict.fromkeys(("address", "write", "write_data", "read_data", "interrupt"), "host.{}"),
         **dict.fromkeys(("command", "patience", "grace", "spared", "newcomer", "announce"),
                         "commands.{}"),
         "event": "events.pending", "event_set": "events.set", "event_clear": "events.clear",
         "table_select": "table.select", "table_write": "table.write", "table_data": "table.read_data"}
"""Where the model's inputs and outputs are in the ports of the block, if elsewhere."""


ANNOUNCED = "announce", "announce_cycles", "announce_expiry"


def by_port(values):
    """Return the model's inputs or outputs by the names of `lockstep`."""
    return {PORTS.get(name, name).format(name): value for name, value in values.items()}


class Model:
    """What is stored, and what the access of the last cycle reads."""

    def __init__(self, g):
        stored = STORED + ("newcomer",) * g.in_place + ("notify_begin", "notify_end") * (g.watches > 0)
        stored += ANNOUNCED * g.proactive
        self.g, self.stored = g, {path: MAP[path].reset or 0 for path in stored}
        self.places = {MAP[path].address // 4: path for path in (*value_layout(g).members, *stored, "event")}
        self.event, self.read, self.told = 0, 0, 0
        self.slots = 1 << len(component(RegisterBlock, g).table.select.kernel)

    def outputs(self, given):
        """What follows from the inputs in the same cycle."""
        address, data = given["address"], given["write_data"]
        own = {path: self.stored.get(path, 0) for path in (*STORED, "newcomer")}
        command = address // 4 == MAP["command"].address // 4 and given["write"]
        slot, word = address // KERNEL_STRIDE % self.slots, address % KERNEL_STRIDE // 4
        outputs = own | {
            "read_data": given["table_data"] if self.read is None else self.read, "event": self.event,
            "interrupt": self.event != 0,
            "command": {"valid": command, **{f.name: data >> f.low & (1 << f.width) - 1
                                             for f in MAP["command"].fields.values()}},
            "event_clear": self.clears(given), "table_select": {"word": word, "kernel": slot},
            "table_write": {"valid": given["write"] and address >= KERNEL_BASE, "kernel": slot, "word": word,
                            "data": data}}
        if self.g.watches:
            ends = (self.stored["notify_end"] - 1) % (1 << 32)
            outputs["notice"] = {"valid": self.told, "first": self.stored["notify_begin"] // SEGMENT_BYTES,
                                 "last": ends // SEGMENT_BYTES}
        if self.g.proactive:
            hit = given["write"] and address // 4 == MAP["announce"].address // 4
            outputs["announce"] = {
                "valid": hit, "cycles": self.stored["announce_cycles"], "expiry": self.stored["announce_expiry"],
                "patience": self.stored["patience"],
                **{f.name: data >> f.low & (1 << f.width) - 1 for f in MAP["announce"].fields.values()}}
        return outputs

    def clears(self, given):
        hit = given["write"] and given["address"] // 4 == MAP["event"].address // 4
        return given["write_data"] & mask("event") if hit else 0

    def step(self, given):
        """Go on by a cycle."""
        address, layout = given["address"], value_layout(self.g)
        path = self.places.get(address // 4)
        if path is None:
            self.read = None if address >= KERNEL_BASE else 0
        elif path in layout.members:
            self.read = given["values"] >> layout[path].offset & mask(path)
        else:
            self.read = self.event if path == "event" else self.stored[path]
        self.event = self.event & ~self.clears(given) | given["event_set"] & mask("event")
        self.told = int(path == "notify_end" and given["write"] and given["write_data"] != 0)
        if given["write"] and path in self.stored:
            self.stored[path] = given["write_data"] & mask(path)


def mask(path):
    """Bits of a register that mean something."""
    return sum((1 << field.width) - 1 << field.low for field in MAP[path].fields.values())


def accesses(dut, rng, cycles, model):
    """Yield accesses of all registers, and of addresses that hold none."""
    addresses = [register.address for register in MAP.values()]
    held = [MAP[path].address for path in (*model.places.values(), "command")]
    some = [address for address in held if address < KERNEL_BASE]
    values = 0
    for _ in range(cycles):
        values = rng.getrandbits(value_layout(dut.geometry).size) if rng.random() < 0.1 else values
        event_set = rng.getrandbits(32) & rng.getrandbits(32) if rng.random() < 0.2 else 0
        clears = {"address": MAP["event"].address, "write": 1} if rng.random() < 0.1 else {}
        given = {"address": (rng.choice(rng.choice((addresses, held, some))) if rng.random() < 0.95 else number(
                     rng, len(dut.host.address))) | rng.getrandbits(2),
                 "write": int(rng.random() < 0.4), "write_data": number(rng, 32), "values": values,
                 "event_set": event_set, "table_data": rng.getrandbits(32), **clears}
        yield by_port(given), by_port(model.outputs(given))
        model.step(given)


@pytest.mark.parametrize("name, cycles", quick(itertools.product(("plain", "watches", "proactive"), (400, 6000)),
                                               [("plain", 400), ("proactive", 400)]))
def test_any_accesses_give_what_a_model_gives(name, cycles):
    g = {"plain": G, "watches": G.replace(watches=3, entries=6, in_place=False, traps=False),
         "proactive": G.replace(proactive=True)}[name]
    dut = component(RegisterBlock, g)
    lockstep(dut, accesses(dut, random.Random(name), cycles, Model(g)))
