"""Saved contexts of two tenants in each other's place, in parts or whole, also with checksums made right."""

from __future__ import annotations

import functools
import random
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, CCB_RECORD, ENTRY_WORDS
from caesura.software.driver import CommandRefused, CycleLimit, KernelFault
from support.programs.stirring import Stirring
from support.programs.yields import images

__all__ = ["MisplacedContexts", "MisplacedWhileAway"]

MEMORY = 1 << 21
PART = 1 << 17
LIMIT = 30_000
"""Cycles after which a kernel that goes on with another's context is ended."""
REFUSED = CommandError.BAD_IMAGE.name
ENTRY_BYTES = 128
SEALED = "register_image", "local_base", "generation"
"""Fields of an entry that are made those of its new place; the checksum is computed anew."""
SEALED_RECORD = "code_base", "const_base", "generations", "generation", "saved", "sides"
"""Those of a record."""
kernels = functools.cache(images)


class Piece(NamedTuple):
    """Some bytes of a context control block.

    Attributes
    ----------
    kind : str
        Kind of the place.
    base : int
        Address of the block.
    start, size : int
        First byte behind that address, and number of bytes.
    index : int
        Index of the entry; -1 if it belongs to none.
    """

    kind: str
    base: int
    start: int
    size: int
    index: int = -1


class Placed:
    """A launch of a tenant, and its contexts in memory."""

    def __init__(self, owner, launch, work):
        self.owner, self.launch = owner, launch
        self.work: Any = work
        self.older: Any = None
        self.transport: Any = owner.transport
        self.g = launch.device.geometry

    @property
    def blocks(self):
        return [(self.launch.ccb_of(sm), self.launch.ccb_bytes) for sm in range(self.g.sms)]

    @property
    def span(self):
        """Where the block of the launch begins, and its contexts end."""
        return self.launch.handle, max(base for base, _ in self.blocks) + self.launch.ccb_bytes

    def read(self):
        return [self.transport.read_memory(*block) for block in self.blocks]

    def write(self, kept):
        for (base, _), content in zip(self.blocks, kept, strict=True):
            self.transport.write_memory(base, content)

    def saved(self):
        """The entries, by block, that are complete."""
        return [(base, index) for base, _ in self.blocks for index in range(context.places(self.g))
                if self.transport.read_memory(context.entry_address(base, index), 1)[0] == context.State.COMPLETE]

    def piece(self, kind, base, index):
        """Some bytes of a block: of an entry, its stream, both, the record, all heads, or all."""
        g, area = self.g, self.launch.area_bytes
        heads = ENTRY_BYTES * (context.places(g) + 1)
        start, size = {"entry": (ENTRY_BYTES * index, ENTRY_BYTES), "stream": (heads + area * index, area),
                       "record": (heads - ENTRY_BYTES, ENTRY_BYTES), "heads": (0, heads),
                       "areas": (heads, self.launch.ccb_bytes - heads), "whole": (0, self.launch.ccb_bytes)}[kind]
        return Piece(kind, base, start, size, index)

    def content(self, piece):
        return self.transport.read_memory(piece.base + piece.start, piece.size)

    def put(self, piece, content):
        """Write what a piece of another block holds; no more than there is room for."""
        self.transport.write_memory(piece.base + piece.start, content[:piece.size])

    def fields(self, piece, layout=CCB_ENTRY):
        words = np.frombuffer(self.content(piece)[:4 * ENTRY_WORDS], "<u4")
        return context.from_words(layout, words)

    def seal(self, piece, was):
        """Make an entry or a record that was another's look like this place's own."""
        layout, names = (CCB_RECORD, SEALED_RECORD) if piece.kind == "record" else (CCB_ENTRY, SEALED)
        words = context.to_words(layout, **self.fields(piece, layout) | {name: was[name] for name in names})
        words[1] = context.entry_crc(words)
        self.transport.write_memory(piece.base + piece.start, np.array(words, "<u4").tobytes())


