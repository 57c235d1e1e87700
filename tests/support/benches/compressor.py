"""Compressor: registers of every pattern, against the model of the block; no launched register is lost."""

import cocotb
import numpy as np

from caesura.hw.arch.image.patterns import Pattern, encoded_words, expand
from caesura.hw.preempt.compress.compressor import Compressor
from caesura.sim.cocotb import Bench, Scoreboard, parameters
from support.benches.shapes import geometry
from support.hw.register_samples import launched_lanes, registers


def block(warp: int = 8, lanes: int = 8, **_: int) -> Compressor:
    """Return the block."""
    return Compressor(geometry(warp, lanes), tag=8)


def beats_of(words: np.ndarray, code: int, pag: int, tag: int, lanes: int) -> list:
    """Return what comes out for a register: code, tag, last and the words of each beat."""
    count = encoded_words(code, pag, len(words))
    parts = [words[at:at + lanes] for at in range(0, count, lanes)] if code == Pattern.RANDOM else [words[:count]]
    return [(code, tag, int(k == len(parts) - 1), part.tolist()) for k, part in enumerate(parts)]


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def encodes_as_its_model_says(dut):
    """Every pattern comes, and what leaves is what `Compressor.compute` gives; expanded, it is what came. Where who
    takes it is slow, the queue of rows is full."""
    given = parameters()
    bench = await Bench.start(dut, block(**given))
    g, count = block(**given).geometry, given.get("count", 100)
    for pag, slow in [(width, stall) for width in (8, 16, 32) if width <= g.warp_size for stall in (0.3, 0.9)]:
        rng = np.random.default_rng(bench.rng.getrandbits(32))
        values, launched = registers(rng, count, g.warp_size, pag), launched_lanes(rng, count, g.warp_size)
        raw = rng.random(count) < 0.1
        codes, words = block(**given).compute(values, launched, pag)
        counted = (launched[:, None] >> np.arange(g.warp_size) & 1).astype(bool)
        assert ((expand(codes, words, pag) == values) | ~counted).all()
        codes[raw], words[raw] = Pattern.RANDOM, values[raw]
        assert set(codes) == {Pattern.UNIFORM, Pattern.STRIDED, Pattern.RANDOM}
        bench.pag.value = pag
        scoreboard = Scoreboard(f"registers in groups of {pag}")
        for k, code in enumerate(codes):
            scoreboard.expect(beats_of(words[k], code, pag, k & 255, g.lanes))
        sink = bench.sink(bench.output, lambda out, board=scoreboard: board.receive(
            (out.code, out.tag, out.last, out.words[:out.count])), stall=slow)
        source = bench.source(bench.input, stall=0.9 - slow)
        source.send(*({"words": values[k, at:at + g.lanes], "raw": int(raw[k]), "tag": k & 255,
                       "launched": int(launched[k]) >> at & (1 << g.lanes) - 1}
                      for k in range(count) for at in range(0, g.warp_size, g.lanes)))
        await scoreboard.complete()
        await bench.cycles(2 * g.beats + 2)  # the last register may have beats to drop
        assert not bench.busy.bits
        source.stop()
        sink.stop()
