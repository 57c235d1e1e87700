"""SIMT stacks of all warps: divergence, reconvergence and lane exit (Lin et al. III).

An entry is (PC, mask, reconvergence PC). The top of each stack is kept apart, in memories that are
read combinationally; the entries below are in `body`::

    level      0        1             depth-2      depth-1
             body[0]  body[1]  ...   body[depth-2]   top: pc, mask, reconv

Masks are stored as pushed; the effective mask is ``mask & live``, where `live` are the lanes that
have not exited. An entry that exits have emptied is popped when it becomes the top.
"""

import enum

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.geometry import PC_BITS, PC_NONE, Geometry
from ...interfaces import payloads as payload
from ...lib.bits import one_hot, spread

__all__ = ["StackCommand", "SimtStack", "command", "stack_top"]


class StackCommand(enum.IntEnum):
    """What to do with the stack of one warp."""

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
    """Payload of a command; `StackCommand` says which fields count."""
    return data.StructLayout({"kind": StackCommand, "pc": PC_BITS, "mask": g.warp_size,
                              "reconv": PC_BITS, "live": g.warp_size})


def stack_top(g: Geometry) -> data.StructLayout:
    """Top of a stack; `mask` is the effective mask."""
    return data.StructLayout({"pc": PC_BITS, "mask": g.warp_size, "reconv": PC_BITS,
                              "live": g.warp_size, "depth": range(g.stack_depth + 1)})


def _reconverged(pc, reconv):
    return (pc == reconv) & (reconv != PC_NONE)


