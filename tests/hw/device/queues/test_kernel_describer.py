# amaranth: UnusedElaboratable=no
"""Kernel describer: the registers of a kernel slot, whatever the shape of grid and block, while memory and registers
take their time."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.packets import DISPATCH, KERNEL_OBJECT
from caesura.hw.arch.registers import register_map
from caesura.hw.arch.tb_footprint import local_region_bytes
from caesura.hw.device.queues.kernel_describer import KernelDescriber
from caesura.hw.device.queues.queue_registers import queue_setup
from support.hw.lockstep import lockstep, number
from support.hw.simulation import Simulator, component
from support.selection import quick

LIMIT = 4000


class Bench:
    """A describer; `written` are the values by SM and register."""

    def __init__(self, g, rng):
        self.g, self.rng = g, rng
        self.dut = component(KernelDescriber, g)
        self.names = {register.address: path for path, register in register_map().items()}

    def run(self, process):
        async def testbench(ctx):
            await process(ctx)

        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(testbench)
        simulator.run()

    async def describe(self, ctx, packet, found, setup, slot, place):
        """Return what is written, and whether it failed."""
        dut, written = self.dut, {}
        for name, fields in (("packet", packet), ("found", found), ("setup", setup)):
            ctx.set(getattr(dut, name), fields)
        ctx.set(dut.slot, slot)
        ctx.set(dut.place, place)
        ctx.set(dut.begin, 1)
        for _ in range(LIMIT):
            ctx.set(dut.registers.ready, self.rng.random() < 0.6)
            _, _, valid, ready, write, done, wrong, strange = await ctx.tick().sample(
                dut.registers.valid, dut.registers.ready, dut.registers.payload, dut.done, dut.wrong, dut.strange)
            ctx.set(dut.begin, 0)
            if valid and ready:
                for sm in range(self.g.sms):
                    if write.sms >> sm & 1:
                        assert (sm, self.names[write.address]) not in written, "each is written once"
                        written[sm, self.names[write.address]] = write.data
            if done:
                assert not written or not (wrong or strange)
                return written, "wrong" if wrong else "strange" if strange else ""
        raise AssertionError("it does not end")


def expected(g, packet, found, setup, slot, place):
    """What the registers of each SM are to be."""
    block = [packet[f"block_{name}"] for name in "xyz"]
    threads = block[0] * block[1] * block[2]
    sizes = register_map()["kernel[0].sizes"].pack(threads=threads, registers=found["registers"],
                                                   warps=-(-threads // g.warp_size))
    words = {f"grid_{name}": -(-packet[f"threads_{name}"] // size) for name, size in zip("xyz", block, strict=True)}
    words |= {"code_base": found["code_base"], "code_words": found["code_words"], "sizes": sizes,
              "block": register_map()["kernel[0].block"].pack(x=block[0], y=block[1], z=block[2]),
              "reciprocal_x": -(-(1 << 20) // block[0]), "reciprocal_y": -(-(1 << 20) // block[1]),
              "shared_bytes": packet["group_bytes"], "local_bytes": packet["private_bytes"],
              "const_base": found["const_base"], "const_bytes": found["const_bytes"],
              "area_bytes": setup["area_bytes"], "window_base[0]": setup["window_base"],
              "window_end[0]": setup["window_end"]}
    words |= {f"{name}[{k}]": 0 for k in range(1, g.windows) for name in ("window_base", "window_end")}
    words |= {"trap_base": found["trap_base"]} if g.traps else {}
    words |= {"entries": 0} if g.spare_entries else {}
    words |= {"param_base": packet["kernarg_address"], "param_bytes": 4 * found["kernarg_words"]}
    found_of = {}
    for sm in range(g.sms):
        own = {"ccb_base": setup["ccb_base"] + (place * g.sms + sm) * setup["ccb_stride"],
               "local_base": setup["local_base"] + (place * g.sms + sm) * setup["local_stride"]}
        found_of |= {(sm, f"kernel[{slot}].{name}"): value for name, value in (words | own).items()}
    return found_of


def a_packet(g, rng, parameters):
    sizes = [1, 1, 1]
    for k in rng.sample(range(3), 3):
        sizes[k] = rng.choice((1, rng.randint(1, g.max_block_threads // (sizes[0] * sizes[1] * sizes[2]))))
    packet = {f"block_{name}": size for name, size in zip("xyz", sizes, strict=True)}
    packet |= {f"threads_{name}": rng.choice((1, rng.randrange(1, 1 << 12), (1 << 16) - 1)) for name in "xyz"}
    packet |= {"group_bytes": 4 * rng.randrange(1000), "private_bytes": 4 * rng.randrange(100),
               "kernarg_address": 16 * rng.randrange(1 << 28)}
    found = {name: rng.randrange(1 << bits) << shift for name, bits, shift in (
        ("code_base", 25, 7), ("code_words", 25, 0), ("const_base", 25, 7), ("const_bytes", 17, 0),
        ("trap_base", 25, 0))}
    found |= {"registers": rng.randint(1, 63), "kernarg_words": parameters}
    setup = {name: rng.randrange(1 << 28) for name in (
        "ccb_base", "ccb_stride", "area_bytes", "local_base", "window_base", "window_end")}
    setup["local_stride"] = (1 << 20) + rng.randrange(1 << 20)
    return packet, found, setup, rng.randrange(g.kernel_slots), rng.randrange(g.queue_capacity)


@pytest.mark.parametrize("sms, entries", quick([(2, 0), (3, 5)], [(3, 5)]))
def test_all_registers_are_written_once_and_right(sms, entries):
    g, rng = preset("tiny").replace(sms=sms, queues=1, entries=entries), random.Random(sms)
    bench = Bench(g, rng)

    async def process(ctx):
        for parameters in (0, 1, 64, 1024, 8191, (1 << 14) - 1, 5, 3, 7):
            packet, found, setup, slot, place = a_packet(g, rng, parameters)
            written, failed = await bench.describe(ctx, packet, found, setup, slot, place)
            wanted = expected(g, packet, found, setup, slot, place)
            places = register_map()
            wanted = {key: value % (1 << 32) for key, value in wanted.items() if key[1] in places}
            assert failed == "" and written == wanted

    bench.run(process)


def answers(g, changes):
    """How packets end that are right but for something each: of the packet, of the kernel object, of the queue."""
    bench = Bench(g, random.Random(1))
    packet = {f"{what}_{name}": 1 for what in ("block", "threads") for name in "xyz"} | {"kernarg_address": 64}
    found = {"registers": 8, "code_base": 1 << 20, "code_words": 9}
    ended = []

    async def process(ctx):
        for change in changes:
            parts = [{name: change.get(name, value) for name, value in (part | {
                name: 0 for name in change if name in names}).items()} for part, names in (
                    (packet, DISPATCH.members), (found, KERNEL_OBJECT.members), ({}, queue_setup().members))]
            ended.append((await bench.describe(ctx, *parts, 0, 0))[1])

    bench.run(process)
    return ended


def test_blocks_larger_than_the_sm_takes():
    g = preset("tiny").replace(sms=2, queues=1)
    assert answers(g, [{"block_y": g.max_block_threads}, {"block_y": g.max_block_threads + 1}]) == ["", "wrong"]


SHAPES = (
    ({}, ""), ({"block_x": 0}, "wrong"), ({"block_z": 0}, "wrong"), ({"threads_y": 0}, "wrong"),
    ({"block_x": 1024}, ""), ({"block_x": 1025}, "wrong"), ({"block_y": 0x8000}, "wrong"),
    ({"block_x": 32, "block_y": 32}, ""), ({"block_x": 33, "block_y": 32}, "wrong"),
    ({"block_x": 16, "block_y": 16, "block_z": 4}, ""),
    ({"block_x": 16, "block_y": 16, "block_z": 5}, "wrong"), ({"block_z": 1023}, ""), ({"block_z": 1024}, "wrong"),
    ({"block_x": 1024, "block_y": 1024, "block_z": 1024}, "wrong"),
    ({"threads_x": 0xFFFF_FFFF}, ""), ({"threads_y": 0xFFFF}, ""), ({"threads_y": 0x1_0000}, "wrong"),
    ({"threads_z": 0x1_0001}, "wrong"), ({"threads_y": 0x1_0000, "block_y": 2}, ""),
    ({"group_bytes": (1 << 20) - 4}, ""), ({"group_bytes": 1 << 20}, "wrong"), ({"group_bytes": 6}, "wrong"),
    ({"kernarg_address": 80}, ""), ({"kernarg_address": 72}, "wrong"),
    ({"kernarg_address": 66, "kernarg_words": 0}, "wrong"))
OBJECTS = (
    ({"registers": 127}, ""), ({"registers": 128}, "strange"), ({"registers": 1 << 31}, "strange"),
    ({"code_words": (1 << 25) - 1}, ""), ({"code_words": 1 << 25}, "strange"), ({"code_base": 64}, "strange"),
    ({"const_base": 128}, ""), ({"const_base": 4}, "strange"), ({"const_bytes": 1 << 16}, ""),
    ({"const_bytes": 1 << 17}, "strange"), ({"trap_base": (1 << 25) - 1}, ""), ({"trap_base": 1 << 25}, "strange"),
    ({"kernarg_words": (1 << 14) - 1}, ""), ({"kernarg_words": 1 << 14}, "strange"),
    ({"kernarg_words": 1 << 31}, "strange"))
"""What differs from a good packet, and how it ends: what registers do not hold is refused."""


def test_what_no_kernel_slot_holds_is_refused():
    g = preset("gtx480").replace(sms=2, queues=1)
    assert g.max_block_threads == 1024 and g.traps
    changes = [{"local_stride": 0} | change for change, _ in (*SHAPES, *OBJECTS)]
    assert answers(g, changes) == [wrong for _, wrong in (*SHAPES, *OBJECTS)]


@pytest.mark.parametrize("threads, bytes_each", [(1, 4), (33, 4), (64, 100), (1024, 0xFFFC)])
def test_local_memory_stays_in_what_the_queue_was_given(threads, bytes_each):
    g = preset("gtx480").replace(sms=2, queues=1)
    whole = g.tb_slots * local_region_bytes(g, -(-threads // g.warp_size), bytes_each)
    asked = {"block_x": threads, "private_bytes": bytes_each}
    assert answers(g, [asked | {"local_stride": stride} for stride in (whole, whole - 1, 0, whole + 1)]) == [
        "", "wrong", "wrong", ""]
    assert answers(g, [asked | {"local_stride": 0xFFFF_FFFF, "private_bytes": more}
                       for more in (bytes_each + 2, 1 << 16)]) == ["wrong", "wrong"]


DIVISION = 35
"""Cycles of one of the five divisions."""


def judged(g, packet, found, setup):
    """Whether the packet is wrong, and whether the kernel object is strange."""
    block = [packet[f"block_{name}"] for name in "xyz"]
    threads = [packet[f"threads_{name}"] for name in "xyz"]
    volume = block[0] * block[1] * block[2]
    wrong = not all(block) or not all(threads) or volume > g.max_block_threads or max(block) > 1024 or block[2] == 1024
    wrong = wrong or max(-(-threads[k] // block[k]) for k in (1, 2)) >= 1 << 16
    wrong |= packet["group_bytes"] >= 1 << 20 or packet["private_bytes"] >= 1 << 16
    wrong |= packet["group_bytes"] % 4 > 0 or packet["private_bytes"] % 4 > 0 or packet["kernarg_address"] % 16 > 0
    local = g.tb_slots * local_region_bytes(g, -(-volume // g.warp_size), packet["private_bytes"])
    strange = found["registers"] >= 1 << 7 or found["code_words"] >= 1 << 25 or found["const_bytes"] >= 1 << 17
    strange |= found["trap_base"] >= 1 << 25 or found["kernarg_words"] >= 1 << 14
    strange |= found["code_base"] % 128 > 0 or found["const_base"] % 128 > 0
    return wrong or local > setup["local_stride"], strange


def any_packet(g, rng):
    """A packet, kernel object and queue of which the most registers can be described, with any large numbers."""
    sizes = [1, 1, 1]
    for k in rng.sample(range(3), 3):
        sizes[k] = rng.choice((1, rng.randint(1, g.max_block_threads // (sizes[0] * sizes[1] * sizes[2]))))
    packet = {name: number(rng, field.width) for name, field in DISPATCH if name not in ("header", "none")}
    packet |= {f"block_{name}": size for name, size in zip("xyz", sizes, strict=True)}
    for name, size, bits in zip("xyz", sizes, (32, 16, 16), strict=True):
        packet[f"threads_{name}"] = max(1, min((1 << 32) - 1, number(rng, bits) * size) - rng.randrange(size))
    packet |= {"group_bytes": number(rng, 18) << 2, "private_bytes": number(rng, 14) << 2}
    packet["kernarg_address"] &= -16
    found = {name: number(rng, bits) << shift for name, bits, shift in (
        ("magic", 32, 0), ("code_base", 25, 7), ("code_words", 25, 0), ("registers", 7, 0), ("const_base", 25, 7),
        ("const_bytes", 17, 0), ("trap_base", 25, 0), ("kernarg_words", 14, 0))}
    setup = {name: number(rng, field.width) for name, field in queue_setup()}
    warps = -(-sizes[0] * sizes[1] * sizes[2] // g.warp_size)
    local = g.tb_slots * local_region_bytes(g, warps, packet["private_bytes"])
    setup["local_stride"] = min((1 << 32) - 1, local + rng.choice((0, 1, number(rng, 32))))
    return {"packet": packet, "found": found, "setup": setup}


def spoilers(rng):
    """Yield what changes a number that is judged: each bit of each, and now and then all of it."""
    while True:
        bits = [(part, name, bit) for part, shape in (("packet", DISPATCH), ("found", KERNEL_OBJECT))
                for name, field in shape if name.rpartition("_")[0] in (
                    "block", "threads", "private", "group", "code", "const", "trap", "kernarg") or name == "registers"
                for bit in range(min(32, field.width))]
        bits += [("setup", "local_stride", bit) for bit in range(32)]
        for part, name, bit in rng.sample(bits, len(bits)):
            def spoil(given, part=part, name=name, bit=bit):
                given[part][name] ^= 1 << bit
                if rng.random() < 0.1:
                    given[part][name] = number(rng, bit + 1)
            yield spoil


def writes(g, packet, found, setup, slot, place):
    """What is written, a register after the other, None in a cycle in which nothing is: address, data, and SMs."""
    wanted = {(sm, name.partition(".")[2]): word % (1 << 32) for (sm, name), word in expected(
        g, packet, found, setup, 0, place).items() if name in register_map()}
    windows = [f"{end}[{k}]" for k in range(1, g.windows) for end in ("window_base", "window_end")]
    names = ["code_base", "code_words", "grid_x", "grid_y", "grid_z", "block", "reciprocal_x", "reciprocal_y", "sizes",
             "shared_bytes", "area_bytes", "local_bytes", "const_base", "const_bytes", "param_base", "param_bytes",
             "window_base[0]", "window_end[0]", *windows, *(["trap_base"] if g.traps else []),
             *(["entries"] if g.spare_entries else [])]
    order = [(name, (1 << g.sms) - 1) for name in names]
    for name in ("ccb_base", "local_base"):
        order += [None] * (place * g.sms) + [(name, 1 << sm) for sm in range(g.sms)]
    for one in order:
        yield one and {"address": register_map()[f"kernel[{slot}].{one[0]}"].address,
                       "data": wanted[one[1].bit_length() - 1, one[0]], "sms": one[1]}


def descriptions(g, rng, packets, spoilt):
    """Yield inputs and outputs while packets are described, of which so large a part are spoilt."""
    nothing, spoils = {"done": 0, "registers.valid": 0}, spoilers(rng)
    for _ in range(packets):
        yield {"begin": 0, "registers.ready": rng.getrandbits(1)}, nothing
        given = any_packet(g, rng)
        if rng.random() < spoilt:
            next(spoils)(given)
        given |= {"slot": rng.randrange(g.kernel_slots), "place": rng.randrange(g.queue_capacity)}
        yield given | {"begin": 1}, nothing
        for cycle in range(5 * DIVISION):
            yield {"begin": 0, "registers.ready": rng.getrandbits(1)} if cycle < 2 else {}, nothing
        wrong, strange = judged(g, given["packet"], given["found"], given["setup"])
        refused = wrong or strange
        yield {}, {"done": int(refused), "registers.valid": 0} | (
            {"wrong": int(wrong), "strange": int(strange)} if refused else {})
        order = [] if refused else [*writes(g, **given)]
        for place, write in enumerate(order):
            last = int(place == len(order) - 1)
            shown = {"registers.valid": 1, "registers.payload": write} if write else {"registers.valid": 0}
            while write and rng.random() < 0.3:
                yield {"registers.ready": 0}, shown | {"done": 0}
            yield {"registers.ready": 1 if write else rng.getrandbits(1)}, shown | {"done": last} | (
                {"wrong": 0, "strange": 0} if last else {})


@pytest.mark.parametrize("name, entries, packets, spoilt", quick(
    [("gtx480", 0, 4, 0), ("gtx480", 0, 250, 0), ("gtx480", 0, 600, 1), ("tiny", 5, 30, 0.3)], [("gtx480", 0, 4, 0)]))
def test_every_cycle_is_that_of_a_model(name, entries, packets, spoilt):
    g = preset(name).replace(sms=2, queues=1, entries=entries)
    lockstep(component(KernelDescriber, g), descriptions(g, random.Random(packets), packets, spoilt))
