"""Front end of the SM: fetch, decode, scoreboard, SIMT stack, issue, barriers."""

from amaranth.hdl import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import PREDICATES, Geometry
from ..memory.ports import ReadPort
from . import interfaces as payload


class FrontEnd(wiring.Component):
    def __init__(self, g: Geometry):
        self.geometry = g
        index = payload.index
        super().__init__({
            # the kernels and TBs
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            # launch and restore: any number of warps are initialised, their stacks pushed, then their TB is started
            "warp_init": In(stream.Signature(payload.warp_init(g))),
            "stack_push": In(stream.Signature(payload.stack_push(g))),
            "start": In(data.StructLayout({"valid": 1, "tb": index(g.tb_slots)})),
            "free": In(g.warps),     # vector: these slots become empty (their warps are exited, stopped or killed)
            "kill": In(g.warps),     # vector: these warps issue nothing more and become `exited` when quiet
            # preemption
            "pending": In(g.kernel_slots),   # stop at preemption points; full barriers are held
            "stop_now": In(g.kernel_slots),  # stop at the next instruction (implies pending)
            "stopped": Out(g.warps),  # vector: parked or held at a barrier while pending, and quiet
            "exited": Out(g.warps),   # vector: no live lane (or killed), and quiet
            "valid": Out(g.warps),    # vector: slots that hold a warp
            "save_select": In(data.StructLayout({"warp": index(g.warps), "entry": 6})),
            "save_view": Out(payload.warp_view(g)),
            "inspect_select": In(data.StructLayout({"warp": index(g.warps), "entry": 6})),
            "inspect_view": Out(payload.warp_view(g)),
            "invalidate": In(1),      # instruction cache: forget everything
            "issued": Out(1),         # an instruction issued (retired) this cycle
            # to the execution pipeline
            "issue": Out(stream.Signature(payload.issue(g))),
            "throttle": In(1),        # write back is behind: do not issue an ALU instruction this cycle
            "predicate_select": Out(data.StructLayout({
                "warp": index(g.warps), "guard": 3, "pa": 3, "pb": 3})),
            "predicate_guard": In(g.warp_size),  # combinational; index 7 reads all ones
            "predicate_pa": In(g.warp_size),
            "predicate_pb": In(g.warp_size),
            "release_register": In(data.StructLayout({"valid": 1, "warp": index(g.warps), "register": 6})),
            "release_predicate": In(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "predicate": range(PREDICATES + 1)})),
            # from the memory units
            "global_room": In(1),     # the unit gives back one place (`unit_queue` places at reset)
            "shared_room": In(1),
            "load_done": In(payload.completion(g)),    # global load complete (all data written)
            "store_done": In(payload.completion(g)),   # global store acknowledged
            "shared_done": In(payload.completion(g)),  # shared load or store complete
            "fault": Out(payload.fault_report(g)),
            "icache_port": Out(ReadPort(g)),
            "trace": Out(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "pc": 25, "mask": g.warp_size, "op": 10})),
        })
