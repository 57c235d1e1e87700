"""State of the front end, the execution units and the memory units."""

from .kinds import FIFO, LIBRARY_FIFO, bookkeeping, cache, context, descriptor, transient

QUIET = ("a stopped warp has no pending register or predicate write, "
         "and what has no destination has no effect")
NO_LOADS = "a stopped warp has no unreturned load"
NO_STORES = "a stopped warp has no unacknowledged store"
NO_ATOMICS = ("a stopped warp has no atomic outstanding; "
              "one of shared memory is written before a row is read")
NO_ACCESS = "a stopped warp has no memory operation outstanding"
NO_SHARED = "a stopped warp has no shared access outstanding; idle values are set by the next one"
SLOT = ("of the slot, whoever has it: accesses are told from those of warps forgotten there, "
        "and no warp that is saved has any")
LEFT = "counts what is in a queue, and of it what was there when a warp was last forgotten"
UNIFORM = "a stopped warp has no pending write of a uniform register or predicate"

FRONT_END = {
    "front": (transient("fault", "a report on its way: its TB ends"),),
    "front.stack": (
        context("pcs[]", "of the top entry", "STACK_ENTRY.pc"),
        context("tops[]", "of the top entry",
                "STACK_ENTRY.whole STACK_ENTRY.reconv WARP_HEADER.depth"),
        context("body[]",
                "entries below the top; "
                "those at or above the depth are a former owner's and not reached",
                "STACK_ENTRY.pc STACK_ENTRY.whole STACK_ENTRY.reconv"),
        context("lives[]", "lanes that have not exited", "WARP_HEADER.exited"),
        transient("popping pushing second working",
                  "a warp whose stack settles is not stopped"),
    ),
    "front.table": (
        context("identities[]", "TB, kernel, base and registers are given anew at admission",
                "WARP_HEADER.warp WARP_HEADER.launched"),
        context("live_vectors[]",
                "a warp restored at a barrier saves the same again; others set it when they stop",
                "ENCODING_ROW.codes"),
        context("waiting", "arrived at a barrier", "WARP_HEADER.waiting"),
        context("barriers__#", "at which; meaningful with `waiting`, set with it",
                "WARP_HEADER.barrier"),
        context("dead", "a warp without a record is initialised with no live lane",
                "CCB_ENTRY.live_warps"),
        transient("killed faulted",
                  "a TB with such a warp ends, and is not completed; cleared with the slot"),
        transient("parked between",
                  "are the stop itself: a resumed warp runs; cleared with the slot"),
        transient("armed",
                  "between `pp` and its `pp.div`: "
                  "cleared when either parks the warp or the warp is stopped"),
        descriptor("valid started members__#",
                   "who has the slot: set by warp_init and start, ended by free"),
    ),
    "front.buffer": (
        transient("held alu load store atomic shared constant f64 sfu exchange uniform uses_u "
                  "sync entries[]",
                  "a warp that may not issue drops its instruction and fetches it again; "
                  "classes count while held"),
    ),
    "front.scoreboard": (
        transient("pending_registers# pending_predicates#", QUIET),
        transient("need_registers# need_predicates#", "of the instruction held; set with it"),
        transient("remote#", "of the registers that are pending; set with them"),
    ),
    "front.outstanding": (
        transient("loads.plane# stores.plane# shared.plane# atomics.plane#",
                  "counters that are 0 when a warp is stopped or exited"),
    ),
    "front.generations": (
        bookkeeping("generations spent_#", SLOT),
    ),
    "front.issue": (
        bookkeeping("global_places shared_places constant_places f64_places sfu_places "
                    "exchange_places",
                    "places of the units: each operation gives its own back"),
        bookkeeping("arbiter.above", "whose turn it is"),
    ),
    "front.uniforms": (
        context("even[] odd[]", "a word for each live uniform register follows the predicates",
                "WARP_HEADER.uniforms"),
        context("written[] fresh", "a uniform register not written reads as zero",
                "WARP_HEADER.uniforms"),
        transient("outstanding", "a stopped warp has no pending write of a uniform register"),
        transient("far", "of the write that is outstanding; set with it"),
    ),
    "front.uniform": (
        transient("op busy stage_# valid_# in_flight beat", UNIFORM),
    ),
    "front.uniform.queue": (
        transient(" ".join(f"fifo.{name}" for name in FIFO.split()), UNIFORM),
    ),
    "front.fetch": (
        transient("fetching pc bound last decoding stack__decode_warp",
                  "one cycle; dropped unless the warp may still issue"),
        transient("sleeping",
                  "ends with any line fill, one of which is under way; "
                  "the slot's next owner waits too"),
        bookkeeping("arbiter.above", "whose turn it is"),
    ),
    "front.fetch.cache": (
        cache("tags[] bank_#[] valid failed", "invalidated when a kernel is started or resumed"),
        transient("tags[].read0 tags[].read1 bank_#[].read0 looked present address",
                  "the lookup of one cycle"),
        transient("fsm_state line beat ahead two error arrived", "the fill under way"),
        transient("discard lingering",
                  "an invalidation, a warp being forgotten, reaches the fill under way"),
    ),
}

