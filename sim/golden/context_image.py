"""Context images of the golden model: a TB to the words of `hw.arch.image.context`, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, Capability, Mechanism, State
from caesura.hw.arch.image.encodings import row_words
from caesura.hw.arch.image.image_reader import BadImage, ImageReader, WarpRecord
from caesura.hw.arch.image.image_writer import record_words
from caesura.hw.arch.isa.liveness import ALL_LIVE, Saved, liveness_vector, saved_by

from .state.kernel import Kernel
from .state.lanes import lanes_of
from .state.staying import NOTHING, Stay, Staying
from .state.thread_block import StackEntry, ThreadBlock, Warp
from .stream_writer import LINE_WORDS, SavedBlock, StreamWriter

__all__ = ["wanted", "save", "restore", "clean", "read_entry", "check_entry"]


def wanted(warp: Warp, live_only: bool) -> Saved:
    """Return what is to be saved of a stopped warp, if it was written."""
    return saved_by(warp.live_vector if live_only and not warp.between else ALL_LIVE, warp.tb.kernel.registers)


def save(tb: ThreadBlock, mechanism: Mechanism, scramble: bool = False, restart: bool = False,
         incremental: bool = False, stay: Stay = NOTHING) -> SavedBlock:
    """Return the image of a stopped TB; the TB is unchanged.

    With `restart` it is that of the TB as it was launched (flushing: Chimera), if `incremental` without the registers
    and lines that are in its base (PEP III-C), and without those that `stay`.

    With `scramble`, live registers never written are saved as well: a restore fills what was not saved with
    random bits, and those must still read zero. Lanes that are not live are saved inverted, and so are predicates and
    uniform registers that are not live.
    """
    g, kernel = tb.g, tb.kernel
    if restart:
        alive = [Warp(g, tb, warp.index, warp.launched) for warp in tb.warps]
    else:
        alive = [warp for warp in tb.warps if warp.live]
    live_only = restart or mechanism.has(Capability.SAVES_LIVE_ONLY)
    writer = StreamWriter(kernel, mechanism)
    before: dict[int, int] = {}
    for warp in alive:
        live = wanted(warp, live_only)
        kept = warp.valid & ~warp.dirty if incremental else 0  # in the base, as they are
        saved = [r for r in live.registers
                 if (scramble or not live_only or warp.valid >> r & 1) and not kept >> r & 1]
        saved = [] if stay.registers else saved
        values = warp.registers[saved]
        if scramble:
            values[:, ~lanes_of(warp.live, g.warp_size)] ^= np.uint32(0xFFFF_FFFF)
        uniforms = _kept(warp.uniforms, warp.uniforms_written, live.uniforms, 0xFFFF_FFFF, scramble)
        writer.warp(warp.index, _warp_record(warp, live, scramble, uniforms, before), saved, values, warp.live)
        before = uniforms if mechanism.has(Capability.FOLLOWS) else {}
    valid, kept = 0 if restart else tb.lines_valid, tb.lines_valid & ~tb.lines_dirty if incremental else 0
    lines = [k for k in range(kernel.lines) if (not live_only or valid >> k & 1) and not kept >> k & 1]
    writer.shared(tb, [] if stay.lines else lines)
    return writer.seal(stay, launch_id=tb.launch_id, ctaid_x=tb.ctaid[0], ctaid_y=tb.ctaid[1], ctaid_z=tb.ctaid[2],
                       local_base=tb.local_base, incremental=int(incremental))


def _kept(values: Sequence[int] | np.ndarray, written: int, live: tuple[int, ...], ones: int, scramble: bool
          ) -> dict[int, int]:
    """Return the saved ones of predicates or uniform registers; with `scramble` those that are not live, inverted."""
    return {k: int(value) ^ (0 if k in live else ones) for k, value in enumerate(values)
            if written >> k & 1 and (scramble or k in live)}


def _warp_record(warp: Warp, live: Saved, scramble: bool, uniforms: dict[int, int], before: dict[int, int]
                 ) -> list[int]:
    """Return a warp record up to its registers; `before` are the uniform registers of the last one."""
    return record_words(
        warp.index, warp.launched, warp.live, warp.barrier if warp.waiting else None,
        _kept(warp.predicates, warp.written, live.predicates, (1 << warp.g.warp_size) - 1, scramble), uniforms,
        [(entry.pc, entry.mask & warp.live, entry.reconv) for entry in warp.stack], before)


def read_entry(g: Geometry, words: np.ndarray, base: bool = False) -> dict[str, int]:
    """Return the fields of a CCB entry that can be resumed, or be the `base` of another: its first 16 words.

    Raises
    ------
    BadImage
        If it is not complete, or no base, of another format version or geometry, or its checksum is wrong.
    """
    entry, head = context.from_words(CCB_ENTRY, words), int(words[0])
    if base and entry["state"] == State.DEMOTED:
        head += State.COMPLETE - State.DEMOTED  # as it was written
    elif entry["state"] != (State.BASE if base else State.COMPLETE):
        raise BadImage("it is no base" if base else "it is not complete")
    if entry["version"] != context.VERSION or entry["geometry_hash"] != g.hash:
        raise BadImage("format version or geometry hash")
    if entry["zero"] or entry["crc"] != context.entry_crc([head, *words[1:].tolist()]):
        raise BadImage("checksum of the entry")
    return entry


def check_entry(kernel: Kernel, entry: dict[str, int]) -> None:
    """Check the sizes that an entry says against the kernel.

    Raises
    ------
    BadImage
        If they are not its.
    """
    if (entry["registers"], entry["warps"]) != (kernel.registers, kernel.warps):
        raise BadImage("registers or warps are not the kernel's")
    stays = entry["registers_stay"] | entry["lines_stay"]
    if stays > kernel.g.in_place or entry["none"]:
        raise BadImage("something is said to stay that cannot")
    if entry["incremental"] + stays > 1 or entry["incremental"] > kernel.g.checkpoints:
        raise BadImage("it is said to be an increment, which it cannot be")
    if entry["base_crc"] and not (entry["incremental"] or stays and entry["state"] == State.BASE):
        raise BadImage(f"base {entry['base_crc']:#x} of what is no increment")
    if entry["mechanism"] not in context.mechanisms_of(kernel.g):
        raise BadImage(f"mechanism {entry['mechanism']}")
    alive = entry["live_warps"]
    if not alive or alive >> kernel.warps:
        raise BadImage(f"live warps {alive:#x} of {kernel.warps}")
    if entry["length"] <= 4 * row_words(kernel.registers) * alive.bit_count():
        raise BadImage("its stream ends early")


def restore(kernel: Kernel, index: int, entry: dict[str, int], stream: np.ndarray,
            scramble: np.random.Generator | None = None,
            base: tuple[dict[str, int], np.ndarray] | None = None, staying: Staying | None = None) -> ThreadBlock:
    """Return the TB of an image. What of it comes from an increment is dirty.

    Parameters
    ----------
    kernel : Kernel
    index : int
        Number of the entry.
    entry : dict of str to int
        Entry from `read_entry`, checked by `check_entry`.
    stream : ndarray of uint32
        The area's words.
    scramble : Generator, optional
        Fill the registers that were not saved with random bits.
    base : tuple of (dict of str to int, ndarray of uint32), optional
        Entry and stream of the image that this one is an increment of, or that completes it.
    staying : Staying, optional
        State of the TB that stayed on the SM.

    Raises
    ------
    BadImage
        If a stream does not parse as an image of this kernel.
    """
    g = kernel.g
    tb = ThreadBlock(g, kernel, entry["launch_id"])
    tb.whole = False
    tb.ctaid = (entry["ctaid_x"], entry["ctaid_y"], entry["ctaid_z"])
    tb.entry, tb.local_base = index, kernel.region_address(index)
    if kernel.region_bytes and entry["local_base"] != tb.local_base:
        raise BadImage(f"local memory at {entry['local_base']:#x}, not {tb.local_base:#x}")
    for warp in tb.warps:
        warp.live = 0
    if base is None:
        if staying is not None:
            staying.give_back(tb)
        _write_registers(_restore(tb, entry, stream, final=True, partial=bool(entry["registers_stay"])),
                         None if entry["registers_stay"] else scramble)
        clean(tb)
        return tb
    of_base = _restore(tb, *base)
    _write_registers(of_base, scramble)
    clean(tb)
    increment = _restore(tb, entry, stream, final=True, partial=True)
    if missing := [warp.index for warp in increment if warp not in of_base]:
        raise BadImage(f"record of warp {missing[0]}, which its base has not")
    _write_registers(increment)
    return tb


def _write_registers(found: dict[Warp, dict[int, np.ndarray]], scramble: np.random.Generator | None = None) -> None:
    """Write the registers of warps, with `scramble` random bits into the others."""
    for warp, registers in found.items():
        for r in range(warp.tb.kernel.registers):
            if r in registers:
                warp.registers[r] = registers[r]
            elif scramble is not None:
                warp.registers[r] = scramble.integers(0, 1 << 32, warp.g.warp_size, np.uint32)
            else:
                continue
            warp.valid |= 1 << r
            warp.dirty |= 1 << r


def clean(tb: ThreadBlock) -> None:
    """All of a TB is in its base."""
    tb.lines_dirty = 0
    for warp in tb.warps:
        warp.dirty = 0


def _restore(tb: ThreadBlock, entry: dict[str, int], stream: np.ndarray, final: bool = False, partial: bool = False
             ) -> dict[Warp, dict[int, np.ndarray]]:
    """Restore the shared lines of a stream and return the registers of its warps. A `final` stream of a TB also
    restores the state of the warps. It has all their registers unless it is `partial`."""
    g, kernel, alive = tb.g, tb.kernel, entry["live_warps"]
    sums = context.stream_crcs(g, stream.tolist(), alive.bit_count(), kernel.registers)
    if sums != (entry["stream_crc"], entry["table_crc"]):
        raise BadImage("checksum of the stream")
    image = ImageReader(stream, g, alive.bit_count(), kernel.registers)
    found: dict[Warp, dict[int, np.ndarray]] = {}
    for codes in image.codes:
        record = image.record()
        if not alive >> record.header["warp"] & 1:
            raise BadImage(f"record of warp {record.header['warp']}")
        warp = tb.warps[record.header["warp"]]
        alive &= ~(1 << warp.index)
        if final:
            _restore_warp(warp, record, codes, partial)
        found[warp] = image.registers(record, codes)
    lines = tb.views[2].reshape(-1, LINE_WORDS)
    for line, words in image.shared_lines(kernel.lines).items():
        lines[line] = words
        tb.lines_valid |= 1 << line
        tb.lines_dirty |= 1 << line
    image.finish()
    return found


def _restore_warp(warp: Warp, record: WarpRecord, codes: np.ndarray, partial: bool) -> None:
    """Restore a warp but for its registers; if `partial`, others than those in its record may be live.

    As in the RTL a lane, a predicate or a bit of a PC that the machine has not is not looked at.
    """
    lanes, header = (1 << warp.g.warp_size) - 1, record.header
    warp.live, warp.launched = header["live_lanes"], header["launched_lanes"]
    warp.waiting, warp.barrier = bool(header["waiting"]), header["barrier"]
    allocated = warp.tb.kernel.registers  # of predicates and uniform registers only those saved are written
    warp.live_vector = liveness_vector(np.flatnonzero(codes).tolist()) | ALL_LIVE & ~((1 << allocated) - 1)
    if partial:
        warp.live_vector = ALL_LIVE
    warp.written = header["predicates"]
    for p, value in record.predicates.items():
        warp.predicates[p] = value & lanes
    warp.uniforms_written = header["uniforms"]
    for u, value in record.uniforms.items():
        warp.uniforms[u] = value
    warp.stack = [StackEntry(*entry) for entry in record.stack]
