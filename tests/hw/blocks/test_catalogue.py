"""The table of blocks: complete, each with its parameters, and clear about what it refuses."""

import importlib
import inspect
import pkgutil
import re

import pytest
from amaranth.hdl import unsigned
from amaranth.lib import wiring

from caesura.hw import preempt
from caesura.hw.arch.errors import InputError
from caesura.hw.arch.geometry import preset
from caesura.hw.blocks import block, blocks
from caesura.hw.blocks.ports import ports_of
from caesura.hw.blocks.structures import Structures
from caesura.hw.blocks.wrapper import wrapper

G = preset("tiny")


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


@pytest.mark.parametrize("structures", [None, Structures(G, "p")], ids=["flat", "structured"])
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
    ("packer", {"words_out": 3}, "packer: "), ("sequencer", {"x": 1}, "it has none")])
def test_a_wrong_parameter_is_refused(name, given, message):
    with pytest.raises(InputError, match=message):
        block(name).make(G, given)


def test_an_unknown_block_is_refused():
    with pytest.raises(InputError, match="no block 'packet'"):
        block("packet")
