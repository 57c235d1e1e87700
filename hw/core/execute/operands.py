"""Operand collector: reads the registers of an issued instruction, a bank each a cycle.

::

    issue -> slot -> bank reads -> (a cycle) bank data -> operand registers -> output
             beat,                 `arriving`             a | b d0 | c d1 |
             operands left                                high b d2 | high c d3 | high a

An instruction whose operands are in different banks takes `beats` cycles. Registers that share a
bank are read in turn, in the order of the operand registers.
"""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import MAX_REGISTERS, PC_BITS, REGISTER_BANKS, Geometry
from ...arch.isa.opcodes import AluOp, Size, Space, Unit
from ...interfaces.payloads import below, issue, physical
from ...lib.bits import one_hot, spread
from .register_file import BANK_BITS, bank_row, row_of, select_bank

__all__ = ["OperandCollector", "operation", "collected", "OPERANDS"]

OPERANDS = 6
"""Operand registers: a, b, c and the upper words of b, c, a where they are pairs;
a and up to four words of a store."""


def operation(g: Geometry) -> data.StructLayout:
    """Control of an issued instruction when one beat of its operands is there.

    `ballot` are the lanes of the whole warp that execute it and whose pa holds.
    """
    return data.StructLayout({
        "unit": Unit, "alu": AluOp, "function": 7, "space": Space,
        "size": Size, "store": 1, "atomic": 1, "d": 6,
        "writes_d": 1, "writes_u": 1, "data_registers": 3, "pd": 3, "writes_pd": 1, "imm": 32,
        "warp": below(g.warps), "tb": below(g.tb_slots), "kernel": below(g.kernel_slots),
        "block_warp": below(g.max_block_warps), "base": physical(g), "pc": PC_BITS,
        "beat": below(g.beats), "last": 1, "mask": g.lanes,
        "pa": g.lanes, "pb": g.lanes, "ballot": g.warp_size,
    })


def collected(g: Geometry) -> data.StructLayout:
    """One beat of an instruction with its operands, in the order of `OPERANDS`."""
    return data.StructLayout({"operation": operation(g),
                              "operands": data.ArrayLayout(data.ArrayLayout(32, g.lanes),
                                                           OPERANDS)})


