"""State of the control unit, the dispatcher and the preemption engine."""

from .kinds import BUFFERED_FIFO, FIFO, bookkeeping, context, descriptor, transient

COMMAND = "of the command in hand: set when it begins, or empty when the one before has ended"
REFUSALS = "what memory has refused the engine of late; forgotten with a start or a resume"
STREAM = ("words of the TB being saved or restored, shown with a level or valid bit; "
          "empty when the command ends")

DISPATCH = {
    "": (bookkeeping("owner_#", "for the trace ports only; set by warp_init"),),
    "control.status": (bookkeeping("cycle retired", "counters since reset; `%clock` is volatile"),),
    "control.registers": (
        bookkeeping("own from_table events__pending inspect commands__patience commands__grace commands__spared "
                    "bus_share",
                    "the bus's read register; events; what is inspected; what the driver sets"),
    ),
    "control.dispatcher.profile": (
        bookkeeping("ages profiles departed kernel valid issued issuer",
                    "for estimates only; a TB that comes back is told from one that began (`whole`)"),
    ),
    "control.status.switches": (
        bookkeeping("counts", "read by software alone; how often a kernel was switched, and how"),
    ),
    "control.kernel_table": (
        descriptor("kernels mirror[]",
                   "written by the driver before a start; constant until the end"),
        bookkeeping("mirror[].read0 from_mirror",
                    "the bus's read register"),
    ),
    "control.commands": (
        descriptor("dispatch__footprints",
                   "stay with the kernel slot while the kernel is preempted; set by a start"),
        bookkeeping("withdrawn result_pending result status__error", COMMAND),
    ),
    "control.commands.slot_#": (
        descriptor("state", "stays with the kernel slot while the kernel is preempted"),
        bookkeeping("error engine__preempt_pending engine__resume_pending engine__adopt_pending hasten_active "
                    "engine__grace_active endless engine__grace_left spared others_running is_checkpoint",
                    "commands that are under way, and how they ended"),
    ),
    "control.commands.queue": (
        bookkeeping("held room_changed lacks_room pass_begun options_given[]", COMMAND),
    ),
    "control.commands.queue.turns": (bookkeeping("before_#_#", "whose turn it is"),),
    "control.dispatcher.grid": (
        descriptor("places launched exhausted",
                   "TBs not yet launched need no image: the kernel slot keeps count; "
                   "cleared by a start"),
        bookkeeping("last", "whose turn it is"),
    ),
    "control.dispatcher.completion": (
        descriptor("completed", "as `grid.launched`"),
        bookkeeping("ending", "the TB that leaves in this cycle"),
    ),
    "control.dispatcher.tb_table": (
        context("resident",
                "the place (base, lines, warp slots) is given anew; an insertion sets all of it",
                "CCB_ENTRY.launch_id CCB_ENTRY.ctaid_x CCB_ENTRY.ctaid_y CCB_ENTRY.ctaid_z "
                "CCB_ENTRY.local_base"),
        descriptor("tbs", "bytes of shared memory, from the kernel slot at admission"),
        bookkeeping("tb_count room__warp_count warps#", "what is resident"),
    ),
    "control.dispatcher.admission": (
        bookkeeping("fsm_state restored current room_freed", "of the TB being admitted"),
    ),
    "control.dispatcher.admission.waiting": (
        bookkeeping("blocked", "which kernels wait for room; cleared whenever a TB leaves"),
    ),
    "control.dispatcher.admission.places": (bookkeeping("tb", "of the TB being admitted"),),
    "control.dispatcher.admission.places.registers control.dispatcher.admission.places.shared": (
        descriptor("table",
                   "who owns which range; entered at admission, freed when the TB leaves"),
        bookkeeping("size searching done fits start", "of the TB being admitted"),
    ),
    "control.dispatcher.admission.places.warp_slots": (
        bookkeeping("count picked mask slots", "of the TB being admitted"),
    ),
    "control.dispatcher.admission.places.entries": (
        descriptor("owned_#",
                   "which entries and regions of local memory have a TB, from launch to end"),
        bookkeeping("kernel chosen region address size part warps saved restored sizing walking "
                    "done found", "of the TB being admitted"),
    ),
    "control.dispatcher.launcher": (bookkeeping("fsm_state warp threads base", "of the TB being launched"),),
    "control.dispatcher.launches.warp_init control.dispatcher.launches.stack_push": (
        bookkeeping("held", "which of two streams has been offered"),
    ),
    "control.dispatcher.faults": (
        transient("load_store_fault shared_fault constant_fault front_fault",
                  "reports on their way: their TBs end"),
        transient("killed forsaken",
                  "a TB that is killed is not completed; cleared when it leaves"),
        bookkeeping("record count faults", "read by the driver"),
        descriptor("block_warps[]",
                   "warp of the TB in each slot, for the record; set by warp_init"),
    ),
}

