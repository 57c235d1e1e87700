"""Assembly text to kernel images: one instruction per line.

::

    .kernel scale            // starts a kernel
    .shared 0                // a directive
    .line 12
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

Operands are described in `syntax`, directives in `directives`; comments start with ``//``, ``;`` or ``#``.
"""

from __future__ import annotations

import re

from caesura.hw.arch.isa.opcodes import BY_NAME
from caesura.hw.arch.isa.words import Instruction, decode, encode

from ..analysis.simt_stack import stack_depth
from ..errors import CompileError, ImageError
from ..image.kernel_image import KernelImage
from ..image.lift import lift
from ..image.origin_table import origins_of_rows
from ..image.validate import check_facts
from ..ir.cfg import graph as flow_graph
from ..preemption.check import check_code
from .directives import Draft, read_directive
from .syntax import parse_guard, parse_number, parse_operand

__all__ = ["AssemblerError", "assemble"]

_LABEL = re.compile(r"([A-Za-z_$.][\w$.]*)\s*:")
_INSTRUCTION = re.compile(r"(?:@\s*(!?\s*\w+)\s+)?([a-z][\w.]*)\s*(.*)")


class AssemblerError(CompileError):
    """A text that cannot be assembled; see `CompileError`."""


def assemble(text: str, filename: str = "<asm>", check: bool = False) -> list[KernelImage]:
    """Assemble every kernel of a text.

    Parameters
    ----------
    text : str
    filename : str
        Name of the source, for messages.
    check : bool
        Check the code as well (`check.check_code`): liveness vectors, branches, stack depth.

    Returns
    -------
    list of KernelImage
        Images in the order of the text.

    Raises
    ------
    AssemblerError
        The message has the line and its text.
    """
    drafts: list[Draft] = []
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
    return [_finish(draft, filename, check) for draft in drafts]


def _without_comment(line: str) -> str:
    if line.lstrip().startswith((".source", ".origin")):
        return line.strip()
    return re.split(r"//|;|#", line, maxsplit=1)[0].strip()


def _read(statement: str, number: int, drafts: list[Draft]) -> None:
    word, _, rest = statement.partition(" ")
    if word == ".kernel":
        if not rest.strip() or any(draft.name == rest.strip() for draft in drafts):
            raise ValueError("a kernel needs a name of its own")
        drafts.append(Draft(rest.strip(), number))
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
        read_directive(draft, word, rest.strip())
    else:
        draft.statements.append((number, statement))
        draft.lines.append(draft.source_line)
        draft.origin_numbers.append(draft.origin)


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
    if guard and not op.is_guarded:
        raise ValueError(f"{name} takes no guard")
    if guard:
        fields |= parse_guard(guard.replace(" ", ""))
    return encode(Instruction(op, fields))


def _finish(draft: Draft, filename: str, check: bool) -> KernelImage:
    code = []
    for number, statement in draft.statements:
        try:
            code.append(_instruction(statement, draft.labels))
        except ValueError as error:
            raise AssemblerError(str(error), filename, number, statement) from None
    facts = {"source": "", **draft.facts}
    try:
        origins, numbers = origins_of_rows(draft.origins, draft.origin_numbers[:draft.own])
    except ValueError as error:
        raise AssemblerError(str(error), filename, draft.line) from None
    if origins:
        facts |= {"origins": origins, "origin_numbers": numbers}
    lines = tuple(draft.lines[:draft.own]) if any(draft.lines[:draft.own]) else ()
    image = KernelImage(name=draft.name, code=tuple(code[:draft.own]), lines=lines,
                        traps=() if draft.own is None else tuple(code[draft.own:]), **{"registers": 1, **facts})
    image = _complete(image, facts, draft, filename)
    try:
        check_facts(image, f"kernel {draft.name}")
        if check:
            check_code(image, f"kernel {draft.name}")
    except ImageError as error:
        raise AssemblerError(str(error), filename, draft.line) from None
    return image


def _complete(image: KernelImage, facts: dict, draft: Draft, filename: str) -> KernelImage:
    """Fill in facts that the text leaves out."""
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