class OperandCollector(wiring.Component):
    """Turns issued instructions into beats with operands, in order, two cycles after the transfer
    of `issue`.

    Attributes
    ----------
    issue : in stream
        Ready when the slot is empty or does its last read, and there is to be no `pause`.
    pause : Signal(1), in
        Another request waits for a bank: no instruction is taken.
    reads, hold, bank_data : out, out, in
        Read side of `RegisterFile`.
    valid_warp, valid_row : out, in
        Valid bits of the warp being read, combinational; an invalid register reads as zero.
    arriving : out
        Operation whose operands are at the banks' outputs, one cycle before they are at `output`.
    arriving_last : Signal(1), out
        In this cycle `arriving` goes to `output`.
    immediate : Signal(32), in
        Operand b of all lanes where it is not a register; combinational from `arriving`.
    output : out stream
        A beat with its operands.
    holding : Signal(warps), out
        Vector: warps with an instruction in here, until its last beat has left.
    """

    issue: stream.Interface
    pause: Signal
    reads: data.View
    hold: Signal
    bank_data: data.View
    valid_warp: Signal
    valid_row: Signal
    arriving: data.View
    arriving_last: Signal
    immediate: Signal
    output: stream.Interface
    holding: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        words = data.ArrayLayout(32, g.lanes)
        super().__init__({
            "issue": In(stream.Signature(issue(g))), "pause": In(1),
            "reads": Out(data.ArrayLayout(data.StructLayout({"valid": 1, "row": bank_row(g)}),
                                          REGISTER_BANKS)),
            "hold": Out(1), "bank_data": In(data.ArrayLayout(words, REGISTER_BANKS)),
            "valid_warp": Out(below(g.warps)), "valid_row": In(MAX_REGISTERS),
            "arriving": Out(operation(g)), "arriving_last": Out(1),
            "immediate": In(32),
            "output": Out(stream.Signature(collected(g))), "holding": Out(g.warps),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        slot = Signal(issue(g))      # the instruction being read
        full = Signal()              # there is one
        beat = Signal(below(g.beats))
        needed = Signal(OPERANDS)    # operands to read for a beat
        reads_pending = Signal(OPERANDS)      # and not read yet
        granted = Signal(OPERANDS)   # and read in this cycle
        complete = Signal()          # no operand is left after this cycle
        last = Signal()
        stall = Signal()
        m.d.comb += [
            stall.eq(self.output.valid & ~self.output.ready), self.hold.eq(stall),
            needed.eq(self._needed(slot.op)), complete.eq(full & ((reads_pending & ~granted) == 0)),
            last.eq(beat == g.beats - 1),
            self.issue.ready.eq(~stall & ~self.pause & (~full | complete & last)),
            self.valid_warp.eq(slot.warp),
        ]
        with m.If(self.issue.ready):
            once = self.issue.payload.op.writes_u
            m.d.sync += [full.eq(self.issue.valid), beat.eq(Mux(once, g.beats - 1, 0)),
                         reads_pending.eq(self._needed(self.issue.payload.op))]
        with m.Elif(~stall & complete & last):
            m.d.sync += full.eq(0)
        with m.Elif(~stall & complete):
            m.d.sync += [beat.eq(beat + 1), reads_pending.eq(needed)]
        with m.Elif(~stall):
            m.d.sync += reads_pending.eq(reads_pending & ~granted)
        with m.If(self.issue.ready & self.issue.valid):
            m.d.sync += slot.eq(self.issue.payload)

        fields = self._registers(m, slot)
        numbers = [number for number, _ in fields]
        self._grant(m, reads_pending & spread(full & ~stall, OPERANDS), numbers, beat, granted)
        for k, (number, valid) in enumerate(fields):
            self._collect(m, k, stall, granted[k], full & ~needed[k], number, valid)

        finished = Signal()
        m.d.comb += self.arriving_last.eq(finished & ~stall)
        with m.If(~stall):
            m.d.sync += [*self._operation(slot, beat, last),
                         finished.eq(complete), self.output.valid.eq(finished)]
        with m.If(self.arriving_last):
            m.d.sync += self.output.payload.operation.eq(self.arriving)
        held = [one_hot(warp, g.warps) & spread(valid, g.warps) for warp, valid in (
            (slot.warp, full), (self.arriving.warp, finished),
            (self.output.payload.operation.warp, self.output.valid))]
        m.d.comb += self.holding.eq(held[0] | held[1] | held[2])
        return m

    @staticmethod
    def _needed(op: data.View):
        """Return which operands are read from the register file."""
        two, four = op.data_registers[1:].any(), op.data_registers[2]
        return Cat(op.reads_a, op.reads_b | op.reads_d, op.reads_c | op.reads_d & two,
                   op.reads_d & four | op.reads_b & op.pair_b,
                   op.reads_d & four | op.reads_c & op.pair_c, op.reads_a & op.pair_a)

    def _registers(self, m: Module, slot: data.View):
        """Return the physical register number of each operand, and its valid bit."""
        op, found = slot.op, []
        sources = (op.a, Mux(op.reads_d, op.d, op.b), Mux(op.reads_d, op.d + 1, op.c),
                   Mux(op.reads_d, op.d + 2, op.b + 1),
                   Mux(op.reads_d, op.d + 3, op.c + 1), op.a + 1)
        for k, source in enumerate(sources):
            register = Signal(6, name=f"register_{k}")
            number = Signal(physical(self.geometry), name=f"physical_{k}")
            m.d.comb += [register.eq(source), number.eq(slot.base + register)]
            found.append((number, self.valid_row.bit_select(register, 1)))
        return found

    def _grant(self, m: Module, reads_pending: Value, numbers: Sequence[Value], beat: Value,
               granted: Signal):
        """Let each bank read the first operand left in it, for every operand that is the same
        register."""
        for k, number in enumerate(numbers):
            clash = [granted[j] & (numbers[j][:BANK_BITS] == number[:BANK_BITS])
                     & (numbers[j] != number)
                     for j in range(k)]
            m.d.comb += granted[k].eq(reads_pending[k] & ~Cat(clash).any())
        for bank in range(REGISTER_BANKS):
            read = self.reads[bank]
            for k, number in enumerate(numbers):
                with m.If(granted[k] & (number[:BANK_BITS] == bank)):
                    m.d.comb += [read.valid.eq(1), read.row.eq(row_of(self.geometry, number, beat))]

    def _collect(self, m: Module, k: int, stall: Value, granted: Value, constant: Value,
                 number: Value, valid: Value):
        """Load operand register k a cycle after its read;
        a and b that are not registers are constants."""
        load = Signal(name=f"load_{k}")
        read = Signal(name=f"read_{k}")
        shown = Signal(name=f"shown_{k}")
        bank = Signal(BANK_BITS, name=f"bank_{k}")
        with m.If(~stall):
            m.d.sync += [load.eq(granted | constant if k < 2 else granted), read.eq(granted),
                         shown.eq(valid), bank.eq(number)]
        operand = Signal(32 * self.geometry.lanes, name=f"operand_{k}", reset_less=True)
        m.d.comb += self.output.payload.operands[k].eq(operand)
        with m.If(load & ~stall):
            with m.If(~read):
                value = self.immediate.replicate(self.geometry.lanes) if k == 1 else 0
                m.d.sync += operand.eq(value)
            with m.Elif(shown):
                m.d.sync += operand.eq(select_bank([word.as_value() for word in self.bank_data],
                                                   bank))
            with m.Else():
                m.d.sync += operand.eq(0)

    def _operation(self, slot: data.View, beat: Value, last: Value):
        """Return the assignments that put one beat of the slot's instruction into `arriving`."""
        op, lanes = slot.op, self.geometry.lanes
        values = {name: op[name]
                  for name in ("unit", "alu", "function", "space", "size", "store", "atomic", "d",
                               "writes_d", "writes_u", "data_registers", "pd", "writes_pd", "imm")}
        values |= {name: slot[name]
                   for name in ("warp", "tb", "kernel", "block_warp", "base", "pc")}
        values |= {name: slot[name].word_select(beat, lanes) for name in ("mask", "pa", "pb")}
        values["mask"] |= spread(op.writes_u, lanes)
        values |= {"beat": beat, "last": last, "ballot": slot.mask & slot.pa}
        return [self.arriving[name].eq(value) for name, value in values.items()]
