"""The segment reader requests the beats of its jobs, passes memory's answers on, and remembers a failed answer."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value

from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry, preset
from caesura.hw.formal.opened import Opened, free
from caesura.hw.preempt.restore import segment_reader
from caesura.hw.preempt.restore.segment_reader import SegmentReader

from .faults import Fault
from .harness import Harness
from .property import Property

__all__ = ["AnswersAreCounted", "BeatsComeOutAsTheyCame", "PROPERTIES"]

JOBS = 2


class _Reader(Harness):
    """A segment reader with any jobs, answers and takers.

    Given: memory answers only what it was asked, in a later cycle; who cancels does so until `idle`; addresses are
    those of beats; no job goes beyond what 32 bits count.
    """

    def __init__(self, g: Geometry):
        super().__init__()
        self.geometry = g

    def _opened(self, m: Module) -> Opened:
        """Return the reader; `owed`, `sent`, `comes`, `was` are of this bench."""
        g = self.geometry
        m.submodules.dut = dut = Opened(SegmentReader(g, JOBS))
        block = dut.component
        free(m, block)
        request, beat = block.port.request, block.port.beat
        self.owed = Signal(16)  # beats that were asked for and have not come
        self.sent, self.comes = request.valid & request.ready, beat.valid & beat.ready
        m.d.sync += self.owed.eq(self.owed + Mux(self.sent, request.payload.extra_beats + 1, 0) - self.comes)
        self.was, self.was_idle = Signal(), Signal()  # cancelled, idle in the cycle before
        m.d.sync += [self.was.eq(block.cancel), self.was_idle.eq(block.idle)]
        job = block.job.payload
        self.given(m, only_what_was_asked_is_answered=~beat.valid | (self.owed != 0),
                   it_is_cancelled_until_it_is_idle=~self.was | self.was_idle | block.cancel,
                   addresses_are_of_beats=job.address[:(g.bus_bytes - 1).bit_length()] == 0)
        return dut


class AnswersAreCounted(_Reader):
    """The reader asks for each beat of its jobs once and in order, in bursts within a segment.

    It asks as long as it has room for all answers, and takes them at once. It is idle exactly when all have come. A
    failed answer that is not forgotten is reported from the next cycle on until `clear`.
    """

    def state(self, m):
        g = self.geometry
        dut = self._opened(m)
        block, request, job = dut.component, dut.component.port.request, dut.component.job
        failed = Signal()
        with m.If(block.clear):
            m.d.sync += failed.eq(0)
        with m.Elif(self.comes & block.port.beat.payload.error & ~block.cancel):
            m.d.sync += failed.eq(1)
        address, left = Signal(32), Signal(32)
        beats = Signal(8)
        m.d.comb += beats.eq(request.payload.extra_beats + 1)
        with m.If(self.sent):
            m.d.sync += [address.eq(address + beats * g.bus_bytes), left.eq(left - beats)]
        with m.If(job.valid & job.ready):
            m.d.sync += [address.eq(job.payload.address), left.eq((job.payload.words + g.bus_words - 1) // g.bus_words)]
        with m.If(block.cancel):
            m.d.sync += left.eq(0)
        depth, reserved = block.depth, dut.signal("reserved")
        level, inner = dut.signal("beats.fifo.level"), dut.signal("beats.fifo.inner_level")
        self.claim(
            m, it_is_idle_when_all_have_come=block.idle == (self.owed == 0),
            a_failed_answer_is_said=block.error == failed,
            an_answer_is_taken_at_once=(self.owed == 0) | block.port.beat.ready,
            it_asks_for_what_is_next=~request.valid | (request.payload.address == address) & (beats <= left),
            within_a_segment=~request.valid | (
                address % SEGMENT_BYTES + beats * g.bus_bytes <= SEGMENT_BYTES),
            a_job_is_taken_when_all_of_the_last_is_asked_for=~(job.valid & job.ready) | (left == 0),
            nothing_is_asked_for_when_cancelled=~block.cancel | ~request.valid,
            # Invariants for induction:
            address=(left == 0) | (dut.signal("address") == address) & (address % g.bus_bytes == 0),
            left=dut.signal("beats_left") == left,
            owed=dut.signal("owed") == self.owed, no_more_than_it_holds=self.owed + level <= depth,
            what_is_at_the_end_is_shown=(level == inner + 1) | (level == inner) & (inner <= 1),
            what_was_idle_owes_nothing=~(self.was & self.was_idle) | (self.owed == 0),
            reserved=Mux(self.was, (reserved == 0) & (level == 0), reserved == self.owed + level))


class BeatsComeOutAsTheyCame(_Reader):
    """Each beat of memory comes out as it came, behind those before it, none twice and none that did not come; with as
    many words as its job still wants, `last` at its end, `checked` as the job; of no words for a job of none."""

    def state(self, m):
        g = self.geometry
        dut = self._opened(m)
        block, beat = dut.component, dut.component.port.beat
        leaves = block.beat.valid & block.beat.ready
        held, jobs = Signal(8), []
        m.d.sync += held.eq(Mux(block.cancel, 0, held + self.comes - leaves))
        watched, place, data, which = Signal(), Signal(8), Signal(32), self.something(m, range(g.bus_words))
        goes = watched & leaves & (place == 0)
        with m.If(leaves):
            m.d.sync += [place.eq(place - 1), watched.eq(watched & ~goes)]
        with m.If(self.anything(m, 1) & self.comes & ~watched):
            m.d.sync += [watched.eq(1), place.eq(held - leaves), data.eq(beat.payload.data.word_select(which, 32))]
        with m.If(block.cancel):
            m.d.sync += watched.eq(0)
        # The jobs that are not at their ends: words still wanted, and whether they are checked.
        count = Signal(3)
        jobs = [(Signal(32, name=f"words_{k}"), Signal(name=f"checked_{k}")) for k in range(JOBS + 2)]
        enters = block.job.valid & block.job.ready & (block.job.payload.words != 0)
        ends = Signal()
        after = Signal(3)
        m.d.comb += [ends.eq(leaves & block.beat.payload.last), after.eq(count - ends)]
        m.d.sync += count.eq(Mux(block.cancel, 0, after + enters))
        for k, (words, checked) in enumerate(jobs):
            behind = jobs[k + 1] if k + 1 < len(jobs) else jobs[k]
            with m.If(enters & (after == k)):
                m.d.sync += [words.eq(block.job.payload.words), checked.eq(block.job.payload.checked)]
            with m.Elif(ends):
                m.d.sync += [words.eq(behind[0]), checked.eq(behind[1])]
            if k == 0:
                with m.Elif(leaves):
                    m.d.sync += words.eq(words - g.bus_words)
        wanted, checked = jobs[0]
        said = block.beat.payload
        self.claim(
            m, it_comes_out_as_it_came=~goes | (
                Value.cast(said.words).word_select(which, 32) == data),
            nothing_comes_out_that_did_not_come=~block.beat.valid | (held != 0),
            it_is_of_a_job=~block.beat.valid | (count != 0),
            it_has_the_words_that_are_wanted=~block.beat.valid | (
                said.count == Mux(wanted < g.bus_words, wanted, g.bus_words)),
            it_is_the_last_at_the_end=~block.beat.valid | (said.last == (wanted <= g.bus_words)),
            it_is_checked_as_the_job=~block.beat.valid | (said.checked == checked))


_COUNTED = ("The segment reader asks for the beats of its jobs, each once and in order, within a segment, with room "
            "for all answers; it is idle exactly when all have come; a failed answer that is not forgotten is said "
            "from the next cycle on until it is cleared")
_CAME = ("Each beat that memory answers comes out as it came, once and in order, with as many words as its job still "
         "wants")
_COUNT_FAULTS = (
    Fault(segment_reader, "& ~self.cancel):\n            m.d.sync += self.error.eq(1)",
          "& self.cancel):\n            m.d.sync += self.error.eq(1)"),
    Fault(segment_reader, "self.port.beat.payload.error\n", "self.port.beat.payload.error & self.beat.ready\n"),
    Fault(segment_reader, "self.idle.eq(owed == 0)", "self.idle.eq(reserved == 0)"),
    Fault(segment_reader, "(reserved + burst <= self.depth)", "(reserved <= self.depth)"),
    Fault(segment_reader, "Mux(beats_left < in_segment, beats_left, in_segment)", "beats_left"),
)
_CAME_FAULTS = (
    Fault(segment_reader, "lengths.output.ready.eq(beat_taken & last)", "lengths.output.ready.eq(beat_taken)"),
    Fault(segment_reader, "last.eq(words_left <= n)", "last.eq(words_left < n)"),
    Fault(segment_reader, "m.d.sync += words_passed.eq(0)", "pass"),
)
NARROW, WIDE = (preset("gtx480").replace(bus_bytes=size, bytes_per_cycle=float(size), memory_latency=2)
                for size in (16, 64))
PROPERTIES = (
    *(Property(f"reader/answers-{name}", _COUNTED, lambda g=g: AnswersAreCounted(g), 1,
               faults=_COUNT_FAULTS if g is WIDE else (), fault_depth=12)
      for name, g in (("8-a-segment", NARROW), ("2-a-segment", WIDE))),
    Property("reader/beats", _CAME, lambda: BeatsComeOutAsTheyCame(WIDE), 12, bounded=True, faults=_CAME_FAULTS,
             fault_depth=12),
)
