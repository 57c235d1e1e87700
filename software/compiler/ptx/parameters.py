"""Parameters of calls: the ``.param`` variables of an inlined program become registers (PTX ISA 5.1.6.2, 9.7.13.4).

The accesses to a variable, by callers and callees alike, fall into *pieces* that do not overlap:

1. A piece that is only ever accessed as a whole is one register.
2. Another piece (a structure stored by members and read by words) is one register for each of its 32-bit words. An
   access to part of a word extracts or inserts the field.

A part that is read but never written is zero; PTX leaves it open.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ..errors import CompileError
from .syntax import Address, Instruction, Label, Name, Number, Operand, Variable, Vector, left_out
from .types import DATA_TYPES

__all__ = ["parameters_to_registers"]

Statement = Instruction | Label
_BYTES = {type: bits // 8 for type, bits in DATA_TYPES.items()}


@dataclasses.dataclass
class _Piece:
    """Bytes ``start .. end`` of a variable, and the offset and size of each access that lies there."""

    start: int
    end: int
    accesses: set[tuple[int, int]]

    @property
    def whole(self) -> bool:
        """Return whether every access is to all of it (case 1)."""
        return len(self.accesses) == 1


def parameters_to_registers(statements: Sequence[Statement], sizes: Mapping[str, int], file: str
                            ) -> tuple[list[Statement], list[Variable]]:
    """Return statements without accesses to the ``.param`` variables, and the registers they need.

    Parameters
    ----------
    statements : sequence of Instruction or Label
    sizes : mapping of str to int
        Bytes of each variable by name; 0 where they are not known.
    file : str
        Name of the source, for messages.

    Raises
    ------
    CompileError
        If an access to a variable is not aligned, or beyond its end.
    """
    return _Parameters(statements, sizes, file).rewrite() if sizes else (list(statements), [])


class _Parameters:
    def __init__(self, statements: Sequence[Statement], sizes: Mapping[str, int], file: str):
        self._statements, self._sizes, self._file = statements, sizes, file
        self._registers: dict[str, str] = {}
        self._written: set[str] = set()
        self._cleared: list[Instruction] = []
        self._temporaries = 0
        self._pieces = self._find_pieces()

    def rewrite(self) -> tuple[list[Statement], list[Variable]]:
        result: list[Statement] = []
        for statement in self._statements:
            access = self._accessed(statement)
            if access is None:
                result.append(statement)
                continue
            assert isinstance(statement, Instruction)
            address, items, type = access
            for k, item in enumerate(items):
                if left_out(item, items):
                    continue
                result += self._access(statement, address.base or "", address.offset + k * _BYTES[type], item, type)
        declared = [Variable("reg", type, name, 0) for name, type in self._registers.items()]
        return [*self._cleared, *result], declared

    def _accessed(self, statement: Statement) -> tuple[Address, tuple[Operand, ...], str] | None:
        """Return address, data and type of an access to one of the variables; None for other statements."""
        if not isinstance(statement, Instruction) or statement.base not in ("ld", "st") \
                or "param" not in statement.modifiers or len(statement.operands) != 2:
            return None
        data, address = statement.operands if statement.base == "ld" else statement.operands[::-1]
        type = statement.modifiers[-1]
        if not isinstance(address, Address) or address.base is None or address.base not in self._sizes \
                or type not in _BYTES:
            return None
        items = data.items if isinstance(data, Vector) else (data,)
        size = self._sizes[address.base]
        if address.offset < 0 or size and address.offset + len(items) * _BYTES[type] > size:
            known = f" ({size} bytes)" if size else ""
            raise CompileError.at(statement, self._file, f"access beyond the parameter{known}")
        if address.offset % _BYTES[type]:
            raise CompileError.at(statement, self._file,
                                  f"parameter offset {address.offset} is not a multiple of {_BYTES[type]}")
        return address, items, type

    def _find_pieces(self) -> dict[str, list[_Piece]]:
        accesses: dict[str, set[tuple[int, int]]] = {}
        for statement in self._statements:
            if (found := self._accessed(statement)) is not None:
                address, items, type = found
                size = _BYTES[type]
                accesses.setdefault(address.base or "", set()).update(
                    (address.offset + k * size, size) for k in range(len(items)))
        pieces: dict[str, list[_Piece]] = {}
        for name, places in accesses.items():
            pieces[name] = []
            for offset, size in sorted(places):
                last = pieces[name][-1] if pieces[name] else None
                if last is None or offset >= last.end:
                    pieces[name].append(_Piece(offset, offset + size, {(offset, size)}))
                else:
                    last.end = max(last.end, offset + size)
                    last.accesses.add((offset, size))
        return pieces

    def _access(self, site: Instruction, name: str, offset: int, item: Operand, type: str) -> list[Instruction]:
        piece = next(p for p in self._pieces[name] if p.start <= offset < p.end)
        bits, stores = 8 * _BYTES[type], site.base == "st"
        letter = {"s": "s", "f": "f", "b": "b"}.get(type[0], "u")
        if piece.whole:
            own = self._register(f"{name}@{offset}", f"b{max(bits, 16)}")
            before = self._ready(site, own, stores)
            return [*before, self._move(site, *((own, item) if stores else (item, own)), letter, bits)]
        words = [self._register(f"{name}@word{offset // 4 + k}", "b32") for k in range(max(bits // 32, 1))]
        before = [x for word in words for x in self._ready(site, word, stores and bits >= 32)]
        if bits == 64:
            pair = Vector(tuple(words))
            return [*before, self._made(site, f"mov.{type}", *((pair, item) if stores else (item, pair)))]
        word, = words
        if bits == 32:
            return [*before, self._move(site, *((word, item) if stores else (item, word)), letter, 32)]
        field = (Number("", 8 * (offset % 4)), Number("", bits))
        self._temporaries += 1
        part = self._register(f"@part{self._temporaries}", "b32")
        if stores:
            return [*before, self._move(site, part, item, "u", bits),
                    self._made(site, "bfi.b32", word, part, word, *field)]
        return [*before, self._made(site, f"bfe.{'s' if letter == 's' else 'u'}32", part, word, *field),
                self._move(site, item, part, letter, bits)]

    def _register(self, name: str, type: str) -> Name:
        self._registers[name] = type
        return Name(name)

    def _ready(self, site: Instruction, register: Name, overwrites: bool) -> list[Instruction]:
        """Return statements that define a register before a store of part of it, or at the start."""
        if register.text in self._written:
            return []
        self._written.add(register.text)
        if overwrites and site.guard is None:
            return []
        bits = self._registers[register.text][1:]
        clear = dataclasses.replace(self._made(site, f"mov.b{bits}", register, Number("0", 0)), guard=None)
        if site.base == "st":
            return [clear]
        self._cleared.append(clear)
        return []

    def _move(self, site: Instruction, d: Operand, a: Operand, letter: str, bits: int) -> Instruction:
        if letter == "f":
            return self._made(site, f"mov.f{bits}", d, a)
        letter = "u" if letter == "b" and bits < 32 else letter
        return self._made(site, f"cvt.{letter}{bits}.{letter}{bits}", d, a)

    @staticmethod
    def _made(site: Instruction, opcode: str, *operands: Operand) -> Instruction:
        return dataclasses.replace(site, opcode=opcode, operands=operands)
