"""A run as a timeline that opens in Perfetto (https://ui.perfetto.dev): phases, thread blocks, warps, queues, bus.

::

    device = open_device("rtl", "gtx480")
    with recording(device, "run.perfetto-trace"):
        ...                                         # launch, preempt, resume, wait

Tracks, from above: the phases of the run, commands, rows of thread blocks, counters, and one track per warp slot (which
warp it holds and what that does). Of several SMs: commands, thread blocks handed out, queues, the phases of each SM,
counters of all together, and for each SM the rest. One nanosecond of the timeline is one of the geometry's clock, or
one cycle where the geometry has no clock; every slice carries its exact cycles as arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from caesura.errors import InputError
from caesura.extras import require
from caesura.hw.arch.geometry import Geometry
from caesura.software.driver import Device

from .activity import Activity, Counter, Slice
from .device_activity import DeviceActivity, device_activity
from .kernel_names import KernelNames

__all__ = ["recording", "trace_bytes", "INTERVAL"]

INTERVAL = 100
"""Cycles between samples of the counters unless given."""
_SEQUENCE = 1
_EXPLICIT = "EXPLICIT"


class _Writer:
    """Writes tracks, slices and counters as packets of a Perfetto trace."""

    def __init__(self, g: Geometry):
        builder = require("perfetto.trace_builder.proto_builder", "a timeline")
        self._events = require("perfetto.protos.perfetto.trace.perfetto_trace_pb2", "a timeline").TrackEvent
        self._builder = builder.TraceProtoBuilder()
        self._scale = 1000 / g.clock_mhz if g.clock_mhz else 1.0
        self._uuids, self._ranks = itertools.count(1), itertools.count()

    def bytes(self) -> bytes:
        return self._builder.serialize()

    def track(self, name: str, parent: int | None = None, unit: str | None = None) -> int:
        """Describe a track and return its id; tracks of one parent are shown in the order they were described."""
        uuid = next(self._uuids)
        track = self._builder.add_packet().track_descriptor
        track.uuid, track.name, track.sibling_order_rank = uuid, name, next(self._ranks)
        track.child_ordering = track.ChildTracksOrdering.Value(_EXPLICIT)
        if parent is None:
            track.process.pid, track.process.process_name = 1, name
        else:
            track.parent_uuid = parent
        if unit is not None:
            track.counter.unit_name = unit
        return uuid

    def _event(self, cycle: int, track: int, kind: str) -> Any:
        packet = self._builder.add_packet()
        packet.timestamp, packet.trusted_packet_sequence_id = round(cycle * self._scale), _SEQUENCE
        packet.track_event.track_uuid, packet.track_event.type = track, self._events.Type.Value(f"TYPE_{kind}")
        return packet.track_event

    def slice(self, track: int, piece: Slice) -> None:
        """Write a slice with what is in it."""
        event = self._event(piece.begin, track, "SLICE_BEGIN")
        event.name = piece.name
        for name, value in (("first cycle", piece.begin), ("cycles", piece.cycles), *piece.notes.items()):
            annotation = event.debug_annotations.add()
            annotation.name, annotation.int_value = name, value
        for inner in piece.inner:
            self.slice(track, inner)
        self._event(piece.end, track, "SLICE_END")

    def slices(self, name: str, parent: int, pieces: Iterable[Slice]) -> None:
        """Describe a track of slices and write them."""
        track = self.track(name, parent)
        for piece in pieces:
            self.slice(track, piece)

    def counter(self, parent: int, counter: Counter) -> None:
        """Describe the track of a counter and write it, leaving out all but the first of a row of equal values that are
        0."""
        track, before = self.track(counter.name, parent, counter.unit), None
        for cycle, value in counter.points:
            if value or before != 0:
                self._event(cycle, track, "COUNTER").counter_value = value
            before = value


def _sm(writer: _Writer, parent: int, found: Activity) -> None:
    """Write what stands below the phases of an SM."""
    rows = writer.track("thread blocks", parent)
    for number, stays in enumerate(found.tbs):
        writer.slices(f"TB row {number}", rows, stays)
    for counter in found.counters:
        writer.counter(parent, counter)
    warps = writer.track("warps", parent)
    for number, slices in found.warps.items():
        writer.slices(f"warp slot {number}", warps, slices)


def trace_bytes(g: Geometry, found: DeviceActivity) -> bytes:
    """Return a Perfetto trace (protobuf).

    Raises
    ------
    extras.MissingPackage
        If the package ``perfetto`` is not installed.
    """
    writer = _Writer(g)
    if len(found.sms) == 1:
        root = writer.track(f"SM ({g.name})")
        writer.slices("phases", root, found.sms[0].phases)
        writer.slices("commands", root, found.commands)
        _sm(writer, root, found.sms[0])
        return writer.bytes()
    root = writer.track(f"device ({g.name}, {g.sms} SMs)")
    writer.slices("commands", root, found.commands)
    writer.slices("thread blocks handed out", root, found.dispatches)
    for number, tracks in enumerate(found.queues):
        for k, pieces in enumerate(tracks):
            writer.slices(f"queue {number}" + (f" ({k + 1})" if k else ""), root, pieces)
    for number, sm in enumerate(found.sms):
        writer.slices(f"SM {number} phases", root, sm.phases)
    for counter in found.counters:
        writer.counter(root, counter)
    for number, sm in enumerate(found.sms):
        _sm(writer, writer.track(f"SM {number}", root), sm)
    return writer.bytes()


@contextmanager
def recording(device: Device, path: str | Path, interval: int = INTERVAL) -> Iterator[None]:
    """Record what the device does inside the block, and write it as a timeline, also if the block fails.

    Parameters
    ----------
    device : Device
        Device on the RTL (``"rtl"``).
    path : path
    interval : int
        Cycles between samples of the counters.

    Raises
    ------
    ValueError
        If the device's back end cannot record, or `interval` is not positive.
    extras.MissingPackage
        If the package ``perfetto`` is not installed.
    """
    transport: Any = device.transport
    if not hasattr(transport, "record_timeline"):
        raise InputError(f"no timeline of the back end {transport.name!r}: it is recorded by the RTL under Verilator, "
                         f"`--backend rtl`")
    if interval < 1:
        raise InputError(f"the interval must be 1 or more cycles, not {interval}")
    _Writer(device.geometry)  # complains before the run, not after it
    g = device.geometry
    held = {slot: launch.kernel.image.name for slot, launch in device.launches.items()}
    with open(path, "wb") as file:
        transport.record_timeline(interval)
        try:
            yield
        finally:
            events, samples = transport.take_timeline()
            transport.record_timeline(0)
            names = KernelNames(held, events, device.code_names)
            file.write(trace_bytes(g, device_activity(events, samples, names, g.sms, g.queues, g.queue_capacity)))
