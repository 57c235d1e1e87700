"""Every stateful element of the SM, and which of them are a thread block's (TB's) context.

The bug that real context switches suffer from is forgotten state. So each flip-flop and memory of
`hw.sm.Sm` stands here once; a test elaborates the SM and compares. An element is named by the
submodules down to it and its own name: ``front.stack.second``. ``#`` stands for a number (lanes,
slots, banks), ``[]`` ends the name of a memory, ``[].read0`` is the register of its first
synchronous read port.

A new element belongs to the kind that answers: if it were lost, or kept for whoever comes next,
between the stop of a warp and its resumption (another kernel in between), would anybody see it?
"""

import enum
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

__all__ = ["Kind", "Elements", "STATE", "OF_SEVERAL_BEATS", "IN_PLACE", "TRAPS", "ABOUT_THE_IMAGE", "listed"]


class Kind(enum.Enum):
    """Why an element survives a preemption, or need not."""

    CONTEXT = enum.auto()
    """Must survive: travels in the context image, in the fields named."""
    TRANSIENT = enum.auto()
    """Holds nothing of a warp once it is stopped (docs/sm.md, Stopped warps)."""
    CACHE = enum.auto()
    """May be lost at any time, or is set to the safe value by a restore."""
    DESCRIPTOR = enum.auto()
    """Of a kernel slot (the driver's;
    stays while the kernel is preempted), or made anew at admission."""
    BOOKKEEPING = enum.auto()
    """Of the machine or of the command in hand, not of a TB."""


class Elements(NamedTuple):
    """Elements of one block that share a kind and a reason."""

    kind: Kind
    names: str
    """Separated by blanks."""
    why: str
    fields: str = ""
    """Fields of the layouts of `context` that carry the elements, ``LAYOUT.field``,
    separated by blanks."""


_context, _transient, _cache, _descriptor, _bookkeeping = (partial(Elements, kind) for kind in Kind)

_QUIET = ("a stopped warp has no pending register or predicate write, "
          "and what has no destination has no effect")
_NO_LOADS = "a stopped warp has no unreturned load"
_NO_STORES = "a stopped warp has no unacknowledged store"
_NO_ATOMICS = ("a stopped warp has no atomic outstanding; "
               "one of shared memory is written before a row is read")
_NO_ACCESS = "a stopped warp has no memory operation outstanding"
_NO_SHARED = "a stopped warp has no shared access outstanding; idle values are set by the next one"
_SLOT = ("of the slot, whoever has it: accesses are told from those of warps forgotten there, "
         "and no warp that is saved has any")
_LEFT = "counts what is in a queue, and of it what was there when a warp was last forgotten"
_COMMAND = "of the command in hand: set when it begins, or empty when the one before has ended"
_REFUSALS = "what memory has refused the engine of late; forgotten with a start or a resume"
_STREAM = ("words of the TB being saved or restored, shown with a level or valid bit; "
           "empty when the command ends")
_UNIFORM = "a stopped warp has no pending write of a uniform register or predicate"
_FIFO = "consume produce level storage[]"
_BUFFERED_FIFO = "consume produce inner_level r_rdy storage[] data"
_LIBRARY_FIFO = "consume produce inner_level r_rdy storage[] storage[].read0"

