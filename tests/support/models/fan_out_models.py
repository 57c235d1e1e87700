"""What becomes of commands, events and accesses of registers of a device of several SMs, written from the documentation
of `CommandFanOut`, `DeviceEvents` and `RegisterFanOut`; and inputs of these."""

from typing import Any

from caesura.hw.arch.commands import REFUSED, Command, KernelState, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.registers import ADDRESS_BITS, Combine, device_register_map, register_map
from caesura.hw.control.register_ports import KERNEL_BASE, KERNEL_STRIDE
from caesura.hw.device.device_events import ENDED, SAVED
from caesura.sim.golden.device import combined, common_state

from ..hw.lockstep import noise

__all__ = ["Commands", "Events", "Registers", "accesses", "commands", "episodes", "happenings"]

MAP, DEVICE = register_map(), device_register_map()
IDLE, PREEMPTING, PREEMPTED, FINISHED = (
    KernelState.IDLE, KernelState.PREEMPTING, KernelState.PREEMPTED, KernelState.FINISHED)


def bits(flags):
    return sum(int(bool(flag)) << k for k, flag in enumerate(flags))


def pick(values, number):
    """The value of that number, beyond them the last."""
    return values[min(number, len(values) - 1)]


def states_of(rng, g):
    """States of all kernels by SM; those of a kernel are often alike."""
    common = [rng.choice(list(KernelState)) for _ in range(g.kernel_slots)]
    return [[state if rng.random() < 0.6 else rng.choice(list(KernelState)) for state in common]
            for _ in range(g.sms)]


class Commands:
    """What becomes of commands."""

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
    """A command of any kernel, now and then one that there is not."""
    op = rng.choice([*Command, Command.PREEMPT, Command.ABORT, rng.randrange(16)])
    kernel = rng.randrange(g.kernel_slots) if rng.random() < 0.9 else rng.randrange(8)
    given = rng.getrandbits(32) & ~MAP["command"].pack(op=15, kernel=7)
    return given | MAP["command"].pack(op=op, kernel=kernel)


def suited(rng, g, word, states):
    """Make the states of a command's kernel often such as aborts and releases find; return the kernels that are
    recorded by SM, often all but that one on one SM."""
    every, kernel = (1 << g.kernel_slots) - 1, min(MAP["command"].unpack(word)["kernel"], g.kernel_slots - 1)
    alike = rng.choice(list(KernelState))
    theme = rng.choice([None, (alike,), (PREEMPTING, PREEMPTED), (PREEMPTED,), (PREEMPTED, PREEMPTED, IDLE)])
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