class MisplacedContexts:
    """Two launches of one tenant and one of another, all of the kernel that uses everything, preempted; any part of the
    context of one of them is put where that of another belongs, and it is resumed.

    Parameters
    ----------
    backend : str
    g : Geometry
    seed : int

    Attributes
    ----------
    ends : Counter
        How resumes of launches ended whose contexts were another's.
    """

    KINDS = "entry", "stream", "image", "image", "record", "heads", "areas", "whole"

    def __init__(self, backend: str, g, seed: int):
        self.rng, self.ends = random.Random(seed), Counter()
        self.device = open_device(backend, g, memory_bytes=MEMORY)
        self.slow = backend == "rtl"
        self.tenants = [self.device.tenant(PART, system_bytes=2 * PART, name=name) for name in ("alice", "bob")]
        alice, bob = self.tenants
        self.placed = [self.begin(owner, n) for n, owner in enumerate((alice, bob, bob))]
        self.away()
        self.harmed: list[Placed] = []

    def begin(self, owner, number):
        work = Stirring(owner, 4 if self.slow else 10, number + 1)
        self.device.advance(self.rng.choice((300, 600)))
        launch, older = work.launch, None
        mechanism = self.rng.choice(("occupied", "live", "live+cp", "live+tb"))
        if self.rng.random() < 0.5:  # it has been away before: an image of that preempt is kept
            self.device.preempt(launch, mechanism)
            older = Placed(owner, launch, work).read()
            self.device.resume(launch)
            self.device.advance(self.rng.choice((50, 150)))
        self.device.preempt(launch, mechanism)
        placed = Placed(owner, launch, work)
        placed.older = older
        return placed

    def away(self):
        """Some of them give their slots up."""
        for each in self.placed:
            if each.launch.state is KernelState.PREEMPTED and self.rng.random() < 0.4:
                self.device.release_slot(each.launch)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.device.close()

    def displace(self, of, to):
        """Put some of the context of one launch where that of another belongs; return what it was, in words."""
        rng, kind, sealed = self.rng, self.rng.choice(self.KINDS), self.rng.random() < 0.5
        places = [each.saved() or [(each.blocks[0][0], 0)] for each in (of, to)]
        (base, index), (there, at) = (rng.choice(some) for some in places)
        for part in ("stream", "entry") if kind == "image" else (kind,):
            source, target = of.piece(part, base, index), to.piece(part, there, at)
            was = to.fields(target, CCB_RECORD if part == "record" else CCB_ENTRY)
            to.put(target, of.content(source))
            if sealed and part in ("entry", "record"):
                to.seal(target, was)
        return f"{'sealed ' if sealed else ''}{kind} of {base:#x}[{index}] at {there:#x}[{at}]"

    def older(self, to):
        """Put back what was saved of a launch the time before."""
        kept = to.read()
        for (base, _), content in zip(to.blocks, to.older, strict=True):
            piece = to.piece(self.rng.choice(("whole", "heads", "areas", "record")), base, 0)
            to.put(piece, content[piece.start:piece.start + piece.size])
        return "what was saved before" if to.read() != kept else "nothing"

    def others(self, owner):
        """All memory that is not a tenant's, but for contexts of launches of which the driver or the SM may write."""
        memory = bytearray(self.device.transport.read_memory(0, MEMORY))
        for start, end in [*((region.base, region.end) for region in (owner.system, owner.heap)), *self.moving()]:
            memory[start:end] = bytes(end - start)
        return bytes(memory)

    def moving(self):
        """Contexts and blocks that change by themselves: those of launches that have ended are cleared."""
        return [each.span for each in self.harmed]

    def run(self, lies=4):
        """Displace something of each launch and resume it, up to so many times; then all end, and others begin."""
        rng = self.rng
        for to in rng.sample(self.placed, len(self.placed)):
            for _ in range(lies):
                right = to.read()
                what = self.older(to) if to.older and rng.random() < 0.2 else self.displace(rng.choice(self.placed), to)
                if to.read() != right and self.judge(what, to, right):
                    break
        for each in self.placed:
            if each not in self.harmed:
                self.finish(each)
        self.fresh()

    def judge(self, what, to, right):
        """Resume; no memory of others changes. Return whether it went on; after a refusal the right context is put
        back."""
        before, away = self.others(to.owner), to.launch.away
        outcome = self.resume(to)
        self.settle(to)
        assert self.others(to.owner) == before, f"{what}: memory of others has changed"
        self.ends[outcome] += 1
        if outcome != REFUSED:
            self.harmed.append(to)
            return True
        if away and not to.launch.away:  # taken over as it lay there: the machine knows the right one no longer
            self.device.kill(to.launch, LIMIT)
            self.harmed.append(to)
            return True
        to.write(right)
        return False

    def settle(self, to):
        """Let thread blocks end that have come back before another one was refused, or on another SM."""
        passed = 0
        while to.launch.state is KernelState.PREEMPTED and not to.launch.away and self.device.resident_tbs(to.launch):
            assert passed < LIMIT, "thread blocks that were brought back do not end"
            passed += self.device.advance(500)

    def resume(self, to):
        """Return how a resume ends, and what comes of it."""
        device, launch = self.device, to.launch
        try:
            device.resume(launch, max_cycles=LIMIT)
        except CommandRefused as refused:
            assert refused.error is CommandError.BAD_IMAGE, refused
            return REFUSED
        return self.outcome(to)

    def outcome(self, to):
        device, launch = self.device, to.launch
        try:
            device.wait(launch, LIMIT)
            return "ended"
        except KernelFault:
            return "fault"
        except CycleLimit:
            device.kill(launch, LIMIT)
            return "killed"

    def finish(self, each):
        """A launch whose context is its own ends, and is right unless another of its tenant has had its addresses."""
        if each.launch.state is KernelState.PREEMPTED:
            self.device.resume(each.launch, max_cycles=LIMIT)
        if any(other.owner is each.owner for other in self.harmed):
            self.device.wait(each.launch, LIMIT)
        else:
            each.work.finishes()

    def fresh(self):
        """Every slot is free for another launch, and nothing of the old ones is on the SMs."""
        assert all(each.launch.ended for each in self.placed)
        owners = [self.tenants[n % 2] for n in range(self.device.geometry.kernel_slots)]
        for work in [Stirring(owner, 1, 20 + n) for n, owner in enumerate(owners)]:
            work.finishes()


