"""Forgotten state: every stateful element of the SM is on the list in `state_list`, and the list is true."""

import functools
import re
from collections import Counter
from collections.abc import Iterable

import pytest
from amaranth.hdl import Fragment, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from caesura.hw.arch.geometry import PRESETS, Geometry, preset
from caesura.hw.arch.image import context
from caesura.hw.core.execute.pipeline import ExecutePipeline
from caesura.hw.core.front_end.barriers import BarrierUnit
from caesura.hw.sm import Sm
from support.hw.state.kinds import Kind
from support.hw.state.state_list import ABOUT_THE_IMAGE, IN_PLACE, OF_SEVERAL_BEATS, TRAPS, YIELDS, listed
from support.hw.state.walk import elements

AWAY = 8
"""Every entry of the list is taken away once, every eighth at a time."""
LAYOUTS = {name: getattr(context, name) for name in ("CCB_ENTRY", "WARP_HEADER", "STACK_ENTRY", "ENCODING_ROW")}


@functools.cache
def numberless(name: str) -> str:
    """Return a name with ``#`` for its numbers."""
    return re.sub("[0-9]+", "#", name)


@functools.cache
def matching(name: str) -> re.Pattern:
    """Return what an entry of the list matches; ``#`` is a number."""
    return re.compile(re.escape(name).replace(r"\#", "[0-9]+"))


def compare(found: Iterable[str], on_list: Iterable[str]) -> list[str]:
    """Return a line for each difference between a design's elements and a list of names."""
    entries = Counter(on_list)
    result = [f"listed {count} times: {name}" for name, count in entries.items() if count > 1]
    alike: dict[str, list[tuple[str, re.Pattern]]] = {}  # entries that differ in numbers only
    for name in entries:
        alike.setdefault(numberless(name), []).append((name, matching(name)))
    used = set()
    for element, count in Counter(found).items():
        candidates = alike.get(numberless(element), [])
        matches = [name for name, pattern in candidates if pattern.fullmatch(element)]
        used.update(matches)
        if count > 1:
            result.append(f"{count} elements are called {element}")
        if not matches:
            result.append(f"not listed: {element}")
        if len(matches) > 1:
            result.append(f"listed {len(matches)} times: {element} as {' and '.join(matches)}")
    return result + [f"no longer exists: {name}" for name in entries if name not in used]


def names(g: Geometry) -> list[str]:
    return [name for name, _ in listed()
            if (g.beats > 1 or name not in OF_SEVERAL_BEATS) and (g.in_place or name not in IN_PLACE)
            and (g.traps or name not in TRAPS) and (g.watches or name not in YIELDS)]


@pytest.fixture(scope="module")
def tiny() -> list[str]:
    """The elements of the smallest SM."""
    return list(elements(Fragment.get(Sm(preset("tiny")), None)))


def test_every_element_is_listed_once_on_the_smallest(tiny):
    assert compare(tiny, names(preset("tiny"))) == []


@pytest.mark.parametrize("g", [
    pytest.param(preset("tiny").replace(warp_size=16, watches=2), id="two beats", marks=pytest.mark.full),
    *(pytest.param(preset(name), id=name, marks=pytest.mark.full) for name in PRESETS if name != "tiny")])
def test_every_element_is_listed_once(g):
    assert compare(elements(Fragment.get(Sm(g), None)), names(g)) == []


def test_the_list_is_what_the_test_depends_on(tiny):
    """Each entry taken away is missed; an entry too many, a broader or a repeated one is found."""
    every = names(preset("tiny"))
    for k in range(AWAY):
        away = {name: 0 for name in every[k::AWAY]}
        missed = []
        for element in tiny:
            if matches := [name for name in away if numberless(name) == numberless(element)
                           and matching(name).fullmatch(element)]:
                missed.append(f"not listed: {element}")
            for name in matches:
                away[name] += 1
        assert all(away.values())
        assert compare(tiny, [name for name in every if name not in away]) == missed
    assert compare(tiny, [*every, "front.stack.gone"]) == ["no longer exists: front.stack.gone"]
    assert compare(tiny, [*every, "front.table.dead"]) == ["listed 2 times: front.table.dead"]
    both = "execute.stage_1 as execute.stage_# and execute.stage_1"
    assert compare(tiny, [*every, "execute.stage_1"]) == [f"listed 2 times: {both}"]


def _more(block, monkeypatch, add):
    """Let `add` do something to the module of every instance of a block."""
    original = block.elaborate

    def elaborate_more(self, platform):
        m = original(self, platform)
        add(m)
        return m

    monkeypatch.setattr(block, "elaborate", elaborate_more)


def _flip_flop(m):
    forgotten = Signal(4)
    m.d.sync += forgotten.eq(forgotten + 1)


def _memory(m):
    m.submodules.forgotten = memory = Memory(shape=4, depth=4, init=[])
    memory.write_port()
    memory.read_port(domain="comb")


def _read_port(m):
    m.submodules.forgotten = memory = Memory(shape=4, depth=4, init=[])
    memory.read_port()


@pytest.mark.full
def test_new_state_is_named(monkeypatch):
    """A flip-flop or memory that somebody adds, to a block with state or without, fails by name."""
    for block, add in ((BarrierUnit, _flip_flop), (BarrierUnit, _read_port),
                       (ExecutePipeline, _flip_flop), (ExecutePipeline, _memory)):
        _more(block, monkeypatch, add)
    new = ("front.barriers.forgotten", "front.barriers.forgotten[]", "front.barriers.forgotten[].read0",
           "execute.forgotten", "execute.forgotten[]")
    found = compare(elements(Fragment.get(Sm(preset("tiny")), None)), names(preset("tiny")))
    assert sorted(found) == sorted(f"not listed: {name}" for name in new)


def test_names_are_the_authors():
    """Names of variables, attributes, ports, arrays, and of two flip-flops that share one."""
    class Block(wiring.Component):
        port: Signal

        def __init__(self):
            super().__init__({"port": Out(2)})

        def elaborate(self, platform):
            m = Module()
            first = Signal(2)
            self._second = Signal.like(first)
            many = [Signal(2, name=f"many_{k}") for k in range(2)]
            unused = Signal()
            comb = Signal()
            m.d.comb += comb.eq(unused)
            m.d.sync += [each.eq(each + 1) for each in (first, self._second, self.port, *many)]
            self._other(m)
            m.d.sync += (same := Signal(2, name="same")).eq(same + 1)
            return m

        def _other(self, m):
            same = Signal(2)
            m.d.sync += same.eq(same + 1)

    assert list(elements(Fragment.get(Block(), None))) == [
        "first", "_second", "port", "many_0", "many_1", "same@_other", "same@elaborate"]


def test_context_is_in_the_image():
    """Context names fields of the image that exist; all fields that say something of a TB are named."""
    carried = set()
    for name, group in listed():
        assert group.why, name
        assert bool(group.fields) == (group.kind is Kind.CONTEXT), name
        carried |= set(group.fields.split())
    fields = {f"{layout}.{field}" for layout, members in LAYOUTS.items() for field, _ in members}
    assert carried <= fields and ABOUT_THE_IMAGE <= fields
    assert not carried & ABOUT_THE_IMAGE
    assert fields == carried | ABOUT_THE_IMAGE


def test_no_name_is_a_wildcard():
    """``#`` stands for a number at the end of a name or index, never for a name."""
    for name in names(preset("tiny")):
        for part in name.split("."):
            assert re.fullmatch(r"[a-z_@]+[0-9]?(_*#)*(\[\])?|read[0-9]|f64(_[a-z]+)?", part), name
