"""`support.same_netlist` takes circuits for one that differ in names and structure alone, and no others."""

from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Cat, Module, Mux, Print, Signal
from amaranth.lib import data, enum, memory, wiring
from amaranth.lib.wiring import In, Out

from caesura.errors import InputError
from support.same_netlist import __main__ as command
from support.same_netlist.comparison import Comparison, compare
from support.same_netlist.reading import circuit

Build = Callable[[Module, Any], None]
PAIR = data.StructLayout({"low": 4, "high": 4})


class Made(wiring.Component):
    """A component of some ports that a function fills."""

    def __init__(self, ports: dict[str, Any], build: Build):
        super().__init__(ports)
        self.build = build

    def elaborate(self, platform):
        m = Module()
        self.build(m, self)
        return m


PORTS = {"a": In(8), "b": In(8), "go": In(1), "more": In(1), "out": Out(8)}


def compared(one: Build, other: Build, ports: dict[str, Any] = PORTS, ports_now: dict[str, Any] | None = None,
             dead: bool = False) -> Comparison:
    """Compare what two functions make."""
    return compare(circuit(Made(ports, one), dead), circuit(Made(ports_now or ports, other), dead))


def plain(m: Module, top: Any, *, init: int = 3, swapped: bool = False, reset_less: bool = False) -> None:
    """Make a register that takes a difference, and counts otherwise."""
    kept = Signal(8, init=init, reset_less=reset_less)
    one, other = (top.b, top.a) if swapped else (top.a, top.b)
    with m.If(top.go):
        m.d.sync += kept.eq(one - other)
    with m.Elif(top.more):
        m.d.sync += kept.eq(kept + 1)
    m.d.comb += top.out.eq(kept ^ top.a)


class Counter(wiring.Component):
    """The register of `plain`."""

    value: In(8)  # pyright: ignore[reportInvalidTypeForm]
    controls: In(wiring.Signature({"take": Out(1), "count": Out(1)}))  # pyright: ignore[reportInvalidTypeForm]
    kept: Out(PAIR)  # pyright: ignore[reportInvalidTypeForm]

    def elaborate(self, platform):
        m = Module()
        state = Signal(PAIR, init={"low": 3, "high": 0})
        with m.If(self.controls.take):
            m.d.sync += state.eq(self.value)
        with m.Elif(self.controls.count):
            m.d.sync += state.eq(state.as_value() + 1)
        m.d.comb += self.kept.eq(state)
        return m


def in_parts(m: Module, top: Any) -> None:
    """Make the same of two components, one of which has structures and signatures as ports."""
    m.submodules.block = block = Counter()
    controls = wiring.Signature({"take": Out(1), "count": Out(1)}).create()
    m.d.comb += [controls.take.eq(top.go), controls.count.eq(top.more)]
    wiring.connect(m, controls, block.controls)
    m.d.comb += [block.value.eq((top.a - top.b)[:8]), top.out[:4].eq(block.kept.low ^ top.a[:4]),
                 top.out[4:].eq(Cat(bit ^ top.a[4 + k] for k, bit in enumerate(block.kept.high)))]


def in_bits(m: Module, top: Any) -> None:
    """Make the same of registers of one bit."""
    bits = [Signal(name=f"it_{k}", init=3 >> k & 1) for k in range(8)]
    taken, counted = top.a - top.b, Cat(bits) + 1
    nested = Module()
    for k, bit in enumerate(bits):
        with nested.If(top.go):
            nested.d.sync += bit.eq(taken[k])
        with nested.Elif(top.more):
            nested.d.sync += bit.eq(counted[k])
    m.submodules.nested = nested
    m.d.comb += top.out.eq(top.a ^ Cat(bits))


def test_names_hierarchy_and_signals_are_nothing():
    assert compared(plain, lambda m, top: plain(m, top)).same
    assert compared(plain, in_parts).same and compared(plain, in_bits).same


