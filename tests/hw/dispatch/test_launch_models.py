"""Completion, TB table and warp slots beside models, in every cycle, with junk where nothing is valid."""

import itertools
import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.dispatch.completion import Completion
from caesura.hw.dispatch.tb_table import TbTable
from caesura.hw.dispatch.warp_slots import WarpSlots
from support.hw.lockstep import lockstep, noise
from support.hw.simulation import component
from support.selection import quick

G = preset("tiny").replace(warps=6, tb_slots=3, kernel_slots=3)
GEOMETRIES = {"tiny": G, "spare entries": G.replace(warps=10, tb_slots=5, entries=7, watches=2)}
WORD = 1 << 32


def lowest(vector):
    return vector & -vector


def resident(dut, rng, g):
    """Return a row of the TB table with any content, of a kernel and entry that there are."""
    return noise(rng, dut.resident[0].shape()) | {
        "valid": int(rng.random() < 0.8), "started": int(rng.random() < 0.8), "kernel": rng.randrange(g.kernel_slots),
        "entry": rng.randrange(g.context_entries)}


def completions(dut, rng, cycles):
    """Yield rows, warps that exit, and what is claimed, killed and released, of which anything is possible."""
    g = dut.geometry
    slots, kernels, warps = range(g.tb_slots), range(g.kernel_slots), (1 << g.warps) - 1
    rows, ending, completed = [resident(dut, rng, g) for _ in slots], 0, [0] * g.kernel_slots
    for _ in range(cycles):
        rows[rng.choice(slots)] = resident(dut, rng, g)
        given = {name: rng.getrandbits(len(getattr(dut, name))) for name in ("exited", "losable", "forsaken", "claim")}
        given |= {"resident": [dict(row) for row in rows], "exited": given["exited"] | rng.choice([0, warps, warps]),
                  "claim": given["claim"] & rng.getrandbits(g.tb_slots),
                  "forsaken": given["forsaken"] & rng.getrandbits(g.tb_slots),
                  "release": {"valid": int(rng.random() < 0.1), "tb": rng.choice(slots)},
                  "discard": rng.getrandbits(g.kernel_slots) & rng.getrandbits(g.kernel_slots),
                  "start": 1 << rng.choice(kernels) if rng.random() < 0.02 else 0,
                  "adopted": noise(rng, dut.adopted.shape()) | {
                      "valid": int(rng.random() < 0.05), "kernel": rng.choice(kernels)}}
        over = 0
        for t, row in enumerate(rows):
            gone = given["exited"] | (given["losable"] if given["forsaken"] >> t & 1 else 0)
            ends = not row["warps"] & ~gone if row["started"] else given["discard"] >> row["kernel"] & 1
            over |= int(row["valid"] and bool(ends)) << t
        release = given["release"]
        remove = 1 << release["tb"] if release["valid"] else ending & ~given["claim"]
        row = rows[remove.bit_length() - 1] if remove else dict.fromkeys(rows[0], 0)
        dropped = bool(remove & given["forsaken"]) and not release["valid"]
        ended = {"valid": int(row["started"] and not release["valid"]), "kernel": row["kernel"], "entry": row["entry"]}
        yield given, {"remove": remove, "ended": ended, "free": row["warps"], "completed": list(completed),
                      "forget": row["warps"] & ~given["exited"] if dropped else 0}
        adopted = given["adopted"]
        for k in kernels:
            if given["start"] >> k & 1:
                completed[k] = 0
            elif adopted["valid"] and adopted["kernel"] == k:
                completed[k] = adopted["progress"]["completed"]
            elif ended["valid"] and not dropped and ended["kernel"] == k:
                completed[k] = (completed[k] + 1) % WORD
        ending = lowest(over & ~given["claim"] & ~remove)


@pytest.mark.parametrize("name, cycles", quick(itertools.product(GEOMETRIES, (120, 500)), [("tiny", 120)]))
def test_completion_does_what_a_model_does(name, cycles):
    dut = component(Completion, GEOMETRIES[name])
    lockstep(dut, completions(dut, random.Random(name), cycles))


