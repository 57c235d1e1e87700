"""The register block: the register map of `hw.arch.registers` as hardware."""

from collections.abc import Callable, Mapping
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import SEGMENT_BYTES, Geometry
from ..arch.registers import Register, register_map
from ..interfaces.core_ports import HostPort
from ..interfaces.gpu_ports import SEGMENT_BITS
from ..interfaces.port import Port
from ..interfaces.yielding import notice
from .register_ports import (
    KERNEL_BASE,
    KERNEL_STRIDE,
    CommandPort,
    EventPort,
    KernelTablePort,
    register_layout,
)

__all__ = ["RegisterBlock", "value_layout"]


def value_layout(g: Geometry) -> data.StructLayout:
    """Return the layout of everything software reads and hardware drives, by register path."""
    return data.StructLayout({path: register_layout(r) for path, r in register_map().items()
                              if r.readable and not r.writable and _exists(g, r)})


def _exists(g: Geometry, register: Register) -> bool:
    return (register.exists(g)
            and register.address < KERNEL_BASE + g.kernel_slots * KERNEL_STRIDE)


class RegisterBlock(wiring.Component):
    """Decodes bus accesses. Holds the event register, the inspect register, the parameters of a
    preempt and the bus share.

    The kernel slots' writable words live in `KernelTable` and are passed through. An access to an
    address that holds no register reads 0 and writes nothing.

    Timing
    ------
    An access in each cycle; what is read comes in the next one.

    Attributes
    ----------
    host : HostPort, in
        Software's side.
    values : value_layout, in
        The registers that hardware drives, by path.
    commands : CommandPort, out
        Commands, and the registers that go with a preempt.
    events : EventPort, out
        Register ``event``; the interrupt is the OR of its bits.
    table : KernelTablePort, out
        The words of the kernel slots.
    inspect : struct, out
        The inspect register.
    notice : notice, out
        Segments that the host has written, in the cycle after ``notify_end``; exists only with
        `Geometry.watches`.
    bus_share : struct, out
        The guaranteed share of save and restore.
    """

    host: Port
    values: data.View
    commands: Port
    events: Port
    table: Port
    inspect: data.View
    notice: data.View
    bus_share: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        registers = register_map()
        shares = registers["bus_share"].fields.values()
        super().__init__({
            "host": In(HostPort()),
            "values": In(value_layout(g)),
            "commands": Out(CommandPort(g)),
            "events": Out(EventPort()),
            "table": Out(KernelTablePort()),
            "inspect": Out(register_layout(registers["inspect"])),
            **({"notice": Out(notice())} if g.watches else {}),
            "bus_share": Out(
                register_layout(registers["bus_share"]),
                init={f.name: f.reset for f in shares}),  # pyright: ignore[reportCallIssue]
        })

    def elaborate(self, platform: Any):
        m = Module()
        registers, host, commands = register_map(), self.host, self.commands

        def written(path: str):
            return host.write & (host.address[2:] == registers[path].address >> 2)

        m.d.comb += commands.command.valid.eq(written("command"))
        for field in registers["command"].fields.values():
            m.d.comb += commands.command[field.name].eq(
                host.write_data[field.low:field.low + field.width])
        stored: dict[str, Any] = {
            "inspect": self.inspect,
            **{name: getattr(commands, name) for name in ("patience", "grace", "spared")},
            **({"newcomer": commands.newcomer} if self.geometry.in_place else {}),
            "bus_share": self.bus_share}
        if self.geometry.proactive:
            stored |= self._announce(m, written)
        if self.geometry.watches:
            stored |= self._notice(m, written)
        for path, register in stored.items():
            with m.If(written(path)):
                m.d.sync += register.eq(host.write_data & _mask(registers[path]))
        event, cleared = self.events.pending.as_value(), self.events.clear.as_value()
        with m.If(written("event")):
            m.d.comb += cleared.eq(host.write_data & _mask(registers["event"]))
        m.d.sync += event.eq(event & ~cleared
                             | self.events.set.as_value() & _mask(registers["event"]))
        m.d.comb += host.interrupt.eq(event.any())

        in_table = host.address >= KERNEL_BASE
        select, write = self.table.select, self.table.write
        m.d.comb += [
            select.eq(host.address[2:2 + len(select.as_value())]),
            write.valid.eq(host.write & in_table), write.kernel.eq(select.kernel),
            write.word.eq(select.word), write.data.eq(host.write_data),
        ]
        self._read(m, in_table, stored)
        return m

    def _announce(self, m: Module, written: Callable[[str], Value]) -> dict[str, Signal]:
        """Pass announcements on, with the registers that go with them; return those."""
        announce, registers = self.commands.announce, register_map()
        stored = {path: Signal(32, name=path, init=registers[path].reset)
                  for path in ("announce", "announce_cycles", "announce_expiry")}
        m.d.comb += [announce.valid.eq(written("announce")),
                     announce.cycles.eq(stored["announce_cycles"]),
                     announce.expiry.eq(stored["announce_expiry"]),
                     announce.patience.eq(self.commands.patience),
                     *(announce[f.name].eq(self.host.write_data[f.low:f.low + f.width])
                       for f in registers["announce"].fields.values())]
        return stored

    def _notice(self, m: Module, written: Callable[[str], Value]) -> dict[str, Signal]:
        """Tell which segments the host has written; return the registers that say so."""
        begin, end = (Signal(32, name=name) for name in ("notify_begin", "notify_end"))
        low = exact_log2(SEGMENT_BYTES)
        m.d.sync += self.notice.valid.eq(written("notify_end")
                                           & (self.host.write_data != 0))
        m.d.comb += [self.notice.first.eq(begin[low:]),
                     self.notice.last.eq((end - 1)[low:low + SEGMENT_BITS])]
        return {"notify_begin": begin, "notify_end": end}

    def _read(self, m: Module, in_table: Value, stored: Mapping[str, Any]):
        """Register what this block serves;
        what it does not serve in the slots comes from the table."""
        served = {path: self.values[path] for path in value_layout(self.geometry).members}
        served |= {"event": self.events.pending, **stored}
        own = Signal(32)
        from_table = Signal()
        with m.Switch(self.host.address[2:]):
            for path, value in served.items():
                with m.Case(register_map()[path].address >> 2):
                    m.d.sync += [own.eq(Value.cast(value) & _mask(register_map()[path])),
                                 from_table.eq(0)]
            with m.Default():
                m.d.sync += [own.eq(0), from_table.eq(in_table)]
        m.d.comb += self.host.read_data.eq(own)
        with m.If(from_table):
            m.d.comb += self.host.read_data.eq(self.table.read_data)


def _mask(register: Register) -> int:
    return sum((1 << f.width) - 1 << f.low for f in register.fields.values())
