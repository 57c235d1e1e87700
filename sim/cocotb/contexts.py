"""Reads contexts from memory as software does, and compares them with the core's state in a scoreboard.

`hw.arch.image.image_reader` parses the words of a stream, independently of the hardware. The checksums are zlib's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np

from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, Capability, Mechanism, State
from caesura.hw.arch.image.encodings import Encoding, encode, encoded_words, in_order, row_of, row_words
from caesura.hw.arch.image.image_reader import BadImage, ImageReader
from caesura.hw.arch.image.image_writer import record_words
from caesura.hw.arch.image.tb_history import RegisterHistory
from caesura.hw.arch.isa.liveness import ALL_LIVE, saved_by

from .core_state import CoreState, Kernel, Warp

__all__ = ["ContextScoreboard", "SavedBlock", "SavedWarp", "block_of", "on_the_core", "read_context",
           "read_stream", "stream_of"]

Read = Callable[[int, int], bytes]
"""Reads memory, given an address and a number of bytes."""
_LINE_WORDS = SEGMENT_BYTES // 4


@dataclass
class SavedWarp:
    """A warp in memory, or its state on the core.

    Attributes
    ----------
    launched, live, barrier, stack, predicates, uniforms
        See `core_state.Warp`.
    registers : dict of int to list of int
        Lanes of each saved register.
    codes : dict of int to int
        `Encoding` of each register in memory; empty for a warp on the core.
    """

    launched: int
    live: int
    barrier: int | None
    stack: list[tuple[int, int, int]]
    predicates: dict[int, int]
    uniforms: dict[int, int]
    registers: dict[int, list[int]]
    codes: dict[int, int] = field(default_factory=dict)

    def agrees(self, other: SavedWarp) -> bool:
        """Return whether two warps are equal; registers are compared in live lanes only."""
        lanes = [k for k in range(max(1, self.live.bit_length())) if self.live >> k & 1]

        def counted(warp: SavedWarp) -> dict[int, list[int]]:
            return {r: [values[k] for k in lanes] for r, values in sorted(warp.registers.items())}

        names = ("launched", "live", "barrier", "stack", "predicates", "uniforms")
        return all(getattr(self, name) == getattr(other, name) for name in names) and counted(self) == counted(other)


@dataclass
class SavedBlock:
    """A TB, with `warps` by number, None for an exited warp, and `lines` of shared memory by number."""

    launch_id: int
    place: tuple[int, int, int]
    warps: dict[int, SavedWarp]
    lines: dict[int, list[int]]

    def difference(self, other: SavedBlock) -> str:
        """Return the first relevant difference in words, empty if there is none."""
        if (self.launch_id, self.place) != (other.launch_id, other.place):
            return f"TB {self.launch_id} at {self.place} is {other.launch_id} at {other.place}"
        if self.warps.keys() != other.warps.keys():
            return f"warps {sorted(self.warps)} are {sorted(other.warps)}"
        for number, warp in self.warps.items():
            if not warp.agrees(other.warps[number]):
                return f"warp {number} is {other.warps[number]}, expected {warp}"
        if self.lines != other.lines:
            return f"shared lines {sorted(self.lines)} are {sorted(other.lines)}, or differ"
        return ""


def read_context(read: Read, g: Geometry, kernel: Kernel, place: int) -> tuple[dict[str, int], SavedBlock | None]:
    """Return the entry at a place of the CCB, and its TB if the entry says that the context is complete.

    Parameters
    ----------
    read : callable
    g : Geometry
    kernel : Kernel
    place : int
        Place, below `context.places`.

    Raises
    ------
    AssertionError
        If a checksum or the version is wrong.
    BadImage
        If the stream is malformed.
    """
    words = _words(read, context.entry_address(kernel.ccb_base, place), context.ENTRY_WORDS)
    entry = context.from_words(CCB_ENTRY, words)
    if entry["state"] != State.COMPLETE:
        return entry, None
    assert (entry["version"], entry["geometry_hash"]) == (context.VERSION, g.hash), "version or geometry of an entry"
    assert entry["crc"] == context.entry_crc(words), "checksum of an entry"
    assert entry["register_image"] == context.area_address(g, kernel.ccb_base, kernel.area_bytes, place)
    stream = np.array(_words(read, entry["register_image"], entry["length"] // 4), np.uint32)
    count = entry["live_warps"].bit_count()
    assert (entry["stream_crc"], entry["table_crc"]) == context.stream_crcs(
        g, stream.tolist(), count, kernel.registers), "checksum of a stream"
    warps, lines = read_stream(stream, g, kernel, entry["live_warps"])
    return entry, SavedBlock(entry["launch_id"], (entry["ctaid_x"], entry["ctaid_y"], entry["ctaid_z"]), warps, lines)


def read_stream(stream: np.ndarray, g: Geometry, kernel: Kernel, live_warps: int
                ) -> tuple[dict[int, SavedWarp], dict[int, list[int]]]:
    """Return the warps and the lines of shared memory in a stream, by number.

    Parameters
    ----------
    stream : ndarray of uint32
        Stream with its encoding table.
    g : Geometry
    kernel : Kernel
    live_warps : int
        Bit mask of the warps in the stream.

    Raises
    ------
    BadImage
        If the stream is malformed.
    """
    reader = ImageReader(stream, g, live_warps.bit_count(), kernel.registers)
    warps, every = {}, (1 << g.warp_size) - 1
    for codes in reader.codes:  # in the order in which the warps stopped
        record = reader.record()
        header, registers = record.header, reader.registers(record, codes)
        if header["warp"] in warps or not live_warps >> header["warp"] & 1:
            raise BadImage(f"warp {header['warp']} is not to come")
        warps[header["warp"]] = SavedWarp(
            header["launched_lanes"], header["live_lanes"], header["barrier"] if header["waiting"] else None,
            record.stack, {p: lanes & every for p, lanes in record.predicates.items()}, record.uniforms,
            {r: values.tolist() for r, values in registers.items()}, {r: int(codes[r]) for r in registers})
    lines = reader.shared_lines(kernel.lines) if kernel.lines else {}
    reader.finish()
    return dict(sorted(warps.items())), {line: words.tolist() for line, words in lines.items()}


def _words(read: Read, address: int, count: int) -> list[int]:
    """Return words of memory."""
    return np.frombuffer(read(address, 4 * count), "<u4").tolist()


def block_of(state: CoreState, tb: int, mechanism: Mechanism, scramble: bool = False) -> SavedBlock:
    """Return the right context of the TB in a slot after a save by a mechanism: live written registers, or all.

    A save that scrambles, for tests of liveness, has every live register. It also has the dead predicates and uniform
    registers, inverted.
    """
    block, every = state.blocks[tb], not mechanism.has(Capability.SAVES_LIVE_ONLY)
    kernel, warps = state.kernels[block.kernel], {}
    for number, slot in enumerate(block.slots):
        warp = state.warps[slot]
        if warp.live:
            warps[number] = _warp_of(state, warp, kernel.registers, every, scramble)
    lines = {}
    for line in range(kernel.lines):
        at = (block.first_line + line) * _LINE_WORDS
        if state.lines_valid >> block.first_line + line & 1:
            lines[line] = state.shared[at:at + _LINE_WORDS]
        elif every:
            lines[line] = [0] * _LINE_WORDS
    return SavedBlock(block.launch_id, block.place, warps, lines)


def _warp_of(state: CoreState, warp: Warp, registers: int, every: bool, scramble: bool) -> SavedWarp:
    """Return the right context of a warp."""
    live = saved_by(ALL_LIVE if every or warp.between else warp.live_vector, registers)
    zero = [0] * state.g.warp_size
    return SavedWarp(
        warp.launched, warp.live, warp.barrier, list(warp.stack),
        _scalars(warp.predicates, live.predicates, (1 << state.g.warp_size) - 1 if scramble else None),
        _scalars(warp.uniforms, live.uniforms, 0xFFFF_FFFF if scramble else None),
        {r: list(state.file[warp.base + r]) if warp.valid >> r & 1 else zero for r in live.registers
         if every or scramble or warp.valid >> r & 1})


def _scalars(written: dict[int, int], live: Collection[int], inverted: int | None) -> dict[int, int]:
    """Return the live values, and the dead ones too if they are `inverted` by some bits."""
    return {number: value if number in live else value ^ (inverted or 0) for number, value in written.items()
            if inverted is not None or number in live}


def stream_of(saved: SavedBlock, g: Geometry, kernel: Kernel) -> tuple[list[int], list[int]]:
    """Return the stream of a TB as software writes it, with each register in its shortest encoding.

    If the hardware can read them, registers that follow from the warp before are encoded so, and uniform registers are
    repeated.

    Returns
    -------
    stream : list of int
        The stream up to its encoding table.
    table : list of int
        The encoding table, which follows it in memory.
    """
    stream, table = [], []
    history, before = RegisterHistory(g.warp_size), {}
    for number, warp in saved.warps.items():
        codes = np.zeros(8 * row_words(kernel.registers), np.int64)
        words = np.zeros((len(codes), g.warp_size), np.uint32)
        for register, values in warp.registers.items():
            one, encoded = encode(np.array([values], np.uint32), warp.live, g.lanes)
            follows = g.tb_compressor and history.follows(register, int(one[0]), encoded[0])
            history.keep(register, int(one[0]), encoded[0])
            codes[register], words[register] = Encoding.FOLLOWS if follows else one[0], encoded[0]
        stream += record_words(number, warp.launched, warp.live, warp.barrier, warp.predicates, warp.uniforms,
                               warp.stack, before)
        before = warp.uniforms if g.tb_compressor else {}
        stream += [int(word) for register in in_order(codes)
                   for word in words[register, :encoded_words(codes[register], g.warp_size)]]
        table += row_of(codes[:kernel.registers].tolist())
    bitmap = sum(1 << line for line in saved.lines)
    stream += [bitmap >> 32 * k & 0xFFFF_FFFF for k in range(-(-kernel.lines // 32))]
    return stream + [word for line in sorted(saved.lines) for word in saved.lines[line]], table


class ContextScoreboard:
    """Compares saved contexts with the core's state, and restored state with the saved contexts.

    Call `saved` when a TB is released. Its context must be complete in memory then. Call `restored` when a restored TB
    starts. Memory must no longer mark its context as complete then.

    Parameters
    ----------
    read : callable
        Reads memory, given an address and a number of bytes, such as `FailingRam.words`.
    state : CoreState

    Attributes
    ----------
    contexts : dict of int to SavedBlock
        Contexts of the TBs that are saved and not restored, by launch id.
    lengths : dict of int to int
        Number of bytes of their streams.
    saves, restores : int
    """

    def __init__(self, read: Read, state: CoreState):
        self._read, self._state = read, state
        self.contexts: dict[int, SavedBlock] = {}
        self.lengths: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self.saves = self.restores = 0

    def saved(self, tb: int, mechanism: Mechanism, scramble: bool = False) -> None:
        """Compare the saved context of the TB in a slot with the core's state, just before the slot is freed.

        Raises
        ------
        AssertionError
            If memory has no complete context, or the context is wrong.
        """
        state, g = self._state, self._state.g
        block = state.blocks[tb]
        found = []
        for side in range(1 + g.checkpoints):
            place = block.entry + side * g.tb_slots
            entry, context_of = read_context(self._read, g, state.kernels[block.kernel], place)
            if context_of is not None:
                found.append((entry["generation"], place, entry, context_of))
        assert found, f"TB {block.launch_id} is released, and its context is not complete"
        _, place, entry, context_of = max(found, key=lambda each: each[0])
        assert entry["mechanism"] == mechanism
        expected = block_of(state, tb, mechanism, scramble)
        self._compare(expected, context_of, "saved")
        for number, warp in context_of.warps.items():
            self._encodings(expected.warps[number], warp, mechanism)
        self._records(entry, state.kernels[block.kernel], mechanism)
        self.contexts[block.launch_id], self._places[block.launch_id] = context_of, place
        self.lengths[block.launch_id] = entry["length"]
        self.saves += 1

    def restored(self, tb: int, scramble: bool = False) -> None:
        """Compare the TB in a slot, just before it runs, with its context.

        A resume that scrambles, for tests of liveness, has written every register that was not saved.

        Raises
        ------
        AssertionError
            If the TB has no context, differs from it, or memory still marks the context as complete.
        """
        state = self._state
        block = state.blocks[tb]
        assert block.launch_id in self.contexts, f"TB {block.launch_id} starts, and was not saved"
        entry, _ = read_context(self._read, state.g, state.kernels[block.kernel], self._places[block.launch_id])
        assert entry["state"] == State.DEMOTED, f"TB {block.launch_id} starts, and its entry is {entry['state']:#x}"
        expected, found = self.contexts.pop(block.launch_id), on_the_core(state, tb)
        for number, warp in found.warps.items() if scramble else ():
            assert len(warp.registers) == state.kernels[block.kernel].registers, f"warp {number} is not scrambled"
            warp.registers = {r: values for r, values in warp.registers.items()
                              if r in expected.warps[number].registers}
        self._compare(expected, found, "restored")
        self.restores += 1

    def _records(self, entry: dict[str, int], kernel: Kernel, mechanism: Mechanism) -> None:
        """Check that each record has the words that software writes, and no more."""
        stream = np.array(_words(self._read, entry["register_image"], entry["length"] // 4), np.uint32)
        reader = ImageReader(stream, self._state.g, entry["live_warps"].bit_count(), kernel.registers)
        before: dict[int, int] = {}
        for codes in reader.codes:
            first, record = reader.position, reader.record()
            header, words = record.header, stream[first:reader.position].tolist()
            assert words == record_words(
                header["warp"], header["launched_lanes"], header["live_lanes"],
                header["barrier"] if header["waiting"] else None, record.predicates, record.uniforms, record.stack,
                before), f"the record of warp {header['warp']} is {[hex(word) for word in words]}"
            before = record.uniforms if mechanism.has(Capability.FOLLOWS) else {}
            reader.registers(record, codes)

    def _encodings(self, expected: SavedWarp, warp: SavedWarp, mechanism: Mechanism) -> None:
        """Check that each register has the mechanism's encoding, the shortest or none."""
        for register, code in warp.codes.items():
            if mechanism.has(Capability.FOLLOWS) and code == Encoding.FOLLOWS:
                continue  # its values were compared before
            shortest = encode(np.array([expected.registers[register]], np.uint32), warp.live, self._state.g.lanes)
            wanted = int(shortest[0][0]) if mechanism.has(Capability.COMPRESSES) else Encoding.RANDOM
            assert code == wanted, f"register {register} is encoded as {code}, not {wanted}"

    @staticmethod
    def _compare(expected: SavedBlock, found: SavedBlock, what: str) -> None:
        difference = expected.difference(found)
        assert not difference, f"TB {expected.launch_id}, {what}: {difference}"


def on_the_core(state: CoreState, tb: int) -> SavedBlock:
    """Return the state of the TB in a slot on the core, with everything that is valid."""
    block = state.blocks[tb]
    warps = {}
    for number, slot in enumerate(block.slots):
        warp = state.warps[slot]
        if warp.live:
            warps[number] = SavedWarp(
                warp.launched, warp.live, warp.barrier, list(warp.stack), dict(warp.predicates), dict(warp.uniforms),
                {r: list(state.file[warp.base + r]) for r in range(state.kernels[block.kernel].registers)
                 if warp.valid >> r & 1})
    first, lines = block.first_line, {}
    for line in range(state.kernels[block.kernel].lines):
        if state.lines_valid >> first + line & 1:
            lines[line] = state.shared[(first + line) * _LINE_WORDS:(first + line + 1) * _LINE_WORDS]
    return SavedBlock(block.launch_id, block.place, warps, lines)
