"""Register fan-out: the SMs of a device look like one to its software."""

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import MAX_SMS, Geometry
from ..arch.registers import (
    ADDRESS_BITS,
    DEVICE_ADDRESS_BITS,
    Combine,
    device_register_map,
    register_map,
)
from ..control.register_ports import KERNEL_BASE, KERNEL_STRIDE
from ..control.switch_counters import SwitchCounters, kernel_switches
from ..interfaces.core_ports import HostPort
from ..interfaces.gpu_ports import ReportPort
from ..interfaces.port import Port
from ..lib.bits import pick
from .combine import RULES, Combiner
from .command_fan_out import CommandFanOut
from .device_events import DeviceEvents
from .queues.kernel_describer import register_write

__all__ = ["DeviceHostPort", "RegisterFanOut"]


class DeviceHostPort(wiring.Signature):
    """Software's side of the registers of a device. Directions are the host's.

    Attributes
    ----------
    address : Signal(14), out
        Byte address of a register (`hw.arch.registers.device_register_map`).
    read : Signal, out
        `read_data` is wanted of it.
    write, write_data : out; read_data, interrupt : in
        Described in `HostPort`.
    """

    def __init__(self):
        super().__init__(dict(HostPort().members) | {"address": Out(DEVICE_ADDRESS_BITS),
                                                     "read": Out(1)})


