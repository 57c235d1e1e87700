"""TB-level compressor: it drops registers that follow from the previous warp, and keeps all others."""

import cocotb
import numpy as np
from amaranth.lib import data

from caesura.hw.arch.geometry import MAX_REGISTERS
from caesura.hw.arch.image.encodings import Encoding, encode, encoded_words
from caesura.hw.arch.image.tb_history import RegisterHistory
from caesura.hw.preempt.compress.tb_compressor import TbCompressor
from caesura.sim.cocotb import Bench, Scoreboard, parameters
from support.benches.shapes import geometry
from support.hw.register_samples import registers

TAG = data.StructLayout({"register": range(MAX_REGISTERS), "opens": 1})


def block(warp: int = 8, lanes: int = 8, **_: int) -> TbCompressor:
    """Return the block."""
    return TbCompressor(geometry(warp, lanes), TAG)


def warps_of(rng: np.random.Generator, g, warps: int, values: np.ndarray) -> list[np.ndarray]:
    """Return the registers of the warps of a TB, first `values`, and the registers of one more warp.

    Most registers continue the pattern, some do not, some almost do: one bit is added to all lanes, or once more in
    each.
    """
    count = len(values)
    moves = rng.integers(0, 1 << 32, (count, 1), np.uint32) * rng.integers(0, 2, (count, 1), np.uint32)
    found = []
    for _ in range(warps + 1):
        found.append(values.copy())
        steps = (values[:, 1:2] - values[:, :1]) * np.uint32(g.warp_size)
        values = values + np.where(np.arange(count)[:, None] % 3 == 0, steps, moves)
        lanes = np.arange(g.warp_size, dtype=np.uint32) * rng.integers(0, 2, (count, 1), np.uint32)
        bit = np.uint32(1) << rng.integers(0, 32, (count, 1), np.uint32)
        almost = rng.random(count) < 0.3
        values[almost] += (bit * np.where(lanes.any(axis=1, keepdims=True), lanes, np.uint32(1)))[almost]
        fresh = rng.random(count) < 0.1
        values[fresh] = registers(rng, count, g.warp_size, 8)[fresh]
    return found


def beats_of(g, code: Encoding, words: list, register: int, opens: int) -> list[dict]:
    """Return the beats of an encoded register, the word that its lanes share apart."""
    shared = words[0] if Encoding.DEAD < code < Encoding.RANDOM else 0
    rest = words[1:] if Encoding.DEAD < code < Encoding.RANDOM else words
    parts = g.beats if code.by_lane else 1
    size = len(rest) // parts
    return [{"words": rest[n * size:(n + 1) * size], "count": size, "shared": shared, "code": code,
             "first": int(n == 0), "last": int(n == parts - 1), "tag": {"register": register, "opens": opens}}
            for n in range(parts)]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def leaves_out_exactly_what_follows(dut):
    """The block agrees with `RegisterHistory`; without `enable` it drops nothing."""
    given = parameters()
    component = block(**given)
    bench, g = await Bench.start(dut, component), component.geometry
    for enable in (1, 0):
        rng, beats, board, followed = np.random.default_rng(bench.rng.getrandbits(32)), [], Scoreboard("beats"), 0
        numbers, next_values = [], np.zeros(0)
        for _ in range(given.get("count", 24)):
            history, opens = RegisterHistory(g.warp_size), 1
            if not numbers or rng.random() < 0.3:  # else as one warp more of the TB before
                numbers = rng.permutation(MAX_REGISTERS)[:rng.integers(1, 10)].tolist()
                next_values = registers(rng, len(numbers), g.warp_size, 8)
            *every, next_values = warps_of(rng, g, int(rng.integers(1, 6)), next_values)
            for values in every:
                codes, words = encode(values, (1 << g.warp_size) - 1, g.lanes)
                for k, (r, code) in enumerate(zip(numbers, map(Encoding, codes), strict=True)):
                    mine = words[k, :encoded_words(code, g.warp_size)].tolist()
                    beats += (sent := beats_of(g, code, mine, r, opens))
                    opens, follows = 0, enable and history.follows(r, code, words[k])
                    history.keep(r, code, words[k])
                    followed += follows
                    board.expect((Encoding.FOLLOWS if follows else code, r, [] if follows else beat["words"],
                                  beat["shared"], beat["first"], beat["last"], beat["tag"]["opens"]) for beat in sent)
        assert bool(followed) == bool(enable)
        bench.enable.value = enable
        sink = bench.sink(bench.output, lambda out, board=board: board.receive(
            (out.code, out.tag.register, out.words[:out.count], out.shared, out.first, out.last, out.tag.opens)),
            stall=0.3)
        source = bench.source(bench.input, stall=0.3)
        source.send(*beats)
        await board.complete()
        source.stop()
        sink.stop()