class Waiting:
    """A launch whose thread blocks wait for a flag each, and end with a number that is their own."""

    def __init__(self, device, owner, count):
        self.device, self.count = device, count
        self.flags, self.out = owner.zeros(32 * count, np.uint32), owner.zeros((count, 16), np.uint32)
        self.launch = owner.load(kernels().values())["consumer"](count, 16, [self.flags, self.out, 128])

    def call(self):
        for tb in range(self.count):
            self.device.write_memory(self.flags.address + 128 * tb, (1000 + tb).to_bytes(4, "little"))

    def finishes(self):
        self.device.wait(self.launch, LIMIT)
        assert (self.out.get() == 1000 + np.arange(self.count)[:, None] + np.arange(16)).all()


class MisplacedWhileAway(MisplacedContexts):
    """The same with thread blocks that are away since they wait for memory: their kernels run, and call them back."""

    KINDS = "entry", "stream", "image", "image", "areas"

    def begin(self, owner, number):
        work = Waiting(self.device, owner, 3 * self.device.geometry.sms)
        self.device.advance(3000)
        placed = Placed(owner, work.launch, work)
        placed.older = None
        return placed

    def away(self):
        assert any(each.saved() for each in self.placed)

    def moving(self):
        """All launches run meanwhile, also one that is refused on one SM."""
        outputs = [each.work.out.memory for each in self.placed]
        return [*(each.span for each in self.placed), *((out.address, out.address + out.size) for out in outputs)]

    def resume(self, to):
        """Call all thread blocks: those that are away come back, or their kernel says what is wrong."""
        to.work.call()
        for _ in range(LIMIT // 500):
            self.device.advance(500)
            state = to.launch.state
            if state is KernelState.PREEMPTED:
                assert to.launch.outcome is CommandError.BAD_IMAGE
                return REFUSED
            if state is KernelState.FINISHED:
                break
        return self.outcome(to)

    def finish(self, each):
        each.work.call()
        super().finish(each)
