"""The registers of a device of several SMs, modelled from the documentation of `RegisterFanOut`; and inputs."""

from caesura.hw.arch.commands import Command, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.registers import ADDRESS_BITS, Combine
from caesura.hw.control.register_ports import KERNEL_BASE, KERNEL_STRIDE
from caesura.sim.golden.device import combined

from ..hw.lockstep import noise
from .command_fan_out_model import Commands, any_command, suited
from .device_events_model import Events
from .sm_states import DEVICE, MAP, bits, moved, pick, states_of


class Registers:
    """All registers of a device, with its commands and events."""

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
        """Return the inputs of `Commands`."""
        host, everyone = given["host"], (1 << self.g.sms) - 1
        valid = (host["write"] and host["address"] < 1 << ADDRESS_BITS
                 and host["address"] // 4 == MAP["command"].address // 4)
        return {"valid": int(valid), "from_host": int(valid), "word": host["write_data"],
                "mask": self.masks["sm_write"] & everyone, "accepted": given["accepted"],
                "states": [each["states"] for each in given["reports"]],
                "recorded": [each["recorded"] for each in given["reports"]]}

    def event(self, given):
        """Return the inputs of `Events`."""
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
        """Return the word that the host reads in this cycle, from the address of the last cycle."""
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
    """Yield accesses of all registers, while SMs report anything; queues stay stopped.

    `having` are the vectors of the SMs that have each kernel; they are random unless given.
    """
    g = dut.geometry
    slots = KERNEL_BASE + g.kernel_slots * KERNEL_STRIDE
    of_kernels = [4 * place for place in model.places if 4 * place >= KERNEL_BASE]
    addresses = [register.address for register in DEVICE.values() if register.exists(g)
                 and not slots <= register.address < 1 << ADDRESS_BITS]
    own = [DEVICE[name].address for name in ("sm_read", "sm_write", "event", "command", "status", "sms")]
    own += [4 * place for place in model.places]
    own += [place + k * KERNEL_STRIDE for place in of_kernels for k in range(1, g.kernel_slots)]
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
    """Return the report of an SM, without its recorded kernels.

    `rate` is the probability of a switch, `anew` that of a start and of an adoption.
    """
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
