"""Payloads that travel between the blocks of the SM; each block's ports are declared where it is.

::

            KernelInfo, TbInfo, warp_init / stack_push / start               (ControlUnit)
                 |                                                                ^
                 v                                                                | views, register
    icache -> FrontEnd --issue--> ExecutePipeline --global_op--> LoadStore ----+  | and shared-
      fetch, decode,     |  |       operands, ALU,  --shared_op--> SharedMemory |  | memory ports
      scoreboard, SIMT   |  |       F64, SFU,       --constant_op-> ConstantUnit|
      stack, barriers    |  |       exchange,                       |          |
                         |  |       predicates,                     |          |
                         |  |       write back  <-----load_write----+----------+
                         |  +--uniform_op--> UniformUnit (registers of the warp, scalar lane)
                         +<-------released registers, completed memory operations
"""

from amaranth.hdl import Cat, Mux, Value, unsigned
from amaranth.lib import data
from amaranth.utils import exact_log2

from ..arch.faults import Fault
from ..arch.geometry import (
    ADDRESS_BITS,
    BARRIERS,
    MAX_REGISTERS,
    PC_BITS,
    PREDICATES,
    SEGMENT_BYTES,
    UNIFORMS,
    WORD_BYTES,
    Geometry,
)
from ..arch.isa.liveness import LIVE_BITS
from ..arch.isa.opcodes import AluOp, Size, Space, Unit

__all__ = ["below", "decoded", "issue", "uniform_op", "memory_op", "lane_op", "register_write",
           "uniform_write", "predicate_write", "fault_report", "FAULT_SOURCES", "fault_reports",
           "GENERATION_BITS", "generations", "tagged", "warp_event", "tb_event", "line_range",
           "register_release", "predicate_release", "kernel_info", "unusable_entries", "tb_info",
           "warp_init", "stack_push", "warp_view", "uniform_pair", "uniform_restore",
           "uniform_trace", "predicate_restore", "register_read", "register_flags",
           "register_data", "rows_per_line", "row_access", "row_data"]

GENERATION_BITS = 2
"""Bits of a warp slot's generation, which tells the accesses of its warp from those of warps that
were forgotten there."""

FAULT_SOURCES = ("load_store", "shared", "constant", "front")
"""Blocks that report faults; of those in the same cycle the first is recorded."""


def below(count: int):
    """Shape of a number from 0 to ``count - 1`` (at least one bit)."""
    return unsigned(max(1, (count - 1).bit_length()))


def physical(g: Geometry):
    """Shape of a physical vector register number."""
    return unsigned(exact_log2(g.registers))


def decoded() -> data.StructLayout:
    """Control bundle of one instruction, made by `decode.Decoder`.

    `d`, `a`, `b`, `c` are register fields, `reads_*` says which are read; a store reads
    `data_registers` consecutive registers from `d` (`reads_d`), a load or ALU operation writes them
    (`writes_d`). Operand b is `imm` when `use_imm`. `top_register` is the highest register number
    used. `pair_a`, `pair_b`, `pair_c` mark operands of two registers. `b_uniform`, `base_uniform`:
    operand b is U[b], the address U[a] + imm. The `uniform_a`, `uniform_b`, `uniform_c` say that
    these fields name uniform registers, `writes_u` that `d` does; `all_lanes` that lanes execute it
    which are not active, too.
    """
    return data.StructLayout({
        "unit": Unit, "alu": AluOp, "function": 7,
        "space": Space, "size": Size, "store": 1, "atomic": 1,
        "pair_a": 1, "pair_b": 1, "pair_c": 1, "b_uniform": 1, "base_uniform": 1,
        "uniform_a": 1, "uniform_b": 1, "uniform_c": 1, "writes_u": 1,
        "d": 6, "a": 6, "b": 6, "c": 6, "reads_a": 1,
        "reads_b": 1, "reads_c": 1, "reads_d": 1, "writes_d": 1,
        "data_registers": 3, "top_register": 6,
        "uses_registers": 1, "no_base": 1, "use_imm": 1, "imm": 32,
        "guard": 3, "guard_not": 1, "pa": 3, "pa_not": 1,
        "reads_pa": 1, "pb": 3, "pb_not": 1, "reads_pb": 1,
        "pd": 3, "writes_pd": 1,
        "target": PC_BITS, "reconv": PC_BITS, "live": LIVE_BITS, "barrier": below(BARRIERS),
        "is_bra": 1, "is_exit": 1, "is_bar": 1, "is_pp": 1,
        "is_pp_div": 1, "is_membar": 1, "is_trap": 1,
        "is_call": 1, "is_bru": 1, "is_rejoin": 1, "all_lanes": 1, "illegal": 1,
    })


