"""The streaming multiprocessor (SM): control unit and the blocks of `hw.core` on one AXI4 master.

::

      registers, interrupt            axi
             |                         |
        ControlUnit ------------- AxiMaster ----------------+
        kernels, TBs, launch,      |     |                  |
        save, restore         FrontEnd   |                  |
             |                fetch, issue, SIMT stack      |
             |              uniform registers               |
             |                     |                        |
             +------------- ExecutePipeline --------- LoadStore, ConstantUnit
             |              registers, lanes                |
             |              f64, special functions          |
             +----------------- SharedMemory ---------------+ (load writes)
"""

from __future__ import annotations

from typing import Any, Protocol

from amaranth.hdl import Array, Module, Shape, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .arch.commands import KernelState
from .arch.geometry import PC_BITS, Geometry
from .arch.registers import ADDRESS_BITS as REGISTER_ADDRESS_BITS
from .control.control_unit import ControlUnit
from .core.execute.pipeline import ExecutePipeline
from .core.execution_units import MEMORY_UNITS
from .core.front_end.decode import OPCODE_BITS
from .core.front_end.front import FrontEnd
from .core.memory.constant_unit import ConstantUnit
from .core.memory.load_store import LoadStore
from .core.memory.shared_memory import SharedMemory
from .interfaces.gpu_ports import (
    SEGMENT_BITS,
    OrderPort,
    ReportPort,
    TbSupplyPort,
    WritesPort,
    sm_number,
)
from .interfaces.observation import CACHES, WARP_STATES
from .interfaces.payloads import below
from .interfaces.port import Port
from .interfaces.preemption import activity
from .lib.stream_queue import StreamQueue
from .memory.axi import Axi4, AxiInterface, AxiMaster

__all__ = ["ObservationPorts", "ObservedSm", "Sm", "SmPort", "TracePorts", "TraceInterface",
           "ATOMICS"]

WRITES_WAITING = 4
"""Writes of an SM that its device can know of later than it does itself."""
WARP_VECTORS = ("valid", "active", "waiting", "stopped")
"""Vectors of the front end in the trace ports."""
ATOMICS = ("atomic_global", "atomic_shared")
"""Trace ports of the two units that execute atomics."""
STATE_BITS = Shape.cast(KernelState).width
"""Bits of a kernel slot's state."""


class TracePorts(wiring.Signature):
    """Shows the work of an SM to a simulation; not part of the machine.

    `slot` is the warp slot; `kernel`, `launch` and `block_warp` say which warp of which thread
    block (TB) it holds. `last` marks the beat after which the register is complete: a load that
    needs several segments writes all beats once for each.

    Attributes
    ----------
    retire : out
        An instruction that left the issue stage.
    write, predicate : out
        A beat of a vector-register write, of a predicate write.
    uniform : out
        A write of a uniform register.
    atomic_global, atomic_shared : out
        The lanes of atomics, in the order in which memory changes, with what was there before
        (``old``).
    init : out
        A warp put into its slot.
    warps : out
        Vectors of one bit per warp slot (`FrontEnd`).
    engine : out
        `interfaces.preemption.activity`.
    states, tbs : out
        The state of each kernel slot; TBs resident.
    """

    def __init__(self, g: Geometry):
        slot = {"valid": Out(1), "slot": Out(below(g.warps))}
        owner = {"kernel": Out(below(g.kernel_slots)), "launch": Out(32),
                 "block_warp": Out(below(g.max_block_warps))}
        beat = {"beat": Out(below(g.beats)), "last": Out(1), "mask": Out(g.lanes)}
        super().__init__({
            "retire": Out(wiring.Signature(slot | owner | {
                "pc": Out(PC_BITS), "mask": Out(g.warp_size), "op": Out(OPCODE_BITS)})),
            "write": Out(wiring.Signature(slot | beat
                                          | {"register": Out(6), "data": Out(32 * g.lanes)})),
            "predicate": Out(wiring.Signature(slot | beat
                                              | {"predicate": Out(3), "value": Out(g.lanes)})),
            "uniform": Out(wiring.Signature(slot | {"register": Out(5), "value": Out(32)})),
            **{name: Out(wiring.Signature(slot | {
                "pc": Out(PC_BITS), "lane": Out(below(g.warp_size)), "old": Out(64)}))
               for name in ATOMICS},
            "init": Out(wiring.Signature(slot | owner)),
            "warps": Out(wiring.Signature({name: Out(g.warps) for name in WARP_VECTORS})),
            "engine": Out(wiring.Signature({name: Out(field.shape)
                                            for name, field in activity(g)})),
            "states": Out(STATE_BITS * g.kernel_slots), "tbs": Out(range(g.tb_slots + 1)),
        })


