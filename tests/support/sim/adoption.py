"""Kernels that one machine has preempted and another takes over: memory and descriptor carried across, lies planted."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, CCB_RECORD
from caesura.hw.arch.registers import register_map
from caesura.software.compiler import CompileOptions, KernelImage, compile_ptx
from caesura.software.driver.machine.transport import Transport
from support.sim.launch import Bench, Loaded, argument_words

__all__ = ["Steps", "carry", "entry", "generations", "record", "steps", "write_entry", "write_record"]

_PTX = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry steps(.param .u64 output, .param .u64 counters, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<20>;
    .reg .b64 %a<8>;
    .shared .align 4 .b8 mine[256];
    .local .align 4 .b8 kept[4];
    ld.param.u64 %a0, [output];
    ld.param.u64 %a1, [counters];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.z;
    mov.u32 %r3, %nctaid.y;
    mov.u32 %r4, %ctaid.y;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    mov.u32 %r3, %nctaid.x;
    mov.u32 %r4, %ctaid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r5, %r2, %r3, %r1;
    mul.wide.u32 %a2, %r5, 4;
    add.u64 %a0, %a0, %a2;
    add.u64 %a1, %a1, %a2;
    mov.u64 %a3, mine;
    mul.wide.u32 %a4, %r1, 4;
    add.u64 %a4, %a3, %a4;
    xor.b32 %r6, %r1, 1;
    mul.wide.u32 %a5, %r6, 4;
    add.u64 %a5, %a3, %a5;
    mov.u64 %a6, kept;
    add.u32 %r7, %r5, 1;
    and.b32 %r8, %r2, 3;
    add.u32 %r0, %r0, %r8;
    mov.u32 %r8, 0;
ROUND:
    mad.lo.u32 %r7, %r7, 1664525, 1013904223;
    st.local.u32 [%a6], %r7;
    st.shared.u32 [%a4], %r7;
    red.global.add.u32 [%a1], 1;
    bar.sync 0;
    ld.shared.u32 %r9, [%a5];
    ld.local.u32 %r10, [%a6];
    bar.sync 0;
    shr.u32 %r9, %r9, 3;
    add.u32 %r7, %r9, %r10;
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p0, %r8, %r0;
    @%p0 bra ROUND;
    st.global.u32 [%a0], %r7;
    ret;
}
"""


def steps(shared: int = 256) -> KernelImage:
    """Return a kernel with so many bytes of shared memory of which each thread stores a number it has computed in
    steps, the more the later its TB, and counts the steps in memory: done twice, or not at all, they show. Arguments
    ``output``, ``counters``, ``rounds``."""
    return compile_ptx(_PTX.replace("mine[256]", f"mine[{shared}]"), options=CompileOptions(max_registers=16))["steps"]


class Steps:
    """That kernel in slot 0 of a machine, its memory cleared.

    Parameters
    ----------
    bench : Bench
    grid : tuple of int
    threads : int
        Of a TB, even.
    rounds : int
    shared : int
        Bytes of shared memory of a TB, a word a thread at least.
    entries : int
        Of its context control block; 0: as many as the machine has TB slots.
    """

    def __init__(self, bench: Bench, grid: tuple[int, int, int], threads: int = 12, rounds: int = 3, shared: int = 256,
                 entries: int = 0):
        self.bench, self.size = bench, 4 * threads * grid[0] * grid[1] * grid[2]
        self.output, self.counters = bench.store(bytes(self.size)), bench.store(bytes(self.size))
        image = steps(shared)
        words = argument_words(image, self.output, self.counters, rounds)
        self.loaded = bench.load(0, image, grid, (threads,), words, entries=entries)

    def read(self, bench: Bench) -> bytes:
        """Return what it has written to the memory of a machine."""
        read = bench.transport.read_memory
        return read(self.output, self.size) + read(self.counters, self.size)


def carry(old: Bench, transport: Transport, first: int = 0x1000) -> Bench:
    """Give a fresh machine the memory of another, and the descriptor of its kernel 0: all that adopting it needs; what
    its bench allocates begins at `first`."""
    transport.write_memory(0, old.transport.read_memory(0, old.transport.memory_bytes))
    for path, register in register_map().items():
        if path.startswith("kernel[0].") and register.writable:
            transport.write_register(register.address, old.transport.read_register(register.address))
    return Bench(transport, first)


def _read(transport: Transport, layout, address: int) -> dict[str, int]:
    return context.from_words(layout, np.frombuffer(transport.read_memory(address, layout.size // 8), "<u4"))


def _write(transport: Transport, layout, address: int, fields: dict[str, int]) -> None:
    words = context.to_words(layout, **fields)
    words[1] = context.entry_crc(words)
    transport.write_memory(address, np.array(words, "<u4").tobytes())


def record(transport: Transport, loaded: Loaded) -> dict[str, int]:
    """Return the fields of a kernel's record."""
    return _read(transport, CCB_RECORD, context.record_address(transport.geometry, loaded.ccb_base))


def write_record(transport: Transport, loaded: Loaded, **changes: int) -> None:
    """Change fields of a kernel's record, and its checksum with them."""
    fields = record(transport, loaded) | changes
    _write(transport, CCB_RECORD, context.record_address(transport.geometry, loaded.ccb_base), fields)


def entry(transport: Transport, loaded: Loaded, index: int) -> dict[str, int]:
    """Return the fields of an entry, on the side that the record names."""
    return _read(transport, CCB_ENTRY, _address(transport, loaded, index))


def write_entry(transport: Transport, loaded: Loaded, index: int, **changes: int) -> None:
    """Change fields of an entry, and its checksum with them."""
    fields = entry(transport, loaded, index) | changes
    _write(transport, CCB_ENTRY, _address(transport, loaded, index), fields)


def _address(transport: Transport, loaded: Loaded, index: int) -> int:
    side = record(transport, loaded)["sides"] >> index & 1
    return context.entry_address(loaded.ccb_base, context.place_of(transport.geometry, index, side))


def generations(g: Geometry, saved: dict[int, int]) -> int:
    """Return the checksum of generations by entry."""
    return context.generations_crc([saved.get(index, 0) for index in range(g.context_entries)])