_FRONT = {
    "front": (_transient("fault", "a report on its way: its TB ends"),),
    "front.stack": (
        _context("pcs[]", "of the top entry", "STACK_ENTRY.pc"),
        _context("tops[]", "of the top entry",
                 "STACK_ENTRY.whole STACK_ENTRY.reconv WARP_HEADER.depth"),
        _context("body[]",
                 "entries below the top; "
                 "those at or above the depth are a former owner's and not reached",
                 "STACK_ENTRY.pc STACK_ENTRY.whole STACK_ENTRY.reconv"),
        _context("lives[]", "lanes that have not exited", "WARP_HEADER.exited"),
        _transient("popping pushing second working",
                   "a warp whose stack settles is not stopped"),
    ),
    "front.table": (
        _context("identities[]", "TB, kernel, base and registers are given anew at admission",
                 "WARP_HEADER.warp WARP_HEADER.launched"),
        _context("live_vectors[]",
                 "a warp restored at a barrier saves the same again; others set it when they stop",
                 "ENCODING_ROW.codes"),
        _context("waiting", "arrived at a barrier", "WARP_HEADER.waiting"),
        _context("barriers__#", "at which; meaningful with `waiting`, set with it",
                 "WARP_HEADER.barrier"),
        _context("dead", "a warp without a record is initialised with no live lane",
                 "CCB_ENTRY.live_warps"),
        _transient("killed faulted",
                   "a TB with such a warp ends, and is not completed; cleared with the slot"),
        _transient("parked between",
                   "are the stop itself: a resumed warp runs; cleared with the slot"),
        _transient("armed",
                   "between `pp` and its `pp.div`: "
                   "cleared when either parks the warp or the warp is stopped"),
        _descriptor("valid started members__#",
                    "who has the slot: set by warp_init and start, ended by free"),
    ),
    "front.buffer": (
        _transient("held alu load store atomic shared constant f64 sfu exchange uniform uses_u "
                   "sync entries[]",
                   "a warp that may not issue drops its instruction and fetches it again; "
                   "classes count while held"),
    ),
    "front.scoreboard": (
        _transient("pending_registers# pending_predicates#", _QUIET),
        _transient("need_registers# need_predicates#", "of the instruction held; set with it"),
        _transient("remote#", "of the registers that are pending; set with them"),
    ),
    "front.outstanding": (
        _transient("loads.plane# stores.plane# shared.plane# atomics.plane#",
                   "counters that are 0 when a warp is stopped or exited"),
    ),
    "front.generations": (
        _bookkeeping("generations spent_#", _SLOT),
    ),
    "front.issue": (
        _bookkeeping("global_places shared_places constant_places f64_places sfu_places "
                     "exchange_places",
                     "places of the units: each operation gives its own back"),
        _bookkeeping("arbiter.above", "whose turn it is"),
    ),
    "front.uniforms": (
        _context("even[] odd[]", "a word for each live uniform register follows the predicates",
                 "WARP_HEADER.uniforms"),
        _context("written[] fresh", "a uniform register not written reads as zero",
                 "WARP_HEADER.uniforms"),
        _transient("outstanding", "a stopped warp has no pending write of a uniform register"),
        _transient("far", "of the write that is outstanding; set with it"),
    ),
    "front.uniform": (
        _transient("op busy stage_# valid_# in_flight beat", _UNIFORM),
    ),
    "front.uniform.queue": (
        _transient(" ".join(f"fifo.{name}" for name in _FIFO.split()), _UNIFORM),
    ),
    "front.fetch": (
        _transient("fetching pc bound last decoding stack__decode_warp",
                   "one cycle; dropped unless the warp may still issue"),
        _transient("sleeping",
                   "ends with any line fill, one of which is under way; "
                   "the slot's next owner waits too"),
        _bookkeeping("arbiter.above", "whose turn it is"),
    ),
    "front.fetch.cache": (
        _cache("tags[] bank_#[] valid failed", "invalidated when a kernel is started or resumed"),
        _transient("tags[].read0 tags[].read1 bank_#[].read0 looked present address",
                   "the lookup of one cycle"),
        _transient("fsm_state line beat ahead two error arrived", "the fill under way"),
        _transient("discard lingering",
                   "an invalidation, a warp being forgotten, reaches the fill under way"),
    ),
}

