"""Lowering: one PTX entry to IR of stage ``wide``.

Each PTX register becomes one virtual register (kind ``r`` up to 32 bits, ``w`` for 64, ``p``). A value of 8 or 16 bits
is in a 32-bit register whose other bits are undefined; it is extended where it is used as a number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from ..analysis.pointers import mark_textures
from ..errors import CompileError, nearest
from ..ir.cfg import drop_unreachable
from ..ir.kernel import TRUE, Kernel, Pred, Routine
from ..ir.variables import Parameter
from ..ptx.instruction_set import reason_of
from ..ptx.scopes import as_written
from ..ptx.syntax import Function, Instruction, Label, Module, Name, Pair
from ..ptx.types import REGISTER_TYPES
from ..source import escaped
from .context import Context
from .instructions import (  # noqa: F401 - they register the handlers
    arithmetic,
    async_copies,
    atomics,
    bits,
    carry,
    compare,
    control,
    convert,
    floating,
    half,
    lanes,
    masks,
    matrices,
    mbarriers,
    memory,
    move,
    packed,
    special_functions,
    texture,
    video,
    video_vectors,
)
from .registry import handler, supported_opcodes
from .spaces import Provenance
from .variables import place_local, place_shared, place_variables

__all__ = ["lower"]


SPACES = ("reg", "param", "shared", "global", "const", "local")
"""State spaces a declaration may name; only registers, parameters and shared memory may be used."""
MAX_PARAMETER_BYTES = 32764
"""Most bytes of a kernel's parameters (PTX ISA 5.1.6.1)."""


def _no_routine(name: str) -> Routine:
    raise KeyError(f"no routine {name}")


def lower(module: Module, function: Function, routines: Callable[[str], Routine] = _no_routine,
          check_addresses: bool = False) -> Kernel:
    """Lower one entry, or a routine by itself.

    Parameters
    ----------
    module : Module
    function : Function
    routines : callable, optional
        Returns the code of a routine that `function` calls, by its name.
    check_addresses : bool
        Meaning as in `CompileOptions`.

    Raises
    ------
    CompileError
        At the first unsupported instruction or declaration.
    """
    kernel = Kernel(function.name, source=escaped(module.file))
    ctx = Context(kernel, module.file, routines, check_addresses)
    for variable in (*module.variables, *function.variables):
        if variable.space not in SPACES:
            raise CompileError.at(variable, ctx.file, f"directive .{variable.space} is not supported",
                                  "declarations in " + ", ".join(f".{space}" for space in SPACES))
    for variable in function.variables:
        if variable.space == "reg":
            ctx.declare(variable)
    kernel.parameters = _parameters(ctx, function)
    ctx.parameters = {p.name: p for p in kernel.parameters}
    ctx.elsewhere = {v.name: v.space for v in (*module.variables, *function.variables)
                     if v.space not in ("reg", "shared")}
    ctx.textures = {v.name for v in module.variables if v.type == "texref"}
    placed = place_variables(module)
    kernel.constants, kernel.symbols = bytes(placed.constants.data).ljust(placed.constants.size, b"\0"), placed.symbols
    kernel.global_bytes, kernel.global_data = placed.globals.size, bytes(placed.globals.data)
    kernel.relocations = placed.relocations
    for symbol in kernel.symbols:
        ctx.place(symbol.name, symbol.space, symbol.offset)
    kernel.shared_bytes = place_shared(ctx, module, function)
    kernel.local_bytes = place_local(ctx, function)
    ctx.provenance = Provenance(module, function)
    _attributes(kernel, function, module.file)
    _statements(ctx, function)
    kernel.bindings = tuple(ctx.bindings.values())
    drop_unreachable(kernel)
    if ctx.texture_objects:
        mark_textures(kernel, ctx.texture_objects)
    return kernel


def _unknown(ctx: Context) -> CompileError:
    """Return the error for an instruction that is not lowered: the reason, or similar instructions."""
    opcode = ctx.instruction.opcode
    reason = reason_of(opcode)
    if reason:
        return ctx.error(f"instruction {opcode} is not supported: {reason}")
    return ctx.error(f"there is no instruction {opcode}",
                     nearest(ctx.instruction.base, supported_opcodes(), "all that docs/ptx.md lists"))


def _parameters(ctx: Context, function: Function) -> tuple[Parameter, ...]:
    placed, offset = [], 0
    for variable in function.parameters:
        if variable.space != "param" or variable.count is not None:
            raise CompileError.at(variable, ctx.file, "not a parameter of a kernel", ".param variables")
        if variable.element_bytes == 0:
            what = f"type .{variable.type} is not supported" if variable.type else "type is missing"
            raise CompileError.at(variable, ctx.file, f"parameter {what}",
                                  "integer and floating-point types, arrays of .b8")
        align = max(variable.element_bytes, variable.align)
        offset = -(-offset // align) * align
        placed.append(Parameter(variable.name, variable.type, offset, variable.size))
        offset += variable.size
        if offset > MAX_PARAMETER_BYTES:
            raise CompileError.at(variable, ctx.file, f"a kernel has {offset} bytes of parameters",
                                  f"{MAX_PARAMETER_BYTES} bytes")
    return tuple(placed)


def _attributes(kernel: Kernel, function: Function, file: str) -> None:
    for name, numbers in function.attributes.items():
        if name in ("maxntid", "reqntid"):
            x, y, z = (*numbers, 1, 1)[:3]
            kernel.max_threads = x * y * z
            if name == "reqntid":
                kernel.required_block = (x, y, z)
        elif name not in ("minnctapersm", "maxnctapersm", "maxnreg", "noreturn"):
            raise CompileError(f"directive .{name} is not supported", file, function.line,
                               supported=".maxntid, .reqntid, .minnctapersm, .maxnreg", column=function.column)


def _statements(ctx: Context, function: Function) -> None:
    for statement in function.statements:
        if isinstance(statement, Label):
            if statement.name in ctx.labels:
                raise CompileError(as_written(f"label {statement.name} is defined twice"), ctx.file, statement.line,
                                   column=statement.column)
            ctx.labels.add(statement.name)
    for label, statement in itertools.pairwise(function.statements):
        if isinstance(label, Label) and isinstance(statement, Instruction) and statement.base == "branchtargets":
            ctx.targets[label.name] = [operand.text for operand in statement.operands if isinstance(operand, Name)]
    ctx.open_block("entry" if "entry" not in ctx.labels else ctx.fresh_label("entry"))
    for statement in function.statements:
        if isinstance(statement, Label):
            ctx.open_block(statement.name)
            continue
        if statement.base == "branchtargets":
            continue
        ctx.instruction, ctx.guard = statement, None
        lower_one = handler(statement)
        if lower_one is None:
            raise _unknown(ctx)
        if statement.guard is not None:
            ctx.guard = Pred(ctx.dest(Name(statement.guard.name), REGISTER_TYPES["pred"]), statement.guard.negated)
            if statement.operands and isinstance(statement.operands[0], Pair):  # may overwrite its own guard
                copy, guard, ctx.guard = ctx.p(), ctx.guard, None
                ctx.emit("pand", (copy,), (guard, TRUE))
                ctx.guard = Pred(copy)
        lower_one(ctx)
