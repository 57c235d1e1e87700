"""Payloads that travel between the blocks of the SM; each block's ports are declared where it is.

::

            KernelInfo, TbInfo, warp_init / stack_push / start                 (preempt.unit)
                 |                                                                  ^
                 v                                                                  | views, register and
    icache -> FrontEnd --issue--> ExecutePipeline --global_op--> LoadStore ----+    | shared-memory ports
      fetch, decode,     |          operands, ALU,  --shared_op--> SharedMemory |
      scoreboard, SIMT   |          predicates,                     |          |
      stack, barriers    |          write back  <-----load_write----+----------+
                         +<-------released registers, completed memory operations
"""

from amaranth.hdl import unsigned
from amaranth.lib import data
from amaranth.utils import exact_log2

from ..arch.faults import Fault
from ..arch.geometry import ADDRESS_BITS, BARRIERS, PC_BITS, Geometry
from ..arch.isa import LIVE_BITS, AluOp, Size, Unit

__all__ = ["index", "decoded", "issue", "memory_op", "register_write", "fault_report", "completion", "kernel_info",
           "tb_info", "warp_init", "stack_push", "warp_view"]


def index(count: int):
    """Shape of a number from 0 to ``count - 1`` (at least one bit)."""
    return unsigned(max(1, (count - 1).bit_length()))


def physical(g: Geometry):
    """Shape of a physical vector register number."""
    return unsigned(exact_log2(g.registers))


def decoded() -> data.StructLayout:
    """Control bundle of one instruction, made by `decode.Decoder`.

    `d`, `a`, `b`, `c` are register fields, `reads_*` says which are read; a store reads `data_registers`
    consecutive registers from `d` (`reads_d`), a load or ALU operation writes them (`writes_d`). Operand b is
    `imm` when `use_imm`. `top_register` is the highest register number used.
    """
    return data.StructLayout({
        "unit": Unit, "alu": AluOp, "size": Size, "store": 1,
        "d": 6, "a": 6, "b": 6, "c": 6, "reads_a": 1, "reads_b": 1, "reads_c": 1, "reads_d": 1, "writes_d": 1,
        "data_registers": 3, "top_register": 6, "uses_registers": 1, "no_base": 1, "use_imm": 1, "imm": 32,
        "guard": 3, "guard_not": 1, "pa": 3, "pa_not": 1, "reads_pa": 1, "pb": 3, "pb_not": 1, "reads_pb": 1,
        "pd": 3, "writes_pd": 1,
        "target": PC_BITS, "reconv": PC_BITS, "live": LIVE_BITS, "barrier": index(BARRIERS),
        "is_bra": 1, "is_exit": 1, "is_bar": 1, "is_pp": 1, "is_pp_div": 1, "is_membar": 1, "is_trap": 1,
        "illegal": 1,
    })


def issue(g: Geometry) -> data.StructLayout:
    """One issued warp instruction, from `FrontEnd` to `ExecutePipeline`.

    `mask` is the active mask ANDed with the guard (never zero), `pa` and `pb` the predicate operands of all
    lanes, already negated; `base` the warp's first physical register.
    """
    return data.StructLayout({
        "op": decoded(), "warp": index(g.warps), "tb": index(g.tb_slots), "kernel": index(g.kernel_slots),
        "block_warp": index(g.max_block_warps), "base": physical(g), "pc": PC_BITS,
        "mask": g.warp_size, "pa": g.warp_size, "pb": g.warp_size,
    })


def memory_op(g: Geometry) -> data.StructLayout:
    """One beat (`lanes` lanes) of a load or store, from `ExecutePipeline` to a memory unit.

    The `beats` beats of an instruction come in order with nothing between; `address` is a + imm of each
    lane. `data[k]` is register ``d + k`` of each lane (stores only).
    """
    return data.StructLayout({
        "warp": index(g.warps), "tb": index(g.tb_slots), "kernel": index(g.kernel_slots), "base": physical(g),
        "pc": PC_BITS, "d": 6, "size": Size, "store": 1, "beat": index(g.beats), "last": 1, "mask": g.lanes,
        "address": data.ArrayLayout(ADDRESS_BITS, g.lanes),
        "data": data.ArrayLayout(data.ArrayLayout(32, g.lanes), 4),
    })


