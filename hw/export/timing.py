"""A block's timing, found in its netlist.

It says which outputs follow inputs within a cycle, and whether registers cut a bus from all other
ports. It also gives the fewest registers between a stream in and a stream out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from amaranth.hdl import ClockDomain, Fragment, Value
from amaranth.hdl._ir import PortDirection, build_netlist
from amaranth.hdl._nir import FlipFlop, Net, Netlist, SyncReadPort, SyncWritePort
from amaranth.lib import wiring

from .ports import Port

__all__ = ["LARGE", "Timing"]

LARGE = 40_000
"""Most cells of a block whose whole timing is printed.

`header` prints only the buses of a larger one: it is a whole unit, whose parts have timing.
"""


class Timing:
    """The timing of a block.

    Parameters
    ----------
    component : wiring.Component
        Component before its first elaboration; it is elaborated here.
    ports : sequence of Port

    Attributes
    ----------
    large : bool
        Whether there are more than `LARGE` cells.
    buses : list of str
        Its AXI buses: ports named ``axi``, or ending in ``_axi``.
    """

    def __init__(self, component: wiring.Component, ports: Iterable[Port]):
        self._ports = list(ports)
        self._waits = {path[:-1] for path, *_ in component.signature.flatten(component)
                       if path[-1] == "ready"}
        self._netlist: Any = _netlist(component, self._ports)  # the stubs know little of it
        top = self._netlist.cells[0]
        self._outputs = {name: [self._netlist.resolve_net(net) for net in value]
                         for name, value in top.ports_o.items()}
        self._inputs: dict[int, Any] = {}  # number of a bit of the top -> port
        for name, (start, width) in top.ports_i.items():
            self._inputs |= dict.fromkeys(range(start, start + width), name)
        members = [str(port.path[0]) for port in self._ports]
        self.buses = list(dict.fromkeys(name for name in members if name.split("_")[-1] == "axi"))
        self.large = len(self._netlist.cells) > LARGE
        self._writes: dict[int, list[Any]] = {}
        writes: list[Any] = [cell for cell in self._netlist.cells if type(cell) is SyncWritePort]
        for write in writes:
            self._writes.setdefault(write.memory, []).append(write)

    def streams(self) -> list[tuple[str, bool]]:
        """Return name and direction (whether out) of each stream."""
        return [("_".join(map(str, path)), output) for output in (False, True)
                for path in self._streams(output)]

    def within_cycle(self) -> dict[str, list[str]]:
        """Return, for each output, the inputs that it follows within a cycle, in their order."""
        return {port.name: self._names(self._reached([port], through_registers=False))
                for port in self._ports if port.output}

    def bus_paths(self) -> dict[str, list[str]]:
        """Return the paths within a cycle that AXI forbids (AMBA AXI specification, A3.1.1).

        They are, for an output of a bus, the inputs that it follows, and for another output the
        inputs of buses that it follows.

        Outputs without such paths are left out. So a bus that registers cut from everything else
        has none.
        """
        inputs = {port.inner for port in self._ports if not port.output}
        of_buses = {port.inner for port in self._ports if self._of_bus(port)}
        outputs = [port for port in self._ports if port.output]
        found = {}
        for group, wrong in (([port for port in outputs if port.inner in of_buses], inputs),
                             ([port for port in outputs if port.inner not in of_buses], of_buses)):
            if wrong & self._reached(group, through_registers=False).keys():  # all at once
                reached = {port: self._reached([port], through_registers=False) for port in group}
                found |= {port.name: [each.name for each in self._ports if each.inner in wrong
                                      and each.inner in inner] for port, inner in reached.items()}
        return {name: paths for name, paths in found.items() if paths}

    def _of_bus(self, port: Port) -> bool:
        return str(port.path[0]) in self.buses

    def latencies(self) -> dict[tuple[str, str], int]:
        """Return, for pairs of a stream in and one out, the fewest cycles from one to the other."""
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
                    queue.append((before, cycles + edges))
        return found

    def _before(self, net: Net) -> Iterator[tuple[Net, int]]:
        """Yield the nets that a net depends on, and how many clock edges later."""
        resolve = self._netlist.resolve_net
        cell: Any = self._netlist.cells[net.cell]
        kind = type(cell)
        if kind is FlipFlop:
            yield resolve(cell.data[net.bit]), 1
            return
        memory = getattr(cell, "memory", None)
        if kind is SyncReadPort:
            yield from ((resolve(before), 1) for before in (*cell.addr, cell.en))
        else:
            yield from ((resolve(before), 0) for before, _ in cell.comb_edges_to(net.bit))
        for write in self._writes.get(memory, []) if memory is not None else []:
            bits = [write.data[net.bit], *write.addr, *set(write.en)]
            yield from ((resolve(before), 1 + (kind is SyncReadPort)) for before in bits)


def _netlist(component: wiring.Component, ports: list[Port]) -> Netlist:
    domain: Any = ClockDomain("sync")
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