_EXECUTE = {
    "execute": (
        _transient("stage_# is_float_# integer_result_# integer_predicate_#", _QUIET),
    ),
    "execute.operands": (
        _transient("slot full beat reads_pending finished arriving bank_# load_# read_# shown_# operand_# "
                   "output__payload output__valid", _QUIET),
    ),
    "execute.integer front.uniform.integer": (_transient("stage_# last_#", _QUIET),),
    "execute.integer.lane_# front.uniform.integer.lane_#": (
        _transient("pa pb simple predicate result final total differ shifted other mask product_# "
                   "product first addend", _QUIET),
    ),
    "execute.integer.lane_#.digits front.uniform.integer.lane_#.digits": (
        _transient("counts", _QUIET),
    ),
    "execute.exchange": (
        _transient("words[] fields[] mask kept busy group scan picked targets found_# gathered "
                   "passed write__payload write__valid predicate__payload predicate__valid",
                   _QUIET),
    ),
    "execute.float": (_transient("control_#_# compared_# chosen_# tested_#", _QUIET),),
    "execute.float.lane_#": (
        _transient("product_# addend_# below_# count_# exponent_# subtract_# sign_# special_# "
                   "upper_# lower_# sticky_# magnitude_# kept_# rest_# result_#", _QUIET),
    ),
    "execute.float.comparison_#": (_transient("result predicate", _QUIET),),
    "execute.sfu.serial": (
        _transient("waiting feeding fresh rest function entering chosen shown enter token_# "
                   "place_# opened complete draining to mask k beat place@elaborate place@_enter "
                   "place@_drain b_#[] b_#[].read0 result_#_#[] result_#_#[].read0", _QUIET),
    ),
    "execute.sfu.lane_#": (
        _bookkeeping("table[] windows[]", "constants: nothing writes them"),
        _transient("table[].read0 windows[].read0 enable_# op_# fraction_# exponent_# negative_# "
                   "special_# override_# low high shifted place_# row_# wide_# logarithm_# t_# "
                   "square_# c0_# first_# second_# magnitude_# kept_# result_#", _QUIET),
    ),
    "execute.f64.serial": (
        _transient("waiting feeding fresh rest function entering chosen shown enter token_# "
                   "place_# opened complete draining to mask k beat place@elaborate place@_enter "
                   "place@_drain row tests_# a_#[] a_#[].read0 b_#[] b_#[].read0 c_#[] c_#[].read0 "
                   "high_a_#[] high_a_#[].read0 high_b_#[] high_b_#[].read0 high_c_#[] "
                   "high_c_#[].read0 result_#_#[] result_#_#[].read0", _QUIET),
    ),
    "execute.f64.lane_#": (
        _transient("control_# x_# y_# z_# negative_# tested_# addend_# below_# count_# exponent_# "
                   "subtract_# special_# sign_# part_#_# product_# upper_# lower_# sticky_# "
                   "magnitude_# kept_# rest_# result_#", _QUIET),
    ),
    "execute.threads": (
        _transient("first second third selected result row_# x_# second_row_# plane_#", _QUIET),
    ),
    "execute.registers": (
        _bookkeeping("overdue.count", "how long a save has waited"),
        _context("bank_#[]",
                 "the registers that `codes` names follow the record; "
                 "others read as zero until written",
                 "ENCODING_ROW.codes CCB_ENTRY.data_bytes"),
        _transient("bank_#[].read0 save_data saved_bank shown", "the read of one cycle"),
    ),
    "execute.flags": (
        _context("valid[]", "what is saved is valid again; an invalid register is not saved",
                 "ENCODING_ROW.codes"),
        _context("fresh", "masks the rows of a slot until its first write; set by warp_init",
                 "ENCODING_ROW.codes"),
        _cache("dirty[] tidy",
               "a restore makes a register dirty that is in no base, which saves too much, never too little; clean is "
               "what the base has that the TB was restored from"),
    ),
    "execute.predicates": (
        _context("values[]", "a word for each live predicate follows the header",
                 "WARP_HEADER.predicates"),
        _context("written[] fresh", "a predicate not written reads as zero",
                 "WARP_HEADER.predicates"),
    ),
    "execute.predicate_write_back execute.write_back": (
        _bookkeeping("bubble arbiter.above overdue.count", "whose turn it is"),
    ),
}

