"""The commit protocol: when heads are written, when they are trusted, and the consequences."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.arch.image.context import ENTRY_BYTES, State
from caesura.hw.formal.opened import Opened, free
from caesura.hw.interfaces.payloads import below
from caesura.hw.preempt.save import committer
from caesura.hw.preempt.save.committer import Committer
from caesura.hw.preempt.sequence import preempt_sequencer, resume_sequencer
from caesura.hw.preempt.sequence.preempt_sequencer import PreemptSequencer
from caesura.hw.preempt.sequence.resume_sequencer import ResumeSequencer

from .faults import Fault
from .harness import Harness, assume
from .property import Property

__all__ = ["HeadsAreInOrder", "FreesWhatIsAcknowledged", "PreemptEnds", "StartsWhatIsDemoted", "PROPERTIES"]

_HEAD = ("entry", "side", "state", "crc")


def _request(g: Geometry) -> data.StructLayout:
    """Return the layout of the committer's request register."""
    return data.StructLayout({
        "address": 32, "extra_beats": range(g.burst_beats), "head": 1, "saved": 1,
        "entry": below(g.tb_slots), "side": 1, "state": 8, "crc": 32})


class HeadsAreInOrder(Harness):
    """For any bursts, heads and answers:

    - the head of an entry just saved comes directly behind the final burst of that entry, and from no other place;
      nothing else comes there unless a write has failed or the command is cancelled;
    - each head has one event, its own, in the cycle of its acknowledgement, and nothing else has; one that is good says
      that no write before it has failed;
    - a failed answer is remembered; it is idle only if all is answered;
    - a demotion writes the byte of the state and nothing else, and with `cancel` nothing is written.

    Given: acknowledgements answer requests; `ccb_base` and `base` are constant, `clear` comes when it is idle, and
    `cancel` stays.
    """

    def __init__(self, g: Geometry):
        super().__init__()
        self.geometry = g

    def state(self, m):
        g = self.geometry
        m.submodules.dut = dut = Opened(Committer(g))
        block = dut.component
        free(m, block)
        request, port = dut.signal("request", _request(g)), block.port
        goes, ack = port.request.valid & port.request.ready, port.ack
        sent, acked = Signal(5), Signal(5)
        failed, cancelled = Signal(), Signal()
        base, cancels = self.something(m, 1), Signal()
        m.d.comb += [block.base.eq(base), block.ccb_base.eq(self.something(m, 32)),
                     cancels.eq(block.cancel)]
        m.d.sync += [sent.eq(sent + goes), acked.eq(acked + ack.valid),
                     failed.eq(~block.clear & (failed | ack.valid & ack.payload.error)),
                     cancelled.eq(block.cancel)]
        self.given(m, it_answers_requests=~ack.valid | (acked != sent), few=~sent.all(),
                   it_is_cleared_when_idle=~block.clear | block.idle & ~goes,
                   it_stays_cancelled=~cancelled | block.cancel | block.idle)
        self._order(m, dut, request, goes, failed, cancelled, base)
        self._events(m, dut, request, goes, sent, acked, failed)
        grant = dut.signal("grants.output__payload", _request(g))
        head, beat = port.beat.valid & grant.head, port.beat.payload
        self.claim(
            m, a_failure_is_remembered=block.error == failed,
            it_is_idle_if_all_is_answered=~block.idle | (sent == acked),
            a_head_has_its_place=~(goes & request.head) | (request.address == (block.ccb_base + ENTRY_BYTES * (
                request.entry + Mux(request.side, g.tb_slots, 0)))[:32]),
            a_demotion_writes_one_byte=~(head & (grant.state == State.DEMOTED) & ~block.cancel)
            | (beat.strobe == 1) & (beat.data[:8] == State.DEMOTED),
            what_is_cancelled_writes_nothing=~(port.beat.valid & block.cancel) | (beat.strobe == 0))

    def _order(self, m, dut, request, goes, failed, cancelled, base):
        """Which request may follow which."""
        burst = dut.component.burst
        fields = {name: (Signal.like(Value.cast(burst.payload[name]), name=f"in_{name}"),
                         Signal.like(Value.cast(burst.payload[name]), name=f"last_{name}"))
                  for name in ("final", "entry", "side", "crc")}  # of the burst in the register, and the one before
        with m.If(goes):
            m.d.sync += [last.eq(now if name != "final" else now & ~request.head)
                         for name, (now, last) in fields.items()]
        with m.If(dut.component.clear):
            m.d.sync += fields["final"][1].eq(0)
        with m.If(burst.valid & burst.ready):
            m.d.sync += [now.eq(burst.payload[name]) for name, (now, _) in fields.items()]
        saved = request.head & request.saved
        final = fields["final"][1]
        same = Cat(request[name] == fields[name][1] for name in ("entry", "side", "crc")).all()
        ever, loads, failing = Signal(), Signal(), Signal()
        m.d.sync += [loads.eq(~dut.signal("valid") | goes), failing.eq(failed)]
        m.d.sync += ever.eq(ever | cancelled | dut.component.cancel)
        self.claim(
            m, it_is_complete_behind_its_last_burst=~(goes & saved) | (
                final & same & (request.state == Mux(base, State.BASE, State.COMPLETE))),
            but_not_after_a_failure=~(loads & dut.signal("valid") & saved) | ~failing,
            and_at_once=~(goes & ~saved & final) | failed | ever)

    def _events(self, m, dut, request, goes, sent, acked, failed):
        """One request, whichever it is, and what is said of it."""
        block, g = dut.component, self.geometry
        event, ack = block.event, block.port.ack
        watched, number, what = Signal(), Signal(5), Signal(_request(g))
        with m.If(goes & ~watched & self.anything(m, 1)):
            m.d.sync += [watched.eq(1), number.eq(sent), Value.cast(what).eq(Value.cast(request))]
        now = watched & ack.valid & (acked == number)
        self.claim(
            m, a_head_has_an_event=~now | (event.valid == (what.head & ~block.cancel)),
            it_is_its_own=~(now & event.valid) | Cat(event[name] == what[name] for name in _HEAD).all(),
            only_an_answer_is_an_event=~event.valid | ack.valid,
            a_good_one_has_no_failure_before=~(now & event.valid & ~event.error) | ~(
                ack.payload.error | what.saved & failed),
            a_failure_is_said=~(now & event.valid & ack.payload.error) | event.error)


