"""Global memory: coalescing to 128-byte segments, loads and stores."""

from amaranth.hdl import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..memory.ports import ReadPort, WritePort
from . import interfaces as payload


class LoadStore(wiring.Component):
    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "op": In(stream.Signature(payload.memory_op(g))),
            "room": Out(1),            # one cycle: a place of the queue has become free
            "write": Out(stream.Signature(payload.register_write(g))),
            "load_done": Out(payload.completion(g)),
            "store_done": Out(payload.completion(g)),
            "fault": Out(payload.fault_report(g)),
            "read_port": Out(ReadPort(g)),
            "write_port": Out(WritePort(g)),
        })
