"""SIMT stacks of all warps: divergence, reconvergence and lane exit (Lin et al. III).

An entry is (PC, mask, reconvergence PC). The top of each stack is kept apart, in memories that are
read combinationally; the entries below are in `body`::

    level      0        1             depth-2      depth-1
             body[0]  body[1]  ...   body[depth-2]   top: pc, mask, reconv

Masks are stored as pushed; the effective mask is ``mask & live``, where `live` are the lanes that
have not exited. An entry that exits have emptied is popped when it becomes the top.
"""

from __future__ import annotations

import enum
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import PC_BITS, PC_NONE, Geometry
from ...interfaces import payloads as payload
from ...interfaces.port import Port
from ...lib.bits import one_hot, spread

__all__ = ["FetchStackPort", "SimtStack", "StackCommand", "StackPort", "command", "stack_top"]


class StackCommand(enum.IntEnum):
    """Command for the stack of one warp."""

    NONE = 0
    INIT = 1
    """Empty the stack; `live` lanes."""
    PUSH = 2
    """Push (`pc`, `mask`, `reconv`); ignored when the stack is full."""
    JUMP = 3
    """The active lanes that are in `live`, the new set of live lanes, continue at `pc`."""
    DIVERGE = 4
    """Lanes `mask` (some, not all, of the active ones) go to `pc`, the others to the next word; all
    meet at `reconv`. No effect when `overflow`."""


def command(g: Geometry) -> data.StructLayout:
    """Payload of a command; its kind, a `StackCommand`, says which fields count. The kind is no
    field, since it depends on `overflow`, which depends on the fields."""
    return data.StructLayout({"pc": PC_BITS, "mask": g.warp_size, "reconv": PC_BITS,
                              "live": g.warp_size})


def stack_top(g: Geometry) -> data.StructLayout:
    """Top of a stack; `mask` is the effective mask."""
    return data.StructLayout({"pc": PC_BITS, "mask": g.warp_size, "reconv": PC_BITS,
                              "live": g.warp_size, "depth": range(g.stack_depth + 1)})


def _reconverged(pc: Value, reconv: Value):
    return (pc == reconv) & (reconv != PC_NONE)


def stack_entry(g: Geometry) -> data.StructLayout:
    """An entry of a SIMT stack."""
    return data.StructLayout({"pc": PC_BITS, "mask": g.warp_size, "reconv": PC_BITS})


class _Stacks:
    """The stacks of all warps, and the one that is worked on.

    The top entry of each stack lies in memories of its own (`pcs`, `tops`), the entries below in
    `body`, from level 0. `lives` has the lanes that have not exited.
    """

    def __init__(self, m: Module, g: Geometry):
        warp, self.level = payload.below(g.warps), payload.below(g.stack_depth)
        slots, entry = 1 << warp.width, stack_entry(g)
        top = data.StructLayout({"mask": g.warp_size, "reconv": PC_BITS,
                                 "depth": range(g.stack_depth + 1)})
        m.submodules.pcs = self.pcs = Memory(shape=PC_BITS, depth=slots, init=[])
        m.submodules.tops = self.tops = Memory(shape=top, depth=slots, init=[])
        m.submodules.lives = self.lives = Memory(shape=g.warp_size, depth=slots, init=[])
        m.submodules.body = self.body = Memory(shape=entry, depth=slots << self.level.width,
                                               init=[])
        self.warp = Signal(warp, name="worked_on")
        self.write_pc = self.pcs.write_port()
        self.write_top = self.tops.write_port()
        self.write_live = self.lives.write_port()
        self.write_body = self.body.write_port()
        for port in (self.write_pc, self.write_top, self.write_live):
            m.d.comb += port.addr.eq(self.warp)
        # its top as it lies in memory, the same as an entry, and the level that entry would have
        self.raw = self.read(m, self.tops, self.warp)
        self.old = Signal(entry)
        self.level_up = Signal(self.level)
        # The top is to be dropped; an entry that a divergence still has to write.
        self.popping = Signal()
        self.pushing = Signal()
        self.second = Signal(entry)

    @staticmethod
    def read(m: Module, memory: Memory, address: Value) -> Any:
        """Return a row of a memory, read in the same cycle."""
        port = memory.read_port(domain="comb")
        m.d.comb += port.addr.eq(address)
        return port.data

    def store(self, m: Module, level: Value, entry: ValueLike):
        """Write entry `entry` at `level` of the stack."""
        index = Signal(self.level, name="store_level")
        m.d.comb += [index.eq(level), self.write_body.addr.eq(Cat(index, self.warp)),
                     self.write_body.data.eq(entry), self.write_body.en.eq(1)]

    def set_top(self, m: Module, pc: ValueLike, mask: ValueLike, reconv: ValueLike,
                depth: ValueLike):
        """Write its top and its depth."""
        top = self.write_top
        m.d.comb += [top.en.eq(1), top.data.mask.eq(mask),
                     top.data.reconv.eq(reconv), top.data.depth.eq(depth),
                     self.write_pc.en.eq(1), self.write_pc.data.eq(pc)]


