"""Execution pipeline: operand collection, integer lanes, predicates, write back."""

from amaranth.hdl import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import MAX_REGISTERS, PREDICATES, Geometry
from . import interfaces as payload


class ExecutePipeline(wiring.Component):
    def __init__(self, g: Geometry):
        self.geometry = g
        index = payload.index
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            "issue": In(stream.Signature(payload.issue(g))),
            "throttle": Out(1),
            "param_select": Out(data.StructLayout({"kernel": index(g.kernel_slots), "word": index(g.param_words)})),
            "param_value": In(32),   # combinational
            "cycle": In(32),         # for s2r CLOCK
            # predicates, read by the front end
            "predicate_select": In(data.StructLayout({
                "warp": index(g.warps), "guard": 3, "pa": 3, "pb": 3})),
            "predicate_guard": Out(g.warp_size),
            "predicate_pa": Out(g.warp_size),
            "predicate_pb": Out(g.warp_size),
            "release_register": Out(data.StructLayout({"valid": 1, "warp": index(g.warps), "register": 6})),
            "release_predicate": Out(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "predicate": range(PREDICATES + 1)})),
            # memory units
            "global_op": Out(stream.Signature(payload.memory_op(g))),
            "shared_op": Out(stream.Signature(payload.memory_op(g))),
            "global_write": In(stream.Signature(payload.register_write(g))),
            "shared_write": In(stream.Signature(payload.register_write(g))),
            # preemption unit
            "clear": In(data.StructLayout({"valid": 1, "warp": index(g.warps)})),  # a warp slot is initialised:
            #   its registers become invalid and clean, its predicates unwritten
            "flags_select": In(index(g.warps)),
            "flags_valid": Out(MAX_REGISTERS),       # valid bits of the selected warp, combinational
            "flags_dirty": Out(MAX_REGISTERS),
            "flags_predicates": Out(PREDICATES),     # predicates written
            "save_predicate_select": In(range(PREDICATES + 1)),
            "save_predicate": Out(g.warp_size),      # of warp `flags_select`, combinational
            "restore_predicate": In(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "predicate": range(PREDICATES + 1), "value": g.warp_size})),
            "save_read": In(stream.Signature(data.StructLayout({  # lowest priority reader
                "warp": index(g.warps), "base": payload.physical(g), "register": 6, "beat": index(g.beats)}))),
            "save_data": Out(data.StructLayout({     # one cycle after the transfer of `save_read`
                "valid": 1, "data": data.ArrayLayout(32, g.lanes)})),
            "restore_write": In(stream.Signature(payload.register_write(g))),  # lowest priority writer
            "mark_clean": In(1),     # with restore_write: leave the dirty bit clear
            "fault": Out(payload.fault_report(g)),   # PARAM_BOUND
            "trace_write": Out(data.StructLayout({"valid": 1, "write": payload.register_write(g)})),
            "trace_predicate": Out(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "predicate": 3, "beat": index(g.beats), "last": 1,
                "mask": g.lanes, "value": g.lanes})),
        })
