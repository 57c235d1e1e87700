"""The commands of a device of several SMs, modelled from the documentation of `CommandFanOut`; and inputs."""

from typing import Any

from caesura.hw.arch.commands import REFUSED, Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.sim.golden.device import common_state

from .sm_states import IDLE, MAP, PREEMPTED, PREEMPTING, bits, pick, states_of


class Commands:
    """The commands: each is refused, or passed to some SMs."""

    def __init__(self, g):
        self.g, self.error, self.refusing = g, CommandError.NONE, 0
        self.took, self.back = [0] * g.kernel_slots, [0] * g.kernel_slots
        self.last = {Command.PREEMPT: 0, Command.RESUME: 0}

    def judged(self, given):
        """Return why a command is refused, the SMs that it is passed to, and what each is passed."""
        g = self.g
        fields: Any = MAP["command"].unpack(given["word"])
        op, kernel, everyone = fields["op"], fields["kernel"], (1 << self.g.sms) - 1
        states = [pick(each, kernel) for each in given["states"]]
        mask = everyone if op == Command.RELEASE else given["mask"]
        counts = everyone if op in (Command.START, Command.ADOPT) else mask
        state = common_state([own for i, own in enumerate(states) if counts >> i & 1])
        refused = REFUSED[op] if op in list(Command) else {}
        error = refused.get(state, CommandError.NONE) if op in list(Command) else CommandError.UNKNOWN
        lacking = any(own != IDLE and not given["recorded"][i] >> kernel & 1 for i, own in enumerate(states))
        if op == Command.RELEASE and state == PREEMPTED and lacking:
            error = CommandError.NOT_IN_MEMORY
        if kernel >= g.kernel_slots or not given["mask"]:
            error = CommandError.UNKNOWN
        saved = 0
        if op == Command.ABORT and state == PREEMPTING:
            saved = pick(self.took, kernel) & bits(own == PREEMPTED for own in states)
        goes = mask & (bits(own not in refused for own in states) | saved)
        targets = goes if given["valid"] and error == CommandError.NONE else 0
        words = [pick(self.back, kernel) if saved >> i & 1 else given["word"] for i in range(g.sms)]
        return error, targets, words

    def outputs(self, given):
        _, targets, words = self.judged(given)
        return {
            "targets": targets, "error": self.error, "refusing": self.refusing, "takers": list(self.took),
            "refused": given["valid"] and given["from_host"] and not given["accepted"],
            "preempted": self.last[Command.PREEMPT], "resumed": self.last[Command.RESUME],
            **{f"words.{i}": word for i, word in enumerate(words) if targets >> i & 1}}

    def step(self, given):
        error, targets, _ = self.judged(given)
        accepted = given["accepted"]
        fields: Any = MAP["command"].unpack(given["word"])
        op, kernel = fields["op"], fields["kernel"]
        if given["valid"] and given["from_host"]:
            self.error = error or (CommandError.NONE if targets else CommandError.NOT_RUNNING)
            self.refusing = 0 if accepted else targets
        if not given["valid"] or not accepted:
            return
        if op in self.last:
            self.last[op] = accepted
        if kernel < self.g.kernel_slots:
            if op in (Command.START, Command.PREEMPT, Command.RESUME, Command.ADOPT):
                self.took[kernel] = accepted
            if op == Command.PREEMPT:
                self.back[kernel] = MAP["command"].pack(
                    op=Command.RESUME, kernel=kernel, scramble=fields["scramble"], gang=fields["gang"])


def any_command(rng, g):
    """Return a command of any kernel, now and then of a kernel that does not exist."""
    op = rng.choice([*Command, Command.PREEMPT, Command.ABORT, rng.randrange(16)])
    kernel = rng.randrange(g.kernel_slots) if rng.random() < 0.9 else rng.randrange(8)
    given = rng.getrandbits(32) & ~MAP["command"].pack(op=15, kernel=7)
    return given | MAP["command"].pack(op=op, kernel=kernel)


def suited(rng, g, word, states):
    """Give a command's kernel states that aborts and releases often find; return the recorded kernels by SM.

    Often all kernels are recorded, but for that one on one SM.
    """
    fields: Any = MAP["command"].unpack(word)
    every, kernel = (1 << g.kernel_slots) - 1, min(fields["kernel"], g.kernel_slots - 1)
    alike = rng.choice(list(KernelState))
    theme = rng.choice([None, (alike,), (PREEMPTING, PREEMPTED), (PREEMPTED,), (PREEMPTED, PREEMPTED, IDLE)])
    if fields["op"] == Command.ABORT and rng.random() < 0.7:
        theme = PREEMPTING, PREEMPTED
    for each in states if theme else ():
        each[kernel] = rng.choice(theme)
    recorded = [rng.choice([every, every, rng.getrandbits(g.kernel_slots)]) for _ in range(g.sms)]
    if rng.random() < 0.5:
        recorded = [every] * g.sms
        recorded[rng.randrange(g.sms)] ^= rng.choice([0, 1 << kernel])
    return recorded


def commands(dut, rng, cycles, model):
    """Yield commands of any kernel in any states; SMs take some of what they are passed."""
    g = dut.geometry
    states = states_of(rng, g)
    for _ in range(cycles):
        states = states_of(rng, g) if rng.random() < 0.4 else states
        word = any_command(rng, g)
        recorded = suited(rng, g, word, states)
        given = {"valid": int(rng.random() < 0.8), "from_host": int(rng.random() < 0.8), "word": word,
                 "mask": rng.choice([7, 7, rng.getrandbits(g.sms)]), "states": [list(each) for each in states],
                 "recorded": recorded}
        given["accepted"] = model.judged(given)[1] & rng.choice([7, rng.getrandbits(g.sms)])
        yield given, model.outputs(given)
        model.step(given)
