"""Kernel describer: writes the registers of a kernel slot from a packet."""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import SEGMENT_BYTES, Geometry
from ...arch.packets import DISPATCH, KERNARG_ALIGNMENT, KERNEL_OBJECT
from ...arch.registers import ADDRESS_BITS as REGISTER_ADDRESS_BITS
from ...arch.registers import register_map
from ...interfaces.payloads import below
from ...lib.bits import one_hot
from ...lib.divider import Divider
from .queue_registers import queue_setup

__all__ = ["KernelDescriber", "register_write"]

RECIPROCAL_BITS = 20
"""Fraction bits of a reciprocal that is rounded up: exact for thread numbers and block sizes below
1024."""
OFFSET_BITS = exact_log2(SEGMENT_BYTES)
KERNARG_BITS = exact_log2(KERNARG_ALIGNMENT)


def register_write(g: Geometry) -> data.StructLayout:
    """A write to a register of the SMs that have a bit in `sms`."""
    return data.StructLayout({"address": REGISTER_ADDRESS_BITS, "data": 32, "sms": g.sms})


class KernelDescriber(wiring.Component):
    """Divides, then writes one register per cycle. Registers that all SMs have alike come first,
    then the save areas and local memory of each SM. The parameters stay where the packet says.

    ::

        begin --> DIVIDE <--> DIVIDED --> JUDGE --> DESCRIBE --> CONTEXTS --> LOCALS
                                            |                                   |
                             done <---------+-----------------------------------+

    HSA counts a grid in threads, with blocks of any shape. Five divisions of 34 cycles give the
    thread blocks in x, y and z, and the reciprocals from which an SM finds its threads.

    Then the packet and its kernel object are judged. A value that does not fit its register, or is
    not aligned as the register wants it, is refused. Local memory that would reach beyond what the
    queue was given is refused too.

    Parameters
    ----------
    g : Geometry
        Geometry with `queues`.

    Attributes
    ----------
    packet : DISPATCH, in; found : KERNEL_OBJECT, in; setup : queue_setup, in
    slot : Signal, in
        Kernel slot.
    place : Signal, in
        Number of the kernel among those in flight in its queue; each has save areas and local
        memory of its own. All five inputs are held from `begin` to `done`.
    begin : Signal, in; done : Signal, out
        Each high for one cycle.
    wrong, strange : Signal, out
        High with `done` if nothing was written. The packet is `wrong` if no grid has its shape, or
        its blocks are larger than the SM takes. The kernel object is `strange` if no kernel has
        its numbers.
    registers : stream of register_write, out
    """

    packet: View
    found: View
    setup: View
    slot: Signal
    place: Signal
    begin: Signal
    done: Signal
    wrong: Signal
    strange: Signal
    registers: stream.Interface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "packet": In(DISPATCH), "found": In(KERNEL_OBJECT), "setup": In(queue_setup()),
            "slot": In(below(g.kernel_slots)), "place": In(below(g.queue_capacity)),
            "begin": In(1), "done": Out(1), "wrong": Out(1), "strange": Out(1),
            "registers": Out(stream.Signature(register_write(g))),
        })

    def elaborate(self, platform: Any):
        m = Module()
        # A dividend has 33 bits: the divisor less 1 is added to 32 bits, to round up.
        m.submodules.divider = divider = Divider(33, 17)
        blocks = [Signal(32, name=f"blocks_{name}") for name in "xyz"]
        reciprocals = [Signal(RECIPROCAL_BITS + 1, name=f"reciprocal_{name}") for name in "xy"]
        threads = Signal(11)
        wrong = self._shape(m, threads)
        words = self._words(threads, blocks, reciprocals)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.begin):
                    m.next = "DIVIDE"
            self._divide(m, divider, blocks, reciprocals)
            self._judge(m, words, wrong)
            self._write_common(m, words)
            self._write_places(m)
        return m

    def _shape(self, m: Module, threads: Signal) -> Value:
        """Compute the threads of a block. Return whether the block has none, is too large, or its
        local memory has no room. Numbers are checked to be small before they are multiplied, one
        product per cycle."""
        g, packet, most = self.geometry, self.packet, self.geometry.max_block_threads
        block = [packet[f"block_{name}"] for name in "xyz"]
        area = Signal(22)
        volume = Signal(22)
        warps = Signal(range(g.max_block_warps + 1))
        region = Signal(32)  # of a TB
        everything = Signal(40)  # of as many as there are slots
        m.d.sync += [
            area.eq(block[0][:11] * block[1][:11]), volume.eq(area[:11] * block[2][:11]),
            region.eq((((warps * packet.private_bytes[:16]) << exact_log2(g.warp_size))
                       + (SEGMENT_BYTES - 1)) & ~(SEGMENT_BYTES - 1)),
            everything.eq(region * g.tb_slots)]
        m.d.comb += [threads.eq(volume), warps.eq(
            (threads + (g.warp_size - 1)) >> exact_log2(g.warp_size))]
        return Cat(*(size == 0 for size in block), *(size > 1024 for size in block),
                   *(packet[f"threads_{name}"] == 0 for name in "xyz"), area > most, volume > most,
                   everything > self.setup.local_stride).any()

    def _judge(self, m: Module, words: Mapping[str, ValueLike], wrong: Value):
        """Refuse values that the registers do not take."""
        packet, found, places = self.packet, self.found, register_map()
        theirs = [name for name in words
                  if name.startswith(("code", "const", "trap", "param_bytes"))]

        def beyond(name: str):
            width = places[f"kernel[0].{name}"].fields["value"].width
            return Value.cast(words[name])[width:].any()

        shape = places["kernel[0].block"].fields
        wide = Cat(packet[f"block_{name}"][shape[name].width:].any() for name in "xyz").any()
        registers = places["kernel[0].sizes"].fields["registers"].width
        # The products of `_shape` have settled by now: the divisions take longer.
        with m.State("JUDGE"):
            m.d.comb += [
                self.wrong.eq(wrong | wide | Cat(
                    beyond(name) for name in words
                    if name not in ("block", "sizes", *theirs)).any()
                    | packet.group_bytes[:2].any() | packet.private_bytes[:2].any()
                    | packet.kernarg_address[:KERNARG_BITS].any()),
                self.strange.eq(found.registers[registers:].any()
                                | Cat(beyond(name) for name in theirs).any()
                                | found.code_base[:OFFSET_BITS].any()
                                | found.const_base[:OFFSET_BITS].any()),
                self.done.eq(self.wrong | self.strange)]
            m.next = "DESCRIBE"
            with m.If(self.done):
                m.next = "IDLE"

    def _divide(self, m: Module, divider: Divider, blocks: Sequence[Signal],
                reciprocals: Sequence[Signal]):
        """Compute the thread blocks of the grid, and the reciprocals of a block's x and y."""
        packet = self.packet
        step = Signal(range(5))
        steps = [(packet[f"threads_{name}"], packet[f"block_{name}"], result)
                 for name, result in zip("xyz", blocks, strict=True)]
        steps += [((1 << RECIPROCAL_BITS), packet[f"block_{name}"], result)
                  for name, result in zip("xy", reciprocals, strict=True)]
        # The five divisions share one divider; each is started here, and its end awaited.
        with m.State("DIVIDE"):
            with m.Switch(step):
                for k, (dividend, divisor, _) in enumerate(steps):
                    with m.Case(k):
                        m.d.comb += [divider.dividend.eq(Value.cast(dividend) + divisor - 1),
                                     divider.divisor.eq(divisor)]
            m.d.comb += divider.start.eq(1)
            m.next = "DIVIDED"
        with m.State("DIVIDED"):
            with m.If(divider.done):
                with m.Switch(step):
                    for k, (_, _, result) in enumerate(steps):
                        with m.Case(k):
                            m.d.sync += result.eq(divider.quotient)
                m.d.sync += step.eq(step + 1)
                m.next = "DIVIDE"
                with m.If(step == len(steps) - 1):
                    m.d.sync += step.eq(0)
                    m.next = "JUDGE"

    def _words(self, threads: Value, blocks: Sequence[Value], reciprocals: Sequence[Value]):
        """Return the registers of a kernel slot that are alike on all SMs, and their words."""
        g, packet, found, setup = self.geometry, self.packet, self.found, self.setup
        fields = register_map()["kernel[0].sizes"].fields
        warps = (threads + (g.warp_size - 1)) >> exact_log2(g.warp_size)
        sizes = (threads << fields["threads"].low
                 | found.registers[:fields["registers"].width] << fields["registers"].low
                 | warps << fields["warps"].low)
        shape = register_map()["kernel[0].block"].fields
        words = {
            "code_base": found.code_base, "code_words": found.code_words,
            **{f"grid_{name}": count for name, count in zip("xyz", blocks, strict=True)},
            "block": Cat(packet[f"block_{name}"][:shape[name].width] for name in "xyz"),
            "reciprocal_x": reciprocals[0], "reciprocal_y": reciprocals[1],
            "sizes": sizes, "shared_bytes": packet.group_bytes, "area_bytes": setup.area_bytes,
            "local_bytes": packet.private_bytes, "const_base": found.const_base,
            "const_bytes": found.const_bytes, "param_base": packet.kernarg_address[:32],
            "param_bytes": found.kernarg_words << 2, "window_base[0]": setup.window_base,
            "window_end[0]": setup.window_end,
        }
        for window in range(1, g.windows):
            words |= {f"window_base[{window}]": 0, f"window_end[{window}]": 0}
        if g.traps:
            words["trap_base"] = found.trap_base
        if g.spare_entries:
            words["entries"] = 0
        return words

    def _write(self, m: Module, name: str, word: ValueLike, sms: ValueLike, index: Value | int = 0):
        """Write a register of the kernel slot, the one of an `index` of several."""
        port, places = self.registers, register_map()
        base = places["kernel[0].code_base"].address
        slot_bits = (places["kernel[1].code_base"].address - base).bit_length() - 1
        offset = places[f"kernel[0].{name}"].address
        m.d.comb += [port.valid.eq(1), port.payload.data.eq(word), port.payload.sms.eq(sms),
                     port.payload.address.eq((self.slot << slot_bits) + offset + (index << 2))]

    def _write_common(self, m: Module, words: Mapping[str, ValueLike]):
        """Write the registers that all SMs have alike."""
        step = Signal(range(len(words)))
        with m.State("DESCRIBE"):
            with m.Switch(step):
                for k, (name, word) in enumerate(words.items()):
                    with m.Case(k):
                        self._write(m, name, word, (1 << self.geometry.sms) - 1)
            with m.If(self.registers.ready):
                m.d.sync += step.eq(step + 1)
                with m.If(step == len(words) - 1):
                    m.d.sync += step.eq(0)
                    m.next = "CONTEXTS"

    def _write_places(self, m: Module):
        """Write where each SM saves and has its local memory. The offset grows by one stride per
        cycle, over earlier places first and then over the SMs."""
        setup, sms = self.setup, self.geometry.sms
        sm = Signal(below(sms))
        passed = Signal(below(self.geometry.queue_capacity))  # places
        offset = Signal(32)
        for state, name, first, stride, then in (
                ("CONTEXTS", "ccb_base", setup.ccb_base, setup.ccb_stride, "LOCALS"),
                ("LOCALS", "local_base", setup.local_base, setup.local_stride, "IDLE")):
            # One offset runs over all places and SMs, so that no multiplier is needed; registers
            # are written only at the kernel's own place.
            with m.State(state):
                here = passed == self.place
                with m.If(here):
                    self._write(m, name, first + offset, one_hot(sm, sms))
                with m.If(self.registers.ready | ~here):
                    m.d.sync += [sm.eq(sm + 1), offset.eq(offset + stride)]
                    with m.If(sm == sms - 1):
                        m.d.sync += [sm.eq(0), passed.eq(passed + 1)]
                        with m.If(here):
                            m.d.sync += [passed.eq(0), offset.eq(0)]
                            m.next = then
                            m.d.comb += self.done.eq(then == "IDLE")