_MEMORY = {
    "load_store.queue shared.queue constant.queue": (
        _transient("write_slot read_slot waiting used before control[] mask_#[] address_#[]",
                   _NO_ACCESS),
    ),
    "load_store.queue shared.queue": (_transient("data_#_#[]", _NO_ACCESS),),
    "load_store.backlog load_store.loads.backlog load_store.stores.backlog "
    "load_store.atomics.backlog constant.backlog": (_transient("within marked", _LEFT),),
    "load_store": (
        _transient("dropping", "ends with the last segment of the instruction that faulted"),
    ),
    "load_store.coalescer": (
        _transient("started rest segment__payload segment__valid", _NO_ACCESS),
    ),
    "load_store.loads": (
        _transient("number@_gather number@_write spoiled abandoned current gathered busy final "
                   "mask k extra done row_#_# word_#_# write__payload", _NO_LOADS),
    ),
    "load_store.stores": (
        _transient("busy beat last_beat mask owner extra offset_# strobe_# word_#_# reported done "
                   "write_port__request__payload write_port__request__valid", _NO_STORES),
    ),
    "load_store.merge": (_bookkeeping("owner bound", "whose register is being written"),),
    "load_store.atomics": (
        _transient("tail asking arriving working head used unasked expected arrived finished "
                   "segment_# in_flight number begun spoiled wrote read_failed done reported entries[] "
                   "operands_#[] beats[]", _NO_ATOMICS),
    ),
    "load_store.atomics.engine": (
        _transient("fsm_state rest changed read_failed number abandoned word_#", _NO_ATOMICS),
    ),
    "load_store.atomics.engine.writer": (
        _transient("asking number sending burst first last writing beat upper low[] high[]",
                   _NO_ATOMICS),
    ),
    "load_store.atomics.engine.pipeline shared.atomics.pipeline": (
        _transient("reading stage_#", _NO_ATOMICS),
    ),
    "load_store.atomics.engine.pipeline.lane shared.atomics.pipeline.lane": (
        _transient("before after adding_#", _NO_ATOMICS),
    ),
    "load_store.atomics.engine.pipeline.lane.adder shared.atomics.pipeline.lane.adder": (
        _transient("product_# addend_# below_# count_# exponent_# subtract_# sign_# special_# "
                   "upper_# lower_# sticky_# magnitude_# kept_# rest_# result_#", _NO_ATOMICS),
    ),
    "shared.atomics": (_transient("upper[]", _NO_ATOMICS),),
    "load_store.loads.outstanding load_store.stores.outstanding": (
        _transient(_LIBRARY_FIFO, _NO_ACCESS),
    ),
    "shared": (
        _context("bank_#[]",
                 "lines whose bit is set in the bitmap; the others read as zero until written",
                 "CCB_ENTRY.data_bytes"),
        _transient("bank_#[].read0 state__row_data known", "the read of one cycle"),
        _transient("beat k begun started rest count in_banks occupied bank_# low_# full final "
                   "silent completion__shared access__write__payload", _NO_SHARED),
        _bookkeeping("turn", "whether a row access may take a cycle"),
    ),
    "constant": (
        _transient("turn k begun started rest looked looking found finding spoiled full once "
                   "final owner access__write__payload uniform__payload", _QUIET),
    ),
    "constant.cache": (
        _cache("tags[] rows[] valid failed", "invalidated when a kernel is started or resumed"),
        _transient("rows[].read0", "the lookup of one cycle"),
        _transient("fsm_state line beat bad discard lingering", "the fill under way"),
    ),
    "shared.lines": (
        _context("valid", "what is saved is valid again; cleared at admission",
                 "CCB_ENTRY.data_bytes"),
        _cache("dirty", "as `execute.flags.dirty`"),
    ),
    "bus": (
        _transient("axi__araddr axi__arid axi__arlen axi__arvalid axi__awaddr axi__awid axi__awlen "
                   "axi__awvalid axi__wdata axi__wlast axi__wstrb axi__wvalid",
                   "each burst is counted by who asked for it"),
    ),
    "bus.r_buffer bus.b_buffer": (
        _transient("spare full output__payload output__valid",
                   "beats and acknowledgements of bursts, each counted by who asked for it"),
    ),
    "bus.ar_share bus.aw_share": (
        _bookkeeping("debt", "what save and restore are owed of the bus; any value is a fair start"),
    ),
    "bus.order": (
        _transient(_FIFO, "whose beats come next; each burst is counted by who asked for it"),
    ),
}

