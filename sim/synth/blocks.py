"""The blocks that are synthesised, by name: those that are exported, and what else an SM consists of."""

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
"""Blocks that are synthesised and not exported (`caesura.hw.export`), by their class in `caesura.hw`; each is made from
a geometry alone."""

SM_PARTS = ("control", "front_end", "execute", "load_store", "shared_memory", "constants", "bus")
"""What an SM consists of: together they are the machine, and what they take is what it takes."""

MINIMAL = {"tb_compressor": False, "grace": False, "restart": False, "profile": False, "checkpoints": False,
           "in_place": False, "traps": False}
"""Fields of a geometry without any mechanism that is optional: occupied, live and live+cp, with checksums, patience,
abort and kill."""


MECHANISMS = {"live+tb": {"tb_compressor": True}, "checkpoints": {"checkpoints": True},
              "checkpoints and in place": {"checkpoints": True, "in_place": True}, "traps": {"traps": True},
              "grace": {"grace": True}, "restart": {"restart": True}, "profile": {"profile": True}}
"""What each optional mechanism changes of that."""

INHERENT = {"hasten": ("hasten",), "abort": ("withdraw",), "kill": ("cancel", "discard"),
            "all three": ("hasten", "withdraw", "cancel", "discard")}
"""What every engine can do, and the ports by which it is told to: with these at 0 what follows from that falls away,
but for states that are never reached."""

TRACE = ("trace", "occupancy", "trace_write", "trace_predicate", "trace_uniform", "trace_atomic", "activity", "states",
         "tb_count")
"""Ports that are for simulations only, of an SM and of its parts."""

_SERVES = {"control": ("core",), "execute": ("state",), "shared_memory": ("state",),
           "front_end": ("state", "stop_pending", "stop_stop_now", "stop_trap", "stop_stopped")}
"""Ports that serve the preemption unit alone, by part of an SM."""


def _plain(path: str) -> Make:
    module, _, name = path.rpartition(".")
    return lambda g: getattr(import_module(f"caesura.hw.{module}"), name)(g)


def _bus(g: Geometry) -> wiring.Component:
    """The AXI master of an SM, with the readers and writers that it has there."""
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
        One of `names`; hyphens and spaces may stand for underscores.

    Raises
    ------
    InputError
        If there is none of this name; the message says which was probably meant.
    """
    known = _blocks()
    plain = name.replace("-", "_").replace(" ", "_")
    if plain not in known:
        raise InputError(f"there is no block {name[:60]!r}; {alternatives(plain, list(known))}")
    return known[plain](g)


def unpreempted(name: str, g: Geometry) -> wiring.Component:
    """Return a part of an SM (`SM_PARTS`) as it would be if nothing could be preempted: what serves the preemption unit
    alone is not there."""
    return Reduced(block(name, g), _SERVES.get(name, ()) + TRACE, ("engine",) if name == "control" else ())


def part(name: str, g: Geometry) -> wiring.Component:
    """Return a part of an SM, without its ports for simulations."""
    return Reduced(block(name, g), TRACE)


def without(what: str, g: Geometry) -> wiring.Component:
    """Return the preemption engine without any optional mechanism that is never told to do one of `INHERENT`."""
    return Reduced(block("preempt_engine", g.replace(**MINIMAL)), INHERENT[what])


def priced(g: Geometry) -> dict[str, tuple[str, Geometry]]:
    """Return what the price of each optional mechanism is taken from: the block and the geometry that has it, `MINIMAL`
    but for that; under the name ``none`` those without any."""
    least = g.replace(**MINIMAL)
    return {"none": ("preempt_engine", least)} | {
        name: ("preempt_engine", least.replace(**fields)) for name, fields in MECHANISMS.items()}
