"""Geometry of a device and its streaming multiprocessors (SMs): every size in the project, once.

Nothing else in the project holds a size. A `Geometry` is frozen and validated; the named presets
are in `PRESETS`; tests derive variants with `dataclasses.replace(preset, warps=8)`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass

from caesura.errors import InputError

__all__ = ["Geometry", "PRESETS", "preset"]

SEGMENT_BYTES = 128
"""Bytes of a memory segment: the unit of coalescing, of shared-memory lines and of cache lines."""
ALIGNED = {"param_base": 16, "const_base": SEGMENT_BYTES}
"""Registers of a kernel that the SM takes multiples of alone: a start or an adoption of another is
refused."""
WORD_BYTES = 4
"""Bytes of one lane's share of a vector register."""
CHUNK_WORDS = 4
"""Words by which metadata and compressed registers of a context image are moved."""
INSTRUCTION_BYTES = 8
"""Bytes of one instruction word."""
REGISTER_BANKS = 4
"""Banks of the vector register file; register ranges start at multiples of this."""
MAX_REGISTERS = 64
"""Architectural vector registers a thread can name."""
MIN_REGISTERS = 8
"""Vector registers a thread can have at least:
with fewer there are kernels that no spilling makes room for."""
MAX_SHARED_BYTES = (1 << 20) - SEGMENT_BYTES
"""Bytes of shared memory: those of a TB are counted in 20 bits."""
MAX_PARAM_BYTES = (1 << 16) - WORD_BYTES
"""Bytes of a kernel's parameters: they are counted in 16 bits."""
PREDICATES = 7
"""Writable predicate registers; number 7 reads as true."""
UNIFORMS = 32
"""Uniform (scalar) registers of a warp, each 32 bits."""
BARRIERS = 16
"""Named barriers a thread block can use."""
PC_BITS = 25
"""Bits of a program counter, in instruction words; all ones means "none" as a reconvergence PC."""
PC_NONE = (1 << PC_BITS) - 1
"""The reconvergence PC that no instruction has."""
ADDRESS_BITS = 32
"""Bits of a byte address in global memory."""
MAX_SMS = 16
"""SMs that a device has at most."""
MAX_QUEUES = 8
"""Hardware queues that a device has at most."""
MAX_IN_FLIGHT = 4
"""Kernels that a hardware queue has in flight at most: REEF's capacity of a device queue (4.1)."""
MAX_ENTRIES = 32
"""Entries of a kernel's context control block, of each side, at most: sets of them are words."""
MAX_WATCHES = 32
"""Thread blocks of an SM that can be away until memory changes, at most."""
MAX_BLOCK_THREADS = 1024
"""Threads a thread block may have."""


def _is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or isinstance(value, float) and math.isfinite(value)


_KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "int": (_is_whole, "a whole number"), "float": (_is_number, "a number"),
    "float | None": (lambda value: value is None or _is_number(value), "a number or None"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "str": (lambda value: isinstance(value, str), "a text")}
"""Check of a size and the words for it in a message, by the type of the size."""


