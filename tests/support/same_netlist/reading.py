"""The circuit of a component: its netlist as Amaranth builds it, read bit by bit."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from amaranth.hdl import ClockDomain, Const, Fragment, Shape, Value, _ir, _nir
from amaranth.lib import data, wiring

from .circuit import Circuit, Named, State
from .gates import Gates

__all__ = ["circuit"]

_BITWISE = {"&": "all_of", "|": "any_of", "^": "odd"}
_ONE_BIT = {"b": "any_of", "r|": "any_of", "r&": "all_of", "r^": "odd"}


def circuit(component: wiring.Component, dead: bool = False, called: Callable[[str], str] = str) -> Circuit:
    """Return the circuit of a component, with ports ``clk`` and ``rst``.

    Parameters
    ----------
    component : wiring.Component
        It is elaborated.
    dead : bool
        Keep flip-flops that no output, assertion or memory depends on.
    called : callable
        Returns the name that a bit of a port is to have.
    """
    enabled, depth = gc.isenabled(), sys.getrecursionlimit()
    gc.disable()
    sys.setrecursionlimit(max(depth, 100_000))
    try:
        netlist, names = _netlist(component, called)
        return _Reader(netlist, names).read(dead)
    finally:
        sys.setrecursionlimit(depth)
        if enabled:
            gc.enable()


def _netlist(component: wiring.Component, called: Callable[[str], str]) -> tuple[Any, dict[str, list[str]]]:
    """Return the netlist of a component and the names of the bits of its ports."""
    domain = ClockDomain("sync")
    fragment = Fragment.get(component, None)
    fragment.add_domains(domain)
    ports: list[tuple[str, Value, Any]] = [(name, getattr(domain, name), _ir.PortDirection.Input)
                                           for name in ("clk", "rst")]
    names = {"clk": ["clk"], "rst": ["rst"]}
    for path, member, value in component.signature.flatten(component):
        if isinstance(value, Const):
            continue
        name = ".".join(map(str, path))
        direction = _ir.PortDirection.Input if member.flow is wiring.In else _ir.PortDirection.Output
        ports.append((name, Value.cast(value), direction))
        names[name] = _bit_names(name, member.shape)
    # one underscore joins names, unless two bits would then have one name
    often = Counter(name.replace(".", "_") for each in names.values() for name in each)
    names = {port: [called(plain if often[plain := name.replace(".", "_")] == 1 else name) for name in each]
             for port, each in names.items()}
    twice = [name for name, count in Counter(name for each in names.values() for name in each).items() if count > 1]
    if twice:
        raise ValueError(f"two bits of ports are called {twice[0]}")
    netlist = _nir.Netlist()
    _ir._emit_netlist(netlist, fragment.prepare(ports=ports, hierarchy=("top",)))  # pyright: ignore
    netlist.resolve_all_nets()
    return netlist, names


def _bit_names(name: str, shape: Any) -> list[str]:
    """Return the names of the bits of a value; fields are named as if they were signals of their own."""
    width = Shape.cast(shape).width
    names = [f"{name}[{bit}]" for bit in range(width)]
    if isinstance(shape, data.Layout):
        for key, field in shape:
            names[field.offset:field.offset + field.width] = _bit_names(f"{name}.{key}", field.shape)
    return names


class _Reader:
    """Reads a netlist.

    Parameters
    ----------
    netlist : Netlist
    port_names : dict
        Names of the bits of each port.
    """

    def __init__(self, netlist: Any, port_names: dict[str, list[str]]):
        self.netlist, self.port_names = netlist, port_names
        self.cells: list[Any] = netlist.cells
        self.gates = Gates()
        self.values: dict[int, int] = {0: 0, 1: 1}
        """Literals by net."""
        self.states: list[State] = []
        self.waiting: list[tuple[State, Callable[[], int]]] = []
        """States whose next values are not read yet."""
        self.roots: list[Named] = []
        self.columns: dict[tuple[int, int], int] = {}
        self.covering: dict[int, list[list[tuple[int, int]]]] = {}
        """Of a list of assignments, by cell: condition and value of each that covers a bit."""
        self.writers: dict[int, list[int]] = {}
        for index, cell in enumerate(self.cells):
            kind: Any = type(cell)  # the stubs know no attributes of cells
            if kind is _nir.SyncWritePort:
                self.writers.setdefault(cell.memory, []).append(index)
        self.signals, self.registers = self._names()

    def read(self, dead: bool) -> Circuit:
        """Return the circuit."""
        for port, (start, width) in self.netlist.top.ports_i.items():
            for bit, name in enumerate(self.port_names[port][:width]):
                self.values[start + bit] = self.gates.gate(f"input {name}")
                self.roots.append(Named(f"input {name}", f"input {name}", 0))
        for port, value in self.netlist.top.ports_o.items():
            for name, net in zip(self.port_names[port], value, strict=True):
                self.roots.append(Named(f"output {name}", f"output {name}", self.literal(net)))
        registers = 0
        for index, cell in enumerate(self.cells):
            self._root(index, cell)
            if isinstance(cell, _nir.FlipFlop | _nir.SyncReadPort):
                nets = list(cell.output_nets(index))
                registers += len(nets)
                if dead:
                    self.literals(sorted(nets))
        while self.waiting:
            state, following = self.waiting.pop()
            state.following = following()
        wires = {name: [self.values.get(net, -1) for net in nets] for name, nets in self.signals.items()}
        return Circuit.of(self.gates, self.states, self.roots, wires, registers, dead)

    # --- names

    def _names(self) -> tuple[dict[str, list[int]], dict[int, str]]:
        """Return the nets of signals by hierarchical name, and the names of bits that are kept."""
        best: dict[int, tuple[int, str, list[int]]] = {}
        for number, module in enumerate(self.netlist.modules):
            path = ".".join(module.name)
            for signal, name in module.signal_names.items():
                nets = self.netlist.signals[signal]
                if not nets:
                    continue
                cell = self.cells[nets[0] >> 16]
                rank = 2 * (cell.module_idx == number) + (cell.src_loc == signal.src_loc)
                if id(signal) not in best or rank > best[id(signal)][0]:
                    best[id(signal)] = rank, f"{path}.{name}", nets
        signals: dict[str, list[int]] = {}
        registers: dict[int, tuple[int, str]] = {}
        for rank, name, nets in best.values():
            while name in signals:
                name += "'"
            signals[name] = nets
            for bit, net in enumerate(nets):
                if isinstance(self.cells[net >> 16], _nir.FlipFlop | _nir.SyncReadPort) and \
                        rank > registers.get(net, (-1, ""))[0]:
                    registers[net] = rank, f"{name}[{bit}]"
        return signals, {net: name for net, (_, name) in registers.items()}

    def _module(self, cell: Any) -> str:
        return ".".join(self.netlist.modules[cell.module_idx].name)

    # --- what has to be the same

    def _root(self, index: int, cell: Any) -> None:
        """Note what a cell shows outside, and its state if it is a memory."""
        place, kind = self._module(cell), type(cell)
        if kind is _nir.Memory:
            for bit in range(cell.width):
                self.column(index, bit)
        elif kind in (_nir.AsyncProperty, _nir.SyncProperty, _nir.AsyncPrint, _nir.SyncPrint):
            shown = getattr(cell, "kind", "print")
            chunks = cell.format.chunks if cell.format else ()
            text = [chunk if isinstance(chunk, str) else (chunk.format_desc, chunk.signed, len(chunk.value))
                    for chunk in chunks]
            nets = [cell.en, getattr(cell, "test", 1), getattr(cell, "clk", 0)]
            nets += [net for chunk in chunks if not isinstance(chunk, str) for net in chunk.value]
            key = f"{shown} {getattr(cell, 'clk_edge', '')} {text}"
            self.roots.append(Named(key, f"{shown} in {place}", self.gates.gate("shown", *self.literals(nets))))
        elif kind is _nir.Instance:
            for name, value in sorted(cell.ports_i.items()):
                for bit, literal in enumerate(self.literals(value)):
                    self.roots.append(Named(f"{_instance(cell)} {name} {bit}",
                                            f"{place}.{cell.name}.{name}[{bit}]", literal))
        elif kind is _nir.IOBuffer and cell.o is not None:
            for bit, net in enumerate(cell.o):
                name = f"pad {self._pad(cell, bit)}"
                self.roots.append(Named(name, name, self.gates.gate("pad", *self.literals((net, cell.oe)))))

    def _pad(self, cell: Any, bit: int) -> str:
        net = cell.port[bit]
        return f"{self.netlist.io_ports[net.port].name}[{net.bit}]"

    # --- values

    def literal(self, net: int) -> int:
        """Return the literal of a net."""
        return self.literals((net,))[0]

    def literals(self, nets: Iterable[int]) -> list[int]:
        """Return the literals of nets.

        Raises
        ------
        ValueError
            If a value depends on itself.
        """
        nets, values, begun = [*nets], self.values, set[int]()
        left = [net for net in nets if net not in values]
        while left:
            net = left[-1]
            if net in values:
                left.pop()
                continue
            index, bit = net >> 16, net & 0xffff
            cell = self.cells[index]
            needs, make = _WAYS[type(cell)]
            missing = [each for each in needs(self, index, cell, bit) if each not in values]
            if not missing:
                make(self, index, cell, bit)
                left.pop()
            elif net in begun:
                raise ValueError(f"a value of {self._module(cell)} depends on itself ({cell.src_loc})")
            else:
                begun.add(net)
                left += missing
        return [values[net] for net in nets]

    def _set(self, index: int, literals: Iterable[int]) -> None:
        """Set all bits of a cell."""
        for bit, literal in enumerate(literals):
            self.values[index << 16 | bit] = literal

    def _nothing(self, index: int, cell: Any, bit: int) -> Iterable[int]:
        return ()

    def _operands(self, index: int, cell: Any, bit: int) -> Iterable[int]:
        if cell.operator in ("~", "&", "|", "^"):
            return [value[bit] for value in cell.inputs]
        if cell.operator == "m":
            return cell.inputs[0][0], cell.inputs[1][bit], cell.inputs[2][bit]
        return [net for value in cell.inputs for net in value]

    def _operator(self, index: int, cell: Any, bit: int) -> None:
        operator, gates, values = cell.operator, self.gates, self.values
        if operator in ("~", "m") or operator in _BITWISE:
            inputs = [values[net] for net in self._operands(index, cell, bit)]
            values[index << 16 | bit] = (
                inputs[0] ^ 1 if operator == "~" else gates.choice(*inputs) if operator == "m"
                else getattr(gates, _BITWISE[operator])(inputs))
            return
        vectors = [[values[net] for net in value] for value in cell.inputs]
        self._set(index, [getattr(gates, _ONE_BIT[operator])(vectors[0])] if operator in _ONE_BIT
                  else self._arithmetic(operator, vectors))

    def _arithmetic(self, operator: str, vectors: list[list[int]]) -> list[int]:
        gates, first, last = self.gates, vectors[0], vectors[-1]
        if operator == "+":
            return gates.sums(first, last)
        if operator == "-":
            return gates.differences(first if len(vectors) > 1 else [0] * len(last), last)
        if operator == "*":
            return gates.products(first, last)
        if operator == "<<":
            return gates.left(first, last)
        if operator in ("u>>", "s>>"):
            return gates.right(first, last, len(first), 1, operator == "s>>")
        if operator in ("==", "!="):
            return [gates.equal(first, last) ^ (operator == "!=")]
        signed, relation = operator[0] == "s", operator[1:]
        if relation in ("<", ">="):
            return [gates.less(first, last, signed) ^ (relation == ">=")]
        if relation in (">", "<="):
            return [gates.less(last, first, signed) ^ (relation == "<=")]
        whole = gates.gate(operator, gates.gate("vector", *first), gates.gate("vector", *last))
        return [gates.gate(f"bit {bit}", whole) for bit in range(len(first))]

    def _part_nets(self, index: int, cell: Any, bit: int) -> Iterable[int]:
        return [*cell.value, *cell.offset]

    def _part(self, index: int, cell: Any, bit: int) -> None:
        value, offset = ([self.values[net] for net in nets] for nets in (cell.value, cell.offset))
        self._set(index, self.gates.right(value, offset, cell.width, cell.stride, cell.value_signed))

    def _matches_nets(self, index: int, cell: Any, bit: int) -> Iterable[int]:
        return cell.value

    def _matches(self, index: int, cell: Any, bit: int) -> None:
        value = [self.values[net] for net in cell.value]
        found = [self.gates.all_of(literal ^ (wanted == "0")
                                   for literal, wanted in zip(value, reversed(pattern), strict=True) if wanted != "-")
                 for pattern in cell.patterns]
        self._set(index, [self.gates.any_of(found)])

    def _priority_nets(self, index: int, cell: Any, bit: int) -> Iterable[int]:
        return [cell.en, *cell.inputs[:bit + 1]]

    def _priority(self, index: int, cell: Any, bit: int) -> None:
        enabled = self.values[cell.en]
        for number, net in enumerate(cell.inputs[:bit + 1]):
            literal = self.values[net]
            self.values[index << 16 | number] = self.gates.all_of((enabled, literal))
            enabled = self.gates.all_of((enabled, literal ^ 1))

    def _cover(self, index: int, cell: Any) -> list[list[tuple[int, int]]]:
        found = self.covering.get(index)
        if found is None:
            found = self.covering[index] = [[] for _ in cell.default]
            for each in cell.assignments:
                for bit, net in enumerate(each.value, each.start):
                    if bit < len(found):
                        found[bit].append((each.cond, net))
        return found

    def _assigned_nets(self, index: int, cell: Any, bit: int) -> Iterable[int]:
        return [cell.default[bit], *(net for each in self._cover(index, cell)[bit] for net in each)]

    def _assigned(self, index: int, cell: Any, bit: int) -> None:
        found = self.values[cell.default[bit]]
        for condition, net in self._cover(index, cell)[bit]:
            found = self.gates.choice(self.values[condition], self.values[net], found)
        self.values[index << 16 | bit] = found

    # --- state

    def _state(self, kind: str, seed: str, name: str, following: Callable[[], int]) -> int:
        """Return the literal of a new bit that is kept."""
        state = State(kind, seed, name, self.gates.fresh("state"))
        self.states.append(state)
        self.waiting.append((state, following))
        return state.literal

    def _flip_flop(self, index: int, cell: Any, bit: int) -> None:
        net = index << 16 | bit
        seed = f"flip-flop {cell.init >> bit & 1} {cell.clk_edge} {_sorted(cell.attributes)}"
        name = self.registers.get(net) or f"{self._module(cell)}.?[{bit}]"
        self.values[net] = self._state("flip-flop", seed, name, lambda: self.gates.gate(
            "flip-flop", *self.literals((cell.data[bit], cell.clk, cell.arst))))

    def column(self, index: int, bit: int) -> int:
        """Return the literal that stands for a bit of all rows of a memory."""
        found = self.columns.get((index, bit))
        if found is None:
            memory = self.cells[index]
            init = "".join(str(int(row) >> bit & 1) for row in memory.init)
            seed = f"memory {memory.width} {memory.depth} {init} {_sorted(memory.attributes)}"
            found = self.columns[index, bit] = self._state(
                "memory", seed, f"{self._module(memory)}.{memory.name}[{bit}]",
                lambda: self._writes(self.writers.get(index, ()), bit))
        return found

    def _writes(self, ports: Iterable[int], bit: int) -> int:
        """Return a gate that stands for what ports write into a bit of a memory."""
        written = []
        for cell in map(self.cells.__getitem__, ports):
            address = self.gates.gate("vector", *self.literals(cell.addr))
            rest = self.literals((cell.en[bit], cell.data[bit], cell.clk))
            written.append(self.gates.gate(f"write {cell.clk_edge}", address, *rest))
        return self.gates.gate("writes", *written)

    def _address(self, index: int, cell: Any, bit: int) -> Iterable[int]:
        return cell.addr

    def _read(self, index: int, cell: Any, bit: int) -> None:
        address = self.gates.gate("vector", *self.literals(cell.addr))
        self.values[index << 16 | bit] = self.gates.gate("read", self.column(cell.memory, bit), address)

    def _registered_read(self, index: int, cell: Any, bit: int) -> None:
        net = index << 16 | bit
        name = self.registers.get(net) or f"{self._module(cell)}.{self.cells[cell.memory].name} read[{bit}]"

        def following() -> int:
            address = self.gates.gate("vector", *self.literals(cell.addr))
            return self.gates.gate(
                "registered read", self.gates.gate("read", self.column(cell.memory, bit), address),
                *self.literals((cell.en, cell.clk)), self._writes(cell.transparent_for, bit))

        self.values[net] = self._state("read register", f"read register {cell.clk_edge}", name, following)

    # --- what is not known

    def _instance_output(self, index: int, cell: Any, bit: int) -> None:
        port, bit_of_port = next((port, bit - start) for port, (start, width) in cell.ports_o.items()
                                 if start <= bit < start + width)
        inputs = [net for _, value in sorted(cell.ports_i.items()) for net in value]
        self.values[index << 16 | bit] = self._state(
            "instance", f"{_instance(cell)} {port} {bit_of_port}",
            f"{self._module(cell)}.{cell.name}.{port}[{bit_of_port}]",
            lambda: self.gates.gate("vector", *self.literals(inputs)))

    def _pad_input(self, index: int, cell: Any, bit: int) -> None:
        self.values[index << 16 | bit] = self.gates.gate(f"from pad {self._pad(cell, bit)}")

    def _any_value(self, index: int, cell: Any, bit: int) -> None:
        number = sum(isinstance(each, _nir.AnyValue) for each in self.cells[:index])
        self.values[index << 16 | bit] = self.gates.gate(f"{cell.kind} {number} {bit}")

    def _initial(self, index: int, cell: Any, bit: int) -> None:
        self.values[index << 16] = self.gates.gate("initial")


def _instance(cell: Any) -> str:
    return f"instance {cell.type} {_sorted(cell.parameters)}"


def _sorted(values: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted((name, str(value)) for name, value in values.items())


_WAYS: dict[type, tuple[Callable[[_Reader, int, Any, int], Iterable[int]],
                        Callable[[_Reader, int, Any, int], None]]] = {
    _nir.Operator: (_Reader._operands, _Reader._operator),
    _nir.Part: (_Reader._part_nets, _Reader._part),
    _nir.Matches: (_Reader._matches_nets, _Reader._matches),
    _nir.PriorityMatch: (_Reader._priority_nets, _Reader._priority),
    _nir.AssignmentList: (_Reader._assigned_nets, _Reader._assigned),
    _nir.AsyncReadPort: (_Reader._address, _Reader._read),
    _nir.FlipFlop: (_Reader._nothing, _Reader._flip_flop),
    _nir.SyncReadPort: (_Reader._nothing, _Reader._registered_read),
    _nir.Instance: (_Reader._nothing, _Reader._instance_output),
    _nir.IOBuffer: (_Reader._nothing, _Reader._pad_input),
    _nir.AnyValue: (_Reader._nothing, _Reader._any_value),
    _nir.Initial: (_Reader._nothing, _Reader._initial),
}
"""Of each kind of cell: the nets that have to be there before a bit of it, and what makes that bit."""
