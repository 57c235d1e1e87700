"""What queue states say in each cycle: a model of `QueueStates` with all in it, written from its documentation."""

from dataclasses import dataclass, field
from typing import Any

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.packets import BARRIER_BIT, QueueError, QueueState
from caesura.hw.device.queues.queue_ports import Wait
from caesura.hw.device.queues.queue_states import AGAIN_CYCLES
from caesura.hw.device.queues.queue_wait import TRIES

__all__ = ["QueueStatesModel"]

WORD = 1 << 32
BARRIER = BARRIER_BIT.bit_length() - 1
OVER = {KernelState.IDLE, KernelState.FINISHED}
RUN = {KernelState.RUNNING, KernelState.RESUMING}
MOVE = {KernelState.PREEMPTING, KernelState.KILLING, KernelState.ADOPTING}
UNREADABLE = {CommandError.BUS_ERROR, CommandError.BAD_IMAGE}
COMMANDS = {"unadopt": Command.KILL, "release": Command.RELEASE, "evict": Command.PREEMPT, "preempt": Command.PREEMPT,
            "resume": Command.RESUME, "checkpoint": Command.PREEMPT}
"""What is done with kernels, the most urgent first, and how it is commanded."""


@dataclass
class Completion:
    """A completion: all that is `left` of a kernel or a barrier, and what memory has said to it.

    It is `discarded` and `uncertain` as of this cycle; `doubted` is what was uncertain in the one before, and `known`
    what was when the queue was stopped last.
    """

    left: bool = False
    owing: bool = False
    pause: bool = False
    doubted: bool = False
    known: bool = False
    uncertain: bool = False
    discarded: bool = False

    @property
    def due(self):
        return self.left and (self.discarded or not (self.pause or self.uncertain))

    def step(self, here, again, stops):
        """Memory has answered it if `here` is what is being completed."""
        if stops:
            self.known = self.uncertain
        self.doubted = self.uncertain
        self.pause = self.pause and not again
        if here and here["refused"]:
            self.left = self.owing = self.pause = True
            self.doubted = self.doubted or bool(here["uncertain"])
        if here and here["done"]:
            self.left = self.owing = self.pause = self.doubted = False


@dataclass
class Kernel:
    """A place for a kernel in flight, its packet, and what commands have done to it; the last lines are as of this
    cycle, `lost` and `dropped` in it."""

    busy: bool = False
    slot: int = 0
    packet: dict[str, int] = field(default_factory=dict)
    completion: Completion = field(default_factory=Completion)
    away: bool = False
    adopting: bool = False
    mine: bool = False
    tried: bool = False
    due: bool = False
    bound: bool = False
    resuming: bool = False
    broken: bool = False
    states: list[KernelState] = field(default_factory=list)
    errors: list[CommandError] = field(default_factory=list)
    lost: bool = False
    dropped: bool = False

    @property
    def started(self):
        return self.busy and not self.completion.left

    @property
    def here(self):
        return self.started and not self.away

    @property
    def failed(self):
        return any(self.errors)

    def any_is(self, states):
        return any(state in states for state in self.states)

    @property
    def saved(self):
        return self.here and self.any_is({KernelState.PREEMPTED}) and not self.any_is(RUN | MOVE)

    def not_back(self, errors):
        """Whether it is saved on an SM that says one of some errors."""
        return any(state == KernelState.PREEMPTED and error in errors
                   for state, error in zip(self.states, self.errors, strict=True))

    def resumed(self):
        """Whether a resume has ended badly, None if none has ended."""
        if not self.started or self.any_is({KernelState.RESUMING}):
            return None
        if self.resuming:
            return self.not_back({*CommandError} - {CommandError.NONE, CommandError.ABORTED})
        return True if self.here and not self.any_is(MOVE) and not self.mine and self.not_back(UNREADABLE) else None

    def wants(self, stuck):
        """Whether it runs, or is to."""
        if self.away:
            return not stuck
        return self.here and (self.any_is(RUN | MOVE) or self.saved and self.mine and not self.broken)

    def reasons(self, off, needed):
        """Return for what reasons there may be a command for it: it is `off` the SMs, or its slot is `needed`."""
        here = self.here and not self.any_is(MOVE)
        quiet = not self.any_is({KernelState.RESUMING})
        if self.adopting and self.failed and not self.any_is({KernelState.ADOPTING}):
            yield "unadopt"
        if self.saved and self.mine and off and needed and not self.adopting:
            yield "evict" if self.bound else "release"
        if here and off and self.any_is(RUN):
            yield "preempt"
        if here and not off and quiet and self.any_is({KernelState.PREEMPTED}) and self.mine and not (
                self.adopting or self.resuming or self.broken):
            yield "resume"
        if here and not off and quiet and self.any_is({KernelState.RUNNING}) and self.due:
            yield "checkpoint"

    def step(self, given, stuck, mended, reminded, done, again, brought):
        """Go on by a cycle; `done` is the command for it that has been given, if one was."""
        started, here, adopting, resumed = self.started, self.here, self.adopting, self.resumed()
        if given["settled"] and not self.any_is({KernelState.ADOPTING}) and not self.failed:
            self.adopting = False
        if not started:
            self.mine = self.due = self.resuming = self.broken = False
        if self.dropped:
            self.away = False
        self.due = self.due or (here and reminded)
        if given["settled"] and resumed is not None:
            self.resuming, self.broken, self.mine = False, resumed, resumed
        self.broken = self.broken and not mended
        self.tried = self.tried and not again
        if done:
            self.take(done["what"], done["accepted"], adopting, given["policy"]["preempt"]["in_place"])
        if brought:
            self.away, self.adopting, self.mine, self.tried = False, True, True, False

    def take(self, what, accepted, adopting, keeps):
        """A command has been given for it; some SM has `accepted` it, or none."""
        self.tried = self.tried or not accepted
        match what["op"]:
            case Command.PREEMPT if what["checkpoint"]:
                self.due = False
            case Command.PREEMPT if what["whole"]:
                self.bound = False
            case Command.PREEMPT if accepted:
                self.mine, self.bound, self.resuming = True, bool(keeps), False
            case Command.RESUME if accepted:
                self.resuming = True
            case Command.KILL if adopting:
                self.away, self.adopting = True, False
            case Command.RELEASE:
                self.away, self.bound = bool(accepted), not accepted


