"""Segments to try the load and the store unit with: instructions of one segment and of many, some of them faulty."""

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.isa.opcodes import Size

__all__ = ["BYTES", "SLOTS", "instructions"]

BYTES = {Size.U8: 1, Size.S8: 1, Size.U16: 2, Size.S16: 2, Size.B32: 4, Size.B64: 8, Size.B128: 16}
SLOTS = 4


def instructions(g, rng, count, store):
    """Return lists of the segments of an instruction, no two of which have the same address, as a coalescer gives them.

    Lanes of a segment may overlap. One instruction in ten is faulty: one empty segment.
    """
    result, pages = [], rng.sample(range(1 << 16), 40 * count)
    for number in range(count):
        size = list(Size)[number % len(Size)] if number < 2 * len(Size) else rng.choice(list(Size))
        common = {"warp": rng.randrange(g.warps), "kernel": 0, "base": rng.randrange(g.registers), "pc": number,
                  "d": 4 * rng.randrange(8), "size": size, "store": store, "slot": number % SLOTS, "kind": Fault.NONE}
        if number % 10 == 7:
            fault = {"kind": Fault.GLOBAL_WINDOW, "mask": 0, "first": 1, "last": 1, "address": rng.getrandbits(32)}
            result.append([common | fault])
            continue
        parts = rng.choice([1, 1, 2, g.warp_size])
        owner = [lane % parts if parts == g.warp_size else rng.randrange(parts) for lane in range(g.warp_size)]
        active = rng.choice([(1 << g.warp_size) - 1, rng.randint(1, (1 << g.warp_size) - 1)])
        places = 128 // BYTES[size]
        spread = rng.choice([1, places, min(4, places)])
        offset = [BYTES[size] * rng.randrange(places - spread, places) for _ in range(g.warp_size)]
        segments = []
        for part in range(parts):
            lanes = [lane for lane in range(g.warp_size) if owner[lane] == part and active >> lane & 1]
            if lanes:
                segments.append(common | {"mask": sum(1 << lane for lane in lanes), "offset": offset, "last": 0,
                                          "first": not segments, "address": 128 * pages.pop() + offset[lanes[0]]})
        segments[-1]["last"] = 1
        result.append(segments)
    return result