_DISPATCH = {
    "": (_bookkeeping("owner_#", "for the trace ports only; set by warp_init"),),
    "control.status": (_bookkeeping("cycle retired", "counters since reset; `%clock` is volatile"),),
    "control.registers": (
        _bookkeeping("own from_table events__pending inspect commands__patience commands__grace commands__spared "
                     "bus_share",
                     "the bus's read register; events; what is inspected; what the driver sets"),
    ),
    "control.dispatcher.profile": (
        _bookkeeping("ages profiles departed kernel valid issued issuer",
                     "for estimates only; a TB that comes back is told from one that began (`whole`)"),
    ),
    "control.status.switches": (
        _bookkeeping("counts", "read by software alone; how often a kernel was switched, and how"),
    ),
    "control.kernel_table": (
        _descriptor("kernels mirror[]",
                    "written by the driver before a start; constant until the end"),
        _bookkeeping("mirror[].read0 from_mirror",
                     "the bus's read register"),
    ),
    "control.commands": (
        _descriptor("dispatch__footprints",
                    "stay with the kernel slot while the kernel is preempted; set by a start"),
        _bookkeeping("withdrawn result_pending result status__error", _COMMAND),
    ),
    "control.commands.slot_#": (
        _descriptor("state", "stays with the kernel slot while the kernel is preempted"),
        _bookkeeping("error engine__preempt_pending engine__resume_pending engine__adopt_pending hasten_active "
                     "engine__grace_active endless engine__grace_left spared others_running is_checkpoint",
                     "commands that are under way, and how they ended"),
    ),
    "control.commands.queue": (
        _bookkeeping("held room_changed lacks_room pass_begun options_given[]", _COMMAND),
    ),
    "control.commands.queue.turns": (_bookkeeping("before_#_#", "whose turn it is"),),
    "control.dispatcher.grid": (
        _descriptor("places launched exhausted",
                    "TBs not yet launched need no image: the kernel slot keeps count; "
                    "cleared by a start"),
        _bookkeeping("last", "whose turn it is"),
    ),
    "control.dispatcher.completion": (
        _descriptor("completed", "as `grid.launched`"),
        _bookkeeping("ending", "the TB that leaves in this cycle"),
    ),
    "control.dispatcher.tb_table": (
        _context("resident",
                 "the place (base, lines, warp slots) is given anew; an insertion sets all of it",
                 "CCB_ENTRY.launch_id CCB_ENTRY.ctaid_x CCB_ENTRY.ctaid_y CCB_ENTRY.ctaid_z "
                 "CCB_ENTRY.local_base"),
        _descriptor("tbs", "bytes of shared memory, from the kernel slot at admission"),
        _bookkeeping("tb_count room__warp_count warps#", "what is resident"),
    ),
    "control.dispatcher.admission": (
        _bookkeeping("fsm_state restored current room_freed", "of the TB being admitted"),
    ),
    "control.dispatcher.admission.waiting": (
        _bookkeeping("blocked", "which kernels wait for room; cleared whenever a TB leaves"),
    ),
    "control.dispatcher.admission.places": (_bookkeeping("tb", "of the TB being admitted"),),
    "control.dispatcher.admission.places.registers control.dispatcher.admission.places.shared": (
        _descriptor("table",
                    "who owns which range; entered at admission, freed when the TB leaves"),
        _bookkeeping("size searching done fits start", "of the TB being admitted"),
    ),
    "control.dispatcher.admission.places.warp_slots": (
        _bookkeeping("count picked mask slots", "of the TB being admitted"),
    ),
    "control.dispatcher.admission.places.entries": (
        _descriptor("owned_#",
                    "which entries and regions of local memory have a TB, from launch to end"),
        _bookkeeping("kernel chosen region address size part warps saved restored sizing walking "
                     "done found", "of the TB being admitted"),
    ),
    "control.dispatcher.launcher": (_bookkeeping("fsm_state warp threads base", "of the TB being launched"),),
    "control.dispatcher.launches.warp_init control.dispatcher.launches.stack_push": (
        _bookkeeping("held", "which of two streams has been offered"),
    ),
    "control.dispatcher.faults": (
        _transient("load_store_fault shared_fault constant_fault front_fault",
                   "reports on their way: their TBs end"),
        _transient("killed forsaken",
                   "a TB that is killed is not completed; cleared when it leaves"),
        _bookkeeping("record count faults", "read by the driver"),
        _descriptor("block_warps[]",
                    "warp of the TB in each slot, for the record; set by warp_init"),
    ),
}

