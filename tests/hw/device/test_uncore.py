# amaranth: UnusedElaboratable=no
"""The uncore between SMs and a memory that all let each other wait, on every stream: nothing is lost, doubled or given
to another. A queue describes and starts its kernels on all SMs, and completes them. Registers and TBs are those of
models, in every cycle."""

import random
from collections import Counter, deque

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.geometry import SEGMENT_BYTES, preset
from caesura.hw.arch.packets import (
    DISPATCH,
    KERNEL_OBJECT,
    KERNEL_OBJECT_MAGIC,
    PACKET_BYTES,
    SIGNAL_END,
    SIGNAL_START,
    SIGNAL_VALUE,
    PacketType,
    QueueState,
)
from caesura.hw.arch.registers import device_register_map, register_map
from caesura.hw.device.queues.queue_registers import WRITTEN
from caesura.hw.device.register_fan_out import RegisterFanOut
from caesura.hw.device.tb_dispatcher import LeastLoaded
from caesura.hw.device.uncore import Uncore
from caesura.hw.interfaces.gpu_ports import SEGMENT_BITS
from caesura.hw.memory.axi import ID_BITS, INCREMENTING
from support.hw.lockstep import lockstep
from support.hw.memory_bench import Master
from support.hw.simulation import Simulator, component
from support.models.register_fan_out_model import Registers, accesses
from support.models.tb_dispatcher_model import Dispatcher, any_grid
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
        names += [f"{c}{n}" for c in ("ar", "aw") for n in ("size", "burst")]
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
                    assert (1 << seen[f"{name}size"], seen[f"{name}burst"]) == (width, INCREMENTING)
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


class Ring(Memories):
    """Memory of a queue, which lies anywhere; only the queue processor uses it."""

    def __init__(self, axi, seed, stall):
        super().__init__(axi, seed, stall)
        self.bytes = {}

    def put(self, address, word, size):
        self.bytes |= {address + k: word >> 8 * k & 0xFF for k in range(size)}

    def get(self, address, size):
        return sum(self.bytes.get(address + k, 0) << 8 * k for k in range(size))

    def read(self, burst, width):
        number, address, beats = burst
        assert number >> ID_BITS == G.sms and address // SEGMENT_BYTES == (address + beats * width - 1) // SEGMENT_BYTES
        burst[1:] = address + width, beats - 1
        return {"rid": number, "rresp": OKAY, "rlast": beats == 1, "rdata": self.get(address, width)}

    def write(self, burst, data, strobe, width):
        number, address, _ = burst
        assert number >> ID_BITS == G.sms
        burst[1:] = address + width, burst[2] - 1
        for lane in range(width):
            if strobe >> lane & 1:
                self.bytes[address + lane] = data >> 8 * lane & 0xFF
        return None if burst[2] else {"bid": number, "bresp": OKAY}


class Runners:
    """SMs that take every command and run what is started for a while; `started` has the cycle and what the registers
    of each SM were then, by kernel slot and by number of the start."""

    def __init__(self, dut, rng):
        self.dut, self.rng, self.cycle = dut, rng, 0
        self.registers = [{} for _ in dut.sms]
        self.started, self.ends, self.heard = [], {}, [[] for _ in dut.sms]

    async def run(self, ctx):
        dut, command = self.dut, register_map()["command"]
        for sm in dut.sms:
            ctx.set(sm.report.accepted, 1)
        while True:
            _, _, *values = await ctx.tick().sample(*(signal for sm in dut.sms for signal in (
                sm.write, sm.address, sm.write_data, sm.writes.written)))
            for i, registers in enumerate(self.registers):
                write, address, word, written = values[4 * i:4 * i + 4]
                if write:
                    registers[address] = word
                if written.valid:
                    self.heard[i].append(written.segment)
            if values[0] and values[1] == command.address:
                fields = command.unpack(values[2])
                assert fields["op"] == Command.START and all(each == values[:3] for each in (values[4:7], values[8:11]))
                self.started.append((self.cycle, fields["kernel"], [dict(each) for each in self.registers]))
                self.state(ctx, fields["kernel"], KernelState.RUNNING)
                self.ends[fields["kernel"]] = self.cycle + self.rng.randrange(2, 200)
            for kernel, end in [*self.ends.items()]:
                if end == self.cycle:
                    del self.ends[kernel]
                    self.state(ctx, kernel, KernelState.FINISHED)
            self.cycle += 1

    def state(self, ctx, kernel, state):
        for sm in self.dut.sms:
            ctx.set(sm.report.states[kernel], state)


