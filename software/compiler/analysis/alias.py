"""The targets of memory operations: symbolic addresses, and proofs that two of them differ.

An address is a value and a constant offset. Values are numbered by their computation: two computations of the same
function of the same values have one number. Some results are opaque: those of a load, an atomic, an exchange between
lanes, or a register with several reaching definitions. Each place of these has a value of its own. Its number means the
same only until the place is executed again (`Addresses.origins`).

Two accesses of a thread cannot touch the same byte if

1. their spaces differ (global, shared, local, constant), or
2. their addresses are one value, not recomputed in between, and their offsets keep them apart, or
3. both are constant addresses that keep them apart, or
4. both are in global memory, computed from different pointer parameters, and the caller says that parameters do not
   overlap (``__restrict__``; PTX does not tell, so it is never assumed silently).
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import NamedTuple

from caesura.hw.arch.isa.opcodes import BY_NAME
from caesura.hw.arch.isa.operations import VOLATILE_SPECIALS, Space

from ..ir.kernel import Imm, Kernel, Op, Reg
from ..ir.spec import is_atomic, is_convergent, is_memory, is_pure
from ..ir.variables import eviction_words
from .definitions import Place
from .reaching import ENTRY, UseDefChains

__all__ = ["MemoryAccess", "Addresses"]

_MASK = 0xFFFF_FFFF
_ADDITIVE = {"mov": (0,), "iadd": (0, 1), "isub": (0,), "irsub": (1,), "imad.lo": (2,), "sel": (0, 1)}
"""Operands from which the result inherits the object that it points into."""


class MemoryAccess(NamedTuple):
    """A memory operation.

    Attributes
    ----------
    site : Place
    kind : str
        ``"load"``, ``"store"`` or ``"atomic"``.
    space : Space
    size : int
        Bytes that each thread accesses.
    value : int
        Number of the address's value; 0 if the address is the offset alone.
    offset : int
        Constant part of the address, -2**31 to 2**31 - 1.
    pointers : frozenset of int
        Offsets of the pointer parameters that a global address is computed from; empty: not known.
    """

    site: Place
    kind: str
    space: Space
    size: int
    value: int
    offset: int
    pointers: frozenset[int]


class Addresses:
    """The memory accesses of a kernel of stage ``machine``.

    Accesses that look for an order to leave are not among them: nothing else leads to their memory
    (`ir.variables.Binding`).

    Attributes
    ----------
    accesses : list of MemoryAccess
        Accesses in layout order.
    origins : dict of int to frozenset of Place
        Places whose execution may change the meaning of a value's number.
    """

    def __init__(self, kernel: Kernel, chains: UseDefChains):
        self._chains = chains
        self._ops = {Place(block.label, k): op for block in kernel.blocks for k, op in enumerate(block.ops)}
        words = eviction_words(kernel.bindings)
        own = {words.offset, words.offset + 4} if words else set()
        self._pointer_offsets = {p.offset for p in kernel.parameters if p.pointer} | own
        self._numbers: dict[tuple, int] = {}
        self._values: dict[tuple[Place, Reg], tuple[int, int]] = {}
        self.origins: dict[int, frozenset[Place]] = {0: frozenset()}
        self._pointers, self._unknown = self._points_into()
        found = [self._access(site, op) for site, op in self._ops.items() if is_memory(op)]
        self.accesses = [access for access in found if not (access.pointers and access.pointers <= own)]

    def _access(self, site: Place, op: Op) -> MemoryAccess:
        row = BY_NAME[op.name]
        assert row.space is not None and row.size is not None
        kind = "atomic" if is_atomic(op) else "store" if row.store else "load"
        base, pointers = op.uses[0], frozenset()
        value, offset = self._operand(site, base)
        if row.space is Space.GLOBAL and isinstance(base, Reg):
            found = self._chains.definitions[site, base]
            if not any(definition in self._unknown for definition in found):
                pointers = frozenset().union(*(self._pointers.get(definition, ()) for definition in found))
        return MemoryAccess(site, kind, row.space, row.size.bytes, value, _signed(offset + op.imm), pointers)

    # Values

    def _operand(self, site: Place, use) -> tuple[int, int]:
        """Return the number and the constant part of an operand of the operation at `site`."""
        if isinstance(use, Imm):
            return 0, use.value
        place = site, use
        stack = [place]
        while stack:
            top = stack[-1]
            waiting = [] if top in self._values else [
                inner for inner in self._inputs(*top) if inner not in self._values]
            if waiting:
                stack += waiting
            else:
                stack.pop()
                if top not in self._values:
                    self._values[top] = self._evaluate(*top)
        return self._values[place]

    def _inputs(self, site: Place, reg: Reg) -> list[tuple[Place, Reg]]:
        definition = self._chains.only(site, reg)
        if definition is None or not self._transparent(self._ops[definition]):
            return []
        return [(definition, use) for use in self._ops[definition].uses if isinstance(use, Reg)]

    def _transparent(self, op: Op) -> bool:
        return (is_pure(op) and not is_memory(op) and not is_convergent(op) and op.guard is None
                and len(op.defs) == 1 and all(isinstance(use, Reg | Imm) for use in op.uses)
                and not (op.name.endswith("s2r") and op.imm in VOLATILE_SPECIALS))

    def _evaluate(self, site: Place, reg: Reg) -> tuple[int, int]:
        definition = self._chains.only(site, reg)
        if definition is None:
            found = self._chains.definitions[site, reg]
            if found == (ENTRY,):
                return 0, 0
            if is_memory(self._ops[site]):
                return self._number(("joined", reg, found), found), 0
            return self._number(("joined", reg, site), (site,)), 0  # its value when `site` was last executed
        op = self._ops[definition]
        if not self._transparent(op):
            return self._number(("made", definition, reg), (definition,)), 0
        parts = [(0, use.value) if isinstance(use, Imm) else self._values[definition, use] for use in op.uses]
        name = op.name.removeprefix("u")
        if name == "mov":
            return parts[0]
        if name == "iadd":
            return self._added(parts)
        if name == "isub" and not parts[1][0]:
            return parts[0][0], parts[0][1] - parts[1][1] & _MASK
        if name in ("shl", "imul.lo") and not parts[1][0]:
            (value, offset), factor = parts[0], 1 << min(parts[1][1], 32) if name == "shl" else parts[1][1]
            scaled = self._number(("scaled", value, factor & _MASK), self.origins[value]) if value else 0
            return scaled, offset * factor & _MASK
        if name == "imad.lo":
            product = self._number(("product", *sorted(parts[:2])), self._origins(parts[:2]))
            return self._added([(product, 0), parts[2]])
        return self._number((name, op.imm, *parts), self._origins(parts)), 0

    def _added(self, parts: list[tuple[int, int]]) -> tuple[int, int]:
        offset = sum(part for _, part in parts) & _MASK
        values = sorted(value for value, _ in parts if value)
        if len(values) < 2:
            return values[0] if values else 0, offset
        return self._number(("sum", *values), self._origins(parts)), offset

    def _origins(self, parts) -> frozenset[Place]:
        return frozenset().union(*(self.origins[value] for value, _ in parts))

    def _number(self, key: tuple, origins) -> int:
        number = self._numbers.setdefault(key, len(self._numbers) + 1)
        self.origins[number] = frozenset(origins)
        return number

    # Pointers

    def _points_into(self) -> tuple[dict[Place, frozenset[int]], set[Place]]:
        """Return the pointer parameters each definition is computed from, and definitions with other pointers.

        A sum with a pointer points into the same object. A result that is no sum, copy or choice may point anywhere.
        """
        carried = {site: [self._chains.definitions[site, op.uses[k]] if isinstance(op.uses[k], Reg) else ()
                          for k in _ADDITIVE.get(op.name.removeprefix("u"), ())]
                   for site, op in self._ops.items()}
        pointers = {site: frozenset((op.imm,)) for site, op in self._ops.items()
                    if op.name in ("ldp", "uldp") and op.imm in self._pointer_offsets}
        pending = dict.fromkeys(pointers)
        while pending:
            site = next(iter(pending))
            del pending[site]
            for user, _ in self._chains.uses.get(site, ()):
                reached = [definition for operand in carried.get(user, ()) for definition in operand]
                found = frozenset().union(*(pointers.get(definition, ()) for definition in reached))
                if site in reached and found != pointers.get(user, frozenset()):
                    pointers[user] = found
                    pending[user] = None
        unknown = {site for site in self._ops if not carried[site] and site not in pointers}
        pending = dict.fromkeys(unknown)
        while pending:
            site = next(iter(pending))
            del pending[site]
            for user, _ in self._chains.uses.get(site, ()):
                if user not in unknown and user in carried and self._may_lose(user, carried[user], pointers, unknown):
                    unknown.add(user)
                    pending[user] = None
        return pointers, unknown

    def _may_lose(self, user: Place, operands, pointers, unknown) -> bool:
        """Return whether the result may be an unknown pointer; a sum is one only if no operand is a known pointer."""
        lost = [any(site in unknown for site in operand) for operand in operands]
        if self._ops[user].name.removeprefix("u") == "iadd":
            known = [any(site in pointers for site in operand) for operand in operands]
            return any(bad and (good or not any(known)) for bad, good in zip(lost, known, strict=True))
        return any(lost)

    # Overlap

    def conflicts(self, restrict: bool) -> Iterator[tuple[MemoryAccess, int, int]]:
        """Yield each store with the loads that it may overwrite in the same thread, as bits in the order of the loads.

        Parameters
        ----------
        restrict : bool
            Whether pointer parameters do not overlap (case 4).

        Yields
        ------
        store : MemoryAccess
        fresh, stale : int
            Loads it may overwrite: while the values of their addresses mean the same as at the store, and afterwards.
        """
        loads = [access for access in self.accesses if access.kind == "load"]
        groups: dict[tuple[Space, int], list[tuple[int, int, int]]] = {}
        by_pointers: dict[tuple[Space, frozenset[int]], int] = {}
        for k, load in enumerate(loads):
            groups.setdefault((load.space, load.value), []).append((load.offset, load.size, 1 << k))
            place = load.space, load.pointers
            by_pointers[place] = by_pointers.get(place, 0) | 1 << k
        for group in groups.values():
            group.sort()
        members = {key: sum(bit for _, _, bit in group) for key, group in groups.items()}
        for store in self.accesses:
            if store.kind != "store":
                continue
            stale = 0
            for (space, pointers), bits in by_pointers.items():
                apart = restrict and pointers and store.pointers and not pointers & store.pointers
                if space is store.space and not apart:
                    stale |= bits
            key = store.space, store.value
            kept = _overlapping(groups.get(key, []), store)
            fresh = stale & ~(members.get(key, 0) & ~kept)
            yield store, fresh, stale if store.value else fresh


def _overlapping(group: list[tuple[int, int, int]], store: MemoryAccess) -> int:
    first = bisect.bisect_left(group, (store.offset - 15, 0, 0))
    last = bisect.bisect_left(group, (store.offset + store.size, 0, 0))
    return sum(bit for offset, size, bit in group[first:last] if offset + size > store.offset)


def _signed(word: int) -> int:
    word &= _MASK
    return word - (word >> 31 << 32)
