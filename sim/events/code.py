"""Python code of expressions and statements.

The code is Amaranth's without the masks that change nothing, since most expressions give a number in the range of their
shape. In the code, ``s12`` is slot 12 and ``next_12`` is its next value.
"""
# The stubs of Amaranth lack its private parts:
# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from amaranth.hdl import Const, Signal
from amaranth.hdl._ast import Assign, Concat, Operator, Part, SignalSet, Slice, SwitchValue
from amaranth.hdl._xfrm import LHSMaskCollector
from amaranth.sim import _pyrtl

from .state import State

__all__ = ["Code", "Names"]

_METHODS = {kind: f"on_{kind.__name__}" for kind in (Const, Signal, Operator, Slice, Part, Concat, SwitchValue)}
_LONG = 1000
"""Length in characters from which an expression gets a variable of its own, so that the parser's stack suffices."""


class Names(dict):
    """Global names of the generated code.

    Parameters
    ----------
    state : State
    """

    def __init__(self, state: State):
        super().__init__(**_pyrtl._ValueCompiler.helpers, **_pyrtl._StatementCompiler.helpers, slots=state.slots,
                         pending=state.pending)
        self.state = state
        self.shapes: dict[int, tuple[Any, int, bool]] = {}
        """Width and signedness of expressions by identity, with the object, so that the identity stays its own."""

    def slot(self, signal: Signal) -> str:
        """Return the name of a signal's slot."""
        index = self.state.get_signal(signal)
        name = f"s{index}"
        self[name] = self.state.slots[index]
        return name

    def shape(self, value: Any) -> tuple[int, bool]:
        """Return width and signedness of an expression; Amaranth computes them anew at every call."""
        known = self.shapes.get(id(value))
        if known is None:
            shape = value.shape()
            known = self.shapes[id(value)] = value, shape.width, shape.signed
        return known[1], known[2]


class _Expressions(_pyrtl._RHSValueCompiler):
    """Code of expressions."""

    def __init__(self, names: Names, emitter: Any, inputs: SignalSet):
        super().__init__(names.state, emitter, mode="curr", inputs=inputs)
        self.names = names

    def __call__(self, value: Any) -> str:
        code = getattr(self, _METHODS[type(value)])(value)
        return self.emitter.def_var("split", code) if len(code) > _LONG else code

    def _exact(self, value: Any) -> bool:
        """Return whether the code of an expression gives its exact number, and not just one equal modulo 2^w."""
        if isinstance(value, Operator) and value.operator in ("~", "u", "s"):
            return value.operator == "~" and self.names.shape(value)[1]
        return True

    def bits(self, value: Any) -> str:
        """Return code of an expression's bits, as a non-negative number."""
        code = self(value)
        width, signed = self.names.shape(value)
        return code if not signed and self._exact(value) else f"({(1 << width) - 1:#x} & {code})"

    def sign(self, value: Any) -> str:
        """Return code of an expression's number, negative if its shape is signed."""
        if self._exact(value):
            return self(value)
        width, signed = self.names.shape(value)
        return f"sign({self.bits(value)}, {-1 << (width - 1):#x})" if signed and width else self.bits(value)

    def on_Signal(self, value: Signal) -> str:
        self.inputs.add(value)
        return f"{self.names.slot(value)}.curr"

    def on_Operator(self, value: Operator) -> str:
        operator, operands = value.operator, value.operands
        if len(operands) == 1:
            (operand,) = operands
            match operator:
                case "u" | "s":
                    return self(operand)
                case "~" | "-":
                    return f"({operator}{self.sign(operand)})"
                case "b" | "r|":
                    return f"(0 != {self.bits(operand)})"
                case "r&":
                    return f"({(1 << self.names.shape(operand)[0]) - 1} == {self.bits(operand)})"
                case "r^":
                    return f"(({self.bits(operand)}).bit_count() & 1)"
        left, right = map(self.sign, operands)
        if operator in ("//", "%"):
            return f"{'zdiv' if operator == '//' else 'zmod'}({left}, {right})"
        return f"({left} {operator} {right})"

    def on_Slice(self, value: Slice) -> str:
        inner, start, width = value.value, value.start, value.stop - value.start
        while isinstance(inner, Slice):
            inner, start = inner.value, start + inner.start
        if start + width == self.names.shape(inner)[0]:
            code = self.bits(inner)
            return f"({code} >> {start})" if start else code
        code = self(inner)
        return f"({(1 << width) - 1:#x} & {f'({code} >> {start})' if start else code})"

    def on_Part(self, value: Part) -> str:
        offset = self.rrhs.bits(value.offset)
        if value.stride != 1:
            offset = f"({value.stride} * {offset})"
        return f"({(1 << value.width) - 1:#x} & ({self.sign(value.value)} >> {offset}))"

    def on_Concat(self, value: Concat) -> str:
        parts, offset = [], 0
        for part in value.parts:
            width, _ = self.names.shape(part)
            if width and not (isinstance(part, Const) and part.value == 0):
                parts.append(f"({self.bits(part)} << {offset})" if offset else self.bits(part))
            offset += width
        return f"({' | '.join(parts)})" if parts else "0"


