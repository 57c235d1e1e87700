"""`EventEngine`: builds the processes of a design and runs those that are due."""
# The stubs of Amaranth lack its private parts:
# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false

from heapq import heappop, heappush
from typing import Any

import networkx
from amaranth.hdl import Cat, Signal, Value
from amaranth.hdl._ast import Print, Slice
from amaranth.hdl._mem import MemoryInstance
from amaranth.sim._pyeval import eval_value  # pyright: ignore[reportMissingImports]
from amaranth.sim.pysim import PySimEngine

from .code import Code, Names
from .split import leaves, split
from .state import Process, State

__all__ = ["EventEngine"]


class EventEngine(PySimEngine):
    """A substitute of `amaranth.sim.pysim.PySimEngine` for ``amaranth.sim.Simulator(dut, engine=EventEngine)``.

    Parameters
    ----------
    design : amaranth.hdl._ir.Design
        Design that `Simulator` made.

    Raises
    ------
    NotImplementedError
        If the design has an asynchronous reset, or a waveform is asked for.
    """

    def __init__(self, design: Any):
        self._design = design
        self._state: State = State()
        self._names = Names(self._state)
        self._processes: set = set()
        self._testbenches: list = []
        self._delta_cycles = 0
        self._vcd_writers: list = []
        self._active_triggers: set = set()
        self._comb: dict[Process, Code] = {}
        self._sync: dict[Process, Code] = {}
        self._edges: dict[tuple[int, int], set[Process]] = {}
        """Processes that run at the next edge of each clock, by clock and polarity."""
        self._due: list[Process] = []
        """Clocked processes whose edge has come."""
        self._bodies: list[tuple[Process, str]] = []
        self._ranked: list[Process] = []
        """Combinational processes by rank."""
        self._add(design.fragment)
        self._compile()
        self._connect()
        self._begin()

    # Building

    def _add(self, fragment: Any) -> None:
        """Add the processes of a module and of those inside it."""
        for name, statements in fragment.statements.items():
            for group in split(statements):
                self._add_statements(group, None if name == "comb" else fragment.domains[name])
        if isinstance(fragment, MemoryInstance):
            for name in dict.fromkeys(port._domain for port in (*fragment._read_ports, *fragment._write_ports)):
                self._add_memory(fragment, name)
        for subfragment, _, _ in fragment.subfragments:
            self._add(subfragment)

    def _process(self, domain: Any) -> Process:
        """Return a process of a clock domain, or a combinational process if there is no domain."""
        if domain is None:
            return Process()
        if domain.async_reset and domain.rst is not None:
            raise NotImplementedError(f"the reset of domain {domain.name!r} is asynchronous; use Amaranth's own engine")
        polarity = 1 if domain.clk_edge == "pos" else 0
        key = self._state.get_signal(domain.clk), polarity
        if key not in self._edges:
            dirty = self._edges[key] = set()

            def edge(_: int, value: int) -> bool:
                if value == polarity:
                    self._due.extend(dirty)
                    dirty.clear()
                return True

            self._state.slot(domain.clk).add_waker(edge)
        return Process(self._edges[key])

    def _start(self, code: Code, domain: Any) -> None:
        if domain is None:
            for signal in code.outputs:
                self._state.slot(signal).is_comb = True
        code.begin(comb=domain is None)

    def _finish(self, process: Process, code: Code, domain: Any) -> None:
        self._bodies.append((process, code.finish(comb=domain is None)))
        (self._comb if domain is None else self._sync)[process] = code

    def _add_statements(self, statements: list[Any], domain: Any) -> None:
        process, code = self._process(domain), Code(self._names)
        code.masks.visit_stmt(statements)
        self._start(code, domain)
        code.statements(statements)
        if domain is not None:
            code.reset(domain.rst)
            if any(isinstance(leaf, Print) for leaf in leaves(statements)):  # it prints at every edge
                name = f"again_{len(self._bodies)}"
                self._names[name] = lambda: process.dirty.add(process)
                code.append(f"{name}()")
        self._finish(process, code, domain)

    def _add_memory(self, fragment: MemoryInstance, name: str) -> None:
        """Add the ports of a memory that belong to one domain."""
        domain = None if name == "comb" else fragment.domains[name]
        memory = self._state.get_memory(fragment._data)
        process, code = self._process(domain), Code(self._names)
        reads = [port for port in fragment._read_ports if port._domain == name]
        for port in reads:
            code.masks.visit_value(port._data, ~0)
        self._start(code, domain)
        written = {}
        for number, port in enumerate(fragment._write_ports):
            if port._domain == name:
                written[number] = self._write(code, memory, port)
        for port in reads:
            code.append("if True:" if domain is None else f"if {code.bits(port._en)}:")
            with code.indent():
                address = code.variable("read_addr", code.bits(port._addr))
                data = code.variable("read_data", f"slots[{memory}].read({address})")
                for number in port._transparent_for:
                    at, value, enable = written[number]
                    code.append(f"if {address} == {at}:")
                    with code.indent():
                        code.append(f"{data} = {data} & ~{enable} | {value} & {enable}")
                code.assign(port._data)(data)
        self._finish(process, code, domain)

        def wake() -> bool:
            """Queue the process after a change of the memory."""
            if process.dirty is not None:
                process.dirty.add(process)
            elif not process.queued:
                process.queued = True
                heappush(self._state.queue, process.rank)
            return True

        self._state.slots[memory].add_waker(wake)

    @staticmethod
    def _write(code: Code, memory: int, port: Any) -> tuple[str, str, str]:
        """Append the code of a write port; return the names of address, data and mask."""
        address = code.variable("write_addr", code.bits(port._addr))
        data = code.variable("write_data", code.bits(port._data))
        enable = code.variable("write_en", code.bits(Cat(bit.replicate(port._granularity) for bit in port._en)))
        code.append(f"if {enable}:")
        with code.indent():
            code.append(f"slots[{memory}].write({address}, {data}, {enable})")
        return address, data, enable

    def _compile(self) -> None:
        """Turn the bodies of all processes into functions, at once."""
        lines = [f"def run_{number}():\n{body}" for number, (_, body) in enumerate(self._bodies)]
        exec(compile("\n".join(lines), "<simulation>", "exec"), self._names)
        for number, (process, _) in enumerate(self._bodies):
            process.run = self._names[f"run_{number}"]
        self._bodies.clear()
        self._names.shapes.clear()

    def _connect(self) -> None:
        """Tell each signal its readers, and rank the combinational processes by their dependencies."""
        for process, code in self._comb.items():
            for signal in code.inputs:
                self._state.slot(signal).comb.append(process)
        for process, code in self._sync.items():
            for signal in code.inputs:
                self._state.slot(signal).sync.append(process)
            for signal in code.outputs:
                self._state.slot(signal).drivers.append(process)
        graph = networkx.DiGraph()
        graph.add_nodes_from(self._comb)
        for process, code in self._comb.items():
            graph.add_edges_from((process, reader) for signal in code.outputs
                                 for reader in self._state.slot(signal).comb)
        rings = networkx.condensation(graph)
        self._ranked = [process for ring in networkx.topological_sort(rings)
                        for process in rings.nodes[ring]["members"]]
        for rank, process in enumerate(self._ranked):
            process.rank = rank

    # Running

    def _begin(self) -> None:
        """Queue all processes for evaluation."""
        self._due.clear()
        self._state.queue[:] = range(len(self._ranked))
        for process in self._comb:
            process.queued = True
        for process in self._sync:
            process.dirty.add(process)

    def reset(self) -> None:
        """Return to the initial state."""
        super().reset()
        self._begin()

    def step_design(self) -> None:
        """Run triggers, clocks and registers, then logic in its order, until nothing changes any more."""
        queue, ranked, pending, due = self._state.queue, self._ranked, self._state.pending, self._due
        busy = True
        while busy:
            for trigger in self._active_triggers:
                trigger.run()
            self._active_triggers.clear()
            for process in self._processes:
                if process.runnable:
                    process.runnable = False
                    process.run()
            if due:
                now = due[:]
                due.clear()
                for process in now:
                    process.run()
            changed = bool(pending) and not self._state.commit()
            while queue:
                process = ranked[heappop(queue)]
                process.queued = False
                process.run()
            busy = changed or due or pending or self._active_triggers

    def get_value(self, expr: Any) -> int:
        """Return the value of an expression; values of signals and their fields need no evaluation."""
        value = expr if isinstance(expr, Signal) else Value.cast(expr)
        if isinstance(value, Signal):
            return self._state.slot(value).curr
        if isinstance(value, Slice) and isinstance(value.value, Signal):
            return self._state.slot(value.value).curr >> value.start & (1 << value.stop - value.start) - 1
        return eval_value(self._state, value)

    def write_vcd(self, **_: Any) -> Any:
        """Refuse."""
        raise NotImplementedError("waveforms are written by Amaranth's own engine")