def issue(g: Geometry) -> data.StructLayout:
    """One issued warp instruction, from `FrontEnd` to `ExecutePipeline`.

    `mask` is the active mask ANDed with the guard (never zero), `pa` and `pb` the predicate
    operands of all lanes, already negated; `base` the warp's first physical register. A uniform
    register that operand b or the address needs has become, or has been added to, the immediate.
    """
    return data.StructLayout({
        "op": decoded(), "warp": below(g.warps),
        "tb": below(g.tb_slots), "kernel": below(g.kernel_slots),
        "block_warp": below(g.max_block_warps), "base": physical(g), "pc": PC_BITS,
        "mask": g.warp_size, "pa": g.warp_size, "pb": g.warp_size,
    })


def uniform_op(g: Geometry) -> data.StructLayout:
    """One instruction of the uniform data path, from `IssueStage` to `UniformUnit`, operands read.

    `a`, `b`, `c` are uniform registers or the immediate (b; of a ``call`` its return address);
    `mask` are the lanes that execute it.
    """
    return data.StructLayout({
        "alu": AluOp, "warp": below(g.warps),
        "tb": below(g.tb_slots), "kernel": below(g.kernel_slots),
        "block_warp": below(g.max_block_warps), "d": 5, "writes_u": 1, "pd": 3, "writes_pd": 1,
        "imm": 32, "a": 32, "b": 32, "c": 32, "mask": g.warp_size,
    })


def memory_op(g: Geometry, words: int = 4) -> data.StructLayout:
    """One beat (`lanes` lanes) of a load or store, from `ExecutePipeline` to a memory unit.

    The `beats` beats of an instruction come in order with nothing between; `address` is a + imm of
    each lane (of a local access the offset in the thread's local memory). `data[k]` is register
    ``d + k`` of each lane (stores only); of an atomic, `data` is b, c, high word of b, high word of
    c, `function` the `isa.AtomicOp` and `writes_d` says that it returns what was there. `writes_u`:
    a constant load into uniform register `d`, of which only the last beat comes, with all its
    lanes. A unit that only loads takes 0 `words`: there is no
    `data`.
    """
    stored = {"data": data.ArrayLayout(data.ArrayLayout(32, g.lanes), words)} if words else {}
    return data.StructLayout({
        "warp": below(g.warps), "tb": below(g.tb_slots),
        "kernel": below(g.kernel_slots), "base": physical(g),
        "block_warp": below(g.max_block_warps), "pc": PC_BITS,
        "d": 6, "writes_d": 1, "writes_u": 1, "size": Size,
        "store": 1, "atomic": 1, "function": 4, "space": Space, "beat": below(g.beats),
        "last": 1, "mask": g.lanes, "address": data.ArrayLayout(ADDRESS_BITS, g.lanes),
    } | stored)


def lane_op(g: Geometry, operands: tuple[str, ...]) -> data.StructLayout:
    """One beat of an operation of the f64, special-function or exchange unit, from
    `ExecutePipeline`.

    The `beats` beats of an instruction come in order with nothing between. `function` is the low 7
    bits of the opcode. `operands` are the operands that the unit has, with one word per lane:
    ``a b c``, and ``high_a high_b high_c`` for the upper words of register pairs. An immediate is
    operand b. `data_registers` are written from `d` up if `writes_d`, predicate `pd` if
    `writes_pd`.
    """
    words = data.ArrayLayout(32, g.lanes)
    return data.StructLayout({
        "function": 7, "warp": below(g.warps), "base": physical(g),
        "d": 6, "writes_d": 1, "data_registers": 3,
        "pd": 3, "writes_pd": 1, "beat": below(g.beats), "last": 1, "mask": g.lanes,
    } | dict.fromkeys(operands, words))


def register_write(g: Geometry) -> data.StructLayout:
    """One beat of a vector-register write.

    A register is written as `beats` beats in ascending order, with an empty `mask` where nothing is
    to be written; `last` marks the final beat. `release` (with `last`) frees the register in the
    scoreboard.
    """
    return data.StructLayout({
        "warp": below(g.warps), "base": physical(g),
        "register": 6, "beat": below(g.beats), "last": 1,
        "release": 1, "mask": g.lanes, "data": data.ArrayLayout(32, g.lanes),
    })