def _rows(m: Module, component, distinct: bool = True) -> list:
    """The TB table; no two TBs of a kernel have one entry."""
    rows = [component.resident[k] for k in range(component.geometry.tb_slots)]
    for k, row in enumerate(rows):
        for other in rows[:k] if distinct else ():
            m.d.comb += assume(~row.valid | ~other.valid | (row.kernel != other.kernel) | (row.entry != other.entry))
    return rows


class FreesWhatIsAcknowledged(Harness):
    """A preempt frees a TB, or calls it clean, in the cycle in which the head of its entry is acknowledged without an
    error, and in no other; it hands no further TB over after a failure or a withdrawal; it ends when nothing is under
    way, with an error if a write has failed, and, if nothing went wrong, with no TB of the kernel left behind.

    Given: TBs of a kernel have different entries.
    """

    def __init__(self, g: Geometry):
        super().__init__()
        self.geometry = g

    def state(self, m):
        g = self.geometry
        m.submodules.dut = dut = Opened(PreemptSequencer(g))
        block = dut.component
        free(m, block)
        rows, event, kernel = _rows(m, block), block.head_event, block.accepted.kernel
        good = event.valid & ~event.error & (event.state != State.DEMOTED)
        stops, offered = Signal(), Signal()
        m.d.sync += [stops.eq(block.write_error | block.withdraw), offered.eq(block.target.valid)]
        claims = {}
        for name in ("release", "clean"):
            of = getattr(block, name)
            its = Cat((of.tb == k) & row.valid & (row.kernel == kernel) & (row.entry == event.entry)
                      for k, row in enumerate(rows)).any()
            claims[f"{name}_is_of_what_is_acknowledged"] = ~of.valid | good & its
        gone = Signal(g.tb_slots)  # freed, made clean, or ended by themselves, since the beginning
        for k in range(g.tb_slots):
            freed = Cat(of.valid & (of.tb == k) for of in (block.release, block.clean)).any()
            left = block.tally.valid & block.tally.ended & (block.tally.tb == k) | dut.signal("ended_early")[k]
            with m.If(freed | left):
                m.d.sync += gone[k].eq(1)
        with m.If(block.begin):
            m.d.sync += gone.eq(0)
        active = dut.signal("active")
        left_behind = block.kernel_tbs & ~gone
        self.claim(
            m, **claims, nothing_more_is_begun_after_a_failure=~(stops & ~offered) | ~block.target.valid,
            it_ends_when_nothing_is_under_way=~block.done.valid | active & block.save_idle & block.commit_idle,
            a_failure_is_said=~(block.done.valid & block.write_error) | (block.done.error == CommandError.BUS_ERROR),
            nobody_is_left_behind=~(block.done.valid & ~block.write_error & ~block.withdraw) | ~left_behind.any(),
            it_remembers_who_is_gone=dut.signal("save_finished") == gone)