class Events:
    """The event register, and the switches that are counted."""

    def __init__(self, g):
        self.g, self.sticky = g, 0
        self.finished, self.was = [False] * g.kernel_slots, {name: [False] * g.kernel_slots for name in ENDED.values()}
        self.seen, self.waiting = [set() for _ in range(g.kernel_slots)], [None] * g.kernel_slots

    def _kernel(self, given, k):
        """Return whether a kernel is finished, what it is in now, and what has ended."""
        states, members = [each[k] for each in given["states"]], given["members"][k]
        finished = bool(members) and all(state == FINISHED for i, state in enumerate(states) if members >> i & 1)
        now = {name: state in states for state, name in ENDED.items()}
        over = {name for name in now if self.was[name][k] and not now[name]}
        return finished, now, over & {"killed"} if KernelState.KILLING in states else over

    def _ends(self, given, k):
        """Return how a switch of a kernel ends in this cycle, None if none does that is to be counted."""
        finished, _, over = self._kernel(given, k)
        failed = any(given["takers"][k] >> i & 1 and given["errors"][i][k] != CommandError.NONE
                     for i in range(self.g.sms))
        ways = [each for each in SAVED if each in self.seen[k]]
        if "preempted" in over and not failed and (finished or ways):
            return Switch.FINISHED if finished else ways[0]
        saved = any(each[k] == PREEMPTED for each in given["states"])
        if "resumed" in over and not failed and not saved and Switch.RESUMED in self.seen[k]:
            return Switch.RESUMED
        return None

    def counted(self, given):
        """The kernel whose switch is counted in this cycle, and how it ended; or None."""
        if not self.g.profile:
            return None
        k = next((k for k, kind in enumerate(self.waiting) if kind is not None), None)
        return None if k is None or self._ends(given, k) is not None else (k, self.waiting[k])

    def event(self, given):
        fault = MAP["event"].pack(fault=1)
        return self.sticky & ~fault | (fault if given["faults"] else 0)

    def outputs(self, given):
        counted = self.counted(given)
        told = {"counted.valid": counted is not None, "event": self.event(given)}
        return told if counted is None else told | {"counted.kernel": counted[0], "counted.kind": counted[1]}

    def step(self, given):
        g = self.g
        kernels, counted = range(g.kernel_slots), self.counted(given)
        every = [self._kernel(given, k) for k in kernels]
        ends = [self._ends(given, k) for k in kernels]
        happens = {name: int(any(name in over for *_, over in every)) for name in ENDED.values()}
        happens["finished"] = bits(finished and not self.finished[k] for k, (finished, *_) in enumerate(every))
        self.sticky = self.sticky & ~given["clear"] | MAP["event"].pack(refused=given["refused"], **happens)
        for k, (finished, now, over) in enumerate(every):
            self.finished[k] = finished
            for name, is_now in now.items():
                self.was[name][k] = is_now
            new = {Switch(each["kind"]) for each in given["switched"]
                   if each["valid"] and each["kernel"] == k and each["kind"] in list(Switch)}
            self.seen[k] = new | (set() if over & {"preempted", "resumed"} else self.seen[k])
            if g.profile and ends[k] is not None:
                self.waiting[k] = ends[k]
        if counted:
            self.waiting[counted[0]] = None


def moved(rng, states):
    """States a cycle later: some SMs' change, often to what ends something; those of a kernel often together. A kill,
    which ends the rest without a word, is seldom."""
    for each in states:
        for k in range(len(each)):
            if rng.random() < 0.15 or each[k] == KernelState.KILLING:
                each[k] = rng.choice([*KernelState, *ENDED, PREEMPTED, FINISHED, FINISHED])
                if each[k] == KernelState.KILLING and rng.random() < 0.8:
                    each[k] = PREEMPTING
    for k in range(len(states[0])):
        if rng.random() < 0.15:
            state = rng.choice([PREEMPTED, KernelState.RUNNING, FINISHED, PREEMPTING, KernelState.RESUMING])
            for each in states:
                each[k] = state


def happenings(dut, rng, cycles, model):
    """Yield states that change in any order, with switches, errors and faults: for a while few or many of few kinds."""
    g, rate, kinds = dut.geometry, 0.3, list(Switch)
    states, members, took = states_of(rng, g), [7] * g.kernel_slots, [0] * g.kernel_slots
    for _ in range(cycles):
        if rng.random() < 0.05:
            rate, kinds = rng.choice((0.02, 0.1, 0.3)), rng.sample(list(Switch), rng.randint(1, 2))
        moved(rng, states)
        members[rng.randrange(g.kernel_slots)] = rng.choice([0, 7, rng.getrandbits(g.sms)])
        took[rng.randrange(g.kernel_slots)] = rng.choice([0, 7, rng.getrandbits(g.sms)])
        given = {
            "states": [list(each) for each in states], "members": list(members), "takers": list(took),
            "errors": [[rng.choice(list(CommandError)) if rng.random() < rate / 3 else CommandError.NONE
                        for _ in range(g.kernel_slots)] for _ in range(g.sms)],
            "switched": [{"valid": int(rng.random() < rate), "kernel": rng.randrange(g.kernel_slots),
                          "kind": rng.choice(kinds)} for _ in range(g.sms)],
            "faults": rng.choice([0, 0, rng.getrandbits(g.sms)]), "refused": int(rng.random() < 0.1),
            "clear": rng.choice([0, 0xFFFF_FFFF, rng.getrandbits(32)])}
        yield given, model.outputs(given)
        model.step(given)