class Queue:
    """A queue: its packets, what it waits for, why it has stopped; and what `setup` says of it in this cycle."""

    def __init__(self, capacity):
        self.kernels = [Kernel() for _ in range(capacity)]
        self.barrier, self.signal = Completion(), 0
        self.next = self.tries = self.of = 0
        self.error, self.waits = QueueError.NONE, set()
        self.enabled = self.was_stuck = self.begins = False
        self.setup: Any = None

    def see(self, setup):
        """Take what software has written of the queue."""
        self.setup = setup
        self.begins = bool(setup["enable"]) and not self.enabled
        for bit, one in self.completions.items():
            one.uncertain = one.doubted and not (self.begins and one.known)
            one.discarded = not setup["enable"] and bool(setup["discard"] >> bit & 1)

    @property
    def completions(self):
        """By the bits that they have in registers."""
        return dict(enumerate(kernel.completion for kernel in self.kernels)) | {BARRIER: self.barrier}

    @property
    def owing(self):
        return [kernel.completion.owing for kernel in self.kernels]

    @property
    def count(self):
        return sum(kernel.busy for kernel in self.kernels)

    @property
    def full(self):
        return self.count != 0 and self.count >= min(self.setup["capacity"], len(self.kernels))

    @property
    def doubtful(self):
        return any(one.uncertain for one in self.completions.values())

    @property
    def stuck(self):
        return not self.setup["enable"] or self.doubtful or self.error != QueueError.NONE

    @property
    def unfinished(self):
        return any(self.owing) or self.barrier.left

    @property
    def roomless(self):
        return Wait.ROOM in self.waits and not self.unfinished

    @property
    def wanting(self):
        return self.roomless and not self.stuck or any(kernel.wants(self.stuck) for kernel in self.kernels)

    def fresh(self, free):
        """Whether its next packet may be begun."""
        return (self.setup["write_index"] != self.next and not self.full and not self.unfinished
                and Wait.LATER not in self.waits and not (Wait.DRAIN in self.waits and self.count)
                and (Wait.ROOM not in self.waits or bool(free)))

    @property
    def oldest(self):
        indices = [kernel.packet["index"] for kernel in self.kernels if kernel.busy]
        return min([self.next - self.barrier.left, *indices]) % WORD

    def trouble(self):
        """Return its error, and what it is of."""
        if self.error != QueueError.NONE:
            return self.error, self.of
        for error, found in ((QueueError.UNCERTAIN, [one.uncertain for one in self.completions.values()]),
                             (QueueError.BAD_SIGNAL, [*self.owing, self.barrier.owing])):
            if any(found):
                return error, (found.index(True) + 1) % len(found)
        return QueueError.NONE, 0

    def state(self):
        if self.error != QueueError.NONE or self.doubtful:
            return QueueState.FAILED
        if self.unfinished or any(kernel.here and not kernel.saved for kernel in self.kernels):
            return QueueState.RUNNING
        if self.count:
            return QueueState.PREEMPTED
        return QueueState.WAITING if self.setup["enable"] else QueueState.STOPPED

    def status(self):
        """Return what is said of it by the path in the status; what says nothing is left out."""
        error, of = self.trouble()
        shown = {"state": self.state(), "error": error, "passing": int(self.barrier.left), "full": int(self.full),
                 "read_index": self.oldest, "unstarted": self.next % WORD,
                 "uncertain": sum(one.uncertain << bit for bit, one in self.completions.items()),
                 "away": sum((kernel.away or kernel.completion.left) << i for i, kernel in enumerate(self.kernels))}
        if error != QueueError.NONE:
            shown["of"] = of
        return shown

    def judge(self, verdict, served, looks):
        """Take a verdict on the packet in hand, if there is one; who waits is looked at again if one `looks`."""
        lost, count = [kernel.lost for kernel in self.kernels], self.count
        if verdict:
            tries, self.tries = self.tries, self.tries + 1 if verdict["fails"] else 0
            if verdict["fails"] and tries == TRIES - 1:
                self.error, self.of, self.tries = QueueError.BUS_ERROR, 0, 0
            elif verdict["waits"]:
                self.waits.add(verdict["why"])
            else:
                self.waits.discard(Wait.ROOM)
                if verdict["error"] != QueueError.NONE:
                    self.error, self.of = verdict["error"], verdict["of"]
        if any(lost):
            self.error, self.of = QueueError.BAD_CONTEXT, lost.index(True) + 1
        if not self.setup["enable"]:
            self.error, self.tries = QueueError.NONE, 0
            self.waits.discard(Wait.ROOM)
        if served:
            self.tries = 0
        if not self.setup["enable"] or not count:
            self.waits.discard(Wait.DRAIN)
        if looks:
            self.waits.discard(Wait.LATER)


