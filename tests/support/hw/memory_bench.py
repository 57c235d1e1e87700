"""A random AXI4 master in front of a memory: what it reads is what it has written, and the memory keeps the rules."""

from __future__ import annotations

import random
from collections import deque

from caesura.hw.memory.axi import INCREMENTING

__all__ = ["Master", "lite_dram"]

SEGMENT = 128
DECODE_ERROR = 3


class Master:
    """Reads and writes segments of the first `size` bytes, and some beyond, a few at a time.

    Parameters
    ----------
    g : Geometry
    axi : Axi4
        Of the memory.
    size : int
        Bytes of the memory.
    seed, bursts : int
    stall : float
        Share of cycles in which a channel pauses.
    """

    def __init__(self, g, axi, size, seed, bursts, stall):
        self.g, self.axi, self.size, self.bursts, self.stall = g, axi, size, bursts, stall
        self.rng = random.Random(seed)
        self.kept = bytearray(size)
        self.busy: set[int] = set()  # segments that something is under way for: what is read of them is not known
        self.reads, self.writes = deque(), deque()
        self.addresses, self.data = {"ar": deque(), "aw": deque()}, deque()
        self.begun = self.ended = 0
        self.channel = {name: None for name in ("ar", "aw", "w")}
        self.held = {}

    def waits(self):
        """Whether a channel pauses."""
        return self.rng.random() < self.stall

    def begin(self):
        """Choose a burst."""
        rng, width = self.rng, self.g.bus_bytes
        far = rng.random() < 0.1
        segment = rng.randrange(self.size // SEGMENT, 2 * self.size // SEGMENT) if far else rng.randrange(
            min(12, self.size // SEGMENT)) * (self.size // SEGMENT // min(12, self.size // SEGMENT))
        if segment in self.busy:
            return
        self.busy.add(segment)
        self.begun += 1
        first = rng.randrange(self.g.burst_beats)
        beats = rng.randrange(1, self.g.burst_beats - first + 1)
        address, number = segment * SEGMENT + first * width, rng.randrange(8)
        kind = rng.choice(["ar", "aw"])
        self.addresses[kind].append((number, address, beats - 1))
        if kind == "ar":
            return self.reads.append([number, address, 0, beats, far])
        self.writes.append([number, segment, far])
        for k in range(beats):
            data, strobe = rng.randbytes(width), rng.getrandbits(width)
            self.data.append((int.from_bytes(data, "little"), strobe, k == beats - 1))
            for lane in range(0 if far else width):
                if strobe >> lane & 1:
                    self.kept[address + k * width + lane] = data[lane]

    def offer(self, ctx):
        """Offer addresses and data; what is offered stays until it is taken."""
        axi, width = self.axi, self.g.bus_bytes
        for channel in ("ar", "aw"):
            if self.channel[channel] is None and self.addresses[channel] and not self.waits():
                self.channel[channel] = number, address, length = self.addresses[channel].popleft()
                for name, value in (("id", number), ("addr", address), ("len", length),
                                    ("size", width.bit_length() - 1), ("burst", INCREMENTING)):
                    ctx.set(getattr(axi, channel + name), value)
            ctx.set(getattr(axi, f"{channel}valid"), self.channel[channel] is not None)
        if self.channel["w"] is None and self.data and not self.waits():
            self.channel["w"] = data, strobe, last = self.data.popleft()
            for name, value in (("wdata", data), ("wstrb", strobe), ("wlast", last)):
                ctx.set(getattr(axi, name), value)
        ctx.set(axi.wvalid, self.channel["w"] is not None)

    async def run(self, ctx):
        """The bench."""
        axi = self.axi
        answers = {"r": ("rid", "rdata", "rresp", "rlast"), "b": ("bid", "bresp")}
        names = ["arready", "awready", "wready", "rvalid", "bvalid", *answers["r"], *answers["b"]]
        while self.ended < self.bursts:
            if self.begun < self.bursts and len(self.busy) < 6 and not self.waits():
                self.begin()
            self.offer(ctx)
            ready = {name: not self.waits() for name in answers}
            for name, value in ready.items():
                ctx.set(getattr(axi, f"{name}ready"), value)
            _, _, *values = await ctx.tick().sample(*(getattr(axi, name) for name in names))
            seen = dict(zip(names, values, strict=True))
            for channel in self.channel:
                if seen[f"{channel}ready"]:
                    self.channel[channel] = None
            for name, fields in answers.items():
                now = tuple(seen[field] for field in fields)
                if name in self.held:
                    assert seen[f"{name}valid"] and now == self.held.pop(name), f"{name} changed before it was taken"
                if seen[f"{name}valid"] and not ready[name]:
                    self.held[name] = now
                elif seen[f"{name}valid"]:
                    (self.beat if name == "r" else self.acknowledged)(*now)

    def beat(self, number, data, response, last):
        """A beat has been read."""
        wanted, address, k, beats, far = read = self.reads[0]
        width = self.g.bus_bytes
        begin = address + k * width
        assert number == wanted and last == (k + 1 == beats)
        assert response == (DECODE_ERROR if far else 0)
        assert data == (0 if far else int.from_bytes(self.kept[begin:begin + width], "little"))
        read[2] += 1
        if last:
            self.reads.popleft()
            self.end(address // SEGMENT)

    def acknowledged(self, number, response):
        """A write has been acknowledged."""
        wanted, segment, far = self.writes.popleft()
        assert number == wanted and response == (DECODE_ERROR if far else 0)
        self.end(segment)

    def end(self, segment):
        """A burst has ended."""
        self.busy.remove(segment)
        self.ended += 1


def lite_dram(port, width, rng, stall, words=None):
    """Return a watch: what is behind a native port of LiteDRAM, with random delays and no patience.

    It takes commands when it likes, some at a time. It takes the data of a write some cycles after its command, whether
    it is there or not (then it fails), and gives what is read some cycles after its command, whether it is taken or
    not. All in the order of the commands. `words` are its contents, if others are to see them.
    """
    words = {} if words is None else words

    async def watch(ctx):
        commands = deque()  # writes: None
        when = cycle = 0
        while True:
            ready = len(commands) < 8 and rng.random() >= stall
            ctx.set(port.cmd_ready, ready)
            due = bool(commands) and cycle >= max(when, commands[0][2])
            write = due and commands[0][0]
            ctx.set(port.wdata_ready, bool(write))
            ctx.set(port.rdata_valid, due and not write)
            ctx.set(port.rdata_data, words.get(commands[0][1], 0) if due and not write else rng.getrandbits(8 * width))
            _, _, valid, we, address, there, data, strobe, takes = await ctx.tick().sample(
                port.cmd_valid, port.cmd_we, port.cmd_addr, port.wdata_valid, port.wdata_data, port.wdata_we,
                port.rdata_ready)
            cycle += 1
            if due:
                _, at, _ = commands.popleft()
                if write:
                    assert there, "the data of a write was not there in time"
                    mask = sum(0xFF << 8 * lane for lane in range(width) if strobe >> lane & 1)
                    words[at] = words.get(at, 0) & ~mask | data & mask
                else:
                    assert takes, "what was read was not taken"
                when = cycle + (rng.randrange(6) if rng.random() < stall else 0)
            if valid and ready:
                commands.append((we, address, cycle + rng.randrange(1, 9)))
    return watch
