"""Saves of thread blocks (TBs): which image is written where, with which generation."""

from __future__ import annotations

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import ENTRY_WORDS, Mechanism, State

from ..completion import completion
from ..context_image import clean, save
from ..control_block import write_record
from ..execution import Execution
from ..image_store import counts, write_image
from ..in_place import staying
from ..state.kernel import Base, Kernel, SavedEntry
from ..state.staying import NOTHING, Staying
from ..state.thread_block import ThreadBlock
from .requests import Preempt

__all__ = ["Saver"]


class Saver:
    """Writes TBs to the memory of their kernels.

    Parameters
    ----------
    machine : Execution
    counters : dict of str to int
        Counters by register name; saves add to them.

    Attributes
    ----------
    generation : int
        The generation of the last save.
    """

    def __init__(self, machine: Execution, counters: dict[str, int]):
        self.machine, self.counters, self.generation = machine, counters, 0

    def begin_generation(self) -> None:
        """Give what is saved from now on a new generation."""
        self.generation = self.generation + 1 & 0xFFFF_FFFF

    def refusal(self, kernel: Kernel) -> CommandError:
        """Return why TBs of a kernel cannot be saved, `NONE` if they can."""
        descriptor = kernel.descriptor
        bound = context.area_bound(self.machine.g, kernel.warps, kernel.registers, kernel.shared_bytes)
        if descriptor.area_bytes < bound:
            return CommandError.AREA_TOO_SMALL
        return CommandError.NONE if self.in_memory(kernel) else CommandError.BUS_ERROR

    def in_memory(self, kernel: Kernel) -> bool:
        """Return whether a kernel's CCB is, with its save areas."""
        descriptor = kernel.descriptor
        end = descriptor.ccb_base + context.ccb_bytes(self.machine.g, descriptor.area_bytes, kernel.most_entries)
        return end <= len(self.machine.memory)

    def save(self, tb: ThreadBlock, asked: Preempt) -> None:
        """Write a TB's image, or its base, without what is to stay on the SM."""
        machine, kernel, way = self.machine, tb.kernel, asked.way
        base = kernel.bases.get(tb.entry)
        side = 0 if base is None else base.side ^ 1
        incremental = way.incremental and base is not None and not (way.checkpoint or way.restart)
        stay = asked.stay.get(tb.entry, NOTHING) if None in machine.staying else NOTHING
        block = save(tb, way.mechanism, way.scramble, way.restart, incremental, stay)
        if machine.checker is not None and not way.restart:
            machine.checker.saved(tb)
        crc = write_image(machine, tb, side, block, State.BASE if way.checkpoint else State.COMPLETE,
                          self.generation, base.crc if incremental and base else 0)
        if way.checkpoint:
            kernel.bases[tb.entry] = Base(side, crc)
            clean(tb)
        else:
            kernel.saved[tb.entry] = SavedEntry.of(block.entry | {"generation": self.generation}, side)
        if stay:
            kernel.bases.pop(tb.entry, None)
            machine.stay(staying(tb, stay, way.mechanism, way.scramble, crc))
        for name, amount in counts(block).items():
            self.counters[name] += amount

    def save_away(self, tb: ThreadBlock) -> bool:
        """Save a TB that waits at a barrier, as a preempt with `live` does; return whether memory has room for it."""
        machine, kernel = self.machine, tb.kernel
        if self.refusal(kernel):
            return False
        base = kernel.bases.get(tb.entry)
        side = 0 if base is None else base.side ^ 1
        block = save(tb, Mechanism.LIVE)
        if machine.checker is not None:
            machine.checker.saved(tb)
        self.begin_generation()
        write_image(machine, tb, side, block, State.COMPLETE, self.generation)
        kernel.saved[tb.entry] = SavedEntry.of(block.entry | {"generation": self.generation}, side)
        return True

    def evict(self, rows: list[Staying]) -> None:
        """Write what stays of TBs to memory; kernels that have nothing left on the SM get their record."""
        machine = self.machine
        for row in rows:
            kernel, block = row.tb.kernel, completion(row)
            side = kernel.saved[row.tb.entry].side ^ 1
            write_image(machine, row.tb, side, block, State.BASE, self.generation, row.crc)
            machine.leave(row)
            for name, amount in (("evicted_tbs", 1), ("evicted_bytes", block.entry["length"] + 4 * ENTRY_WORDS)):
                self.counters[name] = self.counters.get(name, 0) + amount
            if not machine.stays(kernel) and not machine.resident(kernel):
                self.record(kernel)

    def record(self, kernel: Kernel) -> None:
        """Write the record of a kernel that memory holds as a whole."""
        write_record(self.machine, kernel, self.generation)