class QueueStatesModel:
    """Inputs are by name, as of `lockstep`; so are outputs."""

    def __init__(self, g):
        self.g = g
        self.queues = [Queue(g.queue_capacity) for _ in range(g.queues)]
        self.kernels = [kernel for queue in self.queues for kernel in queue.kernels]
        self.order = list(range(g.queues))  # the one whose packet was begun longest ago is first
        self.cycle, self.expired, self.moved = 0, False, False
        self.free: set[int] = set()

    def see(self, given):
        """Take the inputs of a cycle."""
        g = self.g
        for queue, setup in zip(self.queues, given["setups"], strict=True):
            queue.see(setup)
        done = given["done"]
        for f, kernel in enumerate(self.kernels):
            kernel.states = [states[kernel.slot] for states in given["states"]]
            kernel.errors = [errors[kernel.slot] for errors in given["errors"]]
            kernel.dropped = bool(given["settled"] and kernel.away and kernel.completion.discarded)
            kernel.lost = bool(given["settled"] and kernel.resumed()) or bool(
                done["valid"] and done["what"]["kernel"] == f and done["what"]["op"] == Command.KILL
                and kernel.adopting)
        self.over = {k for k in range(g.kernel_slots) if all(states[k] in OVER for states in given["states"])}
        self.free = {k for k in self.over if given["slots"] >> k & 1} - {
            kernel.slot for kernel in self.kernels if kernel.here}
        self.off = [bool(given["policy"]["enable"]) and not queue.stuck and any(
            self.queues[p].wanting for p in self.higher(q)) for q, queue in enumerate(self.queues)]
        hungry = [not queue.stuck and (queue.roomless or not off and any(kernel.away for kernel in queue.kernels))
                  for queue, off in zip(self.queues, self.off, strict=True)]
        self.needed = [not self.free and any(hungry[p] for p in self.higher(q)) for q in range(g.queues)]

    def higher(self, q):
        """Return the queues with a higher priority."""
        return [p for p, other in enumerate(self.queues)
                if other.setup["priority"] > self.queues[q].setup["priority"]]

    def action(self):
        """Return the command that is to be given, None if there is none."""
        depth = self.g.queue_capacity
        for name, op in COMMANDS.items():
            for f, kernel in enumerate(self.kernels):
                if name in [*kernel.reasons(self.off[f // depth], self.needed[f // depth])] and (
                        name == "unadopt" or not kernel.tried):
                    return {"op": op, "kernel": f, "slot": kernel.slot, "checkpoint": int(name == "checkpoint"),
                            "whole": int(name == "evict")}
        return None

    def back(self, q):
        """Return which kernels of a queue may come back."""
        return [i for i, kernel in enumerate(self.queues[q].kernels) if kernel.away and not self.off[q] and self.free]

    def chosen(self):
        """Return the queue whose turn it is with the place and whether its kernel comes back, None if there is none."""
        ready = [q for q, queue in enumerate(self.queues) if not queue.stuck
                 and (queue.fresh(self.free) or self.back(q))]
        best = max((self.queues[q].setup["priority"] for q in ready), default=0)
        turn = [q for q in self.order if q in ready and self.queues[q].setup["priority"] == best]
        if not turn:
            return None
        q, back = turn[0], self.back(turn[0])
        place = back[0] if back else [kernel.busy for kernel in self.queues[q].kernels].index(False)
        return {"queue": q, "flight": q * self.g.queue_capacity + place, "comes_back": int(bool(back))}

    def ended(self):
        return [kernel.busy and kernel.completion.due or kernel.here and not kernel.adopting
                and kernel.slot in self.over for kernel in self.kernels]

    def outputs(self):
        """Return what is said, by name; what says nothing is left out."""
        def vector(bits):
            return sum(1 << k for k, bit in enumerate(bits) if bit)

        action, chosen = self.action(), self.chosen()
        shown: dict[str, Any] = {
            "action.valid": int(action is not None), "chosen.valid": int(chosen is not None),
            "free": sum(1 << k for k in self.free), "ended": vector(self.ended()),
            "passed": vector(queue.barrier.due for queue in self.queues),
            "discards": vector(kernel.completion.discarded for kernel in self.kernels),
            "barrier_discards": vector(queue.barrier.discarded for queue in self.queues),
            "uncertain": vector(kernel.completion.uncertain for kernel in self.kernels),
            "barrier_uncertain": vector(queue.barrier.uncertain for queue in self.queues),
            "counts": [queue.count for queue in self.queues]}
        shown |= {f"action.what.{name}": value for name, value in (action or {}).items()}
        shown |= {f"chosen.{name}": value for name, value in (chosen or {}).items()}
        for q, queue in enumerate(self.queues):
            shown |= {f"statuses.{q}.{name}": value for name, value in queue.status().items()}
            if queue.barrier.left:
                shown[f"barriers.{q}"] = queue.signal
            for i, kernel in enumerate(queue.kernels):
                said = {"busy": int(kernel.busy)} | (kernel.packet | {"slot": kernel.slot} if kernel.busy else {})
                for name, value in said.items():
                    shown[f"statuses.{q}.flights.{i}.{name}"] = value
                    shown[f"flights.{q * self.g.queue_capacity + i}.{name}"] = value
        return shown

    def step(self, given):
        """Go on by a cycle."""
        again = self.cycle % AGAIN_CYCLES == 0
        self.cycle += 1
        looks = (given["all_looked_at"] or self.moved) and self.expired
        completion, verdict = given["completion"], given["verdict"]
        ends = completion["done"] and not completion["barrier"]
        self.expired = not looks and (self.expired or again)
        self.moved = bool(given["served"] or ends or self.moved and not looks)
        for q, queue in enumerate(self.queues):
            served = given["served"] >> q & 1
            stuck = queue.stuck
            mended = queue.was_stuck and not stuck
            queue.judge(verdict if verdict["valid"] and verdict["queue"] == q else None, served, looks)
            self._commands(given, q, stuck, mended, again)
            self._completions(given, q, looks)
            queue.was_stuck, queue.enabled = stuck, bool(queue.setup["enable"])
            if served:
                self.order.remove(q)
                self.order.append(q)

    def _commands(self, given, q, stuck, mended, again):
        """Go on with what is done to the kernels of a queue."""
        done, begin, remind = given["done"], given["begin"], given["checkpoint"]
        for i, kernel in enumerate(self.queues[q].kernels):
            f = q * self.g.queue_capacity + i
            kernel.step(given, stuck, mended, remind["valid"] and given["setups"][q]["priority"] < remind["priority"],
                        done if done["valid"] and done["what"]["kernel"] == f else None, again,
                        begin["valid"] and not begin["fresh"] and begin["number"] == f)

    def _completions(self, given, q, looks):
        """Go on with what of a queue begins and completes."""
        begin, completion, passes, queue = given["begin"], given["completion"], given["passes"], self.queues[q]
        answered = completion if completion["done"] or completion["refused"] else None
        stops = queue.enabled and not queue.setup["enable"]
        for i, kernel in enumerate(queue.kernels):
            f = q * self.g.queue_capacity + i
            here = answered if answered and not answered["barrier"] and answered["flight"] == f else None
            kernel.completion.left = kernel.completion.left or kernel.dropped
            kernel.completion.step(here, looks, stops)
            if here and here["done"]:
                kernel.busy = False
            if begin["valid"] and begin["number"] == f:
                kernel.slot = begin["slot"]
                if begin["fresh"]:
                    kernel.busy = True
                    kernel.packet = {"index": queue.next, "signal": begin["signal"], "start": begin["start"]}
        here = answered if answered and answered["barrier"] and answered["queue"] == q else None
        queue.barrier.step(here, looks, stops)
        if passes["valid"] and passes["queue"] == q:
            queue.barrier.left, queue.signal = True, passes["signal"]
        queue.next += given["advance"] >> q & 1
