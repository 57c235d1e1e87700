"""The preemption port: what a core must offer so that its warps can be stopped, saved and restored.

::

    PreemptEngine -- stop ------> front end        whose warps stop, which have
                  -- warps -----> front end        control state, uniform registers
                  -- registers -> execution        vector registers and predicates
                  -- shared ----> shared memory    rows and their valid bits
    PreemptEngine, Launcher -- WarpLaunchPort --> front end

The preemption engine knows of the core only this port and `WarpLaunchPort`; a core that offers both
as stated here can be preempted by it. Directions are the engine's. Lin et al. IV-A, IV-C.
"""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import MAX_REGISTERS, PREDICATES, UNIFORMS, Geometry
from . import payloads as payload

__all__ = ["StopPort", "WarpWindow", "WarpSavePort", "WarpStatePort", "RegisterFlagsPort",
           "RegisterStatePort", "SharedStatePort", "PreemptionPort", "WarpLaunchPort"]


class StopPort(wiring.Signature):
    """Stops the warps of TBs.

    `stopped` and `exited` may follow `pending` and `stop_now` within the cycle. A warp that is
    `stopped` stays so, and its state does not change, until its TB is no longer pending or its slot
    is freed.

    Attributes
    ----------
    pending : Signal(tb_slots), out
        Vector: TBs whose warps stop at preemption points and whose full barriers are held.
    stop_now : Signal(tb_slots), out
        Vector: those of them whose warps stop at the next instruction; it may rise later, and
        stays.
    trap : Signal(tb_slots), out
        Vector: those of them whose warps go on in the routines of their kernel, until they stop at
        a point there. Only with `Geometry.traps`.
    stopped : Signal(warps), in
        Vector: warps of which nothing is outstanding that are parked, or at a barrier of a pending
        TB.
    exited : Signal(warps), in
        Vector: warps of which nothing is outstanding that are out of lanes or killed.
    issued, issuer : Signal, in
        An instruction retires in this cycle; the slot of its warp.
    """

    def __init__(self, g: Geometry):
        super().__init__({"pending": Out(g.tb_slots), "stop_now": Out(g.tb_slots),
                          **({"trap": Out(g.tb_slots)} if g.traps else {}),
                          "stopped": In(g.warps), "exited": In(g.warps), "issued": In(1),
                          "issuer": In(payload.below(g.warps))})


class WarpWindow(wiring.Signature):
    """Looks at the control state of one warp. Combinational.

    Attributes
    ----------
    select : out
        A warp and an entry of its stack (0 is the bottom).
    view : payloads.warp_view, in
        The control state of that warp, and that entry.
    """

    def __init__(self, g: Geometry):
        select = data.StructLayout({"warp": payload.below(g.warps), "entry": 6})
        super().__init__({"select": Out(select), "view": In(payload.warp_view(g))})


