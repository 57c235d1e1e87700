"""Shared memory: banks and conflicts, valid and dirty lines."""

from amaranth.hdl import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import WORD_BYTES, Geometry
from . import interfaces as payload


class SharedMemory(wiring.Component):
    def __init__(self, g: Geometry):
        self.geometry = g
        self.rows = g.shared_bytes // (g.shared_banks * WORD_BYTES)
        row_data = data.ArrayLayout(32, g.shared_banks)
        super().__init__({
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            "op": In(stream.Signature(payload.memory_op(g))),
            "room": Out(1),
            "write": Out(stream.Signature(payload.register_write(g))),
            "done": Out(payload.completion(g)),
            "fault": Out(payload.fault_report(g)),
            # preemption unit; a row is one word of each bank, `128 / (4 * shared_banks)` rows a line
            "clear": In(data.StructLayout({     # a range of lines becomes invalid and clean
                "valid": 1, "first": range(g.shared_lines), "count": range(g.shared_lines + 1)})),
            "lines_valid": Out(g.shared_lines),
            "lines_dirty": Out(g.shared_lines),
            "row": In(stream.Signature(data.StructLayout({  # lower priority than `op`
                "row": range(self.rows), "write": 1, "clean": 1, "data": row_data}))),
            "row_data": Out(data.StructLayout({"valid": 1, "data": row_data})),  # one cycle after a read transfers
        })
