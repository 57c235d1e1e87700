"""The rules of legal IR, declared as data, and the verifier that runs between passes.

There are three stages, each a subset of the one before:

* ``wide``, after lowering: 64-bit registers and operations, constants anywhere (but for register pairs of f64
  operations).
* ``narrow``, after legalisation: 32-bit registers and predicates only, constants anywhere. After `uniform.scalarize` it
  also has uniform registers, physical from the start.
* ``machine``, after allocation: physical registers, constants only where an encoding has them.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

from caesura.hw.arch.geometry import MAX_REGISTERS, UNIFORMS
from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.opcodes import BY_NAME, OPCODES, PT, VOLATILE_SPECIALS, Opcode, Unit
from caesura.hw.arch.isa.operations import Space

from .kernel import Imm, Kernel, Op, Reg

__all__ = ["Signature", "SIGNATURES", "GROUPS", "groups", "UNIFORM_PLACES", "WIDE", "STAGES", "MEMORY", "EFFECTS",
           "CONVERGENT", "machine_opcode", "is_pure", "is_memory", "is_atomic", "writes_memory", "written_spaces",
           "is_convergent", "is_constant", "offset_fits", "verify", "IRError"]

STAGES = ("wide", "narrow", "machine")


class IRError(AssertionError):
    """The IR is not legal: a bug in a pass, never the user's mistake."""


class Signature(NamedTuple):
    """Kinds of an operation's results and operands, one letter each: ``r``, ``w``, ``p``, ``u``."""

    defs: str
    uses: str


def _signature(op: Opcode) -> Signature:
    defs = uses = ""
    for operand in op.operands:
        if operand == "d":
            defs += "r" * op.data_registers
        elif operand == "pd":
            defs += "p"
        elif operand == "ud":
            defs += "u"
        elif operand in ("ua", "ub", "uc") or operand == "mem" and "ud" in op.operands:
            uses += "u"
        elif operand in ("a", "b", "c", "mem"):
            uses += "rr" if operand in op.pairs else "r"
        elif operand in ("pa", "pb"):
            uses += "p"
        elif operand == "data":
            uses += "r" * op.data_registers
    return Signature(defs, uses)


SIGNATURES: dict[str, Signature] = {
    op.name: _signature(op) for op in OPCODES if not op.name.endswith(".i") and op.name not in ("bra", "exit")}
"""Signature of every machine operation that can stand in a block (branches are terminators)."""
SIGNATURES["exit"] = Signature("", "")
SIGNATURES |= {name: Signature("r", "rr") for name in BY_NAME if name.startswith("shfl.") and name.endswith(".i")}


def _groups(op: Opcode) -> tuple[tuple[bool, int, int], ...]:
    found, place = [], 0
    if "d" in op.operands and op.data_registers > 1:
        found.append((True, 0, op.data_registers))
    for operand in op.operands:
        width = op.data_registers if operand == "data" else 2 if operand in op.pairs else 1
        if operand in ("a", "b", "c", "mem", "pa", "pb", "imm", "data"):
            if width > 1:
                found.append((False, place, width))
            place += width
    return tuple(found)


GROUPS: dict[str, tuple[tuple[bool, int, int], ...]] = {
    op.name: found for op in OPCODES if (found := _groups(op))}
"""Results and operands of a machine operation that need consecutive, aligned registers.

A group says whether it is of results, the index of its first register in `Op.defs` or `Op.uses`, and its number of
registers. That is 2 for a 64-bit value, low word first, or 4.
"""


def groups(op: Op) -> tuple[tuple[bool, int, int], ...]:
    """Return the groups of `op`, as in `GROUPS`; the registers of a routine are allocated in aligned pairs."""
    if op.name == "call":
        vectors = sum(d is not None and d.kind in "rR" for d in op.defs)
        return tuple((True, place, 2) for place in range(0, vectors - 1, 2))
    return GROUPS.get(op.name, ())


UNIFORM_PLACES: dict[str, int] = {
    op.name: 0 if "mem" in op.operands else [x for x in op.operands if x not in ("d", "pd")].index("b")
    for op in OPCODES if "ud" not in op.operands and ("mem" in op.operands or (
        op.unit is Unit.ALU and op.format is Format.R and "b" in op.operands))}
"""Index in `Op.uses` of the operand of a vector operation that can also be a uniform register.

It is operand b, or the base of an address.
"""

WIDE: dict[str, Signature] = {
    **{f"{name}.64": Signature("w", "ww")
       for name in ("add", "sub", "mul", "mulhi.s", "mulhi.u", "and", "or", "xor", "min.s", "min.u", "max.s", "max.u")},
    **{f"{name}.64": Signature("w", "w") for name in ("mov", "not", "neg", "abs")},
    **{f"{name}.64": Signature("w", "wr") for name in ("shl", "shr.u", "shr.s")},
    **{f"setp.{test}.64": Signature("p", "ww")
       for test in ("eq", "ne", *(f"{t}.{s}" for t in ("lt", "le", "gt", "ge") for s in "su"))},
    "sel.64": Signature("w", "wwp"),
    "mulwide.s.64": Signature("w", "rr"),   # w = signed r * r, all 64 bits
    "mulwide.u.64": Signature("w", "rr"),
    "pack.64": Signature("w", "rr"),        # w = {low, high}
    "sext.64": Signature("w", "r"),
    "lo.64": Signature("r", "w"),
    "hi.64": Signature("r", "w"),
}
"""64-bit operations, gone after legalisation."""

