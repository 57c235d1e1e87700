"""The kernel intermediate representation (IR): machine instructions over virtual registers, in a CFG.

An operation carries the mnemonic of `hw.arch.isa.opcodes` (without the ``.i`` of immediate forms) or one of the 64-bit
names of `ir.spec`; what operands it takes is declared there. The form is not SSA: a PTX register is one virtual
register, with as many definitions as the PTX gives it.

Register kinds
--------------
``r``  virtual 32-bit vector register, ``w``  virtual 64-bit register (until legalisation), ``p``  virtual predicate,
``u``  virtual uniform register, ``R``  vector register, ``P``  predicate register, ``U``  uniform register.

Routines
--------
Code that is called stands in a `Routine`, with blocks of its own: joining its return with what follows each call would
make cycles that no warp runs. In its kernel a call is one operation. Until registers are allocated that is ``routine``,
which takes arguments and gives results like any other; from then on ``call``, with what it reads, writes and takes on
its way (`Summary`). A routine begins with ``enter``, which defines its arguments (gone once the kernel is allocated),
and ends with ``bru``, in the last block, the only one that leads nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from .digraph import DiGraph
from .variables import Binding, Parameter, Relocation, Symbol

__all__ = ["Reg", "Imm", "Pred", "TRUE", "FALSE", "Use", "Op", "Summary", "Call", "Terminator", "Block",
           "Routine", "Kernel"]


class _Interned:
    """Objects of a class that are equal are one object: compared and hashed by address, which sets and dictionaries of
    registers live on. As many are kept as the largest kernel of the process has."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change: {name} is {getattr(self, name)}")


class Reg(_Interned):
    """A register: kind (see the module) and number. They are in order of kind, then of number.

    The `code` of an operand is a letter for what the verifier has to know of it (`ir.spec`): here the kind.
    """

    __slots__ = ("code", "index", "kind")
    kind: str
    index: int
    code: str
    _known: ClassVar[dict[tuple[str, int], Reg]] = {}

    def __new__(cls, kind: str, index: int) -> Reg:
        found = cls._known.get((kind, index))
        if found is None:
            found = object.__new__(cls)
            object.__setattr__(found, "kind", kind)
            object.__setattr__(found, "index", index)
            object.__setattr__(found, "code", kind)
            found = cls._known.setdefault((kind, index), found)  # of two threads one is first
        return found

    def __lt__(self, other: Reg) -> bool:
        return self.index < other.index if self.kind == other.kind else self.kind < other.kind

    def __reduce__(self):
        return Reg, (self.kind, self.index)

    def __repr__(self) -> str:
        return f"Reg(kind={self.kind!r}, index={self.index})"

    def __str__(self) -> str:
        return f"{self.kind}{self.index}" if self.kind in "RPU" else f"%{self.kind}{self.index}"


class Imm(NamedTuple):
    """A constant, unsigned: 32 bits, or 64 where a ``w`` is read."""

    value: int

    @property
    def code(self) -> str:
        """``i`` or ``l``: it has 32 or 64 bits; ``?`` what is no constant."""
        return "i" if 0 <= self.value < 1 << 32 else "l" if 0 <= self.value < 1 << 64 else "?"

    def __str__(self) -> str:
        return str(self.value)


class Pred(_Interned):
    """A predicate as it is read: register (None = always true) and whether negated.

    The `code` is ``q`` or ``Q`` of a virtual and a physical predicate, ``t`` without a register, else ``?``.
    """

    __slots__ = ("code", "negated", "reg")
    reg: Reg | None
    negated: bool
    code: str
    _known: ClassVar[dict[tuple[Reg | None, bool], Pred]] = {}

    def __new__(cls, reg: Reg | None, negated: bool = False) -> Pred:
        found = cls._known.get((reg, negated))
        if found is None:
            found = object.__new__(cls)
            object.__setattr__(found, "reg", reg)
            object.__setattr__(found, "negated", negated)
            object.__setattr__(found, "code", "t" if reg is None else {"p": "q", "P": "Q"}.get(reg.kind, "?"))
            found = cls._known.setdefault((reg, negated), found)
        return found

    def __reduce__(self):
        return Pred, (self.reg, self.negated)

    def __repr__(self) -> str:
        return f"Pred(reg={self.reg!r}, negated={self.negated})"

    def __str__(self) -> str:
        return ("!" if self.negated else "") + (str(self.reg) if self.reg else "true")

    def inverted(self) -> Pred:
        """Return the opposite."""
        return Pred(self.reg, not self.negated)


TRUE = Pred(None)
FALSE = Pred(None, True)
Use = Any
"""An operand: a `Reg`, `Imm` or `Pred`. Which of them stands in which place is declared in `ir.spec` and verified."""


