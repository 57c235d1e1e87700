"""The table of blocks: complete, each with its parameters, and clear about what it refuses."""

import importlib
import inspect
import pkgutil
import re

import pytest
from amaranth.hdl import unsigned
from amaranth.lib import wiring

from caesura.errors import InputError
from caesura.hw import preempt
from caesura.hw.arch.geometry import preset
from caesura.hw.export import block, blocks, export_block
from caesura.hw.export.header import sections
from caesura.hw.export.ports import ports_of
from caesura.hw.export.structures import Structures
from caesura.hw.export.verilog import rtlil_text
from caesura.hw.export.wrapper import wrapper
from support.selection import quick

G = preset("tiny")
PARAMETRISED = [name for name in blocks() if blocks()[name].parameters]


def test_every_block_of_the_preemption_rooms_is_in_the_table():
    modules = [importlib.import_module(module.name)
               for module in pkgutil.walk_packages(preempt.__path__, "caesura.hw.preempt.")]
    there = {kind for module in modules for name, kind in inspect.getmembers(module, inspect.isclass)
             if issubclass(kind, wiring.Component) and kind.__module__ == module.__name__ and not name.startswith("_")}
    assert len(there) > 40
    assert there - {row.component for row in blocks().values()} == set()


@pytest.mark.parametrize("name", blocks())
def test_a_block_is_made_from_a_geometry_and_says_what_it_is(name):
    row = block(name)
    assert isinstance(row.make(G.replace(sms=2) if name == "device" else G, {}), row.component)
    assert 10 < len(row.summary) <= 100


def test_every_block_says_how_much_it_does_in_a_cycle():
    """Before its ports: in its description, or under Timing."""
    for row in blocks().values():
        said = sections(row.component.__doc__)
        assert "Timing" in said or re.search(r"\bcycles?\b", said[""]), row.name


@pytest.mark.parametrize("structures", [None, pytest.param(Structures(G, "p"), marks=pytest.mark.full)],
                         ids=["flat", "structured"])
@pytest.mark.parametrize("name", [name for name in blocks() if name != "device"])
def test_no_two_ports_of_a_block_have_one_name(name, structures):
    """Nor do fields in the flat form; with what simulations look at, too."""
    ports = ports_of(block(name).make(G, {}), observe=True)
    head = wrapper("top", "inner", ports, structures).partition("\n);")[0]
    names = re.findall(r"(\w+),?$", head.partition("(\n")[2], re.MULTILINE)
    assert len(names) >= len(ports) and sorted(set(names)) == sorted(names)


def test_parameters_are_passed_on():
    assert block("packer").make(G, {"words_out": 4}).words_out == 4
    assert block("compressor").make(G, {"tag": 9}).tag == unsigned(9)


@pytest.mark.parametrize("name, given, message", [
    ("packer", {"depth": 3}, "packer has no parameter 'depth'; it has words_out"),
    ("packer", {"words_out": 3}, "packer: words_out must be a power of two"),
    ("sequencer", {"x": 1}, "it has none"), ("tb_compressor", {"tag": 8}, "has no parameter 'tag'; it has none"),
    ("tb_decompressor", {"tag": 8}, "has no parameter 'tag'; it has none"),
    ("register_encoder", {"choice": 1}, "has no parameter 'choice'; it has tag"),
    ("unpacker", {"takes": 1}, "has no parameter 'takes'; it has words_in, words_out, ahead"),
    ("compressor", {"tag": -1}, "compressor: tag must be 0 to 4096, not -1"),
    ("compressor", {"tag": 1 << 40}, "tag must be 0 to 4096"),
    ("checksum", {"words": -1}, "words must be 1 to 4096, not -1"),
    ("packer", {"words_in": 0}, "words_in must be 1 to"), ("unpacker", {"words_out": 0}, "words_out must be 1 to"),
    ("cheapest_fit", {"ranges": 0}, "ranges must be 1 to"), ("range_planner", {"most": -1}, "most must be 1 to"),
    ("axi_master", {"first_reader": -1}, "first_reader must be 0 to"),
    ("closer", {"shared": 2}, "shared must be 0 to 1, not 2")])
def test_a_wrong_parameter_is_refused(name, given, message):
    with pytest.raises(InputError, match=message):
        block(name).make(G, given)


def test_switches_are_switches_and_a_tag_may_be_none():
    assert block("unpacker").make(G, {"ahead": 1}).ahead is True
    assert block("unpacker").values(G, {"ahead": 0})["ahead"] is False
    assert block("compressor").make(G, {"tag": 0}).tag == unsigned(0)


def test_what_goes_wrong_with_parameters_of_the_user_is_told(monkeypatch):
    row = block("packer")

    def fails(self, platform):
        raise IndexError("deep\ninside")

    monkeypatch.setattr(row.component, "elaborate", fails)
    with pytest.raises(InputError, match=r"^packer: it cannot be made with words_out=4 \(deep inside\); use other"):
        export_block("packer", G, parameters={"words_out": 4})
    with pytest.raises(IndexError):
        export_block("packer", G)


@pytest.mark.parametrize("name", quick(PARAMETRISED, set(PARAMETRISED) - {
    "restore_pipeline", "save_pipeline", "stream_parser", "axi_master", "encoding_table", "register_encoder",
    "range_planner", "entry_buffer", "compressor"}))
def test_small_numbers_make_a_block_or_a_message(name):
    """Each parameter by itself, at the ends of what is accepted and beside them."""
    row = block(name)
    for parameter in row.parameters:
        for value in (0, 1, 3):
            try:
                made = row.make(G, {parameter: value})
                with row.told({parameter: value}):
                    rtlil_text(made, name="made")
            except InputError as error:
                assert str(error).startswith(f"{name}: ") and "\n" not in str(error)


def test_an_unknown_block_is_refused():
    with pytest.raises(InputError, match="no block 'packet'"):
        block("packet")
