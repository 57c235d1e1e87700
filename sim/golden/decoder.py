"""The instructions of the kernels of an SM, each decoded when it is first met."""

from __future__ import annotations

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import INSTRUCTION_BYTES

from .bounds.checker import BoundsChecker
from .bounds.instrument import instrument
from .semantics.operation import Kind, Operation, compile_word
from .state.kernel import Kernel
from .state.sm import Sm

__all__ = ["Decoder"]


class Decoder:
    """Decoded instructions by kernel slot and PC; what a kernel's code is later does not matter.

    Parameters
    ----------
    sm : Sm
    checker : BoundsChecker or None
        Makes the instructions check their accesses.
    """

    def __init__(self, sm: Sm, checker: BoundsChecker | None):
        self._sm, self._checker = sm, checker
        self._decoded: list[dict[int, Operation]] = [{} for _ in sm.kernels]

    def forget(self, kernel: Kernel) -> None:
        """A kernel slot has another descriptor: decode anew."""
        self._decoded[kernel.index] = {}

    def operation(self, kernel: Kernel, pc: int) -> Operation:
        """Return the instruction of a kernel at `pc`."""
        decoded = self._decoded[kernel.index]
        found = decoded.get(pc)
        if found is None:
            found = decoded[pc] = self._decode(kernel, pc)
        return found

    def _decode(self, kernel: Kernel, pc: int) -> Operation:
        if pc >= kernel.descriptor.code_words:
            return Operation(Kind.FAULT, Fault.FETCH_BOUND)
        address = kernel.descriptor.code_base + INSTRUCTION_BYTES * pc
        memory = self._sm.memory
        if address + INSTRUCTION_BYTES > len(memory):
            return Operation(Kind.FAULT, Fault.BUS_ERROR)
        word = int.from_bytes(memory[address:address + INSTRUCTION_BYTES].tobytes(), "little")
        operation = compile_word(word, self._sm, kernel)
        if self._checker is not None:
            instrument(self._checker, operation, self._sm, kernel)
        return operation
