"""Lowering: one PTX entry to IR of stage ``wide``.

Each PTX register becomes one virtual register (kind ``r`` up to 32 bits, ``w`` for 64, ``p``). A 16-bit value lives
in a 32-bit register whose upper half is undefined: it is extended where it is used as a number.
"""

from __future__ import annotations

from ...codegen.image import Parameter
from ...errors import CompileError
from ...ir.cfg import drop_unreachable
from ...ir.kernel import TRUE, Kernel, Pred
from ...ptx.syntax import Function, Instruction, Label, Module, Name, Pair, Variable
from ..types import DECLARED_WIDTHS, REGISTER_TYPES
from . import (  # noqa: F401 - they register the handlers
    arithmetic,
    atomics,
    bits,
    carry,
    compare,
    control,
    convert,
    floating,
    lanes,
    memory,
    move,
    special,
)
from .context import Context
from .registry import handler, supported_opcodes
from .spaces import Provenance, place_constants, place_local

__all__ = ["lower"]


SPACES = ("reg", "param", "shared", "global", "const", "local")
"""State spaces a declaration may name; those beyond registers, parameters and shared memory only if unused."""


def lower(module: Module, function: Function) -> Kernel:
    """Lower one entry.

    Raises
    ------
    CompileError
        At the first thing that is not supported.
    """
    kernel = Kernel(function.name, source=module.file)
    ctx = Context(kernel, module.file)
    for variable in (*module.variables, *function.variables):
        if variable.space not in SPACES:
            raise CompileError(f"directive .{variable.space} is not supported", ctx.file, variable.line, variable.text,
                               "declarations in " + ", ".join(f".{space}" for space in SPACES))
    for variable in function.variables:
        if variable.space == "reg":
            ctx.declare(variable.type, variable.name, variable.count)
    kernel.parameters = _parameters(ctx, function)
    ctx.parameters = {p.name: p for p in kernel.parameters}
    ctx.elsewhere = {v.name: v.space for v in (*module.variables, *function.variables)
                     if v.space not in ("reg", "shared")}
    kernel.shared_bytes = _place_shared(ctx, module, function)
    kernel.constants, kernel.symbols = place_constants(module)
    for symbol in kernel.symbols:
        ctx.place(symbol.name, "const", symbol.offset)
    place_local(ctx, kernel, function)
    ctx.provenance = Provenance(module, function)
    _attributes(kernel, function, module.file)
    _statements(ctx, function)
    drop_unreachable(kernel)
    return kernel


def _parameters(ctx: Context, function: Function) -> tuple[Parameter, ...]:
    placed, offset = [], 0
    for variable in function.parameters:
        size = DECLARED_WIDTHS.get(variable.type, 0) // 8
        if size == 0:
            raise CompileError(f"parameter type .{variable.type} is not supported", ctx.file, variable.line,
                               variable.text, "integer and floating-point types, arrays of .b8")
        align = max(size, variable.align)
        total = size if variable.elements is None else size * variable.elements
        offset = -(-offset // align) * align
        placed.append(Parameter(variable.name, variable.type, offset, total))
        offset += total
    return tuple(placed)


def _place_shared(ctx: Context, module: Module, function: Function) -> int:
    """Give addresses to the shared variables that the kernel names: static ones in order, dynamic ones after."""
    names = _names(function)
    own = [v for v in function.variables if v.space == "shared"]
    used = own + [v for v in module.variables if v.space == "shared" and v.name in names]
    end, dynamic = 0, []
    for variable in used:
        if variable.extern or variable.elements == 0:
            dynamic.append(variable)
            continue
        end = _align(end, variable)
        ctx.place(variable.name, "shared", end)
        end += DECLARED_WIDTHS.get(variable.type, 64) // 8 * (variable.elements or 1)
    for variable in dynamic:
        end = _align(end, variable)
    for variable in dynamic:
        ctx.place(variable.name, "shared", end)
    return end


def _align(end: int, variable: Variable) -> int:
    align = max(variable.align, DECLARED_WIDTHS.get(variable.type, 64) // 8)
    return -(-end // align) * align


def _names(function: Function) -> set[str]:
    found = set()
    for statement in function.statements:
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                found.add(operand.text if isinstance(operand, Name) else getattr(operand, "base", None))
    return found


def _attributes(kernel: Kernel, function: Function, file: str) -> None:
    for name, numbers in function.attributes.items():
        if name in ("maxntid", "reqntid"):
            x, y, z = (*numbers, 1, 1)[:3]
            kernel.max_threads = x * y * z
            if name == "reqntid":
                kernel.required_block = (x, y, z)
        elif name not in ("minnctapersm", "maxnctapersm", "maxnreg", "noreturn"):
            raise CompileError(f"directive .{name} is not supported", file, function.line,
                               supported=".maxntid, .reqntid, .minnctapersm, .maxnreg")


def _statements(ctx: Context, function: Function) -> None:
    for statement in function.statements:
        if isinstance(statement, Label):
            if statement.name in ctx.labels:
                raise CompileError(f"label {statement.name} is defined twice", ctx.file, statement.line)
            ctx.labels.add(statement.name)
    ctx.open_block("entry")
    for statement in function.statements:
        if isinstance(statement, Label):
            ctx.open_block(statement.name)
            continue
        ctx.instruction, ctx.guard = statement, None
        lower_one = handler(statement)
        if lower_one is None:
            raise ctx.error(f"instruction {statement.opcode} is not supported", supported_opcodes())
        if statement.guard is not None:
            ctx.guard = Pred(ctx.dest(Name(statement.guard.name), REGISTER_TYPES["pred"]), statement.guard.negated)
            if statement.operands and isinstance(statement.operands[0], Pair):  # may overwrite its own guard
                copy, guard, ctx.guard = ctx.p(), ctx.guard, None
                ctx.emit("pand", (copy,), (guard, TRUE))
                ctx.guard = Pred(copy)
        lower_one(ctx)