class RegisterFanOut(wiring.Component):
    """Passes writes to SMs, and combines what they read, as `Combine` says of each register.

    Writes and commands go to the SMs of ``sm_write``; reads are of the SMs of ``sm_read``.
    `CommandFanOut` handles the outcome of commands, `DeviceEvents` events and counts of switches.
    Counters of the last preempt or resume are those of the SMs that took it.

    Reads take a cycle, as those of an SM; writes none.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    host : DeviceHostPort, in
    sms : list of HostPort, out
    reports : list of ReportPort, in
    members : list of Signal(sms), in
        Vector per kernel: SMs that have it.
    queued : stream of register_write, in
        Writes and commands of the queue processor, taken when the host neither reads nor writes;
        `shown`, what its registers read, by path. Only with `Geometry.queues`.
    """

    host: Port
    sms: list[Port]
    reports: list[Port]
    members: list[Signal]
    queued: stream.Interface

    def __init__(self, g: Geometry, shown: Mapping[str, Any] | None = None):
        self.geometry, self.shown = g, dict(shown or {})
        queued = {"queued": In(stream.Signature(register_write(g)))} if g.queues else {}
        super().__init__({
            **queued, "host": In(DeviceHostPort()), "sms": Out(HostPort()).array(g.sms),
            "reports": In(ReportPort(g)).array(g.sms), "members": In(g.sms).array(g.kernel_slots),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, host = self.geometry, self.host
        m.submodules.commands = commands = CommandFanOut(g)
        m.submodules.events = events = DeviceEvents(g)
        m.submodules.combiner = combiner = Combiner(g)
        masks = {name: Signal(MAX_SMS, name=name, init=device_register_map()[name].reset)
                 for name in ("sm_read", "sm_write")}
        for name, mask in masks.items():
            with m.If(self._written(name)):
                m.d.sync += mask.eq(host.write_data)
        access = self._access(m, masks["sm_write"])
        m.d.comb += [
            commands.valid.eq(access.write & (access.address[2:] == register_map()[
                "command"].address >> 2)), commands.word.eq(access.data),
            commands.from_host.eq(self._written("command")),
            commands.mask.eq(access.sms), events.refused.eq(commands.refused),
            events.clear.eq(Mux(self._written("event"), host.write_data, 0)),
            events.takers.eq(commands.takers),
            *(events.members[k].eq(members) for k, members in enumerate(self.members)),
            host.interrupt.eq(events.event.as_value().any()),
        ]
        for i, (sm, report) in enumerate(zip(self.sms, self.reports, strict=True)):
            m.d.comb += [
                sm.address.eq(access.address), sm.write_data.eq(access.data),
                sm.write.eq(access.write & access.sms[i]),
                combiner.words[i].eq(sm.read_data), commands.states[i].eq(report.states),
                commands.recorded[i].eq(report.recorded),
                commands.accepted[i].eq(report.accepted), events.states[i].eq(report.states),
                events.errors[i].eq(report.errors), events.switched[i].eq(report.switched),
                events.faults[i].eq(report.fault)]
            with m.If(commands.valid):
                m.d.comb += [sm.write.eq(commands.targets[i]), sm.write_data.eq(commands.words[i])]
        shown = {name: mask for name, mask in masks.items()} | {"sms": g.sms,
                                                                "event": events.event,
                                                                **self.shown}
        if g.profile:
            shown |= self._switches(m, events)
        self._read(m, commands, combiner, masks["sm_read"], events.faults, shown)
        return m

    def _access(self, m: Module, sms: Value):
        """Return what goes to the SMs in this cycle: from the host, or else the queue processor."""
        host = self.host
        access = Signal(data.StructLayout({"address": ADDRESS_BITS, "data": 32, "write": 1,
                                           "sms": self.geometry.sms}))
        m.d.comb += [access.address.eq(host.address), access.data.eq(host.write_data),
                     access.write.eq(host.write & ~host.address[ADDRESS_BITS]), access.sms.eq(sms)]
        if self.geometry.queues:
            queued = self.queued
            m.d.comb += queued.ready.eq(~host.read & ~host.write)
            with m.If(queued.valid & queued.ready):
                m.d.comb += [access.write.eq(1), *(access[name].eq(queued.payload[name])
                                                   for name in ("address", "data", "sms"))]
        return access

    def _written(self, name: str):
        """A write to a register of the device."""
        place = device_register_map()[name].address >> 2
        return self.host.write & (self.host.address[2:] == place)

    def _switches(self, m: Module, events: DeviceEvents):
        """Return the registers that count switches, by path."""
        m.submodules.switches = switches = SwitchCounters(self.geometry)
        adopted = [report.adopted.valid << report.adopted.kernel for report in self.reports]
        clear = Signal(self.geometry.kernel_slots)
        for report, new in zip(self.reports, adopted, strict=True):
            clear = clear | report.start | new
        m.d.comb += [switches.switched.eq(events.counted), switches.clear.eq(clear)]
        return {f"kernel[{k}].switches_{name}": switches.counts[k][name]
                for k in range(self.geometry.kernel_slots) for name in kernel_switches().members}

    def _read(self, m: Module, commands: CommandFanOut, combiner: Combiner, read: Value,
              faults: Value, shown: Mapping[str, ValueLike]):
        """Show a register of the device, or combine the words that the SMs answer."""
        g, host = self.geometry, self.host
        address = Signal.like(host.address)
        word = Signal(32)
        own = Signal()  # not the SMs'
        m.d.sync += [address.eq(host.address), own.eq(host.address[ADDRESS_BITS]), word.eq(0)]
        with m.Switch(host.address[2:]):
            for path, value in shown.items():
                with m.Case(device_register_map()[path].address >> 2):
                    m.d.sync += [word.eq(value), own.eq(1)]
        slot_bits = KERNEL_STRIDE.bit_length() - 1
        kernel = address[slot_bits:ADDRESS_BITS - 1]
        m.d.comb += [combiner.chosen.eq(read), host.read_data.eq(combiner.word)]
        m.d.comb += [combiner.error_shown.eq(
            read & pick([commands.takers[k] for k in range(g.kernel_slots)], kernel))]
        last = {"preempt": commands.preempted, "resume": commands.resumed}
        places = {register.address: register for register in register_map().values()
                  if register.combine is not Combine.FIRST and register.exists(g)
                  and register.address < KERNEL_BASE + KERNEL_STRIDE}  # kernel slots are alike
        offset = Mux(address >= KERNEL_BASE, KERNEL_BASE | address[:slot_bits],
                     address[:ADDRESS_BITS])
        with m.Switch(offset[2:]):
            for place, register in places.items():
                with m.Case(place >> 2):
                    m.d.comb += combiner.rule.eq(RULES.index(register.combine))
                    if register.last:
                        m.d.comb += combiner.chosen.eq(read & last[register.last])
                    elif register.combine is Combine.STATE:
                        m.d.comb += combiner.chosen.eq(read & pick(self.members, kernel))
                    elif register.combine is Combine.FAULT:
                        m.d.comb += combiner.chosen.eq(read & faults)
                    elif register.combine is Combine.STATUS:
                        self._status(m, commands, combiner)
        with m.If(own):
            m.d.comb += host.read_data.eq(word)

    def _status(self, m: Module, commands: CommandFanOut, combiner: Combiner):
        """The status has the error of the last command, of the device or of the first SM that
        refused it."""
        field = register_map()["status"].fields["error"]
        command_error = Signal(field.width)
        m.d.comb += [command_error.eq(commands.error), self.host.read_data.eq(
            combiner.word | command_error << field.low)]
        for i in reversed(range(self.geometry.sms)):
            with m.If(commands.refusing[i]):
                m.d.comb += command_error.eq(combiner.words[i][field.low:field.low + field.width])
