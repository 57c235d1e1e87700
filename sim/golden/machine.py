"""The SM of the golden model in time: one instruction per cycle, with launches, saves and restores in between."""

from __future__ import annotations

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import ALIGNED, Geometry

from .execution import Execution
from .native.compiled import Compiled
from .native.engine import Engine
from .preemption.sequence import Preemption
from .semantics.atomic_order import OrderMismatch
from .state.kernel import Descriptor, Kernel
from .state.staying import Staying
from .state.thread_block import ThreadBlock
from .yielding import Yielding

__all__ = ["Machine"]

LAP = 256
"""Instructions that numpy executes until the engine is asked again."""


class Machine(Execution):
    """One SM; a cycle executes one warp instruction, warps taking turns.

    Parameters
    ----------
    g : Geometry
    memory_bytes : int
    trace, check_bounds : bool
        See `Execution`.
    engine : Engine, optional
        Says when the compiled engine executes; without it numpy always does.

    Attributes
    ----------
    preemption : Preemption
    yielding : Yielding
    refusal : CommandError
        Why the last command was refused, `NONE` if it was taken.
    """

    def __init__(self, g: Geometry, memory_bytes: int, trace: bool = False, check_bounds: bool = False,
                 engine: Engine | None = None):
        super().__init__(g, memory_bytes, trace, check_bounds)
        self.preemption = Preemption(self)
        self.yielding = Yielding(self, self.preemption)
        self.refusal = CommandError.NONE
        self.engine = engine
        self._compiled: Compiled | None = None

    def __getstate__(self):
        state = super().__getstate__()
        del state["engine"], state["_compiled"]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self.engine = self._compiled = None

    def synchronize(self, tb: ThreadBlock) -> None:
        """Fetch the state of a TB from the compiled engine, if that holds it."""
        if self._compiled:
            self._compiled.pull_block(tb)

    def tb_ended(self, tb: ThreadBlock) -> None:
        """Tell the announcement of a TB that has ended by itself."""
        self.preemption.announced.ended(tb)

    def place(self, tb: ThreadBlock, back: Staying | None = None) -> None:
        """Make a TB resident, as `Execution.place`; it is not away any more."""
        self.yielding.forget(tb.kernel, tb.entry)
        super().place(tb, back)

    def leaves(self, tb: ThreadBlock) -> bool:
        """Whether a TB, all of whose warps wait at a ``bar.yield``, leaves the SM now; then it is gone."""
        return self.yielding.leave(tb)

    def forget_away(self, kernel: Kernel) -> None:
        """No TB of a kernel is away any more."""
        self.yielding.forget(kernel)

    def notify(self, begin: int, end: int) -> None:
        """Let TBs of this SM come back that wait for a segment with bytes of [`begin`, `end`)."""
        self.watches.notify(self.number, begin, end)
        self.attention = True

    # Time

    def advance(self, cycles: int, until_event: bool = False) -> int:
        """Let `cycles` pass, fewer if `until_event` and an event bit is set; return the cycles passed.

        Raises
        ------
        OrderMismatch
            If the atomics do not happen in the order to follow.
        """
        engine, passed = self.engine, 0
        compiled = self._in_engine(engine, cycles)
        try:
            while passed < cycles:
                if until_event and self.events:
                    return passed
                self.cycle += 1
                if self.attention or self.preemption.overdue:
                    self.attention = False
                    if compiled and (self.preemption.busy or self.preemption.announced.victims):
                        compiled.pull()
                    self.manage()
                if self.ready and compiled:
                    passed += compiled.run(1 if until_event and self.events else self.preemption.most(cycles - passed))
                elif self.ready:
                    self.step(self.ready.popleft())
                    passed += 1
                    if engine and passed % LAP == 0:
                        engine.lap()
                        compiled = self._in_engine(engine, cycles - passed)
                elif self.order and self.order.waits:
                    raise OrderMismatch(self.order.stuck())
                elif self.attention or until_event and self.events:
                    passed += 1
                else:
                    self.cycle += cycles - passed - 1
                    break
        finally:
            if compiled:
                compiled.pull()
            elif engine:
                engine.lap()
        return cycles

    def _in_engine(self, engine: Engine | None, cycles: int) -> Compiled | None:
        """Return what executes the next `cycles` cycles, None for numpy."""
        if engine is None or not engine.pays(cycles) or engine.library is None:
            return None
        if self._compiled is None:
            self._compiled = Compiled(self, engine.library)
        return self._compiled

    def manage(self) -> None:
        """Save and restore, launch the TBs that have room, and finish kernels."""
        self.preemption.progress()
        held = self.yielding.bring_back() or self.preemption.holds_launches
        for kernel in self.kernels:
            if kernel.state is KernelState.PREEMPTED and (kernel.others or len(kernel.progress.kernels) > 1):
                self._finish(kernel)
            if kernel.state is not KernelState.RUNNING:
                continue
            while not (kernel.exhausted or held) and kernel.has_entry and self.preemption.finds_room(kernel):
                launch_id, place = kernel.take_tb()
                tb = ThreadBlock(self.g, kernel, launch_id)
                tb.entry = kernel.take_entry()
                tb.local_base = kernel.region_address(tb.entry)
                tb.ctaid = place
                self.place(tb)
                self.yielding.take_turns()
            self._finish(kernel)

    def _finish(self, kernel: Kernel) -> None:
        """Finish a kernel all of whose TBs have ended."""
        if kernel.done:
            kernel.state = KernelState.FINISHED
            self.raise_event("finished", kernel.index)

    def start(self, kernel: Kernel, descriptor: Descriptor) -> CommandError:
        """Start a kernel from its descriptor, or return why that can never be; then nothing has changed."""
        if error := self._load(kernel, descriptor):
            return error
        kernel.state = KernelState.RUNNING
        self.attention = True
        return CommandError.NONE

    def adopt(self, kernel: Kernel, descriptor: Descriptor) -> CommandError:
        """Begin to take a kernel over from memory, or return why that can never be; then nothing has changed."""
        if error := self._load(kernel, descriptor):
            return error
        self.preemption.adopt(kernel)
        return CommandError.NONE

    def _load(self, kernel: Kernel, descriptor: Descriptor) -> CommandError:
        """Give a slot another kernel, or return why there can be none."""
        if not descriptor.fits(self.g):
            return CommandError.TOO_LARGE
        if any(getattr(descriptor, name) % multiple for name, multiple in ALIGNED.items()):
            return CommandError.MISPLACED
        self.yielding.forget(kernel)
        kernel.load(descriptor)
        self.decoder.forget(kernel)
        return CommandError.NONE
