"""Ports of the register block, and the layouts of registers in them."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..arch.registers import ADDRESS_BITS, Register, register_map

__all__ = ["KERNEL_BASE", "KERNEL_STRIDE", "CommandPort", "EventPort", "KernelTablePort",
           "announce_write",
           "command_write", "register_layout", "table_select", "table_write"]

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


def command_write() -> data.StructLayout:
    """A write to the command register."""
    fields = register_map()["command"].fields.values()
    return data.StructLayout({"valid": 1, **{f.name: f.width for f in fields}})


def announce_write() -> data.StructLayout:
    """A write to register ``announce``, with the registers that go with it."""
    fields = register_map()["announce"].fields.values()
    return data.StructLayout({"valid": 1, **{f.name: f.width for f in fields},
                              "cycles": 32, "expiry": 32, "patience": 32})


def table_select() -> data.StructLayout:
    """Place in the kernel slots: slot and word of the slot."""
    return data.StructLayout({"word": _WORD_BITS, "kernel": _SLOT_BITS})


def table_write() -> data.StructLayout:
    """A write to the kernel slots."""
    return data.StructLayout({"valid": 1, "kernel": _SLOT_BITS, "word": _WORD_BITS, "data": 32})


class CommandPort(wiring.Signature):
    """Commands that software writes. Directions are the register block's.

    Attributes
    ----------
    command : command_write, out
        The fields of a command; `valid` in the cycle in which it is written.
    patience, grace, spared : Signal(32), out
        The registers of these names. A preempt takes their values.
    newcomer : struct, out
        The register of this name: an in-place preempt makes room for this kernel.
    announce : announce_write, out
        A launch is announced. Exists only with `Geometry.proactive`.
    """

    def __init__(self, g: Geometry):
        registers = register_map()
        super().__init__({
            "command": Out(command_write()),
            # The stubs lack the initial values.
            "patience": Out(
                32, init=registers["patience"].reset),  # pyright: ignore[reportCallIssue]
            "grace": Out(32), "spared": Out(32),
            "newcomer": Out(register_layout(registers["newcomer"])),
            **({"announce": Out(announce_write())} if g.proactive else {}),
        })


class EventPort(wiring.Signature):
    """The bits of register ``event``. Directions are the register block's.

    Attributes
    ----------
    set : struct, in
        Sets bits. A set wins over a clear in the same cycle.
    pending : struct, out
        The bits.
    clear : struct, out
        Software clears these bits in this cycle.
    """

    def __init__(self):
        event = register_layout(register_map()["event"])
        super().__init__({"set": In(event), "pending": Out(event), "clear": Out(event)})


class KernelTablePort(wiring.Signature):
    """Software's access to the kernel slots. Directions are the register block's.

    Attributes
    ----------
    write : table_write, out
        A write, taken at once.
    select : table_select, out
        The word that is read.
    read_data : Signal(32), in
        Word that was selected, one cycle later.
    """

    def __init__(self):
        super().__init__({"write": Out(table_write()), "select": Out(table_select()),
                          "read_data": In(32)})
