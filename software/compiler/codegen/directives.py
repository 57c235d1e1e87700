"""Directives of the assembly language as text, for `assemble` and `disassemble`.

::

    .registers 5             // optional: counted from the code
    .predicates 1            // optional: counted
    .shared 0                // bytes of shared memory
    .local 0                 // bytes of local memory of a thread
    .routinelocal 0          // bytes of it that preemption routines use, behind those
    .const 0000803f00000040  // bytes that are added to the constant bank
    .symbol table f32 0 8    // a variable in it: type, offset, bytes; "global" behind it: a global variable
    .globals 64              // bytes of the module's global variables
    .global 0000803f         // bytes that are added to what they hold at first
    .reloc global 8 8 16 0   // an address there: space, offset, bytes of it, what is added, what it is shifted by
    .bind texture tex 12     // words that the driver passes: kind, name (- for none), offset among the parameters
    .stack 2                 // optional: computed from the code
    .maxthreads 256
    .reqblock 256, 1, 1
    .param out u64 0 8 pointer   // "texture" behind it: a texture object
    .source "scale.ptx"
    .line 12                 // source line of what follows
    .origin "norms.cu" 9 5 - 0   // what lines were compiled from: file, line, column, function that was inlined (- for
    .origin "sum.cuh" 4 9 add 1  // none), number of the origin where it was (0 for none); they count from 1
    .loc 2                   // origin of what follows, 0 for none
    .point loop 4 3 2 9      // why the pp that follows is there: rule, header (- for none), candidates, live, most live
    .routines                // preemption routines follow: a trap vector for each word above, and the rest of them
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..image.kernel_image import KernelImage, PreemptionPoint
from ..image.origin_table import OriginRow
from ..image.validate import RANGES
from ..ir.spaces import MAX_CONSTANT_BYTES, MAX_GLOBAL_BYTES
from ..ir.variables import EVICTION, LAUNCH, Binding, Parameter, Relocation, Symbol
from ..source import is_line
from .syntax import parse_number

__all__ = ["Draft", "read_directive", "show_directives", "show_point"]

_NUMBERS = {".registers": "registers", ".predicates": "predicates", ".shared": "shared_bytes",
            ".local": "local_bytes", ".spilled": "spill_bytes", ".routinelocal": "routine_bytes",
            ".stack": "stack_depth", ".maxthreads": "max_threads", ".barrierthreads": "barrier_threads",
            ".globals": "global_bytes"}
_BYTES = {".const": ("constants", MAX_CONSTANT_BYTES, "a constant bank has"),
          ".global": ("global_data", MAX_GLOBAL_BYTES, "the global variables have")}
_BYTES_A_LINE = 32
_KNOWN_OF_PARAMETERS = ([], ["pointer"], ["texture"], ["pointer", "texture"])


@dataclass
class Draft:
    """A kernel while it is read.

    Attributes
    ----------
    name : str
    line : int
        Line of ``.kernel``.
    facts : dict
        Fields of `KernelImage` that directives gave.
    labels : dict of str to int
        Index of the statement behind each label.
    statements : list of (int, str)
        Line and text of each instruction.
    lines : list of int
        Source line of each statement.
    source_line, origin : int
        Source line and origin of the statements that follow.
    origins : list of OriginRow
    origin_numbers : list of int
        Number of the origin of each statement.
    own : int or None
        Number of statements of the kernel itself, before ``.routines``.
    """

    name: str
    line: int
    facts: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    statements: list[tuple[int, str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    source_line: int = 0
    origins: list[OriginRow] = field(default_factory=list)
    origin_numbers: list[int] = field(default_factory=list)
    origin: int = 0
    own: int | None = None

    def add(self, name: str, value: object) -> None:
        """Append to a field that is a tuple."""
        self.facts[name] = (*self.facts.get(name, ()), value)


def _natural(text: str) -> int:
    value = parse_number(text)
    if value < 0:
        raise ValueError(f"{text!r} is negative")
    return value


def _number(draft: Draft, word: str, rest: str) -> None:
    name = _NUMBERS[word]
    low, high = RANGES[name]
    value = _natural(rest)
    if not low <= value <= high:
        raise ValueError(f"{word} must be {low} to {high}, not {value}")
    if word in (".local", ".routinelocal") and value % 4:
        raise ValueError(f"{word} must be a multiple of 4, not {value}")
    draft.facts[name] = value


def _bytes(draft: Draft, word: str, rest: str) -> None:
    name, most, what = _BYTES[word]
    try:
        data = draft.facts.get(name, b"") + bytes.fromhex(rest)
    except ValueError:
        raise ValueError(f"{word} takes bytes of two hexadecimal digits") from None
    if len(data) > most:
        raise ValueError(f"{what} at most {most} bytes")
    draft.facts[name] = data


def _line(draft: Draft, _: str, rest: str) -> None:
    draft.source_line = _natural(rest)


def _source(draft: Draft, _: str, rest: str) -> None:
    try:
        source = json.loads(rest) if rest.startswith('"') else None
    except ValueError:
        source = None
    if not isinstance(source, str) or not is_line(source):
        raise ValueError("the source must be a quoted file name")
    draft.facts["source"] = source


def _origin(draft: Draft, _: str, rest: str) -> None:
    form = '.origin "file" line column function number'
    try:
        file, end = json.JSONDecoder().raw_decode(rest)
    except ValueError:
        raise ValueError(f"expected {form}") from None
    line, column, function, caller = _parts(rest[end:], 4, form)
    draft.origins.append(OriginRow(file, _natural(line), _natural(column), "" if function == "-" else function,
                                   _natural(caller)))


def _loc(draft: Draft, _: str, rest: str) -> None:
    draft.origin = _natural(rest)
    if draft.origin > len(draft.origins):
        raise ValueError(f"there is no origin {draft.origin}")


def _block(draft: Draft, _: str, rest: str) -> None:
    block = tuple(_natural(part) for part in rest.split(","))
    if len(block) != 3:
        raise ValueError("a block has three sizes")
    if 0 in block:
        raise ValueError("the sizes of a block start at 1")
    draft.facts["required_block"] = block


def _parts(rest: str, count: int, form: str, first: tuple[str, ...] = (), last: str = "") -> list[str]:
    """Return the `count` words of a directive, the first one from `first`, and perhaps one more that is `last`."""
    parts = rest.split()
    if len(parts) not in (count, count + bool(last)) or parts[count:] not in ([], [last]) or (
            first and parts[0] not in first):
        raise ValueError(f"expected {form}")
    return parts


def _symbol(draft: Draft, _: str, rest: str) -> None:
    name, kind, offset, size, *space = _parts(rest, 4, ".symbol name type offset size [global]", last="global")
    draft.add("symbols", Symbol(name, kind, _natural(offset), _natural(size), *space))


def _relocation(draft: Draft, _: str, rest: str) -> None:
    space, offset, width, addend, shift = _parts(rest, 5, ".reloc const|global offset width addend shift",
                                                 first=("const", "global"))
    draft.add("relocations", Relocation(space, _natural(offset), _natural(width), parse_number(addend),
                                        _natural(shift)))


def _binding(draft: Draft, _: str, rest: str) -> None:
    kind, name, offset = _parts(rest, 3, ".bind global|texture|eviction|launch name offset",
                                first=("global", "texture", EVICTION, LAUNCH))
    draft.add("bindings", Binding(kind, "" if name == "-" else name, _natural(offset)))


def _parameter(draft: Draft, _: str, rest: str) -> None:
    words, form = rest.split(), ".param name type offset size [pointer] [texture]"
    if words[4:] not in _KNOWN_OF_PARAMETERS:
        raise ValueError(f"expected {form}")
    name, kind, offset, size = _parts(" ".join(words[:4]), 4, form)
    if any(parameter.name == name for parameter in draft.facts.get("parameters", ())):
        raise ValueError(f"parameter {name!r} is defined twice")
    known = ("pointer" in words[4:], "texture" in words[4:])
    draft.add("parameters", Parameter(name, kind, _natural(offset), _natural(size), *known))


def _point(draft: Draft, _: str, rest: str) -> None:
    rule, loop, *counts = _parts(rest, 5, ".point loop|interval header candidates live most",
                                 first=("loop", "interval"))
    candidates, live, most = map(_natural, counts)
    draft.add("points", PreemptionPoint(len(draft.statements), rule, None if loop == "-" else _natural(loop),
                                        candidates, live, most))


def _routines(draft: Draft, word: str, rest: str) -> None:
    if rest or draft.own is not None:
        raise ValueError(f"{word} stands once, alone, before the preemption routines")
    draft.own = len(draft.statements)


_READERS: dict[str, Callable[[Draft, str, str], None]] = {
    **dict.fromkeys(_NUMBERS, _number), **dict.fromkeys(_BYTES, _bytes), ".symbol": _symbol, ".reloc": _relocation,
    ".bind": _binding, ".reqblock": _block, ".param": _parameter, ".source": _source, ".line": _line,
    ".origin": _origin, ".loc": _loc, ".point": _point, ".routines": _routines}


def read_directive(draft: Draft, word: str, rest: str) -> None:
    """Apply one directive to a draft.

    Raises
    ------
    ValueError
        If there is no such directive, or its arguments are wrong.
    """
    if word not in _READERS:
        raise ValueError(f"no directive {word}; there are .kernel, {', '.join(_READERS)}, .word")
    _READERS[word](draft, word, rest)


def show_directives(image: KernelImage, origins: Sequence[OriginRow] = ()) -> list[str]:
    """Return the directives of an image, but for those among its instructions; `origins` are its rows."""
    lines = [f".source {json.dumps(image.source)}"] if image.source else []
    wanted = {".registers", ".predicates", ".shared", ".stack"}
    lines += [f"{word} {getattr(image, name)}" for word, name in _NUMBERS.items()
              if word in wanted or getattr(image, name)]
    if image.required_block is not None:
        lines.append(".reqblock " + ", ".join(map(str, image.required_block)))
    lines += [f".param {p.name} {p.type} {p.offset} {p.size}{' pointer' * p.pointer}{' texture' * p.texture}"
              for p in image.parameters]
    for word, (name, _, _) in _BYTES.items():
        data = getattr(image, name)
        lines += [f"{word} {data[k:k + _BYTES_A_LINE].hex()}" for k in range(0, len(data), _BYTES_A_LINE)]
    lines += [f".symbol {s.name} {s.type} {s.offset} {s.size}{' global' * (s.space == 'global')}"
              for s in image.symbols]
    lines += [f".reloc {r.space} {r.offset} {r.width} {r.addend} {r.shift}" for r in image.relocations]
    lines += [f".bind {b.kind} {b.name or '-'} {b.offset}" for b in image.bindings]
    return lines + [f".origin {json.dumps(x.file)} {x.line} {x.column} {x.function or '-'} {x.caller}" for x in origins]


def show_point(point: PreemptionPoint) -> str:
    """Return the directive in front of a preemption point."""
    loop = "-" if point.loop is None else point.loop
    return f".point {point.rule} {loop} {point.candidates} {point.live} {point.most}"
