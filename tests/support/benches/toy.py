"""The toy GPU of examples/toy_gpu: a thread block is preempted, another one runs, the first returns and ends right."""

import re
from typing import Any

import cocotb
from amaranth.lib import wiring
from cocotb.triggers import RisingEdge

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.registers import UNLIMITED_PATIENCE
from caesura.hw.export.tops import PreemptionUnit
from caesura.sim.cocotb import Bench, parameters
from caesura.sim.cocotb.axi import BurstMonitor, axi_memory
from caesura.sim.cocotb.contexts import read_context
from caesura.sim.cocotb.core_state import Kernel
from caesura.sim.cocotb.exported import exported_text
from caesura.software.job.geometry import load_geometry
from support.checkout import ROOT

EXAMPLE = ROOT / "examples" / "toy_gpu"
ROUNDS, WORD = 40, 0xFFFF_FFFF


def geometry() -> Geometry:
    """Return the toy's geometry: what it has not is left out of the unit."""
    return load_geometry(EXAMPLE / "toy.toml")


def component() -> wiring.Component:
    """Return the unit."""
    return PreemptionUnit(geometry())


def source(top: str, **_: int) -> str:
    """Return the SystemVerilog of the example with the unit that it wants."""
    name = "preemption_unit"
    files = [(EXAMPLE / file).read_text() for file in ("toy_core.sv", "toy_gpu.sv")]
    text = "\n".join([exported_text(component(), name), *files])
    return re.sub(r"^module toy_gpu\b", f"module {top}", text, flags=re.MULTILINE)


def registers(rounds: int) -> list[list[int]]:
    """Return the registers of a warp that has been so many times round."""
    first, second, third = list(range(8)), [0] * 8, [0] * 8
    for _ in range(rounds):
        second = [a + b & WORD for a, b in zip(second, first, strict=True)]
        third = [a ^ b for a, b in zip(third, second, strict=True)]
    return [first, second, third, [rounds] * 8]


class Toy:
    """Drives the example for the bench."""

    def __init__(self, dut, bench: Bench):
        self.dut, self.bench = dut, bench
        self.memory, self.bursts = axi_memory(bench, stall=0.3), BurstMonitor(bench)
        self.edge = RisingEdge(bench.clock)

    async def launch(self, kernel: int) -> None:
        """Start a thread block."""
        self.dut.launch.value, self.dut.launch_kernel.value = 1, kernel
        await self.edge
        self.dut.launch.value = 0
        await self.edge

    async def ends(self) -> None:
        """Wait until no thread block is on the core, and check what it leaves in register 2."""
        await self.edge
        while self.dut.busy.value:
            await self.edge
        results, lanes = self.dut.results.value.to_unsigned(), registers(ROUNDS)[2]
        assert results == sum(lane << 32 * k for k, lane in enumerate(lanes * 2)), f"{results:#x}"

    async def command(self, **fields: Any) -> None:
        """Give a command; it must end well."""
        command = self.bench.command
        command.payload.value, command.valid.value = {"patience": UNLIMITED_PATIENCE, **fields}, 1
        await self.edge
        while not command.ready.bits:
            await self.edge
        command.valid.value = 0
        while not (result := self.bench.result.value).valid:
            await self.edge
        assert result.error == CommandError.NONE
        await self.edge

    def saved(self, mechanism: Mechanism) -> int:
        """Check the context of the thread block of kernel 0; return how many times round its warps were."""
        kernel = Kernel(registers=4, warps=2, shared_bytes=0, area_bytes=0x400, ccb_base=0x4000)
        entry, block = read_context(self.memory.words, geometry(), kernel, 0)
        assert block is not None and entry["mechanism"] == mechanism and sorted(block.warps) == [0, 1]
        for warp in block.warps.values():
            (pc, mask, _), = warp.stack
            rounds = warp.registers[3][0] - (pc == 3)
            begun, done = registers(rounds), registers(rounds + 1)
            right = [(done if pc > r - 1 else begun)[r] for r in range(4)]
            assert [warp.registers[r] for r in range(4)] == right and mask == warp.live == 0xFF
            assert pc == 3 or mechanism == Mechanism.OCCUPIED
        return rounds


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_block_survives_its_preemption(dut):
    """By each mechanism the toy's unit has, at several times; meanwhile another block overwrites all registers."""
    bench = await Bench.start(dut, component(), partial=True)
    toy = Toy(dut, bench)
    await toy.launch(0)
    await toy.ends()
    for mechanism in (Mechanism.LIVE, Mechanism.LIVE_CP, Mechanism.OCCUPIED):
        seen = set()
        for cycles in range(3, 3 + parameters().get("count", 9)):
            await toy.launch(0)
            await bench.cycles(cycles)
            await toy.command(kernel=0, options={"mechanism": int(mechanism)})
            assert not dut.busy.value
            seen.add(toy.saved(mechanism))
            await toy.launch(1)
            await toy.ends()
            await toy.command(resume=1, kernel=0)
            await toy.ends()
        assert len(seen) > 1
    assert toy.bursts.reads and toy.bursts.writes