@dataclass(slots=True, eq=False)
class Op:
    """One operation.

    Attributes
    ----------
    name : str
        Mnemonic.
    defs : tuple of Reg or None
        Registers written; None where a result is not wanted (predicate results only).
    uses : tuple of Reg, Imm or Pred
        Operands read, in the order of `ir.spec`; a memory operation's address comes first, then its data.
    guard : Pred or None
        Lanes that execute it; None = all.
    imm : int
        Byte offset of a memory operation or parameter, `Special` number, liveness vector of ``pp``/``bar.pp``.
    line : int
        PTX line.
    volatile : bool
        Memory access that must stay.
    verified : tuple
        Kept by `ir.spec.verify`: what it was when it was last found legal.
    simple : tuple
        Kept by `optimize.algebraic_simplification`: what it was when no rule was last found to hold for it.
    """

    name: str
    defs: tuple[Reg | None, ...] = ()
    uses: tuple[Use, ...] = ()
    guard: Pred | None = None
    imm: int = 0
    line: int = 0
    volatile: bool = False
    _read: tuple[Reg, ...] = field(default=(), init=False, repr=False)
    _read_uses: tuple[Use, ...] | None = field(default=None, init=False, repr=False)
    _read_guard: Pred | None = field(default=None, init=False, repr=False)
    _written: tuple[Reg, ...] = field(default=(), init=False, repr=False)
    _written_defs: tuple[Reg | None, ...] = field(default=(), init=False, repr=False)
    verified: tuple = field(default=(), init=False, repr=False)
    simple: tuple = field(default=(), init=False, repr=False)

    @property
    def dest(self) -> Reg:
        """The first result."""
        dest = self.defs[0]
        assert dest is not None
        return dest

    def written(self) -> tuple[Reg, ...]:
        """Registers written."""
        if self._written_defs is not self.defs:
            self._written_defs = self.defs
            self._written = self.defs  # pyright: ignore[reportAttributeAccessIssue]
            if None in self.defs:
                self._written = tuple([d for d in self.defs if d is not None])
        return self._written

    def read(self) -> tuple[Reg, ...]:
        """Registers read, the guard's included."""
        if self._read_uses is not self.uses or self._read_guard is not self.guard:
            self._read_uses, self._read_guard = self.uses, self.guard  # every analysis asks, few passes change them
            self._read = self._registers()
        return self._read

    def _registers(self) -> tuple[Reg, ...]:
        found = []
        for use in self.uses:
            if isinstance(use, Reg):
                found.append(use)
            elif isinstance(use, Pred) and use.reg is not None:
                found.append(use.reg)
        if self.guard is not None and self.guard.reg is not None:
            found.append(self.guard.reg)
        return tuple(found)

    def killed(self) -> tuple[Reg, ...]:
        """Registers whose former value is lost in every lane: none if guarded."""
        if self.guard is not None:
            return ()
        return self._written if self._written_defs is self.defs else self.written()


class Summary(NamedTuple):
    """What the call of a routine does, seen from its caller; computed by `analysis.calls`.

    Attributes
    ----------
    reads : frozenset of Reg
        Registers whose values at the call may be read.
    writes : frozenset of Reg
        Registers that may be written.
    kills : frozenset of Reg
        Those that are, in every lane.
    least, most : int
        Instructions from the routine's first to its ``bru``, both counted.
    depth : int
        SIMT stack entries it needs, that of the caller included.
    """

    reads: frozenset[Reg]
    writes: frozenset[Reg]
    kills: frozenset[Reg]
    least: int
    most: int
    depth: int

    def call(self, number: int, line: int) -> Call:
        """Return the call of the kernel's routine of that number."""
        return Call("call", tuple(sorted(self.writes)), tuple(sorted(self.reads)), None, number, line, summary=self)


@dataclass(slots=True, eq=False)
class Call(Op):
    """A ``call`` whose routine is known. `Op.imm` is the number of the routine in its kernel.

    Attributes
    ----------
    summary : Summary
    """

    summary: Summary = Summary(frozenset(), frozenset(), frozenset(), 0, 0, 1)

    def killed(self) -> tuple[Reg, ...]:
        """Registers whose former value is lost in every lane."""
        return tuple(self.summary.kills)


@dataclass(slots=True)
class Terminator:
    """How a block ends.

    Attributes
    ----------
    targets : tuple of str
        Labels: none = every lane exits, one = jump, two = taken and other.
    condition : Pred or None
        Of a branch.
    line : int
    """

    targets: tuple[str, ...] = ()
    condition: Pred | None = None
    line: int = 0


@dataclass(slots=True, eq=False)
class Block:
    """A basic block: operations, then a terminator. Barriers and guarded exits stand among the operations."""

    label: str
    ops: list[Op] = field(default_factory=list)
    end: Terminator = field(default_factory=Terminator)


