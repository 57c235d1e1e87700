"""Checks of a `Machine`: its memory after a save, and its SM after a restore."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from caesura.hw.arch.geometry import PC_NONE, PREDICATES, UNIFORMS, Geometry
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, WARP_HEADER, Capability, Mechanism, State
from caesura.hw.arch.image.encodings import Encoding, encoded_words, encodings_of, in_order, plane_bits, row_words

from ..scalars import live_at, saved_scalars
from .machine import Machine, Place
from .memory import SEGMENT
from .sm import CCB_BASE, Snapshot

WORD = 1 << 32


def seal(machine: Machine, tb: int, side: int | None = None):
    """Compute the checksums of a TB's image anew, as a forger would."""
    entry, head = entry_of(machine, tb, side), head_of(machine, tb, side)
    words = [machine.memory.word(entry["register_image"] + 4 * k) for k in range(entry["length"] // 4)]
    machine.memory.poke(head + 56, context.stream_crcs(
        machine.g, words, bin(entry["live_warps"]).count("1"), machine.kernels[0].registers))
    machine.memory.poke(head + 4, [context.entry_crc([machine.memory.word(head + 4 * k) for k in range(16)])])


def entry_of(machine: Machine, tb: int, side: int | None = None) -> dict[str, int]:
    """The CCB entry of the TB that was first in slot `tb`, or one on a `side`; the saved one unless given."""
    address = head_of(machine, tb, side)
    return context.from_words(CCB_ENTRY, [machine.memory.word(address + 4 * k) for k in range(16)])


def side_of(machine: Machine, tb: int) -> int:
    """On which side the TB that was first in slot `tb` is saved, the later one of two; 0 if it is not."""
    if not machine.g.checkpoints:
        return 0
    saved = [entry["generation"] if entry["state"] == State.COMPLETE else 0
             for entry in (entry_of(machine, tb, side) for side in (0, 1))]
    return int(saved[1] > saved[0])


def head_of(machine: Machine, tb: int, side: int | None = None) -> int:
    """Where that entry stands."""
    side = side_of(machine, tb) if side is None else side
    return context.entry_address(CCB_BASE, context.place_of(machine.g, machine.entry[tb], side))


def _stride(lanes: Sequence[int | None], quad: int) -> int | None:
    """Step of a group of lanes, None for one that does not count; None if it has none that the hardware sees.

    The lanes of each quad that count are its first ones, and a quad that begins behind a gap follows only if a step
    is known from one before it: its first lane has to be where that step leads.
    """
    quads = [lanes[at:at + quad] for at in range(0, len(lanes), quad)]
    steps = [(part[1] - part[0]) % WORD if part[0] is not None and part[1] is not None else None for part in quads]
    for part, step in zip(quads, steps, strict=True):
        counts = [value is not None for value in part]
        if counts != sorted(counts, reverse=True):
            return None
        if any((y - x) % WORD != step for x, y in zip(part, part[1:], strict=False) if x is not None and y is not None):
            return None
    firsts, width = [(part[0], step) for part, step in zip(quads, steps, strict=True)], quad
    while len(firsts) > 1:
        joined = []
        for (a, step), (b, other) in zip(firsts[::2], firsts[1::2], strict=True):
            if b is not None and (a is None or step is None or b != (a + step * width) % WORD
                                  or other not in (None, step)):
                return None
            joined.append((a, step))
        firsts, width = joined, 2 * width
    return firsts[0][1] or 0


def encode(g: Geometry, values: list[int], live: int) -> tuple[Encoding, list[int]]:
    """Encoding and words of a register of which the `live` lanes count, in the plainest way."""
    lanes = [value if live >> k & 1 else None for k, value in enumerate(values)]
    counted = [value for value in lanes if value is not None]
    first = counted[0] if counted else 0
    for code in encodings_of(g.warp_size, g.lanes):
        groups = [lanes[at:at + code.group] for at in range(0, len(lanes), code.group or 1)]
        bases = [next((value for value in group if value is not None), 0) for group in groups]
        low = 4 * code
        if code.strided:
            steps = [step for step in (_stride(group, 4) for group in groups) if step is not None]
            if len(steps) == len(groups):
                return code, [word for base, step in zip(bases, steps, strict=True) for word in (base, step)]
        elif code.group:
            if all(value in (None, base) for group, base in zip(groups, bases, strict=True) for value in group):
                return code, bases
        elif code < Encoding.RANDOM and all(value >> low == first >> low for value in counted):
            thick, bits = plane_bits(g.lanes), ""
            for beat in range(0, g.warp_size, g.lanes):
                for plane in range(0, low, thick):
                    bits += "".join(f"{value >> plane & (1 << thick) - 1:0{thick}b}"[::-1]
                                    for value in values[beat:beat + g.lanes])
            return code, [first >> low << low, *(int(bits[at:at + 32][::-1], 2) for at in range(0, len(bits), 32))]
    return Encoding.RANDOM, values


def following(g: Geometry, register: tuple[Encoding, list[int]], history: list[tuple[Encoding, list[int]]]
              ) -> tuple[Encoding, list[int]]:
    """What stands in the image for a register of a TB, whose earlier ones are in `history`, in the plainest way."""
    code, words = register
    if not code.group or len(words) > 4:
        return register
    if len(history) > 1 and history[-1][0] == history[-2][0]:
        move = history[-1][1][0] - history[-2][1][0]
    elif history and history[-1][0].strided and history[-1][0].group == g.warp_size:
        move = history[-1][1][1] * g.warp_size
    else:
        move = 0
    expected = history and (history[-1][0], [
        (word + (0 if code.strided and k % 2 else move)) % (1 << 32) for k, word in enumerate(history[-1][1])])
    history.append(register)
    return (Encoding.FOLLOWS, []) if expected == register else register


def bitmap_address(machine: Machine, tb: int) -> int:
    """Where the bitmap of shared memory stands in the image of the TB that was first in slot `tb`."""
    entry, records, lines = read_image(machine, tb)
    bitmap = -(-machine.kernels[0].shared_bytes // (32 * SEGMENT))
    words = bitmap + 32 * len(lines) + row_words(entry["registers"]) * len(records)
    return entry["register_image"] + entry["length"] - 4 * words


def stack_of(depth: int, live: int, take: Callable[[int], list[int]]) -> list[tuple[int, int, int]]:
    """Read a SIMT stack in the plainest way; each entry has no word that it need not have."""
    stack: list[tuple[int, int, int]] = []
    below = PC_NONE, PC_NONE
    for _ in range(depth):
        word = take(1)[0]
        pc, whole, kind = word & (1 << 25) - 1, word >> 25 & 1, word >> 26
        mask = live if whole else take(1)[0]
        reconv = take(1)[0] if kind == 3 else (PC_NONE, *below)[kind]
        assert whole == (mask == live) and kind == ([PC_NONE, *below, reconv].index(reconv))
        below = pc, reconv
        stack.append((pc, mask, reconv))
    return stack


def read_image(machine: Machine, tb: int, side: int | None = None
               ) -> tuple[dict[str, int], dict[int, dict[str, Any]], dict[int, list[int]]]:
    """Take the stream of the TB that was first in slot `tb` apart: (entry, {warp: record}, {line: words}).

    Checks every length.
    ``record["registers"]`` has the encoding and the words of each register.
    """
    g, entry = machine.g, entry_of(machine, tb, side)
    at, records = entry["register_image"], {}
    words = [machine.memory.word(at + 4 * k) for k in range(entry["length"] // 4)]
    live = bin(entry["live_warps"]).count("1")
    registers = machine.kernels[0].registers
    assert (entry["stream_crc"], entry["table_crc"]) == context.stream_crcs(g, words, live, registers)
    start = head_of(machine, tb, side)
    assert entry["crc"] == context.entry_crc([machine.memory.word(start + 4 * k) for k in range(16)])
    row = row_words(registers)
    end = len(words) - row * live
    table, stream, data_words = words[end:], deque(words[:end]), 0

    def take(n: int) -> list[int]:
        return [stream.popleft() for _ in range(n)]

    uniforms: dict[int, int] = {}
    for n in range(live):
        bits = sum(word << 32 * k for k, word in enumerate(table[row * n:row * (n + 1)]))
        assert bits >> 4 * registers == 0
        codes = [Encoding(bits >> 4 * r & 15) for r in range(registers)]
        head: dict[str, Any] = {**context.from_words(WARP_HEADER, take(1))}
        head["launched_lanes"] = (2 << head["launched"]) - 1
        head["live_lanes"] = take(1)[0] if head["exited"] else head["launched_lanes"]
        written = take(1)[0] if head["uniforms"] else 0
        assert (written != 0) == head["uniforms"]
        assert (head["live_lanes"] != head["launched_lanes"]) == head["exited"]
        head["predicate_values"] = {p: take(1)[0] for p in range(PREDICATES) if head["predicates"] >> p & 1}
        head["own_uniforms"] = {u: take(1)[0] for u in range(UNIFORMS) if written >> u & 1}
        head["uniform_values"] = {**(uniforms if head["repeats"] else {}), **head["own_uniforms"]}
        uniforms = head["uniform_values"]
        head["stack"] = stack_of(head["depth"], head["live_lanes"], take)
        found = {r: (codes[r], take(encoded_words(codes[r], g.warp_size))) for r in in_order(np.array(codes))}
        head["registers"] = {r: found[r] for r in sorted(found)}
        data_words += sum(len(value) for _, value in found.values())
        records[head["warp"]] = head
    lines = {}
    kernel_lines = -(-machine.kernels[0].shared_bytes // SEGMENT)
    if kernel_lines:
        bitmap = sum(word << 32 * k for k, word in enumerate(take(-(-kernel_lines // 32))))
        assert bitmap >> kernel_lines == 0
        lines = {k: take(32) for k in range(kernel_lines) if bitmap >> k & 1}
    assert not stream
    data_words += 32 * len(lines)
    assert entry["data_bytes"] == 4 * data_words
    return entry, records, lines


def expected_scalars(g: Geometry, mechanism: Mechanism, scramble: bool, registers: int, warp: dict[str, Any]
                     ) -> tuple[dict[int, int], dict[int, int]]:
    """Predicates and uniform registers that have to be in the image of a warp snapshot."""
    live = live_at(mechanism, warp["between"], warp["live_vector"], registers)
    return saved_scalars(warp["predicates"], warp["uniforms"], live, (1 << g.warp_size) - 1, scramble)


def expected_registers(mechanism: Mechanism, scramble: bool, registers: int, warp: dict[str, Any]) -> list[int]:
    """Numbers of the registers that have to be in the image of a warp snapshot."""
    live = live_at(mechanism, warp["between"], warp["live_vector"], registers).registers
    return [r for r in live if scramble or mechanism == Mechanism.OCCUPIED or warp["valid"] >> r & 1]


def check_image(machine: Machine, tb: int, kernel: int, before: Snapshot, mechanism: Mechanism,
                scramble: bool = False, side: int | None = None, base: dict[str, int] | None = None,
                state: State = State.COMPLETE) -> dict[str, int]:
    """Compare the image on a side of the TB that was first in slot `tb` with the snapshot `before`; one with a `base`,
    another's entry, is an increment."""
    g, k = machine.g, machine.kernels[kernel]
    side = side_of(machine, tb) if side is None else side
    entry, records, lines = read_image(machine, tb, side)
    assert entry["state"] == state and entry["version"] == context.VERSION
    assert entry["geometry_hash"] == g.hash and entry["mechanism"] == mechanism
    assert entry["launch_id"] == before["launch_id"]
    assert (entry["ctaid_x"], entry["ctaid_y"], entry["ctaid_z"]) == before["ctaid"]
    assert (entry["registers"], entry["warps"]) == (k.registers, k.warps)
    assert (entry["incremental"], entry["base_crc"]) == ((1, base["crc"]) if base else (0, 0))
    area = context.area_address(g, CCB_BASE, k.area_bytes, context.place_of(g, machine.entry[tb], side))
    assert entry["register_image"] == area
    live = [n for n, warp in enumerate(before["warps"]) if warp]
    assert entry["live_warps"] == sum(1 << n for n in live) and sorted(records) == live
    history: dict[int, list[tuple[Encoding, list[int]]]] = {}
    uniforms: dict[int, int] = {}
    for n, record in records.items():
        warp = before["warps"][n]
        assert warp is not None
        assert (record["launched_lanes"], record["live_lanes"]) == (warp["launched"], warp["live"])
        assert (record["waiting"], record["barrier"]) == (warp["waiting"], warp["barrier"] * warp["waiting"])
        assert record["stack"] == warp["stack"]
        scalars = record["predicate_values"], record["uniform_values"]
        assert scalars == expected_scalars(g, mechanism, scramble, k.registers, warp)
        saved = [r for r in expected_registers(mechanism, scramble, k.registers, warp)
                 if not base or not (warp["valid"] & ~warp["dirty"]) >> r & 1]
        values = {r: [value if warp["live"] >> k & 1 or not scramble else value ^ WORD - 1
                      for k, value in enumerate(warp["registers"].get(r, [0] * g.warp_size))] for r in saved}
        repeats = mechanism == Mechanism.LIVE_TB and uniforms != {} and not set(uniforms) - set(scalars[1])
        assert record["repeats"] == repeats
        assert record["own_uniforms"] == {u: value for u, value in scalars[1].items()
                                          if not repeats or uniforms.get(u) != value}
        uniforms = scalars[1]
        found = {r: encode(g, value, warp["live"]) if mechanism.has(Capability.COMPRESSES)
                 else (Encoding.RANDOM, value) for r, value in values.items()}
        if mechanism == Mechanism.LIVE_TB:
            found = {r: following(g, each, history.setdefault(r, [])) for r, each in found.items()}
        assert record["registers"] == found
    zero = [0] * 32
    every = range(-(-k.shared_bytes // SEGMENT)) if mechanism == Mechanism.OCCUPIED else before["lines"]
    assert lines == {n: before["lines"].get(n, zero) for n in every
                     if not base or n in before["lines_dirty"] or n not in before["lines"]}
    return entry


def filled(g: Geometry, seed: int | str, stall: float, drain: int = 40, latency: int | None = None,
           write_latency: int | None = None, shared: bool = True, block_x: int | None = None,
           registers: int | None = None
           ) -> tuple[Machine, Callable[[Iterable[int]], list[Place]]]:
    """A machine whose SM holds as many TBs of kernel 0 as fit (TB slots 0, 1, ...), and how to lay them out anew."""
    machine = Machine(g, seed, stall, latency, write_latency)
    rng = machine.rng
    tbs = min(g.tb_slots, g.warps // 2)
    warps = g.warps // tbs
    registers = registers or rng.randint(3, min(7, (g.registers // tbs - 3) // warps))
    lines = g.shared_lines // tbs if shared else 0
    machine.add_kernel(0, registers, warps, lines * 128 - (4 if lines else 0), spare=128 * rng.randint(0, 2),
                       block_x=block_x or rng.choice((8, 16, 32, 40, 7)))
    size = -(-registers * warps // 4) * 4

    def layout(order: Iterable[int]) -> list[Place]:
        slots = rng.sample(range(g.warps), g.warps)
        return [(t, t * size, t * lines, slots[t * warps:(t + 1) * warps]) for t in order]

    for launch, (tb, base, line, slots) in enumerate(layout(range(tbs))):
        machine.add_tb(tb, 0, 100 + launch, base, line, slots, drain)
    return machine, layout


def only(lanes: list[int], live: int) -> list[int]:
    """The live ones of `lanes`."""
    return [value for k, value in enumerate(lanes) if live >> k & 1]


def expect_restored(machine: Machine, before: Mapping[int, Snapshot], mechanism: Mechanism, scramble: bool,
                    started: Collection[int], bases: Mapping[int, Snapshot] | None = None):
    """Every TB of `before` is back, under whatever slots; lanes that had exited may hold anything, and so may registers
    that are dead and were saved with the TB's base."""
    by_launch = {tb.launch_id: (t, tb) for t, tb in machine.tbs.items() if t in started}
    registers = machine.kernels[0].registers
    assert len(by_launch) == len(before)
    for t, old in before.items():
        tb, row = by_launch[old["launch_id"]]
        after = machine.snapshot(tb)
        assert after["ctaid"] == old["ctaid"]
        early = bases[t]["warps"] if bases else [None] * len(old["warps"])
        for was, now, slot, based in zip(old["warps"], after["warps"], row.slots, early, strict=True):
            if was is None:
                assert now is None and machine.warps[slot].launched == 0 and not machine.warps[slot].stack
                continue
            for name in ("launched", "live", "waiting", "stack"):
                assert now[name] == was[name], name
            scalars = now["predicates"], now["uniforms"]
            assert scalars == expected_scalars(machine.g, mechanism, scramble, registers, was)
            assert now["barrier"] == was["barrier"] * was["waiting"]
            assert not machine.g.checkpoints or not now["dirty"] & (
                was["valid"] & ~was["dirty"] if bases else -1), "not clean, though in the base"
            zero = [0] * machine.g.warp_size
            saved = expected_registers(mechanism, scramble, registers, was)
            for r in saved:
                assert not bases or now["dirty"] >> r & 1 or (was["valid"] & ~was["dirty"]) >> r & 1, "in no base"
                assert only(now["registers"].pop(r), was["live"]) == only(was["registers"].get(r, zero), was["live"])
            for r in expected_registers(mechanism, scramble, registers, based) if based else ():
                now["registers"].pop(r, None)
                saved.append(r)
            if not scramble:
                assert not now["registers"]
            else:
                assert set(now["registers"]) == set(range(registers)) - set(saved)
                values = [v for register in now["registers"].values() for v in register]
                assert len(set(values)) >= 0.9 * len(values), "scrambled registers look alike"
        zero = [0] * 32
        whole = range(row.lines) if mechanism == Mechanism.OCCUPIED else old["lines"]
        dirty = old["lines_dirty"] | set(whole) - set(old["lines"]) if bases or not machine.g.checkpoints else set()
        assert after["lines_dirty"] <= dirty
        assert after["lines"] == {n: old["lines"].get(n, zero) for n in whole}


def at_home(machine):
    """Return what puts a TB where one was at first: room that those who stayed do not have."""
    homes = [(t, row.base, row.first_line, list(row.slots)) for t, row in machine.tbs.items()]
    return lambda kernel: next(home for home in homes if home[0] not in machine.tbs)