_ENGINE = {
    "control.engine.restore": (_bookkeeping("admission_pending", "an admission is not answered yet"),),
    "control.engine.sequencer": (
        _bookkeeping("fsm_state bound error tbs_left state__resume save__stop_pending save__stop_now patience "
                     "flush_cycles book__row_select", _COMMAND),
        _bookkeeping("state__accepted",
                     "of the command in hand, but for `generation`, "
                     "which counts preempts since reset"),
    ),
    "control.engine.counters.counts": (
        _bookkeeping("counters saved_for restored_for unresumed running", "read by the driver"),
    ),
    "control.engine.save.preempt": (
        _bookkeeping("active claim save_begun save_finished chosen tb", _COMMAND),
    ),
    "control.engine.restore.resume": (
        _bookkeeping("fsm_state waiting tbs_placed parked parsed recalled offered entry demoted of_base "
                     "running tb_of broken full judged current place row table words", _COMMAND),
    ),
    "control.engine.restore.entries": (
        _bookkeeping("memory[] shown count bad judging of_base claimed_area claimed_crc claimed_base_crc "
                     "claimed_increment claimed_length claimed_warps", _COMMAND),
    ),
    "control.engine.save.commit": (
        _bookkeeping("complete completes valid request issued count number error", _COMMAND),
    ),
    "control.engine.book.saved": (
        _descriptor("saved_# generations[] extents[] records record_in_memory",
                    "which entries can be resumed, and whether the record may be believed; set by a commit or an "
                    "adoption, ended by a demotion or a start"),
        _descriptor("bases_# sides_# base_sides_# increments_# checksums[]",
                    "which TBs have a base, where, and its checksum: what is clean is there; ended with the TB or by "
                    "a start"),
        _bookkeeping("later base base_crc", "of the entry that is being committed, demoted or read"),
    ),
    "control.engine.restore.read_ahead": (
        _bookkeeping("fsm_state entry streams_left entry_select area words_before of_base entry_select_base", _COMMAND),
    ),
    "control.engine.restore.adopt": (_bookkeeping("fsm_state requested error of_base", _COMMAND),),
    "control.engine.restore.record_reader": (_bookkeeping("record row wrong", _COMMAND),),
    "control.engine.save.record_writer": (_bookkeeping("fsm_state row voids beat", _COMMAND),),
    "control.engine.book.generations": (_bookkeeping("count", _COMMAND),),
    "control.engine.save.pipeline.sealer": (
        _bookkeeping("body first passed crc held output__payload output__valid", _STREAM),
    ),
    "control.engine.restore.checker": (_bookkeeping("first over", _STREAM),),
    "control.engine.save.pipeline.sealer.of_stream control.engine.checksum "
    "control.engine.restore.checker.checksum control.engine.book.generations.checksum": (
        _bookkeeping("state", _STREAM),
    ),
    "control.engine.save.pipeline.records": (
        _bookkeeping("fsm_state tb row warp area warps_saved live_warps saved_registers valid_registers "
                     "register_count predicates uniforms header_written lanes_exited last_uniforms uniforms_repeat "
                     "all_uniforms compare_pending stack_entry entry_below group lines_listed metadata_words "
                     "registers_listed tb_ended bank items records_with_item records side increment base_crc",
                     _COMMAND),
    ),
    "control.engine.save.pipeline.records.kept_uniforms control.engine.restore.pipeline.state.kept_uniforms": (
        _bookkeeping("rows[]", _STREAM),
    ),
    "control.engine.save.pipeline.tb_compressor control.engine.restore.pipeline.expander.tb_decompressor": (
        _bookkeeping("held valid", _STREAM),
    ),
    "control.engine.save.pipeline.tb_compressor.history "
    "control.engine.restore.pipeline.expander.tb_decompressor.history": (
        _bookkeeping("rows[] rows[].read0 shown known", _STREAM),
    ),
    "control.engine.save.pipeline.registers": (_bookkeeping("mask opens credits beat row zero scramble", _STREAM),),
    "control.engine.save.pipeline.lines": (_bookkeeping("mask credits part zero", _STREAM),),
    "control.engine.save.pipeline.encoder": (
        _bookkeeping("stage beat part kept_#", _STREAM),
    ),
    "control.engine.save.pipeline.collector": (
        _bookkeeping("collected count second listed vectors[] masks[]", _STREAM),
    ),
    "control.engine.save.pipeline.closer": (
        _bookkeeping("fsm_state job origins[] number part data_words metadata_words", _STREAM),
    ),
    "control.engine.save.pipeline.metadata control.engine.save.pipeline.packer "
    "control.engine.save.pipeline.collector.packer": (
        _bookkeeping("words strobe level flushing tag", _STREAM),
    ),
    "control.engine.save.pipeline.merge": (_bookkeeping("rows_left part in_item item_rows_taken closes", _STREAM),),
    "control.engine.save.pipeline.writer": (_bookkeeping("opened address first count entry side", _STREAM),),
    "control.engine.restore.reader": (_bookkeeping("address beats_left reserved owed words_passed error", _STREAM),),
    "control.engine.restore.unpacker control.engine.restore.pipeline.expander.unpacker "
    "control.engine.restore.pipeline.state.unpacker": (
        _bookkeeping("words level", _STREAM),
    ),
    "control.engine.restore.pipeline.expander": (_bookkeeping("job some bit code rest held second", _STREAM),),
    "control.engine.restore.pipeline.expander.decoder": (
        _bookkeeping("beat output__payload output__valid", _STREAM),
    ),
    "control.engine.restore.pipeline.expander.under_way control.engine.restore.pipeline.state.under_way": (
        _bookkeeping("count_#", _STREAM),
    ),
    "control.engine.restore.pipeline.parser": (
        _bookkeeping("fsm_state stream bank words_left skip_words record_pending init_pending record header warp "
                     "base live_lanes uniforms repeated_uniforms last_uniforms followed_registers expander_opened "
                     "scalars_left entries_left group_words codes_wrong expander_needed targets target shared "
                     "group unit code part bitmap[] base_records", _STREAM),
    ),
    "control.engine.restore.pipeline.parser.table": (_bookkeeping("rows[] counts[] before", _STREAM),),
    "control.engine.restore.pipeline.state": (_bookkeeping("job under", _STREAM),),
    "control.engine.restore.pipeline.rows": (
        _bookkeeping("part_# last_shared_word words held place pinned", _STREAM),
        _bookkeeping("noise_#", "random bits for `scramble`"),
    ),
    "control.engine.restore.pipeline.completion": (_bookkeeping("held tb", _STREAM),),
    "control.engine.save.commit.grants control.engine.save.commit.marks control.engine.restore.jobs "
    "control.engine.save.pipeline.jobs control.engine.save.pipeline.pieces "
    "control.engine.save.pipeline.registers.items "
    "control.engine.save.pipeline.registers.rows control.engine.save.pipeline.lines.items "
    "control.engine.save.pipeline.lines.rows "
    "control.engine.save.pipeline.writer.bursts "
    "control.engine.restore.reader.lengths control.engine.save.pipeline.encoder.rows "
    "control.engine.save.pipeline.encoder.verdicts control.engine.save.pipeline.collector.items "
    "control.engine.restore.pipeline.expander.jobs control.engine.restore.pipeline.state.jobs "
    "control.engine.restore.checker.results": (
        _bookkeeping(" ".join(f"fifo.{name}" for name in _FIFO.split()), _STREAM),
    ),
    "control.engine.save.pipeline.writer.beats control.engine.restore.reader.beats "
    "control.engine.save.pipeline.collector.rows control.engine.save.pipeline.collector.words "
    "control.engine.restore.pipeline.expander.chunks control.engine.restore.pipeline.state.chunks": (
        _bookkeeping(" ".join(f"fifo.{name}" for name in _BUFFERED_FIFO.split()), _STREAM),
    ),
}

