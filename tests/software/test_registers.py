"""``caesura registers``: table, page, C header and Python package say what the register map says."""

import functools
import importlib
import re
import subprocess
from contextlib import closing
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from caesura import extras
from caesura.cli import main
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.registers import IDENTIFICATION, device_register_map, register_map
from caesura.sim.rtl.transport import RtlTransport
from support.keys import read_json

MAP, SM_MAP = device_register_map(), register_map()
ONCE = [path for path in SM_MAP if "[" not in path]
"""Registers that are no element of an array."""
MAPS = pytest.mark.parametrize("name, options, own", [
    ("caesura_sm", (), SM_MAP),
    ("caesura_gpu", ("--device",), {path: MAP[path] for path in MAP if path not in SM_MAP})],
    ids=["SM", "device"])
"""The maps that are written: name, options, registers."""


def invoke(*arguments):
    return CliRunner().invoke(main, ["registers", *map(str, arguments)])


def test_the_table_has_every_register_once():
    printed = invoke().output
    for path in (*ONCE, "sms", "sm_read", "kernel[0].code_base", "kernel[0].window_base[0]"):
        assert len(re.findall(rf"{MAP[path].address:#06x}\s+{re.escape(path)}\s", printed)) == 1
    assert "kernel[1]" not in printed and "window_base[1]" not in printed
    assert re.search(r"13:8\s+resident\s+TBs resident", printed)


def test_json_is_the_map():
    found = read_json("registers", invoke("--json").stdout)
    assert found["bytes"] == 0x24d8
    for row, (path, register) in zip(found["registers"], MAP.items(), strict=True):
        assert (row["path"], row["address"], row["reset"]) == (path, register.address, register.reset)
        assert {field["name"]: (field["low"], field["width"]) for field in row["fields"]} == {
            name: (field.low, field.width) for name, field in register.fields.items()}
    access = {row["path"]: row["access"] for row in found["registers"]}
    assert (access["status"], access["command"], access["patience"], access["event"]) == (
        "read", "write", "read, write", "read, write 1 to clear")


@MAPS
def test_the_header_compiles_and_has_every_field_where_it_is(name, options, own, tmp_path):
    header = tmp_path / "caesura.h"
    assert invoke("--header", header, *options).exit_code == 0
    text = header.read_text()
    for path in own:
        for field in MAP[path].fields.values() if "[" not in path else ():
            macro = f"{name}__{path}__{field.name}".upper()
            assert re.search(rf"#define {macro}_bp {field.low}\b", text) and re.search(
                rf"#define {macro}_bw {field.width}\b", text), macro
    checks = "".join(f"_Static_assert(offsetof({name}_t, {path}) == {register.address:#x}, \"{path}\");\n"
                     for path, register in own.items())
    (tmp_path / "check.c").write_text(f'#include <stddef.h>\n#include "caesura.h"\n{checks}')
    done = subprocess.run(["gcc", "-std=c11", "-fsyntax-only", "check.c"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr


@MAPS
def test_the_page_has_every_register(name, options, own, tmp_path):
    done = invoke("--html", tmp_path / "page", *options)
    assert done.exit_code == 0 and "index.html" in done.output
    assert (tmp_path / "page" / "index.html").exists()
    names = "".join(path.read_text(errors="replace") for path in (tmp_path / "page" / "data").rglob("*.js*"))
    assert all(part in names for path in own for part in re.sub(r"\[\d+\]", "", path).split("."))


@pytest.fixture(scope="module")
def access_layers(tmp_path_factory):
    """Returns, for a map, the generated class and the one that holds the functions it calls."""
    folder = tmp_path_factory.mktemp("access")

    @functools.cache
    def layer(name, *options):
        done = invoke("--python", folder, *options)
        assert done.exit_code == 0 and name in done.output
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(folder))
            model = getattr(importlib.import_module(f"{name}.reg_model.{name}"), f"{name}_cls")
            return model, importlib.import_module(f"{name}.lib").NormalCallbackSet
    return layer


def found(node, path):
    """The register of a generated class at a path such as ``kernel[1].state``."""
    for name, index in re.findall(r"(\w+)(?:\[(\d+)\])?", path):
        node = node.get_child_by_system_rdl_name(name)
        node = node[int(index)] if index else node
    return node


@MAPS
def test_the_package_has_every_register_and_field_where_it_is(name, options, own, access_layers):
    model, callbacks = access_layers(name, *options)
    registers = model(callbacks=callbacks(read_callback=lambda addr, width, accesswidth: 0))
    for path, register in own.items():
        node = found(registers, path)
        assert node.address == register.address, path
        for field in register.fields.values():
            assert (found(node, field.name).lsb, found(node, field.name).width) == (field.low, field.width)


def test_the_package_reads_and_writes_the_registers_of_a_machine(access_layers):
    model, callbacks = access_layers("caesura_sm")
    g = preset("tiny")
    with closing(RtlTransport(g)) as machine:
        registers = model(callbacks=callbacks(
            read_callback=lambda addr, width, accesswidth: machine.read_register(addr),
            write_callback=lambda addr, width, accesswidth, data: machine.write_register(addr, data)))
        assert registers.id.value.read() == IDENTIFICATION and registers.geometry_hash.value.read() == g.hash
        assert registers.patience.value.read() == SM_MAP["patience"].reset
        registers.patience.value.write(12345)
        assert machine.read_register(SM_MAP["patience"].address) == 12345
        registers.command.write_fields(op=9, kernel=1, mechanism=0, scramble=0, gang=0, restart=0, checkpoint=0,
                                       incremental=0, in_place=0, trap=0, select=0)
        assert registers.event.read_fields()["refused"] == 1
        assert registers.status.error.read() == machine.read_register(SM_MAP["status"].address) >> 4 & 15 != 0
        registers.event.write(SM_MAP["event"].pack(refused=1))
        assert registers.event.read() == 0


def test_device_says_of_what(tmp_path):
    done = invoke("--device")
    assert done.exit_code == 2 and "--header" in done.output


@pytest.mark.parametrize("option, package", [("--html", "peakrdl-html"), ("--header", "peakrdl-cheader"),
                                             ("--python", "peakrdl-python")])
def test_a_package_that_is_missing_is_named(option, package, tmp_path, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(extras, "importlib", SimpleNamespace(import_module=missing))
    done = invoke(option, tmp_path / "x")
    assert done.exit_code == 2 and f"pip install {package}" in done.output and "Traceback" not in done.output
