"""Contexts of TBs as streams of words, and a `RestorePipeline` that they go through."""

from itertools import accumulate

import numpy as np

from caesura.hw.arch.geometry import BARRIERS, PREDICATES, UNIFORMS, preset
from caesura.hw.arch.image.context import WARP_HEADER, from_words, stream_crcs, to_words
from caesura.hw.arch.image.encodings import Encoding, decode, encoded_words, encodings_of, in_order, row_of, row_words
from caesura.hw.arch.image.image_writer import record_words
from caesura.hw.arch.image.tb_history import RegisterHistory
from caesura.hw.arch.isa.liveness import ALL_LIVE, liveness_vector
from caesura.hw.interfaces.payloads import rows_per_line
from caesura.hw.preempt.restore.pipeline import RestorePipeline
from support.hw.buses import with_bus
from support.hw.options import nested
from support.hw.scalars import written_uniforms
from support.hw.simulation import component
from support.hw.stacks import random_stack
from support.hw.stream_bench import get, put, simulate, steady, value

GEOMETRIES = {"8x8": preset("tiny"), "16x4": preset("tiny").replace(
    warps=6, tb_slots=3, warp_size=16, lanes=4, regs_per_thread=60, registers=512, shared_bytes=128 * 50),
    "bus of 128": with_bus(128)}
KERNEL = 1


class Warp:
    """A warp of a context image; some of its registers follow from the `history`.

    It may repeat uniform registers of the warp `before`.
    """

    def __init__(self, g, rng, registers, worst, history, before):
        full, some = (1 << g.warp_size) - 1, {"least": 0.0, "most": 1.0, "any": 0.4}[worst]

        def chosen(count):
            return [k for k in range(count) if rng.random() < some]

        depth = {"least": 1, "most": g.stack_depth, "any": rng.randint(1, g.stack_depth)}[worst]
        self.launched = full >> rng.randrange(g.warp_size)
        self.live = self.launched & rng.choice([full, rng.randint(0, full) | 1])
        self.waiting, self.barrier = rng.getrandbits(1), rng.randrange(BARRIERS)
        self.predicates = {p: rng.randint(0, full) for p in chosen(PREDICATES)}
        self.uniforms = {u: rng.getrandbits(32) for u in chosen(UNIFORMS)}
        self.before = before.uniforms if before else {}
        if rng.random() < 0.6:
            own = {u: value for u, value in self.uniforms.items() if u not in self.before or rng.random() < 0.3}
            self.uniforms = dict(sorted((self.before | own).items()))
        self.stack = random_stack(rng, depth, self.live)
        known, self.registers = encodings_of(g.warp_size, g.lanes), registers
        self.codes = {r: rng.choice(known) for r in chosen(registers)}
        self.words, self.values = {}, {}
        for register, code in self.codes.items():
            if history.next_of(register) and rng.random() < 0.5:
                self.codes[register] = Encoding.FOLLOWS
                self.words[register], (code, words) = [], history.next_of(register)
                words = words.tolist()
            else:
                self.words[register] = words = [rng.getrandbits(32) for _ in range(encoded_words(code, g.warp_size))]
            row = np.array([words + [0] * (g.warp_size - len(words))], np.uint32)
            history.keep(register, code, row[0])
            self.values[register] = decode(np.array([code]), row, g.lanes)[0].tolist()

    def all_codes(self):
        return [self.codes.get(register, Encoding.DEAD) for register in range(8 * row_words(self.registers))]

    def record(self, number):
        words = record_words(number, self.launched, self.live, self.barrier if self.waiting else None, self.predicates,
                             self.uniforms, self.stack, self.before)
        words[:1] = to_words(WARP_HEADER, **from_words(WARP_HEADER, words[:1]) | self.changed)
        return words + [word for register in in_order(np.array(self.all_codes())) for word in self.words[register]]

    changed: dict[str, int] = {}
    """Fields of the header that are wrong."""