_STAYS = "of what stays on the SM of a preempted TB; a row ends with its start, its eviction or its kill"
_TRAPS = {
    "front.fetch": (
        _transient("routine", "one cycle; what it says follows from the PC"),
    ),
    "front.table": (
        _transient("returned",
                   "a resumed warp may be trapped again before the instruction that it was to "
                   "execute first, if it was stopped between points just there: its routine leads "
                   "to the same registers"),
    ),
}

_IN_PLACE = {
    "control.registers": (_bookkeeping("commands__newcomer", "what the driver sets"),),
    "control.commands.queue": (
        _bookkeeping("owner", "of the eviction in hand"),
    ),
    "control.commands.queue.eviction_refusals": (_bookkeeping("cycles_left pausing tries_#", _REFUSALS),),
    "control.commands.queue.stuck": (_bookkeeping("cycles_left stuck", _REFUSALS),),
    "control.dispatcher.admission.room_maker": (
        _bookkeeping("evict", "rows that are in the way of a TB; a bit ends with its row"),
        _bookkeeping("stuck_before hopeless only_stuck",
                     "whether anything can make room; cleared whenever a TB leaves or comes"),
    ),
    "control.dispatcher.admission.room_maker.registers control.dispatcher.admission.room_maker.lines "
    "control.dispatcher.planner.registers.fit control.dispatcher.planner.lines.fit": (
        _bookkeeping("size number done fits start best leave", "of the search in hand; set by its request"),
    ),
    "control.dispatcher.planner": (
        _bookkeeping("chosen sizes count fsm_state", "of the plan in hand; set by its request"),
    ),
    "control.dispatcher.planner.registers control.dispatcher.planner.lines": (
        _bookkeeping("size count placed leave done rows owner_# fsm_state", "of the plan in hand; set by its request"),
    ),
    "control.engine.save.pipeline.records": (_bookkeeping("registers_stay lines_stay staying_row evict", _COMMAND),),
    "control.engine.restore.entries": (_bookkeeping("claimed_absent", _COMMAND),),
    "control.engine.restore.pipeline.parser": (_bookkeeping("state_parsed", _COMMAND),),
    "control.engine.book.saved": (
        _descriptor("without_registers_# without_lines_# completed_#",
                    "of saved entries; set when one is committed or adopted"),
    ),
    "control.engine.counters.counts": (_bookkeeping("evicted", "bytes of the eviction in hand"),),
    "control.engine.book.staying": (_descriptor("report", _STAYS),),
    "control.engine.book.masks": (_descriptor("masks[]", _STAYS),),
    "control.engine.save.evict": (_bookkeeping("written fsm_state", _COMMAND),),
}