EXECUTE = {
    "execute": (
        transient("stage_# is_float_# integer_result_# integer_predicate_#", QUIET),
    ),
    "execute.operands": (
        transient("slot full beat reads_pending finished arriving bank_# load_# read_# shown_# operand_# "
                  "output__payload output__valid", QUIET),
    ),
    "execute.integer front.uniform.integer": (transient("stage_# last_#", QUIET),),
    "execute.integer.lane_# front.uniform.integer.lane_#": (
        transient("pa pb simple predicate result final total differ shifted other mask product_# "
                  "product first addend", QUIET),
    ),
    "execute.integer.lane_#.digits front.uniform.integer.lane_#.digits": (
        transient("counts", QUIET),
    ),
    "execute.exchange": (
        transient("words[] fields[] mask kept busy group scan picked targets found_# gathered "
                  "passed write__payload write__valid predicate__payload predicate__valid",
                  QUIET),
    ),
    "execute.float": (transient("control_#_# compared_# chosen_# tested_#", QUIET),),
    "execute.float.lane_#": (
        transient("product_# addend_# below_# count_# exponent_# subtract_# sign_# special_# "
                  "upper_# lower_# sticky_# magnitude_# kept_# rest_# result_#", QUIET),
    ),
    "execute.float.comparison_#": (transient("result predicate", QUIET),),
    "execute.sfu.serial": (
        transient("waiting feeding fresh rest function entering chosen shown enter token_# "
                  "place_# opened complete draining to mask k beat place@elaborate place@_enter "
                  "place@_drain b_#[] b_#[].read0 result_#_#[] result_#_#[].read0", QUIET),
    ),
    "execute.sfu.lane_#": (
        bookkeeping("table[] windows[]", "constants: nothing writes them"),
        transient("table[].read0 windows[].read0 enable_# op_# fraction_# exponent_# negative_# "
                  "special_# override_# low high shifted place_# row_# wide_# logarithm_# t_# "
                  "square_# c0_# first_# second_# magnitude_# kept_# result_#", QUIET),
    ),
    "execute.f64.serial": (
        transient("waiting feeding fresh rest function entering chosen shown enter token_# "
                  "place_# opened complete draining to mask k beat place@elaborate place@_enter "
                  "place@_drain row tests_# a_#[] a_#[].read0 b_#[] b_#[].read0 c_#[] c_#[].read0 "
                  "high_a_#[] high_a_#[].read0 high_b_#[] high_b_#[].read0 high_c_#[] "
                  "high_c_#[].read0 result_#_#[] result_#_#[].read0", QUIET),
    ),
    "execute.f64.lane_#": (
        transient("control_# x_# y_# z_# negative_# tested_# addend_# below_# count_# exponent_# "
                  "subtract_# special_# sign_# part_#_# product_# upper_# lower_# sticky_# "
                  "magnitude_# kept_# rest_# result_#", QUIET),
    ),
    "execute.threads": (
        transient("first second third selected result row_# x_# second_row_# plane_#", QUIET),
    ),
    "execute.registers": (
        bookkeeping("overdue.count", "how long a save has waited"),
        context("bank_#[]",
                "the registers that `codes` names follow the record; "
                "others read as zero until written",
                "ENCODING_ROW.codes CCB_ENTRY.data_bytes"),
        transient("bank_#[].read0 save_data saved_bank shown", "the read of one cycle"),
    ),
    "execute.flags": (
        context("valid[]", "what is saved is valid again; an invalid register is not saved",
                "ENCODING_ROW.codes"),
        context("fresh", "masks the rows of a slot until its first write; set by warp_init",
                "ENCODING_ROW.codes"),
        cache("dirty[] tidy",
              "a restore makes a register dirty that is in no base, which saves too much, never too little; clean is "
              "what the base has that the TB was restored from"),
    ),
    "execute.predicates": (
        context("values[]", "a word for each live predicate follows the header",
                "WARP_HEADER.predicates"),
        context("written[] fresh", "a predicate not written reads as zero",
                "WARP_HEADER.predicates"),
    ),
    "execute.predicate_write_back execute.write_back": (
        bookkeeping("bubble arbiter.above overdue.count", "whose turn it is"),
    ),
}