@dataclass(frozen=True, eq=False)
class Routine:
    """Code that a kernel calls.

    Attributes
    ----------
    name : str
    body : Kernel
        Its blocks, the entry first, of stage ``machine``. It calls nothing, has no loop and no point, and only
        computes.
    """

    name: str
    body: Kernel

    @property
    def arguments(self) -> tuple[Reg, ...]:
        """Where it expects its arguments, word by word; as long as it has its ``enter``."""
        return tuple(self.body.blocks[0].ops[0].written())

    @property
    def results(self) -> tuple[Reg, ...]:
        """Where it leaves its results, word by word; as long as its ``bru`` reads them."""
        return tuple(next(block for block in self.body.blocks if not block.end.targets).ops[-1].read())


@dataclass(eq=False)
class Kernel:
    """One kernel.

    Attributes
    ----------
    name : str
    blocks : list of Block
        In layout order; the first is the entry.
    parameters : tuple of Parameter
    shared_bytes : int
    local_bytes : int
        Local memory of a thread.
    spill_bytes : int
        Bytes of it for values that found no register.
    constants : bytes
        The module's constant bank.
    global_bytes : int
    global_data : bytes
        The module's global variables: size, and what they hold at first (zeros beyond).
    symbols : tuple of Symbol
        Variables in the bank and among the global variables.
    relocations : tuple of Relocation
    bindings : tuple of Binding
    max_threads : int
    required_block : tuple of int or None
    barrier_threads : int
    source : str
    routines : list of Routine
        What it calls.
    flow : tuple or None
        Kept by `ir.cfg.graph`: the control-flow graph last asked for, and what it was made of.
    facts : tuple or None
        Kept by `ir.cfg.kept`: the code that was last analysed, and what was found.
    """

    name: str
    blocks: list[Block] = field(default_factory=list)
    parameters: tuple[Parameter, ...] = ()
    shared_bytes: int = 0
    local_bytes: int = 0
    spill_bytes: int = 0
    constants: bytes = b""
    symbols: tuple[Symbol, ...] = ()
    global_bytes: int = 0
    global_data: bytes = b""
    relocations: tuple[Relocation, ...] = ()
    bindings: tuple[Binding, ...] = ()
    max_threads: int = 0
    required_block: tuple[int, int, int] | None = None
    barrier_threads: int = 0
    source: str = "<ptx>"
    routines: list[Routine] = field(default_factory=list)
    flow: tuple[list, DiGraph] | None = field(default=None, init=False, repr=False)
    facts: tuple[tuple, dict[str, Any]] | None = field(default=None, init=False, repr=False)
    _next: dict[str, int] = field(default_factory=dict, repr=False)

    def fresh(self, kind: str) -> Reg:
        """Return a new virtual register."""
        index = self._next.get(kind, 0)
        self._next[kind] = index + 1
        return Reg(kind, index)

    def reserve(self, reg: Reg) -> Reg:
        """Keep `fresh` from returning `reg`; returns it."""
        self._next[reg.kind] = max(self._next.get(reg.kind, 0), reg.index + 1)
        return reg

    def fresh_label(self, base: str) -> str:
        """Return a label that no block has."""
        taken = {block.label for block in self.blocks}
        number = 0
        while (label := f"{base}.{number}") in taken:
            number += 1
        return label

    def ops(self) -> Iterator[Op]:
        """All operations, in layout order, those of routines left out."""
        for block in self.blocks:
            yield from block.ops

    def bodies(self) -> list[Kernel]:
        """Its own code, and that of each of its routines."""
        return [self, *(routine.body for routine in self.routines)]

    def allocated(self) -> int:
        """Vector registers that a thread needs, once they have places: one more than the highest, at least one."""
        return 1 + max((reg.index for body in self.bodies() for reg in body.registers() if reg.kind == "R"), default=0)

    def registers(self) -> set[Reg]:
        """All registers that operations name, those of routines left out."""
        found: set[Reg | None] = set()
        for block in self.blocks:
            for op in block.ops:
                found.update(op.defs, op.read())
        found.discard(None)
        return found  # pyright: ignore[reportReturnType]

    def replace_ops(self, replacement: Callable[[Op], list[Op] | None]) -> bool:
        """Put what `replacement` returns in the place of each operation; where it is None the operation stays.

        Returns
        -------
        bool
            Whether any did not.
        """
        changed = False
        for block in self.blocks:
            made = list(map(replacement, block.ops))
            if made.count(None) < len(made):
                changed = True
                block.ops = [op for old, new in zip(block.ops, made, strict=True)
                             for op in ((old,) if new is None else new)]
        return changed