def predicate_write(g: Geometry) -> data.StructLayout:
    """One beat of a predicate write; a predicate is written as all its `beats` beats in ascending
    order.

    The last beat frees the predicate in the scoreboard.
    """
    return data.StructLayout({"warp": below(g.warps), "predicate": 3,
                              "beat": below(g.beats), "last": 1,
                              "mask": g.lanes, "value": g.lanes})


def uniform_write(g: Geometry) -> data.StructLayout:
    """A constant that goes into a uniform register; without `keep` it is only released."""
    return data.StructLayout({"warp": below(g.warps), "register": 5, "keep": 1, "data": 32})


def generations(g: Geometry) -> data.ArrayLayout:
    """The generation of every warp slot, as `GENERATION_BITS` vectors with one bit per slot."""
    return data.ArrayLayout(g.warps, GENERATION_BITS)


def tagged(layout: data.StructLayout) -> data.StructLayout:
    """Something of field `warp` that may come after its warp was forgotten: with the `generation`
    of its slot when it was issued."""
    return data.StructLayout({name: field.shape for name, field in layout}
                             | {"generation": GENERATION_BITS})


def warp_event(g: Geometry) -> data.StructLayout:
    """Something happens to warp slot `warp`: a memory instruction of it has completed, it is
    cleared; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "warp": below(g.warps)})


def warp_clear(g: Geometry) -> data.StructLayout:
    """Predicates of warp slot `warp` are cleared, and its vector registers unless those are `kept`;
    `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "warp": below(g.warps), "kept": 1})


def fault_report(g: Geometry) -> data.StructLayout:
    """A fault of `warp`; `valid` for one cycle.
    The TB is killed by the preemption unit's `kill` vector."""
    return data.StructLayout({"valid": 1, "kind": Fault, "warp": below(g.warps), "pc": PC_BITS,
                              "address": ADDRESS_BITS})


def fault_reports(g: Geometry) -> data.StructLayout:
    """The fault reports of all blocks of a core."""
    return data.StructLayout(dict.fromkeys(FAULT_SOURCES, fault_report(g)))


def kernel_info(g: Geometry) -> data.StructLayout:
    """Descriptor of one kernel slot, constant while the kernel runs
    (register map, ``kernel[k]``); `trap_base` with `Geometry.traps`, `usual_cycles` with
    `Geometry.proactive`."""
    window = data.StructLayout({"base": ADDRESS_BITS, "end": ADDRESS_BITS})
    return data.StructLayout({
        "code_base": ADDRESS_BITS, "code_words": PC_BITS,
        **({"trap_base": PC_BITS} if g.traps else {}),
        **({"entries": 6} if g.spare_entries else {}),
        **({"usual_cycles": 32} if g.proactive else {}), "grid_x": 32, "grid_y": 16, "grid_z": 16,
        "block_x": 11, "block_y": 11, "block_z": 10, "reciprocal_x": 21, "reciprocal_y": 21,
        "threads": 11, "registers": 7, "warps": 6, "shared_bytes": 20,
        "ccb_base": ADDRESS_BITS, "area_bytes": 32, "local_base": ADDRESS_BITS, "local_bytes": 16,
        "const_base": ADDRESS_BITS, "const_bytes": 17,
        "param_base": ADDRESS_BITS, "param_bytes": 16,
        "windows": data.ArrayLayout(window, g.windows),
    })


def unusable_entries(g: Geometry, entries: Value) -> Value:
    """Return the vector of the entries that a kernel may not use whose descriptor says `entries`:
    0 stands for as many as there are TB slots."""
    most = Mux(entries == 0, g.tb_slots, entries)
    return Cat(most <= k for k in range(g.context_entries))


def tb_info(g: Geometry) -> data.StructLayout:
    """One resident TB as the core knows it;
    `local_base` is the address of its local memory."""
    return data.StructLayout({
        "kernel": below(g.kernel_slots), "launch_id": 32,
        "ctaid_x": 32, "ctaid_y": 16, "ctaid_z": 16,
        "shared_base": range(g.shared_bytes + 1), "shared_bytes": 20, "local_base": ADDRESS_BITS,
    })


def warp_init(g: Geometry) -> data.StructLayout:
    """Puts a warp into a free slot (empty stack, no predicate or register written); it does not run
    yet. If it is `kept` it is there already: its vector registers stay as they are.

    `live_vector` is what a warp that waits at a barrier must save if it is preempted again before
    it goes on.
    """
    return data.StructLayout({
        "warp": below(g.warps), "tb": below(g.tb_slots), "kernel": below(g.kernel_slots),
        "block_warp": below(g.max_block_warps), "base": physical(g), "registers": 7,
        "launched": g.warp_size, "live": g.warp_size, "waiting": 1, "barrier": below(BARRIERS),
        "live_vector": LIVE_BITS, "kept": 1,
    })


def stack_push(g: Geometry) -> data.StructLayout:
    """Pushes one SIMT stack entry of a warp that does not run,
    bottom first (launch and restore)."""
    return data.StructLayout({"warp": below(g.warps), "pc": PC_BITS,
                              "mask": g.warp_size, "reconv": PC_BITS})


def tb_event(g: Geometry) -> data.StructLayout:
    """Something happens to TB slot `tb`: its warps may run, it is released; `valid` for one
    cycle."""
    return data.StructLayout({"valid": 1, "tb": below(g.tb_slots)})


def line_range(g: Geometry) -> data.StructLayout:
    """`count` lines of shared memory from `first` on; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "first": range(g.shared_lines),
                              "count": range(g.shared_lines + 1)})


def register_release(g: Geometry) -> data.StructLayout:
    """A register is no longer pending; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "warp": below(g.warps), "register": 6})


def predicate_release(g: Geometry) -> data.StructLayout:
    """A predicate is no longer pending; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "warp": below(g.warps),
                              "predicate": range(PREDICATES + 1)})


def warp_view(g: Geometry) -> data.StructLayout:
    """Everything `FrontEnd` holds of one warp slot, read combinationally.

    `pc`, `mask`, `reconv` are those of the selected stack entry (0 is the bottom; masks are already
    ANDed with `live`). `parked` is set at a preemption point or when stopped, `between` when
    stopped anywhere else; `live_vector` is what the preemption point or barrier it stands at says
    to save.
    """
    return data.StructLayout({
        "valid": 1, "tb": below(g.tb_slots), "kernel": below(g.kernel_slots),
        "block_warp": below(g.max_block_warps), "base": physical(g), "registers": 7,
        "launched": g.warp_size, "live": g.warp_size, "waiting": 1, "barrier": below(BARRIERS),
        "parked": 1, "between": 1, "exited": 1, "live_vector": LIVE_BITS, "depth": 7,
        "pc": PC_BITS, "mask": g.warp_size, "reconv": PC_BITS,
    })


def uniform_pair() -> data.ArrayLayout:
    """The values of a pair of uniform registers: an even one and the next."""
    return data.ArrayLayout(32, 2)


def uniform_restore(g: Geometry) -> data.StructLayout:
    """A write to pair number `pair` of a warp's uniform registers, of those `valid`, for one
    cycle."""
    return data.StructLayout({"valid": 2, "warp": below(g.warps), "pair": range(UNIFORMS // 2),
                              "values": uniform_pair()})


def uniform_trace(g: Geometry) -> data.StructLayout:
    """A uniform register that an instruction has written; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "warp": below(g.warps), "register": range(UNIFORMS),
                              "value": 32})


def predicate_restore(g: Geometry) -> data.StructLayout:
    """A write of all lanes of a predicate."""
    return data.StructLayout({"warp": below(g.warps),
                              "predicate": range(PREDICATES + 1), "value": g.warp_size})


def register_read(g: Geometry) -> data.StructLayout:
    """Read of one beat of a vector register; one that `stays` is no warp's, and has what it
    has."""
    return data.StructLayout({"warp": below(g.warps), "base": physical(g),
                              "register": 6, "beat": below(g.beats), "stays": 1})


def register_flags(g: Geometry) -> data.StructLayout:
    """The registers of a warp that hold something, a bit each."""
    return data.StructLayout({"warp": below(g.warps), "valid": MAX_REGISTERS})


def register_data(g: Geometry) -> data.StructLayout:
    """Answer to a read of a register, one cycle after its transfer."""
    return data.StructLayout({"valid": 1, "data": data.ArrayLayout(32, g.lanes)})


def rows_per_line(g: Geometry) -> int:
    """Shared-memory rows (a word of each bank) of a 128-byte line."""
    return SEGMENT_BYTES // (g.shared_banks * WORD_BYTES)


def row_access(g: Geometry) -> data.StructLayout:
    """Read or write of a row of shared memory; a written line becomes valid and dirty."""
    return data.StructLayout({"row": range(g.shared_lines * rows_per_line(g)), "write": 1,
                              "data": data.ArrayLayout(32, g.shared_banks)})


def row_data(g: Geometry) -> data.StructLayout:
    """Answer to a read of a row, one cycle after its transfer."""
    return data.StructLayout({"valid": 1, "data": data.ArrayLayout(32, g.shared_banks)})