class PreemptEnds(Harness):
    """A preempt of up to two TBs ends within `LIMIT` cycles of its beginning, whatever fails, exits or is withdrawn.

    It assumes that warps stop, or exit, within three cycles. It assumes that the save pipeline takes a TB when it is
    idle. Up to four cycles later the head of its entry is answered, successfully or not, or the TB has ended.
    """

    LIMIT = 20

    def state(self, m):
        g = preset("tiny")
        m.submodules.dut = dut = PreemptSequencer(g)
        free(m, dut)
        rows = _rows(m, dut)
        since, begun, over = Signal(5), Signal(), Signal()
        with m.If(begun & ~over):
            m.d.sync += since.eq(since + 1)
        with m.If(dut.done.valid):
            m.d.sync += over.eq(1)
        m.d.comb += dut.begin.eq(~begun)
        m.d.sync += begun.eq(1)
        m.d.comb += Value.cast(dut.accepted).eq(self.something(m, len(Value.cast(dut.accepted))))
        constant = self.something(m, len(Value.cast(dut.resident)))
        left = Signal(g.tb_slots)  # TBs that were freed
        with m.If(dut.release.valid):
            m.d.sync += left.bit_select(dut.release.tb, 1).eq(1)
        m.d.comb += Value.cast(dut.resident).eq(constant)
        for k, row in enumerate(rows):
            m.d.comb += row.valid.eq(constant[k * row.shape().size] & ~left[k])
        m.d.comb += assume(~(rows[0].warps & rows[1].warps).any())
        warps = Cat(Mux(row.started, row.warps, 0) for row in rows)
        before = {name: Signal(g.warps, name=f"{name}_before") for name in ("stopped", "exited")}
        for name, was in before.items():
            m.d.sync += was.eq(getattr(dut, name))
            m.d.comb += assume(~(was & ~getattr(dut, name)).any())
        still = dut.stopped | dut.exited
        m.d.comb += assume((since < 3) | ~((warps[:g.warps] | warps[g.warps:]) & ~still).any())
        withdrawn = Signal()
        m.d.sync += withdrawn.eq(dut.withdraw)
        m.d.comb += [assume(~withdrawn | dut.withdraw), assume((since < 3) | dut.plan.done)]
        self._pipeline(m, dut)
        self.claim(m, it_ends=since < self.LIMIT)

    def _pipeline(self, m, dut):
        """The save pipeline and the committer."""
        busy, failed = Signal(), Signal()
        left, entry, tb = Signal(2), Signal.like(Value.cast(dut.target.payload.row.entry)), Signal(1)
        takes = dut.target.valid & dut.target.ready
        ends = busy & (left == 0)
        ended = self.anything(m, 1)
        m.d.comb += [
            dut.target.ready.eq(~busy),
            dut.save_idle.eq(~busy), dut.commit_idle.eq(~busy), dut.write_error.eq(failed),
            dut.head_event.valid.eq(ends & ~ended), dut.head_event.entry.eq(entry),
            dut.head_event.state.eq(Mux(dut.accepted.options.checkpoint, State.BASE, State.COMPLETE)),
            dut.tally.valid.eq(ends & ended), dut.tally.ended.eq(1), dut.tally.tb.eq(tb)]
        with m.If(takes):
            m.d.sync += [busy.eq(1), left.eq(self.anything(m, 2)), entry.eq(dut.target.payload.row.entry),
                         tb.eq(dut.target.payload.tb)]
        with m.Elif(ends):
            m.d.sync += busy.eq(0)
        with m.Elif(busy):
            m.d.sync += left.eq(left - 1)
        with m.If(dut.head_event.valid & dut.head_event.error):
            m.d.sync += failed.eq(1)


