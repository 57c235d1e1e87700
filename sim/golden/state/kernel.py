"""A kernel slot of the golden model: descriptor and progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from caesura.hw.arch.commands import KernelState, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import REGISTER_BANKS, SEGMENT_BYTES, Geometry
from caesura.hw.arch.registers import Register
from caesura.hw.arch.tb_footprint import local_region_bytes, tb_footprint

__all__ = ["Descriptor", "SavedEntry", "Base", "Away", "GridProgress", "Kernel"]


@dataclass(frozen=True)
class Descriptor:
    """Fields of ``kernel[k]`` in the register map, as they stand at `start`."""

    code_base: int
    code_words: int
    trap_base: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    threads: int
    registers: int
    warps: int
    shared_bytes: int
    ccb_base: int
    area_bytes: int
    local_base: int
    local_bytes: int
    const_base: int
    const_bytes: int
    entries: int
    usual_cycles: int
    param_base: int
    param_bytes: int
    windows: tuple[tuple[int, int], ...]

    @classmethod
    def read(cls, g: Geometry, registers: Mapping[str, Register], values: Mapping[int, int], k: int) -> Descriptor:
        """Read the descriptor of slot `k` from register `values` by address."""

        def value(name: str, field: str = "value") -> int:
            register = registers[f"kernel[{k}].{name}"]
            return register.fields[field].extract(values.get(register.address, 0))

        single = ("code_base", "code_words", "trap_base", "shared_bytes", "ccb_base", "area_bytes", "local_base",
                  "local_bytes", "const_base", "const_bytes", "param_base", "param_bytes", "entries", "usual_cycles")
        return cls(grid=(value("grid_x"), value("grid_y"), value("grid_z")),
                   block=(value("block", "x"), value("block", "y"), value("block", "z")),
                   threads=value("sizes", "threads"), registers=value("sizes", "registers"),
                   warps=value("sizes", "warps"), **{name: value(name) for name in single},
                   windows=tuple((value(f"window_base[{w}]"), value(f"window_end[{w}]")) for w in range(g.windows)))

    def fits(self, g: Geometry) -> bool:
        """The sizes are consistent, the grid is not empty, and a TB fits an empty SM."""
        return tb_footprint(g, self.grid, self.threads, self.registers, self.warps, self.shared_bytes) is not None


_MOST = (1 << 32) - 1


class SavedEntry(NamedTuple):
    """The machine's own record of an entry. An entry in memory that does not match it is not trusted.

    Attributes
    ----------
    generation : int
        Generation of the preempt that wrote it.
    length, warps : int
        Bytes of its stream, and warps that have a record there.
    side : int
        Side of the entry on which it stands.
    incremental : bool
        It is an increment.
    registers_stay, lines_stay : bool
        Registers, shared memory stayed on the SM, or stand in the image that completes it.
    """

    generation: int
    length: int
    warps: int
    side: int = 0
    incremental: bool = False
    registers_stay: bool = False
    lines_stay: bool = False

    @classmethod
    def of(cls, entry: dict[str, int], side: int) -> SavedEntry:
        """Return that of an entry with these fields."""
        return cls(entry["generation"], entry["length"], entry["live_warps"].bit_count(), side,
                   bool(entry["incremental"]), bool(entry["registers_stay"]), bool(entry["lines_stay"]))

    @property
    def stayed(self) -> bool:
        """Something is not in it that stayed on the SM."""
        return self.registers_stay or self.lines_stay

    @property
    def partial(self) -> bool:
        """It is not the whole image of its TB."""
        return self.incremental or self.stayed


class Base(NamedTuple):
    """The machine's own record of the base of a TB (PEP III-C).

    Attributes
    ----------
    side : int
        On which it stands; increments stand on the other.
    crc : int
        Checksum of its entry.
    """

    side: int
    crc: int


@dataclass
class Away:
    """A TB that has left the SM by itself.

    Attributes
    ----------
    number : int
        TBs of the SM that have left before it.
    row : int or None
        Row of its watch in `Watches`. With None it waits for its turn, or has nothing left to wait for.
    ready : bool
        It is to come back.
    """

    number: int
    row: int | None = None
    ready: bool = False


class Profile:
    """The counts of the TBs that ran on the SM from beginning to end and ended by themselves, together.

    Attributes
    ----------
    tbs, cycles, instructions : int
        All halved before one of the sums would need more than 32 bits.
    """

    def __init__(self):
        self.tbs = self.cycles = self.instructions = 0

    def add(self, cycles: int, instructions: int) -> None:
        """Add a TB."""
        sums = [(self.cycles, min(cycles, _MOST)), (self.instructions, min(instructions, _MOST))]
        shift = int(any(sum(pair) > _MOST for pair in sums))
        self.tbs = (self.tbs >> shift) + 1
        self.cycles, self.instructions = (min((old >> shift) + new, _MOST) for old, new in sums)


class GridProgress:
    """How far a grid is; the SMs of a device that run a kernel share one.

    Attributes
    ----------
    kernels : list of Kernel
        The slots of these SMs.
    launched : int
        TBs launched by all of them, which is also the next launch id.
    place : tuple of int
        Coordinates of the next TB to launch; those after the last if there is none.
    """

    def __init__(self, kernels: list[Kernel]):
        self.kernels = kernels
        self.begin()

    def begin(self) -> None:
        """Go back to the first TB."""
        self.launched = 0
        self.place: tuple[int, int, int] = 0, 0, 0

    def adopt(self, launched: int, place: tuple[int, int, int]) -> None:
        """Go on behind what an SM has launched and what it found next."""
        self.launched += launched
        self.place = max(self.place, place, key=lambda at: at[::-1])


class Kernel:
    """A kernel slot.

    Attributes
    ----------
    index : int
        Slot number.
    state : KernelState
    error : CommandError
        How its last preempt or resume ended.
    stopping : int
        Vector: entries of its TBs whose warps are to stop, since they are being preempted.
    trapping : bool
        They go on in its preemption routines.
    others : bool
        Preempted, while TBs run on that were spared, or may: when the last has ended it has finished.
    launched, completed, faults : int
        TBs of this SM so far; those ended by a fault.
    progress : GridProgress
        That of its grid.
    entries : int
        Bit an entry of the CCB: it belongs to a TB, on the SM or preempted, and with it its save area and its region
        of local memory.
    saved : dict of int to SavedEntry
        The entries that can be resumed.
    bases : dict of int to Base
        The entries whose TB, on the SM or saved, has a base.
    left : dict of int to Away
        The entries whose TB has left the SM by itself, and is not back.
    yields : int
        How often TBs have done so.
    profile : Profile
        Counts of its TBs.
    switches : Counter of Switch
        How often it was taken off the SM, and brought back.
    recorded : bool
        The record in memory may be believed: nothing of the kernel has run since it was written.
    abandoned : bool
        An access out of bounds has ended all of it.
    """

    def __init__(self, g: Geometry, index: int):
        self.g = g
        self.index = index
        self.state = KernelState.IDLE
        self.error = CommandError.NONE
        self.stopping = 0
        self.trapping = False
        self.others = False
        self.launched = self.completed = self.faults = self.entries = 0
        self.progress = GridProgress([self])
        self.saved: dict[int, SavedEntry] = {}
        self.bases: dict[int, Base] = {}
        self.left: dict[int, Away] = {}
        self.yields = 0
        self.profile = Profile()
        self.switches = Counter[Switch]()
        self.recorded = self.abandoned = False

    def load(self, descriptor: Descriptor) -> None:
        """Take a new descriptor."""
        self.descriptor = descriptor
        self.grid, self.block = descriptor.grid, tuple(max(n, 1) for n in descriptor.block)
        self.threads, self.registers, self.warps = descriptor.threads, descriptor.registers, descriptor.warps
        self.shared_bytes = descriptor.shared_bytes
        self.windows = tuple(w for w in descriptor.windows if w[0] < w[1])
        self.launched = self.completed = self.faults = self.entries = 0
        self.progress.begin()
        self.saved, self.bases, self.left, self.yields = {}, {}, {}, 0
        self.profile = Profile()
        self.switches.clear()
        self.error = CommandError.NONE
        self.recorded = self.abandoned = False

    @property
    def place(self) -> tuple[int, int, int]:
        """Coordinates of the next TB to launch; those after the last if there is none."""
        return self.progress.place

    def take_tb(self) -> tuple[int, tuple[int, int, int]]:
        """Return launch id and coordinates of the next TB, which is now launched."""
        taken = x, y, z = self.place
        x += 1
        if x == self.grid[0]:
            x, y = 0, y + 1
            if y == self.grid[1]:
                y, z = 0, z + 1
        self.progress.place = x, y, z
        self.launched += 1
        self.progress.launched += 1
        return self.progress.launched - 1, taken

    @property
    def exhausted(self) -> bool:
        """Every TB has been launched."""
        return self.place[2] >= self.grid[2]

    @property
    def done(self) -> bool:
        """Every TB has been launched, and all have ended, on any SM."""
        return self.exhausted and all(kernel.launched == kernel.completed for kernel in self.progress.kernels)

    @property
    def kept(self) -> bool:
        """A resume has to come before it runs: TBs are saved that have not left by themselves, or its record may be
        believed."""
        return bool(self.taken) or self.recorded

    @property
    def in_memory(self) -> bool:
        """It is preempted, and all of it is in memory, with its record."""
        return self.state is KernelState.PREEMPTED and self.recorded

    @property
    def taken(self) -> set[int]:
        """The entries of TBs that are saved and have not left by themselves."""
        return self.saved.keys() - self.left.keys()

    @property
    def away(self) -> int:
        """Those whose TBs have, a bit each."""
        return sum(1 << entry for entry in self.left)

    @property
    def most_entries(self) -> int:
        """How many entries it may use, the lowest ones."""
        return min(self.descriptor.entries or self.g.tb_slots, self.g.context_entries)

    @property
    def has_entry(self) -> bool:
        """An entry that it may use is free."""
        return self.entries.bit_count() < self.most_entries

    def take_entry(self) -> int:
        """Return the lowest free entry, which now belongs to a new TB."""
        entry = (~self.entries & self.entries + 1).bit_length() - 1
        self.entries |= 1 << entry
        return entry

    def free_entry(self, entry: int) -> None:
        """Take the entry of a TB that has ended."""
        self.entries &= ~(1 << entry)
        self.bases.pop(entry, None)

    def region_address(self, entry: int) -> int:
        """Where the local memory of an entry begins."""
        return self.descriptor.local_base + entry * self.region_bytes & 0xFFFF_FFFF

    @property
    def region_bytes(self) -> int:
        """Local memory of a TB, whole segments."""
        return local_region_bytes(self.g, self.warps, self.descriptor.local_bytes)

    @property
    def tbs(self) -> int:
        """TBs of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def lines(self) -> int:
        """Shared-memory lines of a TB."""
        return -(-self.shared_bytes // SEGMENT_BYTES)

    @property
    def tb_registers(self) -> int:
        """Physical vector registers of a TB, a multiple of the number of banks."""
        return -(-self.warps * self.registers // REGISTER_BANKS) * REGISTER_BANKS