_IMPURE = {"exit", "membar", "trap", "nop", "pp", "pp.div", "enter", "call", "bru", "rejoin", "unwatch"}
ROUTINE = ("routine", "enter", "call", "bru")
"""Operations with as many operands as their routine has (`ir.kernel`)."""


def _named(*beginnings: str) -> frozenset[str]:
    return frozenset(name for name in (*SIGNATURES, *WIDE) if name.startswith(beginnings))


MEMORY = _named("ld.", "uld.", "st.", "atom.", "red.")
_ATOMIC = _named("atom.", "red.")
EFFECTS = _named("st.", "bar.", "atom.", "red.", "ld.watch.") | _IMPURE
CONVERGENT = _named("shfl.") | {"ballot", "match"}


def is_memory(op: Op) -> bool:
    """Whether `op` accesses memory; its first operand is then the address."""
    return op.name in MEMORY


def is_atomic(op: Op) -> bool:
    """Return whether `op` reads, changes and writes memory in one step."""
    return op.name in _ATOMIC


def writes_memory(op: Op) -> bool:
    """Whether `op` is a store or an atomic."""
    return is_memory(op) and (BY_NAME[op.name].store or is_atomic(op))


def written_spaces(kernel: Kernel) -> set[Space]:
    """Return the spaces that `kernel` writes."""
    return {space for op in kernel.ops() if writes_memory(op) and (space := BY_NAME[op.name].space) is not None}


def offset_fits(op: Op, offset: int) -> bool:
    """Whether the encoding of memory operation `op` has room for a byte offset, given modulo 2**32."""
    return not is_atomic(op) or offset + (1 << 23) & 0xFFFF_FFFF < 1 << 24


def is_pure(op: Op) -> bool:
    """Return whether `op` only computes results (loads do, volatile or watching ones do not)."""
    return op.name not in EFFECTS and not op.volatile


def is_convergent(op: Op) -> bool:
    """Return whether the result depends on which lanes execute `op`.

    Such an operation may not move to another block, nor execute under another guard, nor replace another operation with
    the same operands.
    """
    return op.name in CONVERGENT


def is_constant(op: Op) -> bool:
    """Return whether `op` reads no register and gives a thread the same result wherever it executes.

    It is a move of a constant, of a parameter or of a special register that does not change.
    """
    if op.name not in _CONSTANT or op.guard is not None or len(op.defs) != 1:
        return False
    if op.name in ("s2r", "us2r"):
        return op.imm not in VOLATILE_SPECIALS
    return op.name in ("ldp", "uldp") or isinstance(op.uses[0], Imm)


_CONSTANT = frozenset(("s2r", "us2r", "ldp", "uldp", "mov", "umov"))


def machine_opcode(op: Op) -> Opcode | None:
    """Return the row of the instruction table that encodes `op` with its operands; None if there is none."""
    if op.name in MEMORY:
        base = op.uses[0]
        if not offset_fits(op, op.imm + (base.value if isinstance(base, Imm) else 0)):
            return None
    return _row(op.name, *map(type, op.uses))


@functools.lru_cache(1 << 14)
def _row(name: str, *kinds: type) -> Opcode | None:
    """Return the row of operations of a name with operands of these kinds, None if there is none."""
    if name in MEMORY:
        return BY_NAME.get(name) if Imm not in kinds[1:] else None
    if Imm not in kinds:
        return BY_NAME.get(name)
    constants = [k for k, kind in enumerate(kinds) if kind is Imm]
    row = BY_NAME.get(name if name.endswith(".i") else name + ".i")
    if row is None:
        return None
    places = [name for name in row.operands if name not in ("d", "pd", "ud")]
    return row if constants == [places.index("imm")] and len(places) == len(kinds) else None


def verify(kernel: Kernel, stage: str) -> None:
    """Check that `kernel` is legal at `stage`.

    It skips operations that have not changed since they were last found legal at the same stage.

    Raises
    ------
    IRError
        The message has the illegal operation.
    """
    labels = {block.label for block in kernel.blocks}
    if len(labels) != len(kernel.blocks) or not labels:
        raise IRError(f"{kernel.name}: no blocks, or two blocks with one label")
    for block in kernel.blocks:
        for op in block.ops:
            facts = stage, op.name, op.defs, op.uses, op.guard, op.imm  # all that `_problem` looks at
            if op.verified == facts:
                continue
            problem = _problem(op, stage)
            if problem:
                raise IRError(f"{kernel.name}, block {block.label}, line {op.line}: {problem} in {op}")
            op.verified = facts
        unknown = set(block.end.targets) - labels
        if unknown or len(block.end.targets) > 2 or (len(block.end.targets) == 2) != (block.end.condition is not None):
            raise IRError(f"{kernel.name}, block {block.label}: bad terminator {block.end}")