class SimtStack(wiring.Component):
    """One SIMT stack a warp, one command a cycle while not `busy`.

    A command takes effect at the end of its cycle. When the new top is finished (no lane left, or
    at its reconvergence PC), the following cycles pop one entry each; a divergence that pushes two
    entries below a kept one takes one more cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    warp : Signal, in
        The warp whose `top` is read and that `command` is for.
    top : View(stack_top(g)), out
        Combinational; not meaningful while `busy`.
    command : View(command(g)), in
        Ignored while `busy`.
    overflow : Signal(), out
        ``DIVERGE`` with these operands would exceed `stack_depth`, whatever the command's kind;
        combinational.
    busy : Signal(), out
        Still working on the last command.
    settling : Signal(warps), out
        The warp that is worked on, one-hot.
    emptied : Signal(warps), out
        The warp that loses its last live lane in this cycle, one-hot. Its stack is empty
        afterwards. Live lanes that run off the bottom of the stack instead continue at `PC_NONE`,
        which no code reaches.
    skip : In(valid, warp, pc)
        Moves the PC of a warp; another warp than that of the command.
    fetch_warp, fetch_pc, decode_warp, decode_reconv, waiter_warp, waiter_pc
        Combinational read ports of top-of-stack fields.
    view_select, view
        Two combinational read ports of the stack as a context image shows it: `depth`, `live`, and
        entry `entry` with its effective mask.
    """

    warp: Signal
    top: data.View
    command: data.View
    overflow: Signal
    busy: Signal
    settling: Signal
    emptied: Signal
    skip: data.View
    fetch_warp: Signal
    fetch_pc: Signal
    decode_warp: Signal
    decode_reconv: Signal
    waiter_warp: Signal
    waiter_pc: Signal
    view_select: data.View
    view: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        warp = payload.index(g.warps)
        depth = range(g.stack_depth + 1)
        super().__init__({
            "warp": In(warp), "top": Out(stack_top(g)),
            "command": In(command(g)), "overflow": Out(1),
            "busy": Out(1), "settling": Out(g.warps), "emptied": Out(g.warps),
            "skip": In(data.StructLayout({"valid": 1, "warp": warp, "pc": PC_BITS})),
            "fetch_warp": In(warp), "fetch_pc": Out(PC_BITS),
            "decode_warp": In(warp), "decode_reconv": Out(PC_BITS),
            "waiter_warp": In(warp), "waiter_pc": Out(PC_BITS),
            "view_select": In(data.ArrayLayout(data.StructLayout({"warp": warp, "entry": 6}), 2)),
            "view": Out(data.ArrayLayout(data.StructLayout({
                "depth": depth, "live": g.warp_size, "pc": PC_BITS, "mask": g.warp_size,
                "reconv": PC_BITS}), 2)),
        })
        self._level = payload.index(g.stack_depth)
        self._entry = data.StructLayout({"pc": PC_BITS, "mask": g.warp_size, "reconv": PC_BITS})
        self._top = data.StructLayout({"mask": g.warp_size, "reconv": PC_BITS, "depth": depth})

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        slots = 1 << len(self.warp)
        m.submodules.pcs = self._pcs = Memory(shape=PC_BITS, depth=slots, init=[])
        m.submodules.tops = self._tops = Memory(shape=self._top, depth=slots, init=[])
        m.submodules.lives = self._lives = Memory(shape=g.warp_size, depth=slots, init=[])
        m.submodules.body = self._body = Memory(shape=self._entry,
                                                depth=slots << self._level.width, init=[])
        self._write_pc = self._pcs.write_port()
        self._write_top = self._tops.write_port()
        self._write_live = self._lives.write_port()
        self._write_body = self._body.write_port()
        self._raw = self._read(m, self._tops, self._selected(m))
        self._old = Signal(self._entry)
        self._level_up = Signal(self._level)  # of the present top
        raw = self._raw
        m.d.comb += [
            self.top.pc.eq(self._read(m, self._pcs, self._warp)), self.top.reconv.eq(raw.reconv),
            self.top.live.eq(self._read(m, self._lives, self._warp)), self.top.depth.eq(raw.depth),
            self.top.mask.eq(raw.mask & self.top.live),
            self._old.pc.eq(self.top.pc), self._old.mask.eq(raw.mask),
            self._old.reconv.eq(raw.reconv), self._level_up.eq(raw.depth - 1),
        ]
        for port in (self._write_pc, self._write_top, self._write_live):
            m.d.comb += port.addr.eq(self._warp)
        m.d.comb += self._write_live.data.eq(self.command.live)
        self._second = Signal(self._entry)  # entry that a divergence still has to write
        with m.If(self._popping):
            self._pop(m)
        with m.Elif(self._pushing):
            self._store(m, self._level_up - 1, self._second)
            m.d.sync += self._pushing.eq(0)
        with m.Else():
            self._execute(m)
        self._reads(m)
        return m

    def _selected(self, m: Module):
        """The warp worked on: that of the command, or while busy that of the last one."""
        self._popping = Signal()
        self._pushing = Signal()
        self._warp = Signal.like(self.warp)
        working = Signal.like(self.warp)
        m.d.comb += [self.busy.eq(self._popping | self._pushing),
                     self._warp.eq(Mux(self.busy, working, self.warp)),
                     self.settling.eq(one_hot(working, self.geometry.warps)
                                      & spread(self.busy, self.geometry.warps))]
        m.d.sync += working.eq(self._warp)
        return self._warp

    @staticmethod
    def _read(m: Module, memory: Memory, address):
        port = memory.read_port(domain="comb")
        m.d.comb += port.addr.eq(address)
        return port.data

    def _store(self, m: Module, level, entry):
        """Write entry `entry` at `level` of the selected warp's stack."""
        index = Signal(self._level, name="store_level")
        m.d.comb += [index.eq(level), self._write_body.addr.eq(Cat(index, self._warp)),
                     self._write_body.data.eq(entry), self._write_body.en.eq(1)]

    def _set_top(self, m: Module, pc, mask, reconv, depth):
        top = self._write_top
        m.d.comb += [top.en.eq(1), top.data.mask.eq(mask),
                     top.data.reconv.eq(reconv), top.data.depth.eq(depth),
                     self._write_pc.en.eq(1), self._write_pc.data.eq(pc)]

    def _execute(self, m: Module):
        """Carry out the command, and see whether the new top has to be popped."""
        do, raw = self.command, self._raw
        diverge = self._divergence(m)
        with m.Switch(do.kind):
            with m.Case(StackCommand.INIT):
                self._set_top(m, PC_NONE, 0, PC_NONE, 0)
                m.d.comb += self._write_live.en.eq(1)
            with m.Case(StackCommand.PUSH):
                with m.If(raw.depth != self.geometry.stack_depth):
                    self._set_top(m, do.pc, do.mask, do.reconv, raw.depth + 1)
                    with m.If(raw.depth.any()):
                        self._store(m, self._level_up, self._old)
            with m.Case(StackCommand.JUMP):
                gone = ~do.live.any()
                self._set_top(m, do.pc, raw.mask, raw.reconv, Mux(gone, 0, raw.depth))
                warps = self.geometry.warps
                m.d.comb += [self._write_live.en.eq(1),
                             self.emptied.eq(one_hot(self.warp, warps) & spread(gone, warps))]
                m.d.sync += self._popping.eq(~gone & (~(raw.mask & do.live).any()
                                                      | _reconverged(do.pc, raw.reconv)))
            with m.Case(StackCommand.DIVERGE):
                diverge()

    def _divergence(self, m: Module):
        """Compute a divergence; return the function that carries it out."""
        do, raw, depth = self.command, self._raw, self._raw.depth
        fall = Signal(PC_BITS)
        rest = Signal(self.geometry.warp_size)
        reuse = Signal()
        push_fall = Signal()
        push_target = Signal()
        new_depth = Signal(range(self.geometry.stack_depth + 3))
        m.d.comb += [
            fall.eq(self.top.pc + 1), rest.eq(self.top.mask & ~do.mask),
            reuse.eq(raw.reconv == do.reconv), push_fall.eq(fall != do.reconv),
            push_target.eq(do.pc != do.reconv),
            new_depth.eq(depth + push_fall + push_target - reuse),
            self.overflow.eq(new_depth > self.geometry.stack_depth),
        ]

        def carry_out():
            m.d.sync += [self._second.pc.eq(fall), self._second.mask.eq(rest),
                         self._second.reconv.eq(do.reconv)]
            kept = Signal(self._entry)
            m.d.comb += [kept.pc.eq(Mux(reuse, fall, do.reconv)),
                         kept.mask.eq(Mux(reuse, rest, raw.mask)), kept.reconv.eq(raw.reconv)]
            with m.If(~push_fall & ~push_target & reuse):
                m.d.sync += self._popping.eq(1)
            with m.Elif(~push_fall & ~push_target):
                self._set_top(m, do.reconv, raw.mask, raw.reconv, depth)
            with m.Elif(~self.overflow):
                self._set_top(m, Mux(push_target, do.pc, fall),
                              Mux(push_target, do.mask, rest), do.reconv, new_depth)
                m.d.sync += self._pushing.eq(~reuse & push_fall & push_target)
                with m.If(~reuse | push_fall & push_target):
                    self._store(m, self._level_up, kept)
        return carry_out

    def _pop(self, m: Module):
        """Drop the top; go on if the entry revealed is finished too."""
        depth = self._raw.depth
        below = Signal(self._entry)
        level = Signal(self._level)
        m.d.comb += [level.eq(depth - 2),
                     below.eq(self._read(m, self._body, Cat(level, self._warp)))]
        with m.If(depth > 1):
            self._set_top(m, below.pc, below.mask, below.reconv, depth - 1)
            m.d.sync += self._popping.eq(~(below.mask & self.top.live).any()
                                         | _reconverged(below.pc, below.reconv))
        with m.Else():
            self._set_top(m, PC_NONE, 0, PC_NONE, 0)
            m.d.sync += self._popping.eq(0)

    def _reads(self, m: Module):
        """The PC changed by the fetch unit, the read ports of single fields, and the views."""
        skip = self._pcs.write_port()
        m.d.comb += [
            skip.en.eq(self.skip.valid), skip.addr.eq(self.skip.warp), skip.data.eq(self.skip.pc),
            self.fetch_pc.eq(self._read(m, self._pcs, self.fetch_warp)),
            self.decode_reconv.eq(self._read(m, self._tops, self.decode_warp).reconv),
            self.waiter_pc.eq(self._read(m, self._pcs, self.waiter_warp)),
        ]
        for number in range(2):
            select, view = self.view_select[number], self.view[number]
            top = self._read(m, self._tops, select.warp)
            pc = self._read(m, self._pcs, select.warp)
            live = self._read(m, self._lives, select.warp)
            entry = self._read(m, self._body, Cat(select.entry[:self._level.width], select.warp))
            is_top = select.entry == (top.depth - 1)[:len(top.depth)]
            m.d.comb += [
                view.depth.eq(top.depth), view.live.eq(live),
                view.pc.eq(Mux(is_top, pc, entry.pc)),
                view.reconv.eq(Mux(is_top, top.reconv, entry.reconv)),
                view.mask.eq(Mux(is_top, top.mask, entry.mask) & live),
            ]