class Episode:
    """A kernel that is switched on some SMs for some cycles, and where that leaves it."""

    def __init__(self, g, rng, together):
        resuming = KernelState.RESUMING
        self.state = rng.choice([PREEMPTING, PREEMPTING, resuming, resuming, KernelState.KILLING, KernelState.ADOPTING])
        self.left = together if rng.random() < 0.5 else rng.choice((1, 2, 3, 6))
        self.sms = [i for i in range(g.sms) if rng.random() < 0.7]
        self.kinds = rng.sample(list(Switch), rng.randint(1, 3))
        self.took = rng.choice([(1 << g.sms) - 1, rng.getrandbits(g.sms), 0])
        self.ends = rng.choice([(PREEMPTED,), (FINISHED,), (KernelState.RUNNING,), (PREEMPTED, FINISHED),
                                (PREEMPTED, KernelState.RUNNING), (IDLE,), tuple(KernelState)])
        self.fails = rng.random() < 0.2


def episodes(dut, rng, cycles, model):
    """Yield kernels that are switched one after the other, or several at once, with a rest between: nothing else
    changes, so that how a switch ended on the SMs decides what is counted."""
    g, whole = dut.geometry, 7
    states, running = states_of(rng, g), [None] * g.kernel_slots
    members, took = [whole] * g.kernel_slots, [whole] * g.kernel_slots
    together = 1
    for _ in range(cycles):
        together = together - 1 or rng.randint(2, 9)
        errors = [[CommandError.NONE] * g.kernel_slots for _ in range(g.sms)]
        switched = [{"valid": 0, "kernel": rng.randrange(g.kernel_slots), "kind": rng.choice(list(Switch))}
                    for _ in range(g.sms)]
        for k, episode in enumerate(running):
            if episode is None:
                if rng.random() < 0.3:
                    episode = running[k] = Episode(g, rng, together)
                    took[k], members[k] = episode.took, rng.choice([whole, whole, rng.getrandbits(g.sms), 0])
                    for i in episode.sms:
                        states[i][k] = episode.state
                continue
            for i in range(g.sms):
                if rng.random() < 0.2 and not switched[i]["valid"]:
                    switched[i] = {"valid": 1, "kernel": k, "kind": rng.choice(episode.kinds)}
            episode.left -= 1
            if episode.left > 0:
                continue
            if episode.fails:
                errors[rng.randrange(g.sms)][k] = rng.choice(list(CommandError))
            for i in episode.sms:
                states[i][k] = rng.choice(episode.ends)
            running[k] = None
        given = {"states": [list(each) for each in states], "members": list(members), "takers": list(took),
                 "errors": errors, "switched": switched, "faults": rng.choice([0, 0, rng.getrandbits(g.sms)]),
                 "refused": int(rng.random() < 0.02), "clear": rng.choice([0, 0xFFFF_FFFF, rng.getrandbits(32)])}
        yield given, model.outputs(given)
        model.step(given)