def a_kernel(rng):
    """A packet, its kernel object, and what the registers of a kernel slot are to be for them."""
    block = rng.choice([(8, 2, 2), (4, 4, 1), (32, 1, 1), (1, 5, 3)])
    grid = rng.getrandbits(25) + 1, rng.getrandbits(16) or 1, rng.getrandbits(16) or 1
    found = {name: rng.getrandbits(bits) << shift for name, bits, shift in (
        ("code_base", 24, 7), ("code_words", 10, 0), ("const_base", 24, 7), ("const_bytes", 16, 0),
        ("trap_base", 25, 0), ("kernarg_words", 14, 0))} | {"registers": rng.randint(1, 16)}
    packet = {"header": {"type": PacketType.DISPATCH}, "kernel_object": rng.getrandbits(25) << 6,
              "kernarg_address": rng.getrandbits(27) << 4, "completion_signal": rng.getrandbits(25) << 6 | 1 << 31,
              "group_bytes": 4 * rng.getrandbits(8), "private_bytes": 4 * rng.getrandbits(4)}
    packet |= {f"block_{name}": size for name, size in zip("xyz", block, strict=True)}
    packet |= {f"threads_{name}": size * count for name, size, count in zip("xyz", block, grid, strict=True)}
    words = {f"grid_{name}": count for name, count in zip("xyz", grid, strict=True)}
    words |= {name: found[name] for name in ("code_base", "code_words", "const_base", "const_bytes", "trap_base")}
    words |= {"shared_bytes": packet["group_bytes"], "local_bytes": packet["private_bytes"],
              "param_base": packet["kernarg_address"], "param_bytes": 4 * found["kernarg_words"]}
    return packet, found | {"magic": KERNEL_OBJECT_MAGIC}, words


@pytest.mark.timeout(600)
@pytest.mark.parametrize("packets, stall, later, flipped", quick(
    [(1, 0.0, 0, 0), (1, 0.0, 0, 1), (12, 0.3, 0, 0), (2, 0.0, 1 << 16, 0)], [(1, 0.0, 0, 0), (1, 0.0, 0, 1)]))
