"""A structured PTX kernel with its text and its interpretation thread by thread.

The interpreter does not depend on warps, stacks, registers or the compiler, so it is an independent judge of a kernel's
meaning. A statement is a node with `write` (PTX lines) and `run` (a generator that yields at barriers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Thread", "Writer", "Line", "If", "Loop", "Leave", "Barrier", "Return", "Guard", "Node", "run_block"]

Guard = tuple[str, bool]
"""Predicate register, and whether it is negated."""


class Thread:
    """State of one thread: register values by name, and its memories."""

    def __init__(self, values: dict[str, int], shared: bytearray, output: memoryview, inputs: bytes):
        self.values = values
        self.shared = shared
        self.output = output
        self.inputs = inputs

    def get(self, operand: str | int, bits: int = 32) -> int:
        """Return a register or an immediate as an unsigned number of `bits`."""
        value = operand if isinstance(operand, int) else self.values[operand]
        return value & (1 << bits) - 1

    def holds(self, guard: Guard | None) -> bool:
        """Return whether a guard holds for the thread."""
        return guard is None or bool(self.values[guard[0]]) != guard[1]


class Writer:
    """Collects PTX lines and makes labels."""

    def __init__(self):
        self.lines: list[str] = []
        self.loops: list[tuple[str, str]] = []
        self._labels = 1

    def label(self) -> str:
        """Return a fresh label."""
        self._labels += 1
        return f"$L__BB0_{self._labels}"

    def place(self, label: str) -> None:
        """Put a label here."""
        self.lines += ["", f"{label}:"]

    def line(self, text: str, guard: Guard | None = None) -> None:
        """Append an instruction."""
        prefix = f"@{'!' if guard[1] else ''}{guard[0]} " if guard else ""
        self.lines.append(f"\t{prefix}{text};")


class _Left(Exception):
    """Raised to leave a loop or the kernel."""

    def __init__(self, how: str):
        super().__init__(how)
        self.how = how


class Node:
    """A statement."""

    def write(self, out: Writer) -> None:
        """Append the statement's PTX."""
        raise NotImplementedError

    def run(self, thread: Thread) -> Iterator[None]:
        """Execute the statement for one thread; yields at every barrier."""
        raise NotImplementedError


@dataclass
class Line(Node):
    """One instruction; `effect` is None where the interpreter need not follow (addresses)."""

    text: str
    effect: Callable[[Thread], None] | None = None
    guard: Guard | None = None

    def write(self, out: Writer) -> None:
        """Append the instruction."""
        out.line(self.text, self.guard)

    def run(self, thread: Thread) -> Iterator[None]:
        """Apply the effect."""
        if self.effect is not None and thread.holds(self.guard):
            self.effect(thread)
        yield from ()


@dataclass
class If(Node):
    """A conditional: threads for which `guard` holds do `then`, the others `other`."""

    guard: Guard
    then: Sequence[Node]
    other: Sequence[Node] = ()

    def write(self, out: Writer) -> None:
        """Write a branch around `then`, as nvcc does."""
        skip = out.label()
        out.line(f"bra {skip}", (self.guard[0], not self.guard[1]))
        for node in self.then:
            node.write(out)
        if self.other:
            end = out.label()
            out.line(f"bra.uni {end}")
            out.place(skip)
            for node in self.other:
                node.write(out)
            skip = end
        out.place(skip)

    def run(self, thread: Thread) -> Iterator[None]:
        """Run the side that the guard chooses."""
        for node in self.then if thread.holds(self.guard) else self.other:
            yield from node.run(thread)


@dataclass
class Loop(Node):
    """A loop that runs its body `counter` times, at least once without `test_first`. The body keeps the counter."""

    counter: str
    predicate: str
    body: Sequence[Node]
    test_first: bool = False

    def write(self, out: Writer) -> None:
        """Write a loop with its test at the end or at the head."""
        head, latch, end = out.label(), out.label(), out.label()
        out.place(head)
        if self.test_first:
            out.line(f"setp.lt.s32 {self.predicate}, {self.counter}, 1")
            out.line(f"bra {end}", (self.predicate, False))
        out.loops.append((latch, end))
        for node in self.body:
            node.write(out)
        out.loops.pop()
        out.place(latch)
        out.line(f"add.s32 {self.counter}, {self.counter}, -1")
        if self.test_first:
            out.line(f"bra.uni {head}")
        else:
            out.line(f"setp.gt.s32 {self.predicate}, {self.counter}, 0")
            out.line(f"bra {head}", (self.predicate, False))
        out.place(end)

    def run(self, thread: Thread) -> Iterator[None]:
        """Run the body until the counter or a `Leave` ends the loop."""
        values = thread.values
        while not self.test_first or values[self.counter] > 0:
            try:
                for node in self.body:
                    yield from node.run(thread)
            except _Left as left:
                if left.how == "break":
                    return
                if left.how != "continue":
                    raise
            values[self.counter] -= 1
            if values[self.counter] <= 0:
                return


@dataclass
class Leave(Node):
    """``break`` or ``continue`` of the innermost loop, for threads whose guard holds."""

    guard: Guard
    how: str

    def write(self, out: Writer) -> None:
        """Write a branch to the loop's latch or end."""
        latch, end = out.loops[-1]
        out.line(f"bra {end if self.how == 'break' else latch}", self.guard)

    def run(self, thread: Thread) -> Iterator[None]:
        """Leave if the guard holds."""
        if thread.holds(self.guard):
            raise _Left(self.how)
        yield from ()


@dataclass
class Barrier(Node):
    """A barrier of all threads of the TB."""

    number: int = 0

    def write(self, out: Writer) -> None:
        """Append the barrier."""
        out.line(f"bar.sync \t{self.number}")

    def run(self, thread: Thread) -> Iterator[None]:
        """Wait for the other threads."""
        yield


@dataclass
class Return(Node):
    """An exit of the threads whose guard holds."""

    guard: Guard | None = None

    def write(self, out: Writer) -> None:
        """Append the return."""
        out.line("ret", self.guard)

    def run(self, thread: Thread) -> Iterator[None]:
        """End the thread."""
        if thread.holds(self.guard):
            raise _Left("return")
        yield from ()


def _steps(nodes: Sequence[Node], thread: Thread) -> Iterator[None]:
    try:
        for node in nodes:
            yield from node.run(thread)
    except _Left as left:
        assert left.how == "return"


def run_block(nodes: Sequence[Node], threads: Sequence[Thread]) -> None:
    """Run the threads of a TB from barrier to barrier until all have ended.

    Raises
    ------
    RuntimeError
        If some threads wait at a barrier that other running threads never reach.
    """
    running = [_steps(nodes, thread) for thread in threads]
    while running:
        waiting = []
        for steps in running:
            try:
                next(steps)
                waiting.append(steps)
            except StopIteration:
                pass
        if waiting and len(waiting) != len(running):
            raise RuntimeError(f"{len(waiting)} of {len(running)} threads wait at a barrier")
        running = waiting
