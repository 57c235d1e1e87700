"""Instruction fetch: one lookup of the instruction cache a cycle, and the skipping of idle
preemption points.

::

    cycle 0   pick a warp (round robin), read its PC, look up code_base + 8 * PC
    cycle 1   decode; miss: the warp sleeps until a line is filled
              idle `pp` with its `pp.div`: PC += 2, and the instruction behind them into the buffer;
              one of them alone: PC += 1; anything else: into the buffer
"""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import PC_BITS, PC_NONE, Geometry
from ...arch.isa.liveness import LIVE_BITS
from ...arch.isa.opcodes import BY_NAME
from ...interfaces import payloads as payload
from ...interfaces.observation import cache_lookup
from ...interfaces.port import Port
from ...lib.bits import spread
from ...lib.vectors import RoundRobin
from ...memory.beat_splitter import cache_geometry, connect_cache
from ...memory.icache import InstructionCache
from ...memory.ports import ReadInterface, ReadPort
from .decode import Decoder
from .instruction_buffer import fetched
from .simt_stack import FetchStackPort
from .warp_table import FetchTablePort

__all__ = ["FetchUnit"]


class FetchUnit(wiring.Component):
    """Fetches for every warp that may execute and holds no instruction; latency 2 cycles with a
    hit.

    A `pp` or `pp.div` of a kernel that is not being preempted is skipped here, without an issue
    slot. There are two exceptions. The next PC may be where the top of the warp's stack
    reconverges: the issue stage then pops the stack. Or the warp may be between a `pp` that was not
    idle and its `pp.div`. The two words of a point are skipped together when they are in one cache
    line. If the instruction behind them is there too, the point costs no cycle.

    Parameters
    ----------
    g : Geometry
    observed : bool
        The unit has port `lookup`, for simulations.

    Attributes
    ----------
    kernels : in
        Described in `FrontEnd`.
    wanting : Signal(warps), in
        Warps that may be fetched for: `alive`, and neither settling nor holding an instruction.
    table : FetchTablePort, out
        Reads which warps may fetch, and the kernel of the warp that was picked.
    stack : FetchStackPort, out
        Reads the PC of the warp that was picked; moves the decoded warp over an idle point.
    invalidate : Signal(), in; lingering : Signal(), out
        Signals of the cache.
    forget : Signal(warps), in
        Vector: warps that wait for no line any more.
    fill : Out(valid, warp, instruction); op : Out(decoded)
        An instruction for the buffer, and its decoding.
    icache_port : ReadPort
    lookup : cache_lookup, out
    """

    kernels: data.View
    wanting: Signal
    table: Port
    stack: Port
    invalidate: Signal
    lingering: Signal
    forget: Signal
    fill: data.View
    op: data.View
    icache_port: ReadInterface
    lookup: data.View

    def __init__(self, g: Geometry, observed: bool = False):
        self.geometry, self.observed = g, observed
        warp = payload.below(g.warps)
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "wanting": In(g.warps), "table": Out(FetchTablePort(g)),
            "stack": Out(FetchStackPort(g)),
            "invalidate": In(1), "lingering": Out(1), "forget": In(g.warps),
            "fill": Out(data.StructLayout({"valid": 1, "warp": warp, "instruction": fetched(g)})),
            "op": Out(payload.decoded()),
            "icache_port": Out(ReadPort(g)),
            **({"lookup": Out(cache_lookup())} if observed else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.cache = cache = InstructionCache(cache_geometry(g))
        m.submodules.decoder = decoder = Decoder(self.geometry.watches > 0)
        connect_cache(m, g, cache.port, self.icache_port)
        fetching = Signal()
        pc = Signal(PC_BITS)
        bound = Signal()
        last = Signal(2)  # words 1 and 2 behind the one looked up are beyond the code
        routine = Signal(2)  # the one looked up, and word 2 behind it, are not the kernel's own
        decoding = Signal(g.warps)  # the warp in cycle 1
        sleeping = Signal(g.warps)
        m.d.comb += [cache.invalidate.eq(self.invalidate), cache.forget.eq(self.forget.any()),
                     self.lingering.eq(cache.lingering),
                     decoder.word.eq(self.fill.instruction.word), self.op.eq(decoder.decoded)]

        self._pick(m, cache, sleeping, fetching, pc, bound, last, decoding)
        if g.traps:
            base = Array(kernel.trap_base for kernel in self.kernels)[self.table.kernel]
            m.d.sync += routine.eq(Cat(base.any() & (self.stack.pc + k >= base) for k in (0, 2)))
        self._decode(m, cache.response, fetching, pc, bound, last, routine, decoding)

        # A warp that missed sleeps until a line comes, and takes no lookup from others meanwhile.
        missed = fetching & ~bound & ~cache.response.hit & ~cache.response.error
        m.d.sync += sleeping.eq((sleeping | decoding & spread(missed, g.warps))
                                & ~self.forget & ~spread(cache.filled, g.warps))
        if self.observed:
            m.d.comb += [self.lookup.valid.eq(fetching & ~bound), self.lookup.missed.eq(missed)]
        return m

    def _pick(self, m: Module, cache: InstructionCache, sleeping: Value, fetching: Signal,
              pc: Signal, bound: Signal, last: Signal, decoding: Signal):
        """Cycle 0: choose a warp and look its next word up."""
        m.submodules.arbiter = arbiter = RoundRobin(self.geometry.warps)
        code_base = Array(kernel.code_base for kernel in self.kernels)[self.table.kernel]
        code_words = Array(kernel.code_words for kernel in self.kernels)[self.table.kernel]
        out_of_code = Signal()
        # A warp whose word is being decoded may get its instruction in this cycle.
        m.d.comb += [
            arbiter.requests.eq(self.wanting & ~decoding & ~sleeping),
            self.table.warp.eq(arbiter.index), self.stack.warp.eq(arbiter.index),
            out_of_code.eq(self.stack.pc >= code_words),
            cache.request.valid.eq(arbiter.valid & ~out_of_code),
            cache.request.address.eq(code_base + Cat(Const(0, 3), self.stack.pc)),
        ]
        m.d.sync += [fetching.eq(arbiter.valid), decoding.eq(arbiter.grant),
                     self.stack.decode_warp.eq(arbiter.index),
                     pc.eq(self.stack.pc), bound.eq(out_of_code),
                     last.eq(Cat(self.stack.pc + k >= code_words for k in (1, 2)))]

    def _decode(self, m: Module, response: data.View, fetching: Value, pc: Value, bound: Value,
                last: Value, routine: Value, decoding: Value):
        """Cycle 1: skip a preemption point, and hand an instruction to the buffer."""
        arrived = Signal()
        idle = Signal()
        pair = Signal()
        behind = Signal()
        next_pc = Signal(PC_BITS)
        second_pc = Signal(PC_BITS)
        instruction, words, stack = self.fill.instruction, response.words, self.stack

        # A warp that reconverges at the target is left to the issue stage, which pops its stack.
        def elsewhere(target: Value):
            return (target != stack.decode_reconv) | (target == PC_NONE)

        def word_is(k: int, name: str):
            return words[k][LIVE_BITS:] == BY_NAME[name].code

        point = [word_is(k, "pp") | word_is(k, "pp.div") for k in (0, 2)]
        m.d.comb += [
            next_pc.eq(pc + 1), second_pc.eq(pc + 2),
            arrived.eq(fetching & (bound | response.hit | response.error)
                       & (decoding & self.table.alive).any()),
            idle.eq(point[0] & ~instruction.bound & ~instruction.bus_error & elsewhere(next_pc)
                    & ~(decoding & (self.table.pending | self.table.armed)).any()),
            pair.eq(word_is(0, "pp") & (response.more != 0) & ~last[0] & elsewhere(second_pc)
                    & word_is(1, "pp.div")),
            behind.eq(idle & pair & (response.more == 2) & ~last[1] & ~point[1]),
            stack.skip.valid.eq(arrived & idle), stack.skip.warp.eq(stack.decode_warp),
            stack.skip.pc.eq(Mux(pair, second_pc, next_pc)),
            self.fill.valid.eq(arrived & (~idle | behind)), self.fill.warp.eq(stack.decode_warp),
            instruction.word.eq(Mux(behind, words[2], words[0])), instruction.bound.eq(bound),
            instruction.bus_error.eq(~bound & response.error),
        ]
        if self.geometry.traps:
            m.d.comb += instruction.routine.eq(Mux(behind, routine[1], routine[0]))
