"""What a netlist says of a block's timing: which outputs follow inputs within a cycle, and how many
registers lie at least between a stream in and a stream out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from amaranth.hdl import ClockDomain, Fragment, Value
from amaranth.hdl._ir import PortDirection, build_netlist
from amaranth.hdl._nir import FlipFlop, Net, Netlist, SyncReadPort, SyncWritePort, Top
from amaranth.lib import wiring

from .ports import Port

__all__ = ["LARGE", "Timing"]

LARGE = 40_000
"""Cells of a netlist that is not looked through: it is a whole unit, whose parts have timing."""


class Timing:
    """The timing of a block.

    Parameters
    ----------
    component : wiring.Component
        Fresh: it is elaborated.
    ports : sequence of Port

    Attributes
    ----------
    large : bool
        There are more than `LARGE` cells; then nothing is said.
    """

    def __init__(self, component: wiring.Component, ports: Iterable[Port]):
        self._ports = list(ports)
        self._waits = {path[:-1] for path, *_ in component.signature.flatten(component)
                       if path[-1] == "ready"}
        self._netlist = _netlist(component, self._ports)
        top = self._netlist.cells[0]
        assert isinstance(top, Top)
        self._outputs = {name: [self._netlist.resolve_net(net) for net in value]
                         for name, value in top.ports_o.items()}
        self._inputs: dict[int, str] = {}  # number of a bit of the top -> port
        for name, (start, width) in top.ports_i.items():
            self._inputs |= dict.fromkeys(range(start, start + width), name)
        self.large = len(self._netlist.cells) > LARGE
        self._writes: dict[int, list[SyncWritePort]] = {}
        for cell in self._netlist.cells:
            if isinstance(cell, SyncWritePort):
                self._writes.setdefault(cell.memory, []).append(cell)

    def streams(self) -> list[tuple[str, bool]]:
        """Return name and direction (whether out) of each stream."""
        return [("_".join(map(str, path)), output) for output in (False, True)
                for path in self._streams(output)]

    def within_cycle(self) -> dict[str, list[str]]:
        """Return for each output the inputs that it follows within a cycle, in the order of ports."""
        return {port.name: self._names(self._reached([port], through_registers=False))
                for port in self._ports if port.output}

    def latencies(self) -> dict[tuple[str, str], int]:
        """Return for pairs of a stream in and one out the fewest cycles from one to the other."""
        found = {}
        for out in self._streams(output=True):
            reached = self._reached([port for port in self._ports if port.path[:-1] == out
                                     and port.output], through_registers=True)
            for into in self._streams(output=False):
                cycles = [reached[port.inner] for port in self._ports
                          if port.path[:-1] == into and port.inner in reached and not port.output]
                if cycles:
                    found["_".join(map(str, into)), "_".join(map(str, out))] = min(cycles)
        return found

    def _names(self, reached: dict[str, int]) -> list[str]:
        return [port.name for port in self._ports if port.inner in reached]

    def _streams(self, output: bool) -> list[tuple[str | int, ...]]:
        return list(dict.fromkeys(port.path[:-1] for port in self._ports
                                  if port.path[-1] == "valid" and port.output == output
                                  and len(port.path) > 1 and port.path[:-1] in self._waits))

    def _reached(self, ports: list[Port], through_registers: bool) -> dict[str, int]:
        """Return the inputs that ports depend on, with the fewest registers between."""
        best: dict[Net, int] = {}
        found: dict[str, int] = {}
        queue = deque((net, 0) for port in ports for net in self._outputs[port.inner])
        while queue:
            net, cycles = queue.popleft()
            if net.is_const or best.get(net, cycles + 1) <= cycles:
                continue
            best[net] = cycles
            if net.cell == 0:
                name = self._inputs[net.bit]
                found[name] = min(found.get(name, cycles), cycles)
                continue
            for before, edges in self._before(net):
                if not edges:
                    queue.appendleft((before, cycles))
                elif through_registers:
                    queue.append((before, cycles + 1))
        return found

    def _before(self, net: Net) -> Iterator[tuple[Net, int]]:
        """Yield the nets that one depends on, and how many clock edges later."""
        resolve = self._netlist.resolve_net
        cell = self._netlist.cells[net.cell]
        if isinstance(cell, FlipFlop):
            yield resolve(cell.data[net.bit]), 1
            return
        memory = getattr(cell, "memory", None)
        if isinstance(cell, SyncReadPort):
            yield from ((resolve(before), 1) for before in (*cell.addr, cell.en))
        else:
            yield from ((resolve(before), 0) for before, _ in cell.comb_edges_to(net.bit))
        for write in self._writes.get(memory, []) if memory is not None else []:
            bits = [write.data[net.bit], *write.addr, *set(write.en)]
            yield from ((resolve(before), 1 + isinstance(cell, SyncReadPort)) for before in bits)


def _netlist(component: wiring.Component, ports: list[Port]) -> Netlist:
    domain = ClockDomain("sync")
    fragment = Fragment.get(component, None)
    fragment.add_domains(domain)
    wanted = {port.path: port for port in ports}
    values: dict[str, tuple[Value, PortDirection]] = {
        "clk": (domain.clk, PortDirection.Input), "rst": (domain.rst, PortDirection.Input)}
    for path, _, value in component.signature.flatten(component):
        if (port := wanted.get(path)) is not None:
            values[port.inner] = (Value.cast(value), PortDirection.Output if port.output
                                  else PortDirection.Input)
    netlist = build_netlist(fragment, ports=values, name="top")
    netlist.resolve_all_nets()
    return netlist
