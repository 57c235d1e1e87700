"""Common parts of the benches of the two pipelines: geometries, the current command, long pauses."""

from typing import Any

from cocotb.triggers import ClockCycles

from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.image.encodings import row_words
from caesura.sim.cocotb import Bench
from caesura.sim.cocotb.core_state import Kernel

__all__ = ["accepted", "geometry", "moody"]

SHAPES = {"tiny": {}, "beats": {"warp_size": 16, "lanes": 4, "bus_bytes": 16},
          "narrow": {"bus_bytes": 4, "bytes_per_cycle": 4.0},
          "plain": {"in_place": False, "tb_compressor": False, "checkpoints": False, "traps": False},
          "many": {"in_place": False, "checkpoints": False, "traps": False, "regs_per_thread": 64, "registers": 256,
                   "shared_bytes": 8192}}


def geometry(shape: str = "tiny", **_: int) -> Geometry:
    """Return the geometry of a shape."""
    return preset("tiny").replace(**SHAPES[shape])


def accepted(kernel: Kernel, mechanism: Mechanism, scramble: int) -> dict[str, Any]:
    """Return what the pipelines are told of a command on kernel 0."""
    return {"kernel": 0, "options": {"mechanism": int(mechanism), "scramble": scramble}, "generation": 1,
            "ccb_base": kernel.ccb_base, "area_bytes": kernel.area_bytes, "registers": kernel.registers,
            "warps": kernel.warps, "lines": kernel.lines, "allocated": (1 << kernel.registers) - 1,
            "row_words": row_words(kernel.registers)}


async def moody(bench: Bench, *agents: Any) -> None:
    """Let each agent take nothing, a part, or everything, for some time each."""
    rng = bench.generator()
    while True:
        for agent in agents:
            agent.stall = rng.choice((0.0, 0.3, 1.0))
        await ClockCycles(bench.clock, rng.choice((3, 30, 200)))