class _Statements(_pyrtl._StatementCompiler):
    """Code of statements."""

    def __init__(self, names: Names, emitter: Any, inputs: SignalSet):
        super().__init__(names.state, emitter)
        self.names = names
        self.rhs = _Expressions(names, emitter, inputs)
        self.lhs = _pyrtl._LHSValueCompiler(names.state, emitter, rhs=self.rhs)

    def on_Assign(self, stmt: Assign) -> None:
        lhs, rhs = stmt.lhs, stmt.rhs
        width, signed = self.names.shape(rhs)
        if isinstance(lhs, Signal) and not lhs.shape().signed and not signed and width <= len(lhs):
            code = self.rhs.sign(rhs)
            if not isinstance(rhs, Signal | Slice | Const):
                code = f"+{code}"  # a comparison is a `bool`
            self.emitter.append(f"next_{self.state.get_signal(lhs)} = {code}")
        else:
            self.lhs(lhs)(self.rhs.sign(rhs))


class Code:
    """The body of one process.

    Parameters
    ----------
    names : Names
    """

    def __init__(self, names: Names):
        self.names = names
        self.inputs = SignalSet()
        """Signals that the process reads."""
        self.masks = LHSMaskCollector()
        """Signals that the process drives, with the driven bits."""
        self._emitter = _pyrtl._PythonEmitter()
        self._emitter._level = 1
        self._statements = _Statements(names, self._emitter, self.inputs)
        self.append: Callable[[str], None] = self._emitter.append
        self.indent: Callable[[], AbstractContextManager] = self._emitter.indent
        self.variable: Callable[[str, str], str] = self._emitter.def_var
        self.bits: Callable[[Any], str] = self._statements.rhs.bits
        self.assign: Callable[[Any], Callable[[str], None]] = self._statements.lhs

    @property
    def outputs(self) -> list[Signal]:
        """Signals that the process drives."""
        return [signal for signal, _ in self.masks.masks()]

    def begin(self, *, comb: bool) -> None:
        """Append code by which driven signals keep their values or, if `comb`, take their initial values."""
        for signal in self.outputs:
            start = signal.init if comb else f"{self.names.slot(signal)}.next"
            self.append(f"next_{self.names.state.get_signal(signal)} = {start}")

    def statements(self, statements: list[Any]) -> None:
        """Append the code of statements."""
        self._statements.on_statements(statements)

    def reset(self, rst: Signal | None) -> None:
        """Append code by which a reset gives signals their initial values."""
        signals = [signal for signal in self.outputs if not signal.reset_less]
        if rst is None or not signals:
            return
        self.append(f"if {self.bits(rst)}:")
        with self.indent():
            for signal in signals:
                self.append(f"next_{self.names.state.get_signal(signal)} = {signal.init}")

    def finish(self, *, comb: bool) -> str:
        """Append code that hands changed values on, at once if `comb`; return the whole body."""
        for signal, mask in self.masks.masks():
            name, value = self.names.slot(signal), f"next_{self.names.state.get_signal(signal)}"
            if mask != (1 << len(signal)) - 1:
                if signal.shape().signed and mask >> (len(signal) - 1):
                    mask |= -1 << len(signal)
                value = self.variable("masked", f"{name}.next & {~mask} | {value} & {mask}")
            self.append(f"if {name}.next != {value}:")
            with self.indent():
                if comb:
                    self.append(f"{name}.change({value})")
                else:
                    self.append(f"{name}.next = {value}")
                    self.append(f"pending.add({name})")
        return self._emitter.flush() or "    pass\n"