def test_a_queue_starts_its_kernels_on_all_sms_and_completes_them(packets, stall, later, flipped):
    """Registers of the kernels, by packet; times of their signals, also late after power-up; who hears of the write.
    Where the queue lies and what it may use is `flipped` in every bit."""
    dut, rng = component(Uncore, G), random.Random(f"{packets} {later}")
    ring, sms, device = Ring(dut.axi, f"ring {stall}", stall), Runners(dut, rng), device_register_map()

    def some(bits):
        return rng.getrandbits(bits) ^ (flipped << bits) - flipped

    setup = {name: some(30) for name in ("ccb_base", "ccb_stride", "area_bytes", "local_base", "window_base",
                                         "window_end")}
    setup |= {"base": some(24) << 7, "size": 3, "capacity": rng.randint(2, G.queue_capacity),
              "local_stride": (1 << 20) + some(20), "system_base": 0, "system_end": 0xFFFF_FFFF}
    kernels = [a_kernel(rng) for _ in range(packets)]
    values = [rng.getrandbits(63) + 1 for _ in kernels]
    for (packet, found, _), value in zip(kernels, values, strict=True):
        ring.put(packet["kernel_object"], KERNEL_OBJECT.const(found).as_value().value, PACKET_BYTES)
        ring.put(packet["completion_signal"] + SIGNAL_VALUE, value, 8)

    async def write(ctx, path, word):
        ctx.set(dut.address, device[path].address)
        ctx.set(dut.write_data, word)
        ctx.set(dut.write, 1)
        await ctx.tick()
        ctx.set(dut.write, 0)

    async def read(ctx, path):
        ctx.set(dut.address, device[path].address)
        ctx.set(dut.read, 1)
        await ctx.tick()
        ctx.set(dut.read, 0)
        return ctx.get(dut.read_data)

    def place(number):
        return setup["base"] + number % (1 << setup["size"]) * PACKET_BYTES

    async def process(ctx):
        await ctx.tick().repeat(1 + later)
        await write(ctx, "queue_slots", (1 << G.kernel_slots) - 1)
        for name, word in setup.items():
            await write(ctx, f"queue[0].{name}", word)
        for name, word in setup.items():
            assert await read(ctx, f"queue[0].{name}") == word
        await write(ctx, "queue[0].control", 1)
        for number, (packet, *_) in enumerate(kernels):
            while number - await read(ctx, "queue[0].read_index") >= 1 << setup["size"]:
                await ctx.tick().repeat(8)  # a read goes before what the queue processor writes
            ring.put(place(number), DISPATCH.const(packet).as_value().value, PACKET_BYTES)
            await write(ctx, "queue[0].write_index", number + 1)
        for _ in range(packets * CYCLES // 8):
            if await read(ctx, "queue[0].read_index") == packets:
                break
            await ctx.tick().repeat(8)
        for name in ("read_index", "unstarted", "write_index"):
            assert await read(ctx, f"queue[0].{name}") == packets
        assert await read(ctx, "queue[0].status") == QueueState.WAITING
        assert not await read(ctx, "queue[0].in_flight") & 0x0101_0101

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(ring.run, background=True)
    simulator.add_testbench(sms.run, background=True)
    simulator.add_testbench(process)
    simulator.run()
    for (packet, _, words), value, (cycle, slot, registers) in zip(kernels, values, sms.started, strict=True):
        signal = packet["completion_signal"]
        assert ring.get(signal + SIGNAL_VALUE, 8) == value - 1 and ring.get(signal + SIGNAL_START, 8) == cycle
        assert cycle < ring.get(signal + SIGNAL_END, 8) < sms.cycle
        places = {name: register_map()[f"kernel[{slot}].{name}"].address
                  for name in (*words, "area_bytes", "ccb_base", "local_base")}
        for name, word in (words | {"area_bytes": setup["area_bytes"]}).items():
            assert [each[places[name]] for each in registers] == [word] * G.sms, name
        for name in ("ccb", "local"):
            bases = [each[places[f"{name}_base"]] for each in registers]
            first, stride = setup[f"{name}_base"], setup[f"{name}_stride"]
            assert bases in [[(first + (number * G.sms + i) * stride) % (1 << 32) for i in range(G.sms)]
                             for number in range(setup["capacity"])]
    signals = Counter(packet["completion_signal"] // SEGMENT_BYTES for packet, *_ in kernels)
    assert [Counter(each) for each in sms.heard] == [signals] * G.sms


class Device(Registers):
    """Registers of a device with those of a queue, which is stopped: they are what was written."""

    def __init__(self, g):
        super().__init__(g)
        written = [*(f"queue[0].{name}" for name in (*WRITTEN, "control")), "queue_preempts", "queue_checkpoints"]
        self.map = device_register_map()
        self.queue = dict.fromkeys([*written, "queue_slots"], 0)
        self.takes = {path: self.map[path].pack(**{name: (1 << field.width) - 1 for name, field in
                                                   self.map[path].fields.items()}) for path in written}
        self.takes["queue_slots"] = (1 << g.kernel_slots) - 1

    def own_registers(self, given):
        return super().own_registers(given) | {self.map[path].address // 4: word for path, word in self.queue.items()}

    def step(self, given):
        super().step(given)
        host = given["host"]
        for path, taken in self.takes.items():
            if host["write"] and host["address"] // 4 == self.map[path].address // 4:
                self.queue[path] = host["write_data"] & taken


def devices(rng, cycles):
    """Yield accesses of registers, and SMs that claim TBs of kernels that are started and adopted all the time."""
    registers, dispatcher = Device(G), Dispatcher(G, LeastLoaded)
    kernels = range(G.kernel_slots)
    grids, idle, warps = [[any_grid(rng) for _ in kernels] for _ in range(G.sms)], [0] * G.sms, [0] * G.sms
    for inputs, outputs in accesses(component(RegisterFanOut, G), rng, cycles, registers, dispatcher.members):
        i = rng.randrange(G.sms)
        grids[i][rng.choice(kernels)] = any_grid(rng)
        idle[i], warps[i] = rng.getrandbits(G.kernel_slots), rng.randrange(G.warps + 1)
        given = {"claims": [{"valid": int(rng.random() < 0.5), "kernel": rng.choice(kernels)} for _ in range(G.sms)],
                 "warps": list(warps), "idle": list(idle), "grids": grids,
                 "starts": [inputs[f"reports.{i}.start"] for i in range(G.sms)],
                 "adopted": [inputs[f"reports.{i}.adopted"] for i in range(G.sms)]}
        inputs = {_place(name): word for name, word in inputs.items() if not name.startswith("members.")}
        for i in range(G.sms):
            inputs |= {f"sms.{i}.supply.claim": given["claims"][i], f"sms.{i}.supply.warps": warps[i],
                       f"sms.{i}.report.grids": grids[i], f"sms.{i}.report.idle": idle[i]}
        outputs = {_place(name): word for name, word in outputs.items()}
        outputs |= {f"sms.{name.removeprefix('supplies.').replace('.', '.supply.', 1)}": word
                    for name, word in dispatcher.outputs(given).items() if name.startswith("supplies.")}
        outputs |= {f"sms.{i}.sm_index": i for i in range(G.sms)}
        yield inputs, outputs
        dispatcher.step(given)


def _place(name):
    """Return where the uncore has what is a port of the register fan-out."""
    kind, _, rest = name.partition(".")
    return {"host": rest, "sms": name, "reports": f"sms.{rest.replace('.', '.report.', 1)}"}[kind]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("cycles", quick([30, 1500], [30]))
def test_registers_and_tbs_are_those_of_models(cycles):
    lockstep(component(Uncore, G), devices(random.Random(cycles), cycles))