@pytest.mark.parametrize("one, other", [
    (lambda t: t.a + t.b, lambda t: t.b + t.a),
    (lambda t: (t.a + t.b)[:4], lambda t: (t.a[:4] + t.b[:4])[:4]),
    (lambda t: t.a == 5, lambda t: t.a.matches("00000101")),
    (lambda t: ~(t.a & t.b), lambda t: ~t.a | ~t.b),
    (lambda t: ~~t.a, lambda t: t.a),
    (lambda t: Mux(t.go, t.a, t.b), lambda t: Mux(~t.go, t.b, t.a)),
    (lambda t: t.a > t.b, lambda t: ~(t.a <= t.b)),
    (lambda t: t.go & t.more, lambda t: Cat(t.more, t.go).all()),
    (lambda t: t.a * t.b, lambda t: t.b * t.a),
    (lambda t: t.a >> t.b[:2], lambda t: t.a.bit_select(t.b[:2], 8)),
    (lambda t: sum([t.a, t.b]), lambda t: t.a + t.b),
    (lambda t: t.a != t.b, lambda t: (t.a ^ t.b).any()),
], ids=range(12))
def test_ways_to_write_a_value(one, other):
    def made(value):
        return lambda m, top: m.d.comb.__iadd__(top.out.eq(value(top))) and None
    assert compared(made(one), made(other)).same