class Registers:
    """All registers of a device, whose commands and events are as above."""

    def __init__(self, g):
        self.g, self.commands, self.events = g, Commands(g), Events(g)
        self.masks = {name: DEVICE[name].reset for name in ("sm_read", "sm_write")}
        self.counts = [dict.fromkeys(Switch, 0) for _ in range(g.kernel_slots)]
        self.address, self.own, self.command_word = 0, None, 0
        slots = KERNEL_BASE + KERNEL_STRIDE
        self.places = {register.address // 4: register for register in MAP.values()
                       if register.combine is not Combine.FIRST and register.exists(g) and register.address < slots}

    def _written(self, host, name):
        return host["write"] and host["address"] // 4 == DEVICE[name].address // 4

    def command(self, given):
        """What `Commands` is given."""
        host, everyone = given["host"], (1 << self.g.sms) - 1
        valid = (host["write"] and host["address"] < 1 << ADDRESS_BITS
                 and host["address"] // 4 == MAP["command"].address // 4)
        return {"valid": int(valid), "from_host": int(valid), "word": host["write_data"],
                "mask": self.masks["sm_write"] & everyone, "accepted": given["accepted"],
                "states": [each["states"] for each in given["reports"]],
                "recorded": [each["recorded"] for each in given["reports"]]}

    def event(self, given):
        """What `Events` is given."""
        reports, host, command = given["reports"], given["host"], self.command(given)
        return {"states": command["states"], "errors": [each["errors"] for each in reports],
                "members": given["members"], "takers": list(self.commands.took),
                "switched": [each["switched"] for each in reports],
                "faults": bits(each["fault"] for each in reports),
                "refused": int(self.commands.outputs(command)["refused"]),
                "clear": host["write_data"] if self._written(host, "event") else 0}

    def own_registers(self, given):
        shown = {**self.masks, "sms": self.g.sms, "event": self.events.event(self.event(given))}
        if self.g.profile:
            shown |= {f"kernel[{k}].switches_{kind.name.lower()}": count for k, counts in enumerate(self.counts)
                      for kind, count in counts.items()}
        return {DEVICE[path].address // 4: word for path, word in shown.items()}

    def read(self, given):
        """What the host reads in this cycle, of the address of the last."""
        if self.own is not None:
            return self.own
        g, words, read = self.g, given["words"], self.masks["sm_read"]
        slot = self.address - KERNEL_BASE
        kernel, offset = (slot // KERNEL_STRIDE, KERNEL_BASE + slot % KERNEL_STRIDE) if slot >= 0 else (
            self.address // KERNEL_STRIDE, self.address)
        register, chosen = self.places.get(offset // 4), read
        if register is None:
            return next((word for i, word in enumerate(words) if read >> i & 1), 0)
        if register.last:
            chosen &= self.commands.last[Command[register.last.upper()]]
        elif register.combine is Combine.STATE:
            chosen &= pick(given["members"], kernel)
        elif register.combine is Combine.FAULT:
            chosen &= bits(each["fault"] for each in given["reports"])
        mine = [i for i in range(g.sms) if chosen >> i & 1]
        took = pick(self.commands.took, kernel)
        word = combined(register, [words[i] for i in mine], [bool(took >> i & 1) for i in mine])
        if register.combine is Combine.STATUS:
            refusing = [i for i in range(g.sms) if self.commands.refusing >> i & 1]
            said = register.unpack(words[refusing[0]])["error"] if refusing else self.commands.error
            word |= register.pack(error=said)
        return word

    def outputs(self, given):
        host, command = given["host"], self.command(given)
        _, targets, words = self.commands.judged(command)
        outputs = {"host.read_data": self.read(given),
                   "host.interrupt": self.events.event(self.event(given)) != 0}
        for i in range(self.g.sms):
            write = host["write"] and host["address"] < 1 << ADDRESS_BITS and self.masks["sm_write"] >> i & 1
            outputs |= {f"sms.{i}.address": host["address"] % (1 << ADDRESS_BITS),
                        f"sms.{i}.write": targets >> i & 1 if command["valid"] else int(write)}
            if not command["valid"]:
                outputs[f"sms.{i}.write_data"] = host["write_data"]
            elif targets >> i & 1:
                outputs[f"sms.{i}.write_data"] = words[i]
        return outputs

    def step(self, given):
        host, event = given["host"], self.event(given)
        self.own = self.own_registers(given).get(host["address"] // 4, 0 if host["address"] >> ADDRESS_BITS else None)
        self.address = host["address"]
        counted = self.events.counted(event)
        if counted:
            self.counts[counted[0]][counted[1]] += 1
        for report in given["reports"]:
            clear = report["start"] | (report["adopted"]["valid"] << report["adopted"]["kernel"])
            for k in range(self.g.kernel_slots):
                if clear >> k & 1:
                    self.counts[k] = dict.fromkeys(Switch, 0)
        self.commands.step(self.command(given))
        self.events.step(event)
        for name in self.masks:
            if self._written(host, name):
                self.masks[name] = host["write_data"] & 0xFFFF


def accesses(dut, rng, cycles, model, having=None):
    """Yield accesses of all registers, while SMs say anything; queues stay stopped. The vectors of the SMs that are
    `having` each kernel are any if they are not given."""
    g = dut.geometry
    slots = KERNEL_BASE + g.kernel_slots * KERNEL_STRIDE
    addresses = [register.address for register in DEVICE.values() if register.exists(g)
                 and not slots <= register.address < 1 << ADDRESS_BITS]
    own = [DEVICE[name].address for name in ("sm_read", "sm_write", "event", "command", "status", "sms")]
    own += [4 * place for place in model.places]
    counts = [register.address for path, register in DEVICE.items() if "switches_" in path and register.exists(g)]
    states, command = states_of(rng, g), MAP["command"].address
    members = [7] * g.kernel_slots if having is None else having
    rate, anew = 0.3, 0.02
    for _ in range(cycles):
        if rng.random() < 0.02:
            rate, anew = rng.choice((0.02, 0.1, 0.3)), rng.choice((0, 0, 0.002, 0.02))
        moved(rng, states)
        if having is None:
            members[rng.randrange(g.kernel_slots)] = rng.choice([0, 7, rng.getrandbits(g.sms)])
        address = rng.choice(rng.choice((addresses, own, own, counts or own, [command])))
        write = int(rng.random() < (0.9 if address == command else 0.3))
        data = any_command(rng, g) if address == command else rng.choice([rng.getrandbits(32), 7])
        if address == DEVICE["queue[0].control"].address:
            data &= ~1
        recorded = suited(rng, g, data, states) if write and address == command else [
            rng.getrandbits(g.kernel_slots) for _ in range(g.sms)]
        same = rng.random() < 0.5  # words that are alike
        word = rng.getrandbits(32)
        given = {
            "host": {"address": address + rng.choice([0, 0, rng.randrange(4)]), "write": write, "write_data": data},
            "words": [word if same else rng.choice([0, rng.getrandbits(32), rng.getrandbits(5)]) for _ in range(g.sms)],
            "members": list(members), "accepted": 0,
            "reports": [report(dut, rng, states[i], rate, anew) | {"recorded": recorded[i]} for i in range(g.sms)]}
        given["accepted"] = model.commands.judged(model.command(given))[1] & rng.choice([7, rng.getrandbits(g.sms)])
        inputs = {f"host.{name}": value for name, value in given["host"].items()}
        inputs |= {f"sms.{i}.read_data": word for i, word in enumerate(given["words"])}
        inputs |= {f"members.{k}": vector for k, vector in enumerate(members)}
        for i, each in enumerate(given["reports"]):
            inputs |= {f"reports.{i}.{name}": value for name, value in each.items()}
            inputs[f"reports.{i}.accepted"] = given["accepted"] >> i & 1
        yield inputs, model.outputs(given)
        model.step(given)


def report(dut, rng, states, rate, anew):
    """What an SM says of itself, but for what is recorded: how often kernels are switched, and begin anew."""
    g = dut.geometry
    return {"states": list(states),
            "errors": [rng.choice(list(CommandError)) if rng.random() < rate / 3 else CommandError.NONE
                       for _ in range(g.kernel_slots)],
            "switched": {"valid": int(rng.random() < rate), "kernel": rng.randrange(g.kernel_slots),
                         "kind": rng.choice(list(Switch))},
            "start": 1 << rng.randrange(g.kernel_slots) if rng.random() < anew else 0,
            "adopted": noise(rng, dut.reports[0].adopted.shape()) | {
                "valid": int(rng.random() < anew), "kernel": rng.randrange(g.kernel_slots)},
            "fault": int(rng.random() < 0.3)}