class StackPort(wiring.Signature):
    """Works on the stack of one warp. Directions are the issue stage's.

    Attributes
    ----------
    warp : Signal, out
        The warp whose `top` is read and which the command is for.
    top : stack_top, in
        Combinational; not meaningful while the stacks are busy.
    kind : StackCommand, out; command : command, out
        Ignored while the stacks are busy.
    overflow : Signal(1), in
        ``DIVERGE`` with these operands would exceed `stack_depth`, whatever the command's kind;
        combinational.
    """

    def __init__(self, g: Geometry):
        super().__init__({"warp": Out(payload.below(g.warps)), "top": In(stack_top(g)),
                          "kind": Out(StackCommand), "command": Out(command(g)),
                          "overflow": In(1)})


class FetchStackPort(wiring.Signature):
    """Reads where warps stand, and moves them over idle points. Directions are the fetch unit's.

    Attributes
    ----------
    warp : Signal, out; pc : Signal, in
        A warp, and where it stands; combinational.
    decode_warp : Signal, out; decode_reconv : Signal, in
        A warp, and where the top of its stack reconverges; combinational.
    skip : struct, out
        While `valid` the PC of `warp` becomes `pc`; another warp than that of the command.
    """

    def __init__(self, g: Geometry):
        warp = payload.below(g.warps)
        super().__init__({
            "warp": Out(warp), "pc": In(PC_BITS), "decode_warp": Out(warp),
            "decode_reconv": In(PC_BITS),
            "skip": Out(data.StructLayout({"valid": 1, "warp": warp, "pc": PC_BITS}))})