class StartsWhatIsDemoted(Harness):
    """A resume starts a TB only after the demotion of its entry has been acknowledged without an error, and once; it
    demotes only what has been read back; it gives back no TB that it has started, and one whose demotion was begun only
    when its entry stands as complete again, acknowledged. If a read or a write has failed its result says so, and it
    demotes nothing more; if a read of entries has, or one is bad, it gives no TB room, starts and demotes none.

    Given: it begins when it is at rest; failures are said until it ends; what is answered was asked for, in
    an earlier cycle, and who has something to answer is not idle.
    """

    def __init__(self, g: Geometry):
        super().__init__()
        self.geometry = g

    def state(self, m):
        g = self.geometry
        m.submodules.dut = dut = Opened(ResumeSequencer(g))
        block = dut.component
        free(m, block)
        event, head = block.head_event, block.head
        entry = self.something(m, range(g.tb_slots))
        busy, failed = Signal(), Signal()
        with m.If(block.begin):
            m.d.sync += [busy.eq(1), failed.eq(0)]
        with m.Elif(block.done.valid):
            m.d.sync += busy.eq(0)
        with m.If(busy & (block.read_error | block.write_error)):
            m.d.sync += failed.eq(1)
        self.given(m, it_begins_when_it_is_at_rest=~(block.begin & busy),
                   failures_are_said=~(failed & busy) | block.read_error | block.write_error)
        demoted, parsed, running = Signal(), Signal(), Signal()
        good = event.valid & (event.state == State.DEMOTED) & ~event.error & (event.entry == entry)
        read = block.restored.valid & ~block.restored.bad & ~block.restored.base & (block.restored.entry == entry)
        here = Cat(row.valid & (row.kernel == block.accepted.kernel) & ~row.started & (row.entry == entry)
                   for row in _rows(m, block, distinct=False)).any()
        started = block.start.valid & (dut.signal("started") == entry)
        with m.If(block.begin):
            m.d.sync += [demoted.eq(0), parsed.eq(here), running.eq(0)]
        with m.Else():
            m.d.sync += [demoted.eq(demoted | good), parsed.eq(parsed | read), running.eq(running | started)]
        self._answers(m, block)
        bit = {name: dut.signal(name).bit_select(entry, 1) for name in ("demoted", "parsed", "running", "recalled")}
        refused, offered = Signal(), Signal()
        m.d.sync += offered.eq(head.valid & ~head.ready)
        wrong = block.read_error | block.entries_bad
        with m.If(block.begin):
            m.d.sync += refused.eq(0)
        with m.Elif(dut.at("ENTRIES") & block.entries_full & block.entries_requested & wrong):
            m.d.sync += refused.eq(1)
        fails = block.read_error | block.write_error
        demotes = head.valid & (head.payload.state == State.DEMOTED)
        current = dut.signal("current")
        offers = head.valid & (head.payload.entry == entry)
        returns = block.release.valid & (current == entry)
        self.claim(
            m, it_starts_what_is_demoted=~started | demoted, it_starts_a_tb_once=~started | ~running,
            it_demotes_what_is_read_back=~(offers & (head.payload.state == State.DEMOTED)) | parsed,
            it_gives_nothing_back_that_runs=~returns | ~running,
            what_it_demotes_it_gives_back_when_that_is_undone=~(returns & bit["recalled"]) | (
                event.valid & ~event.error),
            demoted=bit["demoted"] == demoted, parsed=bit["parsed"] == parsed, running=bit["running"] == running,
            what_is_recalled_is_parsed=~bit["recalled"] | bit["parsed"],
            a_failure_is_said=~(block.done.valid & fails) | (block.done.error == CommandError.BUS_ERROR),
            what_is_bad_is_said=~(block.done.valid & refused) | (block.done.error != CommandError.NONE),
            nothing_is_demoted_after_a_failure=~(failed & ~offered) | ~demotes,
            of_entries_that_are_refused_nothing_comes=~(refused & busy) | ~(
                block.admit.valid | demotes | block.restore_job.valid))

    def _answers(self, m: Module, block) -> None:
        """Each answer belongs to one request, which has no other."""
        event, head, job, back = block.head_event, block.head, block.restore_job, block.restored
        heads, jobs = Signal(self.geometry.tb_slots), Signal(self.geometry.tb_slots)
        for vector, asks, asked, answers, answered in (
                (heads, head.valid & head.ready, head.payload.entry, event.valid, event.entry),
                (jobs, job.valid & job.ready & ~job.payload.base, job.payload.entry, back.valid & ~back.base,
                 back.entry)):
            m.d.sync += vector.eq((vector | Mux(asks, 1 << asked, 0)) & ~Mux(answers, 1 << answered, 0))
            m.d.comb += assume(~answers | vector.bit_select(answered, 1))
        admits = Signal()
        m.d.sync += admits.eq(block.admit.valid & block.admit.ready | admits & ~block.admitted.valid)
        m.d.comb += assume(~block.admitted.valid | admits)
        m.d.comb += [assume(~block.commit_idle | ~heads.any()), assume(~block.restore_idle | ~jobs.any())]


