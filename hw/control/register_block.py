"""The register block: the register map of `hw.arch.registers` as hardware."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arch.geometry import SEGMENT_BYTES, Geometry
from ..arch.registers import ADDRESS_BITS, Register, register_map
from ..interfaces.gpu_ports import SEGMENT_BITS
from ..interfaces.yielding import notice

__all__ = ["KERNEL_BASE", "KERNEL_STRIDE", "RegisterBlock", "command_write", "register_layout",
           "table_write", "table_select", "value_layout"]

KERNEL_BASE = register_map()["kernel[0].code_base"].address
"""Byte address of the first kernel slot; every register from here on belongs to a slot."""
KERNEL_STRIDE = register_map()["kernel[1].code_base"].address - KERNEL_BASE
"""Bytes from one kernel slot to the next."""
_WORD_BITS = KERNEL_STRIDE.bit_length() - 3
_SLOT_BITS = ADDRESS_BITS - KERNEL_STRIDE.bit_length()


def register_layout(register: Register) -> data.FlexibleLayout:
    """Return the layout of one register: its fields at their places in 32 bits."""
    return data.FlexibleLayout(
        32, {f.name: data.Field(f.width, f.low) for f in register.fields.values()})


def value_layout(g: Geometry) -> data.StructLayout:
    """Return the layout of everything software reads and hardware drives, by register path."""
    return data.StructLayout({path: register_layout(r) for path, r in register_map().items()
                              if r.readable and not r.writable and _exists(g, r)})


def command_write() -> data.StructLayout:
    """A write to the command register."""
    fields = register_map()["command"].fields.values()
    return data.StructLayout({"valid": 1, **{f.name: f.width for f in fields}})


def table_select() -> data.StructLayout:
    """Place in the kernel slots: slot and word of the slot."""
    return data.StructLayout({"word": _WORD_BITS, "kernel": _SLOT_BITS})


def table_write() -> data.StructLayout:
    """A write to the kernel slots."""
    return data.StructLayout({"valid": 1, "kernel": _SLOT_BITS, "word": _WORD_BITS, "data": 32})


def _exists(g: Geometry, register: Register) -> bool:
    return (register.exists(g)
            and register.address < KERNEL_BASE + g.kernel_slots * KERNEL_STRIDE)


class RegisterBlock(wiring.Component):
    """Decodes bus accesses; holds the registers of events, of what is inspected, of what a preempt
    is given, and of the bus share.

    The kernel slots' writable words live in `KernelTable` and are passed through. An access to an
    address that holds no register reads 0 and writes nothing.

    Timing
    ------
    An access in each cycle; what is read comes in the next one.

    Attributes
    ----------
    address : Signal(ADDRESS_BITS), in
        Byte address; the two low bits are ignored.
    write, write_data : Signal, in
        Written in the cycle of `write`.
    read_data : Signal(32), out
        The register at last cycle's `address`, as it was in that cycle.
    interrupt : Signal, out
        OR of all event bits.
    values : struct, in
        What the registers driven by hardware read.
    command : struct, out
        Fields of a command, `valid` in the cycle it is written.
    inspect : struct, out
        The inspect register.
    patience, grace, spared : Signal(32), out
        What a preempt is given.
    newcomer : struct, out
        For whom an in-place preempt makes room.
    notice : notice, out
        With `Geometry.watches`: what the host says it has written, in the cycle after
        ``notify_end``.
    bus_share : struct, out
        The guaranteed share of save and restore.
    event_set : struct, in
        Sets event bits; wins over a clear in the same cycle.
    event, event_clear : struct, out
        The event bits, and those that software clears in this cycle.
    table_write, table_select, table_data
        Access to the kernel slots; `table_data` follows `table_select` by one cycle.
    """

    address: Signal
    write: Signal
    write_data: Signal
    read_data: Signal
    interrupt: Signal
    values: data.View
    command: data.View
    inspect: data.View
    patience: Signal
    grace: Signal
    spared: Signal
    newcomer: data.View
    notice: data.View
    bus_share: data.View
    event_set: data.View
    event: data.View
    event_clear: data.View
    table_write: data.View
    table_select: data.View
    table_data: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        self._notified: dict[str, Signal] = {}
        registers = register_map()
        shares = registers["bus_share"].fields.values()
        event = register_layout(registers["event"])
        super().__init__({
            "address": In(ADDRESS_BITS),
            "write": In(1),
            "write_data": In(32),
            "read_data": Out(32),
            "interrupt": Out(1),
            "values": In(value_layout(g)),
            "command": Out(command_write()),
            "inspect": Out(register_layout(registers["inspect"])),
            # The stubs lack the initial values.
            "patience": Out(
                32, init=registers["patience"].reset),  # pyright: ignore[reportCallIssue]
            "grace": Out(32), "spared": Out(32),
            "newcomer": Out(register_layout(registers["newcomer"])),
            **({"notice": Out(notice())} if g.watches else {}),
            "bus_share": Out(
                register_layout(registers["bus_share"]),
                init={f.name: f.reset for f in shares}),  # pyright: ignore[reportCallIssue]
            "event_set": In(event),
            "event": Out(event),
            "event_clear": Out(event),
            "table_write": Out(table_write()),
            "table_select": Out(table_select()),
            "table_data": In(32),
        })

    def elaborate(self, platform: Any):
        m = Module()
        registers = register_map()

        def written(path: str):
            return self.write & (self.address[2:] == registers[path].address >> 2)

        m.d.comb += self.command.valid.eq(written("command"))
        for field in registers["command"].fields.values():
            m.d.comb += self.command[field.name].eq(self.write_data[field.low:field.low
                                                                              + field.width])
        newcomer = ("newcomer",) if self.geometry.in_place else ()
        for path in ("inspect", "patience", "grace", "spared", "bus_share", *newcomer):
            with m.If(written(path)):
                m.d.sync += getattr(self, path).eq(self.write_data & _mask(registers[path]))
        if self.geometry.watches:
            self._notice(m, written)
        event, cleared = self.event.as_value(), self.event_clear.as_value()
        with m.If(written("event")):
            m.d.comb += cleared.eq(self.write_data & _mask(registers["event"]))
        m.d.sync += event.eq(event & ~cleared
                             | self.event_set.as_value() & _mask(registers["event"]))
        m.d.comb += self.interrupt.eq(event.any())

        in_table = self.address >= KERNEL_BASE
        place = self.address[2:2 + _WORD_BITS + _SLOT_BITS]
        m.d.comb += [
            self.table_select.eq(place),
            self.table_write.valid.eq(self.write & in_table),
            self.table_write.kernel.eq(self.table_select.kernel),
            self.table_write.word.eq(self.table_select.word),
            self.table_write.data.eq(self.write_data),
        ]
        self._read(m, in_table)
        return m

    def _notice(self, m: Module, written: Callable[[str], Value]):
        """Say which segments the host has written."""
        begin, end = (Signal(32, name=name) for name in ("notify_begin", "notify_end"))
        self._notified = {"notify_begin": begin, "notify_end": end}
        for path, value in self._notified.items():
            with m.If(written(path)):
                m.d.sync += value.eq(self.write_data)
        low = exact_log2(SEGMENT_BYTES)
        m.d.sync += self.notice.valid.eq(written("notify_end") & (self.write_data != 0))
        m.d.comb += [self.notice.first.eq(begin[low:]),
                     self.notice.last.eq((end - 1)[low:low + SEGMENT_BITS])]

    def _read(self, m: Module, in_table: Value):
        """Register what this block serves;
        what it does not serve in the slots comes from the table."""
        served = {path: self.values[path] for path in value_layout(self.geometry).members}
        served |= {"event": self.event, "inspect": self.inspect, "patience": self.patience,
                   "grace": self.grace, "spared": self.spared, "newcomer": self.newcomer,
                   "bus_share": self.bus_share} | self._notified
        own = Signal(32)
        from_table = Signal()
        with m.Switch(self.address[2:]):
            for path, value in served.items():
                with m.Case(register_map()[path].address >> 2):
                    m.d.sync += [own.eq(Value.cast(value) & _mask(register_map()[path])),
                                 from_table.eq(0)]
            with m.Default():
                m.d.sync += [own.eq(0), from_table.eq(in_table)]
        m.d.comb += self.read_data.eq(own)
        with m.If(from_table):
            m.d.comb += self.read_data.eq(self.table_data)


def _mask(register: Register) -> int:
    return sum((1 << f.width) - 1 << f.low for f in register.fields.values())
