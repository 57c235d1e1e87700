"""The preemption engine: runs a preempt (drain, save, commit) or a resume (restore, demote, start)."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.faults import CommandError
from ..arch.geometry import MAX_REGISTERS, PREDICATES, WORD_BYTES, Geometry
from ..core import interfaces as payload
from ..memory.ports import ReadPort, WritePort


def resident_tb(g: Geometry) -> data.StructLayout:
    """One row of the TB table: what the dispatcher knows of a TB slot.

    `started` is set once its warps run; `warps` has a bit for each warp slot it owns; `base` is its first
    physical register (a multiple of 4), `first_line` its first shared-memory line, `lines` how many it has.
    """
    index = payload.index
    return data.StructLayout({
        "valid": 1, "started": 1, "kernel": index(g.kernel_slots), "launch_id": 32,
        "ctaid_x": 32, "ctaid_y": 16, "ctaid_z": 16, "base": payload.physical(g),
        "first_line": range(g.shared_lines + 1), "lines": range(g.shared_lines + 1), "warps": g.warps,
    })


def command(g: Geometry) -> data.StructLayout:
    """A preempt (`resume` = 0) or resume of one kernel; the dispatcher has checked kernel state and mechanism."""
    return data.StructLayout({"resume": 1, "kernel": payload.index(g.kernel_slots), "mechanism": 4, "scramble": 1})


def admission(g: Geometry) -> data.StructLayout:
    """A TB to be given room: the dispatcher allocates registers, shared memory, warp slots and a TB slot."""
    return data.StructLayout({"kernel": payload.index(g.kernel_slots), "launch_id": 32,
                              "ctaid_x": 32, "ctaid_y": 16, "ctaid_z": 16})


def admitted(g: Geometry) -> data.StructLayout:
    """Answer to an admission (`valid` for one cycle, when there is room): slots by warp of the TB.

    Warp k of the TB gets slot ``slots[k]`` and first physical register ``base + k * registers``.
    """
    index = payload.index
    return data.StructLayout({"valid": 1, "tb": index(g.tb_slots), "base": payload.physical(g),
                              "first_line": range(g.shared_lines + 1),
                              "slots": data.ArrayLayout(index(g.warps), g.max_block_warps)})


def counters() -> data.StructLayout:
    """Counters of the last preempt and resume, named and defined as in the register map."""
    names = ("save_cycles", "drain_cycles", "save_data_bytes", "save_metadata_bytes", "save_registers", "save_lines",
             "save_tbs", "save_warps", "restore_cycles", "resume_cycles", "restore_bytes")
    return data.StructLayout({name: 32 for name in names})


class PreemptEngine(wiring.Component):
    def __init__(self, g: Geometry):
        self.geometry = g
        index = payload.index
        rows = g.shared_bytes // (g.shared_banks * WORD_BYTES)
        row_data = data.ArrayLayout(32, g.shared_banks)
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "resident": In(data.ArrayLayout(resident_tb(g), g.tb_slots)),
            # from and to the dispatcher
            "command": In(stream.Signature(command(g))),   # ready while idle
            "result": Out(data.StructLayout({"valid": 1, "error": CommandError})),  # one cycle, ends the command
            "claim": Out(g.tb_slots),   # vector: being saved; the dispatcher does not free these when they finish
            "release": Out(data.StructLayout({"valid": 1, "tb": index(g.tb_slots)})),  # saved: free its resources
            "admit": Out(stream.Signature(admission(g))),
            "admitted": In(admitted(g)),
            "warp_init": Out(stream.Signature(payload.warp_init(g))),   # restored warps (the dispatcher adds `clear`)
            "stack_push": Out(stream.Signature(payload.stack_push(g))),
            "start": Out(data.StructLayout({"valid": 1, "tb": index(g.tb_slots)})),
            "counters": Out(counters()),
            # front end
            "pending": Out(g.kernel_slots),
            "stop_now": Out(g.kernel_slots),
            "stopped": In(g.warps),
            "exited": In(g.warps),
            "issued": In(1),
            "save_select": Out(data.StructLayout({"warp": index(g.warps), "entry": 6})),
            "save_view": In(payload.warp_view(g)),
            # execution pipeline
            "flags_select": Out(index(g.warps)),
            "flags_valid": In(MAX_REGISTERS),
            "flags_dirty": In(MAX_REGISTERS),
            "flags_predicates": In(PREDICATES),
            "save_predicate_select": Out(range(PREDICATES + 1)),
            "save_predicate": In(g.warp_size),
            "restore_predicate": Out(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "predicate": range(PREDICATES + 1), "value": g.warp_size})),
            "save_read": Out(stream.Signature(data.StructLayout({
                "warp": index(g.warps), "base": payload.physical(g), "register": 6, "beat": index(g.beats)}))),
            "save_data": In(data.StructLayout({"valid": 1, "data": data.ArrayLayout(32, g.lanes)})),
            "restore_write": Out(stream.Signature(payload.register_write(g))),
            "mark_clean": Out(1),
            # shared memory
            "lines_valid": In(g.shared_lines),
            "lines_dirty": In(g.shared_lines),
            "row": Out(stream.Signature(data.StructLayout({
                "row": range(rows), "write": 1, "clean": 1, "data": row_data}))),
            "row_data": In(data.StructLayout({"valid": 1, "data": row_data})),
            # memory
            "read_port": Out(ReadPort(g)),
            "write_port": Out(WritePort(g)),
        })
