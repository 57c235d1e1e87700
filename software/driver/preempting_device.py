"""The calls of a device that stop, save and bring back launches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Unpack

from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import Way, WayOptions
from caesura.software.compiler import KernelImage

from .address_space import AddressSpace
from .core import DeviceCore
from .launch.arguments import whole_number
from .launch.context import Contexts
from .launch.launch import Launch
from .machine.wanted import ADDRESS, FLAG, WHOLE, WHOLES, a, checked, optional
from .memory.regions import Region
from .preemption.anticipation import SETTLED_INSTRUCTIONS, Anticipation
from .preemption.estimate import Estimate
from .preemption.preempt_options import base_of, standing_of, way_of
from .preemption.reports import PreemptReport, ResumeReport
from .time.simulated_time import DEFAULT_CYCLES

__all__ = ["PreemptingDevice"]


class PreemptingDevice(AddressSpace):
    """A device that preempts, resumes and moves launches, its own and those of tenants.

    Parameters
    ----------
    core : DeviceCore
    system, heap : Region
    """

    def __init__(self, core: DeviceCore, system: Region, heap: Region):
        super().__init__(core, system, heap)
        self._preemption = core.preemption

    @checked(launch=a(Launch), tbs=optional(WHOLES), newcomer=optional(a(Launch)))
    def preempt(self, launch: Launch, mechanism: Way | Mechanism | str = Mechanism.LIVE, *,
                tbs: Iterable[int] | None = None, newcomer: Launch | None = None, max_cycles: int = DEFAULT_CYCLES,
                **options: Unpack[WayOptions]) -> PreemptReport | None:
        """Take a running launch off the SM and save it.

        Parameters
        ----------
        launch : Launch
        mechanism : hw.arch.way.Way, hw.arch.image.context.Mechanism or str
            A way says it all, and no other option is given then. Else a mechanism, or its name: ``"occupied"``,
            ``"live"``, ``"live+cp"``, ``"live+tb"``.
        patience : int or str, optional
            Cycles of drain after which warps that have not got to a preemption point stop where they are, and are saved
            with all registers they have written; ``"unlimited"`` to wait for ever. Unless given it is 0 with mechanisms
            that compress, and follows with others what the launch holds of the SM (docs/python.md). Of a mechanism that
            waits for points only.
        grace : int or str
            Cycles that thread blocks are given to run to their end, while no fresh ones are launched; those that have
            not ended by then are saved. ``"unlimited"`` to wait for all of them (draining: Tanasic et al.; Chimera).
        restart : bool
            Nothing is saved of thread blocks: they stop at once, and begin anew when the launch is resumed (flushing:
            Chimera). Of an idempotent kernel only. With `scramble` their registers are random bits then, not zeros.
        incremental : bool
            Of thread blocks that have a base, of a `checkpoint` or since they were resumed, only the registers and
            lines of shared memory are saved that were written since (PEP III-C); those without one are saved whole.
        in_place : bool
            Registers and shared memory stay on the SM, and are written to memory when others need the room, or a
            preempt without it asks for it, of a launch that is preempted too (Lin et al. III-A; docs/python.md).
        newcomer : Launch, optional
            In place, but for what is in the way of the thread blocks that this launch has not begun.
        trap : bool
            Warps stop in the preemption routines of their kernel, which was compiled with some (docs/ctxback.md).
            Patience is unlimited then, unless given.
        tbs : iterable of int, optional
            Launch ids of the thread blocks to be preempted (`resident_tbs`), all unless given. The others run on, and
            no fresh ones begin. So a launch can be preempted bit by bit, each time in another way. While the launch is
            not preempted yet a fresh one may be taken in the place of one that ends before the command is given.
        scramble : bool
            Test mode: registers that are not saved come back as random bits; lanes that have exited, and predicates and
            uniform registers that are not live, inverted.
        max_cycles : int

        Returns
        -------
        PreemptReport or None
            None if the launch finished before anything was saved.

        Raises
        ------
        CommandRefused
            If the launch does not run, or the memory failed.
        CycleLimit
            If it takes longer than `max_cycles`; it goes on, and `finish_preempt` or `abort` can follow.
        DriverError
            If there is no such mechanism, patience or grace, thread blocks of this launch cannot begin anew, or the
            machine or the newcomer is none for it.
        """
        limit = whole_number(max_cycles, "max_cycles")
        self._preemption.begin_preempt(launch, way_of("preempt", mechanism, {**options}), tbs, newcomer)
        return self._preemption.finish_preempt(launch, limit)

    @checked(launch=a(Launch), tbs=optional(WHOLES), newcomer=optional(a(Launch)))
    def begin_preempt(self, launch: Launch, mechanism: Way | Mechanism | str = Mechanism.LIVE, *,
                      tbs: Iterable[int] | None = None, newcomer: Launch | None = None, **options: Unpack[WayOptions]
                      ) -> None:
        """Ask for what `preempt` does, without waiting for it. If others are being preempted it waits its turn; if
        the launch is being resumed, the resume is withdrawn first. While the launch has grace others can be preempted
        and resumed."""
        self._preemption.begin_preempt(launch, way_of("begin_preempt", mechanism, {**options}), tbs, newcomer)

    @checked(launch=a(Launch), tbs=optional(WHOLES))
    def checkpoint(self, launch: Launch, mechanism: Way | Mechanism | str = Mechanism.LIVE, *,
                   tbs: Iterable[int] | None = None, max_cycles: int = DEFAULT_CYCLES, **options: Unpack[WayOptions]
                   ) -> PreemptReport | None:
        """Save a running launch and let it run on (PEP III-C): a later ``preempt(incremental=True)`` then saves only
        what it has written since. Each thread block runs on as soon as it is saved.

        Parameters, what is returned and what is raised are as of `preempt`; of the options there are patience and
        scramble.
        """
        limit = whole_number(max_cycles, "max_cycles")
        self._preemption.begin_preempt(launch, base_of("checkpoint", mechanism, {**options}), tbs)
        return self._preemption.finish_preempt(launch, limit)

    @checked(launch=a(Launch), tbs=optional(WHOLES))
    def begin_checkpoint(self, launch: Launch, mechanism: Way | Mechanism | str = Mechanism.LIVE, *,
                         tbs: Iterable[int] | None = None, **options: Unpack[WayOptions]) -> None:
        """Ask for what `checkpoint` does, without waiting for it; `finish_preempt` does."""
        self._preemption.begin_preempt(launch, base_of("begin_checkpoint", mechanism, {**options}), tbs)

    @checked(launch=a(Launch), settled=WHOLE)
    def anticipate(self, launch: Launch, cycles: int, mechanism: Way | Mechanism | str = Mechanism.LIVE, *,
                   settled: int = SETTLED_INSTRUCTIONS, max_cycles: int = DEFAULT_CYCLES,
                   **options: Unpack[WayOptions]) -> Anticipation:
        """Let a launch run until a preempt is due that was announced, and save bases of the thread blocks that it will
        find (PEP III-D): of those on the SM at once, of later ones when they have settled. A thread block that by its
        estimate ends before, or in the time of a switch, is left to end. ``preempt(incremental=True)`` is to follow.

        Parameters
        ----------
        launch : Launch
        cycles : int
            From now until the preempt; fewer pass if the launch finishes.
        settled : int
            Warp instructions that a thread block which began after the call has run before it is saved.
        mechanism, options
            As of `checkpoint`.
        max_cycles : int
            Of each checkpoint.

        Raises
        ------
        CommandRefused, CycleLimit, DriverError
            As by `checkpoint` and `estimate`.
        """
        base = base_of("anticipate", mechanism, {**options})
        return self._core.anticipator.anticipate(launch, cycles, base, settled=settled, max_cycles=max_cycles)

    @checked(launch=a(Launch))
    def resident_tbs(self, launch: Launch) -> list[int]:
        """Return the launch ids of the thread blocks of a launch that are on the SM, the oldest first. It takes the
        cycles of some register accesses a warp slot."""
        return self._preemption.resident_tbs(launch)

    @checked(launch=a(Launch))
    def estimate(self, launch: Launch) -> Estimate:
        """Estimate how long a launch would hold the SM if it were drained, or switched.

        It takes the cycles of some register accesses a warp slot, in which the launch runs on.

        Returns
        -------
        Estimate
            What is left of each thread block on the SM is not known before one of the launch has ended, or of an
            earlier launch of the kernel with the same block, of which there was an estimate.

        Raises
        ------
        DriverError
            If the launch is not of this device, or the machine does not count.
        """
        return self._preemption.estimate(launch)

    @checked(launch=a(Launch))
    def finish_preempt(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> PreemptReport | None:
        """Wait for the end of a preempt or a checkpoint that was begun; returns and raises what `preempt` does. Also a
        `DriverError` if none was, or the launch was resumed or killed since."""
        return self._preemption.finish_preempt(launch, max_cycles)

    @checked(launch=a(Launch), gang=FLAG)
    def resume(self, launch: Launch, *, gang: bool = False, max_cycles: int = DEFAULT_CYCLES) -> ResumeReport:
        """Bring a preempted launch back; it runs on as time passes.

        Parameters
        ----------
        launch : Launch
        gang : bool
            TBs start together, when all for which there is room are back, rather than each when it is. The first
            instruction comes later; the restore has the bus to itself.
        max_cycles : int

        Raises
        ------
        CommandRefused
            If the launch is not preempted or its context cannot be read.
        CycleLimit
            If it takes longer than `max_cycles`, for example because other launches leave no room; it goes on, and
            `finish_resume`, a `preempt` of others, or `abort` can follow.
        """
        limit = whole_number(max_cycles, "max_cycles")
        self._preemption.begin_resume(launch, gang=gang)
        return self._preemption.finish_resume(launch, limit)

    @checked(launch=a(Launch), gang=FLAG)
    def begin_resume(self, launch: Launch, *, gang: bool = False) -> None:
        """Ask for what `resume` does, without waiting for it. Until all its TBs have room, no fresh TB of any launch
        is started."""
        self._preemption.begin_resume(launch, gang=gang)

    @checked(launch=a(Launch))
    def finish_resume(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> ResumeReport:
        """Wait for the end of a resume that was begun; returns and raises what `resume` does. Also a `DriverError` if
        none was, or the launch was preempted since."""
        return self._preemption.finish_resume(launch, max_cycles)

    @checked(launch=a(Launch))
    def abort(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Withdraw a preempt or a resume that is under way, and wait for it.

        After that of a preempt the launch runs: what was saved of it, by earlier preempts too, is resumed. After that
        of a resume TBs that had their room run, the others stay saved, and the launch is preempted.

        Raises
        ------
        CommandRefused
            If neither is under way, or the memory failed.
        CycleLimit
            If it takes longer than `max_cycles`.
        """
        self._preemption.abort(launch, max_cycles)

    @checked(launch=a(Launch))
    def hasten(self, launch: Launch) -> None:
        """Have a preempt that is under way wait no longer: warps stop at their next instruction.

        Raises
        ------
        CommandRefused
            If none is under way.
        """
        self._preemption.hasten(launch)

    @checked(launch=a(Launch))
    def kill(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """End a launch, whatever it does: running, being preempted or resumed, or preempted. One that has ended stays
        as it is.

        Its TBs leave the SM at once; then memory has to answer what it was asked on their behalf. Only then is the
        memory of the launch free.

        Raises
        ------
        CycleLimit
            If memory has not answered after `max_cycles`; what the launch holds stays held.
        """
        self._preemption.kill(launch, max_cycles)

    @checked(launch=a(Launch))
    def release_slot(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Take the kernel slot of a preempted launch, which is in memory as a whole; whatever is asked of it next gives
        it one again. A launch that finds all slots in use does so to the first that can do without.

        Raises
        ------
        DriverError
            If it is not preempted, some of it may be on the SM, or bounds are checked.
        CycleLimit
            If memory has not answered after `max_cycles`; the launch is safe.
        """
        self._preemption.release_slot(launch, max_cycles)

    @checked(launch=a(Launch), parts=WHOLES)
    def move(self, launch: Launch, parts: Sequence[int], max_cycles: int = DEFAULT_CYCLES) -> None:
        """Have thread blocks of a preempted launch come back on other SMs: each SM takes what another has saved, with
        its local memory. The launch loses its kernel slot (`release_slot`).

        Parameters
        ----------
        launch : Launch
        parts : sequence of int
            For each SM the one whose thread blocks it gets; each once.
        max_cycles : int

        Raises
        ------
        DriverError
            If `parts` is none, or as by `release_slot`.
        CycleLimit
            As by `release_slot`.
        """
        self._preemption.move(launch, parts, max_cycles)

    @checked(handle=ADDRESS, image=a(KernelImage))
    def adopt(self, handle: int, image: KernelImage, max_cycles: int = DEFAULT_CYCLES) -> Launch:
        """Take over from memory a launch that another device has preempted, after which its machine ended; memory,
        and nothing else, is as it was left.

        The launch is preempted then: `resume` brings it back. All memory that it is known to use is held by it, until
        it has finished (`array_at` makes arrays of it). Adopt before anything is loaded or allocated on this device.

        Parameters
        ----------
        handle : int
            `Launch.handle` of the launch.
        image : KernelImage
            Of its kernel, which stays where it lies and is not loaded.
        max_cycles : int

        Raises
        ------
        CommandRefused
            If memory does not hold the launch as its preempt has left it, or failed. Nothing has changed.
        DriverError
            If there is no launch of this kernel there, it is of a device with another geometry or other memory, or what
            it uses may have been written over.
        CycleLimit
            If it takes longer than `max_cycles`; it goes on, and `launches` has it.
        """
        return self._preemption.adopt(self, handle, image, max_cycles)

    @checked(launch=a(Launch))
    def context(self, launch: Launch) -> Contexts:
        """Return the saved TBs of a preempted launch, a list: PCs, masks, registers, sizes of every warp.

        Raises
        ------
        ContextError
            If what lies there is no context of this launch: something has written over it.
        """
        return self._preemption.context(launch)

    def preempt_by(self, mechanism: Way | Mechanism | str | None = Mechanism.LIVE, **options: Unpack[WayOptions]
                   ) -> None:
        """Say how kernels of streams and of hardware queues are preempted for those with a higher priority.

        Queues stop as registers ``patience`` and ``grace`` say at that time, which any preempt by hand changes.

        Parameters
        ----------
        mechanism : hw.arch.way.Way, hw.arch.image.context.Mechanism, str or None
            None: nothing is preempted; a priority only says what begins first.
        options
            Patience, grace and the like, as of `preempt`. A kernel of a stream that has no preemption routines is
            preempted without `trap`, one with bases of another `scramble` without `incremental`.

        Raises
        ------
        DriverError
            If there is no such mechanism, the machine has none of what is given, or some of it does not go together.
        """
        way = None if mechanism is None else standing_of("preempt_by", mechanism, {**options}, self.geometry)
        self._core.streams.priorities.by = way
        self._core.queues.preempt_by(way)