ENGINE = {
    "control.engine.restore": (bookkeeping("admission_pending", "an admission is not answered yet"),),
    "control.engine.sequencer": (
        bookkeeping("fsm_state bound error tbs_left state__resume save__stop_pending save__stop_now patience "
                    "flush_cycles book__row_select", COMMAND),
        bookkeeping("state__accepted",
                    "of the command in hand, but for `generation`, "
                    "which counts preempts since reset"),
    ),
    "control.engine.counters.counts": (
        bookkeeping("counters saved_for restored_for unresumed running", "read by the driver"),
    ),
    "control.engine.save.preempt": (
        bookkeeping("active claim save_begun save_finished chosen tb", COMMAND),
    ),
    "control.engine.restore.resume": (
        bookkeeping("fsm_state waiting tbs_placed parked parsed recalled offered entry demoted of_base "
                    "running tb_of broken full judged current place row table words", COMMAND),
    ),
    "control.engine.restore.entries": (
        bookkeeping("memory[] shown count bad judging of_base claimed_area claimed_crc claimed_base_crc "
                    "claimed_increment claimed_length claimed_warps", COMMAND),
    ),
    "control.engine.save.commit": (
        bookkeeping("complete completes valid request issued count number error", COMMAND),
    ),
    "control.engine.book.saved": (
        descriptor("saved_# generations[] extents[] records record_in_memory",
                   "which entries can be resumed, and whether the record may be believed; set by a commit or an "
                   "adoption, ended by a demotion or a start"),
        descriptor("bases_# sides_# base_sides_# increments_# checksums[]",
                   "which TBs have a base, where, and its checksum: what is clean is there; ended with the TB or by "
                   "a start"),
        bookkeeping("later base base_crc", "of the entry that is being committed, demoted or read"),
    ),
    "control.engine.restore.read_ahead": (
        bookkeeping("fsm_state entry streams_left entry_select area words_before of_base entry_select_base", COMMAND),
    ),
    "control.engine.restore.adopt": (bookkeeping("fsm_state requested error of_base", COMMAND),),
    "control.engine.restore.record_reader": (bookkeeping("record row wrong", COMMAND),),
    "control.engine.save.record_writer": (bookkeeping("fsm_state row voids beat", COMMAND),),
    "control.engine.book.generations": (bookkeeping("count", COMMAND),),
    "control.engine.save.pipeline.sealer": (
        bookkeeping("body first passed crc held output__payload output__valid", STREAM),
    ),
    "control.engine.restore.checker": (bookkeeping("first over", STREAM),),
    "control.engine.save.pipeline.sealer.of_stream control.engine.checksum "
    "control.engine.restore.checker.checksum control.engine.book.generations.checksum": (
        bookkeeping("state", STREAM),
    ),
    "control.engine.save.pipeline.records": (
        bookkeeping("fsm_state tb row warp area warps_saved live_warps saved_registers valid_registers "
                    "register_count predicates uniforms header_written lanes_exited last_uniforms uniforms_repeat "
                    "all_uniforms compare_pending stack_entry entry_below group lines_listed metadata_words "
                    "registers_listed tb_ended bank items records_with_item records side increment base_crc",
                    COMMAND),
    ),
    "control.engine.save.pipeline.records.kept_uniforms control.engine.restore.pipeline.state.kept_uniforms": (
        bookkeeping("rows[]", STREAM),
    ),
    "control.engine.save.pipeline.tb_compressor control.engine.restore.pipeline.expander.tb_decompressor": (
        bookkeeping("held valid", STREAM),
    ),
    "control.engine.save.pipeline.tb_compressor.history "
    "control.engine.restore.pipeline.expander.tb_decompressor.history": (
        bookkeeping("rows[] rows[].read0 shown known", STREAM),
    ),
    "control.engine.save.pipeline.registers": (bookkeeping("mask opens credits beat row zero scramble", STREAM),),
    "control.engine.save.pipeline.lines": (bookkeeping("mask credits part zero", STREAM),),
    "control.engine.save.pipeline.encoder": (
        bookkeeping("stage beat part kept_#", STREAM),
    ),
    "control.engine.save.pipeline.collector": (
        bookkeeping("collected count second listed vectors[] masks[]", STREAM),
    ),
    "control.engine.save.pipeline.closer": (
        bookkeeping("fsm_state job origins[] number part data_words metadata_words", STREAM),
    ),
    "control.engine.save.pipeline.metadata control.engine.save.pipeline.packer "
    "control.engine.save.pipeline.collector.packer": (
        bookkeeping("words strobe level flushing tag", STREAM),
    ),
    "control.engine.save.pipeline.merge": (bookkeeping("rows_left part in_item item_rows_taken closes", STREAM),),
    "control.engine.save.pipeline.writer": (bookkeeping("opened address first count entry side", STREAM),),
    "control.engine.restore.reader": (bookkeeping("address beats_left reserved owed words_passed error", STREAM),),
    "control.engine.restore.unpacker control.engine.restore.pipeline.expander.unpacker "
    "control.engine.restore.pipeline.state.unpacker": (
        bookkeeping("words level", STREAM),
    ),
    "control.engine.restore.pipeline.expander": (bookkeeping("job some bit code rest held second", STREAM),),
    "control.engine.restore.pipeline.expander.decoder": (
        bookkeeping("beat output__payload output__valid", STREAM),
    ),
    "control.engine.restore.pipeline.expander.under_way control.engine.restore.pipeline.state.under_way": (
        bookkeeping("count_#", STREAM),
    ),
    "control.engine.restore.pipeline.parser": (
        bookkeeping("fsm_state stream bank words_left skip_words record_pending init_pending record header warp "
                    "base live_lanes uniforms repeated_uniforms last_uniforms followed_registers expander_opened "
                    "scalars_left entries_left group_words codes_wrong expander_needed targets target shared "
                    "group unit code part bitmap[] base_records", STREAM),
    ),
    "control.engine.restore.pipeline.parser.table": (bookkeeping("rows[] counts[] before", STREAM),),
    "control.engine.restore.pipeline.state": (bookkeeping("job under", STREAM),),
    "control.engine.restore.pipeline.rows": (
        bookkeeping("part_# last_shared_word words held place pinned", STREAM),
        bookkeeping("noise_#", "random bits for `scramble`"),
    ),
    "control.engine.restore.pipeline.completion": (bookkeeping("held tb", STREAM),),
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
        bookkeeping(" ".join(f"fifo.{name}" for name in FIFO.split()), STREAM),
    ),
    "control.engine.save.pipeline.writer.beats control.engine.restore.reader.beats "
    "control.engine.save.pipeline.collector.rows control.engine.save.pipeline.collector.words "
    "control.engine.restore.pipeline.expander.chunks control.engine.restore.pipeline.state.chunks": (
        bookkeeping(" ".join(f"fifo.{name}" for name in BUFFERED_FIFO.split()), STREAM),
    ),
}