@pytest.mark.parametrize("one, other", [
    (lambda t: t.a - t.b, lambda t: t.b - t.a),
    (lambda t: t.a < t.b, lambda t: t.a.as_signed() < t.b.as_signed()),
    (lambda t: t.a >> t.b[:2], lambda t: t.a.as_signed() >> t.b[:2]),
    (lambda t: t.a << t.b[:2], lambda t: t.a >> t.b[:2]),
    (lambda t: t.a.word_select(t.b[:2], 2), lambda t: t.a.bit_select(t.b[:2], 2)),
    (lambda t: t.a // t.b, lambda t: t.a % t.b),
    (lambda t: t.a + t.b, lambda t: t.a - t.b),
    (lambda t: t.a * t.b, lambda t: t.a * t.a),
    (lambda t: t.a, lambda t: Cat(t.a[1], t.a[0], t.a[2:])),
    (lambda t: Array([t.a, t.b, t.go])[t.b[:2]], lambda t: Array([t.a, t.go, t.b])[t.b[:2]]),
    (lambda t: t.a.matches("1-------"), lambda t: t.a.matches("-1------")),
    (lambda t: Mux(t.go, t.a, t.b), lambda t: Mux(t.more, t.a, t.b)),
], ids=range(12))
def test_values_that_differ(one, other):
    def made(value):
        return lambda m, top: m.d.comb.__iadd__(top.out.eq(value(top))) and None
    found = compared(made(one), made(other))
    assert not found.same and any("output out" in line for line in found.after)


def test_assignments_and_connections_are_one():
    ports = {"into": In(wiring.Signature({"valid": Out(1), "payload": Out(PAIR), "ready": In(1)})),
             "out": Out(wiring.Signature({"valid": Out(1), "payload": Out(PAIR), "ready": In(1)}))}

    def assigned(m: Module, top: Any) -> None:
        m.d.comb += [top.out.valid.eq(top.into.valid), top.into.ready.eq(top.out.ready),
                     top.out.payload.high.eq(top.into.payload.high), top.out.payload.low.eq(top.into.payload.low)]
    assert compared(assigned, lambda m, top: wiring.connect(m, wiring.flipped(top.into), wiring.flipped(top.out)),
                    ports).same


def test_a_structure_has_the_ports_of_its_fields():
    def whole(m: Module, top: Any) -> None:
        m.d.sync += top.out.eq(Cat(top.both.low, top.both.high))

    def fields(m: Module, top: Any) -> None:
        m.d.sync += top.out.eq(Cat(top.both_low, top.both_high))
    ports = {"both": In(PAIR), "out": Out(8)}, {"both_high": In(4), "both_low": In(4), "out": Out(8)}
    assert compared(whole, fields, *ports).same
    renamed = Made({"both_up": In(4), "both_low": In(4), "out": Out(8)},
                   lambda m, top: m.d.sync.__iadd__(top.out.eq(Cat(top.both_low, top.both_up))) and None)
    before = circuit(Made(ports[0], whole))
    assert not compare(before, circuit(renamed)).same
    renamed = Made({"both_up": In(4), "both_low": In(4), "out": Out(8)}, renamed.build)
    assert compare(before, circuit(renamed, called=lambda name: name.replace("up", "high"))).same


@pytest.mark.parametrize("changes", [{"swapped": True}, {"init": 1}, {"reset_less": True}], ids=str)
def test_changes_of_a_register_are_told(changes):
    found = compared(plain, lambda m, top: plain(m, top, **changes))
    assert not found.same and any("flip-flop top.kept" in line for line in found.after)
    if "init" in changes:
        assert found.after[0] == "round 0: flip-flop top.kept[1]"


def test_a_condition_that_is_missing_is_told():
    def without(m: Module, top: Any) -> None:
        kept = Signal(8, init=3)
        m.d.sync += kept.eq(Mux(top.go, top.a - top.b, kept + 1))
        m.d.comb += top.out.eq(kept ^ top.a)
    assert not compared(plain, without).same


def test_the_order_of_assignments_counts():
    def made(turned: bool) -> Build:
        def build(m: Module, top: Any) -> None:
            assignments = [(top.go, top.a), (top.more, top.b)]
            for condition, value in assignments[::-1] if turned else assignments:
                with m.If(condition):
                    m.d.sync += top.out.eq(value)
        return build
    assert compared(made(False), made(False)).same and not compared(made(False), made(True)).same


def ring(crossed: bool) -> Build:
    """Two shift registers whose ends are the outputs, which may cross late."""
    def build(m: Module, top: Any) -> None:
        stages = [[Signal(name=f"{row}_{k}") for k in range(8)] for row in "xy"]
        for row, start in zip(stages, (top.a[0], top.b[0]), strict=True):
            m.d.sync += [late.eq(early) for early, late in zip([start, *row], row, strict=False)]
        if crossed:
            m.d.sync += [stages[0][6].eq(stages[1][5]), stages[1][6].eq(stages[0][5])]
        m.d.comb += top.out.eq(Cat(row[-1] for row in stages))
    return build


def test_wires_that_are_swapped_far_from_any_port_are_told():
    assert compared(ring(False), ring(False)).same
    found = compared(ring(False), ring(True))
    assert not found.same and {line.split(": ")[1] for line in found.after} >= {"output out[0:1]"}


def kept_rows(*, transparent: bool = False, init: int = 7, width: int = 8, asynchronous: bool = False,
              swapped: bool = False, both: bool = False) -> Build:
    """A memory that is written and read."""
    def build(m: Module, top: Any) -> None:
        m.submodules.rows = rows = memory.Memory(shape=width, depth=4, init=[init, 1, 2, 3])
        write = rows.write_port()
        if asynchronous:
            read = rows.read_port(domain="comb")
        else:
            read = rows.read_port(transparent_for=(write,) if transparent else ())
            m.d.comb += read.en.eq(top.more)
        first, second = (top.b, top.a) if swapped else (top.a, top.b)
        m.d.comb += [write.addr.eq(first), write.data.eq(second), write.en.eq(top.go), read.addr.eq(top.a[2:]),
                     top.out.eq(read.data)]
        if both:
            again = rows.write_port()
            m.d.comb += [again.addr.eq(second), again.data.eq(first), again.en.eq(top.more)]
    return build


@pytest.mark.parametrize("changes", [{"transparent": True}, {"init": 6}, {"width": 7}, {"asynchronous": True},
                                     {"swapped": True}, {"both": True}], ids=str)
def test_memories(changes):
    assert compared(kept_rows(), kept_rows()).same and compared(kept_rows(**changes), kept_rows(**changes)).same
    assert not compared(kept_rows(), kept_rows(**changes)).same


def test_rows_may_be_structures():
    def structured(m: Module, top: Any) -> None:
        m.submodules.table = table = memory.Memory(
            shape=data.StructLayout({"upper": 4, "lower": 4}), depth=4,
            init=[{"upper": n, "lower": 0} for n in (7, 1, 2, 3)])
        write, read = table.write_port(), table.read_port()
        m.d.comb += [write.addr.eq(top.a), write.data.eq(top.b), write.en.eq(top.go), read.addr.eq(top.a[2:]),
                     read.en.eq(top.more), top.out[:4].eq(read.data.upper), top.out[4:].eq(read.data.lower)]
    assert compared(kept_rows(), structured).same


def test_registers_that_nothing_reads_count_only_if_wanted():
    def idle(m: Module, top: Any) -> None:
        plain(m, top)
        m.d.sync += Signal(5, name="idle").eq(top.a)
    assert compared(plain, idle).same and circuit(Made(PORTS, idle)).dropped == 5
    found = compared(plain, idle, dead=True)
    assert not found.before and [line.split(": ")[1] for line in found.after] == ["flip-flop top.idle[0:4]"]


def test_two_registers_for_one_are_told():
    def doubled(m: Module, top: Any) -> None:
        plain(m, top)
        copy = Signal(8, init=3)
        with m.If(top.go):
            m.d.sync += copy.eq(top.a - top.b)
        with m.Elif(top.more):
            m.d.sync += copy.eq(copy + 1)
        with m.If(top.a[0]):
            m.d.comb += top.out.eq(copy ^ top.a)
    assert not compared(plain, doubled).same


def test_assertions_and_prints_count():
    def asserting(shown: str, odd: bool) -> Build:
        def build(m: Module, top: Any) -> None:
            plain(m, top)
            m.d.sync += [Assert(top.a[0] != top.b[0] if odd else top.go), Print(shown, top.a)]
        return build
    assert compared(asserting("a", True), asserting("a", True)).same
    assert not compared(asserting("a", True), asserting("b", True)).same
    assert not compared(asserting("a", True), asserting("a", False)).same


def test_ports_that_nothing_reads_count():
    assert [line.split(": ")[1] for line in compared(plain, plain, PORTS, PORTS | {"new": In(2)}).after] == [
        "input new[0:1]"]


def test_states_of_machines_have_no_names():
    def machine(names: tuple[str, str], numbers: tuple[int, int] = (0, 1)) -> Build:
        class State(enum.Enum, shape=1):
            FIRST, SECOND = numbers

        def build(m: Module, top: Any) -> None:
            state = Signal(State, name=names[0])
            with m.Switch(state):
                with m.Case(State.FIRST):
                    m.d.sync += state.eq(Mux(top.go, State.SECOND, State.FIRST))
                with m.Case(State.SECOND):
                    m.d.sync += state.eq(Mux(top.more, State.FIRST, State.SECOND))
            m.d.comb += top.out.eq(state == State.SECOND)
        return build
    assert compared(machine(("state", "")), machine(("phase", ""))).same
    assert not compared(machine(("state", "")), machine(("state", ""), (1, 0))).same


def test_the_command(tmp_path, capsys, monkeypatch):
    kept, made = tmp_path / "kept", dict(zip(("one", "other"), (plain, kept_rows()), strict=True))

    def absent(g: Any) -> Any:
        raise InputError("not of this geometry")
    monkeypatch.setattr(command, "makers", lambda: {"absent": absent} | {
        name: lambda g, build=build: Made(PORTS, build) for name, build in made.items()})
    names = ["absent", "one", "other"]
    assert command.main(["save", f"{kept}", *names]) == 0
    assert "tiny/absent: left out (not of this geometry)" in capsys.readouterr().out
    assert command.main(["compare", f"{kept}", *names[1:], "--preset", "tiny"]) == 0
    made["other"] = kept_rows(transparent=True)
    assert command.main(["compare", f"{kept}", *names]) == 1
    told = capsys.readouterr().out
    assert "tiny/one: the same" in told and "tiny/other: DIFFERENT" in told
    assert "  only now: round 1: read register top.read__data[0:7]" in told
    with pytest.raises(SystemExit, match="there is no third; there are absent, one, other"):
        command.main(["save", f"{kept}", "third"])
