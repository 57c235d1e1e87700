"""Random inputs of a command processor, in phases in which some things happen often and others never."""

from caesura.hw.arch.commands import Command
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.registers import UNLIMITED_GRACE
from caesura.hw.control.memory_refusals import AGAIN_CYCLES, TRIES
from support.hw.command_driver import ANSWERS, NONE
from support.hw.lockstep import number
from support.models.engine_queue_model import FLAGS

STUBBORN = TRIES * (AGAIN_CYCLES + 50)
"""Cycles in which memory refuses evictions until they are given up."""


class World:
    """Inputs of a command processor, in long phases: some things happen often, others never."""

    def __init__(self, g, rng, model):
        self.g, self.rng, self.model = g, rng, model
        self.vectors = dict.fromkeys(("done", "present", "saved", "in_memory", "hopeless"), 0)
        self.running = [0] * g.kernel_slots
        self.cycles = 0
        self.change()

    def change(self):
        rng, g = self.rng, self.g
        self.odds = {name: rng.choice((0, 0.02, 0.3)) for name in ("launching", "room", "evict", "flushing")}
        self.odds |= {name: rng.choice((0, 0.1, 0.9)) for name in self.vectors}
        self.odds |= {"command": rng.choice((0.05, 0.3)), "ready": rng.choice((0.1, 1)),
                      "result": rng.choice((0.1, 0.5)), "done": rng.choice((0, 0.05, 0.5)),
                      "running": rng.choice((0.1, 0.9)), "refuses": rng.choice((0, 0, 0.7)),
                      "left": rng.choice((0, 0.5, 1)), "changes": rng.choice((0.02, 0.5)),
                      "likely": rng.choice((0.5, 1)), "outstanding": rng.choice((0, 0.5, 0.95)),
                      "grace": rng.choice((0, 0.5, 1))}
        self.kernels = [self.kernel() for _ in range(g.kernel_slots)]

    def often(self, name):
        return int(self.rng.random() < self.odds[name])

    def kernel(self):
        """Return a descriptor, most often of a kernel that can be started."""
        rng, g = self.rng, self.g
        threads = rng.randint(1, g.max_block_threads)
        kernel = {"grid_x": rng.randint(1, 5), "grid_y": 1, "grid_z": 2, "threads": threads,
                  "warps": -(-threads // g.warp_size), "registers": rng.randint(1, g.regs_per_thread),
                  "shared_bytes": rng.randint(0, g.shared_bytes), "param_base": number(rng, 32) & -16,
                  "const_base": number(rng, 32) & -128}
        while rng.random() < 0.3:
            name, width = rng.choice((*((f"grid_{axis}", 16) for axis in "xyz"), ("threads", 11), ("registers", 7),
                                      ("warps", 6), ("shared_bytes", 20), ("param_base", 5), ("const_base", 8)))
            kernel[name] = number(rng, width) if name in ("grid_x", "grid_y", "grid_z") else (
                kernel[name] ^ 1 << rng.randrange(width))
        return kernel

    def command(self):
        rng, model = self.rng, self.model
        given = {"valid": self.often("command"), "op": rng.choice((*Command, rng.getrandbits(4))),
                 "kernel": rng.randrange(self.g.kernel_slots) if rng.random() < 0.95 else rng.getrandbits(4),
                 "mechanism": rng.choice([*Mechanism]) if rng.random() < 0.97 else rng.getrandbits(4),
                 **{name: int(rng.random() < 0.1) for name in FLAGS}}
        if self.often("likely") and given["kernel"] < self.g.kernel_slots:
            state = model.slots[given["kernel"]].state
            given["op"] = rng.choice([op for op, answers in ANSWERS.items() if not answers[state]] or [given["op"]])
        rare = {Command.KILL: 0.1, Command.RELEASE: 0.3, Command.ABORT: 0.3, Command.ADOPT: 0.3}
        if rng.random() > rare.get(given["op"], 1):
            given["valid"] = 0
        return given

    def cycle(self):
        """Return the inputs of a cycle."""
        g, rng = self.g, self.rng
        if rng.random() < 0.02:
            self.change()
        if rng.random() < 0.1:
            self.kernels[rng.randrange(g.kernel_slots)] = self.kernel()
        for name in self.vectors:
            for k in range(g.kernel_slots):
                if self.often("changes"):
                    self.vectors[name] = self.vectors[name] & ~(1 << k) | self.often(name) << k
        if self.often("changes"):
            self.running[rng.randrange(g.kernel_slots)] = rng.getrandbits(g.context_entries) * self.often("running")
        self.cycles += 1
        if self.cycles % 5000 < STUBBORN < self.cycles:
            return self.refused(self.cycles // 5000 % g.kernel_slots)
        return self.inputs()

    def refused(self, kernel):
        """Return inputs without commands, while memory refuses all evictions of a kernel."""
        now, every = self.inputs(), (1 << self.g.tb_slots) - 1
        now["command"]["valid"] = 0
        if self.model.queue.hand and self.model.queue.hand["evict"]:
            now["result"]["error"] = CommandError.BUS_ERROR
        return now | {"ready": 1, "evict": every, "evictable": every, "owners": [kernel] * self.g.tb_slots}

    def inputs(self):
        g, rng, model = self.g, self.rng, self.model
        comes = model.queue.hand is not None and model.result is None and self.often("result")
        error = rng.choice((CommandError.BUS_ERROR, CommandError.BAD_IMAGE, *CommandError))
        return {**self.vectors, "command": self.command(), "running": [*self.running], "kernels": [*self.kernels],
                "patience": number(rng, 32), "spared": rng.choice((0, rng.getrandbits(g.context_entries))),
                "grace": rng.choice((rng.randint(1, 9), UNLIMITED_GRACE, number(rng, 32))) * self.often("grace"),
                "newcomer": rng.getrandbits(4), "newcomer_tbs": rng.getrandbits(6),
                "evict": rng.getrandbits(g.tb_slots) * self.often("evict"), "evictable": rng.getrandbits(g.tb_slots),
                "owners": [rng.randrange(g.kernel_slots) for _ in range(g.tb_slots)],
                "launching": {"valid": self.often("launching"), "kernel": rng.randrange(g.kernel_slots)},
                "ready": self.often("ready"),
                **{name: self.often(name) for name in ("room", "outstanding", "flushing")},
                "result": {"valid": int(comes), "error": error if self.often("refuses") else NONE,
                           "left": self.often("left"), "saved": rng.getrandbits(1), "at_once": rng.getrandbits(1)}}


PORTS = {"registers": ("command", "patience", "grace", "spared"),
         "engine": ("saved", "in_memory", "flushing", "result"), "dispatch": ("done", "present", "launching")}
"""Inputs that are members of a port with their name."""


def inputs(g, now):
    """Return the inputs of a cycle by the names of `lockstep`."""
    given = {f"{port}.{name}": now[name] for port, names in PORTS.items() for name in names}
    given |= {"engine.command.ready": now["ready"], "dispatch.room_freed": now["room"],
              "dispatch.accesses_outstanding": now["outstanding"]}
    given |= {f"dispatch.running.{k}": running for k, running in enumerate(now["running"])}
    given |= {f"kernels.{k}.{name}": size for k, kernel in enumerate(now["kernels"]) for name, size in kernel.items()}
    if g.in_place:
        given |= {"registers.newcomer.kernel": now["newcomer"], "registers.newcomer.tbs": now["newcomer_tbs"],
                  "dispatch.evict": now["evict"], "dispatch.hopeless": now["hopeless"],
                  "engine.staying.evictable": now["evictable"],
                  **{f"engine.staying.rows.{t}.what.kernel": owner for t, owner in enumerate(now["owners"])}}
    return given
