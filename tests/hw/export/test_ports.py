"""Ports and types of exported blocks: names, directions, order of bits."""

import pytest
from amaranth.hdl import unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.geometry import preset
from caesura.hw.export.names import identifier, snake_case
from caesura.hw.export.ports import leaves, ports_of
from caesura.hw.export.structures import Structures
from caesura.hw.memory.ports import ReadPort
from caesura.hw.preempt.compress.compressor import register_beat

G = preset("tiny")
PAIR = data.StructLayout({"low": 3, "high": data.ArrayLayout(data.StructLayout({"on": 1, "sum": 4}), 2), "none": 0})


class Various(wiring.Component):
    """Ports of every kind."""

    def __init__(self):
        super().__init__({
            "lines": In(stream.Signature(PAIR)), "lines_valid": Out(4), "release": In(2), "empty": In(0),
            "always": In(stream.Signature(2, always_ready=True)), "readers": Out(ReadPort(G)).array(2),
            "trace": Out(wiring.Signature({"pc": Out(8)})), "trace_write": Out(3),
            "signed": Out(data.ArrayLayout(8, 3))})


@pytest.mark.parametrize("parts, name", [(("release",), "release_"), (("a", 0, "b"), "a_0_b"),
                                         (("kernel[1].state",), "kernel_1_state")])
def test_names_are_words_and_no_reserved_ones(parts, name):
    assert identifier(parts) == name


def test_class_names_become_words():
    assert snake_case("WarpLaunchPort") == "warp_launch_port"


def test_ports_have_names_and_directions_in_the_order_of_the_signature():
    ports = [(port.name, port.output) for port in ports_of(Various())]
    assert ports[:7] == [("lines_payload", False), ("lines__valid", False), ("lines_ready", True),
                         ("lines_valid", True), ("release_", False), ("always_payload", False), ("always_valid", False)]
    names = [name for name, _ in ports]
    assert len(set(names)) == len(names) and "empty" not in names and "always_ready" not in names
    assert dict(ports)["readers_1_request_valid"] and not dict(ports)["readers_0_beat_valid"]


def test_what_only_simulations_look_at_is_left_out_unless_asked_for():
    plain = {port.name for port in ports_of(Various())}
    assert {port.name for port in ports_of(Various(), observe=True)} - plain == {"trace_pc", "trace_write"}


def test_fields_come_with_the_highest_bits_first_and_have_their_places():
    structures = Structures(G, "p")
    assert structures.type_of(PAIR, ("pair",)) == "p::pair_t"
    lines = [line.strip() for line in structures.typedefs["pair_t"].splitlines()]
    assert lines[1:3] == ["pair_high_t [1:0] high;", "logic [2:0] low;"]
    assert list(structures.typedefs) == ["pair_high_t", "pair_t"]
    assert [(leaf.path, leaf.low, leaf.width) for leaf in leaves(PAIR)] == [
        (("low",), 0, 3), (("high", 0, "on"), 3, 1), (("high", 0, "sum"), 4, 4), (("high", 1, "on"), 8, 1),
        (("high", 1, "sum"), 9, 4)]


def test_gaps_of_a_layout_are_fields():
    layout = data.FlexibleLayout(8, {"a": data.Field(unsigned(2), 1), "b": data.Field(unsigned(1), 5)})
    structures = Structures(G, "p")
    structures.type_of(layout, ("gaps",))
    assert [line.strip() for line in structures.typedefs["gaps_t"].splitlines()[1:-1]] == [
        "logic [1:0] unused_6;", "logic b;", "logic [1:0] unused_3;", "logic [1:0] a;", "logic unused_0;"]


def test_one_layout_has_one_type_named_after_what_makes_it():
    structures = Structures(G, "p")
    assert structures.type_of(register_beat(G), ("x",)) == "p::register_beat_t"
    assert structures.type_of(data.ArrayLayout(register_beat(G), 3), ("y",)) == "p::register_beat_t [2:0]"
    assert structures.type_of(register_beat(G, unsigned(5)), ("z",)) == "p::register_beat_2_t"
    for port in ports_of(Various()):
        structures.type_of(port.shape, port.owner)
    assert {"burst_t", "read_port_beat_t"} <= set(structures.typedefs)
