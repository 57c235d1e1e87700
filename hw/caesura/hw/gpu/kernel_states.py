"""The state of a kernel that runs on several SMs."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal, Value

from ..arch.commands import KernelState

__all__ = ["STATE_ORDER", "common_state"]

STATE_ORDER = (KernelState.KILLING, KernelState.PREEMPTING, KernelState.RESUMING,
               KernelState.ADOPTING, KernelState.PREEMPTED, KernelState.RUNNING,
               KernelState.FINISHED)
"""Of the states of a kernel on its SMs, the first of these that any has is the kernel's; so it is
preempted while something is saved on any."""


def common_state(m: Module, states: Sequence, counts: Value, name: str) -> Signal:
    """Return the state of a kernel with the given `states` on the SMs that `counts` has a bit for;
    `IDLE` if there is none."""
    result = Signal(KernelState, name=name)
    for each in reversed(STATE_ORDER):
        with m.If((Cat(state == each for state in states) & counts).any()):
            m.d.comb += result.eq(each)
    return result
