"""Kernel slots: descriptors in flip-flops."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..arch.registers import Field, register_map
from ..interfaces.payloads import below, kernel_info
from ..interfaces.port import Port
from .register_ports import KERNEL_BASE, KernelTablePort

__all__ = ["KernelTable", "descriptor_words"]

_PREFIX = "kernel[0]."
_WORD_BITS = max((register.address - KERNEL_BASE >> 2).bit_length() for path, register
                 in register_map().items() if path.startswith(_PREFIX) and register.writable)
"""Bits of the number of a word of a slot that software writes."""


def descriptor_words(g: Geometry) -> dict[int, list[tuple[Field, tuple]]]:
    """Return, by word of a kernel slot, the fields it holds and where in `kernel_info` each goes.

    A register of one field has that register's name there. ``block`` and ``sizes`` give several
    members; ``window_base[w]`` and ``window_end[w]`` are windows. Windows beyond the geometry's do
    not exist. Neither do ``trap_base`` without `Geometry.traps` and registers that the geometry
    lacks (`Register.exists`).
    """
    words = {}
    for path, register in register_map().items():
        name, _, number = path.removeprefix(_PREFIX).rstrip("]").partition("[")
        if not path.startswith(_PREFIX) or not register.writable:
            continue
        if number and int(number) >= g.windows or name == "trap_base" and not g.traps:
            continue
        if not register.exists(g):
            continue
        places = []
        for field in register.fields.values():
            if number:
                place = ("windows", int(number), name.removeprefix("window_"))
            elif name == "block":
                place = (f"block_{field.name}",)
            else:
                place = (name if field.name == "value" else field.name,)
            places.append((field, place))
        words[(register.address - KERNEL_BASE) >> 2] = places
    return words


class KernelTable(wiring.Component):
    """Storage behind the writable registers of the kernel slots.

    Descriptors are read by the whole SM at once and stand in flip-flops; what software reads back
    comes from a memory that mirrors the writes. Slots and windows beyond the geometry read 0 and
    are not written. A reset clears the descriptors that the hardware uses, but not the mirror.

    Timing
    ------
    A write and a read in each cycle.

    Attributes
    ----------
    registers : KernelTablePort, in
        Software's access.
    kernels : array of kernel_info, out
        The descriptors; a write is visible one cycle later.
    """

    registers: Port
    kernels: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "registers": In(KernelTablePort()),
            "kernels": Out(data.ArrayLayout(kernel_info(g), g.kernel_slots)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        slots = self.geometry.kernel_slots
        slot_bits = below(slots).width
        m.submodules.mirror = mirror = memory.Memory(shape=32, depth=1 << slot_bits + _WORD_BITS,
                                                     init=[])

        def mirror_address(place: data.View):
            return Cat(place.word[:_WORD_BITS], place.kernel[:slot_bits])

        store = mirror.write_port()
        back = mirror.read_port()
        m.d.comb += [store.addr.eq(mirror_address(self.registers.write)),
                     back.addr.eq(mirror_address(self.registers.select)), back.en.eq(1)]
        self._write_descriptors(m, store)

        from_mirror = Signal()
        m.d.sync += from_mirror.eq(~self.registers.select.word[_WORD_BITS:].any()
                                   & (self.registers.select.kernel < slots))
        with m.If(from_mirror):
            m.d.comb += self.registers.read_data.eq(back.data)
        return m

    def _write_descriptors(self, m: Module, store: memory.WritePort):
        """Write the fields of the addressed word, and the same bits to the mirror."""
        write = self.registers.write
        words = descriptor_words(self.geometry)
        for slot in range(self.geometry.kernel_slots):
            with m.If(write.valid & (write.kernel == slot)):
                m.d.comb += store.en.eq(1)
                with m.Switch(write.word):
                    for word, places in words.items():
                        with m.Case(word):
                            for field, place in places:
                                target = self.kernels[slot]
                                for step in place:
                                    target = target[step]
                                m.d.sync += target.eq(write.data[field.low:field.low + field.width])
        with m.Switch(write.word):
            for word, places in words.items():
                with m.Case(word):
                    m.d.comb += store.data.eq(write.data
                                              & sum((1 << f.width) - 1 << f.low for f, _ in places))
            with m.Default():
                m.d.comb += store.en.eq(0)
