"""A `RecordWriter` between an SM that stops and the streams that it fills; every record is checked."""

from caesura.hw.arch.geometry import BARRIERS, PC_NONE, PREDICATES, UNIFORMS, preset
from caesura.hw.arch.image.context import WARP_HEADER, Mechanism, area_address, entry_address, from_words
from caesura.hw.arch.image.image_writer import record_words
from caesura.hw.arch.isa.liveness import ALL_LIVE, LIVE_BITS
from caesura.hw.interfaces.payloads import rows_per_line
from caesura.hw.preempt.save.closer import ORIGIN
from caesura.hw.preempt.save.records import RecordWriter
from support.hw.options import nested
from support.hw.scalars import live_at, pair_values, saved_scalars
from support.hw.simulation import component
from support.hw.stacks import random_stack
from support.hw.stream_bench import get, simulate, steady, value

TINY = preset("tiny").replace(shared_bytes=128 * 12)
GEOMETRIES = {"bus of 8": TINY, "bus of 16": preset("tiny").replace(
    warps=6, tb_slots=3, warp_size=16, lanes=4, bus_bytes=16, regs_per_thread=64, shared_bytes=128 * 140)}
CCB_BASE, AREA_BYTES = 0x8_0000, 0x3000


def bits(vector):
    return [k for k in range(vector.bit_length()) if vector >> k & 1]


class Warp:
    """The state of a warp slot in the front end."""

    def __init__(self, g, rng, registers, worst):
        full = (1 << g.warp_size) - 1
        self.lanes = full
        vector = rng.choice([0, ALL_LIVE, rng.getrandbits(LIVE_BITS)])
        some = [0, (1 << 64) - 1, rng.getrandbits(64)]
        self.valid = (1 << registers) - 1 & (some[worst] if worst is not None else rng.choice(some))
        self.dirty = self.valid & rng.choice([0, rng.getrandbits(64), rng.getrandbits(64), (1 << 64) - 1])
        self.view = {"base": rng.randrange(g.registers), "launched": full >> rng.randrange(g.warp_size),
                     "waiting": rng.getrandbits(1), "barrier": rng.randrange(BARRIERS),
                     "live_vector": vector, "between": rng.random() < 0.4}
        if worst == 0:
            depth, predicates, uniforms = 1, 0, 0
        elif worst == 1:
            depth, predicates, uniforms = g.stack_depth, (1 << PREDICATES) - 1, (1 << UNIFORMS) - 1
        else:
            depth, predicates = rng.randint(1, g.stack_depth), rng.getrandbits(PREDICATES)
            uniforms = rng.getrandbits(UNIFORMS) & rng.getrandbits(UNIFORMS)
        self.view["live"] = self.view["launched"] & rng.choice([full, rng.randint(1, full) | 1])
        self.stack = random_stack(rng, depth, self.view["live"])
        self.predicates = {p: rng.randint(0, full) for p in bits(predicates)}
        self.uniforms = {u: rng.getrandbits(32) for u in bits(uniforms)}

    def saved(self, accepted, increment):
        """Return the mask of the registers that have to be saved."""
        clean = self.valid & ~self.dirty if increment else 0
        if accepted["restart"]:
            return 0
        if accepted["mechanism"] == Mechanism.OCCUPIED:
            return accepted["allocated"] & ~clean
        live = sum(1 << r for r in self.live(accepted).registers) & ~clean
        return live if accepted["scramble"] else live & self.valid

    def live(self, accepted):
        """Return what is live where the warp stands."""
        return live_at(accepted["mechanism"], self.view["between"], self.view["live_vector"], accepted["registers"])

    def record(self, number, accepted, before):
        """Return the words of the record, without registers, and its uniform registers.

        `before` are the uniform registers of the warp before.
        """
        view = self.view
        if accepted["restart"]:
            launched = view["launched"]
            return record_words(number, launched, launched, None, {}, {}, [(0, launched, PC_NONE)]), {}
        scalars = saved_scalars(self.predicates, self.uniforms, self.live(accepted), self.lanes, accepted["scramble"])
        words = record_words(number, view["launched"], view["live"], view["barrier"] if view["waiting"] else None,
                             *scalars, self.stack, before if accepted["mechanism"] == Mechanism.LIVE_TB else None)
        return words, scalars[1]

    def share(self, rng, common):
        """Take nearly the uniform registers of the other warps."""
        kept = [u for u in common if rng.random() < 0.9]
        others = {u: rng.getrandbits(32) for u in range(UNIFORMS) if rng.random() < 0.1}
        changed = {u: common[u] if rng.random() < 0.7 else rng.getrandbits(32) for u in kept}
        self.uniforms = dict(sorted((rng.choice((common, common, {**others, **common}, changed))).items()))
        self.view |= {"live_vector": ALL_LIVE} if rng.random() < 0.8 else {}