_PLAIN = "a warp that comes back waits at a plain barrier, so its TB goes on"
_YIELDS: dict[str, tuple[Elements, ...]] = {
    "front.table": (_cache("yielding", _PLAIN),),
    "control.dispatcher.yields.watches": (
        _cache("tbs__set fired_before segment_#", "of TBs on the SM: " + _PLAIN),
        _bookkeeping("row_#", "of TBs that are away, whom a resume brings back as well"),
    ),
    "control.dispatcher.yields.unit": (
        _bookkeeping("watches__away ready turn_# before_# leaves__resume_excluded",
                     "which saved TBs come back without a resume; another one brings all of them back"),
        _bookkeeping("saving refused", "of the TB that is being saved"),
        _descriptor("yields", "counts since the start of the kernel"),
    ),
    "control.commands.queue": (_bookkeeping("yielder lacking unsettled", _COMMAND),),
    "control.commands.queue.wake_refusals control.commands.queue.leave_refusals": (
        _bookkeeping("cycles_left pausing tries_#", _REFUSALS),
    ),
    "control.registers": (_bookkeeping("notice notify_begin notify_end", "what the host has written last"),),
}

STATE: dict[str, tuple[Elements, ...]] = _FRONT | _EXECUTE | _MEMORY | _DISPATCH | _ENGINE
"""By block (several, separated by blanks, if they have the same elements;
the SM itself is ``""``)."""

OF_SEVERAL_BEATS = frozenset(["control.engine.save.pipeline.encoder.kept_#"])
"""What an SM has only if a warp takes several beats."""

ABOUT_THE_IMAGE = frozenset(["WARP_HEADER.repeats", "STACK_ENTRY.none"]) | frozenset(f"CCB_ENTRY.{name}" for name in (
    "state version zero crc generation geometry_hash register_image length mechanism incremental base_crc "
    "registers_stay lines_stay none registers warps stream_crc table_crc").split())
"""Fields that carry no element: they describe the image, or repeat the kernel's descriptor."""


def _named(state: dict[str, tuple[Elements, ...]]) -> Iterator[tuple[str, Elements]]:
    for blocks, groups in state.items():
        for block in blocks.split() or [""]:
            for group in groups:
                for name in group.names.split():
                    yield (f"{block}.{name}" if block else name), group


def listed() -> Iterator[tuple[str, Elements]]:
    """Yield every element's full name, with the group it stands in."""
    yield from _named(STATE)
    yield from _named(_IN_PLACE)
    yield from _named(_TRAPS)
    yield from _named(_YIELDS)


IN_PLACE = frozenset(name for name, _ in _named(_IN_PLACE))
"""What an SM has only with `Geometry.in_place`."""
TRAPS = frozenset(name for name, _ in _named(_TRAPS))
"""What an SM has only with `Geometry.traps`."""
YIELDS = frozenset(name for name, _ in _named(_YIELDS))
"""What an SM has only with `Geometry.watches`."""
