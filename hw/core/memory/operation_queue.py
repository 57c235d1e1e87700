"""The queue in front of a memory unit: beats come in, whole warp instructions come out."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import Fault
from ...arch.geometry import ADDRESS_BITS, PC_BITS, Geometry
from ...arch.isa.opcodes import Size, Space
from ...interfaces import payloads as payload
from ...lib.bits import lowest, select
from .access_size import misaligned
from .generation import generation_of

__all__ = ["queued", "OperationQueue"]


def queued(g: Geometry, slots: int) -> data.StructLayout:
    """Data common to the lanes of a queued instruction; `slot` is where its data lies.

    `kind` is the fault found on the way in, `Fault.NONE` if none, and `fault_address` the address
    of the lowest lane that has it.
    """
    below = payload.below
    return data.StructLayout({
        "warp": below(g.warps), "tb": below(g.tb_slots), "kernel": below(g.kernel_slots),
        "base": payload.physical(g), "pc": PC_BITS, "d": 6, "writes_u": 1, "size": Size, "store": 1,
        "atomic": 1, "function": 4, "writes_d": 1, "local": 1, "parameter": 1,
        "kind": Fault, "fault_address": ADDRESS_BITS, "slot": below(slots),
        "generation": payload.GENERATION_BITS,
    })


class OperationQueue(wiring.Component):
    """Gathers the beats of memory instructions and holds them until the unit has used their data.

    The unit looks at the oldest instruction it has not advanced past (`head`, `mask`, `address`),
    and reads store data by slot. It pulses three events. `start`: it begins an instruction; this
    gives the place back to the front end. `advance`: it needs no more of the instruction's
    addresses. `release`: it needs no more of its data. All three may come in one cycle. An
    instruction can be started one cycle after its last beat. There is room for one started and one
    advanced instruction beside `unit_queue` waiting ones.

    A lane whose address is misaligned or, if none is, `beyond` its bound makes the whole
    instruction a faulting one. The lowest such lane is reported.

    An instruction is given the generation of its warp slot with its beats, which all come while the
    warp is there. The front end hands out `unit_queue` places, so `op` is never held up.

    Parameters
    ----------
    g : Geometry
    bound : Fault
        Fault that a lane that is `beyond` reports.
    words : int
        Words of data that come with each lane; 0 for a unit that only loads.

    Attributes
    ----------
    op : stream of memory_op, in
        Beats, in order.
    beyond : Signal(lanes), in
        Lanes of the beat on `op` whose address is out of bounds, combinational; they fault as
        `bound`.
    generations : In
        `payloads.generations`; a unit whose accesses do not go over the bus leaves it at 0.
    head : Out
        `valid` and the oldest instruction.
    mask, address : Out
        Its mask and addresses, all `warp_size` lanes.
    data_slot : In
        Slot whose data is read.
    data : Out
        Payload of a store or an atomic (`payloads.memory_op`), of every lane, combinational.
    start, advance, release : Signal(1), in
        The unit's events, of the oldest instruction each; high for one cycle.
    room : Signal(1), out
        The front end has a place back; comes with `start`.
    """

    op: stream.Interface
    beyond: Signal
    generations: data.View
    head: data.View
    mask: Signal
    address: data.View
    data_slot: Signal
    data: data.View
    start: Signal
    advance: Signal
    release: Signal
    room: Signal

    def __init__(self, g: Geometry, bound: Fault, words: int = 4):
        self.geometry = g
        self.bound, self.words = bound, words
        self.slots = g.unit_queue + 2
        lanes = data.ArrayLayout(32, g.warp_size)
        super().__init__({
            "op": In(stream.Signature(payload.memory_op(g, words))),
            "beyond": In(g.lanes),
            "generations": In(payload.generations(g)),
            "head": Out(data.StructLayout({"valid": 1, "op": queued(g, self.slots)})),
            "mask": Out(g.warp_size),
            "address": Out(lanes),
            "data_slot": In(payload.below(self.slots)),
            "data": Out(data.ArrayLayout(lanes, words)),
            "start": In(1),
            "advance": In(1),
            "release": In(1),
            "room": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        op = self.op
        write_slot = Signal(range(self.slots))
        read_slot = Signal(range(self.slots))
        waiting = Signal(range(self.slots + 1))  # instructions not advanced past
        used = Signal(range(self.slots + 1))  # slots not released
        push = Signal()
        complete = Signal()
        m.d.comb += [op.ready.eq(used != self.slots), push.eq(op.valid & op.ready),
                     complete.eq(push & op.payload.last), self.head.valid.eq(waiting != 0),
                     self.room.eq(self.start)]
        m.d.sync += [waiting.eq(waiting + complete - self.advance),
                     used.eq(used + complete - self.release)]
        for event, slot in ((complete, write_slot), (self.advance, read_slot)):
            with m.If(event):
                m.d.sync += slot.eq(Mux(slot == self.slots - 1, 0, slot + 1))
        self._control(m, push, write_slot, read_slot)
        self._lanes(m, push, write_slot, read_slot)
        return m

    def _control(self, m: Module, push: Value, write_slot: Value, read_slot: Value):
        """Store what the lanes share, with the fault found in the beats so far."""
        op, g = self.op.payload, self.geometry
        odd = Signal(g.lanes)
        beyond = Signal(g.lanes)
        chosen = Signal(g.lanes)
        so_far = data.StructLayout({"kind": Fault, "address": ADDRESS_BITS})
        before = Signal(so_far)
        now = Signal(so_far)
        m.d.comb += [odd.eq(op.mask
                            & Cat(misaligned(op.address[i], op.size) for i in range(g.lanes))),
                     beyond.eq(op.mask & self.beyond),
                     chosen.eq(lowest(Mux(odd.any(), odd, beyond))), now.eq(before)]
        with m.If((odd.any() & (before.kind != Fault.MISALIGNED))
                  | (beyond.any() & (before.kind == Fault.NONE))):
            m.d.comb += [now.kind.eq(Mux(odd.any(), Fault.MISALIGNED, self.bound)),
                         now.address.eq(select(chosen, [op.address[i] for i in range(g.lanes)]))]
        with m.If(push):
            m.d.sync += before.eq(Mux(op.last, 0, now.as_value()))

        layout = queued(g, self.slots)
        m.submodules.control = control = memory.Memory(shape=layout, depth=self.slots, init=[])
        write = control.write_port()
        read = control.read_port(domain="comb")
        m.d.comb += [write.addr.eq(write_slot), write.en.eq(push), write.data.kind.eq(now.kind),
                     write.data.fault_address.eq(now.address), write.data.slot.eq(write_slot),
                     read.addr.eq(read_slot), self.head.op.eq(read.data)]
        m.d.comb += [write.data.local.eq(op.space == Space.LOCAL),
                     write.data.parameter.eq(op.space == Space.PARAMETER),
                     write.data.generation.eq(generation_of(self.generations, op.warp))]
        m.d.comb += [write.data[name].eq(op[name])
                     for name in ("warp", "tb", "kernel", "base", "pc", "d", "writes_d", "writes_u",
                                  "size", "store", "atomic", "function")]

    def _lanes(self, m: Module, push: Value, write_slot: Value, read_slot: Value):
        """Store mask, addresses and data, a memory for each and each beat so that a whole warp is
        read at once."""
        op, g = self.op.payload, self.geometry
        for beat in range(g.beats):
            part = slice(beat * g.lanes, (beat + 1) * g.lanes)
            here = push & (op.beat == beat)
            mask = self._store(m, f"mask_{beat}", op.mask, here, write_slot, read_slot)
            m.d.comb += self.mask[part].eq(mask)
            stored = [(self.address, "address", op.address, here, read_slot)]
            used = here & (op.store | op.atomic)
            stored += [(self.data[k], f"data_{k}", op.data[k], used, self.data_slot)
                       for k in range(self.words)]
            for output, name, value, enable, slot in stored:
                lanes = self._store(m, f"{name}_{beat}", value.as_value(), enable, write_slot, slot)
                m.d.comb += [output[part.start + i].eq(lanes.word_select(i, 32))
                             for i in range(g.lanes)]

    def _store(self, m: Module, name: str, value: Value, enable: Value, write_slot: Value,
               read_slot: Value):
        """Create a memory of one row per slot; return the row at `read_slot`."""
        m.submodules[name] = store = memory.Memory(shape=len(value), depth=self.slots, init=[])
        write = store.write_port()
        read = store.read_port(domain="comb")
        m.d.comb += [write.addr.eq(write_slot), write.data.eq(value),
                     write.en.eq(enable), read.addr.eq(read_slot)]
        return read.data
