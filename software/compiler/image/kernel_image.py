"""The compiled kernel: the facts that the loader needs, independent of how they are stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

from caesura.hw.arch.isa.liveness import LIVE_BITS
from caesura.hw.arch.isa.opcodes import OPCODES, AluOp
from caesura.hw.arch.isa.operations import Unit

from ..ir.variables import Binding, Parameter, Relocation, Symbol
from ..origins import Origin

__all__ = ["PreemptionPoint", "KernelImage"]

_YIELDING = frozenset(op.code for op in OPCODES if op.yields)
_EXCHANGING = frozenset(op.code for op in OPCODES if op.unit is Unit.EXCHANGE or op.alu is AluOp.BALLOT)


@dataclass(frozen=True)
class PreemptionPoint:
    """The reason for the place of a ``pp`` (the rules of `preemption.placement`).

    Attributes
    ----------
    pc : int
        Address of the ``pp``.
    rule : str
        ``"loop"`` if the loop had no preemption point; ``"interval"`` if too many instructions had none.
    loop : int or None
        Address of the loop's header, if the rule is ``"loop"``.
    candidates : int
        Number of places it was chosen from.
    live, most : int
        Vector registers live at this place, and at the candidate with the most.
    """

    pc: int
    rule: str
    loop: int | None
    candidates: int
    live: int
    most: int


@dataclass(frozen=True)
class KernelImage:
    """Machine code of one kernel with all facts that the loader needs.

    Attributes
    ----------
    name : str
        Entry name.
    code : tuple of int
        64-bit instruction words.
    registers : int
        Vector registers of a thread.
    predicates : int
        Predicate registers used.
    shared_bytes : int
        Static shared memory of a TB.
    local_bytes : int
        Local memory of a thread, a multiple of 4.
    constants : bytes
        Contents of the constant bank; kernels of a module that have the same bank and symbols share it.
    symbols : tuple of Symbol
        Variables in the bank and among the global variables.
    global_bytes : int
        Size of the module's global variables, which all its kernels share.
    global_data : bytes
        Initial contents of the global variables; zeros beyond.
    relocations : tuple of Relocation
    bindings : tuple of Binding
    stack_depth : int
        Most SIMT stack entries the kernel needs, checked at launch.
    parameters : tuple of Parameter
    max_threads : int
        Most threads of a TB (from ``.maxntid``/``.reqntid``), 0 if not given.
    required_block : tuple of int or None
        Shape from ``.reqntid``; None without it.
    barrier_threads : int
        Threads of a TB, rounded up to a multiple of 32, as given by its barriers with a count; 0 if none has a count.
    lines : tuple of int
        Source line (PTX) of each instruction word, 0 where there is none.
    source : str
        Name of the file that the code came from.
    origins : tuple of Origin
        Places that the lines of that file were compiled from, as far as it names them, each once.
    origin_numbers : tuple of int
        Number of the origin of each instruction word, from 1; 0 for none. Empty if no word has one.
    points : tuple of PreemptionPoint
        The preemption points the compiler placed, ascending; code written by hand has no such record.
    traps : tuple of int
        Words that follow the code: a trap vector for each word of the code, then preemption routines
        (`flashback.traps`). Empty if the kernel has none.
    routine_bytes : int
        Local memory of a thread that these routines use, behind the kernel's own; a multiple of 4.
    spill_bytes : int
        Bytes of its local memory for values that found no register.
    """

    name: str
    code: tuple[int, ...]
    registers: int
    predicates: int = 0
    shared_bytes: int = 0
    stack_depth: int = 1
    parameters: tuple[Parameter, ...] = ()
    max_threads: int = 0
    required_block: tuple[int, int, int] | None = None
    lines: tuple[int, ...] = field(default=(), repr=False)
    source: str = ""
    local_bytes: int = 0
    constants: bytes = field(default=b"", repr=False)
    symbols: tuple[Symbol, ...] = ()
    global_bytes: int = 0
    global_data: bytes = field(default=b"", repr=False)
    relocations: tuple[Relocation, ...] = ()
    bindings: tuple[Binding, ...] = ()
    points: tuple[PreemptionPoint, ...] = field(default=(), repr=False)
    origins: tuple[Origin, ...] = field(default=(), repr=False)
    origin_numbers: tuple[int, ...] = field(default=(), repr=False)
    traps: tuple[int, ...] = field(default=(), repr=False)
    routine_bytes: int = 0
    spill_bytes: int = 0
    barrier_threads: int = 0

    @property
    def words(self) -> tuple[int, ...]:
        """All instruction words as they lie in memory."""
        return self.code + self.traps

    @property
    def trap_base(self) -> int:
        """Address of the first trap vector; 0 if there are none."""
        return len(self.code) if self.traps else 0

    @property
    def yields(self) -> bool:
        """Whether some instruction makes a TB leave the SM until memory changes (`Geometry.watches`)."""
        return any(word >> LIVE_BITS in _YIELDING for word in self.words)

    @property
    def exchanges(self) -> bool:
        """Whether the lanes of a warp exchange values: by shuffles, votes or matches."""
        return any(word >> LIVE_BITS in _EXCHANGING for word in self.code)

    @property
    def all_local_bytes(self) -> int:
        """Local memory of a thread, with the part of preemption routines."""
        return self.local_bytes + self.routine_bytes

    def origin(self, pc: int) -> Origin | None:
        """Return the origin of an instruction; None if it is not known."""
        number = self.origin_numbers[pc] if pc < len(self.origin_numbers) else 0
        return self.origins[number - 1] if number else None

    def where(self, pc: int) -> str:
        """Return file and line of an instruction, and those of its origin; empty if not known."""
        line = self.lines[pc] if pc < len(self.lines) else 0
        places = [f"{self.source}:{line}"] if line else []
        return ", ".join((*places, *(str(origin) for origin in (self.origin(pc),) if origin)))

    def with_origins(self, find: Callable[[int], Origin | None]) -> KernelImage:
        """Return the image with the origin that `find` gives for the line of each instruction."""
        places: dict[Origin, int] = {}
        found = (find(line) if line else None for line in self.lines)
        numbers = tuple(places.setdefault(origin, len(places) + 1) if origin else 0 for origin in found)
        return dataclasses.replace(self, origins=tuple(places), origin_numbers=numbers) if places else self

    @property
    def parameter_bytes(self) -> int:
        """Bytes of the parameter space in use."""
        return max((*(p.offset + p.size for p in self.parameters),
                    *(b.offset + 4 * b.words for b in self.bindings)), default=0)
