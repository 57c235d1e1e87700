"""Everything that makes the machine run and be measured: golden model, RTL back ends, reports."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry, preset
from caesura.progress import watched

if TYPE_CHECKING:
    from caesura.software.driver import Device
    from caesura.software.driver.machine.transport import Transport

if __name__ != "caesura.sim":
    raise ImportError("import caesura.sim: under two names a class would be two classes")

__all__ = ["BACKENDS", "open_transport", "open_device"]

BACKENDS = {
    "rtl": ("caesura.sim.rtl.transport", "RtlTransport"),
    "golden": ("caesura.sim.golden.transport", "GoldenTransport"),
    "amaranth": ("caesura.sim.rtl.amaranth_sim", "AmaranthTransport"),
}
"""Where a device can be: the RTL under Verilator, the golden model, the RTL under Amaranth's simulator."""

DEVICES = BACKENDS | {"golden": ("caesura.sim.golden.device", "GoldenDevice")}
"""Where a device of several SMs can be, but for Amaranth's simulator."""

MEMORY_BYTES = 32 << 20
"""Device memory unless given."""


def open_transport(backend: str = "rtl", geometry: Geometry | str = "gtx480", memory_bytes: int = MEMORY_BYTES,
                   **options) -> Transport:
    """Return a machine.

    Parameters
    ----------
    backend : str
        One of `BACKENDS`.
    geometry : Geometry or str
        Or the name of a preset.
    memory_bytes : int
    options
        Of the back end, for example ``trace=True``; ``check_bounds=True`` on the golden model only, ``observed=True``
        (`sim.trace.statistics`) on the RTL only.

    Raises
    ------
    ValueError
        If there is no such back end or preset, if it cannot check bounds or be observed, or `memory_bytes` is no
        multiple of 4096 up to 4 GiB.
    """
    if isinstance(geometry, str):
        try:
            geometry = preset(geometry)
        except InputError as error:
            raise InputError(f"geometry: {error}") from None
    if not isinstance(geometry, Geometry):
        raise InputError(f"geometry must be a Geometry or the name of a preset, not {geometry!r}")
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise InputError(f"backend: no back end {backend!r}; there are {', '.join(BACKENDS)}")
    if not options.get("check_bounds", True):
        del options["check_bounds"]
    elif "check_bounds" in options and backend != "golden":
        raise InputError(f"bounds are checked on the golden model, not on {backend!r}; open the device \"golden\"")
    if not options.get("observed", True):
        del options["observed"]
    elif "observed" in options and backend != "rtl":
        raise InputError(f"what warps do is seen on the RTL under Verilator, not on {backend!r}; open the device "
                         "\"rtl\"")
    module, name = _of_devices(backend, geometry, options) if geometry.has_uncore else BACKENDS[backend]
    if not isinstance(memory_bytes, int) or not 0 < memory_bytes <= 1 << 32 or memory_bytes % 4096:
        raise InputError(f"memory_bytes must be a positive multiple of 4096 up to 4 GiB, not {memory_bytes!r}")
    return getattr(importlib.import_module(module), name)(geometry, memory_bytes=memory_bytes, **options)


def _of_devices(backend: str, geometry: Geometry, options: dict) -> tuple[str, str]:
    """Return module and name of a back end for devices of several SMs."""
    if backend == "amaranth":
        raise InputError("Amaranth's simulator runs one SM; open a device of several (sms) on \"rtl\" or \"golden\"")
    if options.get("check_bounds"):
        raise InputError("check_bounds is of one SM: a device of several (sms) has none; leave it out")
    if options.get("trace") and backend != "rtl":
        raise InputError("trace is of one SM on the golden model; a device of several (sms) has one on \"rtl\"")
    return DEVICES[backend]


def open_device(backend: str = "rtl", geometry: Geometry | str = "gtx480", memory_bytes: int = MEMORY_BYTES, *,
                system_fraction: float = 0.5, **options) -> Device:
    """Return a `Device` on a machine of `open_transport`; of its memory `system_fraction` is for code and contexts."""
    from caesura.software.driver import Device

    return watched(Device(open_transport(backend, geometry, memory_bytes, **options), system_fraction))
