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
from .machine.wanted import ADDRESS, FLAG, WHOLE, WHOLES, a, checked, one_or_many, optional
from .memory.regions import Region
from .preemption.announcement import AnnouncementCounts
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
            A way sets all options, and no other option may be given with it. Otherwise a mechanism, or its name:
            ``"occupied"``, ``"live"``, ``"live+cp"``, ``"live+tb"``.
        patience : int or str, optional
            Cycles of drain. Warps that have not reached a preemption point by then stop where they are, and all
            registers they have written are saved. ``"unlimited"`` waits for ever. The default is 0 with mechanisms that
            compress; with others it follows from the launch's share of the SM (docs/python.md). A mechanism that does
            not wait for points has no patience.
        grace : int or str
            Cycles in which thread blocks may run to their end, while no fresh ones are launched. Those that have not
            ended by then are saved. ``"unlimited"`` waits for all of them (draining: Tanasic et al.; Chimera).
        restart : bool
            Drop thread blocks instead of saving them (flushing, as in Chimera). They stop at once, and begin anew when
            the launch is resumed. The kernel has to be idempotent. With `scramble` their registers then are random
            bits, not zeros.
        incremental : bool
            Save only the registers and lines of shared memory written since the base (PEP III-C). A thread block has a
            base after a `checkpoint` or a resume; one without a base is saved whole.
        in_place : bool
            Keep registers and shared memory on the SM. They are written to memory when others need the room, or when a
            later preempt of the launch without `in_place` asks for it (Lin et al. III-A; docs/python.md).
        newcomer : Launch, optional
            Launch whose thread blocks that have not begun need room. The preempt is in place, except for the state in
            their way.
        select : bool
            Give the grace only to thread blocks that by their estimate end sooner than they could be saved; save the
            others at once. The geometry needs `proactive`, and the preempt a grace (PEP III-D 2).
        trap : bool
            Stop warps in the preemption routines of their kernel, which must have been compiled with routines
            (docs/ctxback.md). Patience is unlimited then, unless given.
        tbs : iterable of int, optional
            Launch ids of the thread blocks to preempt (`resident_tbs`), all unless given. The others run on, and no
            fresh ones begin. So a launch can be preempted bit by bit, each time in another way. Until the launch is
            preempted, a fresh thread block may replace one that ends before the command is given.
        scramble : bool
            Test mode: registers that are not saved come back as random bits. Exited lanes come back inverted, and so do
            predicates and uniform registers that are not live.
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
            If it takes longer than `max_cycles`. The preempt goes on, and `finish_preempt` or `abort` can follow.
        DriverError
            If there is no such mechanism, patience or grace, or thread blocks of this launch cannot begin anew. Also if
            the machine does not support the options, or the newcomer is not valid for them.
        """
        limit = whole_number(max_cycles, "max_cycles")
        self._preemption.begin_preempt(launch, way_of("preempt", mechanism, {**options}), tbs, newcomer)
        return self._preemption.finish_preempt(launch, limit)

    @checked(launch=a(Launch), tbs=optional(WHOLES), newcomer=optional(a(Launch)))
    def begin_preempt(self, launch: Launch, mechanism: Way | Mechanism | str = Mechanism.LIVE, *,
                      tbs: Iterable[int] | None = None, newcomer: Launch | None = None, **options: Unpack[WayOptions]
                      ) -> None:
        """Ask for what `preempt` does, without waiting for it. The preempt waits for its turn while others are being
        preempted. If the launch is being resumed, the resume is withdrawn first. During the grace of the launch others
        can be preempted and resumed."""
        self._preemption.begin_preempt(launch, way_of("begin_preempt", mechanism, {**options}), tbs, newcomer)

    @checked(launch=a(Launch), tbs=optional(WHOLES))
    def checkpoint(self, launch: Launch, mechanism: Way | Mechanism | str = Mechanism.LIVE, *,
                   tbs: Iterable[int] | None = None, max_cycles: int = DEFAULT_CYCLES, **options: Unpack[WayOptions]
                   ) -> PreemptReport | None:
        """Save a running launch and let it run on (PEP III-C): a later ``preempt(incremental=True)`` then saves only
        what it has written since. Each thread block runs on as soon as it is saved.

        Parameters, result and errors are those of `preempt`; the options are patience and scramble.
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
        """Let a launch run until an announced preempt is due, and save bases of the thread blocks on the SM (PEP
        III-D). Those there at the call are saved at once, later ones when they have settled. A thread block is left to
        end if the estimate says that it ends before the preempt, or within the time of a switch.
        ``preempt(incremental=True)`` should follow.

        Parameters
        ----------
        launch : Launch
        cycles : int
            Cycles until the preempt; fewer pass if the launch finishes.
        settled : int
            Warp instructions after which a thread block that began after the call is saved.
        mechanism, options
            See `checkpoint`.
        max_cycles : int
            Cycle limit of each checkpoint.

        Raises
        ------
        CommandRefused, CycleLimit, DriverError
            Raised as by `checkpoint` and `estimate`.
        """
        base = base_of("anticipate", mechanism, {**options})
        return self._core.anticipator.anticipate(launch, cycles, base, settled=settled, max_cycles=max_cycles)

    @checked(victims=one_or_many(Launch), cycles=WHOLE, run_on=FLAG)
    def announce(self, victims: Launch | Sequence[Launch], cycles: int,
                 mechanism: Way | Mechanism | str = Mechanism.OCCUPIED, *, expiry: int | str = "unlimited",
                 run_on: bool = False, **options: Unpack[WayOptions]) -> None:
        """Announce a launch that running launches will have to give way to (PEP III-D). The machine decides by itself,
        for each of their thread blocks, whether it is left to end or saved as a base meanwhile; it takes no time. When
        the launch comes, ``preempt(incremental=True)`` follows, with ``select=True`` and a grace if short thread blocks
        are to end by themselves.

        Parameters
        ----------
        victims : Launch or sequence of Launch
        cycles : int
            Cycles until the launch is predicted to arrive.
        mechanism, options
            See `checkpoint`; scramble is not one of them.
        expiry : int or str
            Cycles after which the announcement is forgotten, or ``"unlimited"``. It also ends for a launch with its
            preempt, or its end.
        run_on : bool
            Let each thread block run on as soon as its base is saved. Otherwise all wait for the last base, so that a
            launch that arrives meanwhile finds nothing to add (PEP III-D 1).

        Raises
        ------
        DriverError
            If the machine takes no announcements (``proactive`` of its geometry), or a value is wrong.
        """
        launches = [victims] if isinstance(victims, Launch) else [*victims]
        base = base_of("announce", mechanism, {**options})
        self._core.announcer.announce(launches, cycles, base, expiry, run_on)

    @checked()
    def withdraw(self) -> None:
        """Withdraw the announcement, if there is one. Bases that are saved stay."""
        self._core.announcer.withdraw()

    @checked()
    def announced(self) -> list[Launch]:
        """Return the launches that are to give way to what was announced."""
        return self._core.announcer.announced()

    @checked()
    def announcement_counts(self) -> AnnouncementCounts:
        """Return what announcements have led to since the machine was reset."""
        return self._core.announcer.counts()

    @checked(launch=a(Launch))
    def resident_tbs(self, launch: Launch) -> list[int]:
        """Return the launch ids of the thread blocks of a launch that are on the SM, the oldest first. It takes the
        cycles of some register accesses per warp slot."""
        return self._preemption.resident_tbs(launch)

    @checked(launch=a(Launch))
    def estimate(self, launch: Launch) -> Estimate:
        """Estimate how long a launch would hold the SM if it were drained, or switched.

        It takes the cycles of some register accesses per warp slot, in which the launch runs on.

        Returns
        -------
        Estimate
            The remaining time of a thread block is known once another one of the launch has ended. A thread block of an
            earlier launch of the kernel with the same block counts too, if there was an estimate of that launch.

        Raises
        ------
        DriverError
            If the launch is not of this device, or the machine does not count.
        """
        return self._preemption.estimate(launch)

    @checked(launch=a(Launch))
    def finish_preempt(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> PreemptReport | None:
        """Wait for the end of a preempt or a checkpoint that was begun; returns and raises what `preempt` does. Raises
        a `DriverError` too if none was begun, or the launch has been resumed or killed since."""
        return self._preemption.finish_preempt(launch, max_cycles)

    @checked(launch=a(Launch), gang=FLAG)
    def resume(self, launch: Launch, *, gang: bool = False, max_cycles: int = DEFAULT_CYCLES) -> ResumeReport:
        """Bring a preempted launch back; it runs on as time passes.

        Parameters
        ----------
        launch : Launch
        gang : bool
            Start the TBs together, when all for which there is room are back, rather than each as soon as it is back.
            The first instruction comes later, but the restore has the bus to itself.
        max_cycles : int

        Raises
        ------
        CommandRefused
            If the launch is not preempted or its context cannot be read.
        CycleLimit
            If it takes longer than `max_cycles`, for example because other launches leave no room. The resume goes on,
            and `finish_resume`, a `preempt` of others, or `abort` can follow.
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
        """Wait for the end of a resume that was begun; returns and raises what `resume` does. Raises a `DriverError`
        too if none was begun, or the launch has been preempted since."""
        return self._preemption.finish_resume(launch, max_cycles)

    @checked(launch=a(Launch))
    def abort(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Withdraw a preempt or a resume that is under way, and wait for it.

        After an aborted preempt the launch runs, and its saved state is resumed, that of earlier preempts too. After an
        aborted resume the launch is preempted: TBs that already had room run, and the others stay saved.

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
        """End the wait of a preempt that is under way: warps stop at their next instruction.

        Raises
        ------
        CommandRefused
            If none is under way.
        """
        self._preemption.hasten(launch)

    @checked(launch=a(Launch))
    def kill(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """End a launch in any state: running, being preempted or resumed, or preempted. A launch that has ended stays
        as it is.

        Its TBs leave the SM at once. The memory of the launch is free only after all memory requests of the TBs have
        been answered.

        Raises
        ------
        CycleLimit
            If memory has not answered after `max_cycles`; what the launch holds stays held.
        """
        self._preemption.kill(launch, max_cycles)

    @checked(launch=a(Launch))
    def release_slot(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> None:
        """Take the kernel slot of a preempted launch, whose whole state is in memory. The next call with the launch
        gives it a slot again. A launch that finds all slots in use takes the first one whose launch can do without.

        Raises
        ------
        DriverError
            If it is not preempted, some of its state may be on the SM, or bounds are checked.
        CycleLimit
            If memory has not answered after `max_cycles`; the launch is safe.
        """
        self._preemption.release_slot(launch, max_cycles)

    @checked(launch=a(Launch), parts=WHOLES)
    def move(self, launch: Launch, parts: Sequence[int], max_cycles: int = DEFAULT_CYCLES) -> None:
        """Move thread blocks of a preempted launch to other SMs: each SM takes the saved part of another SM, with its
        local memory. The launch loses its kernel slot (`release_slot`).

        Parameters
        ----------
        launch : Launch
        parts : sequence of int
            The SM whose part each SM takes; a permutation.
        max_cycles : int

        Raises
        ------
        DriverError
            If `parts` is not a permutation of the SMs, or for the reasons of `release_slot`.
        CycleLimit
            Raised as by `release_slot`.
        """
        self._preemption.move(launch, parts, max_cycles)

    @checked(handle=ADDRESS, image=a(KernelImage))
    def adopt(self, handle: int, image: KernelImage, max_cycles: int = DEFAULT_CYCLES) -> Launch:
        """Adopt a launch from memory that another device has preempted before its machine ended. Only the memory has to
        be as that device left it.

        The launch then is preempted, and `resume` brings it back. It holds all memory that it is known to use until it
        has finished (`array_at` makes arrays of this memory). Adopt before anything is loaded or allocated on this
        device.

        Parameters
        ----------
        handle : int
            `Launch.handle` of the launch.
        image : KernelImage
            Image of its kernel. The code stays in its place and is not loaded.
        max_cycles : int

        Raises
        ------
        CommandRefused
            If memory does not hold the launch as its preempt has left it, or memory failed. Nothing has changed.
        DriverError
            If there is no launch of this kernel there, or it belongs to a device with another geometry or other memory.
            Also if memory that it uses may have been overwritten.
        CycleLimit
            If it takes longer than `max_cycles`; it goes on, and `launches` has it.
        """
        return self._preemption.adopt(self, handle, image, max_cycles)

    @checked(launch=a(Launch))
    def context(self, launch: Launch) -> Contexts:
        """Return the saved TBs of a preempted launch: PCs, masks, registers, sizes of every warp.

        Raises
        ------
        ContextError
            If there is no context of this launch, because something has overwritten it.
        """
        return self._preemption.context(launch)

    def preempt_by(self, mechanism: Way | Mechanism | str | None = Mechanism.LIVE, **options: Unpack[WayOptions]
                   ) -> None:
        """Say how kernels of streams and of hardware queues are preempted for those with a higher priority.

        Queues stop as registers ``patience`` and ``grace`` say at that time, which any preempt by hand changes.

        Parameters
        ----------
        mechanism : hw.arch.way.Way, hw.arch.image.context.Mechanism, str or None
            None: nothing is preempted, and a priority only sets the order in which kernels begin.
        options
            Patience, grace and other options of `preempt`. A kernel of a stream without preemption routines is
            preempted without `trap`. One whose bases have another `scramble` is preempted without `incremental`.

        Raises
        ------
        DriverError
            If there is no such mechanism, the machine lacks an option, or some of the options exclude each other.
        """
        way = None if mechanism is None else standing_of("preempt_by", mechanism, {**options}, self.geometry)
        self._core.streams.priorities.by = way
        self._core.queues.preempt_by(way)
