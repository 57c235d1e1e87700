"""The control unit: what belongs to the device, the dispatcher of one SM and its preemption engine,
connected."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .arch.geometry import MAX_REGISTERS, PREDICATES, UNIFORMS, WORD_BYTES, Geometry
from .arch.registers import ADDRESS_BITS as REGISTER_ADDRESS_BITS
from .arch.registers import IDENTIFICATION, KernelState
from .device.command_processor import CommandProcessor
from .device.grid_walker import GridWalker
from .device.kernel_table import KernelTable
from .device.register_block import RegisterBlock
from .dispatch.admission import Admission
from .dispatch.completion import Completion
from .dispatch.faults import SOURCES, FaultUnit
from .dispatch.launcher import Launcher, StreamPriority
from .dispatch.tb_table import TbTable
from .interfaces import payloads as payload
from .interfaces.preemption import activity, counters
from .memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from .preempt.engine import PreemptEngine

__all__ = ["ControlUnit"]

PASSED = ("save_select", "save_view", "pending", "stop_now", "stopped", "exited", "issued",
          "flags_select", "flags_valid", "flags_dirty", "flags_predicates", "save_predicate_select",
          "save_predicate", "restore_predicate", "save_uniforms", "save_uniform_select",
          "save_uniform", "restore_uniform", "save_read", "save_data", "restore_write",
          "mark_clean", "lines_valid", "lines_dirty", "row", "row_data", "read_port", "write_port")
"""Ports of the engine that are the unit's."""


