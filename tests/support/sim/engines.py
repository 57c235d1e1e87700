"""The two engines of the golden model side by side: the same commands, then the same state."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from caesura.hw.arch.geometry import Geometry
from caesura.sim.golden.machine import Machine
from caesura.sim.golden.state.thread_block import ThreadBlock, Warp
from caesura.sim.golden.transport import GoldenTransport

__all__ = ["EnginePair", "machine_state"]


def _name(warp: Warp) -> tuple[int, int, int]:
    return warp.tb.kernel.index, warp.tb.launch_id, warp.index


def _warp_state(warp: Warp) -> dict[str, Any]:
    pending = warp.pending
    scalars = ("slot", "live", "launched", "valid", "dirty", "written", "uniforms_written", "waiting", "barrier",
               "parked", "yielding", "live_vector", "after_pp")
    return {name: getattr(warp, name) for name in scalars} | {
        "stack": [(entry.pc, entry.mask, entry.reconv) for entry in warp.stack], "predicates": list(warp.predicates),
        "uniforms": warp.uniforms.tolist(), "registers": warp.registers.tobytes(),
        "pending": pending and (pending.pc, pending.mask, sorted(pending.left), pending.old.tolist())}


def _block_state(tb: ThreadBlock) -> dict[str, Any]:
    scalars = ("launch_id", "ctaid", "slot", "base", "first_line", "local_base", "lines_valid", "lines_dirty", "begun",
               "instructions", "whole")
    return {name: getattr(tb, name) for name in scalars} | {
        "shared": tb.shared.tobytes(), "warps": [_warp_state(warp) for warp in tb.warps]}


def machine_state(machine: Machine) -> dict[str, Any]:
    """Return everything of a golden model that an instruction can change, as values that compare."""
    preemption = machine.preemption
    return {name: getattr(machine, name) for name in ("cycle", "retired", "events", "fault_count", "attention")} | {
        "memory": hashlib.sha256(machine.memory.data).hexdigest(), "fault": vars(machine.fault),
        "watches": machine.watches.words.tolist(), "ready": [_name(warp) for warp in machine.ready],
        "slots": [warp and _name(warp) for warp in machine.slots],
        "kernels": [(k.state, k.error, k.launched, k.completed, k.faults, k.entries, vars(k.profile), k.switches,
                     k.yields, {entry: vars(away).copy() for entry, away in k.left.items()})
                    for k in machine.kernels],
        "tbs": [tb and _block_state(tb) for tb in machine.tbs],
        "preemption": (preemption.kernel and preemption.kernel.index, machine.refusal, dict(preemption.counters))}


class EnginePair:
    """A golden model on each engine, given the same commands.

    Parameters
    ----------
    g : Geometry
    memory_bytes : int
    trace : bool
    """

    def __init__(self, g: Geometry, memory_bytes: int = 1 << 19, trace: bool = False):
        self.transports = [GoldenTransport(g, memory_bytes, trace=trace, seed=1, engine=engine)
                           for engine in ("numpy", "compiled")]
        self.trace = trace

    def each(self, do: Callable[[GoldenTransport], Any]) -> Any:
        """Do something with both; return what came of it, which must be the same."""
        expected, got = (do(transport) for transport in self.transports)
        assert expected == got, f"numpy {expected}, compiled {got}"
        return expected

    def check(self) -> None:
        """Compare all state, and the traces since the last time.

        Raises
        ------
        AssertionError
            With the first thing that differs.
        """
        expected, got = (machine_state(transport.machine) for transport in self.transports)
        for name, value in expected.items():
            assert got[name] == value, f"{name} at cycle {expected['cycle']}: numpy {value}, compiled {got[name]}"
        if self.trace:
            expected, got = (transport.take_trace() for transport in self.transports)
            assert len(expected) == len(got), (len(expected), len(got))
            assert (expected == got).all(), (expected[expected != got][:1], got[expected != got][:1])

    def exchange(self) -> None:
        """Let each engine go on with the state of the other."""
        numpy, compiled = (transport.snapshot() for transport in self.transports)
        self.transports[0].restore(compiled)
        self.transports[1].restore(numpy)