def register_write(g: Geometry) -> data.StructLayout:
    """One beat of a vector-register write.

    A register is written as `beats` beats in ascending order, with an empty `mask` where nothing is to be
    written; `last` marks the final beat. `release` (with `last`) frees the register in the scoreboard.
    """
    return data.StructLayout({
        "warp": index(g.warps), "base": physical(g), "register": 6, "beat": index(g.beats), "last": 1,
        "release": 1, "mask": g.lanes, "data": data.ArrayLayout(32, g.lanes),
    })


def completion(g: Geometry) -> data.StructLayout:
    """A memory instruction of `warp` has completed; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "warp": index(g.warps)})


def fault_report(g: Geometry) -> data.StructLayout:
    """A fault of `warp`; `valid` for one cycle. The TB is killed by the preemption unit's `kill` vector."""
    return data.StructLayout({"valid": 1, "kind": Fault, "warp": index(g.warps), "pc": PC_BITS,
                              "address": ADDRESS_BITS})


def kernel_info(g: Geometry) -> data.StructLayout:
    """Descriptor of one kernel slot, constant while the kernel runs (register map, ``kernel[k]``)."""
    window = data.StructLayout({"base": ADDRESS_BITS, "end": ADDRESS_BITS})
    return data.StructLayout({
        "code_base": ADDRESS_BITS, "code_words": PC_BITS, "grid_x": 32, "grid_y": 16, "grid_z": 16,
        "block_x": 11, "block_y": 11, "block_z": 10, "reciprocal_x": 21, "reciprocal_y": 21,
        "threads": 11, "registers": 7, "warps": 6, "shared_bytes": 20,
        "ccb_base": ADDRESS_BITS, "area_bytes": 32, "local_base": ADDRESS_BITS,
        "windows": data.ArrayLayout(window, g.windows),
    })


def tb_info(g: Geometry) -> data.StructLayout:
    """What the core needs to know of one resident TB."""
    return data.StructLayout({
        "kernel": index(g.kernel_slots), "launch_id": 32, "ctaid_x": 32, "ctaid_y": 16, "ctaid_z": 16,
        "shared_base": range(g.shared_bytes + 1), "shared_bytes": 20,
    })


def warp_init(g: Geometry) -> data.StructLayout:
    """Puts a warp into a free slot (empty stack, no predicate or register written); it does not run yet.

    `live_vector` is what a warp that waits at a barrier must save if it is preempted again before it goes on.
    """
    return data.StructLayout({
        "warp": index(g.warps), "tb": index(g.tb_slots), "kernel": index(g.kernel_slots),
        "block_warp": index(g.max_block_warps), "base": physical(g), "registers": 7,
        "launched": g.warp_size, "live": g.warp_size, "waiting": 1, "barrier": index(BARRIERS),
        "live_vector": LIVE_BITS,
    })


def stack_push(g: Geometry) -> data.StructLayout:
    """Pushes one SIMT stack entry of a warp that does not run, bottom first (launch and restore)."""
    return data.StructLayout({"warp": index(g.warps), "pc": PC_BITS, "mask": g.warp_size, "reconv": PC_BITS})


def warp_view(g: Geometry) -> data.StructLayout:
    """Everything `FrontEnd` holds of one warp slot, read combinationally.

    `pc`, `mask`, `reconv` are those of the selected stack entry (0 is the bottom; masks are already ANDed
    with `live`). `parked` is set at a preemption point or when stopped; `live_vector` is what the preemption
    point it stopped at says to save.
    """
    return data.StructLayout({
        "valid": 1, "tb": index(g.tb_slots), "kernel": index(g.kernel_slots),
        "block_warp": index(g.max_block_warps), "base": physical(g), "registers": 7,
        "launched": g.warp_size, "live": g.warp_size, "waiting": 1, "barrier": index(BARRIERS),
        "parked": 1, "exited": 1, "live_vector": LIVE_BITS, "depth": 7,
        "pc": PC_BITS, "mask": g.warp_size, "reconv": PC_BITS,
    })
