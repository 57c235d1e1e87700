# amaranth: UnusedElaboratable=no
"""The uncore between SMs and a memory that all let each other wait, on every stream: nothing is lost, doubled or given
to another."""

import random
from collections import Counter, deque

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.gpu.uncore import Uncore
from caesura.hw.interfaces.gpu_ports import SEGMENT_BITS
from caesura.hw.memory.axi import ID_BITS
from support.hw.memory_bench import Master
from support.hw.simulation import Simulator, component
from support.selection import quick

G = preset("tiny").replace(sms=3, queues=1, watches=3)
SIZE = 12 * 128
OKAY, DECODE_ERROR = 0, 3
CYCLES = 4000


class Memories:
    """Behind the bus of a device: a memory for each of its masters, told apart by the upper bits of AXI ids."""

    def __init__(self, axi, seed, stall):
        self.axi, self.rng, self.stall = axi, random.Random(seed), stall
        self.kept, self.answers = {}, Counter()

    def waits(self):
        return self.rng.random() < self.stall

    def of(self, number):
        return self.kept.setdefault(number >> ID_BITS, bytearray(SIZE))

    def read(self, burst, width):
        """Return the next beat of a burst that is read."""
        number, address, beats = burst
        far = address >= SIZE
        burst[1:] = address + width, beats - 1
        return {"rid": number, "rresp": DECODE_ERROR if far else OKAY, "rlast": beats == 1,
                "rdata": 0 if far else int.from_bytes(self.of(number)[address:address + width], "little")}

    def write(self, burst, data, strobe, width):
        number, address, _ = burst
        burst[1:] = address + width, burst[2] - 1
        for lane in range(width if address < SIZE else 0):
            if strobe >> lane & 1:
                self.of(number)[address + lane] = data >> 8 * lane & 0xFF
        return {"bid": number, "bresp": DECODE_ERROR if address >= SIZE else OKAY} if not burst[2] else None

    async def run(self, ctx):
        axi, width = self.axi, G.bus_bytes
        reads, writes, data, acks = deque(), deque(), deque(), deque()
        offered = {"r": None, "b": None}
        names = [f"{c}{n}" for c in ("ar", "aw") for n in ("valid", "id", "addr", "len")]
        names += ["wvalid", "wdata", "wstrb", "wlast", "rready", "bready"]
        while True:
            ready = {name: not self.waits() for name in ("ar", "aw", "w")}
            if offered["r"] is None and reads and not self.waits():
                offered["r"] = self.read(reads[0], width)
                if not reads[0][2]:
                    reads.popleft()
            if offered["b"] is None and acks and not self.waits():
                offered["b"] = acks.popleft()
            for name, value in ready.items():
                ctx.set(getattr(axi, f"{name}ready"), value)
            for name, fields in offered.items():
                ctx.set(getattr(axi, f"{name}valid"), fields is not None)
                for field, value in (fields or {}).items():
                    ctx.set(getattr(axi, field), value)
            _, _, *values = await ctx.tick().sample(*(getattr(axi, name) for name in names))
            seen = dict(zip(names, values, strict=True))
            for name, queue in (("ar", reads), ("aw", writes)):
                if seen[f"{name}valid"] and ready[name]:
                    queue.append([seen[f"{name}id"], seen[f"{name}addr"], seen[f"{name}len"] + 1])
            if seen["wvalid"] and ready["w"]:
                data.append((seen["wdata"], seen["wstrb"]))
            for name in offered:
                if offered[name] is not None and seen[f"{name}ready"]:
                    offered[name] = None
                    self.answers[name] += 1
            while data and writes:
                done = self.write(writes[0], *data.popleft(), width)
                if done is not None:
                    acks.append(done)
                    writes.popleft()


async def offer(ctx, stream, payloads, rng, rest):
    """Put payloads into a stream, which stay there until they are taken; with rests in between."""
    for payload in payloads:
        while rng.random() < rest:
            await ctx.tick()
        ctx.set(stream.payload, payload)
        ctx.set(stream.valid, 1)
        await ctx.tick().until(stream.ready)
        ctx.set(stream.valid, 0)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stall", quick([0.0, 0.3, 0.8], (0.3,)))
def test_buses_of_all_sms_share_a_memory_that_lets_them_wait(stall):
    """Each reads what it has written, whichever others wait, in both directions of every channel."""
    dut = component(Uncore, G)
    memories = Memories(dut.axi, f"memory {stall}", stall)
    masters = [Master(G, axi, SIZE, f"{n} {stall}", 24, stall)
               for n, axi in enumerate([*(sm.axi for sm in dut.sms), *(sm.context_axi for sm in dut.sms)])]
    left = {*range(len(masters))}
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(memories.run, background=True)
    for n, master in enumerate(masters):
        async def run(ctx, n=n, master=master):
            await master.run(ctx)
            left.remove(n)

        simulator.add_testbench(run, background=True)

    async def end(ctx):
        for _ in range(10 * CYCLES):
            await ctx.tick()
            if not left:
                return
        raise AssertionError(f"masters {left} wait for ever")

    simulator.add_testbench(end)
    simulator.run()
    assert len(memories.kept) == len(masters) and min(memories.answers.values()) > 50


@pytest.mark.timeout(300)
@pytest.mark.parametrize("rest", [0.0, 0.6])
def test_all_sms_hear_of_every_write_once(rest):
    """They write at the same time, so all but one have to wait."""
    dut = component(Uncore, G)
    told = [[rng.getrandbits(SEGMENT_BITS - 2) << 2 | n for _ in range(60)]
            for n, rng in enumerate(random.Random(f"{rest} {k}") for k in range(G.sms))]
    heard = [[] for _ in range(G.sms)]
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for n, sm in enumerate(dut.sms):
        async def write(ctx, n=n, sm=sm):
            await offer(ctx, sm.writes.wrote, told[n], random.Random(n), rest)

        async def listen(ctx, n=n, sm=sm):
            while True:
                _, _, written = await ctx.tick().sample(sm.writes.written)
                if written.valid:
                    heard[n].append(written.segment)

        simulator.add_testbench(write)
        simulator.add_testbench(listen, background=True)

    async def end(ctx):
        await ctx.tick().repeat(CYCLES // 4)

    simulator.add_testbench(end)
    simulator.run()
    assert all(each == heard[0] for each in heard)
    assert [[segment for segment in heard[0] if segment & 3 == n] for n in range(G.sms)] == told


@pytest.mark.timeout(300)
def test_segments_are_owned_by_one_sm_at_a_time():
    """SMs that want the same few, which have a lock each, wait for each other; each gets all that it asks for."""
    dut = component(Uncore, G)
    owned, got = {}, Counter()
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for n, sm in enumerate(dut.sms):
        async def own(ctx, n=n, order=sm.order):
            rng = random.Random(n)
            for _ in range(80):
                segment = rng.randrange(4)
                ctx.set(order.take.payload, segment)
                ctx.set(order.take.valid, 1)
                await ctx.tick().until(order.take.ready)
                ctx.set(order.take.valid, 0)
                assert owned.setdefault(segment, n) == n, f"{owned} and {n}"
                got[n] += 1
                await ctx.tick().repeat(rng.randrange(1, 12))
                ctx.set(order.give, {"valid": 1, "segment": segment})
                del owned[segment]
                await ctx.tick()
                ctx.set(order.give, {"valid": 0})

        simulator.add_testbench(own)
    simulator.run()
    assert got == dict.fromkeys(range(G.sms), 80)
