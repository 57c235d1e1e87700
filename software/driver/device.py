"""The device: memory, modules, launches, preemption; the same on every transport."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Unpack

from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import Way, WayOptions
from caesura.software.compiler import KernelImage

from .address_space import AddressSpace
from .core import DeviceCore
from .launch.arguments import whole_number
from .launch.context import Contexts
from .launch.inspection import WarpState
from .launch.launch import Launch
from .machine.transport import Transport
from .machine.wanted import ADDRESS, FLAG, TEXT, WHOLE, WHOLES, WORD, Wanted, a, checked, many, optional
from .memory.memory import split_memory
from .memory.partition import Partition
from .preemption.anticipation import SETTLED_INSTRUCTIONS, Anticipation
from .preemption.estimate import Estimate
from .preemption.preempt_options import base_of, standing_of, way_of
from .preemption.preemption import PreemptReport, ResumeReport
from .reset.eviction import Work
from .streams import Task
from .tenant import Tenant
from .time.simulated_time import DEFAULT_CYCLES, Observer

__all__ = ["Device"]


class Device(AddressSpace):
    """One SM with its memory, driven through registers; a context manager that closes itself.

    Parameters
    ----------
    transport : Transport
        The machine.
    system_fraction : float
        Share of the memory for code and contexts; the rest holds arrays, and is the kernels' global window.

    Attributes
    ----------
    transport : Transport
    geometry : Geometry
        Of the SM.
    system, heap : Region
        The two parts of the memory.
    observer : callable or None
        Called as ``observer(launch, cycle)`` ten times a second at most while time passes. Reading the device takes
        simulated time, `peek` and `Launch.peek_progress` do not: with them what is observed is what would happen
        anyway.

    Notes
    -----
    An interrupt (Ctrl-C) ends what waits within a fraction of a second, between two cycles: the device goes on where
    it stands, for example with another `wait`.

    Examples
    --------
    >>> device = caesura.sim.open_device("rtl", "gtx480")           # doctest: +SKIP
    >>> module = device.load_ptx("pathfinder.ptx")                  # doctest: +SKIP
    >>> launch = module["pathfinder"](12, 256, arguments)           # doctest: +SKIP
    >>> device.advance(4000); device.preempt(launch)                # doctest: +SKIP
    """

    def __init__(self, transport: Transport, system_fraction: float = 0.5):
        super().__init__(DeviceCore(transport), *split_memory(transport, system_fraction))
        self._time, self._preemption = self._core.time, self._core.preemption
        self._partition = Partition(self.heap)

    def __repr__(self):
        what = f"{self.transport.name}, {self.geometry.name}, {self.transport.memory_bytes:,} bytes"
        return f"Device({what}, {'closed' if self.closed else f'cycle {self.cycle:,}'})"

    # The end

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return self.host.closed

    def close(self) -> None:
        """End the machine and give its memory back; any later use of it is a `Closed` error, and so ends what other
        threads wait for. Safe to repeat."""
        for launch in [*self.launches.values()]:
            launch.held = []
        self.host.close()

    def __enter__(self) -> Device:
        self.require_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Registers

    @checked(path=TEXT)
    def read(self, path: str) -> int:
        """Return a register by path, for example ``"kernel[0].state"``."""
        return self.host.read(path)

    @checked(path=TEXT)
    def peek(self, path: str) -> int | None:
        """Return a register without time passing, None on a machine that cannot (Amaranth's simulator)."""
        return self.host.peek(path)

    @checked(path=TEXT, value=optional(WORD))
    def write(self, path: str, value: int | None = None, **fields: int) -> None:
        """Write a register as a whole or by fields."""
        self.host.write(path, value, **fields)

    @checked(path=TEXT)
    def fields(self, path: str) -> dict[str, int]:
        """Return a register's fields."""
        return self.host.fields(path)

    # Launches

    @property
    def launches(self) -> Mapping[int, Launch]:
        """The last launch of each kernel slot that had one."""
        return self.launcher.launches

    def work(self) -> Work:
        """Return an empty set of launches that can be taken off the device together and launched again (docs/reset.md).

        Raises
        ------
        OutOfMemory
            If there is no room for its flag.
        """
        return Work(self, self._core)

    def host_state(self) -> tuple:
        """Return the driver's own state (launches, allocations), to go with a snapshot of the machine."""
        return self.launcher.host_state(), self._preemption.host_state()

    @checked(state=a(tuple))
    def set_host_state(self, state: tuple) -> None:
        """Put back what `host_state` returned."""
        launcher, preemption = state
        self.launcher.set_host_state(launcher)
        self._preemption.set_host_state(preemption)

    # Tenants and streams

    @checked(memory_bytes=WORD, system_bytes=optional(WORD), name=TEXT)
    def tenant(self, memory_bytes: int, *, system_bytes: int | None = None, launches: int | None = None,
               name: str = "") -> Tenant:
        """Return a new tenant: an owner of memory of its own, which no kernel of another owner reaches.

        Parameters
        ----------
        memory_bytes : int
            For its arrays and global variables, from the end of the device's heap.
        system_bytes : int, optional
            For its code, constants, contexts and local memory; as much as `memory_bytes` unless given.
        launches : int, optional
            Most launches that it may have at a time, preempted ones included; any number unless given.
        name : str
            For messages.

        Raises
        ------
        OutOfMemory
            If there is no room.
        DriverError
            If a launch or a queue of the device itself could reach the memory: it was made before.
        """
        return Tenant(self._core, self, self._partition, whole_number(memory_bytes, "memory_bytes"),
                      None if system_bytes is None else whole_number(system_bytes, "system_bytes"),
                      None if launches is None else whole_number(launches, "launches"), name)

    @property
    def tenants(self) -> list[Tenant]:
        """Those that have not been closed."""
        return [owner for owner in self.launcher.owners if isinstance(owner, Tenant)]

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

    @checked(tasks=many(Task))
    def wait_any(self, tasks: Iterable[Task], max_cycles: int = DEFAULT_CYCLES) -> Task:
        """Let time pass until one of some tasks of streams is over, and return it.

        Raises
        ------
        CycleLimit
            If none is after `max_cycles`.
        """
        return self._core.streams.wait_any(tasks, max_cycles)

    # Time

    @property
    def cycle(self) -> int:
        """Cycles since the start of the machine; asking takes none."""
        return self.transport.cycle

    @property
    def observer(self) -> Observer | None:
        """Told what goes on while time passes."""
        return self._time.observer

    @observer.setter
    @checked(observer=optional(Wanted("a function of a launch and a cycle", callable)))
    def observer(self, observer: Observer | None) -> None:
        self._time.observer = observer

    def advance(self, cycles: int) -> int:
        """Let `cycles` cycles pass, and return how many did: some more if streams have begun something at the end.

        Raises
        ------
        LaunchError
            If `cycles` is not a whole number from 0.
        """
        return self._time.advance(cycles)

    @checked(launch=a(Launch))
    def run(self, launch: Launch, cycles: int) -> int:
        """Let `cycles` cycles pass, fewer if a launch finishes; return the cycles passed. A fault is left to `wait`.

        Raises
        ------
        LaunchError
            If `cycles` is not a whole number from 0.
        """
        return self._time.run(launch, cycles)

    @checked(launch=a(Launch))
    def wait(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> int:
        """Let time pass until a launch has finished; return the cycles passed.

        Raises
        ------
        KernelFault
            If a TB of the launch faulted (after the launch has finished).
        CycleLimit
            If it has not finished after `max_cycles`.
        LaunchError
            If `max_cycles` is not a whole number from 0; also `preempt` and `resume`.
        DriverError
            If it is preempted.
        """
        return self._time.wait(launch, max_cycles)

    # Preemption

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

    # Inspection

    def warps(self) -> list[WarpState]:
        """Return where every warp on the SM stands."""
        return self._core.inspection.warps()

    def describe_warps(self) -> str:
        """Return a few lines that say where every warp on the SM stands."""
        return self._core.inspection.describe_warps()
