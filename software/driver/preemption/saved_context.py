"""Reads a launch's saved context from device memory, and reports damage to it."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import NamedTuple

import numpy as np

from caesura.hw.arch.geometry import SEGMENT_BYTES, WORD_BYTES, Geometry
from caesura.hw.arch.image import context
from caesura.hw.arch.image.encodings import Encoding, encoded_words, row_words
from caesura.hw.arch.image.image_reader import BadImage, ImageReader

from ..launch.context import Contexts, StackEntry, TbContext, WarpContext
from ..launch.launch import Launch
from ..machine.errors import ContextError
from ..machine.host_interface import HostInterface
from ..machine.transport import Transport

__all__ = ["read_context"]


class _Place(NamedTuple):
    """The place of an image: its SM, its entry, and the side of the entry."""

    sm: int
    index: int
    side: int

    @property
    def other(self) -> _Place:
        """The other side of the entry."""
        return self._replace(side=self.side ^ 1)

    def number(self, g: Geometry) -> int:
        """Return the number of the place in the context control block of its SM."""
        return context.place_of(g, self.index, self.side)


def _check(right: bool, what: str) -> None:
    if not right:
        raise BadImage(what)


def read_context(host: HostInterface, launch: Launch) -> Contexts:
    """Return the complete entries of a launch's context control block, and the state of their TBs on the SM.

    Raises
    ------
    ContextError
        If an entry or a stream does not belong to this launch.
    """
    found, transport, g = Contexts(), host.transport, host.geometry
    here: dict[int, list[int]] = {}  # entries of which registers, lines stay: asked for once an image says so
    for place in itertools.starmap(_Place, itertools.product(
            range(g.sms), range(launch.entries), range(1 + g.checkpoints))):
        sm, index = place.sm, place.index
        address = context.entry_address(launch.ccb_of(sm), place.number(g))
        try:
            entry, words = _entry(transport, launch, place)
            _check(entry["state"] in list(context.State), f"its state is {entry['state']}")
            if entry["state"] == context.State.COMPLETE:
                tb = _read_entry(transport, launch, entry, words, place)
                if entry["incremental"]:
                    tb = dataclasses.replace(tb, base=_read_base(transport, launch, entry, place))
                elif any(_kept(entry)):
                    here[sm] = here.get(sm) or _staying(host, launch, sm)
                    registers, lines = (bool(vector >> index & 1) for vector in here[sm])
                    tb = (dataclasses.replace(tb, registers_stay=registers, lines_stay=lines) if registers or lines else
                          dataclasses.replace(tb, evicted=_read_evicted(transport, launch, entry, place)))
                found.append(tb)
        except BadImage as damage:
            raise ContextError(f"the saved context of kernel {launch.kernel.image.name!r} is damaged: entry {index} at "
                               f"{address:#x}: {damage}; something has written over it") from None
    return found


def _staying(host: HostInterface, launch: Launch, sm: int) -> list[int]:
    """Return the vectors of entries whose registers and whose shared lines are on an SM; takes time."""
    with host.of_sm(sm):
        return [host.read(f"kernel[{launch.slot}].{name}_stay") for name in ("registers", "lines")]


def _entry(transport: Transport, launch: Launch, place: _Place) -> tuple[dict[str, int], list[int]]:
    """Return the fields and the words of the entry of a TB on one side."""
    address = context.entry_address(launch.ccb_of(place.sm), place.number(transport.geometry))
    words = np.frombuffer(transport.read_memory(address, context.CCB_ENTRY.size // 8), "<u4")
    return context.from_words(context.CCB_ENTRY, words), words.tolist()


def _read_base(transport: Transport, launch: Launch, increment: dict[str, int], place: _Place) -> TbContext:
    """Return the base of an increment."""
    entry, words = _entry(transport, launch, place.other)
    _check(entry["state"] in (context.State.BASE, context.State.DEMOTED) and not entry["incremental"]
           and _kept(entry) == (0, 0) and entry["crc"] == increment["base_crc"], "its base is not there any more")
    if entry["state"] == context.State.DEMOTED:  # as it was written
        words[0] = words[0] & ~0xFF | context.State.COMPLETE
    return _read_entry(transport, launch, entry, words, place.other)


def _read_evicted(transport: Transport, launch: Launch, first: dict[str, int], place: _Place) -> TbContext:
    """Return the image that completes another one, none of whose state is on the SM any more."""
    entry, words = _entry(transport, launch, place.other)
    _check(entry["state"] == context.State.BASE and _kept(entry) == _kept(first) and entry["base_crc"] == first["crc"],
           "what was evicted of it is not there any more")
    return _read_entry(transport, launch, entry, words, place.other)


def _kept(entry: dict[str, int]) -> tuple[int, int]:
    """Return which resources stayed on the SM when an entry was written."""
    return entry["registers_stay"], entry["lines_stay"]


def _read_entry(transport: Transport, launch: Launch, entry: dict[str, int], words: list[int], place: _Place
                ) -> TbContext:
    _check_entry(launch, entry, place)
    stream = np.frombuffer(transport.read_memory(entry["register_image"], entry["length"]), "<u4")
    tb = _read_tb(launch, entry, stream)
    _check(entry["crc"] == context.entry_crc(words), "its checksum is wrong")
    sums = context.stream_crcs(transport.geometry, stream.tolist(), entry["live_warps"].bit_count(), entry["registers"])
    _check(sums == (entry["stream_crc"], entry["table_crc"]), "the checksum of its stream is wrong")
    return tb


def _check_entry(launch: Launch, entry: dict[str, int], place: _Place) -> None:
    """Check an entry against the launch."""
    g, code = launch.device.geometry, launch.kernel.image
    grid, launch_id = launch.grid, entry["launch_id"]
    _check(entry["version"] == context.VERSION, f"format version {entry['version']}, not {context.VERSION}")
    _check(entry["geometry_hash"] == g.hash, "it is of another geometry")
    area = context.area_address(g, launch.ccb_of(place.sm), launch.area_bytes, place.number(g))
    _check(entry["register_image"] == area, f"its stream is said to be at {entry['register_image']:#x}, not {area:#x}")
    _check(entry["length"] <= launch.area_bytes and entry["length"] % WORD_BYTES == 0, f"{entry['length']} bytes long")
    _check(launch_id < math.prod(grid), f"TB {launch_id} of a grid of {math.prod(grid)}")
    ctaid = launch_id % grid[0], launch_id // grid[0] % grid[1], launch_id // grid[0] // grid[1]
    _check((entry["ctaid_x"], entry["ctaid_y"], entry["ctaid_z"]) == ctaid, f"its ctaid is not that of TB {launch_id}")
    sizes = code.registers, launch.warps_per_tb
    _check((entry["registers"], entry["warps"]) == sizes, "its registers or warps are not the kernel's")
    stays = any(_kept(entry))
    completes = stays and entry["state"] == context.State.BASE
    _check(entry["incremental"] <= g.checkpoints, "said to be an increment")
    _check(not entry["none"] and stays + entry["incremental"] <= 1 and stays <= g.in_place,
           "something is said to have stayed on the SM")
    _check(entry["incremental"] == 1 or completes or entry["base_crc"] == 0, f"{entry['base_crc']:#x} where nothing is")
    _check(0 < entry["live_warps"] < 1 << entry["warps"], f"live warps {entry['live_warps']:#x} of {entry['warps']}")
    _check(entry["mechanism"] in context.mechanisms_of(g), f"mechanism {entry['mechanism']}")
    local = 0 if completes else launch.local_of(place.sm) + place.index * launch.local_region_bytes
    _check(entry["local_base"] == local, f"its local memory is said to be at {entry['local_base']:#x}, not {local:#x}")


def _read_tb(launch: Launch, entry: dict[str, int], stream: np.ndarray) -> TbContext:
    image = ImageReader(stream, launch.device.geometry, entry["live_warps"].bit_count(), entry["registers"])
    warps = tuple(_read_warp(launch, image, codes) for codes in image.codes)
    alive = [warp for warp in range(entry["warps"]) if entry["live_warps"] >> warp & 1]
    _check(sorted(w.warp for w in warps) == alive, "its warps are not those its entry names")
    lines = {n: words.tobytes() for n, words in image.shared_lines(-(-launch.shared_bytes // SEGMENT_BYTES)).items()}
    image.finish()
    data = sum(w.data_bytes for w in warps) + SEGMENT_BYTES * len(lines)
    _check(data == entry["data_bytes"], f"{data} bytes of data, {entry['data_bytes']} by its entry")
    return TbContext(
        context.State(entry["state"]), entry["launch_id"], (entry["ctaid_x"], entry["ctaid_y"], entry["ctaid_z"]),
        context.Mechanism(entry["mechanism"]), entry["generation"], entry["registers"], warps,
        entry["local_base"], lines, entry["length"], entry["data_bytes"], entry["length"] - entry["data_bytes"])


def _read_warp(launch: Launch, image: ImageReader, codes: np.ndarray) -> WarpContext:
    g, code, start = launch.device.geometry, launch.kernel.image, image.position
    record = image.record()
    header = record.header
    where = f"record of warp {header['warp']}"
    stack = tuple(StackEntry(*entry) for entry in record.stack)
    _check(all(entry.pc <= len(code.words) for entry in stack), f"{where}: a PC beyond the kernel")
    metadata = WORD_BYTES * (image.position - start + row_words(code.registers))
    registers = image.registers(record, codes)
    encodings = {r: Encoding(int(codes[r])) for r in range(code.registers)}
    data = WORD_BYTES * sum(encoded_words(encodings[r], g.warp_size) for r in registers)
    return WarpContext(header["warp"], header["live_lanes"], header["launched_lanes"],
                       header["barrier"] if header["waiting"] else None, stack, record.predicates, record.uniforms,
                       registers, encodings, metadata, data)
