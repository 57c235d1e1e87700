"""The units that execute instructions besides the ALU and the uniform data path, one row each.

Issue, operand collection, write back, scoreboard and `hw.sm` derive their parts for a unit from
these rows. Adding a unit takes its file, its row and, in `arch.isa`, its `Unit` and operations.
"""

from dataclasses import dataclass
from typing import Any

from ..arch.geometry import Geometry
from ..arch.isa.opcodes import Unit
from .memory.constant_unit import ConstantUnit
from .memory.load_store import LoadStore
from .memory.shared_memory import SharedMemory
from .units.exchange import ExchangeUnit
from .units.f64 import F64Unit
from .units.sfu import SpecialFunctionUnit

__all__ = ["ExecutionUnit", "MEMORY_UNITS", "SIDE_UNITS", "EXECUTION_UNITS"]


@dataclass(frozen=True)
class ExecutionUnit:
    """A unit.

    Attributes
    ----------
    unit : Unit
        Name of the unit in decode.
    block : type
        Its component. A memory unit has a ``MemoryAccessPort access`` and a ``CompletionPort
        completion``; any other has streams ``op`` (`payloads.lane_op`) and ``write``, and ``room``.
    words : int
        Registers of data that come with an access of a memory unit; 0 if it only loads.
    completions : tuple of str
        Kinds of accesses of a memory unit whose completion the front end waits for.
    remote : bool
        A memory unit whose accesses go over the bus.
    writes_predicates : bool
        It has a stream ``predicate`` as well.
    """

    unit: Unit
    block: type[Any]
    words: int = 4
    completions: tuple[str, ...] = ()
    remote: bool = False
    writes_predicates: bool = False

    @property
    def name(self) -> str:
        """Name of the unit's ports and submodule."""
        return self.unit.name.lower()

    def places(self, g: Geometry) -> int:
        """Return how many instructions it holds."""
        return g.unit_queue if self in MEMORY_UNITS else 1


MEMORY_UNITS = (
    ExecutionUnit(Unit.GLOBAL, LoadStore, completions=("load", "store", "atomic"), remote=True),
    ExecutionUnit(Unit.SHARED, SharedMemory, completions=("shared",)),
    ExecutionUnit(Unit.CONSTANT, ConstantUnit, words=0, remote=True),
)
"""Units that access memory; the SM holds them."""
SIDE_UNITS = (ExecutionUnit(Unit.F64, F64Unit, writes_predicates=True),
              ExecutionUnit(Unit.SFU, SpecialFunctionUnit),
              ExecutionUnit(Unit.EXCHANGE, ExchangeUnit, writes_predicates=True))
"""Units that take a warp instruction for several cycles; `ExecutePipeline` holds them."""
EXECUTION_UNITS = MEMORY_UNITS + SIDE_UNITS
"""Units in the order in which they stand in the ports of `WriteBack`."""
