"""Assembly text to kernel images: one instruction a line.

::

    .kernel scale            // starts a kernel
    .registers 5             // optional: counted from the code
    .predicates 1            // optional: counted
    .shared 0                // bytes of shared memory
    .local 0                 // bytes of local memory of a thread
    .const 0000803f00000040  // bytes that are added to the constant bank
    .symbol table f32 0 8    // a variable in it: type, offset, bytes
    .stack 2                 // optional: computed from the code
    .maxthreads 256
    .reqblock 256, 1, 1
    .param out u64 0 8 pointer
    .source "scale.ptx"
    .line 12                 // source line of what follows
    loop:
        @!P1 iadd R3, R4, R5
        ld.global.b32 R2, [R4+16]
        @P0 bra loop, done
        pp {R1, R2}
        pp.div {R1-R4}
        bar.pp.0 {R0-R4}
        .word 0x0000000000000000
    done:
        exit

Operands are described in `syntax`; comments start with ``//``, ``;`` or ``#``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from caesura.hw.arch.encoding import Instruction, decode, encode
from caesura.hw.arch.geometry import MAX_BLOCK_THREADS, MAX_REGISTERS, PREDICATES
from caesura.hw.arch.isa import BY_NAME

from ..analysis.divergence import stack_depth
from ..errors import CompileError, ImageError
from ..ir.cfg import graph as flow_graph
from .image import MAX_CONSTANT_BYTES, MAX_LOCAL_BYTES, KernelImage, Parameter, Symbol
from .lift import lift
from .syntax import parse_guard, parse_number, parse_operand

__all__ = ["AssemblerError", "assemble"]

_LABEL = re.compile(r"([A-Za-z_$.][\w$.]*)\s*:")
_INSTRUCTION = re.compile(r"(?:@\s*(!?\s*\w+)\s+)?([a-z][\w.]*)\s*(.*)")
_RANGES = {".registers": (1, MAX_REGISTERS), ".predicates": (0, PREDICATES), ".shared": (0, (1 << 20) - 1),
           ".local": (0, MAX_LOCAL_BYTES), ".stack": (1, 64), ".maxthreads": (0, MAX_BLOCK_THREADS)}
_DIRECTIVES = (".kernel, .registers, .predicates, .shared, .local, .const, .symbol, .stack, .maxthreads, .reqblock, "
               ".param, .source, .line, .word")


class AssemblerError(CompileError):
    """A text that cannot be assembled; see `CompileError`."""


@dataclass
class _Draft:
    """A kernel while it is read."""

    name: str
    line: int
    facts: dict = field(default_factory=dict)
    parameters: list[Parameter] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    statements: list[tuple[int, str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    source_line: int = 0


def assemble(text: str, filename: str = "<asm>") -> list[KernelImage]:
    """Assemble every kernel of a text.

    Parameters
    ----------
    text : str
    filename : str
        For messages.

    Returns
    -------
    list of KernelImage
        In the order of the text.

    Raises
    ------
    AssemblerError
        With the line and its text.
    """
    drafts: list[_Draft] = []
    for number, line in enumerate(text.splitlines(), 1):
        statement = _without_comment(line)
        if not statement:
            continue
        try:
            _read(statement, number, drafts)
        except ValueError as error:
            raise AssemblerError(str(error), filename, number, statement) from None
    if not drafts:
        raise AssemblerError("no kernel", filename, supported=".kernel name")
    return [_finish(draft, filename) for draft in drafts]


def _without_comment(line: str) -> str:
    if line.lstrip().startswith(".source"):
        return line.strip()
    return re.split(r"//|;|#", line, maxsplit=1)[0].strip()


def _read(statement: str, number: int, drafts: list[_Draft]) -> None:
    word, _, rest = statement.partition(" ")
    if word == ".kernel":
        if not rest.strip() or any(draft.name == rest.strip() for draft in drafts):
            raise ValueError("a kernel needs a name of its own")
        drafts.append(_Draft(rest.strip(), number))
        return
    if not drafts:
        raise ValueError("expected .kernel")
    draft = drafts[-1]
    label = _LABEL.match(statement)
    if label:
        if label[1] in draft.labels:
            raise ValueError(f"label {label[1]!r} is defined twice")
        draft.labels[label[1]] = len(draft.statements)
        statement = statement[label.end():].strip()
        if statement:
            _read(statement, number, drafts)
    elif word.startswith(".") and word != ".word":
        _directive(draft, word, rest.strip())
    else:
        draft.statements.append((number, statement))
        draft.lines.append(draft.source_line)


def _directive(draft: _Draft, word: str, rest: str) -> None:
    names = {".registers": "registers", ".predicates": "predicates", ".shared": "shared_bytes",
             ".local": "local_bytes", ".stack": "stack_depth", ".maxthreads": "max_threads"}
    if word in names:
        low, high = _RANGES[word]
        value = _natural(rest)
        if not low <= value <= high:
            raise ValueError(f"{word} must be {low} to {high}, not {value}")
        if word == ".local" and value % 4:
            raise ValueError(f".local must be a multiple of 4, not {value}")
        draft.facts[names[word]] = value
    elif word == ".line":
        draft.source_line = _natural(rest)
    elif word == ".source":
        try:
            draft.facts["source"] = json.loads(rest)
        except ValueError:
            raise ValueError("the source must be a quoted file name") from None
    elif word == ".reqblock":
        block = tuple(_natural(part) for part in rest.split(","))
        if len(block) != 3:
            raise ValueError("a block has three sizes")
        if 0 in block:
            raise ValueError("the sizes of a block start at 1")
        draft.facts["required_block"] = block
    elif word == ".const":
        try:
            bank = draft.facts.get("constants", b"") + bytes.fromhex(rest)
        except ValueError:
            raise ValueError("constants are bytes of two hexadecimal digits") from None
        if len(bank) > MAX_CONSTANT_BYTES:
            raise ValueError(f"a constant bank has at most {MAX_CONSTANT_BYTES} bytes")
        draft.facts["constants"] = bank
    elif word == ".symbol":
        parts = rest.split()
        if len(parts) != 4:
            raise ValueError("expected .symbol name type offset size")
        draft.facts["symbols"] = (*draft.facts.get("symbols", ()),
                                  Symbol(parts[0], parts[1], _natural(parts[2]), _natural(parts[3])))
    elif word == ".param":
        parts = rest.split()
        if len(parts) not in (4, 5) or parts[4:] not in ([], ["pointer"]):
            raise ValueError("expected .param name type offset size [pointer]")
        if any(parameter.name == parts[0] for parameter in draft.parameters):
            raise ValueError(f"parameter {parts[0]!r} is defined twice")
        draft.parameters.append(
            Parameter(parts[0], parts[1], _natural(parts[2]), _natural(parts[3]), len(parts) == 5))
    else:
        raise ValueError(f"no directive {word}; there are {_DIRECTIVES}")


def _natural(text: str) -> int:
    value = parse_number(text)
    if value < 0:
        raise ValueError(f"{text!r} is negative")
    return value


def _operands(text: str) -> list[str]:
    """Split at commas outside braces."""
    return [part.strip() for part in re.split(r",(?![^{]*\})", text)] if text else []


def _instruction(statement: str, labels: dict[str, int]) -> int:
    if statement.startswith(".word"):
        value = parse_number(statement[5:])
        if not 0 <= value < 1 << 64:
            raise ValueError("a word has 64 bits")
        return value
    match = _INSTRUCTION.fullmatch(statement)
    if not match:
        raise ValueError("not an instruction")
    guard, name, rest = match.groups()
    op = BY_NAME.get(name)
    if op is None:
        raise ValueError(f"no instruction {name!r}")
    operands = _operands(rest)
    if len(operands) != len(op.operands):
        raise ValueError(f"{name} has {len(op.operands)} operands ({' '.join(op.operands)}), not {len(operands)}")
    fields: dict[str, int] = {}
    for kind, text in zip(op.operands, operands, strict=True):
        fields |= parse_operand(kind, text, op, labels)
    if guard:
        fields |= parse_guard(guard.replace(" ", ""))
    return encode(Instruction(op, fields))


def _finish(draft: _Draft, filename: str) -> KernelImage:
    code = []
    for number, statement in draft.statements:
        try:
            code.append(_instruction(statement, draft.labels))
        except ValueError as error:
            raise AssemblerError(str(error), filename, number, statement) from None
    facts = {"source": "", **draft.facts}
    lines = tuple(draft.lines) if any(draft.lines) else ()
    image = KernelImage(name=draft.name, code=tuple(code), parameters=tuple(draft.parameters), lines=lines,
                        **{"registers": 1, **facts})
    return _complete(image, facts, draft, filename)


def _complete(image: KernelImage, facts: dict, draft: _Draft, filename: str) -> KernelImage:
    """Fill in what the text leaves out."""
    missing = {"registers", "predicates", "stack_depth"} - set(facts)
    if not missing:
        return image
    try:
        lifted = lift(image)
        instructions = [decode(word) for word in image.code]
    except (ImageError, ValueError) as error:
        raise AssemblerError(f"{error}; give .registers, .predicates and .stack", filename, draft.line) from None
    registers = [r for ins in instructions for r in (*ins.reads, *ins.writes)]
    predicates = [p for ins in instructions for p in (*ins.predicate_reads, *ins.predicate_writes)]
    found = {"registers": max(registers, default=0) + 1, "predicates": max(predicates, default=-1) + 1,
             "stack_depth": stack_depth(lifted.kernel, flow_graph(lifted.kernel), lifted.meet)}
    values = {name: getattr(image, name) for name in image.__dataclass_fields__}
    return KernelImage(**{**values, **{name: found[name] for name in missing}})
