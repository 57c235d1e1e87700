"""The state for the lowering of PTX instructions: registers by name, operands as IR."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from caesura.hw.arch.geometry import MAX_PARAM_BYTES

from ..errors import CompileError, nearest
from ..ir.kernel import Imm, Kernel, Pred, Reg, Routine, Use
from ..ir.variables import LAUNCH, Binding, Parameter
from ..ptx.scopes import as_written, of_range
from ..ptx.syntax import AddressOf, Name, Negated, Number, Operand, Variable
from ..ptx.types import KINDS, REGISTER_TYPES, UNUSED_TYPES, width_of
from .builder import Builder
from .special_registers import OF_LAUNCH, PREDEFINED, read_of_launch, read_predefined

__all__ = ["Context"]


class Context(Builder):
    """State while one kernel is lowered.

    Attributes
    ----------
    file : str
    symbols : dict of str to int
        Addresses of variables in their spaces.
    spaces : dict of str to str
        Space of each variable: ``shared``, ``local``, ``const`` or ``global``.
    provenance : Provenance
        Spaces that generic addresses can belong to.
    parameters : dict of str to Parameter
    bindings : dict of (str, str) to Binding
        Words that the driver passes behind the parameters, by kind and name.
    textures : set of str
        Texture references of the module.
    texture_objects : set of Reg
        Registers that texture fetches take as texture objects.
    targets : dict of str to list of str
        Lists of labels, for ``brx``, by name.
    elsewhere : dict of str to str
        Variables in unsupported spaces, and their space.
    routines : callable
        Returns the code of a routine by its name.
    """

    def __init__(self, kernel: Kernel, file: str, routines: Callable[[str], Routine], check_addresses: bool = False):
        super().__init__(kernel)
        self.routines = routines
        self.file = file
        self.check_addresses = check_addresses
        self.symbols: dict[str, int] = {}
        self.spaces: dict[str, str] = {}
        self.provenance: Any = None
        self.parameters: dict[str, Parameter] = {}
        self.bindings: dict[tuple[str, str], Binding] = {}
        self.textures: set[str] = set()
        self.texture_objects: set[Reg] = set()
        self.targets: dict[str, list[str]] = {}
        self.elsewhere: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self._registers: dict[str, Reg] = {}
        self._ranges: dict[str, Variable] = {}

    # Declarations

    def declare(self, variable: Variable) -> None:
        """Declare a register or a range of them; registers of unsupported types must not be used."""
        if variable.type not in REGISTER_TYPES and variable.type not in UNUSED_TYPES:
            raise CompileError.at(variable, self.file, f"registers of type .{variable.type} are not supported"
                                  if variable.type else "the type is missing",
                                  "types " + ", ".join(f".{type}" for type in REGISTER_TYPES))
        if variable.count is None:
            self._types[variable.name] = variable.type
        else:
            self._ranges[variable.name] = variable

    def type_of(self, name: str) -> str | None:
        """Return the declared type of a register; None if `name` is none."""
        found = self._types.get(name)
        if found is None:
            variable = of_range(name, self._ranges)
            if variable is not None:
                found = self._types[name] = variable.type
        return found

    def binding(self, kind: str, name: str = "") -> Binding:
        """Return the words of a kind that the driver passes; new ones go behind the parameters and earlier words."""
        if (kind, name) not in self.bindings:
            placed = (*((p.offset, p.size) for p in self.parameters.values()),
                      *((b.offset, 4 * b.words) for b in self.bindings.values()))
            end = max((offset + size for offset, size in placed), default=0)
            made = Binding(kind, name, -(-end // 4) * 4)
            if made.offset + 4 * made.words > MAX_PARAM_BYTES:
                raise self.error("the parameters, and the words that the driver passes behind them, take more than "
                                 f"{MAX_PARAM_BYTES} bytes", "fewer textures")
            self.bindings[kind, name] = made
        return self.bindings[kind, name]

    def bound(self, binding: Binding, word: int = 0) -> Reg:
        """Return a word that the driver passes."""
        result = self.r()
        self.emit("ldp", (result,), (), binding.offset + 4 * word)
        return result

    def place(self, name: str, space: str, address: int) -> None:
        """Give a variable its address."""
        self.symbols[name], self.spaces[name] = address, space

    def routine(self, name: str) -> tuple[int, Routine]:
        """Return a called routine, and its number in the kernel."""
        known = [routine.name for routine in self.kernel.routines]
        if name not in known:
            self.kernel.routines.append(self.routines(name))
            known.append(name)
        return known.index(name), self.kernel.routines[known.index(name)]

    # Errors

    def error(self, message: str, supported: str = "") -> CompileError:
        """Return the error for the current instruction."""
        return CompileError.at(self.instruction, self.file, as_written(message), supported)

    def label(self, name: str) -> str:
        """Return a branch target, which must exist."""
        if name not in self.labels:
            raise self.error(f"label {name} is not defined in this kernel")
        return name

    # Operands

    def register(self, name: str) -> Reg:
        """Return the IR register of a declared PTX register."""
        found = self._registers.get(name)
        if found is None:
            type = self.type_of(name)
            if type is None:
                raise self.error(f"{name} is not declared")
            if type not in REGISTER_TYPES:
                raise self.error(f"register {name} has type .{type}", "." + ", .".join(REGISTER_TYPES))
            found = self._registers[name] = self.named(KINDS[REGISTER_TYPES[type]])
        return found

    def bits_of(self, name: str) -> int:
        """Return the declared width of a register, 1 for a predicate."""
        self.register(name)
        return REGISTER_TYPES[self._types[name]]

    def dest(self, operand: Operand, bits: int) -> Reg:
        """Return the destination register, which must be declared with `bits` bits (1 = predicate)."""
        if not isinstance(operand, Name):
            raise self.error("the destination must be a register")
        reg = self.register(operand.text)
        if REGISTER_TYPES[self._types[operand.text]] != bits:
            raise self.error(f"{operand.text} is declared .{self._types[operand.text]}, "
                             f"the instruction needs {'a predicate' if bits == 1 else f'{bits} bits'}")
        type = self.instruction.type
        if self.instruction.base in ("set", "slct", "tex"):
            type = ["", "", *self.instruction.modifiers][-2]
        self.check_kind(operand.text, type)
        return reg

    def check_kind(self, name: str, type: str) -> None:
        """Refuse an integer register for a floating-point type and the reverse; ``.b`` goes with both (PTX ISA 9.2)."""
        declared = self._types[name]
        if declared[0] + type[:1] in ("fs", "sf", "fu", "uf"):
            raise self.error(f"{name} is declared .{declared}, the instruction needs .{type}",
                             f"registers declared .b{REGISTER_TYPES[declared]} or .{type}")

    def pred(self, operand: Operand) -> Pred:
        """Return a predicate operand."""
        if isinstance(operand, Number) and operand.value is not None:
            return Pred(None, operand.value == 0)
        if isinstance(operand, Negated):
            return Pred(self.dest(Name(operand.name), 1), True)
        return Pred(self.dest(operand, 1))

    def value(self, operand: Operand, bits: int, type: str | None = None) -> Use:
        """Return a source: a register, constant, address or special register.

        It has `bits` bits: 16 and 32 give an ``r``, 64 gives a ``w``. Its type is the last modifier of the instruction,
        or `type` if given.
        """
        if type is None:
            type = self.instruction.type
        if isinstance(operand, Number):
            return self._constant(operand, bits, type)
        if isinstance(operand, AddressOf):
            if operand.name not in self.symbols or type[:1] == "f":
                raise self.error(f"{operand.name} is not a variable", "addresses of variables, plus a constant")
            return self._address(operand.name, bits, operand.offset)
        if not isinstance(operand, Name):
            raise self.error("operand must be a register or a constant")
        name = operand.text
        declared = self.type_of(name)
        if declared is None and type in ("f32", "f64"):
            raise self.error(f"{name} is no floating-point value", "registers and floating-point constants")
        if name in self.symbols:
            return self._address(name, bits)
        if declared is None:
            if name in PREDEFINED:
                return read_predefined(self, name, bits)
            if name in OF_LAUNCH:
                return read_of_launch(self, name, bits, functools.partial(self.bound, self.binding(LAUNCH)))
            if name.startswith("%"):
                raise self.error(f"{name} is neither declared nor a known special register",
                                 nearest(name, (*PREDEFINED, *OF_LAUNCH), "those that docs/ptx.md lists"))
            if name in self.elsewhere:
                space = self.elsewhere[name]
                raise self.error(f"the address of {name}, which is in .{space}, is not supported",
                                 "variables in .shared, .local, .const and .global")
            raise self.error(f"{name} is not a register or a variable", "registers, constants, addresses of variables")
        reg = self.register(name)
        if REGISTER_TYPES[self._types[name]] != bits:
            raise self.error(f"{name} is declared .{self._types[name]}, the instruction needs {bits} bits")
        self.check_kind(name, type)
        return reg

    def number(self, operand: Operand, type: str, flush: bool = False) -> Use:
        """Return a floating-point source: f64 as a ``w`` register; f32 with subnormals made zero if `flush`."""
        value = self.value(operand, width_of(type), type)
        if type == "f64" and isinstance(value, Imm):
            constant = self.w()
            self.emit("mov.64", (constant,), (value,))
            return constant
        return self.flushed(value) if flush else value

    def constant(self, number: Number) -> int:
        """Return an integer constant of an instruction."""
        if number.value is None:
            raise self.error(f"floating-point constant {number.text}", "integer constants")
        return number.value

    def _constant(self, number: Number, bits: int, type: str) -> Imm:
        if type in ("f32", "f64"):
            pattern = number.double if bits == 64 else number.single
            if pattern is None:
                raise self.error(f"integer constant {number.text}", "floating-point constants such as 0f3F800000, 1.0")
            return Imm(pattern)
        if number.exact == bits and type[:1] == "b":
            return Imm((number.double if bits == 64 else number.single) or 0)
        return Imm(self.constant(number) & (1 << max(bits, 32)) - 1)

    def _address(self, name: str, bits: int, offset: int = 0) -> Use:
        """Return the address of a variable, plus an offset."""
        place = self.symbols[name] + offset & 0xFFFF_FFFF
        if self.spaces[name] != "global":
            return Imm(place)
        address = self.r()
        self.emit("iadd", (address,), (self.bound(self.binding("global")), Imm(place)))
        if bits != 64:
            return address
        wide = self.w()
        self.emit("pack.64", (wide,), (address, Imm(0)))
        return wide

    def extended(self, operand: Operand, type: str) -> Use:
        """Return a source of a 16- or 32-bit `type`, sign- or zero-extended to 32 bits."""
        bits, signed = width_of(type), type[0] == "s"
        value = self.value(operand, bits)
        return self.extend(value, bits, signed)
