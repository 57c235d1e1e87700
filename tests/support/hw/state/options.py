"""State that an SM has only with an option of its geometry."""

from .control import COMMAND, REFUSALS
from .kinds import Elements, bookkeeping, cache, descriptor, transient

STAYS = "of what stays on the SM of a preempted TB; a row ends with its start, its eviction or its kill"

TRAPS = {
    "front.fetch": (
        transient("routine", "one cycle; what it says follows from the PC"),
    ),
    "front.table": (
        transient("returned",
                  "a resumed warp may be trapped again before the instruction that it was to "
                  "execute first, if it was stopped between points just there: its routine leads "
                  "to the same registers"),
    ),
}

IN_PLACE = {
    "control.registers": (bookkeeping("commands__newcomer", "what the driver sets"),),
    "control.commands.queue": (
        bookkeeping("owner", "of the eviction in hand"),
    ),
    "control.commands.queue.eviction_refusals": (bookkeeping("cycles_left pausing tries_#", REFUSALS),),
    "control.commands.queue.stuck": (bookkeeping("cycles_left stuck", REFUSALS),),
    "control.dispatcher.admission.room_maker": (
        bookkeeping("evict", "rows that are in the way of a TB; a bit ends with its row"),
        bookkeeping("stuck_before hopeless only_stuck",
                    "whether anything can make room; cleared whenever a TB leaves or comes"),
    ),
    "control.dispatcher.admission.room_maker.registers control.dispatcher.admission.room_maker.lines "
    "control.dispatcher.planner.registers.fit control.dispatcher.planner.lines.fit": (
        bookkeeping("size number done fits start best leave", "of the search in hand; set by its request"),
    ),
    "control.dispatcher.planner": (
        bookkeeping("chosen sizes count fsm_state", "of the plan in hand; set by its request"),
    ),
    "control.dispatcher.planner.registers control.dispatcher.planner.lines": (
        bookkeeping("size count placed leave done rows owner_# fsm_state", "of the plan in hand; set by its request"),
    ),
    "control.engine.save.pipeline.records": (bookkeeping("registers_stay lines_stay staying_row evict", COMMAND),),
    "control.engine.restore.entries": (bookkeeping("claimed_absent", COMMAND),),
    "control.engine.restore.pipeline.parser": (bookkeeping("state_parsed", COMMAND),),
    "control.engine.book.saved": (
        descriptor("without_registers_# without_lines_# completed_#",
                   "of saved entries; set when one is committed or adopted"),
    ),
    "control.engine.counters.counts": (bookkeeping("evicted", "bytes of the eviction in hand"),),
    "control.engine.book.staying": (descriptor("report", STAYS),),
    "control.engine.book.masks": (descriptor("masks[]", STAYS),),
    "control.engine.save.evict": (bookkeeping("written fsm_state", COMMAND),),
}

PLAIN = "a warp that comes back waits at a plain barrier, so its TB goes on"

YIELDS: dict[str, tuple[Elements, ...]] = {
    "front.table": (cache("yielding", PLAIN),),
    "control.dispatcher.yields.watches": (
        cache("tbs__set fired_before segment_#", "of TBs on the SM: " + PLAIN),
        bookkeeping("row_#", "of TBs that are away, whom a resume brings back as well"),
    ),
    "control.dispatcher.yields.unit": (
        bookkeeping("watches__away ready turn_# before_# leaves__resume_excluded",
                    "which saved TBs come back without a resume; another one brings all of them back"),
        bookkeeping("saving refused", "of the TB that is being saved"),
        descriptor("yields", "counts since the start of the kernel"),
    ),
    "control.commands.queue": (bookkeeping("yielder lacking unsettled", COMMAND),),
    "control.commands.queue.wake_refusals control.commands.queue.leave_refusals": (
        bookkeeping("cycles_left pausing tries_#", REFUSALS),
    ),
    "control.registers": (bookkeeping("notice notify_begin notify_end", "what the host has written last"),),
}
