"""The state of a kernel that runs on several SMs."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal, Value

from ..arch.commands import STATE_ORDER, KernelState

__all__ = ["STATE_ORDER", "common_state"]


def common_state(m: Module, states: Sequence, counts: Value, name: str) -> Signal:
    """Return the state of a kernel with the given `states` on the SMs that `counts` has a bit for;
    `IDLE` if there is none."""
    result = Signal(KernelState, name=name)
    for each in reversed(STATE_ORDER):
        with m.If((Cat(state == each for state in states) & counts).any()):
            m.d.comb += result.eq(each)
    return result
