"""Entry buffer: the first 64 bytes of every CCB entry, and what is wrong with them."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, WORD_BYTES, Geometry
from ...arch.image.context import (
    CCB_ENTRY,
    ENTRY_BYTES,
    ENTRY_WORDS,
    VERSION,
    State,
    area_steps,
    mechanisms_of,
    places,
)
from ...interfaces.payloads import below
from ...interfaces.port import Port
from ...lib.bits import popcount
from ..formats.accepted_command import accepted_command
from ..formats.checksum import ChecksumPort, checksum_of
from ..formats.found_entry import found_entry
from ..formats.packer import CHUNK_WORDS
from ..formats.stream_extent import stream_extent

__all__ = ["ENTRY_ROWS", "EntryBuffer"]

ENTRY_ROWS = ENTRY_WORDS // CHUNK_WORDS
"""Rows of four words of an entry."""
_HEAD, _IMAGE, _SIZES, _ORIGIN = range(ENTRY_ROWS)
_CRC_WORD = CCB_ENTRY["crc"].offset // 32


def _any(checks: dict[str, Any]) -> Value:
    """Return whether a check, of those in a table by their reasons, finds something wrong."""
    return reduce(or_, checks.values())


class _Expected:
    """Properties that the entry in hand must have."""

    def __init__(self):
        self.increment = Signal()
        self.second_image = Signal()  # it completes another
        self.absent = Signal(2)  # registers, lines that it is to be without


class _Claims:
    """Fields of the entry in hand so far."""

    def __init__(self, g: Geometry):
        self.area = Signal(ADDRESS_BITS, name="claimed_area")  # its save area on side 0
        self.crc = Signal(32, name="claimed_crc")
        self.base_crc = Signal(32, name="claimed_base_crc")
        self.increment = Signal(name="claimed_increment")
        self.absent = Signal(2, name="claimed_absent")  # registers, lines that it is without
        self.length = Signal(32, name="claimed_length")
        self.warps = Signal(stream_extent(g).members["warps"], name="claimed_warps")


class EntryBuffer(wiring.Component):
    """Receives all entries in order, then, if some of them are increments or completed by a second
    image, those on the other sides in the same order; checks those that are saved, the bases of
    increments and second images, and shows one at a time.

    A saved entry is bad

    * if its state is not `State.COMPLETE`, or its checksum is wrong;
    * if its format version, geometry hash, generation or length of stream is not as expected;
    * if its registers or warps differ from the kernel's;
    * if it names no warp, or one that the kernel has not;
    * if its stream does not begin with its save area, is longer than that, or is no longer than its
      encoding table;
    * if it is no increment of the base that is expected, or an increment that is not expected.

    The same holds for a base, with two differences. Its state is `State.BASE` or `State.DEMOTED`.
    Its checksum is the one expected, with the state that it was written with. A base is not an
    increment itself. A second image is `State.BASE`, and names the image that it completes. Each
    image is without the registers or lines that it is expected to be without. A second image says
    of them what the first does.

    Timing
    ------
    Four words are taken in each cycle in which they are there, so an entry takes a quarter of
    `ENTRY_WORDS`; it is judged in the cycle after its last ones.

    Parameters
    ----------
    g : Geometry
    shared : bool
        Use a checksum outside, which the block has a port for, not one of its own.

    Attributes
    ----------
    accepted : in
    clear : Signal, in
        Forget everything; wait for `context_entries` entries, or twice as many.
    saved, sides : Signal(context_entries), in
        Vectors: entries that are looked at, and on which sides they are. Constant from `clear` on.
    increments : Signal(context_entries), in
        Vector: those that are increments; with `accepted.adopt` from the cycle after
        `image_arrived` on.
    without_registers, without_lines, completed : Signal(context_entries), in
        Vectors: those without registers, without lines; those that a second image completes.
        Likewise.
    number, of_base : Signal, out
    generation, crc : Signal(32), in; extent : in
        The entry that arrives, or it is that on the other side; the generation that an entry has to
        have, the checksum of its base's or, if it is completed, its own, and the length of its
        stream. With `accepted.adopt` only `crc` counts, for what is on the other side.
    image_arrived, base_arrived : Signal, out; found : out
        The last of a saved entry, or of a base, is taken in this cycle; what it says.
    images_full : Signal, out
        All entries that are no bases are in.
    words, level : in
    take : Signal, out
        From an `Unpacker`; words are taken four at a time until the last entry is in.
    full : Signal, out
        All entries are in and judged.
    bad : Signal, out
        One that is saved is bad.
    select, select_base : Signal, in
        Entry shown by `entry`, or it is that of its base.
    load : Signal, in
        Show the selected entry from the next cycle on.
    entry : Signal, out
        The entry that was selected last with `load`.
    checksum : ChecksumPort, out
        If `shared`.
    """

    accepted: data.View
    clear: Signal
    saved: Signal
    sides: Signal
    increments: Signal
    without_registers: Signal
    without_lines: Signal
    completed: Signal
    number: Signal
    of_base: Signal
    generation: Signal
    crc: Signal
    extent: data.View
    image_arrived: Signal
    base_arrived: Signal
    found: data.View
    images_full: Signal
    words: data.View
    level: Signal
    take: Signal
    full: Signal
    bad: Signal
    select: Signal
    select_base: Signal
    load: Signal
    entry: data.View
    checksum: Port

    def __init__(self, g: Geometry, *, shared: bool = False):
        self.geometry, self.shared = g, shared
        super().__init__({
            **({"checksum": Out(ChecksumPort(CHUNK_WORDS))} if shared else {}),
            "accepted": In(accepted_command(g)), "clear": In(1), "saved": In(g.context_entries),
            "sides": In(g.context_entries), "increments": In(g.context_entries),
            **{name: In(g.context_entries)
               for name in ("without_registers", "without_lines", "completed")},
            "number": Out(below(g.context_entries)), "of_base": Out(1), "generation": In(32),
            "crc": In(32), "extent": In(stream_extent(g)),
            "image_arrived": Out(1), "base_arrived": Out(1), "found": Out(found_entry(g)),
            "images_full": Out(1),
            "words": In(data.ArrayLayout(32, g.window_words)),
            "level": In(range(g.window_words + 1)),
            "take": Out(range(CHUNK_WORDS + 1)), "full": Out(1), "bad": Out(1),
            "select": In(below(g.context_entries)), "select_base": In(1), "load": In(1),
            "entry": Out(CCB_ENTRY),
        })

    @property
    def pairs(self) -> Value:
        """Entries to which one on the other side belongs."""
        return self.increments | (self.completed if self.geometry.in_place else 0)

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        rows = g.context_entries * ENTRY_ROWS
        m.submodules.memory = memory = Memory(
            shape=data.ArrayLayout(32 * CHUNK_WORDS, ENTRY_ROWS), init=[],
            depth=1 << len(self.number) + g.checkpoints)
        write = memory.write_port(granularity=1)
        read = memory.read_port(domain="comb")
        shown = Signal.like(read.addr)  # the entry is held by its number
        row = Signal(range(ENTRY_ROWS))
        count = Signal(range(rows + 1), init=rows)
        bases_pending = Signal()  # bases follow
        row_taken = Signal()
        judging = Signal()  # the checksum of the last entry is there in this cycle
        m.d.comb += [
            self.images_full.eq(self.of_base | (count == rows) & ~judging),
            bases_pending.eq((self.pairs & self.saved).any() if g.checkpoints else 0),
            self.full.eq((count == rows) & ~judging & (self.of_base | ~bases_pending)),
            row_taken.eq((count != rows) & (self.level >= CHUNK_WORDS)),
            self.number.eq(count >> ENTRY_ROWS.bit_length() - 1),
            row.eq(count), write.addr.eq(Cat(self.number, self.of_base)),
            write.en.eq(row_taken << row),
            Value.cast(write.data).eq(
                Value.cast(self.words)[:32 * CHUNK_WORDS].replicate(ENTRY_ROWS)),
            read.addr.eq(shown),
            Value.cast(self.entry).eq(Value.cast(read.data)),
        ]
        expected = self._expect(m)
        claimed = _Claims(self.geometry)
        checked = Signal()  # the entry in hand is a saved one, or the base of one
        m.d.comb += checked.eq(self.saved.bit_select(self.number, 1)
                               & (~self.of_base | self.pairs.bit_select(self.number, 1)))
        last_row = row_taken & checked & (row == _ORIGIN)
        m.d.sync += judging.eq(last_row)
        crc = self._checksum(m, expected, row, row_taken)
        wrong = self._judge(m, expected, claimed, row)
        self._claim(m, claimed, row, row_taken)
        self._report(m, claimed, last_row)
        with m.If(row_taken & checked & wrong | judging & (crc != claimed.crc)):
            m.d.sync += self.bad.eq(1)
        with m.If(self.clear | self.images_full & ~self.of_base):
            m.d.sync += claimed.area.eq(self.accepted.ccb_base + ENTRY_BYTES * (places(g) + 1))
        with m.If(self.load):
            m.d.sync += shown.eq(Cat(self.select, self.select_base))
        with m.If(row_taken):
            m.d.comb += self.take.eq(CHUNK_WORDS)
            m.d.sync += count.eq(count + 1)
        with m.If(self.images_full & ~self.of_base & bases_pending):
            m.d.sync += [count.eq(0), self.of_base.eq(1)]
        with m.If(self.clear):
            m.d.sync += [count.eq(0), self.of_base.eq(0), self.bad.eq(0)]
        return m

    def _row(self, number: int) -> Any:
        """Return the row that arrives, as the one with a number of an entry."""
        size = 32 * CHUNK_WORDS
        return data.View(CCB_ENTRY, Cat(
            Const(0, size * number), Value.cast(self.words)[:size],
            Const(0, CCB_ENTRY.size - size * (number + 1))))

    def _expect(self, m: Module) -> "_Expected":
        """Return what the entry in hand is to be, as the machine remembers it."""
        expected = _Expected()
        m.d.comb += expected.increment.eq(
            self.increments.bit_select(self.number, 1) & ~self.of_base)
        if self.geometry.in_place:
            m.d.comb += [
                expected.second_image.eq(
                    self.of_base & self.completed.bit_select(self.number, 1)),
                expected.absent.eq(Cat(vector.bit_select(self.number, 1) for vector in (
                    self.without_registers, self.without_lines)))]
        return expected

    def _checksum(self, m: Module, expected: "_Expected", row: Value, row_taken: Value) -> Value:
        """Return the checksum of the entry in hand, of its head with the state that it was written
        with, and without the checksum itself."""
        head, words = self._row(_HEAD), Value.cast(self.words)[:32 * CHUNK_WORDS]
        of_entry = checksum_of(m, self, CHUNK_WORDS)
        demoted_base = self.of_base & ~expected.second_image & (head.state == State.DEMOTED)
        m.d.comb += [
            of_entry.data.eq(Mux(row == _HEAD, Cat(
                Mux(demoted_base, State.COMPLETE, head.state), words[8:32],
                *(Mux(k == _CRC_WORD, 0, self.words[k]) for k in range(1, CHUNK_WORDS))), words)),
            of_entry.start.eq(row_taken & (row == _HEAD)), of_entry.valid.eq(row_taken),
        ]
        return of_entry.crc

    def _judge(self, m: Module, expected: "_Expected", claimed: "_Claims", row: Value) -> Signal:
        """Return whether the row that arrives is wrong."""
        wrong = Signal()
        checks = {_HEAD: self._head_checks(expected, claimed), _IMAGE: self._image_checks(),
                  _SIZES: self._sizes_checks(expected, claimed), _ORIGIN: self._origin_checks()}
        with m.Switch(row):
            for number, named in checks.items():
                with m.Case(number):
                    m.d.comb += wrong.eq(_any(named))
        return wrong

    def _head_checks(self, expected: "_Expected", claimed: "_Claims") -> dict[str, Any]:
        """Return what is wrong with the first row, by the reason."""
        base, head, second = self.of_base, self._row(_HEAD), expected.second_image
        _, to_side = area_steps(self.geometry, self.accepted.area_bytes)
        other_side = self.sides.bit_select(self.number, 1) ^ base
        return {
            "its state": Mux(base, _any({
                "it is neither a base nor demoted":
                    (head.state != State.BASE) & (second | (head.state != State.DEMOTED)),
                "it is another base than the one expected": ~second & (head.crc != self.crc),
            }), _any({
                "it is not complete": head.state != State.COMPLETE,
            })),
            "it has another format": head.version != VERSION,
            "bits that mean nothing are set": head.zero != 0,
            "its stream is not at the begin of its save area":
                head.register_image != claimed.area + Mux(other_side, to_side, 0),
            "its base": Mux(base, _any({
                "it names an image, or another one than it completes":
                    head.base_crc != Mux(second, self.crc, 0),
            }), _any({
                "it names another base than the one expected": ~self.accepted.adopt & (
                    head.base_crc != Mux(expected.increment, self.crc, 0)),
            })),
        }

    def _image_checks(self) -> dict[str, Any]:
        """Return what is wrong with the second row, by the reason."""
        accepted, image = self.accepted, self._row(_IMAGE)
        return {
            "its stream is longer than its save area": image.length > accepted.area_bytes,
            "its stream does not end with a word": image.length % WORD_BYTES != 0,
            "it has more data than its stream": image.data_bytes > image.length,
            "its stream is not as long as the one that was saved":
                ~accepted.adopt & (image.length // WORD_BYTES != self.extent.words),
        }

    def _sizes_checks(self, expected: "_Expected", claimed: "_Claims") -> dict[str, Any]:
        """Return what is wrong with the third row, by the reason."""
        g, s, base, sizes = self.geometry, self.accepted, self.of_base, self._row(_SIZES)
        warps, absent = popcount(sizes.live_warps), Cat(sizes.registers_stay, sizes.lines_stay)
        return {
            "its registers differ from the kernel's": sizes.registers != s.registers,
            "its warps differ from the kernel's": sizes.warps != s.warps,
            "it is an increment": Mux(base, _any({
                "though it is a base": sizes.incremental != 0,
            }), Mux(s.adopt, _any({
                "though this machine has none": sizes.incremental > g.checkpoints,
                "or is none, though it names a base":
                    claimed.base_crc.any() & (sizes.incremental == 0),
                "though something of it has stayed": sizes.incremental & absent.any(),
            }), _any({
                "and should not be, or the reverse": sizes.incremental != expected.increment,
            }))),
            "bits that mean nothing are set": sizes.none != 0,
            "it has not just the parts that it should have":
                (~s.adopt | base | (not g.in_place)) & (absent != expected.absent),
            "its mechanism is not one of this machine": sizes.mechanism > max(mechanisms_of(g)),
            "it names a warp that the kernel has not": (sizes.live_warps >> s.warps).any(),
            "it names no warp": ~sizes.live_warps.any(),
            "its stream is no longer than its encoding table":
                claimed.length <= warps * s.row_words * WORD_BYTES,
            "it has not as many warps as were saved": ~s.adopt & (warps != self.extent.warps),
        }

    def _origin_checks(self) -> dict[str, Any]:
        """Return what is wrong with the fourth row, by the reason."""
        origin = self._row(_ORIGIN)
        return {
            "it is of another machine": origin.geometry_hash != self.geometry.hash,
            "it is of another preempt than the one expected":
                ~self.accepted.adopt & ~self.of_base & (origin.generation != self.generation),
        }

    def _claim(self, m: Module, claimed: "_Claims", row: Value, row_taken: Value):
        """Keep what later rows are judged by, and what the context book is told."""
        head, image, sizes = self._row(_HEAD), self._row(_IMAGE), self._row(_SIZES)
        step, _ = area_steps(self.geometry, self.accepted.area_bytes)
        kept = [(claimed.crc, _HEAD, head.crc), (claimed.base_crc, _HEAD, head.base_crc),
                (claimed.increment, _SIZES, sizes.incremental),
                (claimed.length, _IMAGE, image.length),
                (claimed.warps, _SIZES, popcount(sizes.live_warps))]
        if self.geometry.in_place:
            kept.append((claimed.absent, _SIZES, Cat(sizes.registers_stay, sizes.lines_stay)))
        with m.If(row_taken):
            m.d.sync += [register.eq(Mux(row == number, value, register))
                         for register, number, value in kept]
            m.d.sync += claimed.area.eq(claimed.area + Mux(row == _ORIGIN, step, 0))

    def _report(self, m: Module, claimed: "_Claims", last_row: Value):
        """Say what an entry that has come says of itself."""
        found, origin = self.found, self._row(_ORIGIN)
        m.d.comb += [
            self.image_arrived.eq(last_row & ~self.of_base),
            self.base_arrived.eq(last_row & self.of_base),
            found.generation.eq(origin.generation), found.crc.eq(claimed.crc),
            found.increment.eq(claimed.increment), found.base_crc.eq(claimed.base_crc),
            found.registers_stay.eq(claimed.absent[0]), found.lines_stay.eq(claimed.absent[1]),
            found.extent.words.eq(claimed.length // WORD_BYTES),
            found.extent.warps.eq(claimed.warps)]
