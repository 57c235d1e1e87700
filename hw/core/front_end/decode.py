"""Decoder of instruction words, generated from the table in `hw.arch.isa.opcodes`."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import INSTRUCTION_BYTES, UNIFORMS
from ...arch.isa.formats import FIELDS, Format
from ...arch.isa.liveness import LIVE_BITS
from ...arch.isa.opcodes import OPCODES, PT, AluOp, Opcode, Size, Space, Unit
from ...interfaces import payloads as payload

__all__ = ["Decoder", "OPCODE_BITS"]

OPCODE_BITS = 8 * INSTRUCTION_BYTES - LIVE_BITS
"""Bits of the opcode, at the top of the word."""

_ROW = data.StructLayout({
    "known": 1, "unit": Unit, "alu": AluOp, "space": Space, "size": Size, "store": 1, "atomic": 1,
    "data_registers": 3, "barrier": 4, "pair_a": 1, "pair_b": 1,
    "pair_c": 1, "ua": 1, "ub": 1, "uc": 1, "ud": 1,
    "form": len(Format), "guarded": 1, "use_imm": 1, "mem": 1, "param": 1,
    "a": 1, "b": 1, "c": 1, "data": 1, "d": 1, "pa": 1, "pb": 1, "pd": 1,
    "is_bra": 1, "is_exit": 1, "is_bar": 1, "is_pp": 1,
    "is_pp_div": 1, "is_membar": 1, "is_trap": 1,
    "is_call": 1, "is_bru": 1, "is_rejoin": 1, "all_lanes": 1,
})
_NAMED = {"bra": "is_bra", "exit": "is_exit", "pp": "is_pp",
          "pp.div": "is_pp_div", "membar": "is_membar",
          "trap": "is_trap", "call": "is_call", "bru": "is_bru", "rejoin": "is_rejoin"}
_ORDER = tuple(Format)


def _row(op: Opcode) -> data.Const:
    """Return what the decoder needs to know of one opcode."""
    row: dict[int | str, Any] = {
        "known": 1, "unit": op.unit, "alu": op.alu or AluOp.MOV,
        "size": Size.U8 if op.size is None else op.size,
        "space": op.space or Space.GLOBAL, "store": op.store, "atomic": op.is_atomic,
        "data_registers": op.data_registers, "barrier": op.barrier or 0,
        "form": 1 << _ORDER.index(op.format), "guarded": op.is_guarded, "all_lanes": op.all_lanes,
        "use_imm": "imm" in FIELDS[op.format], "is_bar": op.barrier is not None}
    row |= {name: 1 for name in op.operands if name in (
        "mem", "param", "a", "b", "c", "data", "d", "pa", "pb", "pd", "ua", "ub", "uc", "ud")}
    row |= {f"pair_{name}": 1 for name in op.pairs if name in op.operands and name != "d"}
    if op.name in _NAMED:
        row[_NAMED[op.name]] = 1
    return _ROW.const(row)


class Decoder(wiring.Component):
    """Splits a 64-bit instruction word into the control bundle `payloads.decoded`; combinational.

    Four kinds of instruction give `illegal`. The opcode is not in the table; the first register of
    a group is not a multiple of the group's size; a uniform register does not exist; or a uniform
    register is half of a pair. For an unknown opcode nothing else is set. The 32-bit immediate
    counts as operand b of memory instructions too, since their address is a + imm. A write to
    `isa.PT` is no write.

    Parameters
    ----------
    yields : bool
        It knows the instructions of `Opcode.yields`.

    Attributes
    ----------
    word : Signal(64), in
    decoded : View(interfaces.decoded()), out
    """

    word: Signal
    decoded: data.View

    def __init__(self, yields: bool = False):
        self.yields = yields
        super().__init__({"word": In(8 * INSTRUCTION_BYTES), "decoded": Out(payload.decoded())})

    def elaborate(self, platform: Any):
        m = Module()
        row = Signal(_ROW)
        with m.Switch(self.word[LIVE_BITS:]):
            for op in OPCODES:
                if op.yields and not self.yields:
                    continue
                with m.Case(op.code):
                    m.d.comb += row.as_value().eq(_row(op).as_value())
            with m.Default():
                m.d.comb += row.unit.eq(Unit.CONTROL)
        out = self.decoded
        register_form = row.form[_ORDER.index(Format.R)]
        low_b, _ = FIELDS[Format.R]["b_uniform"]
        first, width = FIELDS[Format.A]["imm"]
        offset = self.word[first:first + width].as_signed()
        for name in ("unit", "alu", "space", "size", "store", "atomic", "data_registers", "barrier",
                     "use_imm", "is_bra", "is_exit", "is_bar", "is_pp", "is_pp_div", "is_membar",
                     "is_trap", "is_call", "is_bru", "is_rejoin", "all_lanes", "pair_a", "pair_b",
                     "pair_c"):
            m.d.comb += out[name].eq(row[name])
        m.d.comb += out.function.eq(self.word[LIVE_BITS:LIVE_BITS + 7])
        for name in ("d", "a", "b", "c", "pb", "pb_not", "pa", "pa_not", "pd", "target", "reconv",
                     "live"):
            m.d.comb += out[name].eq(self._field(name, row))
        m.d.comb += [
            out.guard.eq(Mux(row.guarded, self._field("guard", row), PT)),
            out.guard_not.eq(row.guarded & self._field("guard_not", row)),
            out.imm.eq(Mux(row.atomic, offset, self.word[:32])),
            out.no_base.eq(row.mem & self._field("no_base", row) | row.param),
            out.b_uniform.eq(row.b & register_form & self.word[low_b]),
            out.base_uniform.eq(row.mem & ~out.no_base
                                & (self._field("base_uniform", row) | row.ud)),
            out.uniform_a.eq(row.ua | out.base_uniform), out.uniform_b.eq(row.ub | out.b_uniform),
            out.uniform_c.eq(row.uc), out.writes_u.eq(row.ud),
            out.reads_a.eq(row.a | row.mem & ~out.no_base & ~out.base_uniform),
            out.reads_b.eq(row.b & ~out.b_uniform), out.reads_c.eq(row.c),
            out.reads_d.eq(row.data), out.writes_d.eq(row.d),
            out.reads_pa.eq(row.pa), out.reads_pb.eq(row.pb),
            out.writes_pd.eq(row.pd & (out.pd != PT)),
        ]
        self._registers(m, out, row)
        return m

    def _field(self, name: str, row: data.View) -> Value:
        """Return field `name`, from wherever its format has it;
        any value for a format without it."""
        places: dict[tuple[int, int], int] = {}
        for number, form in enumerate(_ORDER):
            if name in FIELDS[form]:
                place = FIELDS[form][name]
                places[place] = places.get(place, 0) | 1 << number
        slices = [(self.word[low:low + width], forms) for (low, width), forms in places.items()]
        value, _ = slices[0]
        for other, forms in slices[1:]:
            value = Mux((row.form & forms).any(), other, value)
        return value

    def _registers(self, m: Module, out: data.View, row: data.View):
        """Legality of the register group, and the highest register used."""
        group = Mux(out.data_registers.any(), out.data_registers - 1, 0)[:2]
        uses_d = out.reads_d | out.writes_d
        top = Signal(6)
        m.d.comb += top.eq(Mux(uses_d, out.d | group, 0))
        odd, beyond = [], []
        for name in ("a", "b", "c"):
            uses, register, pair = out[f"reads_{name}"], out[name], out[f"pair_{name}"]
            last = Signal(6, name=f"last_{name}")
            higher = Signal(6)
            m.d.comb += [last.eq(Cat(register[0] | pair, register[1:])),
                         higher.eq(Mux(uses & (last > top), last, top))]
            top = higher
            odd.append(uses & pair & register[0])
            beyond.append(out[f"uniform_{name}"] & register[exact_log2(UNIFORMS)])
        beyond += [out.writes_u & out.d[exact_log2(UNIFORMS)], out.b_uniform & out.pair_b]
        m.d.comb += [
            out.illegal.eq(~row.known | uses_d & (out.d & group).any() | Cat(odd, beyond).any()),
            out.uses_registers.eq(uses_d | out.reads_a | out.reads_b | out.reads_c),
            out.top_register.eq(top),
        ]
