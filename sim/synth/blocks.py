"""The blocks that are synthesised, by name: the exported ones, and the other parts of an SM."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from amaranth.lib import wiring

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.export import catalogue
from caesura.software.names import alternatives

from .harness import Reduced

__all__ = ["INHERENT", "MECHANISMS", "MINIMAL", "SM_PARTS", "SYNTHESISED", "TRACE", "block", "names", "part", "priced",
           "unpreempted", "without"]

Make = Callable[[Geometry], wiring.Component]

SYNTHESISED = {
    "control": "control.control_unit.ControlUnit", "front_end": "core.front_end.front.FrontEnd",
    "execute": "core.execute.pipeline.ExecutePipeline", "load_store": "core.memory.load_store.LoadStore",
    "shared_memory": "core.memory.shared_memory.SharedMemory", "constants": "core.memory.constant_unit.ConstantUnit",
    "integer": "core.units.integer.IntegerUnit", "f32": "core.units.floating.FloatUnit",
    "f64": "core.units.f64.F64Unit", "special_functions": "core.units.sfu.SpecialFunctionUnit",
    "exchange": "core.units.exchange.ExchangeUnit", "uniform": "core.front_end.uniform.UniformUnit",
    "kernel_slot": "control.kernel_slot.KernelSlot",
}
"""Blocks that are synthesised but not exported (`caesura.hw.export`), by their class in `caesura.hw`. Each is made from
a geometry alone.
"""

SM_PARTS = ("control", "front_end", "execute", "load_store", "shared_memory", "constants", "bus")
"""Parts of an SM. Together they are the whole machine, and the sum of their cells is its size."""

MINIMAL = {"tb_compressor": False, "grace": False, "restart": False, "profile": False, "checkpoints": False,
           "in_place": False, "traps": False}
"""Fields of a geometry without any optional mechanism. It has occupied, live and live+cp, with checksums, patience,
abort and kill.
"""


MECHANISMS = {"live+tb": {"tb_compressor": True}, "checkpoints": {"checkpoints": True},
              "checkpoints and in place": {"checkpoints": True, "in_place": True}, "traps": {"traps": True},
              "grace": {"grace": True}, "restart": {"restart": True}, "profile": {"profile": True}}
"""Fields of `MINIMAL` that each optional mechanism changes."""

INHERENT = {"hasten": ("hasten",), "abort": ("withdraw",), "kill": ("cancel", "discard"),
            "all three": ("hasten", "withdraw", "cancel", "discard")}
"""Commands of every engine, with the ports that give them. With these ports at 0, synthesis removes the logic of the
command, except states that are never reached.
"""

TRACE = ("trace", "occupancy", "trace_write", "trace_predicate", "trace_uniform", "trace_atomic", "activity", "states",
         "tb_count")
"""Ports of an SM and of its parts that are for simulations only."""

_SERVES = {"control": ("core",), "execute": ("state",), "shared_memory": ("state",),
           "front_end": ("state", "stop_pending", "stop_stop_now", "stop_trap", "stop_stopped")}
"""Ports that serve the preemption unit alone, by part of an SM."""


def _plain(path: str) -> Make:
    module, _, name = path.rpartition(".")
    return lambda g: getattr(import_module(f"caesura.hw.{module}"), name)(g)


def _bus(g: Geometry) -> wiring.Component:
    """The AXI master of an SM, with the SM's readers and writers."""
    from caesura.hw.memory.axi import AxiMaster

    return AxiMaster(g, 5, 3)


def _blocks() -> dict[str, Make]:
    exported = {name: partial(found.make, given={}) for name, found in catalogue.blocks().items()}
    return exported | {name: _plain(path) for name, path in SYNTHESISED.items()} | {"bus": _bus}


def names() -> list[str]:
    """Return the names of all blocks."""
    return list(_blocks())


def block(name: str, g: Geometry) -> wiring.Component:
    """Return a block.

    Parameters
    ----------
    name : str
        One of `names`; hyphens and spaces may replace underscores.

    Raises
    ------
    InputError
        If there is no block of this name; the message suggests similar names.
    """
    known = _blocks()
    plain = name.replace("-", "_").replace(" ", "_")
    if plain not in known:
        raise InputError(f"there is no block {name[:60]!r}; {alternatives(plain, list(known))}")
    return known[plain](g)


def unpreempted(name: str, g: Geometry) -> wiring.Component:
    """Return a part of an SM (`SM_PARTS`) without preemption, and so without logic that serves only the preemption
    unit.
    """
    return Reduced(block(name, g), _SERVES.get(name, ()) + TRACE, ("engine",) if name == "control" else ())


def part(name: str, g: Geometry) -> wiring.Component:
    """Return a part of an SM, without its ports for simulations."""
    return Reduced(block(name, g), TRACE)


def without(what: str, g: Geometry) -> wiring.Component:
    """Return the preemption engine without optional mechanisms, and without one command of `INHERENT`."""
    return Reduced(block("preempt_engine", g.replace(**MINIMAL)), INHERENT[what])


def priced(g: Geometry) -> dict[str, tuple[str, Geometry]]:
    """Return the block and the geometry that give the price of each optional mechanism.

    A geometry is `MINIMAL` with one mechanism; the name ``none`` has no mechanism.
    """
    least = g.replace(**MINIMAL)
    return {"none": ("preempt_engine", least)} | {
        name: ("preempt_engine", least.replace(**fields)) for name, fields in MECHANISMS.items()}