class ObservationPorts(wiring.Signature):
    """Shows an SM to a simulation that counts: the vectors of `interfaces.observation`, and
    the lookups of its caches."""

    def __init__(self, g: Geometry):
        lookup = wiring.Signature({"valid": Out(1), "missed": Out(1)})
        super().__init__(dict.fromkeys(WARP_STATES, Out(g.warps))
                         | dict.fromkeys(CACHES, Out(lookup)))


class TraceInterface(Protocol):
    """Type of the interfaces of `TracePorts`, with the members named there."""

    retire: Any
    write: Any
    predicate: Any
    uniform: Any
    atomic_global: Any
    atomic_shared: Any
    init: Any
    warps: Any
    engine: Any
    states: Signal
    tbs: Signal

    @property
    def signature(self) -> wiring.Signature:
        """The `TracePorts`, or the same flipped."""
        ...


class SmPort(wiring.Signature):
    """One of several SMs, but for what is for simulations only. Directions are the SM's; members
    are those of `hw.sm.Sm`.

    Attributes
    ----------
    address, write, write_data : in; read_data : out
        Described in `HostPort`.
    sm_index : Signal(SM_BITS), in
        Its number on the device.
    axi, context_axi : Axi4, out
        Memory: for running kernels, for save and restore.
    supply : TbSupplyPort, out
    order : OrderPort, out
    report : ReportPort, out
    writes : WritesPort, out
        Exists only with `Geometry.watches`.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "address": In(REGISTER_ADDRESS_BITS), "write": In(1), "write_data": In(32),
            "read_data": Out(32), **sm_number(g), "axi": Out(Axi4(g)),
            "context_axi": Out(Axi4(g)),
            "supply": Out(TbSupplyPort(g)), "order": Out(OrderPort()),
            "report": Out(ReportPort(g)),
            **({"writes": Out(WritesPort())} if g.watches else {})})


class Sm(wiring.Component):
    """One SM: registers on one side, memory on the other.

    AXI ids, in order of priority: reads 0 instruction cache, 1 constant cache, 2 loads, 3 atomics,
    4 control unit; writes 0 stores, 1 atomics, 2 control unit.

    Parameters
    ----------
    g : Geometry
    observed : bool
        The SM has port `observation`, for simulations.

    Attributes
    ----------
    address : Signal(13), in
        Byte address of a register (`hw.arch.registers`).
    write : Signal(1), in
        `write_data` is taken into the register at `address` in this cycle.
    write_data : Signal(32), in
    read_data : Signal(32), out
        The register at `address`, one cycle later.
    interrupt : Signal(1), out
        The OR of the bits of register ``event``.
    axi : Axi4, out
        Memory.
    trace : TracePorts, out
    context_axi : Axi4, out
        Data that save and restore move; `axi` carries the rest. Exists only on one of several SMs.
    sm_index : Signal(SM_BITS), in
        Its number there, likewise.
    supply : TbSupplyPort, out; order : OrderPort, out; report : ReportPort, out
    writes : WritesPort, out
        Its device, likewise.
    observation : ObservationPorts, out
        Only if `observed`.
    """

    address: Signal
    write: Signal
    write_data: Signal
    read_data: Signal
    interrupt: Signal
    axi: AxiInterface
    trace: TraceInterface
    context_axi: AxiInterface
    sm_index: Signal
    supply: Port
    order: Port
    report: Port
    writes: Port
    observation: Port

    def __init__(self, g: Geometry, observed: bool = False):
        self.geometry, self.observed = g, observed
        device = dict(SmPort(g).members) if g.has_uncore else {}
        super().__init__({
            "address": In(REGISTER_ADDRESS_BITS), "write": In(1),
            "write_data": In(32), "read_data": Out(32),
            "interrupt": Out(1), "axi": Out(Axi4(g)), "trace": Out(TracePorts(g)),
            **device, **({"observation": Out(ObservationPorts(g))} if observed else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.control = control = ControlUnit(g)
        m.submodules.front = front = FrontEnd(g, self.observed)
        m.submodules.execute = execute = ExecutePipeline(g)
        units: dict[str, Any] = {row.name: row.block(g) if row.block is not ConstantUnit
                                 else ConstantUnit(g, self.observed) for row in MEMORY_UNITS}
        load_store, shared, constant = (units[name] for name in ("global", "shared", "constant"))
        m.submodules.load_store, m.submodules.shared, m.submodules.constant = units.values()
        readers = (front.icache_port, constant.read_port, load_store.read_port,
                   load_store.atomic_read_port, control.read_port)
        writers = (load_store.write_port, load_store.atomic_write_port, control.write_port)
        if g.has_uncore:  # the device decides between the two buses
            m.submodules.context_bus = context_bus = AxiMaster(
                g, 1, 1, first_reader=len(readers) - 1, first_writer=len(writers) - 1)
            for one, other in ((readers[-1], context_bus.readers[0]),
                               (writers[-1], context_bus.writers[0]),
                               (context_bus.axi, wiring.flipped(self.context_axi)),
                               *((getattr(part, name), wiring.flipped(getattr(self, name)))
                                 for part, name in ((control, "supply"), (control, "report"),
                                                    (load_store, "order")))):
                wiring.connect(m, one, other)
            readers, writers = readers[:-1], writers[:-1]
            m.d.comb += [front.sm_index.eq(self.sm_index), execute.sm_index.eq(self.sm_index)]
        m.submodules.bus = bus = AxiMaster(g, len(readers), len(writers))
        if g.watches:
            self._yield(m, control, front, load_store)

        for one, other in (
                (control.residency, front.residency), (control.inspect, front.inspect),
                (control.core.stop, front.stop), (control.core.warps, front.state),
                (control.core.registers, execute.state), (control.core.shared, shared.state),
                (front.execute, execute.issue),
                (constant.uniform, front.constant),
                *((getattr(execute, f"{name}_access"), unit.access)
                  for name, unit in units.items()),
                *((unit.completion, getattr(front, f"{name}_completion"))
                  for name, unit in units.items()),
                *zip(readers, bus.readers, strict=True), *zip(writers, bus.writers, strict=True),
                (bus.axi, wiring.flipped(self.axi))):
            wiring.connect(m, one, other)
        m.d.comb += [
            control.host.address.eq(self.address), control.host.write.eq(self.write),
            control.host.write_data.eq(self.write_data), self.read_data.eq(control.host.read_data),
            self.interrupt.eq(control.host.interrupt), execute.clear.eq(control.clear),
            bus.share.eq(0 if g.has_uncore else control.bus_share),
            shared.clear.eq(control.clear_lines),
            front.cycle.eq(control.cycle),
            execute.cycle.eq(control.cycle),
            constant.invalidate.eq(control.residency.invalidate),
            *(block.kernels.eq(control.kernels)
              for block in (front, execute, load_store, constant)),
            *(block.tbs.eq(control.tbs) for block in (front, execute, load_store, shared)),
            *(control.reports[source].eq(block.fault) for source, block in (
                ("load_store", load_store), ("shared", shared), ("constant", constant),
                ("front", front))),
        ]
        self._trace(m, control, front, execute, load_store, shared)
        if self.observed:
            self._observe(m, front, constant)
        return m

    def _yield(self, m: Module, control: ControlUnit, front: FrontEnd,
               load_store: LoadStore) -> None:
        """Connect the TBs that yield; on one of several SMs, all SMs see each write."""
        wiring.connect(m, front.yields, control.yields)
        m.d.comb += control.watch.eq(load_store.watch)
        wrote = load_store.wrote
        if self.geometry.has_uncore:
            shared = self.writes
            m.submodules.written = queue = StreamQueue(SEGMENT_BITS, WRITES_WAITING)
            wiring.connect(m, wrote, queue.input)
            wiring.connect(m, queue.output, wiring.flipped(shared.wrote))
            m.d.comb += control.written.eq(shared.written)
        else:
            m.d.comb += [wrote.ready.eq(1), control.written.valid.eq(wrote.valid),
                         control.written.segment.eq(wrote.payload)]

    def _observe(self, m: Module, front: FrontEnd, constant: ConstantUnit) -> None:
        """Drive the ports that say what each warp does."""
        shown = self.observation
        m.d.comb += [getattr(shown, name).eq(front.observation[name]) for name in WARP_STATES]
        for name, lookup in (("icache", front.lookup), ("constants", constant.lookup)):
            m.d.comb += [getattr(shown, name).valid.eq(lookup.valid),
                         getattr(shown, name).missed.eq(lookup.missed)]

    def _trace(self, m: Module, control: ControlUnit, front: FrontEnd, execute: ExecutePipeline,
               load_store: LoadStore, shared: SharedMemory) -> None:
        """Drive the trace ports; a table remembers which warp was put into each slot."""
        g = self.geometry
        owner = data.StructLayout({"tb": below(g.tb_slots), "kernel": below(g.kernel_slots),
                                   "block_warp": below(g.max_block_warps)})
        owners = Array(Signal(owner, name=f"owner_{slot}") for slot in range(g.warps))
        initialised = control.residency.launch.warp_init
        init = initialised.payload
        with m.If(initialised.valid & initialised.ready):
            for field in ("tb", "kernel", "block_warp"):
                m.d.sync += getattr(owners[init.warp], field).eq(init[field])

        retire, source = self.trace.retire, front.trace
        retiring = Signal(owner)
        m.d.comb += [
            retiring.eq(owners[source.warp]),
            retire.valid.eq(source.valid), retire.slot.eq(source.warp), retire.pc.eq(source.pc),
            retire.mask.eq(source.mask), retire.op.eq(source.op), retire.kernel.eq(retiring.kernel),
            retire.block_warp.eq(retiring.block_warp),
            retire.launch.eq(control.tbs[retiring.tb].launch_id),
        ]
        written, write = self.trace.write, execute.trace_write.write
        m.d.comb += [written.valid.eq(execute.trace_write.valid), written.slot.eq(write.warp),
                     written.register.eq(write.register), written.beat.eq(write.beat),
                     written.last.eq(write.release), written.mask.eq(write.mask),
                     written.data.eq(write.data.as_value())]
        predicate, source = self.trace.predicate, execute.trace_predicate
        m.d.comb += [predicate.valid.eq(source.valid), predicate.slot.eq(source.write.warp)]
        m.d.comb += [getattr(predicate, name).eq(source.write[name])
                     for name in ("predicate", "beat", "last", "mask", "value")]
        for port, source, names in (
            (self.trace.uniform, front.trace_uniform, ("register", "value")),
            (self.trace.atomic_global, load_store.trace_atomic, ("pc", "lane", "old")),
            (self.trace.atomic_shared, shared.trace_atomic, ("pc", "lane", "old"))):
            m.d.comb += [port.valid.eq(source.valid), port.slot.eq(source.warp)]
            m.d.comb += [getattr(port, name).eq(source[name]) for name in names]
        self._trace_activity(m, control, front)

    def _trace_activity(self, m: Module, control: ControlUnit, front: FrontEnd) -> None:
        """Drive the trace ports that say what warps, kernels and the preemption engine are
        doing."""
        trace, started = self.trace, self.trace.init
        initialised = control.residency.launch.warp_init
        init = initialised.payload
        m.d.comb += [
            started.valid.eq(initialised.valid & initialised.ready),
            started.slot.eq(init.warp),
            started.kernel.eq(init.kernel), started.block_warp.eq(init.block_warp),
            started.launch.eq(control.tbs[init.tb].launch_id),
            trace.states.eq(control.states.as_value()), trace.tbs.eq(control.tb_count),
        ]
        m.d.comb += trace.warps.stopped.eq(front.stop.stopped)
        m.d.comb += [getattr(trace.warps, name).eq(front.occupancy[name])
                     for name in ("valid", "waiting", "active")]
        m.d.comb += [getattr(trace.engine, name).eq(control.activity[name])
                     for name, _ in activity(self.geometry)]


class ObservedSm(Sm):
    """An SM with the port `observation`: what simulations that count are made of."""

    def __init__(self, g: Geometry):
        super().__init__(g, observed=True)