def _problem(op: Op, stage: str) -> str:
    if op.name in ROUTINE:
        return _problem_of_call(op, stage)
    guard = "" if op.guard is None else getattr(op.guard, "code", "?")
    problem = _problem_of_kinds(op.name, stage, guard, len(op.defs), _codes(op.defs + op.uses))
    if problem or stage != "machine":
        return problem
    if is_atomic(op) and machine_opcode(op) is None:
        return _NO_ENCODING
    if _EXISTING.issuperset(op.written()) and _EXISTING.issuperset(op.read()):
        return ""
    return f"no register {next(reg for reg in (*op.written(), *op.read()) if reg not in _EXISTING)}"


def _problem_of_call(op: Op, stage: str) -> str:
    if op.guard is not None:
        return "guard on an unguarded instruction"
    if op.name == "routine" and stage == "machine":
        return "no registers are given to the arguments"
    legal = {"wide": "rwp", "narrow": "ruU", "machine": "RPU"}[stage]
    for value in (*op.defs, *op.uses):
        constant = isinstance(value, Imm) and op.name == "routine" and value not in op.defs
        if not (constant or isinstance(value, Reg) and value.kind in legal):
            return f"operand {value} is not one of {legal!r}"
    return ""


def _codes(values: tuple[Any, ...]) -> str:
    """Return the codes of operands (`ir.kernel`), ``_`` for none, ``?`` for values that are never legal."""
    try:
        return "".join(map(_CODE, values))
    except AttributeError:
        return "".join(["_" if value is None else getattr(value, "code", "?") for value in values])


_CODE = operator.attrgetter("code")


@functools.lru_cache(1 << 14)
def _problem_of_kinds(name: str, stage: str, guard: str, results: int, codes: str) -> str:
    """Return the error of an operation with results and operands of these kinds (`_codes`), wherever it stands."""
    defs, uses = codes[:results], codes[results:]
    signature = SIGNATURES.get(name) or (WIDE.get(name) if stage == "wide" else None)
    if signature is None:
        return "unknown operation"
    if guard and guard not in "tqQ":
        return "guard is no predicate"
    if guard and name in BY_NAME and not BY_NAME[name].is_guarded:
        return "guard on an unguarded instruction"
    if _results(name, defs, stage) != signature.defs:
        return f"results are not {signature.defs!r}"
    if _operands(name, uses, signature.uses, stage) != signature.uses:
        return f"operands are not {signature.uses!r}"
    if stage == "machine" and _row(name, *(Imm if code in "il" else Reg for code in uses)) is None:
        return _NO_ENCODING
    return ""


_NO_ENCODING = "no encoding with these constants"


def _results(name: str, codes: str, stage: str) -> str:
    """Return the kinds of results in the letters of `Signature`, with ``?`` for illegal ones."""
    found = ""
    for code in codes:
        if code == "_":
            found += "p"
        elif code in "uU":
            found += "u" if stage == "narrow" or stage == "machine" and code == "U" else "?"
        else:
            found += _register(name, code, stage)
    return found


def _operands(name: str, codes: str, expected: str, stage: str) -> str:
    """Return the kinds of operands in the letters of `Signature`, with ``?`` for illegal ones."""
    found = ""
    for k, code in enumerate(codes):
        wanted = expected[len(found):len(found) + 1]
        if code in "tqQ":
            found += "p" if code == "t" or code == ("Q" if stage == "machine" else "q") else "?"
        elif code in "il":
            found += wanted if wanted == "w" or code == "i" and wanted and wanted in "ru" else "?"
        elif code in "uU":
            legal = stage == "narrow" or stage == "machine" and code == "U"
            vector = legal and wanted == "r" and UNIFORM_PLACES.get(name) == k
            found += "r" if vector else "u" if legal else "?"
        elif k == 0 and code == "w" and stage == "wide" and name in SIGNATURES and name in MEMORY:
            found += "r"  # a wide address stands for its low half
        else:
            found += _register(name, code, stage)
    return found


def _register(name: str, code: str, stage: str) -> str:
    """Return the letters of a register that is no uniform one."""
    if stage == "machine":
        return code.lower() if code in "RP" else "?"
    if code == "w":  # in a machine operation, it stands for two words
        return "?" if stage != "wide" else "rr" if name in SIGNATURES else "w"
    return code if code in "rp" else "?"


_EXISTING = frozenset(Reg(kind, index) for kind, count in (("R", MAX_REGISTERS), ("P", PT), ("U", UNIFORMS))
                      for index in range(count))
