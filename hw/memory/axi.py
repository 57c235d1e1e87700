"""AXI4: the bus signature, and the adapter that merges the SM's internal ports into one AXI4 master."""

from amaranth.hdl import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import ADDRESS_BITS, Geometry
from .ports import ReadPort, WritePort

ID_BITS = 2


class Axi4(wiring.Signature):
    """AXI4 master with the usual signal names, lower case (``awvalid`` ... ``rready``), `ID_BITS` id bits."""

    def __init__(self, g: Geometry):
        address = {"id": Out(ID_BITS), "addr": Out(ADDRESS_BITS), "len": Out(8), "size": Out(3), "burst": Out(2),
                   "valid": Out(1), "ready": In(1)}
        super().__init__({
            **{"aw" + name: flow for name, flow in address.items()},
            "wdata": Out(8 * g.bus_bytes), "wstrb": Out(g.bus_bytes), "wlast": Out(1), "wvalid": Out(1), "wready": In(1),
            "bid": In(ID_BITS), "bresp": In(2), "bvalid": In(1), "bready": Out(1),
            **{"ar" + name: flow for name, flow in address.items()},
            "rid": In(ID_BITS), "rdata": In(8 * g.bus_bytes), "rresp": In(2), "rlast": In(1), "rvalid": In(1),
            "rready": Out(1),
        })


class AxiMaster(wiring.Component):
    """Merges internal ports, earlier ones first, into one AXI4 master; the id is the port's number."""

    def __init__(self, g: Geometry, readers: int, writers: int):
        self.geometry = g
        super().__init__({
            "readers": In(ReadPort(g)).array(readers),
            "writers": In(WritePort(g)).array(writers),
            "axi": Out(Axi4(g)),
        })
