"""Packer and unpacker lose and invent no word: the proof follows any one word through the block."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.arch.image.encodings import Encoding, encoded_words
from caesura.hw.formal.opened import Opened, free
from caesura.hw.preempt.formats import packer, unpacker
from caesura.hw.preempt.formats.packer import Packer
from caesura.hw.preempt.formats.unpacker import Unpacker
from caesura.hw.preempt.restore.expander import register_words

from .faults import Fault
from .harness import Harness
from .property import Property

__all__ = ["PackerKeepsWords", "UnpackerKeepsWords", "PROPERTIES"]


class _Watched:
    """One word: whether it is in the block, how many words are in front of it, what it is."""

    def __init__(self, capacity: int):
        self.inside = Signal()
        self.place = Signal(range(capacity + 1))
        self.word = Signal(32)
        self.written = Signal()

    def enters(self, m: Module, now: Value, place: Value, word: Value, written: Any = 1) -> None:
        """It is one that enters in this cycle, if the prover likes and none is watched."""
        with m.If(Harness.anything(m, 1) & now & ~self.inside):
            m.d.sync += [self.inside.eq(1), self.place.eq(place), self.word.eq(word), self.written.eq(written)]


class PackerKeepsWords(Harness):
    """Whatever is offered and taken when, and wherever a unit ends:

    - a word of a chunk leaves in its place: behind those that came before it in its unit, with its strobe;
    - places that no word came for have no strobe;
    - a group leaves if it is full or ends a unit, and then it is offered;
    - a unit ends with one group that says so and has its tag.
    """

    def __init__(self, words_out: int, words_in: int):
        super().__init__()
        self.words_out, self.words_in = words_out, words_in

    def state(self, m):
        n, most = self.words_out, self.words_in
        m.submodules.dut = dut = Opened(Packer(n, 8, most))
        free(m, dut.component)
        chunk, beat = dut.component.chunk, dut.component.beat
        enter, leave = chunk.valid & chunk.ready, beat.valid & beat.ready
        capacity = n + most - 1
        held = Signal(range(capacity + 1))  # words of the unit in hand that have not left
        after = Signal.like(held)  # once a group has left
        ending = Signal()  # its last chunk has come
        tag = Signal(8)
        m.d.comb += after.eq(Mux(leave, Mux(held > n, held - n, 0), held))
        m.d.sync += held.eq(after + Mux(enter, chunk.payload.count, 0))
        with m.If(enter):
            m.d.sync += [ending.eq(chunk.payload.flush), tag.eq(chunk.payload.tag)]
        with m.Elif(leave & beat.payload.flush):
            m.d.sync += ending.eq(0)

        watched, which = _Watched(capacity), self.anything(m, range(most))
        goes = watched.inside & leave & (watched.place < n)
        with m.If(leave & watched.inside):
            m.d.sync += [watched.place.eq(watched.place - n), watched.inside.eq(watched.place >= n)]
        watched.enters(m, enter & (which < chunk.payload.count), after + which,
                       Value.cast(chunk.payload.words).word_select(which, 32), ~chunk.payload.skip)
        group = beat.payload
        self.given(m, a_chunk_has_no_more_words_than_fit=chunk.payload.count <= most)
        self.claim(
            m, the_word_leaves_as_it_came=~goes | (
                (Value.cast(group.words).word_select(watched.place[:5], 32) == watched.word)
                & (group.strobe.bit_select(watched.place, 1) == watched.written)),
            no_strobe_without_a_word=~beat.valid | ~(group.strobe & ~self._first(held, n)).any(),
            a_group_is_offered_when_it_should_be=beat.valid == ((held >= n) | ending),
            a_unit_ends_with_its_last_words=group.flush == (ending & (held <= n)),
            the_tag_is_that_of_the_unit=~ending | (Value.cast(group.tag) == tag),
            nothing_enters_behind_the_end=~(enter & ending) | (leave & group.flush),
            what_is_empty_takes_a_chunk=(held != 0) | ending | chunk.ready)
        self._state_of(m, dut, held, ending, tag, watched)

    def _state_of(self, m, dut, held, ending, tag, watched):
        """Claim the invariants for induction: the block's registers agree with the bench's description of them."""
        capacity = self.words_out + self.words_in - 1
        words, strobe = dut.signal("words"), dut.signal("strobe")
        self.claim(
            m, level=dut.signal("level") == held, flushing=dut.signal("flushing") == ending,
            bounded=held <= capacity,
            tag=~ending | (Value.cast(dut.signal("tag")) == tag),
            places_behind_are_empty=~(strobe & ~self._first(held, capacity)).any() & ~Cat(
                words.word_select(k, 32).any() & (held <= k) for k in range(capacity)).any(),
            the_word_is_there=~watched.inside | (
                (watched.place < held) & (words.word_select(watched.place, 32) == watched.word)
                & (strobe.bit_select(watched.place, 1) == watched.written)))

    @staticmethod
    def _first(count: Value, width: int) -> Value:
        """Return a vector of the first `count` of `width` bits."""
        return Cat(count > k for k in range(width))


class UnpackerKeepsWords(Harness):
    """Whatever is offered and taken when: a wanted word of a beat is given out behind those that came before it, as
    it came; there is none that did not come; all that are there are shown, as many as can be taken; and whether a beat
    is taken does not depend on that if there is room for one ahead. With `takes` no other numbers are taken."""

    def __init__(self, words_in: int, words_out: int, ahead: bool, takes: tuple[int, ...] = ()):
        super().__init__()
        self.words_in, self.words_out, self.ahead, self.takes = words_in, words_out, ahead, takes

    def state(self, m):
        n, most = self.words_in, self.words_out
        m.submodules.dut = dut = Opened(Unpacker(n, most, self.takes, ahead=self.ahead))
        free(m, dut.component)
        block, beat = dut.component, dut.component.beat
        room = most + n if self.ahead else most
        capacity = room + n - 1
        enter = beat.valid & beat.ready
        held = Signal(range(capacity + 1))
        after = Signal.like(held)
        m.d.comb += after.eq(held - block.take)
        m.d.sync += held.eq(after + Mux(enter, beat.payload.count, 0))

        watched, which = _Watched(capacity), self.anything(m, range(n))
        goes = watched.inside & (watched.place < block.take)
        with m.If(watched.inside):
            m.d.sync += [watched.place.eq(watched.place - block.take), watched.inside.eq(~goes)]
        watched.enters(m, enter & (which < beat.payload.count), after + which,
                       Value.cast(beat.payload.words).word_select(which, 32))
        words = dut.signal("words")
        self.given(m, a_beat_has_no_more_words_than_fit=beat.payload.count <= n,
                   no_more_are_taken_than_are_shown=block.take <= block.level,
                   as_many_as_can_be=Cat(block.take == each for each in (0, *self.takes)).any() if self.takes else 1)
        self.claim(
            m, the_word_is_given_out_as_it_came=~goes | (
                Value.cast(block.words).word_select(watched.place[:len(block.take)], 32) == watched.word),
            all_words_are_shown=block.level == Mux(held < most, held, most),
            a_beat_is_taken_where_there_is_room=beat.ready == ((held if self.ahead else after) < room),
            bounded=held <= capacity, level=dut.signal("level") == held,
            the_word_is_there=~watched.inside | (
                (watched.place < held) & (words.word_select(watched.place, 32) == watched.word)))


_PACKED = ("No word of a chunk is lost, made up, changed or put in another place, for any chunks, ends of units and "
           "handshakes; groups are offered when they are full or end a unit")
_PACKER_FAULTS = (
    Fault(packer, "left.eq(Mux(leave, Mux(full, level - n, 0), level))", "left.eq(Mux(leave, 0, level))"),
    Fault(packer, "Mux(leave, strobe[place + n:place + n + 1], strobe[place])", "strobe[place]"),
    Fault(packer, "self.chunk.ready.eq(Mux(flushing, leave & ends, words_left < n))",
          "self.chunk.ready.eq(words_left < n)"),
    Fault(packer, "with m.Elif(leave & ends):", "with m.Elif(leave):"),
)
_UNPACKED = "No wanted word of a beat is lost, made up, changed or given out of order, for any beats and takers"
_UNPACKER_FAULTS = (
    Fault(unpacker, "(level if self.ahead else words_left) < room", "words_left < room"),
    Fault(unpacker, "(level if self.ahead else words_left) < room", "(level if self.ahead else words_left) <= room"),
    Fault(unpacker, "left + Mux(enter, beat.count, 0)", "left + beat.count"),
    Fault(unpacker, "word.eq(Mux(place < words_left, moved, fresh))",
          "word.eq(Mux(place <= words_left, moved, fresh))"),
)



def _of_expander(g: Geometry) -> tuple[int, int, bool, tuple[int, ...]]:
    """Return the parameters of the unpacker in an `Expander`: it takes what registers in their encodings have."""
    most = register_words(g)
    takes = {min(encoded_words(each, g.warp_size), most) for each in Encoding if each.group} - {0}
    return g.chunk_words, most, False, tuple(sorted(takes))


def _unpacker(words_in: int, words_out: int, ahead: bool = True, takes: tuple[int, ...] = ()) -> Property:
    name = f"{words_in}-to-{words_out}{'-ahead' if ahead else ''}"
    planted = words_in == 4 and not takes
    return Property(
        f"unpacker/{name}-by-{'-'.join(map(str, takes))}" if takes else f"unpacker/{name}", _UNPACKED,
        lambda: UnpackerKeepsWords(words_in, words_out, ahead, takes),
        timeout=300 if words_in < 32 else 1200, faults=_UNPACKER_FAULTS[0 if ahead else 1:] if planted else ())


PROPERTIES = (
    *(Property(f"packer/{n}-of-{most}", _PACKED, lambda n=n, most=most: PackerKeepsWords(n, most), short=n == 4,
               faults=_PACKER_FAULTS if n == 4 else ()) for n, most in ((4, 5), (2, 5), (8, 8))),
    *(_unpacker(n, max(4, n) + 1) for n in (4, 2, 1, 8, 16, 32)), _unpacker(4, 4, ahead=False),
    *(_unpacker(*_of_expander(preset(name))) for name in ("tiny", "gtx480")),
)
