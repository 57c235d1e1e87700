"""Single instructions as words of code, and a small golden model that executes them."""

from collections.abc import Sequence

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.formats import FIELDS, Format
from caesura.hw.arch.isa.words import Instruction, encode
from caesura.sim.golden.state.thread_block import ThreadBlock
from caesura.sim.golden.transport import GoldenTransport
from caesura.software.compiler import KernelImage
from support.sim.launch import Bench

__all__ = ["GEOMETRY", "field", "start", "word"]

GEOMETRY = preset("tiny").replace(warps=8)


def word(name: str, **fields: int) -> int:
    """Return the word of an instruction."""
    return encode(Instruction.make(name, **fields))


def field(name: str, form: Format, value: int) -> int:
    """Return a value at the place that a field has in a format, to make words that no assembler makes."""
    low, _ = FIELDS[form][name]
    return value << low


def start(*words: int, constants: bytes = b"", grid: Sequence[int] = (1,), block: Sequence[int] = (8,),
          params: Sequence[int] = ()) -> tuple[Bench, list[ThreadBlock]]:
    """Start a kernel; return the bench and the TBs that are resident."""
    transport = GoldenTransport(GEOMETRY, 1 << 16)
    bench = Bench(transport)
    image = KernelImage("k", (*words, word("exit")), 8, constants=constants)
    bench.load(0, image, grid, block, params)
    bench.start(0)
    transport.machine.manage()
    return bench, transport.machine.resident()