class ControlUnit(wiring.Component):
    """Register block, kernel table, grid walker, allocation tables, fault records, save and
    restore.

    ::

        registers --command--> commands --start--> grid --next--> admission --fresh--> launcher
            |                      |                               ^     |                 |
        kernel_table            engine ------admit-----------------+     +--> tb_table     v
                                   |  |                                          ^   warp_init,
                                   |  `-------warp_init, stack_push, start ------|-> stack_push,
                                   `--release--> completion --remove-------------'   start
                                                 faults --kill                  (engine first)

    The ports mirror those of `FrontEnd`, `ExecutePipeline` and `SharedMemory`; the save and restore
    ports are the engine's (`hw.preempt.engine`), the others those of the parts in `hw.device` and
    `hw.dispatch`.

    Attributes
    ----------
    address, write, write_data : Signal, in; read_data, interrupt : Signal, out
        Software's side, as in `Sm`: `write_data` is taken in the cycle of `write`, `read_data`
        follows `address` by one cycle.
    kernels, tbs : arrays, out
        `payloads.kernel_info` of the kernel slots, `payloads.tb_info` of the TB slots.
    warp_init, stack_push, start, free, kill, pending, stop_now, stopped, exited, valid
    save_select, save_view, inspect_select, inspect_view, invalidate, issued
    uniform_param_select, uniform_param_value
    save_uniforms, save_uniform_select, save_uniform, restore_uniform
        As in `FrontEnd`, from the other side.
    param_select, param_value, clear, flags_select, flags_valid, flags_dirty, flags_predicates
    save_predicate_select, save_predicate, restore_predicate
    save_read, save_data, restore_write, mark_clean
        As in `ExecutePipeline`, from the other side.
    cycle : Signal(32), out
        Cycles since reset.
    clear_lines, lines_valid, lines_dirty, row, row_data
        As in `SharedMemory`, where `clear_lines` is `clear`.
    front_fault, execute_fault, global_fault, shared_fault, constant_fault : in
        `payloads.fault_report` of the blocks; of those in one cycle one is recorded.
    read_port : ReadPort, out; write_port : WritePort, out
        Contexts in memory.
    activity, states, tb_count : out
        For simulations: `preemption.activity`, the `KernelState` of each slot, TBs resident.
    """

    address: Signal
    write: Signal
    write_data: Signal
    read_data: Signal
    interrupt: Signal
    kernels: data.View
    tbs: data.View
    warp_init: stream.Interface
    stack_push: stream.Interface
    start: data.View
    free: Signal
    kill: Signal
    pending: Signal
    stop_now: Signal
    stopped: Signal
    exited: Signal
    valid: Signal
    save_select: data.View
    save_view: data.View
    inspect_select: data.View
    inspect_view: data.View
    invalidate: Signal
    issued: Signal
    param_select: data.View
    param_value: Signal
    uniform_param_select: data.View
    uniform_param_value: Signal
    cycle: Signal
    clear: data.View
    flags_select: Signal
    flags_valid: Signal
    flags_dirty: Signal
    flags_predicates: Signal
    save_predicate_select: Signal
    save_predicate: Signal
    restore_predicate: data.View
    save_uniforms: Signal
    save_uniform_select: Signal
    save_uniform: Signal
    restore_uniform: data.View
    save_read: stream.Interface
    save_data: data.View
    restore_write: stream.Interface
    mark_clean: Signal
    clear_lines: data.View
    lines_valid: Signal
    lines_dirty: Signal
    row: stream.Interface
    row_data: data.View
    front_fault: data.View
    execute_fault: data.View
    global_fault: data.View
    shared_fault: data.View
    constant_fault: data.View
    read_port: ReadInterface
    write_port: WriteInterface
    activity: data.View
    states: data.View
    tb_count: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        index = payload.index
        rows = g.shared_bytes // (g.shared_banks * WORD_BYTES)
        row_data = data.ArrayLayout(32, g.shared_banks)
        super().__init__({
            # software side: write_data is taken in the cycle of write; read_data follows address by
            # one cycle
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
            "save_uniforms": In(UNIFORMS),
            "save_uniform_select": Out(range(UNIFORMS)),
            "save_uniform": In(32),
            "restore_uniform": Out(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "register": range(UNIFORMS), "value": 32})),
            "uniform_param_select": In(data.StructLayout({
                "kernel": index(g.kernel_slots), "word": index(g.param_words)})),
            "uniform_param_value": Out(32),
            "inspect_select": Out(data.StructLayout({"warp": index(g.warps), "entry": 6})),
            "inspect_view": In(payload.warp_view(g)),
            "invalidate": Out(1),
            "issued": In(1),
            # execution pipeline (mirrors ExecutePipeline)
            "param_select": In(data.StructLayout({"kernel": index(g.kernel_slots),
                                                  "word": index(g.param_words)})),
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
                "valid": 1, "warp": index(g.warps), "predicate": range(PREDICATES + 1),
                "value": g.warp_size})),
            "save_read": Out(stream.Signature(data.StructLayout({
                "warp": index(g.warps), "base": payload.physical(g), "register": 6,
                "beat": index(g.beats)}))),
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
            "constant_fault": In(payload.fault_report(g)),
            # memory
            "read_port": Out(ReadPort(g)),
            "write_port": Out(WritePort(g)),
            # for simulations
            "activity": Out(activity(g)),
            "states": Out(data.ArrayLayout(KernelState, g.kernel_slots)),
            "tb_count": Out(range(g.tb_slots + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        m.submodules.registers = registers = RegisterBlock(g)
        m.submodules.kernel_table = table = KernelTable(g)
        m.submodules.commands = commands = CommandProcessor(g)
        m.submodules.tb_table = tb_table = TbTable(g)
        m.submodules.grid = grid = GridWalker(g)
        m.submodules.admission = admission = Admission(g)
        m.submodules.launcher = launcher = Launcher(g)
        m.submodules.completion = completion = Completion(g)
        m.submodules.faults = faults = FaultUnit(g)
        m.submodules.engine = engine = PreemptEngine(g)

        m.d.comb += [self.kernels.eq(table.kernels),
                     self.tbs.eq(tb_table.tbs), self.free.eq(completion.free),
                     self.kill.eq(faults.kill), self.invalidate.eq(commands.invalidate),
                     self.clear_lines.eq(admission.clear_lines)]
        self._software(m, registers, table, commands)
        self._kernels(m, table, commands, grid, completion, tb_table, admission, faults)
        self._residents(m, tb_table, admission, completion, faults)
        self._warps(m, engine, launcher, tb_table, faults)
        self._engine(m, engine, commands, completion, admission)
        wiring.connect(m, admission.fresh, launcher.tb)
        m.d.comb += [registers.event_set.fault.eq(faults.event),
                     faults.pending.eq(registers.event.fault),
                     faults.clear.eq(registers.event_clear.fault)]
        m.d.comb += [getattr(faults, source).eq(getattr(self, source)) for source in SOURCES]
        m.d.comb += [self.activity.eq(engine.activity), self.states.eq(commands.states),
                     self.tb_count.eq(tb_table.tb_count)]

        self._status(m, registers.values, commands, tb_table, engine)
        self._progress(m, registers.values, commands, grid, completion, faults)
        self._fault_record(m, registers.values, faults)
        self._inspect(m, registers, tb_table)
        return m

    def _software(self, m: Module, registers, table, commands):
        """The bus, the kernel slots, commands and events."""
        event = registers.event_set
        m.d.comb += [
            registers.address.eq(self.address), registers.write.eq(self.write),
            registers.write_data.eq(self.write_data), self.read_data.eq(registers.read_data),
            self.interrupt.eq(registers.interrupt), commands.command.eq(registers.command),
            table.write.eq(registers.table_write), table.select.eq(registers.table_select),
            registers.table_data.eq(table.read_data), table.param_select.eq(self.param_select),
            self.param_value.eq(table.param_value),
            table.uniform_param_select.eq(self.uniform_param_select),
            self.uniform_param_value.eq(table.uniform_param_value),
            *(event[name].eq(getattr(commands, name))
              for name in ("finished", "preempted", "resumed", "refused")),
        ]

    def _kernels(self, m: Module, table, commands, grid, completion, tb_table, admission, faults):
        """Progress of the kernels, and the next TB to launch."""
        for part in (commands, grid, admission):
            m.d.comb += part.kernels.eq(table.kernels)
        for k in range(self.geometry.kernel_slots):
            m.d.comb += commands.done[k].eq(grid.exhausted[k]
                                            & (grid.launched[k] == completion.completed[k]))
        m.d.comb += [
            commands.present.eq(tb_table.present), commands.launching.eq(admission.launching),
            grid.start.eq(commands.start), completion.start.eq(commands.start),
            faults.start.eq(commands.start), admission.start.eq(commands.start),
            admission.eligible.eq(commands.eligible), admission.footprints.eq(commands.footprints),
            grid.request.eq(admission.request), admission.next_valid.eq(grid.valid),
            admission.next.eq(grid.next), grid.advance.eq(admission.advance),
        ]

    def _residents(self, m: Module, tb_table, admission, completion, faults):
        """The TB table and those who read and change it."""
        for part in (admission, faults, tb_table):
            m.d.comb += part.remove.eq(completion.remove)
        m.d.comb += [
            tb_table.insert.eq(admission.insert), admission.occupied.eq(tb_table.occupied),
            admission.warps_taken.eq(tb_table.warps_taken),
            admission.warp_count.eq(tb_table.warp_count),
            completion.resident.eq(tb_table.resident), faults.resident.eq(tb_table.resident),
            completion.exited.eq(self.exited), admission.ended.eq(completion.ended),
        ]

    def _warps(self, m: Module, engine, launcher, tb_table, faults):
        """Warps put into their slots by the engine or, after it, the launcher."""
        for name in ("warp_init", "stack_push"):
            merge = StreamPriority(getattr(engine, name).payload.shape())
            m.submodules[f"{name}_priority"] = merge
            wiring.connect(m, getattr(engine, name), merge.first)
            wiring.connect(m, getattr(launcher, name), merge.second)
            wiring.connect(m, merge.merged, wiring.flipped(getattr(self, name)))
        started = Signal()
        init = self.warp_init.payload
        m.d.comb += [
            started.eq(self.warp_init.valid & self.warp_init.ready),
            self.clear.valid.eq(started), self.clear.warp.eq(init.warp),
            faults.init.valid.eq(started), faults.init.warp.eq(init.warp),
            faults.init.block_warp.eq(init.block_warp),
            self.start.eq(launcher.start),
            launcher.hold.eq(engine.start.valid), tb_table.start.eq(self.start),
        ]
        with m.If(engine.start.valid):
            m.d.comb += self.start.eq(engine.start)

    def _engine(self, m: Module, engine, commands, completion, admission):
        """The preemption engine: its commands, its TBs, and its ports passed through."""
        wiring.connect(m, commands.engine, engine.command)
        wiring.connect(m, engine.admit, admission.admit)
        m.d.comb += [
            commands.result.eq(engine.result), commands.released.eq(engine.release.valid),
            completion.claim.eq(engine.claim), completion.release.eq(engine.release),
            engine.admitted.eq(admission.admitted), engine.no_room.eq(admission.no_room),
            engine.kernels.eq(self.kernels), engine.resident.eq(completion.resident),
        ]
        for name in PASSED:
            member = engine.signature.members[name]
            inner, outer = getattr(engine, name), getattr(self, name)
            if member.is_signature:
                wiring.connect(m, inner, wiring.flipped(outer))
            elif member.flow == In:
                m.d.comb += inner.eq(outer)
            else:
                m.d.comb += outer.eq(inner)

    def _status(self, m: Module, values, commands, tb_table, engine):
        """Identification, status, time and the engine's counters."""
        cycle = Signal(64)
        retired = Signal(32)
        m.d.sync += [cycle.eq(cycle + 1), retired.eq(retired + self.issued)]
        m.d.comb += [
            values["id"].value.eq(IDENTIFICATION),
            values["geometry_hash"].value.eq(self.geometry.hash),
            values["status"].busy.eq(commands.busy), values["status"].error.eq(commands.error),
            values["status"].resident.eq(tb_table.tb_count),
            values["status"].warps.eq(tb_table.warp_count),
            self.cycle.eq(cycle), values["cycle_low"].value.eq(cycle[:32]),
            values["cycle_high"].value.eq(cycle[32:]), values["retired"].value.eq(retired),
            *(values[name].value.eq(engine.counters[name]) for name in counters().members),
        ]

    def _progress(self, m: Module, values, commands, grid, completion, faults):
        """State of each kernel."""
        for k in range(self.geometry.kernel_slots):
            m.d.comb += [values[f"kernel[{k}].state"].state.eq(commands.states[k]),
                         values[f"kernel[{k}].launched"].value.eq(grid.launched[k]),
                         values[f"kernel[{k}].completed"].value.eq(completion.completed[k]),
                         values[f"kernel[{k}].faults"].value.eq(faults.faults[k])]

    def _fault_record(self, m: Module, values, faults):
        """The fault registers."""
        record, kind = faults.record, values["fault_kind"]
        m.d.comb += [
            kind.kind.eq(record.kind), kind.kernel.eq(record.kernel), kind.warp.eq(record.warp),
            values["fault_tb"].value.eq(record.tb), values["fault_pc"].value.eq(record.pc),
            values["fault_address"].value.eq(record.address),
            values["fault_count"].value.eq(faults.count),
        ]

    def _inspect(self, m: Module, registers, tb_table):
        """The inspect registers; a slot or stack entry that does not exist reads 0."""
        view, values = self.inspect_view, registers.values
        state = values["inspect_state"]
        m.d.comb += [self.inspect_select.warp.eq(registers.inspect.warp),
                     self.inspect_select.entry.eq(registers.inspect.entry)]
        with m.If((registers.inspect.warp < self.geometry.warps) & view.valid):
            m.d.comb += [state[name].eq(view[name]) for name in (
                "valid", "waiting", "parked", "exited", "kernel", "depth", "barrier")]
            m.d.comb += [state.warp.eq(view.block_warp), values["inspect_live"].value.eq(view.live),
                         values["inspect_tb"].value.eq(tb_table.resident[view.tb].launch_id)]
            with m.If(registers.inspect.entry < view.depth):
                m.d.comb += [values["inspect_pc"].value.eq(view.pc),
                             values["inspect_mask"].value.eq(view.mask)]
