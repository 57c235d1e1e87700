"""Register block behind AXI4-Lite: a master of cocotbext-axi against the register map of the SystemRDL file."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.registers import ADDRESS_BITS, Register, register_map
from caesura.hw.control.register_block import value_layout
from caesura.hw.control.register_ports import KERNEL_BASE
from caesura.hw.export.tops import AxiRegisters
from caesura.sim.cocotb import Bench, parameters
from caesura.sim.cocotb.axi import axi_lite_master

KEPT = "inspect", "patience", "grace", "spared", "newcomer", "bus_share"
"""Registers that software writes and reads back."""
OWN = "inspect", "bus_share"
"""Those of them that are ports by themselves; the others go with commands."""


def block(**_: int) -> AxiRegisters:
    """Return the block."""
    return AxiRegisters(preset("tiny"))


def mask(register: Register) -> int:
    """Return the bits that a register has."""
    return sum((1 << field.width) - 1 << field.low for field in register.fields.values())


class Table:
    """Replaces the kernel slots by a memory that is read in the next cycle, and records the commands."""

    def __init__(self, bench: Bench):
        self.words: dict[tuple[int, int], int] = {}
        self.commands: list = []
        cocotb.start_soon(self._run(bench))

    async def _run(self, bench: Bench) -> None:
        while True:
            await RisingEdge(bench.clock)
            table, command = bench.table, bench.commands.command.value
            select, write = table.select.value, table.write.value
            table.read_data.value = self.words.get((select.kernel, select.word), 0)
            if write.valid:
                self.words[write.kernel, write.word] = write.data
            if command.valid:
                self.commands.append(command)


def driven(rng: random.Random, layout) -> dict[str, int]:
    """Return random values for the registers that hardware drives."""
    return {path: rng.getrandbits(32) & mask(register_map()[path]) for path in layout.members}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def keeps_to_the_register_map(dut):
    """Random reads and writes, whole and in part, to registers and to addresses that have none."""
    given, component = parameters(), block()
    bench, rng = await Bench.start(dut, component), random.Random(cocotb.RANDOM_SEED)
    table, registers = Table(bench), register_map()
    layout = value_layout(component.geometry)
    values = driven(rng, layout)
    bench.values.value = values
    master = axi_lite_master(bench, stall=0.3)
    model = {path: registers[path].reset for path in KEPT}
    known = {register.address for register in registers.values()}
    for path in (*model, *values):
        expected = model.get(path, values.get(path))
        assert await master.read_dword(registers[path].address) == expected, f"{path} after the reset"

    async def kept(path: str) -> None:
        word, register = rng.getrandbits(32), registers[path]
        await master.write_dword(register.address, word)
        model[path] = word & mask(register)
        assert await master.read_dword(register.address) == model[path], path
        port = getattr(bench if path in OWN else bench.commands, path)
        assert port.bits == model[path], f"what {path} tells the hardware"

    async def part(path: str) -> None:
        answer = await master.write(registers[path].address + rng.randrange(4), b"\xa5")
        assert answer.resp == AxiResp.SLVERR and await master.read_dword(registers[path].address) == model[path]

    async def slot() -> None:
        address = KERNEL_BASE + 4 * rng.randrange((1 << ADDRESS_BITS) - KERNEL_BASE >> 2)
        word = rng.getrandbits(32)
        await master.write_dword(address, word)
        own = next((path for path in values if registers[path].address == address), None)
        assert await master.read_dword(address) == (values[own] if own else word), hex(address)

    async def nothing() -> None:
        address = 4 * rng.randrange(KERNEL_BASE >> 2)
        if address not in known:
            await master.write_dword(address, rng.getrandbits(32))
            assert await master.read_dword(address) == 0, hex(address)

    async def commanded() -> None:
        register, word, before = registers["command"], rng.getrandbits(32), len(table.commands)
        await master.write_dword(register.address, word)
        assert len(table.commands) == before + 1, "a command is given once"
        fields = vars(table.commands[-1]) | {"valid": 1}
        assert fields == {"valid": 1, **register.unpack(word)}

    for _ in range(given.get("count", 150)):
        path = rng.choice(KEPT)
        await rng.choice((lambda p=path: kept(p), lambda p=path: part(p), slot, nothing, commanded))()
    assert table.commands
    values = {path: value ^ mask(registers[path]) for path, value in values.items()}
    bench.values.value = values
    for path, value in values.items():
        assert await master.read_dword(registers[path].address) == value, f"{path} with each bit as it was not"
    await _events(bench, master, rng)


async def _events(bench: Bench, master, rng: random.Random) -> None:
    """Bits of the event register are set by hardware, cleared by writing ones, and raise the interrupt."""
    register, model = register_map()["event"], 0
    for _ in range(40):
        pulse = rng.getrandbits(32) & mask(register) & rng.getrandbits(32)
        bench.events.set.value = pulse
        await RisingEdge(bench.clock)
        bench.events.set.value = 0
        model |= pulse
        assert await master.read_dword(register.address) == model
        cleared = rng.getrandbits(32)
        await master.write_dword(register.address, cleared)
        model &= ~cleared
        assert await master.read_dword(register.address) == model
        assert bench.interrupt.bits == bool(model) and bench.events.pending.bits == model
