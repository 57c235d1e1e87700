"""Register encoder: registers of every encoding, any lanes counted, against the encodings' own definition."""

import cocotb
import numpy as np

from caesura.hw.arch.image.encodings import QUAD, Encoding, decode, encoded_words, encodings_of
from caesura.hw.preempt.compress.register_encoder import RegisterEncoder
from caesura.sim.cocotb import Bench, Scoreboard, parameters
from support.benches.shapes import geometry
from support.hw.register_samples import counted_lanes, registers, shared_upper_bits


def block(warp: int = 8, lanes: int = 8, **_: int) -> RegisterEncoder:
    """Return the block."""
    return RegisterEncoder(geometry(warp, lanes), tag=8)


class Judge:
    """Puts the beats of a register together and looks at what they say of it.

    A register is right if it comes in the shortest encoding, and its words give back all lanes that count.
    """

    def __init__(self, g, values, counted, codes):
        self.g, self.values, self.codes = g, values, codes
        self.lanes = (counted[:, None] >> np.arange(g.warp_size) & 1).astype(bool)
        self.board, self.words = Scoreboard("registers"), []
        self.board.expect((int(code), k & 255, True) for k, code in enumerate(codes))
        self.seen = 0

    def receive(self, out) -> None:
        """Take a beat."""
        assert out.first == (not self.words), "the first beat is not where it should be"
        if out.first:
            self.words = [out.shared] * (Encoding.DEAD < out.code < Encoding.RANDOM)
        self.words = [*self.words, *out.words[:out.count]]
        if out.last:
            self.board.receive((int(out.code), out.tag, self.right(int(out.code))))
            self.seen, self.words = self.seen + 1, []

    def right(self, code: int) -> bool:
        """Whether the words of the register in hand are as many as they should be and give its lanes back."""
        size = self.g.warp_size
        if len(self.words) != encoded_words(code, size):
            return False
        row = np.zeros((1, size), np.uint32)
        row[0, :len(self.words)] = self.words
        back = decode(np.array([code]), row, self.g.lanes)[0]
        return bool(((back == self.values[self.seen]) | ~self.lanes[self.seen]).all())


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def finds_the_shortest_encoding_and_loses_nothing(dut):
    """Each register comes out shortest, and decoded it is what came in the lanes that count. Where who takes it is
    slow, the queue of rows is full."""
    given = parameters()
    component = block(**given)
    bench, g, count = await Bench.start(dut, component), component.geometry, given.get("count", 300)
    for slow in (0.3, 0.9):
        rng = np.random.default_rng(bench.rng.getrandbits(32))
        values, counted = samples(rng, count, g.warp_size)
        raw = rng.random(count) < 0.05
        codes, _ = component.compute(values, counted)
        codes[raw] = Encoding.RANDOM
        assert len(set(codes)) >= len(encodings_of(g.warp_size, g.lanes)) // 2
        judge = Judge(g, values, counted, codes)
        sink = bench.sink(bench.output, judge.receive, stall=slow)
        source = bench.source(bench.input, stall=0.9 - slow)
        source.send(*(
            {"words": values[k, at:at + g.lanes], "raw": int(raw[k]), "tag": k & 255,
             "counted": int(counted[k]) >> at & (1 << g.lanes) - 1}
            for k in range(count) for at in range(0, g.warp_size, g.lanes)))
        await judge.board.complete()
        await bench.cycles(2 * g.beats + 2)
        assert not bench.busy.bits
        source.stop()
        sink.stop()


def samples(rng, count: int, size: int):
    """Return registers, many of them of lanes that share upper bits, or strided, or almost, and which of their lanes
    count: of some only lanes of one quad."""
    values, counted = registers(rng, count, size, int(rng.choice([8, 16, 32]))), counted_lanes(rng, count, size)
    kind = rng.random(count)
    values[kind < 0.3] = shared_upper_bits(rng, int((kind < 0.3).sum()), size)
    almost = (kind >= 0.3) & (kind < 0.6)
    values[almost] = almost_strided(rng, int(almost.sum()), size)
    few = kind >= 0.85
    base, step = rng.integers(0, 1 << 32, (2, int(few.sum()), 1), np.uint32)
    values[few] = base + step * np.arange(size, dtype=np.uint32)
    counted[few] = rng.integers(1, 1 << QUAD, int(few.sum())) << QUAD * rng.integers(0, size // QUAD, int(few.sum()))
    return values, counted


def almost_strided(rng, count: int, size: int):
    """Return registers whose lanes are a step apart up to some quad, from which on they, or their step, are a bit
    more."""
    lanes, words = np.arange(size, dtype=np.uint32), rng.integers(0, 1 << 32, (2, count, 1), np.uint32)
    behind = np.maximum(np.arange(size) - QUAD * rng.integers(1, max(2, size // QUAD), (count, 1)) + 1, 0)
    more = np.where(rng.random((count, 1)) < 0.5, behind > 0, np.maximum(behind - 1, 0)).astype(np.uint32)
    return words[0] + words[1] * lanes + (np.uint32(1) << rng.integers(0, 32, (count, 1), np.uint32)) * more
