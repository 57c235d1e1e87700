"""Saved entries: those committed and not yet demoted, with the generation of their preempt and their length, on which
side they are, and what the bases of TBs are."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import State
from caesura.hw.preempt.formats.packer import WORD_COUNT_BITS
from caesura.hw.preempt.formats.stream_extent import stream_extent
from caesura.hw.preempt.sequence.saved_entries import SavedEntries
from support.hw.simulation import component
from support.hw.stream_bench import simulate
from support.selection import quick

G = preset("tiny").replace(warps=12, tb_slots=6, kernel_slots=3)
GEOMETRIES = {"checkpoints": G.replace(in_place=False), "in place": G.replace(in_place=True),
              "no checkpoints": G.replace(checkpoints=False, in_place=False),
              "spare entries": G.replace(tb_slots=2, entries=6)}


def vector(numbers):
    return sum(1 << n for n in numbers)


def test_an_entry_is_saved_from_complete_to_demoted():
    dut, rng = component(SavedEntries, G), random.Random(1)

    async def bench(ctx):
        saved, records, in_memory = {k: {} for k in range(G.kernel_slots)}, set(), set()
        for _ in range(400):
            generation = rng.getrandbits(32)
            kernel, entry, saving = rng.randrange(G.kernel_slots), rng.randrange(G.context_entries), rng.getrandbits(1)
            state, error = rng.choice([State.COMPLETE, State.DEMOTED, State.BASE]), rng.random() < 0.3
            valid = rng.random() < 0.8
            start = 1 << rng.randrange(G.kernel_slots) if rng.random() < 0.02 else 0
            recording, voided = rng.random() < 0.1, rng.random() < 0.1
            voiding = not recording and (voided or rng.random() < 0.1)
            written = not recording and not voiding and kernel in records and rng.random() < 0.3
            valid = valid and not written
            for signal, what in ((dut.kernel, kernel), (dut.generation, generation), (dut.record_writing, recording),
                                 (dut.record_written, written), (dut.record_voiding, voiding),
                                 (dut.record_voided, voided and not recording), (dut.saving, saving),
                                 (dut.start, start), (dut.event, {"valid": valid, "entry": entry, "state": state,
                                                                  "error": error})):
                ctx.set(signal, what)
            await ctx.tick()
            if valid and not error and saving and state == State.COMPLETE:
                saved[kernel][entry] = generation
            elif valid and not error and state == State.DEMOTED:
                saved[kernel].pop(entry, None)
            if recording or voiding or valid and state == State.DEMOTED:  # whatever becomes of the write
                in_memory.discard(kernel)
            elif written:
                in_memory.add(kernel)
            if recording:
                records.add(kernel)
            elif voided or (valid and not error and state == State.DEMOTED):
                records.discard(kernel)
            for k in range(G.kernel_slots):
                if start >> k & 1:
                    saved[k].clear()
                    records.discard(k)
                    in_memory.discard(k)
            for signal in (dut.event.valid, dut.start, dut.record_writing, dut.record_written, dut.record_voiding,
                           dut.record_voided):
                ctx.set(signal, 0)
            assert ctx.get(dut.record_in_memory) == vector(in_memory)
            assert ctx.get(dut.contexts_kept) == vector(k for k in saved if saved[k] or k in records)
            for k in range(G.kernel_slots):
                ctx.set(dut.kernel, k)
                assert ctx.get(dut.record_stands) == (k in records)
                assert ctx.get(dut.saved) == vector(saved[k])
                for n, expected in saved[k].items():
                    ctx.set(dut.entry_select, n)
                    assert ctx.get(dut.entry_generation) == expected

    simulate(dut, bench)


@pytest.mark.parametrize("name", quick(GEOMETRIES, ["in place", "no checkpoints"]))
def test_the_length_of_a_stream_is_that_of_the_last_save_or_of_its_adoption(name):
    g = GEOMETRIES[name]
    dut, rng, extent = component(SavedEntries, g), random.Random(2), stream_extent(g)

    async def bench(ctx):
        known, sides = {}, [0] * g.kernel_slots
        for _ in range(400):
            kernel, entry, saving = rng.randrange(g.kernel_slots), rng.randrange(g.context_entries), rng.random() < 0.8
            data, metadata, warps = 4 * rng.getrandbits(rng.choice((8, 16, WORD_COUNT_BITS - 1))), 4 * rng.getrandbits(
                10), rng.randint(1, g.max_block_warps)
            valid, ended, side = rng.random() < 0.8, rng.random() < 0.2, rng.getrandbits(1) * g.checkpoints
            arrived, of_base = rng.random() < 0.1, rng.getrandbits(1) * g.checkpoints
            ctx.set(dut.kernel, kernel)
            ctx.set(dut.saving, saving)
            if rng.random() < 0.1:
                sides[kernel] = rng.getrandbits(g.context_entries) * g.checkpoints
                ctx.set(dut.adopt_begin, 1)
                ctx.set(dut.record_sides, sides[kernel])
                await ctx.tick()
                ctx.set(dut.adopt_begin, 0)
            ctx.set(dut.tally, {"valid": valid, "ended": ended, "tb": rng.randrange(g.tb_slots), "entry": entry,
                                "side": side, "data_bytes": data, "metadata_bytes": metadata, "warps": warps})
            ctx.set(dut.base_arrived if of_base else dut.image_arrived, arrived)
            ctx.set(dut.entry_select, found := rng.randrange(g.context_entries))
            read = {"words": rng.getrandbits(WORD_COUNT_BITS), "warps": rng.randint(1, g.max_block_warps)}
            ctx.set(dut.found, {"extent": read})
            await ctx.tick()
            if arrived:
                known[kernel, found, sides[kernel] >> found & 1 ^ of_base] = extent.const(read)
            elif saving and valid and not ended:
                known[kernel, entry, side] = extent.const({"words": (data + metadata) // 4, "warps": warps})
            ctx.set(dut.tally.valid, 0)
            ctx.set(dut.image_arrived, 0)
            ctx.set(dut.base_arrived, 0)
            shown = [(n, side ^ sides[kernel] >> n & 1, known[k, n, side]) for k, n, side in known if k == kernel]
            for (n, of_base, expected), (ahead, ahead_base, other) in zip(shown, shown[1:] + shown[:1], strict=True):
                for signal, what in ((dut.entry_select, n), (dut.entry_select_base, of_base),
                                     (dut.read_select, ahead), (dut.read_select_base, ahead_base)):
                    ctx.set(signal, what)
                assert ctx.get(dut.entry_extent) == expected and ctx.get(dut.read_extent) == other

    simulate(dut, bench)


class Kernel:
    """What is known of a kernel: its TBs run, or those in `saved` are.

    Attributes
    ----------
    saved : dict of int to (int, bool)
        Of each saved entry its side, and whether it is an increment.
    bases : dict of int to (int, int)
        Of each TB that has a base its side and the checksum of its entry.
    crcs : dict of (int, int) to int
        The checksum of what was last committed of an entry on a side.
    without : dict of int to (bool, bool)
        Of each saved entry whether it is without registers, without lines.
    completed : set of int
        Those of them to which there is a second image.
    """

    def __init__(self):
        self.saved, self.bases, self.crcs = {}, {}, {}
        self.without, self.completed = {}, set()

    def commits(self, entry, state, side, crc, incremental, keeps=(False, False), evicting=False):
        """The head of an entry is acknowledged."""
        if state == State.DEMOTED:
            side, increment = self.saved.pop(entry)
            if not increment and not any(self.without.get(entry, ())):
                self.bases[entry] = side, self.crcs[entry, side]
            self.completed.discard(entry)
            return
        self.crcs[entry, side] = crc
        if evicting:
            self.completed.add(entry)
            return
        if state == State.COMPLETE:
            self.without[entry] = keeps
            if any(keeps):
                self.bases.pop(entry, None)
        if state == State.BASE:
            self.bases[entry] = side, crc
        else:
            self.saved[entry] = side, incremental and entry in self.bases

    def check(self, ctx, dut, g):
        bases = self.bases if g.checkpoints else {}
        saved = vector(self.saved)
        assert ctx.get(dut.saved) == saved
        assert ctx.get(dut.sides) & saved == vector(n for n, (side, _) in self.saved.items() if side)
        assert ctx.get(dut.increments) & saved == vector(n for n, (_, increment) in self.saved.items() if increment)
        assert ctx.get(dut.bases) == vector(bases)
        for k, name in enumerate(("without_registers", "without_lines")):
            without = vector(n for n in self.saved if self.without.get(n, (False, False))[k])
            assert ctx.get(getattr(dut, name)) & saved == without
        assert ctx.get(dut.completed) & saved == vector(self.completed)
        for n in self.completed:  # shown by the checksum of the image that is completed
            ctx.set(dut.entry_select, n)
            assert ctx.get(dut.entry_crc) == self.crcs[n, self.saved[n][0]]
        for n, keeps in self.without.items():
            if n in self.saved and any(keeps):
                ctx.set(dut.evicting, 1)
                ctx.set(dut.base_select, n)
                assert ctx.get(dut.base_crc) == self.crcs[n, self.saved[n][0]]
        ctx.set(dut.evicting, 0)
        assert ctx.get(dut.base_sides) & vector(bases) == vector(n for n, (side, _) in bases.items() if side)
        crcs = [(n, crc) for n, (_, crc) in bases.items()]
        for (n, crc), (chosen, other) in zip(crcs, crcs[1:] + crcs[:1], strict=True):
            ctx.set(dut.entry_select, n)
            ctx.set(dut.base_select, chosen)
            assert ctx.get(dut.entry_crc) == crc and ctx.get(dut.base_crc) == other


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_tb_has_a_base_from_a_checkpoint_or_from_the_resume_of_a_whole_image_to_its_end(name):
    """TBs are saved as bases, whole or as increments, are resumed and end, and kernels start anew, in any order."""
    g = GEOMETRIES[name]
    dut, rng = component(SavedEntries, g), random.Random(name)

    async def bench(ctx):
        kernels = [Kernel() for _ in range(g.kernel_slots)]
        had = increments = second = 0
        for _ in range(800 if g.spare_entries else 400):
            number, entry = rng.randrange(g.kernel_slots), rng.randrange(g.context_entries)
            kernel, other = kernels[number], rng.randrange(g.kernel_slots)
            state = State.DEMOTED if entry in kernel.saved else rng.choice([State.COMPLETE, State.BASE])
            incremental = rng.getrandbits(1) if g.checkpoints and state == State.COMPLETE else 0
            valid, error, crc = rng.random() < 0.8, rng.random() < 0.2, rng.getrandbits(32)
            keeps = (False, False)
            if g.in_place and state == State.COMPLETE and rng.random() < 0.5:
                keeps, incremental = rng.choice(((True, True), (True, False), (False, True))), 0
            evicting = (state == State.DEMOTED and any(kernel.without[entry]) and entry not in kernel.completed
                        and rng.getrandbits(1))
            side = 1 - kernel.bases[entry][0] if g.checkpoints and entry in kernel.bases else 0
            if state == State.DEMOTED:
                side = kernel.saved[entry][0]
            if evicting:
                state, side = State.BASE, 1 - side
            ctx.set(dut.keeps_registers, keeps[0] << entry | rng.getrandbits(g.context_entries) & ~(1 << entry))
            ctx.set(dut.keeps_lines, keeps[1] << entry | rng.getrandbits(g.context_entries) & ~(1 << entry))
            ctx.set(dut.evicting, evicting)
            run = [n for n in range(g.context_entries)
                   if n not in kernels[other].saved and (other, n) != (number, entry)]
            ends = {"valid": rng.random() < 0.2 and bool(run), "kernel": other, "entry": rng.choice(run or [0])}
            start = 1 << other if rng.random() < 0.02 else 0
            for signal, what in ((dut.kernel, number), (dut.saving, state != State.DEMOTED and not evicting),
                                 (dut.incremental, incremental), (dut.start, start), (dut.ended, ends),
                                 (dut.event, {"valid": valid, "entry": entry, "side": side, "state": state,
                                              "crc": crc, "error": error})):
                ctx.set(signal, what)
            await ctx.tick()
            ctx.set(dut.event.valid, 0)
            ctx.set(dut.ended.valid, 0)
            ctx.set(dut.start, 0)
            ctx.set(dut.evicting, 0)
            if valid and not error:
                kernel.commits(entry, state, side, crc, incremental, keeps, evicting)
                second += evicting
            if ends["valid"]:
                kernels[other].bases.pop(ends["entry"], None)
            if start:
                kernels[other] = Kernel()
            for k in {number, other}:
                ctx.set(dut.kernel, k)
                kernels[k].check(ctx, dut, g)
            had |= vector(kernel.bases)
            increments |= vector(n for n, (_, increment) in kernel.saved.items() if increment)
        assert had == (1 << g.context_entries) - 1 and increments == had * g.checkpoints
        assert second > 10 or not g.in_place

    simulate(dut, bench)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_what_is_adopted_stands_on_the_sides_of_the_record_and_has_the_bases_that_it_names(name):
    g = GEOMETRIES[name]
    dut, rng = component(SavedEntries, g), random.Random(name)

    async def pulse(ctx, signal, **also):
        for each, what in also.items():
            ctx.set(getattr(dut, each), what)
        ctx.set(signal, 1)
        await ctx.tick()
        ctx.set(signal, 0)
        await ctx.tick().repeat(3)  # entries come in four cycles each

    async def adopt(ctx, number):
        """Adopt a kernel; then bring its TBs back, so that those that were whole are bases."""
        saved, sides, incremental = rng.getrandbits(g.context_entries), *(
            rng.getrandbits(g.context_entries) * g.checkpoints for _ in range(2))
        kernel, generations = Kernel(), {}
        ctx.set(dut.kernel, number)
        await pulse(ctx, dut.start[number])
        await pulse(ctx, dut.adopt_begin, record_sides=sides & saved)
        for n in range(g.context_entries):
            if saved >> n & 1:
                side, increment = sides >> n & 1, incremental >> n & 1
                crc, base_crc, generations[n] = (rng.getrandbits(32) for _ in range(3))
                kernel.saved[n], kernel.crcs[n, side] = (side, increment), crc
                stays = (False, False)
                if increment:
                    kernel.bases[n] = 1 - side, base_crc
                elif g.in_place:
                    stays = rng.choice(((False, False), (True, False), (False, True), (True, True)))
                kernel.without[n] = stays
                if any(stays):
                    kernel.completed.add(n)
                await pulse(ctx, dut.image_arrived, entry_select=n, found={
                    "generation": generations[n], "crc": crc, "increment": increment,
                    "base_crc": increment and base_crc, "registers_stay": stays[0], "lines_stay": stays[1],
                    "extent": {"words": n + 1, "warps": 1}})
        for n in kernel.bases:
            ctx.set(dut.entry_select, n)
            assert ctx.get(dut.entry_crc) == kernel.bases[n][1]
            await pulse(ctx, dut.base_arrived, found={"generation": 1, "crc": 2, "increment": 0, "base_crc": 3,
                                                      "extent": {"words": n + 99, "warps": 1}})
        assert not ctx.get(dut.saved)
        await pulse(ctx, dut.adopted.valid, adopted={"saved": saved, "kernel": number})
        kernel.check(ctx, dut, g)
        for n in kernel.saved:
            ctx.set(dut.entry_select, n)
            assert ctx.get(dut.entry_generation) == generations[n]
            for of_base, words in ((0, n + 1), *([(1, n + 99)] if n in kernel.bases else [])):
                ctx.set(dut.entry_select_base, of_base)
                assert ctx.get(dut.entry_extent.words) == words
        for n in list(kernel.saved):
            kernel.commits(n, State.DEMOTED, kernel.saved[n][0], 0, 0)
            await pulse(ctx, dut.event.valid, event={"entry": n, "side": sides >> n & 1, "state": State.DEMOTED})
            kernel.check(ctx, dut, g)

    async def bench(ctx):
        for _ in range(4):
            for number in range(g.kernel_slots):
                await adopt(ctx, number)

    simulate(dut, bench)