class Bench:
    """A record writer, the SM that it reads, and its outputs."""

    def __init__(self, g, rng, mechanism, scramble, lines, registers, worst=None, restart=0):
        self.g, self.rng, self.dut = g, rng, component(RecordWriter, g)
        self.accepted = {"mechanism": mechanism, "scramble": scramble, "ccb_base": CCB_BASE, "area_bytes": AREA_BYTES,
                        "restart": restart, "registers": registers, "warps": 2, "lines": lines,
                        "allocated": (1 << registers) - 1}
        self.warps = [Warp(g, rng, registers, worst) for _ in range(g.warps)]
        if mechanism == Mechanism.LIVE_TB:
            common = {u: rng.getrandbits(32) for u in range(UNIFORMS) if rng.random() < 0.6}
            for warp in self.warps:
                warp.share(rng, common)
        self.places, self.slots = {}, {}
        some = rng.getrandbits(g.shared_lines)
        self.lines_valid = some if worst is None else rng.choice([0, some, (1 << g.shared_lines) - 1])
        self.lines_dirty = self.lines_valid & rng.getrandbits(g.shared_lines)
        self.stopped = self.exited = 0
        self.pieces, self.items, self.line_items, self.jobs, self.closes = [], [], [], [], []
        self.origins = []
        self.masks, self.kept = {}, []

    def target(self, tb, slots, first_line, increment=0, stays=(0, 0)):
        """Return the TB to be saved, on either side; its warps are numbered in the order of `slots`.

        `stays` says whether its registers, and whether its lines, stay on the SM.
        """
        for number, slot in enumerate(slots):
            self.places[slot] = number
        self.slots[tb] = slots
        rng = self.rng
        row = {"valid": 1, "started": 1, "warps": sum(1 << slot for slot in slots), "first_line": first_line,
               "lines": self.accepted["lines"], "launch_id": rng.getrandbits(32), "ctaid_x": rng.getrandbits(32),
               "ctaid_y": rng.getrandbits(16), "ctaid_z": rng.getrandbits(16), "local_base": rng.getrandbits(32),
               "entry": rng.randrange(self.g.tb_slots)}
        return {"tb": tb, "row": row, "side": rng.getrandbits(1), "increment": increment,
                "base_crc": rng.getrandbits(32), "registers": stays[0], "lines": stays[1],
                "staying": rng.randrange(self.g.tb_slots), "evict": 0}

    def evicted(self, tb, warps, first_line, stays):
        """Return a TB that has left the SM, but for what stays of these warps."""
        places = dict(self.places)
        target = self.target(tb, warps, first_line, stays=stays)
        self.places, self.slots[tb] = places, sorted(warps)
        self.masks |= {(target["staying"], warp): self.rng.choice((0, self.rng.getrandbits(64)))
                       & self.accepted["allocated"] for warp in warps}
        base = self.rng.randrange(self.g.registers)
        return target | {"evict": 1, "row": target["row"] | {"base": base, "warps": sum(1 << warp for warp in warps)}}

    def state(self, ctx, stopped, exited):
        self.stopped, self.exited = stopped, exited
        ctx.set(self.dut.stopped, stopped)
        ctx.set(self.dut.exited, exited)

    async def views(self, ctx):
        """Answer each selection before the next edge."""
        dut, window, flags = self.dut, self.dut.warps.window, self.dut.flags
        ctx.set(dut.accepted, nested(dut.accepted.shape(), self.accepted))
        ctx.set(dut.lines_valid, self.lines_valid)
        ctx.set(dut.lines_dirty, self.lines_dirty)
        while True:
            select = ctx.get(window.select)
            warp = self.warps[min(select.warp, self.g.warps - 1)]
            entry = warp.stack[min(select.entry, len(warp.stack) - 1)]
            ctx.set(window.view, {"valid": 1, "block_warp": self.places.get(select.warp, 0), **warp.view,
                                  "depth": len(warp.stack),
                                  **dict(zip(("pc", "mask", "reconv"), entry, strict=True))})
            flagged = self.warps[min(ctx.get(flags.warp), self.g.warps - 1)]
            ctx.set(flags.valid, flagged.valid)
            ctx.set(flags.dirty, flagged.dirty)
            ctx.set(flags.predicates_written, sum(1 << p for p in flagged.predicates))
            ctx.set(flags.predicate_value, flagged.predicates.get(ctx.get(flags.predicate_select), 0))
            ctx.set(dut.warps.uniforms_written, sum(1 << u for u in warp.uniforms))
            ctx.set(dut.warps.uniform_values, pair_values(warp.uniforms, ctx.get(dut.warps.uniform_select)))
            kept = ctx.get(dut.mask_select)
            ctx.set(dut.mask, self.masks.get((kept.row, kept.warp), 0))
            _, _, keep = await ctx.tick().sample(dut.mask_write)
            if keep.valid:
                self.kept.append((keep.of.row, keep.of.warp, keep.mask))

    def sink(self, port, into, stall):
        async def watch(ctx):
            while True:
                into.append(value(await get(ctx, port, self.rng, stall)))
        return watch

    def chunks(self, stall):
        """Return a watch that gathers the pieces: (words, what follows, the warps stopped until then)."""
        async def watch(ctx):
            words = []
            while True:
                chunk = value(await get(ctx, self.dut.chunk, self.rng, stall))
                assert not chunk["skip"]
                words += chunk["words"][:chunk["count"]]
                if chunk["flush"]:
                    self.pieces.append((words, chunk["tag"], self.stopped))
                    words = []
        return watch

    async def taken(self, ctx):
        """Note the origin of each TB that is taken."""
        while True:
            *_, origin = await ctx.tick().sample(self.dut.origin)
            if origin.valid:
                self.origins.append(value(origin))

    def run(self, *benches, stall=0.3):
        dut = self.dut
        outputs = {dut.registers: self.items, dut.lines: self.line_items, dut.job: self.jobs, dut.close: self.closes}
        simulate(dut, *benches, watches=[
            self.views, self.taken, *(self.sink(port, into, stall) for port, into in outputs.items()),
            self.chunks(stall), *map(steady, (dut.chunk, *outputs))])

    def check(self, target, bank, ended=False):
        """Take the TB's part of the outputs, and compare it."""
        g, accepted, tb, row = self.g, self.accepted, target["tb"], target["row"]
        place = {"entry": row["entry"], "side": target["side"]}
        index = row["entry"] + target["side"] * g.tb_slots
        body = entry_address(CCB_BASE, index) + 8 - 8 % g.bus_bytes
        close = self.closes.pop(0)
        left = {slot for slot in self.slots[tb] if accepted["restart"] or not self.exited >> slot & 1}
        left = set() if ended else left
        numbers, words, listed, registers, before = [], 0, 0, 0, {}
        while self.pieces and not self.pieces[0][1]["closes"] and len(numbers) < close["records"]:
            record, tag, stopped = self.pieces.pop(0)
            number = from_words(WARP_HEADER, record[:1])["warp"]
            slot = self.slots[tb][number]
            warp = self.warps[slot]
            mask = warp.saved(accepted, target["increment"])
            if target["registers"] or target["lines"]:
                assert self.kept.pop(0) == (target["staying"], number, mask & warp.valid)
                mask = 0 if target["registers"] else mask
            expected, before = warp.record(number, accepted, before)
            assert record == expected and (stopped | accepted["restart"] * self.exited) >> slot & 1
            assert tag == {"rows": 0, "registers": mask != 0, "closes": 0}
            if mask:
                item = self.items.pop(0)
                names = ("warp", "base", "mask", "raw", "scramble", "counted", "of")
                assert [item[name] for name in names] == [
                    slot, warp.view["base"], mask, accepted["mechanism"] < Mechanism.LIVE_CP,
                    accepted["scramble"], warp.view["live"],
                    {"record": len(numbers), "bank": bank}]
                assert item["valid"] & mask == warp.valid & mask
                listed |= 1 << len(numbers)
                registers += bin(mask).count("1")
            numbers.append(number)
            left.discard(slot)
            words += len(record)
        assert not left and len(set(numbers)) == len(numbers)
        lines = 0
        if numbers:
            if accepted["lines"]:
                lines, words = self._lines(target, words)
            piece, tag, _ = self.pieces.pop(0)
            assert piece == [] and tag == {"rows": 0, "registers": 0, "closes": 1}
            area = area_address(g, CCB_BASE, AREA_BYTES, index)
            assert self.jobs.pop(0) == {"address": area, **place} and close["area"] == area
            if not ended:
                assert self.jobs.pop(0) == {"address": body, **place}
        assert {name: close[name] for name in close if name != "area"} == {
            "tb": tb, "bank": bank, "ended": ended, "written": bool(numbers),
            "live_warps": sum(1 << n for n in numbers),
            "records": len(numbers), "items": bin(listed).count("1"), "listed": listed, "registers": registers,
            "lines": lines, "metadata_words": words,
            "registers_stay": target["registers"], "lines_stay": target["lines"],
            **{name: target[name] for name in ("side", "increment", "base_crc", "evict")},
            "entry": row["entry"]}
        assert self.origins.pop(0) == {"valid": 1, "bank": bank, **{name: row[name] for name in ORIGIN}}

    def _lines(self, target, words):
        """Take the bitmap and the items of the lines; return the lines, and the words so far."""
        count, row = self.accepted["lines"], target["row"]
        saved = (1 << count) - 1
        valid = self.lines_valid >> row["first_line"] & saved
        if self.accepted["mechanism"] != Mechanism.OCCUPIED:
            saved &= valid
        if target["increment"]:
            saved &= ~valid | self.lines_dirty >> row["first_line"]
        if target["lines"] != target["evict"] or self.accepted["restart"]:
            saved = 0
        bitmap, tag, _ = self.pieces.pop(0)
        groups = -(-count // 32)
        assert bitmap == [saved >> 32 * k & 0xFFFF_FFFF for k in range(groups)]
        lines = bin(saved).count("1")
        assert tag == {"rows": lines * rows_per_line(self.g), "registers": 0, "closes": 0}
        for k, word in enumerate(bitmap):
            if word:
                item = self.line_items.pop(0)
                assert (item["line"], item["mask"]) == (row["first_line"] + 32 * k, word)
                assert item["valid"] & word == valid >> 32 * k & word
        return lines, words + groups

    def nothing_left(self):
        assert not (self.pieces or self.items or self.line_items or self.jobs or self.closes or self.kept)

    def check_evicted(self, target, bank):
        """Check an eviction as `check` does: records are without state, and registers are those that stayed."""
        g, accepted, row, full = self.g, self.accepted, target["row"], (1 << self.g.warp_size) - 1
        everything = accepted["mechanism"] == Mechanism.OCCUPIED or accepted["scramble"]
        close, words, listed, registers = self.closes.pop(0), 0, 0, 0
        numbers = self.slots[target["tb"]]
        for k, number in enumerate(numbers):
            record, tag, _ = self.pieces.pop(0)
            assert record == record_words(number, full, full, None, {}, {}, [(0, full, PC_NONE)])
            kept = self.masks[target["staying"], number]
            mask = target["registers"] and (accepted["allocated"] if everything else kept)
            assert tag == {"rows": 0, "registers": mask != 0, "closes": 0}
            if mask:
                item = self.items.pop(0)
                base = (row["base"] + number * accepted["registers"]) % g.registers
                assert [item[name] for name in ("base", "mask", "raw", "counted", "stays", "of")] == [
                    base, mask, accepted["mechanism"] < Mechanism.LIVE_CP, full, 1, {"record": k, "bank": bank}]
                assert item["valid"] & mask == kept & mask
                listed, registers = listed | 1 << k, registers + mask.bit_count()
            words += len(record)
        lines, words = self._lines(target, words) if accepted["lines"] else (0, words)
        assert self.pieces.pop(0)[:2] == ([], {"rows": 0, "registers": 0, "closes": 1})
        place = {"entry": row["entry"], "side": target["side"]}
        index = row["entry"] + target["side"] * g.tb_slots
        assert self.jobs.pop(0) == {"address": area_address(g, CCB_BASE, AREA_BYTES, index), **place}
        assert self.jobs.pop(0) == {"address": entry_address(CCB_BASE, index) + 8 - 8 % g.bus_bytes, **place}
        expected = {"ended": 0, "written": 1, "live_warps": sum(1 << n for n in numbers), "records": len(numbers),
                    "items": listed.bit_count(), "listed": listed, "registers": registers, "lines": lines,
                    "metadata_words": words, "registers_stay": target["registers"], "lines_stay": target["lines"],
                    "evict": 1, "base_crc": target["base_crc"], "increment": 0, **place}
        assert {name: close[name] for name in expected} == expected
