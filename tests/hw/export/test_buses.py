"""Buses of exported blocks: the names, the order and the attributes from which tools infer an interface."""

import re

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.export import export_block
from support.selection import quick

G = preset("tiny")
ADDRESS = "id addr len size burst lock cache prot qos valid ready"
AXI4 = {"aw": ADDRESS, "w": "data strb last valid ready", "b": "id resp valid ready", "ar": ADDRESS,
        "r": "id data resp last valid ready"}
LITE = {"aw": "addr prot valid ready", "w": "data strb valid ready", "b": "resp valid ready",
        "ar": "addr prot valid ready", "r": "data resp valid ready"}
FROM_MASTER = {"aw", "w", "ar"}
"""Channels whose payload the master drives; their `ready`, and the others' payload, the slave."""
PORT = re.compile(r"^ +(input|output) +logic *(?:\[(\d+):0\])? +([ms]_axi)_(\w+),?$", re.MULTILINE)


def ports(text, prefix):
    head = text[:text.index("\n);")]
    return [(name, direction, int(width or 0) + 1) for direction, width, bus, name in PORT.findall(head)
            if bus == prefix]


def expected(channels, master):
    """Return names and directions, in their order."""
    made = []
    for channel, fields in channels.items():
        for field in fields.split():
            driven_by_master = (channel in FROM_MASTER) != (field == "ready")
            made.append((channel + field, "output" if driven_by_master == master else "input"))
    return made


BUSES = [("axi_registers", "s_axi", LITE), ("preemption_unit", "m_axi", AXI4), ("sm", "s_axi", LITE),
         ("sm", "m_axi", AXI4)]


@pytest.mark.parametrize("name, prefix, channels", quick(BUSES, BUSES[:1]))
def test_names_order_and_directions_are_those_of_axi(name, prefix, channels):
    text = export_block(name, G).text
    found = ports(text, prefix)
    assert [(name, direction) for name, direction, _ in found] == expected(channels, prefix == "m_axi")
    widths = {name: width for name, _, width in found}
    if channels is AXI4:
        assert widths["awlen"] == widths["arlen"] == 8 and widths["awaddr"] == 32 and widths["wdata"] == 8 * G.bus_bytes
        assert widths["wstrb"] == G.bus_bytes and widths["bresp"] == widths["awburst"] == 2
    else:
        assert widths["wdata"] == widths["rdata"] == 32 and widths["wstrb"] == 4


CLOCKS = [("axi_registers", "s_axi"), ("preemption_unit", "m_axi"), ("sm", "s_axi:m_axi")]


@pytest.mark.parametrize("name, buses", quick(CLOCKS, CLOCKS[:1]))
def test_the_clock_says_which_buses_and_reset_are_its_own(name, buses):
    head = export_block(name, G).text.partition("\n);")[0]
    clock = head[:head.index(" clk,")]
    assert f"ASSOCIATED_BUSIF {buses}, ASSOCIATED_RESET rst" in clock[clock.rindex("(*"):]
    reset = head[head.index(" clk,"):head.index(" rst,")]
    assert "POLARITY ACTIVE_HIGH" in reset[reset.index("(*"):]