class Image:
    """A TB of a context image, and the room that it gets. With a `base` the image is the increment since.

    `tail` words are added to its stream, or cut off it. `flip` changes the checksum of its table. `crc` is the checksum
    that the image names, `read_crc` the one that the words give.
    """

    def __init__(self, g, rng, accepted, worst, warps=None, base=None):
        self.g, self.accepted, registers = g, accepted, accepted["registers"]
        there = sorted(base.warps) if base else range(accepted["warps"])
        numbers = rng.sample(there, rng.randint(1, len(there)) if warps is None else warps)
        self.warps, history, warp = {}, RegisterHistory(g.warp_size), None
        for n in numbers:
            self.warps[n] = warp = Warp(g, rng, registers, worst, history, warp)
        self.lines = {n: [rng.getrandbits(32) for _ in range(32)] for n in range(accepted["lines"])
                      if rng.random() < {"least": 0.0, "most": 1.0, "any": 0.5}[worst]}
        first = 4 * rng.randrange((g.registers - accepted["warps"] * registers) // 4)
        self.place = {"valid": 1, "bad": 0, "tb": rng.randrange(g.tb_slots), "base": first,
                      "first_line": rng.randrange(g.shared_lines - accepted["lines"] + 1),
                      "slots": rng.sample(range(g.warps), g.max_block_warps)}
        self.entry, self.skip = rng.randrange(g.tb_slots), rng.randrange(4) if self.warps else 0
        self.base, self.is_base = base, 0
        if base:
            base.is_base, self.entry, self.place = 1, base.entry, base.place
        self.tail, self.extra_lines = 0, 0
        self.crc = self.read_crc = rng.getrandbits(32)
        self.flip = 0

    def stream(self, rng):
        """Words before the table, the table, and the rest."""
        table = self.table()
        rest = [word for number, warp in self.warps.items() for word in warp.record(number)]
        lines = sum(1 << n for n in self.lines) | self.extra_lines
        rest += [lines >> 32 * k & 0xFFFF_FFFF for k in range(-(-self.accepted["lines"] // 32))]
        rest += [word for n in sorted(self.lines) for word in self.lines[n]]
        rest = rest[:self.tail] if self.tail < 0 else rest + [rng.getrandbits(32)] * self.tail
        return [rng.getrandbits(32) for _ in range(self.skip)] + table + rest

    def table(self):
        return [word for warp in self.warps.values() for word in row_of(warp.all_codes())]

    def job(self, words):
        _, crc = stream_crcs(self.g, self.table(), len(self.warps), self.accepted["registers"])
        return {"entry": self.entry, "place": self.place, "live_warps": sum(1 << n for n in self.warps),
                "words": words - self.skip, "skip": self.skip, "stream_crc": self.crc, "table_crc": crc ^ self.flip,
                "base": self.is_base, "increment": int(self.base is not None)}

    def values(self, number):
        """Return the registers of a warp that are saved, here or in the base."""
        return (self.base.values(number) if self.base else {}) | self.warps[number].values

    def all_lines(self):
        """Return the lines that are saved, here or in the base."""
        return (self.base.lines if self.base else {}) | self.lines


class Bench:
    """The words that come, and the core that is written. If `slow`, often a word or none comes at a time.

    Places without a word yet hold random bits, and the bits of `stale`.
    """

    def __init__(self, g, rng, stall, slow=False, stale=0):
        self.g, self.rng, self.stall, self.dut = g, rng, stall, component(RestorePipeline, g)
        self.slow, self.stale = slow, stale
        self.forget()

    def forget(self):
        self.inits, self.stacks, self.predicates, self.uniforms, self.registers, self.rows = {}, {}, {}, {}, {}, {}
        self.jobs, self.bads, self.of_base = [], [], ({}, {}, {})

    async def offer(self, ctx):
        while True:
            if self.jobs:
                await put(ctx, self.dut.job, self.jobs.pop(0))
            else:
                await ctx.tick()

    def warps(self):
        async def watch(ctx):
            while True:
                init = value(await get(ctx, self.dut.warp_init, self.rng, self.stall))
                assert init["warp"] not in self.inits, "twice, or before its base is done"
                self.inits[init["warp"]] = init
        return watch

    def pushes(self):
        async def watch(ctx):
            while True:
                push = value(await get(ctx, self.dut.stack_push, self.rng, self.stall))
                assert push["warp"] in self.inits, "a push before its warp is there"
                self.stacks.setdefault(push.pop("warp"), []).append(push)
        return watch

    async def scalars(self, ctx):
        """Take uniform registers in the cycle in which they come."""
        async for _, _, uniform in ctx.tick().sample(self.dut.restore_uniform):
            if uniform.valid:
                self.uniforms.setdefault(uniform.warp, {}).update(written_uniforms(uniform))

    async def whole_predicates(self, ctx):
        while True:
            written = value(await get(ctx, self.dut.restore_predicate, self.rng, self.stall))
            self.predicates.setdefault(written["warp"], {})[written["predicate"]] = written["value"]

    async def writes(self, ctx):
        g = self.g
        while True:
            beat = value(await get(ctx, self.dut.restore_write, self.rng, self.stall))
            lanes = self.registers.setdefault((beat["warp"], beat["base"], beat["register"]), [])
            assert len(lanes) == g.lanes * beat["beat"] and beat["last"] == (beat["beat"] == g.beats - 1)
            assert beat["mask"] == (1 << g.lanes) - 1 and beat["warp"] in self.inits
            lanes += beat["data"]

    async def lines(self, ctx):
        while True:
            access = value(await get(ctx, self.dut.row, self.rng, self.stall))
            assert access["write"] and access["row"] not in self.rows
            self.rows[access["row"]] = access["data"]

    async def restore(self, ctx, image, failed_at=None):
        """Give a TB's words, those of its base first; return whether it is bad. The pipeline takes all words."""
        dut, rng, taken, level = self.dut, self.rng, 0, 0
        images = [image.base, image] if image.base else [image]
        streams = [each.stream(rng) for each in images]
        words, ends = sum(streams, []), list(accumulate(map(len, streams)))
        self.jobs += [each.job(len(stream)) for each, stream in zip(images, streams, strict=True)]
        for _ in range(20000):
            if failed_at is not None and taken >= failed_at:
                ctx.set(dut.failed, 1)
            most = self.g.window_words
            more = rng.choice([0, 1, rng.randint(0, most)] if self.slow else [most, most, rng.randint(0, most)])
            level = min(max(level, more), len(words) - taken)
            ctx.set(dut.words, words[taken:taken + level] + [rng.getrandbits(32) | self.stale] * (most - level))
            ctx.set(dut.level, level)
            if taken >= ends[0] and rng.random() < 0.3:
                ctx.set(dut.crc.payload, images[0].read_crc)
                ctx.set(dut.crc.valid, 1)
            _, _, take, done = await ctx.tick().sample(dut.take, dut.done)
            assert take <= level
            taken, level = taken + take, level - take  # what is shown stays until it is taken
            if done.valid:
                of, end = images.pop(0), ends.pop(0)
                assert done.entry == image.entry and taken >= end
                assert done.base == of.is_base and done.clean == (of.base is None)
                self.bads.append(done.bad)
                ctx.set(dut.crc.valid, 0)
                if images:
                    ctx.set(dut.failed, done.bad)
                    self.put_aside()
                    continue
                ctx.set(dut.failed, 0)
                ctx.set(dut.level, 0)
                assert ctx.get(dut.idle)
                return done.bad
        raise TimeoutError("the TB is never done")

    def put_aside(self):
        """Put aside the base that the core holds; it has no state of warps."""
        assert not (self.stacks or self.predicates or self.uniforms)
        self.of_base = self.inits, self.registers, self.rows
        self.inits, self.registers, self.rows = {}, {}, {}

    def merge(self):
        """Put the increment's registers and lines over those of the base that the core keeps."""
        inits, registers, rows = self.of_base
        assert inits.keys() == self.inits.keys() and not any(init["kept"] for init in inits.values())
        self.registers = {place: lanes for place, lanes in registers.items()
                          if self.inits[place[0]]["kept"]} | self.registers
        self.rows = rows | self.rows

    async def restore_cut(self, ctx, image):
        """Restore an image: it is bad if its end is missing, else the core holds it."""
        assert await self.restore(ctx, image) == (image.tail != 0)
        if image.tail:
            await ctx.tick().repeat(20)
            self.forget()
        else:
            self.check(image)

    def check(self, image):
        """Compare what the core holds with the image, and forget it."""
        g, s, place = self.g, image.accepted, image.place
        if image.base:
            self.merge()
        for number in range(s["warps"]):
            slot, base, warp = place["slots"][number], place["base"] + number * s["registers"], image.warps.get(number)
            init = self.inits.pop(slot)
            expected = {"warp": slot, "tb": place["tb"], "kernel": KERNEL, "block_warp": number, "base": base,
                        "registers": s["registers"]}
            if warp is None:
                assert init["live"] == 0 and {name: init[name] for name in expected} == expected
                continue
            live_vector = ALL_LIVE if image.base else liveness_vector(warp.codes) | ALL_LIVE & ~s["allocated"]
            values = image.values(number)
            assert init == expected | {
                "kept": int(image.base is not None),
                "launched": warp.launched, "live": warp.live, "waiting": warp.waiting,
                "barrier": warp.barrier * warp.waiting, "live_vector": live_vector}
            assert self.stacks.pop(slot) == [dict(zip(("pc", "mask", "reconv"), each, strict=True))
                                             for each in warp.stack]
            assert self.predicates.pop(slot, {}) == warp.predicates and self.uniforms.pop(slot, {}) == warp.uniforms
            for register, lanes in values.items():
                assert self.registers.pop((slot, base, register)) == lanes
            dead = set(range(s["registers"])) - set(values) if s["scramble"] else ()
            noise = [self.registers.pop((slot, base, register)) for register in dead]
            assert len({lane for lanes in noise for lane in lanes}) >= 0.9 * len(noise) * g.warp_size, "not random"
        per_line = rows_per_line(g)
        for n, words in image.all_lines().items():
            first = (place["first_line"] + n) * per_line
            assert [word for k in range(per_line) for word in self.rows.pop(first + k)] == words
        assert not (self.inits or self.stacks or self.predicates or self.uniforms or self.registers or self.rows)
        self.forget()

    def run(self, accepted, scenario):
        dut = self.dut

        async def bench(ctx):
            ctx.set(dut.accepted, nested(dut.accepted.shape(), accepted))
            await scenario(ctx)

        simulate(dut, bench, watches=[
            self.offer, self.warps(), self.pushes(), self.scalars, self.whole_predicates, self.writes, self.lines,
            *map(steady, (dut.warp_init, dut.stack_push, dut.row, dut.restore_write))])


def accepted_of(g, registers, lines, scramble=0):
    return {"kernel": KERNEL, "registers": registers, "allocated": (1 << registers) - 1, "lines": lines,
            "row_words": row_words(registers), "warps": min(3, g.max_block_warps), "scramble": scramble}