_HEADS = ("The head of an entry that was saved comes directly behind the last burst of that entry, and never after a "
          "failed write; each head has its own event when it is acknowledged, and no other answer has one; every "
          "failed answer is remembered and said; a demotion writes one byte; with `cancel` nothing is written")
_FREES = ("A TB is freed, or called clean, exactly when its head is acknowledged without an error; after a failure or "
          "a withdrawal no further one is begun; a preempt ends with nothing under way, says a failed write, and "
          "leaves no TB of its kernel unsaved unless something failed or it was withdrawn")
_ENDS = ("A preempt of up to two TBs ends within 20 cycles, whatever fails, exits or is withdrawn, if warps stop "
         "within 3 and a save takes up to 5")
_STARTS = ("A TB starts only once the demotion of its entry is acknowledged without an error, and once; only what has "
           "been read back is demoted; a TB that runs is never given back, and one whose demotion was begun only "
           "when its entry is acknowledged as complete again; a read or a write that has failed is said by the result, "
           "and nothing more is demoted; of entries that could not be read, or are bad, nobody gets room")
_HEAD_FAULTS = (
    Fault(committer, "take_burst.eq(self.burst.valid & ~self.head.valid & ~take_complete),",
          "take_burst.eq(self.burst.valid & ~self.head.valid),"),
    Fault(committer, "take_complete.eq(completes & ~self.error),", "take_complete.eq(completes),"),
    Fault(committer, "(mark.number == number)),", "1),"),
    Fault(committer, "self.event.error.eq(failed | mark.saved & self.error),", "self.event.error.eq(failed),"),
    Fault(committer, "Mux(of.state == State.DEMOTED, 1,", "Mux(of.state == State.DEMOTED, 3,"),
)
_FREE_FAULTS = (
    Fault(preempt_sequencer, "(event.state != State.DEMOTED) & ~event.error", "(event.state != State.DEMOTED)"),
    Fault(preempt_sequencer, "& (row.entry == event.entry) for row in rows)", "for row in rows)"),
    Fault(preempt_sequencer, "self.target.ready & ~begin_barred & planned", "self.target.ready & planned"),
    Fault(preempt_sequencer, "Mux(self.write_error | parked, CommandError", "Mux(parked, CommandError"),
)
_END_FAULTS = (
    Fault(preempt_sequencer, "ended.eq(tbs.ended_early\n                     "
          "| Mux(self.tally.valid & self.tally.ended, 1 << self.tally.tb, 0))",
          "ended.eq(tbs.ended_early)"),
    Fault(preempt_sequencer, "finished = Mux(begin_barred, settled,", "finished = Mux(self.write_error, settled,"),
)
_START_FAULTS = (
    Fault(resume_sequencer, "ready.eq(Mux(hold, 0, regs.demoted & ~regs.running))",
          "ready.eq(Mux(hold, 0, regs.parsed & ~regs.running))"),
    Fault(resume_sequencer, "(event.state == State.DEMOTED) & ~event.error", "(event.state == State.DEMOTED)"),
    Fault(resume_sequencer, "with m.If(self.restored.valid & ~self.restored.bad & ~self.restored.base):",
          "with m.If(self.admitted.valid):"),
    Fault(resume_sequencer, "self.read_error | self.write_error, CommandError.BUS_ERROR",
          "self.write_error, CommandError.BUS_ERROR"),
    Fault(resume_sequencer, "with m.If(self.read_error | self.entries_bad):", "with m.If(self.read_error):"),
    Fault(resume_sequencer, "regs.broken.eq(self.entries_bad)", "regs.broken.eq(0)"),
    Fault(resume_sequencer, "allowed.eq(regs.judged & ~self.restore_failed", "allowed.eq(regs.judged"),
)
TINY = preset("tiny")
PROPERTIES = (
    Property("commit/heads", _HEADS, lambda: HeadsAreInOrder(TINY), 8, bounded=True, faults=_HEAD_FAULTS, timeout=300),
    Property("preempt/frees", _FREES, lambda: FreesWhatIsAcknowledged(TINY), 2, faults=_FREE_FAULTS),
    Property("preempt/ends", _ENDS, PreemptEnds, 24, bounded=True, faults=_END_FAULTS, fault_depth=24),
    Property("resume/starts", _STARTS, lambda: StartsWhatIsDemoted(TINY), 14, bounded=True, faults=_START_FAULTS,
             fault_depth=14),
)