class SimtStack(wiring.Component):
    """One SIMT stack per warp. Takes one command per cycle while not `busy`.

    A command takes effect at the end of its cycle. A new top is finished if no lane is left, or if
    it is at its reconvergence PC. Then the following cycles pop one entry each. A divergence that
    pushes two entries below a kept one takes one more cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    work : StackPort, in
        Commands.
    busy : Signal(), out
        Still working on the last command.
    settling : Signal(warps), out
        The warp that is worked on, one-hot.
    emptied : Signal(warps), out
        The warp that loses its last live lane in this cycle, one-hot. Its stack is empty
        afterwards. Live lanes that run off the bottom of the stack instead continue at `PC_NONE`,
        which no code reaches.
    fetch : FetchStackPort, in
        Read and skip port of the fetch unit.
    waiter_warp : Signal, in; waiter_pc : Signal, out
        A warp, and where it stands; combinational.
    view_select, view
        Two combinational read ports of the stack as a context image shows it: `depth`, `live`, and
        entry `entry` with its effective mask.
    """

    work: Port
    busy: Signal
    settling: Signal
    emptied: Signal
    fetch: Port
    waiter_warp: Signal
    waiter_pc: Signal
    view_select: data.View
    view: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        warp = payload.below(g.warps)
        depth = range(g.stack_depth + 1)
        super().__init__({
            "work": In(StackPort(g)), "fetch": In(FetchStackPort(g)),
            "busy": Out(1), "settling": Out(g.warps), "emptied": Out(g.warps),
            "waiter_warp": In(warp), "waiter_pc": Out(PC_BITS),
            "view_select": In(data.ArrayLayout(data.StructLayout({"warp": warp, "entry": 6}), 2)),
            "view": Out(data.ArrayLayout(data.StructLayout({
                "depth": depth, "live": g.warp_size, "pc": PC_BITS, "mask": g.warp_size,
                "reconv": PC_BITS}), 2)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        stacks = _Stacks(m, self.geometry)
        raw = stacks.raw
        m.d.comb += [
            self.work.top.pc.eq(stacks.read(m, stacks.pcs, stacks.warp)),
            self.work.top.reconv.eq(raw.reconv),
            self.work.top.live.eq(stacks.read(m, stacks.lives, stacks.warp)),
            self.work.top.depth.eq(raw.depth), self.work.top.mask.eq(raw.mask & self.work.top.live),
            stacks.old.pc.eq(self.work.top.pc), stacks.old.mask.eq(raw.mask),
            stacks.old.reconv.eq(raw.reconv), stacks.level_up.eq(raw.depth - 1),
            stacks.write_live.data.eq(self.work.command.live),
        ]
        self._select(m, stacks)
        # An entry that a pop reveals may be finished too, so pops repeat.
        with m.If(stacks.popping):
            self._pop(m, stacks)
        # The second entry of a divergence comes a cycle later: `body` has one write port.
        with m.Elif(stacks.pushing):
            stacks.store(m, stacks.level_up - 1, stacks.second)
            m.d.sync += stacks.pushing.eq(0)
        with m.Else():
            self._execute(m, stacks)
        self._reads(m, stacks)
        return m

    def _select(self, m: Module, stacks: _Stacks):
        """Work on the warp of the command, or while busy on that of the last one."""
        working = Signal.like(self.work.warp)
        m.d.comb += [self.busy.eq(stacks.popping | stacks.pushing),
                     stacks.warp.eq(Mux(self.busy, working, self.work.warp)),
                     self.settling.eq(one_hot(working, self.geometry.warps)
                                      & spread(self.busy, self.geometry.warps))]
        m.d.sync += working.eq(stacks.warp)

    def _execute(self, m: Module, stacks: _Stacks):
        """Carry out the command, and see whether the new top has to be popped."""
        do, raw = self.work.command, stacks.raw
        diverge = self._divergence(m, stacks)
        with m.Switch(self.work.kind):
            with m.Case(StackCommand.INIT):
                stacks.set_top(m, PC_NONE, 0, PC_NONE, 0)
                m.d.comb += stacks.write_live.en.eq(1)
            with m.Case(StackCommand.PUSH):
                with m.If(raw.depth != self.geometry.stack_depth):
                    stacks.set_top(m, do.pc, do.mask, do.reconv, raw.depth + 1)
                    with m.If(raw.depth.any()):
                        stacks.store(m, stacks.level_up, stacks.old)
            with m.Case(StackCommand.JUMP):
                emptied = ~do.live.any()
                stacks.set_top(m, do.pc, raw.mask, raw.reconv, Mux(emptied, 0, raw.depth))
                warps = self.geometry.warps
                m.d.comb += [stacks.write_live.en.eq(1),
                             self.emptied.eq(one_hot(self.work.warp, warps)
                                             & spread(emptied, warps))]
                m.d.sync += stacks.popping.eq(~emptied & (~(raw.mask & do.live).any()
                                                      | _reconverged(do.pc, raw.reconv)))
            with m.Case(StackCommand.DIVERGE):
                diverge()

    def _divergence(self, m: Module, stacks: _Stacks):
        """Compute a divergence; return the function that carries it out."""
        do, raw, depth = self.work.command, stacks.raw, stacks.raw.depth
        fall = Signal(PC_BITS)
        rest = Signal(self.geometry.warp_size)
        reuse = Signal()
        push_fall = Signal()
        push_target = Signal()
        new_depth = Signal(range(self.geometry.stack_depth + 3))
        # A side that stands at the reconvergence point needs no entry. If the top reconverges there
        # itself, nothing of it is left to execute, and its place is reused.
        m.d.comb += [
            fall.eq(self.work.top.pc + 1), rest.eq(self.work.top.mask & ~do.mask),
            reuse.eq(raw.reconv == do.reconv), push_fall.eq(fall != do.reconv),
            push_target.eq(do.pc != do.reconv),
            new_depth.eq(depth + push_fall + push_target - reuse),
            self.work.overflow.eq(new_depth > self.geometry.stack_depth),
        ]

        def carry_out():
            m.d.sync += [stacks.second.pc.eq(fall), stacks.second.mask.eq(rest),
                         stacks.second.reconv.eq(do.reconv)]
            lower = Signal(stack_entry(self.geometry))
            m.d.comb += [lower.pc.eq(Mux(reuse, fall, do.reconv)),
                         lower.mask.eq(Mux(reuse, rest, raw.mask)), lower.reconv.eq(raw.reconv)]
            with m.If(~push_fall & ~push_target & reuse):
                m.d.sync += stacks.popping.eq(1)
            with m.Elif(~push_fall & ~push_target):
                stacks.set_top(m, do.reconv, raw.mask, raw.reconv, depth)
            with m.Elif(~self.work.overflow):
                stacks.set_top(m, Mux(push_target, do.pc, fall),
                              Mux(push_target, do.mask, rest), do.reconv, new_depth)
                m.d.sync += stacks.pushing.eq(~reuse & push_fall & push_target)
                with m.If(~reuse | push_fall & push_target):
                    stacks.store(m, stacks.level_up, lower)
        return carry_out

    def _pop(self, m: Module, stacks: _Stacks):
        """Drop the top; go on if the entry revealed is finished too."""
        depth = stacks.raw.depth
        below = Signal(stack_entry(self.geometry))
        level = Signal(stacks.level)
        m.d.comb += [level.eq(depth - 2),
                     below.eq(stacks.read(m, stacks.body, Cat(level, stacks.warp)))]
        with m.If(depth > 1):
            stacks.set_top(m, below.pc, below.mask, below.reconv, depth - 1)
            m.d.sync += stacks.popping.eq(~(below.mask & self.work.top.live).any()
                                         | _reconverged(below.pc, below.reconv))
        with m.Else():
            stacks.set_top(m, PC_NONE, 0, PC_NONE, 0)
            m.d.sync += stacks.popping.eq(0)

    def _reads(self, m: Module, stacks: _Stacks):
        """The PC changed by the fetch unit, the read ports of single fields, and the views."""
        fetch = self.fetch
        skip = stacks.pcs.write_port()
        m.d.comb += [
            skip.en.eq(fetch.skip.valid), skip.addr.eq(fetch.skip.warp),
            skip.data.eq(fetch.skip.pc), fetch.pc.eq(stacks.read(m, stacks.pcs, fetch.warp)),
            fetch.decode_reconv.eq(stacks.read(m, stacks.tops, fetch.decode_warp).reconv),
            self.waiter_pc.eq(stacks.read(m, stacks.pcs, self.waiter_warp)),
        ]
        for number in range(2):
            select, view = self.view_select[number], self.view[number]
            top = stacks.read(m, stacks.tops, select.warp)
            pc = stacks.read(m, stacks.pcs, select.warp)
            live = stacks.read(m, stacks.lives, select.warp)
            level = select.entry[:stacks.level.width]
            entry = stacks.read(m, stacks.body, Cat(level, select.warp))
            is_top = select.entry == (top.depth - 1)[:len(top.depth)]
            m.d.comb += [
                view.depth.eq(top.depth), view.live.eq(live),
                view.pc.eq(Mux(is_top, pc, entry.pc)),
                view.reconv.eq(Mux(is_top, top.reconv, entry.reconv)),
                view.mask.eq(Mux(is_top, top.mask, entry.mask) & live),
            ]