def shown(row, shared_bytes):
    """What the core sees of a row."""
    names = ("kernel", "launch_id", "ctaid_x", "ctaid_y", "ctaid_z", "local_base")
    return {name: row[name] for name in names} | {"shared_base": 128 * row["first_line"], "shared_bytes": shared_bytes}


def tables(dut, rng, cycles):
    """Yield TBs that come into free rows, are started and leave, and all that the table shows."""
    g = dut.geometry
    slots = range(g.tb_slots)
    rows = [value_of_nothing(dut.resident[0].shape()) for _ in slots]
    counts, sizes = [0] * g.tb_slots, [0] * g.tb_slots
    for _ in range(cycles):
        used = [t for t in slots if rows[t]["valid"]]
        free = [t for t in slots if not rows[t]["valid"]]
        taken = sum(rows[t]["warps"] for t in used)
        row = resident(dut, rng, g) | {"first_line": rng.randrange(g.shared_lines)}
        most = min(g.max_block_warps, g.warps - taken.bit_count())
        chosen = rng.sample([w for w in range(g.warps) if not taken >> w & 1], rng.randint(0, most))
        row["warps"] = sum(1 << w for w in chosen)
        insert = {"valid": int(bool(free) and rng.random() < 0.5), "tb": rng.choice(free or slots), "row": row,
                  "warps": len(chosen), "shared_bytes": rng.getrandbits(20)}
        start = {"valid": int(bool(used) and rng.random() < 0.4), "tb": rng.choice(used or slots)}
        remove = 1 << rng.choice(used) if used and rng.random() < 0.4 else 0
        running = [0] * g.kernel_slots
        for t in used:
            running[rows[t]["kernel"]] |= rows[t]["started"] << rows[t]["entry"]
        yield {"room.insert": insert, "start": start, "remove": remove}, {
            "resident": [dict(each) for each in rows], "running": running, "room.warps_taken": taken,
            "tbs": [shown(*each) for each in zip(rows, sizes, strict=True)],
            "room.occupied": sum(1 << t for t in used), "present": sum({1 << rows[t]["kernel"] for t in used}),
            "tb_count": len(used), "room.warp_count": sum(counts[t] for t in used)}
        if start["valid"]:
            rows[start["tb"]]["started"] = 1
        if remove:
            rows[remove.bit_length() - 1]["valid"] = 0
        if insert["valid"]:
            t = insert["tb"]
            rows[t], counts[t], sizes[t] = row | {"valid": 1, "started": 0}, len(chosen), insert["shared_bytes"]


def value_of_nothing(layout):
    return {name: 0 for name, _ in layout}


@pytest.mark.parametrize("name, cycles", quick(itertools.product(GEOMETRIES, (120, 400)), [("tiny", 120)]))
def test_the_table_does_what_a_model_does(name, cycles):
    dut = component(TbTable, GEOMETRIES[name])
    lockstep(dut, tables(dut, random.Random(name), cycles))


def picks(dut, rng, cycles):
    """Yield picks, some before the one before has ended, with slots that are taken anew in each cycle."""
    g = dut.geometry
    count = picked = mask = taken = 0
    slots = [0] * g.max_block_warps
    for _ in range(cycles):
        taken = rng.getrandbits(g.warps) & rng.getrandbits(g.warps) if rng.random() < 0.3 else taken
        pick = {"valid": int(picked == count and rng.random() < 0.6 or rng.random() < 0.05),
                "count": rng.randint(0, g.max_block_warps)}
        yield {"occupied": taken, "pick": pick}, {"done": picked == count, "slots": list(slots), "mask": mask}
        choice = lowest(~(taken | mask) & (1 << g.warps) - 1)
        if pick["valid"]:
            count, picked, mask = pick["count"], 0, 0
        elif picked != count:
            slots[picked] = choice.bit_length() - 1 if choice else 0
            mask, picked = mask | choice, picked + 1


@pytest.mark.parametrize("name", ["tiny", "gtx480"])
def test_warp_slots_are_what_a_model_picks(name):
    dut = component(WarpSlots, preset(name))
    lockstep(dut, picks(dut, random.Random(name), 500))
