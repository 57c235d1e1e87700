"""The UART, bit by bit: any bytes at any pace, clocks that differ, glitches, breaks, missing stop bits."""

import random

import pytest

from caesura.hw.board.uart import Uart, UartReceiver, UartTransmitter
from support.hw.simulation import component
from support.hw.stream_bench import put_all, simulate
from support.selection import quick


async def send(ctx, rx, byte, cycles, stop=1):
    """Send a byte with bits of so many cycles, which need not be whole."""
    at = now = 0.0
    for bit in (0, *(byte >> k & 1 for k in range(8)), stop):
        ctx.set(rx, bit)
        at += cycles
        while now < at:
            await ctx.tick()
            now += 1
    ctx.set(rx, 1)


def taken(port, into):
    """Return a watch that takes what a stream offers."""
    async def watch(ctx):
        ctx.set(port.ready, 1)
        async for _, _, valid, byte in ctx.tick().sample(port.valid, port.payload):
            if valid:
                into.append(byte)
    return watch


@pytest.mark.parametrize("divisor, factor", quick(
    [(4, 1), (5, 1), (8, 1.03), (8, 0.97), (25, 1.04), (25, 0.96), (50, 1)], [(4, 1), (5, 1), (8, 1.03), (8, 0.97)]))
def test_bytes_of_a_clock_that_differs(divisor, factor):
    """Up to 4 % where a bit is 25 cycles; the worst is a byte's stop bit."""
    dut = component(Uart, divisor)
    rng = random.Random(divisor)
    sent, received = [0, 0xFF, 0x55, 0xAA, *rng.randbytes(20)], []

    async def host(ctx):
        ctx.set(dut.rx, 1)
        await ctx.tick().repeat(10)
        for byte in sent:
            await send(ctx, dut.rx, byte, divisor * factor)
            for _ in range(rng.choice([0, 0, 1, 40])):
                await ctx.tick()
        await ctx.tick().repeat(20)
    simulate(dut, host, watches=[taken(dut.received, received)], cycles=40000)
    assert received == sent


@pytest.mark.parametrize("divisor", [4, 7, 25])
def test_what_is_sent_comes_back(divisor):
    """Bytes without a gap, 10 bits each."""
    dut = component(Uart, divisor)
    sent, received = list(random.Random(7).randbytes(30)), []

    async def wire(ctx):
        ctx.set(dut.rx, 1)
        async for _, _, tx in ctx.tick().sample(dut.tx):
            ctx.set(dut.rx, tx)

    async def host(ctx):
        await put_all(dut.sent, sent)(ctx)
        await ctx.tick().repeat(11 * divisor)
    simulate(dut, host, watches=[wire, taken(dut.received, received)], cycles=10 * divisor * 32 + 50)
    assert received == sent


def test_a_glitch_is_no_byte():
    dut = component(UartReceiver, 8)
    received = []

    async def host(ctx):
        ctx.set(dut.rx, 1)
        for low in (1, 2, 3):
            await ctx.tick().repeat(20)
            ctx.set(dut.rx, 0)
            await ctx.tick().repeat(low)
            ctx.set(dut.rx, 1)
        await ctx.tick().repeat(100)
        await send(ctx, dut.rx, 0x5A, 8)
        await ctx.tick().repeat(20)
    simulate(dut, host, watches=[taken(dut.received, received)])
    assert received == [0x5A]


def test_a_byte_without_its_stop_bit_is_dropped():
    """So is a line that is low for long; the next byte is heard."""
    dut = component(UartReceiver, 8)
    received = []

    async def host(ctx):
        ctx.set(dut.rx, 1)
        await send(ctx, dut.rx, 0x11, 8)
        await send(ctx, dut.rx, 0x22, 8, stop=0)
        await ctx.tick().repeat(12)
        ctx.set(dut.rx, 0)
        await ctx.tick().repeat(500)
        ctx.set(dut.rx, 1)
        await ctx.tick().repeat(12)
        await send(ctx, dut.rx, 0x33, 8)
        await ctx.tick().repeat(20)
    simulate(dut, host, watches=[taken(dut.received, received)])
    assert received == [0x11, 0x33]


def test_a_byte_that_nobody_takes_gives_way_to_the_next():
    dut = component(UartReceiver, 4)

    async def host(ctx):
        ctx.set(dut.rx, 1)
        for byte in (1, 2):
            await send(ctx, dut.rx, byte, 4)
        await ctx.tick().repeat(5)
        assert ctx.get(dut.received.valid) and ctx.get(dut.received.payload) == 2
    simulate(dut, host)


@pytest.mark.parametrize("kind", [Uart, UartReceiver, UartTransmitter])
def test_too_few_cycles_of_a_bit(kind):
    with pytest.raises(ValueError, match="divisor must be 4 or more, not 3"):
        kind(3)
