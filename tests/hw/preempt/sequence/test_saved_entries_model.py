"""Saved entries beside a model that does the same with dictionaries, in every cycle, with any inputs."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import State
from caesura.hw.preempt.formats.packer import WORD_COUNT_BITS
from caesura.hw.preempt.sequence.saved_entries import SavedEntries
from support.hw.lockstep import lockstep, noise
from support.hw.simulation import component

G = preset("tiny").replace(warps=12, tb_slots=6, kernel_slots=3)
GEOMETRIES = {"in place": G, "checkpoints": G.replace(in_place=False),
              "no checkpoints": G.replace(checkpoints=False, in_place=False)}
PULSES = {"adopt_begin": 0.05, "image_arrived": 0.2, "base_arrived": 0.1, "record_writing": 0.05, "record_written": 0.1,
          "record_voiding": 0.05, "record_voided": 0.05}
"""What lasts a cycle, and how often it comes."""
FLAGS = ("saving", "incremental", "evicting")


class Kernel:
    """A set of entries for each name of an output."""

    def __init__(self, entries):
        self.sets = {name: [0] * entries for name in (
            "saved", "sides", "increments", "bases", "base_sides", "without_registers", "without_lines", "completed")}

    def begin(self, in_place):
        for name in ("saved", "bases", *(["completed"] if in_place else [])):
            self.sets[name] = [0] * len(self.sets[name])

    def follow(self, g, given, event, ended):
        """Go on by a cycle as the kernel in hand: the state that is acknowledged, the entry whose TB has ended, if one
        is, if one has."""
        before = {name: list(bits) for name, bits in self.sets.items()}
        if ended is not None:
            self.sets["bases"][ended] = 0
        sets, found, select = self.sets, given["found"], given["entry_select"]
        entry, side = given["event"]["entry"], given["event"]["side"]
        saved, based = (given["saving"] and event == state for state in (State.COMPLETE, State.BASE))
        demoted = event == State.DEMOTED
        if given["adopted"]["valid"]:
            sets["saved"] = [given["adopted"]["saved"] >> k & 1 for k in range(g.context_entries)]
        elif saved or demoted:
            sets["saved"][entry] = int(saved)
        if g.checkpoints:
            if saved:
                sets["sides"][entry] = side
                sets["increments"][entry] = given["incremental"] & before["bases"][entry]
            partial = before["without_registers"][entry] | before["without_lines"][entry]
            if based or demoted and not before["increments"][entry] and not partial:
                sets["bases"][entry], sets["base_sides"][entry] = 1, side if based else before["sides"][entry]
            if given["adopt_begin"]:
                sets["sides"] = [given["record_sides"] >> k & 1 for k in range(g.context_entries)]
            if given["image_arrived"]:
                sets["increments"][select] = sets["bases"][select] = found["increment"]
                sets["base_sides"][select] = 1 - before["sides"][select]
        if g.in_place:
            self._stay(given, entry, saved, demoted, given["evicting"] and event == State.BASE)

    def _stay(self, given, entry, saved, demoted, completes):
        sets, select = self.sets, given["entry_select"]
        if saved:
            keeps = {f"without_{name}": given[f"keeps_{name}"] >> entry & 1 for name in ("registers", "lines")}
            for name, bit in keeps.items():
                sets[name][entry] = bit
            if any(keeps.values()):
                sets["bases"][entry] = 0
        if saved or demoted or completes:
            sets["completed"][entry] = int(completes)
        if given["image_arrived"]:
            stays = [given["found"][f"{name}_stay"] for name in ("registers", "lines")]
            sets["without_registers"][select], sets["without_lines"][select] = stays
            sets["completed"][select] = int(any(stays))


class Model:
    """All kernels, and what is remembered of each entry on each side."""

    def __init__(self, g):
        self.g = g
        self.kernels = [Kernel(g.context_entries) for _ in range(g.kernel_slots)]
        self.recorded, self.records = set(), set()
        self.generations, self.extents, self.crcs = {}, {}, {}
        self.base = None  # where the checksum of a base is written in the cycle after its increment's

    def place(self, given, entry, side):
        return given["kernel"], side if self.g.checkpoints else 0, entry

    def on_side(self, given, of_base, entry):
        return self.place(given, entry, of_base ^ self.kernels[given["kernel"]].sets["sides"][entry])

    def outputs(self, given):
        g, sets = self.g, self.kernels[given["kernel"]].sets
        select, chosen = given["entry_select"], given["base_select"]
        told = {name: vector(bits) for name, bits in sets.items()}
        kept = [k in self.records or any(each.sets["saved"]) for k, each in enumerate(self.kernels)]
        nothing = {"words": 0, "warps": 0}
        told |= {
            "record_stands": given["kernel"] in self.records, "contexts_kept": vector(kept),
            "record_in_memory": vector([k in self.recorded for k in range(g.kernel_slots)]),
            "entry_generation": self.generations.get((given["kernel"], select), 0),
            "entry_extent": self.extents.get(self.on_side(given, given["entry_select_base"], select), nothing),
            "read_extent": self.extents.get(self.on_side(given, given["read_select_base"], given["read_select"]),
                                            nothing)}
        for name, entry, itself in (("entry_crc", select, sets["completed"][select]),
                                    ("base_crc", chosen, g.in_place and given["evicting"])):
            side = sets["sides" if itself else "base_sides"][entry]
            told[name] = self.crcs.get(self.place(given, entry, side), 0) if g.checkpoints else 0
        return told

    def step(self, given):
        g, event, kernel = self.g, given["event"], given["kernel"]
        good = event["valid"] and not event["error"]
        state = event["state"] if good else None
        self._remember(given, good, good and given["saving"] and state == State.COMPLETE)
        self._records(given, state)
        ended = given["ended"]
        if ended["valid"] and g.checkpoints and ended["kernel"] != kernel:
            self.kernels[ended["kernel"]].sets["bases"][ended["entry"]] = 0
        mine = ended["valid"] and ended["kernel"] == kernel
        self.kernels[kernel].follow(g, given, state, ended["entry"] if mine else None)
        for k in range(g.kernel_slots):
            if given["start"] >> k & 1:
                self.kernels[k].begin(g.in_place)
                self.recorded.discard(k)
                self.records.discard(k)

    def _records(self, given, state):
        kernel, event = given["kernel"], given["event"]
        if given["record_writing"] or given["record_voiding"] or event["valid"] and event["state"] == State.DEMOTED:
            self.recorded.discard(kernel)
        if given["record_written"] or given["adopted"]["valid"]:
            self.recorded.add(kernel)
        if given["record_writing"] or given["adopted"]["valid"]:
            self.records.add(kernel)
        elif given["record_voided"] or state == State.DEMOTED:
            self.records.discard(kernel)

    def _remember(self, given, good, saved):
        g, event, tally, found, select = (self.g,
                                          *(given[name] for name in ("event", "tally", "found", "entry_select")))
        kernel, arrived = given["kernel"], given["image_arrived"]
        if saved or arrived:
            self.generations[kernel, select if arrived else event["entry"]] = (
                found["generation"] if arrived else given["generation"])
        if arrived or given["base_arrived"]:
            self.extents[self.on_side(given, given["base_arrived"], select)] = found["extent"]
        elif (given["saving"] or given["evicting"]) and tally["valid"] and not tally["ended"]:
            words = (tally["data_bytes"] + tally["metadata_bytes"]) // 4 % (1 << WORD_COUNT_BITS)
            self.extents[self.place(given, tally["entry"], tally["side"])] = {
                "words": words, "warps": tally["warps"] % (1 << g.max_block_warps.bit_length())}
        if arrived:
            self.crcs[self.on_side(given, 0, select)] = found["crc"]
        elif self.base:
            self.crcs[self.base[0]] = self.base[1]
        elif given["saving"] and good:
            self.crcs[self.place(given, event["entry"], event["side"])] = event["crc"]
        self.base = (self.on_side(given, 1, select), found["base_crc"]) if arrived else None


def vector(bits):
    return sum(int(bool(bit)) << k for k, bit in enumerate(bits))


def anything(dut, rng, cycles, model):
    """Yield any inputs, with entries and kernels that there are."""
    g, kernel = dut.geometry, 0
    entries, kernels = range(g.context_entries), range(g.kernel_slots)
    for _ in range(cycles):
        kernel = rng.choice(kernels) if rng.random() < 0.1 else kernel
        given = {name: noise(rng, getattr(dut, name).shape()) for name in (
            "generation", "keeps_registers", "keeps_lines", "event", "tally", "found", "adopted", "record_sides",
            "ended", "entry_select_base", "read_select_base", *FLAGS)}
        given |= {name: int(rng.random() < often) for name, often in PULSES.items()}
        given |= {name: rng.choice(entries) for name in ("entry_select", "read_select", "base_select")} | {
            "kernel": kernel, "start": rng.getrandbits(g.kernel_slots) if rng.random() < 0.03 else 0}
        given["event"] |= {"valid": int(rng.random() < 0.6), "error": int(rng.random() < 0.2),
                           "entry": rng.choice(entries),
                           "state": rng.choice([State.COMPLETE, State.BASE, State.DEMOTED, given["event"]["state"]])}
        given["tally"] |= {"entry": rng.choice(entries), "tb": rng.randrange(g.tb_slots)}
        given["adopted"] |= {"valid": int(rng.random() < 0.03), "kernel": kernel}
        given["ended"] |= {"valid": int(rng.random() < 0.2), "kernel": rng.choice(kernels),
                           "entry": rng.choice(entries)}
        yield given, model.outputs(given)
        model.step(given)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_any_inputs_give_what_a_model_gives(name):
    g = GEOMETRIES[name]
    dut = component(SavedEntries, g)
    lockstep(dut, anything(dut, random.Random(name), 400, Model(g)))
