"""The preemption unit and the TB launcher: everything that puts TBs on the SM and takes them off."""

from amaranth.hdl import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import MAX_REGISTERS, PREDICATES, WORD_BYTES, Geometry
from ..arch.registers import ADDRESS_BITS as REGISTER_ADDRESS_BITS
from ..core import interfaces as payload
from ..memory.ports import ReadPort, WritePort


class ControlUnit(wiring.Component):
    """Register block, kernel table, grid walker, allocation tables, fault records, save and restore."""

    def __init__(self, g: Geometry):
        self.geometry = g
        index = payload.index
        rows = g.shared_bytes // (g.shared_banks * WORD_BYTES)
        row_data = data.ArrayLayout(32, g.shared_banks)
        super().__init__({
            # software side: write_data is taken in the cycle of write; read_data follows address by one cycle
            "address": In(REGISTER_ADDRESS_BITS),
            "write": In(1),
            "write_data": In(32),
            "read_data": Out(32),
            "interrupt": Out(1),
            # front end (directions mirror FrontEnd)
            "kernels": Out(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": Out(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            "warp_init": Out(stream.Signature(payload.warp_init(g))),
            "stack_push": Out(stream.Signature(payload.stack_push(g))),
            "start": Out(data.StructLayout({"valid": 1, "tb": index(g.tb_slots)})),
            "free": Out(g.warps),
            "kill": Out(g.warps),
            "pending": Out(g.kernel_slots),
            "stop_now": Out(g.kernel_slots),
            "stopped": In(g.warps),
            "exited": In(g.warps),
            "valid": In(g.warps),
            "save_select": Out(data.StructLayout({"warp": index(g.warps), "entry": 6})),
            "save_view": In(payload.warp_view(g)),
            "inspect_select": Out(data.StructLayout({"warp": index(g.warps), "entry": 6})),
            "inspect_view": In(payload.warp_view(g)),
            "invalidate": Out(1),
            "issued": In(1),
            # execution pipeline (mirrors ExecutePipeline)
            "param_select": In(data.StructLayout({"kernel": index(g.kernel_slots), "word": index(g.param_words)})),
            "param_value": Out(32),
            "cycle": Out(32),
            "clear": Out(data.StructLayout({"valid": 1, "warp": index(g.warps)})),
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
            # shared memory (mirrors SharedMemory)
            "clear_lines": Out(data.StructLayout({
                "valid": 1, "first": range(g.shared_lines), "count": range(g.shared_lines + 1)})),
            "lines_valid": In(g.shared_lines),
            "lines_dirty": In(g.shared_lines),
            "row": Out(stream.Signature(data.StructLayout({
                "row": range(rows), "write": 1, "clean": 1, "data": row_data}))),
            "row_data": In(data.StructLayout({"valid": 1, "data": row_data})),
            # faults of the core, merged here
            "front_fault": In(payload.fault_report(g)),
            "execute_fault": In(payload.fault_report(g)),
            "global_fault": In(payload.fault_report(g)),
            "shared_fault": In(payload.fault_report(g)),
            # memory
            "read_port": Out(ReadPort(g)),
            "write_port": Out(WritePort(g)),
        })
