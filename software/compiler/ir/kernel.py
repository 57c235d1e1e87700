"""The kernel intermediate representation (IR): machine instructions over virtual registers, in a CFG.

An operation carries the mnemonic of `hw.arch.isa.opcodes` (without the ``.i`` of immediate forms) or one of the 64-bit
names of `ir.spec`. `ir.spec` also declares its operands. The form is not SSA: a PTX register is one virtual register,
with as many definitions as the PTX gives it.

Register kinds
--------------
``r``  virtual 32-bit vector register, ``w``  virtual 64-bit register (until legalisation), ``p``  virtual predicate,
``u``  virtual uniform register, ``R``  vector register, ``P``  predicate register, ``U``  uniform register.

Routines
--------
Called code is a `Routine` with blocks of its own: edges from its return to the code behind each call would make cycles
that no warp runs. In its kernel a call is one operation. Until registers are allocated the operation is ``routine``,
which takes arguments and gives results like any other. From then on it is ``call``, with the effects of the routine
(`Summary`). A routine begins with ``enter``, which defines its arguments (removed once the kernel is allocated). It
ends with ``bru`` in the last block, the only one without successors.
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
    """Objects of a class of which equal ones are one object, so that sets and dictionaries compare them by address.

    The process keeps as many as its largest kernel has.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change: {name} is {getattr(self, name)}")


class Reg(_Interned):
    """A register: kind (see the module) and number. Registers are ordered by kind, then by number.

    The `code` of an operand is a letter for the verifier (`ir.spec`): here the kind.
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
            found = cls._known.setdefault((kind, index), found)  # two threads may race here
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
        """``i`` for 32 bits or ``l`` for 64; ``?`` for values that are no constant."""
        return "i" if 0 <= self.value < 1 << 32 else "l" if 0 <= self.value < 1 << 64 else "?"

    def __str__(self) -> str:
        return str(self.value)


class Pred(_Interned):
    """A predicate as an operand: register (None = always true) and whether it is negated.

    The `code` is ``q`` or ``Q`` for a virtual or physical predicate, ``t`` without a register, else ``?``.
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
        """Return the opposite predicate."""
        return Pred(self.reg, not self.negated)


TRUE = Pred(None)
FALSE = Pred(None, True)
Use = Any
"""An operand: a `Reg`, `Imm` or `Pred`; `ir.spec` declares which one is legal in each place, and verifies it."""


@dataclass(slots=True, eq=False)
class Op:
    """One operation.

    Attributes
    ----------
    name : str
        Mnemonic of the operation.
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
        Cache of `ir.spec.verify`: the contents that were last found legal.
    simple : tuple
        Cache of `optimize.algebraic_simplification`: the contents for which no rule was last found to hold.
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
    """The effects of a routine's call, as seen by its caller; `analysis.calls` computes them.

    Attributes
    ----------
    reads : frozenset of Reg
        Registers whose values at the call may be read.
    writes : frozenset of Reg
        Registers that may be written.
    kills : frozenset of Reg
        Registers that are written in every lane.
    least, most : int
        Instructions from the routine's first to its ``bru``, both counted.
    depth : int
        SIMT stack entries it needs, with the entry of the caller.
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
    """The end of a block.

    Attributes
    ----------
    targets : tuple of str
        Labels of successors: none if every lane exits, one for a jump, two for a branch (taken and other).
    condition : Pred or None
        Condition of a branch; None for other ends.
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
        """Registers that hold its arguments, word by word; valid while it has its ``enter``."""
        return tuple(self.body.blocks[0].ops[0].written())

    @property
    def results(self) -> tuple[Reg, ...]:
        """Registers that hold its results, word by word; valid while its ``bru`` reads them."""
        return tuple(next(block for block in self.body.blocks if not block.end.targets).ops[-1].read())


@dataclass(eq=False)
class Kernel:
    """One kernel.

    Attributes
    ----------
    name : str
    blocks : list of Block
        Blocks in layout order; the first is the entry.
    parameters : tuple of Parameter
    shared_bytes : int
    local_bytes : int
        Local memory of a thread.
    spill_bytes : int
        Bytes of local memory for values that found no register.
    constants : bytes
        The module's constant bank.
    global_bytes : int
    global_data : bytes
        Size of the module's global variables, and their initial contents (zeros beyond).
    symbols : tuple of Symbol
        Variables in the bank and among the global variables.
    relocations : tuple of Relocation
    bindings : tuple of Binding
    max_threads : int
    required_block : tuple of int or None
    barrier_threads : int
    source : str
    routines : list of Routine
        Routines that it calls.
    flow : tuple or None
        Cache of `ir.cfg.graph`: the last control-flow graph, and the blocks it was made of.
    facts : tuple or None
        Cache of `ir.cfg.kept`: the code that was last analysed, and the results.
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
        """Keep `fresh` from returning `reg`; return `reg`."""
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
        """All operations, in layout order, without those of routines."""
        for block in self.blocks:
            yield from block.ops

    def bodies(self) -> list[Kernel]:
        """Its own code, and that of each of its routines."""
        return [self, *(routine.body for routine in self.routines)]

    def allocated(self) -> int:
        """Vector registers that a thread needs after allocation: the highest number plus one, at least one."""
        return 1 + max((reg.index for body in self.bodies() for reg in body.registers() if reg.kind == "R"), default=0)

    def registers(self) -> set[Reg]:
        """All registers that operations name, without those of routines."""
        found: set[Reg | None] = set()
        for block in self.blocks:
            for op in block.ops:
                found.update(op.defs, op.read())
        found.discard(None)
        return found  # pyright: ignore[reportReturnType]

    def replace_ops(self, replacement: Callable[[Op], list[Op] | None]) -> bool:
        """Replace each operation by the result of `replacement`; where it is None the operation stays.

        Returns
        -------
        bool
            Whether any operation was replaced.
        """
        changed = False
        for block in self.blocks:
            made = list(map(replacement, block.ops))
            if made.count(None) < len(made):
                changed = True
                block.ops = [op for old, new in zip(block.ops, made, strict=True)
                             for op in ((old,) if new is None else new)]
        return changed