MEMORY = {
    "load_store.queue shared.queue constant.queue": (
        transient("write_slot read_slot waiting used before control[] mask_#[] address_#[]",
                  NO_ACCESS),
    ),
    "load_store.queue shared.queue": (transient("data_#_#[]", NO_ACCESS),),
    "load_store.backlog load_store.loads.backlog load_store.stores.backlog "
    "load_store.atomics.backlog constant.backlog": (transient("within marked", LEFT),),
    "load_store": (
        transient("dropping", "ends with the last segment of the instruction that faulted"),
    ),
    "load_store.coalescer": (
        transient("started rest segment__payload segment__valid", NO_ACCESS),
    ),
    "load_store.loads": (
        transient("number@_gather number@_write spoiled abandoned current gathered busy final "
                  "mask k extra done row_#_# word_#_# write__payload", NO_LOADS),
    ),
    "load_store.stores": (
        transient("busy beat last_beat mask owner extra offset_# strobe_# word_#_# reported done "
                  "write_port__request__payload write_port__request__valid", NO_STORES),
    ),
    "load_store.merge": (bookkeeping("owner bound", "whose register is being written"),),
    "load_store.atomics": (
        transient("tail asking arriving working head used unasked expected arrived finished "
                  "segment_# in_flight number begun spoiled wrote read_failed done reported entries[] "
                  "operands_#[] beats[]", NO_ATOMICS),
    ),
    "load_store.atomics.engine": (
        transient("fsm_state rest changed read_failed number abandoned word_#", NO_ATOMICS),
    ),
    "load_store.atomics.engine.writer": (
        transient("asking number sending burst first last writing beat upper low[] high[]",
                  NO_ATOMICS),
    ),
    "load_store.atomics.engine.pipeline shared.atomics.pipeline": (
        transient("reading stage_#", NO_ATOMICS),
    ),
    "load_store.atomics.engine.pipeline.lane shared.atomics.pipeline.lane": (
        transient("before after adding_#", NO_ATOMICS),
    ),
    "load_store.atomics.engine.pipeline.lane.adder shared.atomics.pipeline.lane.adder": (
        transient("product_# addend_# below_# count_# exponent_# subtract_# sign_# special_# "
                  "upper_# lower_# sticky_# magnitude_# kept_# rest_# result_#", NO_ATOMICS),
    ),
    "shared.atomics": (transient("upper[]", NO_ATOMICS),),
    "load_store.loads.outstanding load_store.stores.outstanding": (
        transient(LIBRARY_FIFO, NO_ACCESS),
    ),
    "shared": (
        context("bank_#[]",
                "lines whose bit is set in the bitmap; the others read as zero until written",
                "CCB_ENTRY.data_bytes"),
        transient("bank_#[].read0 state__row_data known", "the read of one cycle"),
        transient("beat k begun started rest count in_banks occupied bank_# low_# full final "
                  "silent completion__shared access__write__payload", NO_SHARED),
        bookkeeping("turn", "whether a row access may take a cycle"),
    ),
    "constant": (
        transient("turn k begun started rest looked looking found finding spoiled full once "
                  "final owner access__write__payload uniform__payload", QUIET),
    ),
    "constant.cache": (
        cache("tags[] rows[] valid failed", "invalidated when a kernel is started or resumed"),
        transient("rows[].read0", "the lookup of one cycle"),
        transient("fsm_state line beat bad discard lingering", "the fill under way"),
    ),
    "shared.lines": (
        context("valid", "what is saved is valid again; cleared at admission",
                "CCB_ENTRY.data_bytes"),
        cache("dirty", "as `execute.flags.dirty`"),
    ),
    "bus": (
        transient("axi__araddr axi__arid axi__arlen axi__arvalid axi__awaddr axi__awid axi__awlen "
                  "axi__awvalid axi__wdata axi__wlast axi__wstrb axi__wvalid",
                  "each burst is counted by who asked for it"),
    ),
    "bus.r_buffer bus.b_buffer": (
        transient("spare full output__payload output__valid",
                  "beats and acknowledgements of bursts, each counted by who asked for it"),
    ),
    "bus.ar_share bus.aw_share": (
        bookkeeping("debt", "what save and restore are owed of the bus; any value is a fair start"),
    ),
    "bus.order": (
        transient(FIFO, "whose beats come next; each burst is counted by who asked for it"),
    ),
}