class WarpSavePort(wiring.Signature):
    """Reads what the front end holds of one warp. Combinational.

    Attributes
    ----------
    window : WarpWindow, out
        Its control state.
    uniforms_written : Signal(UNIFORMS), in
        Vector: uniform registers that warp ``window.select.warp`` has written.
    uniform_select : Signal(range(UNIFORMS // 2)), out
        A pair of uniform registers: 0 is the first two.
    uniform_values : payloads.uniform_pair, in
        Their values.
    """

    def __init__(self, g: Geometry):
        super().__init__({"window": Out(WarpWindow(g)), "uniforms_written": In(UNIFORMS),
                          "uniform_select": Out(range(UNIFORMS // 2)),
                          "uniform_values": In(payload.uniform_pair())})


class WarpStatePort(wiring.Signature):
    """State of warps in the front end. A `WarpLaunchPort` puts warps back.

    Attributes
    ----------
    save : WarpSavePort, out
        Reads.
    restore_uniform : payloads.uniform_restore, out
        Writes one or both of a pair of uniform registers, those `valid`; they are read with their
        values from the next cycle.
    """

    def __init__(self, g: Geometry):
        super().__init__({"save": Out(WarpSavePort(g)),
                          "restore_uniform": Out(payload.uniform_restore(g))})


class RegisterFlagsPort(wiring.Signature):
    """Reads which registers of a warp hold something, and its predicates. Combinational.

    Attributes
    ----------
    warp : Signal, out
        The warp.
    valid, dirty : Signal(MAX_REGISTERS), in
        Vectors: registers written, or restored, since the launch; since `RegisterStatePort.clean`.
    predicates_written : Signal(PREDICATES), in
        Vector: predicates written since the launch.
    predicate_select : Signal, out
        One of them.
    predicate_value : Signal(warp_size), in
        Its lanes.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "warp": Out(payload.below(g.warps)), "valid": In(MAX_REGISTERS),
            "dirty": In(MAX_REGISTERS), "predicates_written": In(PREDICATES),
            "predicate_select": Out(range(PREDICATES + 1)), "predicate_value": In(g.warp_size),
        })


class RegisterStatePort(wiring.Signature):
    """Vector registers and predicates of warps.

    Attributes
    ----------
    flags : RegisterFlagsPort, out
        Reads what there is, and predicates.
    read : stream of payloads.register_read, out
        A beat of a register; transferred when no instruction reads its bank.
    read_data : payloads.register_data, in
        The beat, one cycle after its transfer; 0 if the register is not valid, unless it `stays`.
    restore_predicate : stream of payloads.predicate_restore, out
        Writes all lanes of a predicate; transferred when no instruction writes one.
    restore_write : stream of payloads.register_write, out
        Beats of registers, in ascending order; transferred when nothing else writes.
    load : stream of payloads.register_flags, out
        Which registers of a warp that has been initialised hold something, since they have stayed
        where they are; transferred when nothing writes. Only with `Geometry.in_place`.
    clean : Signal(warps), out
        Vector: all registers of warps that do not run become clean from the next cycle on; none of
        theirs is written in this one.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "flags": Out(RegisterFlagsPort(g)),
            "read": Out(stream.Signature(payload.register_read(g))),
            "read_data": In(payload.register_data(g)),
            "restore_predicate": Out(stream.Signature(payload.predicate_restore(g))),
            "restore_write": Out(stream.Signature(payload.register_write(g))),
            "load": Out(stream.Signature(payload.register_flags(g))),
            "clean": Out(g.warps),
        })


class SharedStatePort(wiring.Signature):
    """Shared memory, by rows.

    Attributes
    ----------
    valid, dirty : Signal(shared_lines), in
        Vectors: 128-byte lines that hold something; written, or restored, since `clean`.
    row : stream of payloads.row_access, out
        Reads or writes a row. It goes before the accesses of warps, at most every other cycle; a
        write makes its line valid and dirty.
    row_data : payloads.row_data, in
        The row that was read, one cycle after the transfer.
    clean : payloads.line_range, out
        Lines that are not being written become clean from the next cycle on.
    """

    def __init__(self, g: Geometry):
        super().__init__({"valid": In(g.shared_lines), "dirty": In(g.shared_lines),
                          "clean": Out(payload.line_range(g)),
                          "row": Out(stream.Signature(payload.row_access(g))),
                          "row_data": In(payload.row_data(g))})


class PreemptionPort(wiring.Signature):
    """All that the preemption engine needs of a core besides a `WarpLaunchPort`.

    Attributes
    ----------
    stop : StopPort, out
    warps : WarpStatePort, out
    registers : RegisterStatePort, out
    shared : SharedStatePort, out
    """

    def __init__(self, g: Geometry):
        super().__init__({"stop": Out(StopPort(g)), "warps": Out(WarpStatePort(g)),
                          "registers": Out(RegisterStatePort(g)),
                          "shared": Out(SharedStatePort(g))})


class WarpLaunchPort(wiring.Signature):
    """Puts warps into free slots and starts them, for a launch and for a restore.

    Any number of warps are initialised and their stacks pushed, bottom first; then their TB is
    started. An initialised warp has no valid register, no predicate and no uniform register.

    Attributes
    ----------
    warp_init : stream of payloads.warp_init, out
        A warp; it takes the issue slot of its cycle.
    stack_push : stream of payloads.stack_push, out
        An entry of its stack; likewise, and after `warp_init` if both are offered.
    start : payloads.tb_event, out
        The warps of the TB run; `valid` for one cycle.
    """

    def __init__(self, g: Geometry):
        super().__init__({"warp_init": Out(stream.Signature(payload.warp_init(g))),
                          "stack_push": Out(stream.Signature(payload.stack_push(g))),
                          "start": Out(payload.tb_event(g))})
