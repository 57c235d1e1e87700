"""A saved context, read back from device memory (`hw.arch.context`), and the warps on an SM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caesura.hw.arch import context as image
from caesura.hw.arch.geometry import PREDICATES, SEGMENT_BYTES, UNIFORMS, WORD_BYTES, Geometry
from caesura.hw.arch.patterns import codes_of, encoded_words, read_registers

from .transport import Transport

__all__ = ["StackEntry", "WarpContext", "TbContext", "read_context"]


@dataclass(frozen=True)
class StackEntry:
    """A SIMT stack entry: next PC, active mask, reconvergence PC (in instruction words)."""

    pc: int
    mask: int
    reconv: int


@dataclass(frozen=True)
class WarpContext:
    """A saved warp.

    Attributes
    ----------
    warp : int
        Warp of the TB.
    live_lanes, launched_lanes : int
        A bit a lane.
    barrier : int or None
        Barrier it waits at.
    stack : tuple of StackEntry
        From the bottom up; the last is where it goes on.
    predicates : dict of int to int
        Written predicates, a bit a lane.
    uniforms : dict of int to int
        Written uniform registers.
    registers : dict of int to numpy.ndarray
        Saved registers, decompressed: one 32-bit word a lane. Lanes never launched may hold anything.
    patterns : dict of int to hw.arch.context.Pattern
        Pattern of each allocated register; dead ones were not saved.
    metadata_bytes, data_bytes : int
        Bytes of its record and its pattern vector, and of its registers as saved.
    """

    warp: int
    live_lanes: int
    launched_lanes: int
    barrier: int | None
    stack: tuple[StackEntry, ...]
    predicates: dict[int, int]
    uniforms: dict[int, int]
    registers: dict[int, np.ndarray]
    patterns: dict[int, image.Pattern]
    metadata_bytes: int
    data_bytes: int

    @property
    def pc(self) -> int:
        """Where it goes on."""
        return self.stack[-1].pc


@dataclass(frozen=True)
class TbContext:
    """A saved TB.

    Attributes
    ----------
    state : hw.arch.context.State
    launch_id : int
    ctaid : tuple of int
    mechanism : hw.arch.context.Mechanism
    generation : int
    allocated_registers : int
        Vector registers of a thread.
    pag : int
        Lanes of a pattern analysing group.
    warps : tuple of WarpContext
        Those that had not exited.
    local_base : int
        Address of its local memory, which stays where it is.
    shared_lines : dict of int to bytes
        Saved 128-byte lines of shared memory by number.
    length, data_bytes, metadata_bytes : int
        Bytes of the stream, and its two parts.
    """

    state: image.State
    launch_id: int
    ctaid: tuple[int, int, int]
    mechanism: image.Mechanism
    generation: int
    allocated_registers: int
    pag: int
    warps: tuple[WarpContext, ...]
    local_base: int
    shared_lines: dict[int, bytes]
    length: int
    data_bytes: int
    metadata_bytes: int


class _Words:
    def __init__(self, raw: bytes):
        self.words, self.at = np.frombuffer(raw, "<u4"), 0

    def take(self, count: int) -> np.ndarray:
        self.at += count
        return self.words[self.at - count:self.at]


def _read_warp(g: Geometry, words: _Words, codes: np.ndarray, entry: dict[str, int]) -> WarpContext:
    start = words.at
    header = image.from_words(image.WARP_HEADER, words.take(image.HEADER_WORDS))
    predicates = {p: int(words.take(1)[0]) for p in range(PREDICATES) if header["predicates"] >> p & 1}
    uniforms = {u: int(words.take(1)[0]) for u in range(UNIFORMS) if header["uniforms"] >> u & 1}
    stack = tuple(StackEntry(*map(int, words.take(image.STACK_WORDS))) for _ in range(header["depth"]))
    metadata = WORD_BYTES * (words.at - start + image.PATTERN_WORDS)
    registers = read_registers(codes, words.take, entry["pag"], g.warp_size)
    patterns = {r: image.Pattern(int(codes[r])) for r in range(entry["registers"])}
    data = WORD_BYTES * sum(encoded_words(patterns[r], entry["pag"], g.warp_size) for r in registers)
    return WarpContext(header["warp"], header["live_lanes"], header["launched_lanes"],
                       header["barrier"] if header["waiting"] else None, stack, predicates, uniforms, registers,
                       patterns, metadata, data)


def read_context(transport: Transport, ccb_base: int, shared_bytes: int) -> list[TbContext]:
    """Return the complete entries of a kernel's context control block.

    Parameters
    ----------
    transport : Transport
    ccb_base : int
    shared_bytes : int
        Shared memory of a TB.
    """
    g = transport.geometry
    found = []
    for index in range(g.tb_slots):
        raw = transport.read_memory(image.entry_address(ccb_base, index), image.CCB_ENTRY.size // 8)
        entry = image.from_words(image.CCB_ENTRY, np.frombuffer(raw, "<u4"))
        if entry["state"] != image.State.COMPLETE:
            continue
        words = _Words(transport.read_memory(entry["register_image"], entry["length"]))
        records = entry["live_warps"].bit_count()
        table = words.words[len(words.words) - image.PATTERN_WORDS * records:].reshape(records, image.PATTERN_WORDS)
        warps = tuple(_read_warp(g, words, codes_of(vector), entry) for vector in table)
        count = -(-shared_bytes // SEGMENT_BYTES)
        bitmap = sum(int(w) << 32 * k for k, w in enumerate(words.take(-(-count // 32))))
        lines = {n: words.take(SEGMENT_BYTES // 4).tobytes() for n in range(count) if bitmap >> n & 1}
        found.append(TbContext(
            image.State(entry["state"]), entry["launch_id"], (entry["ctaid_x"], entry["ctaid_y"], entry["ctaid_z"]),
            image.Mechanism(entry["mechanism"]), entry["generation"], entry["registers"],
            entry["pag"], warps, entry["local_base"], lines, entry["length"], entry["data_bytes"],
            entry["metadata_bytes"]))
    return found
