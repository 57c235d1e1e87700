"""Decoders: encoded registers are decoded to their values."""

import cocotb
import numpy as np

from caesura.hw.arch.image.encodings import Encoding, decode, encode, encodings_of
from caesura.hw.arch.image.patterns import Pattern, expand
from caesura.hw.preempt.compress.compressor import Compressor
from caesura.hw.preempt.compress.decompressor import Decompressor
from caesura.hw.preempt.compress.group_decoder import GroupDecoder
from caesura.sim.cocotb import Bench, Scoreboard, parameters
from support.benches.shapes import geometry
from support.hw.register_samples import registers

BLOCKS = {"decompressor": Decompressor, "group_decoder": GroupDecoder}


def block(name: str = "decompressor", warp: int = 8, lanes: int = 8, **_: int) -> Decompressor | GroupDecoder:
    """Return one of the two blocks."""
    return BLOCKS[name](geometry(warp, lanes), tag=8)


def samples(rng, g, name: str, pag: int, count: int):
    """Return codes, words, and the values that they stand for by the definition of the encodings."""
    values = registers(rng, count, g.warp_size, pag)
    if name == "decompressor":
        codes, words = Compressor(g).compute(values, (1 << g.warp_size) - 1, pag)
        codes[rng.random(count) < 0.1] = Pattern.DEAD
        return codes, words, expand(codes, words, pag)
    groups = [code for code in encodings_of(g.warp_size, g.lanes) if code.group]
    codes, words = encode(values, (1 << g.warp_size) - 1, g.lanes)
    strange = ~np.isin(codes, groups)
    codes[strange] = rng.choice(groups, int(strange.sum()))
    words[strange] = rng.integers(0, 1 << 32, words[strange].shape, np.uint32)
    codes[rng.random(count) < 0.1] = Encoding.DEAD
    return codes, words, decode(codes, words, g.lanes)


def beats_in(g, name: str, code: int, words: np.ndarray, tag: int, width: int) -> list[dict]:
    """Return what goes in for a register."""
    if name == "decompressor" and code == Pattern.RANDOM:
        return [{"words": words[at:at + g.lanes], "code": code, "tag": tag} for at in range(0, g.warp_size, g.lanes)]
    return [{"words": words[:width], "code": code, "tag": tag}]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def gives_every_register_back(dut):
    """Registers of every kind; the words that do not belong to one are noise to the block."""
    given = parameters()
    component, name, count = block(**given), given.get("name", "decompressor"), given.get("count", 100)
    bench, g = await Bench.start(dut, component), component.geometry
    width, dead = len(component.input.payload.words), Pattern.DEAD if name == "decompressor" else Encoding.DEAD
    for pag in [pag for pag in (8, 16, 32) if pag <= g.warp_size]:
        rng = np.random.default_rng(bench.rng.getrandbits(32))
        codes, words, values = samples(rng, g, name, pag, count)
        if "pag" in bench.ports:
            bench.pag.value = pag
        board = Scoreboard(f"{name}, groups of {pag}")
        board.expect((values[k, at:at + g.lanes].tolist(), at // g.lanes, k & 255, int(at + g.lanes == g.warp_size),
                      int(codes[k] == dead)) for k in range(count) for at in range(0, g.warp_size, g.lanes))
        sink = bench.sink(bench.output, lambda out, board=board: board.receive(
            (out.words, out.beat, out.tag, out.last, out.dead)), stall=0.3)
        source = bench.source(bench.input, stall=0.3)
        source.send(*(beat for k in range(count)
                      for beat in beats_in(g, name, int(codes[k]), words[k], k & 255, width)))
        await board.complete()
        source.stop()
        sink.stop()
