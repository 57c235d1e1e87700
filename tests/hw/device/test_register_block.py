"""The register block: every register at its address, commands, events, and the way through to the kernel slots."""

import functools
import random

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.registers import UNLIMITED_PATIENCE, register_map
from caesura.hw.device.register_block import KERNEL_BASE, RegisterBlock, value_layout
from support.hw.stream_bench import simulate

G = preset("tiny").replace(kernel_slots=3)
MAP = register_map()


def run(bench):
    dut = RegisterBlock(G)
    simulate(dut, functools.partial(bench, dut))


async def read(dut, ctx, address):
    ctx.set(dut.address, address)
    await ctx.tick()
    return ctx.get(dut.read_data)


async def write(dut, ctx, path, value):
    ctx.set(dut.address, MAP[path].address)
    ctx.set(dut.write_data, value)
    ctx.set(dut.write, 1)
    await ctx.tick()
    ctx.set(dut.write, 0)


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
            ctx.set(dut.address, register.address)
            ctx.set(dut.write_data, 0xDEADBEEF)
            ctx.set(dut.write, 1)
            slot, offset = divmod(register.address - KERNEL_BASE, 0x200)
            port = ctx.get(dut.table_write)
            assert (port.valid, port.kernel, port.word, port.data) == (1, slot, offset // 4, 0xDEADBEEF)
            assert ctx.get(dut.table_select.kernel) == slot and ctx.get(dut.table_select.word) == offset // 4
            await ctx.tick()
            ctx.set(dut.write, 0)
            ctx.set(dut.table_data, 0x1234)
            assert ctx.get(dut.read_data) == 0x1234
            assert ctx.get(dut.table_write.valid) == 0
        assert await read(dut, ctx, MAP["status"].address) == 0, "table data only for the kernel slots"
        ctx.set(dut.write, 1)
        assert ctx.get(dut.table_write.valid) == 0

    run(bench)


def test_a_command_is_valid_in_the_cycle_it_is_written():
    async def bench(dut, ctx):
        fields = {"op": 2, "kernel": 5, "mechanism": 1, "scramble": 1}
        ctx.set(dut.address, MAP["command"].address)
        ctx.set(dut.write_data, MAP["command"].pack(**fields))
        assert ctx.get(dut.command.valid) == 0
        ctx.set(dut.write, 1)
        assert ctx.get(dut.command.valid) == 1
        assert {name: ctx.get(dut.command[name]) for name in fields} == fields
        ctx.set(dut.address, MAP["status"].address)
        assert ctx.get(dut.command.valid) == 0

    run(bench)


def test_events_stick_until_written_with_one_and_a_set_wins_over_a_clear():
    event = MAP["event"]

    async def bench(dut, ctx):
        assert ctx.get(dut.interrupt) == 0
        ctx.set(dut.event_set.finished, 0b100)
        ctx.set(dut.event_set.fault, 1)
        await ctx.tick()
        ctx.set(dut.event_set.finished, 0)
        ctx.set(dut.event_set.fault, 0)
        both = event.pack(finished=0b100, fault=1)
        assert await read(dut, ctx, event.address) == both and ctx.get(dut.interrupt) == 1
        await write(dut, ctx, "event", event.pack(finished=0b11, fault=1))
        assert await read(dut, ctx, event.address) == event.pack(finished=0b100)
        ctx.set(dut.event_set.finished, 0b100)
        ctx.set(dut.write_data, 0xFFFF_FFFF)
        ctx.set(dut.write, 1)
        assert ctx.get(dut.event_clear.finished) == 0xFF
        await ctx.tick()
        ctx.set(dut.event_set.finished, 0)
        ctx.set(dut.write, 0)
        assert await read(dut, ctx, event.address) == event.pack(finished=0b100)
        await write(dut, ctx, "event", 0xFFFF_FFFF)
        assert await read(dut, ctx, event.address) == 0 and ctx.get(dut.interrupt) == 0

    run(bench)


def test_patience_is_without_a_bound_until_it_is_written():
    async def bench(dut, ctx):
        assert ctx.get(dut.patience) == UNLIMITED_PATIENCE == await read(dut, ctx, MAP["patience"].address)
        for value in (0, 1, 0x8000_0001, UNLIMITED_PATIENCE):
            await write(dut, ctx, "patience", value)
            await write(dut, ctx, "inspect", 0x0305)
            assert ctx.get(dut.patience) == value == await read(dut, ctx, MAP["patience"].address)

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
