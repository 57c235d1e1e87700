"""Addresses of variables, and initial contents of the module's variables (PTX ISA 5.1, 5.4)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import CompileError
from ..ir.spaces import MAX_CONSTANT_BYTES, MAX_GLOBAL_BYTES, MAX_LOCAL_BYTES, MAX_SHARED_BYTES, WINDOWS
from ..ir.variables import Relocation, Symbol
from ..ptx.scopes import as_written
from ..ptx.syntax import AddressOf, Function, Instruction, Module, Number, Variable, renamed
from ..ptx.types import OPAQUE_TYPES
from .context import Context

__all__ = ["REDUCTION", "Bank", "ModuleVariables", "place_variables", "place_local", "place_shared"]

REDUCTION = "bar.red'"
"""The word of shared memory in which barriers with a reduction count."""

_LIMITS = {"const": ("constants", MAX_CONSTANT_BYTES), "global": ("global variables", MAX_GLOBAL_BYTES)}


@dataclass
class Bank:
    """The variables of one space: `size` bytes, of which `data` are the first; the others are zero."""

    size: int = 0
    data: bytearray = field(default_factory=bytearray)


@dataclass(frozen=True)
class ModuleVariables:
    """The result of `place_variables`.

    Attributes
    ----------
    constants, globals : Bank
    symbols : tuple of Symbol
    relocations : tuple of Relocation
    """

    constants: Bank
    globals: Bank
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]


def _error(file: str, variable: Variable, message: str, supported: str = "") -> CompileError:
    """Return the error for a declaration."""
    return CompileError.at(variable, file, as_written(message), supported)


def _aligned(file: str, variable: Variable, end: int) -> int:
    """Return the address of a variable behind others, which end at `end`; refuse types without a size."""
    if not variable.element_bytes:
        raise _error(file, variable, f"variable type .{variable.type} is not supported",
                     "integer and floating-point types")
    align = max(variable.align, variable.element_bytes)
    return -(-end // align) * align


def place_variables(module: Module) -> ModuleVariables:
    """Lay out the module's variables, those of each space in order, global ones without initial values last.

    Variables without an initial value are zero.

    Raises
    ------
    CompileError
        If a variable has no size, an initial value does not fit its type, or the variables are too large.
    """
    banks = {"const": Bank(), "global": Bank()}
    symbols: dict[str, Symbol] = {}
    placed = [v for v in module.variables if v.space in banks and v.type not in OPAQUE_TYPES]
    if any(v.extern for v in placed):
        named = _names_in(module)
        placed = [v for v in placed if not v.extern or v.name in named]
    placed.sort(key=lambda v: v.space == "global" and not v.initial)
    for variable in placed:
        if variable.extern or not variable.element_count:
            raise _error(module.file, variable, f"the size of {variable.name} is not known",
                                 f".{variable.space} variables that the file defines, with a size")
        if variable.name in symbols:
            raise _error(module.file, variable, f"{variable.name} is declared twice")
        bank = banks[variable.space]
        start = _aligned(module.file, variable, bank.size)
        symbols[variable.name] = Symbol(variable.name, variable.type, start, variable.size, variable.space)
        bank.size = start + variable.size
        what, most = _LIMITS[variable.space]
        if bank.size > most:
            raise _error(module.file, variable, f"{what} of more than {most} bytes")
    relocations: list[Relocation] = []
    for variable in placed:
        if variable.initial:
            _initialize(module.file, variable, banks[variable.space], symbols, relocations)
    return ModuleVariables(banks["const"], banks["global"], tuple(symbols.values()), tuple(relocations))


def _names_in(module: Module) -> set[str]:
    """Return the names that instructions and initial values use."""
    found = {value.name for v in module.variables for value in v.initial if isinstance(value, AddressOf)}
    return found.union(*(_names_of(function) for function in module.functions))


def _initialize(file: str, variable: Variable, bank: Bank, symbols: dict[str, Symbol],
                relocations: list[Relocation]) -> None:
    width, symbol = variable.scalar_bytes, symbols[variable.name]
    data = bytearray()
    for value in variable.initial:
        number = _constant(variable, value, width) if isinstance(value, Number) else None
        if isinstance(value, AddressOf):
            number = _address(variable, value, width, symbols, relocations, symbol.offset + len(data))
        if number is None or not -(1 << 8 * width - 1) <= number < 1 << 8 * width:
            numbers = "numbers such as 1.0 or 0f3F800000" if variable.type[0] == "f" else \
                "integers; addresses of .global and .const variables"
            raise _error(file, variable, f"{value.text} is no initial value of type .{variable.type}", numbers)
        data += (number & (1 << 8 * width) - 1).to_bytes(width, "little")
    bank.data += bytes(symbol.offset - len(bank.data)) + data


def _constant(variable: Variable, value: Number, width: int) -> int | None:
    if variable.type in ("f32", "f64"):
        return value.single if width == 4 else value.double
    if value.value is not None:
        return value.value
    if value.exact == 8 * width and variable.type[0] == "b":
        return value.single if width == 4 else value.double
    return None


def _address(variable: Variable, value: AddressOf, width: int, symbols: dict[str, Symbol],
             relocations: list[Relocation], at: int) -> int | None:
    """Return an address, or its requested part; 0 with a relocation where only the driver knows it."""
    target = symbols.get(value.name)
    shift = 0
    if value.mask is not None:
        shift = (value.mask & -value.mask).bit_length() - 1
        if value.mask >> max(shift, 0) != (1 << 8 * width) - 1:
            return None
    if target is None or variable.type[0] == "f" or (width < 4 and value.mask is None):
        return None
    offset = target.offset + value.offset
    if target.space == "global":
        relocations.append(Relocation(variable.space, at, width, offset, shift))
        return 0
    window = WINDOWS["const"] if value.generic else 0
    return (window + offset & 0xFFFF_FFFF) >> shift & (1 << 8 * width) - 1


def place_shared(ctx: Context, module: Module, function: Function) -> int:
    """Give addresses to the shared variables that the kernel names: static ones in order, dynamic ones after.

    Returns
    -------
    int
        Size of the static variables.

    Raises
    ------
    CompileError
        If a variable has an initial value or a type without a size, or the variables are too large.
    """
    for variable in (*module.variables, *function.variables):
        if variable.space == "shared" and variable.initialized:
            raise _error(ctx.file, variable, f"shared variable {variable.name} has an initial value",
                         "a kernel that stores it")
    shared = [v for v in module.variables if v.space == "shared"]
    named = _names_of(function) if shared else set()
    used = [*(v for v in function.variables if v.space == "shared"), *(v for v in shared if v.name in named)]
    if any(isinstance(s, Instruction) and s.opcode.startswith("bar") and s.base in ("bar", "barrier")
           and "red" in s.modifiers for s in function.statements):
        used.append(Variable("shared", "b32", REDUCTION, function.line, column=function.column))
    dynamic = [v for v in used if v.extern or v.elements == 0]
    end = 0
    for variable in (*(v for v in used if v not in dynamic), *dynamic):
        end = _aligned(ctx.file, variable, end)
        if variable not in dynamic:
            ctx.place(variable.name, "shared", end)
            end += variable.size
        if end > MAX_SHARED_BYTES:
            raise _error(ctx.file, variable, f"a thread block has {end} bytes of shared memory",
                         f"{MAX_SHARED_BYTES} bytes")
    for variable in dynamic:
        ctx.place(variable.name, "shared", end)
    return end


def place_local(ctx: Context, function: Function) -> int:
    """Give addresses to the local variables of a kernel; return their bytes, a multiple of 4.

    Raises
    ------
    CompileError
        If a variable has no size or an initial value, or the variables are too large.
    """
    end = 0
    for variable in function.variables:
        if variable.space != "local":
            continue
        if variable.elements == 0 or variable.initialized:
            raise _error(ctx.file, variable, f"local variable {variable.name} is not supported",
                         "a size and no initial value")
        end = _aligned(ctx.file, variable, end)
        ctx.place(variable.name, "local", end)
        end += variable.size
        if end > MAX_LOCAL_BYTES:
            raise _error(ctx.file, variable, f"a thread has {end} bytes of local memory", f"{MAX_LOCAL_BYTES} bytes")
    return -(-end // 4) * 4


def _names_of(function: Function) -> set[str]:
    """Return the names that a function's instructions use."""
    operands = (operand for statement in function.statements if isinstance(statement, Instruction)
                for operand in statement.operands)
    found: set[str] = set()

    def note(name: str) -> str:
        found.add(name)
        return name

    for operand in operands:
        renamed(operand, note)
    return found