@dataclass(frozen=True)
class Geometry:
    """Sizes and latencies of an SM, of the memory behind it, and how many SMs there are.

    Attributes
    ----------
    name : str
        Preset name; a variant keeps its parent's.
    warp_size : int
        Threads of a warp (8, 16 or 32).
    lanes : int
        Threads executed a cycle; divides `warp_size`. A warp instruction takes
        ``warp_size / lanes`` beats.
    warps : int
        Warp slots of the SM, 1 to 64.
    tb_slots : int
        Thread blocks (TBs) resident at once, 1 to 32.
    registers : int
        Physical vector registers, each ``warp_size * 4`` bytes.
    regs_per_thread : int
        Most vector registers a thread may have, up to 64.
    shared_bytes : int
        Shared memory of the SM, a multiple of 128 below 1 MB.
    bus_bytes : int
        Data width of the AXI4 port: a power of two from 4 to 128 bytes, at most one word per lane.
    bytes_per_cycle : float
        Sustained memory bandwidth; at most `bus_bytes`.
    memory_latency : int
        Cycles from a request to its first data beat (or acknowledgement) with an idle memory.
    clock_mhz : float or None
        Core clock, None where the preset stands for no particular machine.
    icache_lines : int
        Direct-mapped instruction cache lines of 128 bytes (16 instructions).
    constant_lines : int
        Direct-mapped constant cache lines of 128 bytes.
    stack_depth : int
        Entries of each warp's SIMT stack, the top included.
    kernel_slots : int
        Kernels the SM can hold descriptors of.
    windows : int
        Global-memory windows of each kernel.
    alu_latency : int
        Cycles from operands read to result written for every ALU operation (6 or more).
    unit_queue : int
        Memory instructions a memory unit can have accepted but not started.
    load_queue : int
        Global segments outstanding to memory.
    atomic_queue : int
        Global segments of atomics outstanding to memory.
    f64_lanes, sfu_lanes, exchange_lanes : int
        Threads that the f64 unit, the special-function unit and the exchange unit take a cycle;
        powers of two, at most `lanes`.
    tb_compressor : bool
        The machine has mechanism ``live+tb`` and reads what it wrote.
    grace : bool
        A preempt can give TBs time to run to their end before it stops them.
    restart : bool
        A preempt can drop what TBs have done, so that they begin anew when they are resumed.
    profile : bool
        The machine counts what TBs take, for estimates.
    checkpoints : bool
        TBs can be saved as a base and run on; a later preempt saves what has changed since.
    proactive : bool
        The machine takes announcements of launches: it saves bases before they arrive, and chooses
        which TBs drain. Needs `checkpoints`, `profile` and `grace`.
    in_place : bool
        Registers and shared memory of a preempted TB can stay on the SM. Needs `checkpoints`.
    traps : bool
        Warps can be preempted by the routines of their kernel.
    watches : int
        Rows of the SM's watch table, 0 to 32: thread blocks that are away until memory changes.
        Without any there is no ``bar.yield``.
    entries : int
        Entries of a kernel's context control block on an SM, one for each TB from its launch to
        its end: `tb_slots` to 32, or 0 for as many as there are TB slots.
    queues : int
        Hardware queues of the device, 0 to 8.
    queue_capacity : int
        Kernels that each queue can have in flight, 1, 2 or 4. Register ``capacity`` of a queue says
        how many it may have.
    sms : int
        SMs of the device, 1 to 16. They share the memory that `bytes_per_cycle` and
        `memory_latency` describe; all other sizes are those of each SM.
    """

    name: str
    warp_size: int
    lanes: int
    warps: int
    tb_slots: int
    registers: int
    regs_per_thread: int
    shared_bytes: int
    bus_bytes: int
    bytes_per_cycle: float
    memory_latency: int
    clock_mhz: float | None = None
    icache_lines: int = 64
    constant_lines: int = 16
    stack_depth: int = 16
    kernel_slots: int = 4
    windows: int = 2
    alu_latency: int = 6
    unit_queue: int = 2
    load_queue: int = 32
    atomic_queue: int = 8
    f64_lanes: int = 1
    sfu_lanes: int = 4
    exchange_lanes: int = 4
    tb_compressor: bool = True
    grace: bool = True
    restart: bool = True
    profile: bool = True
    checkpoints: bool = True
    proactive: bool = False
    in_place: bool = False
    traps: bool = False
    watches: int = 0
    entries: int = 0
    sms: int = 1
    queues: int = 0
    queue_capacity: int = MAX_IN_FLIGHT

    def __post_init__(self):
        def check(condition: bool, text: str):
            if not condition:
                raise InputError(f"geometry {self.name!r}: {text}")

        for field in dataclasses.fields(self):
            holds, wanted = _KINDS[str(field.type)]
            value = getattr(self, field.name)
            check(holds(value), f"{field.name} must be {wanted}, not {value!r}")
        check(self.warp_size in (8, 16, 32), f"warp_size must be 8, 16 or 32, not {self.warp_size}")
        check(self.lanes >= 4 and self.warp_size % self.lanes == 0 and _is_power_of_two(self.lanes),
              f"lanes must be a power of two from 4 that divides warp_size, not {self.lanes}")
        check(1 <= self.warps <= 64, f"warps must be 1 to 64, not {self.warps}")
        check(1 <= self.tb_slots <= 32, f"tb_slots must be 1 to 32, not {self.tb_slots}")
        check(not self.entries or self.tb_slots <= self.entries <= MAX_ENTRIES,
              f"entries must be 0 or tb_slots to {MAX_ENTRIES}, not {self.entries}")
        check(_is_power_of_two(self.registers) and 16 <= self.registers <= 64 * MAX_REGISTERS,
              f"registers must be a power of two from 16 to {64 * MAX_REGISTERS}, "
              f"not {self.registers}")
        check(MIN_REGISTERS <= self.regs_per_thread <= MAX_REGISTERS,
              f"regs_per_thread must be {MIN_REGISTERS} to {MAX_REGISTERS}, "
              f"not {self.regs_per_thread}")
        check(self.shared_bytes % SEGMENT_BYTES == 0 and 0 < self.shared_bytes <= MAX_SHARED_BYTES,
              f"shared_bytes must be a multiple of {SEGMENT_BYTES} up to {MAX_SHARED_BYTES}, "
              f"not {self.shared_bytes}")
        check(_is_power_of_two(self.bus_bytes) and
              WORD_BYTES <= self.bus_bytes <= min(SEGMENT_BYTES, WORD_BYTES * self.lanes),
              "bus_bytes must be a power of two from 4 to 128 and at most 4 times lanes, "
              f"not {self.bus_bytes}")
        check(1 / 64 <= self.bytes_per_cycle <= self.bus_bytes,
              "bytes_per_cycle must be 1/64 or more and at most bus_bytes, "
              f"not {self.bytes_per_cycle}")
        check(1 <= self.memory_latency <= 4096,
              f"memory_latency must be 1 to 4096, not {self.memory_latency}")
        check(self.clock_mhz is None or self.clock_mhz > 0,
              f"clock_mhz must be above 0, not {self.clock_mhz}")
        for name in ("icache_lines", "constant_lines"):
            lines = getattr(self, name)
            check(_is_power_of_two(lines) and 2 <= lines <= 4096,
                  f"{name} must be a power of two from 2 to 4096, not {lines}")
        check(2 <= self.stack_depth <= 64, f"stack_depth must be 2 to 64, not {self.stack_depth}")
        check(1 <= self.kernel_slots <= 8, f"kernel_slots must be 1 to 8, not {self.kernel_slots}")
        check(1 <= self.windows <= 8, f"windows must be 1 to 8, not {self.windows}")
        for name, least, most in (("alu_latency", 6, 64), ("unit_queue", 1, 64),
                                  ("load_queue", 2, 256), ("atomic_queue", 2, 256)):
            check(least <= getattr(self, name) <= most,
                  f"{name} must be {least} to {most}, not {getattr(self, name)}")
        for name in ("f64_lanes", "sfu_lanes", "exchange_lanes"):
            count = getattr(self, name)
            check(_is_power_of_two(count) and count <= self.lanes,
                  f"{name} must be a power of two of at most lanes, not {count}")
        check(1 <= self.sms <= MAX_SMS, f"sms must be 1 to {MAX_SMS}, not {self.sms}")
        check(0 <= self.queues <= MAX_QUEUES,
              f"queues must be 0 to {MAX_QUEUES}, not {self.queues}")
        check(self.queue_capacity in (1, 2, MAX_IN_FLIGHT),
              f"queue_capacity must be 1, 2 or {MAX_IN_FLIGHT}, not {self.queue_capacity}")
        check(0 <= self.watches <= MAX_WATCHES,
              f"watches must be 0 to {MAX_WATCHES}, not {self.watches}")
        check(self.checkpoints or not self.in_place,
              "in_place = true needs checkpoints = true: what leaves the SM later stands on the "
              "other side of a context")
        for name in ("checkpoints", "profile", "grace"):
            check(getattr(self, name) or not self.proactive,
                  f"proactive = true needs {name} = true")

    @property
    def beats(self) -> int:
        """Cycles a warp instruction occupies the lanes."""
        return self.warp_size // self.lanes

    @property
    def has_uncore(self) -> bool:
        """The machine is a device, with an uncore in front of its SMs; otherwise it is an SM."""
        return self.sms > 1 or self.queues > 0

    @property
    def flights(self) -> int:
        """Kernels that all hardware queues together can have in flight."""
        return self.queues * self.queue_capacity

    @property
    def context_entries(self) -> int:
        """Entries of a kernel's context control block, of each side: those of the TBs on the SM and
        of those that are away."""
        return self.entries or self.tb_slots

    @property
    def spare_entries(self) -> int:
        """Entries beyond one for each TB slot."""
        return self.context_entries - self.tb_slots

    @property
    def vector_bytes(self) -> int:
        """Bytes of one vector register."""
        return self.warp_size * WORD_BYTES

    @property
    def register_rows(self) -> int:
        """Rows of `REGISTER_BANKS` vector registers."""
        return self.registers // REGISTER_BANKS

    @property
    def shared_banks(self) -> int:
        """Banks of shared memory, each a 32-bit word wide."""
        return self.lanes

    @property
    def shared_lines(self) -> int:
        """128-byte lines of shared memory."""
        return self.shared_bytes // SEGMENT_BYTES

    @property
    def bus_words(self) -> int:
        """32-bit words of a bus beat."""
        return self.bus_bytes // WORD_BYTES

    @property
    def chunk_words(self) -> int:
        """32-bit words that context images are moved by: a bus beat, but `CHUNK_WORDS` at least."""
        return max(CHUNK_WORDS, self.bus_words)

    @property
    def window_words(self) -> int:
        """Most 32-bit words of a context image that are taken a cycle: a chunk of the lanes of a
        register, and the word that they share."""
        return self.chunk_words + 1

    @property
    def burst_beats(self) -> int:
        """Bus beats of a whole segment."""
        return SEGMENT_BYTES // self.bus_bytes

    @property
    def max_block_warps(self) -> int:
        """Most warps a TB can have on this SM (at most 32: a live-warp mask is one word)."""
        return min(self.warps, 32, MAX_BLOCK_THREADS // self.warp_size)

    @property
    def max_block_threads(self) -> int:
        """Most threads a TB can have on this SM."""
        return self.max_block_warps * self.warp_size

    @property
    def hash(self) -> int:
        """32-bit fingerprint of what a context image depends on."""
        facts = (self.warp_size, self.lanes, self.regs_per_thread, self.shared_bytes,
                 self.stack_depth, self.bus_bytes)
        return int.from_bytes(hashlib.sha256(repr(facts).encode()).digest()[:4], "little")

    def replace(self, **changes: str | float | None) -> Geometry:
        """Return a variant with the given fields changed."""
        return dataclasses.replace(self, **changes)


PRESETS: dict[str, Geometry] = {
    g.name: g
    for g in (
        # Lin et al. Table I: 177 GB/s over 15 SMs at 700 MHz is 16.9 B/cycle/SM;
        # the port carries 16.
        Geometry("gtx480", warp_size=32, lanes=32, warps=48, tb_slots=8, registers=1024,
                 regs_per_thread=64, shared_bytes=48 * 1024, bus_bytes=16, bytes_per_cycle=16.0,
                 memory_latency=200, clock_mhz=700.0, in_place=True, traps=True),
        # PEP Table II: 224 GB/s over 16 SMs at 1216 MHz.
        Geometry("gtx980", warp_size=32, lanes=32, warps=64, tb_slots=32, registers=2048,
                 regs_per_thread=64, shared_bytes=96 * 1024, bus_bytes=16,
                 bytes_per_cycle=224e9 / 16 / 1216e6, memory_latency=250, clock_mhz=1216.0),
        Geometry("ecp5", warp_size=32, lanes=8, warps=8, tb_slots=4, registers=256,
                 regs_per_thread=64, shared_bytes=16 * 1024, bus_bytes=8, bytes_per_cycle=8.0,
                 memory_latency=30, icache_lines=16, constant_lines=8, load_queue=4,
                 atomic_queue=4, sfu_lanes=1),
        Geometry("tiny", warp_size=8, lanes=8, warps=4, tb_slots=2, registers=64,
                 regs_per_thread=16, shared_bytes=1024, bus_bytes=8, bytes_per_cycle=8.0,
                 memory_latency=10, icache_lines=4, stack_depth=8, constant_lines=2,
                 load_queue=4, atomic_queue=2, sfu_lanes=2, in_place=True, traps=True),
    )
}
"""The named presets (docs/architecture.md, Presets)."""


def preset(name: str) -> Geometry:
    """Return the preset called `name`.

    Raises
    ------
    ValueError
        If there is none; the message lists those there are.
    """
    try:
        return PRESETS[name]
    except (KeyError, TypeError):
        raise InputError(f"no preset {name!r} (name); there are {', '.join(PRESETS)}") from None
