"""Kernels of a file one by one: refusals beside images, choice by name; images kept in the cache."""

import dataclasses

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.sim import open_device
from caesura.software.compiler import (
    CompileError,
    CompileOptions,
    compile_module,
    compile_ptx,
    kernel_cache,
    kernel_names,
    pipeline,
    stored_module,
)

HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"
GOOD = """.visible .entry {0}(.param .u64 out)
{{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, {1};
    st.global.u32 [%rd1], %r1;
    ret;
}}
"""
BAD = """.visible .entry {0}()
{{
    wgmma.fence.sync.aligned;
    ret;
}}
"""
FOUR = HEAD + GOOD.format("one", 1) + BAD.format("two") + GOOD.format("three", 3) + BAD.format("four")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def compiled(monkeypatch):
    """The kernels that were really compiled, in order."""
    names = []
    real = pipeline.compile_module

    def counted(text, filename, options, kernels):
        found = real(text, filename, options, kernels)
        names.extend(found.names)
        return found

    monkeypatch.setattr(pipeline, "compile_module", counted)
    return names


def test_refused_kernels_leave_the_others_and_each_has_its_line():
    found = compile_module(FOUR, "four.ptx")
    assert found.names == ("one", "two", "three", "four")
    assert list(found.images) == ["one", "three"] and list(found.refusals) == ["two", "four"]
    lines = FOUR.splitlines()
    for name, error in found.refusals.items():
        assert "wgmma.fence" in lines[error.line - 1] and str(error).startswith(f"four.ptx:{error.line}:")
        assert error.line > next(k for k, line in enumerate(lines, 1) if f".entry {name}" in line)
    alone = compile_ptx(HEAD + GOOD.format("one", 1))["one"]
    assert found.images["one"].code == alone.code


def test_a_kernel_asked_for_that_is_refused_raises_and_others_do_not():
    with pytest.raises(CompileError, match="wgmma.fence"):
        compile_ptx(FOUR)
    with pytest.raises(CompileError, match="wgmma.fence"):
        compile_ptx(FOUR, kernels=["one", "four"])
    assert list(compile_ptx(FOUR, kernels=["three", "one"])) == ["one", "three"]
    assert list(compile_module(FOUR, kernels=["four"]).refusals) == ["four"]
    for compiler in (compile_ptx, compile_module, stored_module):
        with pytest.raises(CompileError, match="no kernel 'tree' in the file; did you mean 'three'"):
            compiler(FOUR, kernels=["tree"])


def test_a_device_loads_the_kernels_asked_for(cache, tmp_path):
    path = tmp_path / "four.ptx"
    path.write_text(FOUR)
    device = open_device("golden", "tiny")
    out = device.array(np.zeros(1, np.int32))
    device.wait(device.load_ptx(path, ["three"])["three"](1, 1, [out]))
    assert out.get().tolist() == [3]
    for kernels in (None, ["two"], ["one", "four"]):
        with pytest.raises(CompileError, match="four.ptx:.*wgmma.fence"):
            device.load_ptx(path, kernels)


def test_a_file_that_is_no_ptx_is_refused_as_a_whole():
    for text in ("nonsense", HEAD, FOUR[:-10]):
        for compiler in (compile_module, stored_module, kernel_names):
            with pytest.raises(CompileError):
                compiler(text)


def test_what_was_compiled_is_not_compiled_again(cache, compiled):
    first = stored_module(FOUR, "four.ptx")
    assert compiled == ["one", "two", "three", "four"]
    second = stored_module(FOUR, "four.ptx")
    assert compiled[4:] == ["two", "four"]  # why they are refused is found anew
    assert first.images == second.images == compile_module(FOUR, "four.ptx").images
    assert first.names == second.names and list(map(str, first.refusals.values())) == list(
        map(str, second.refusals.values()))
    assert stored_module(FOUR, "four.ptx", kernels=["three"]).images == {"three": first.images["three"]}
    assert len(compiled) == 6


def test_kernels_are_compiled_when_asked_for(cache, compiled):
    assert kernel_names(FOUR) == ["one", "two", "three", "four"] and compiled == []
    assert list(stored_module(FOUR, kernels=["three"]).images) == ["three"] and compiled == ["three"]
    assert list(stored_module(FOUR, kernels=["one", "three"]).images) == ["one", "three"]
    assert compiled == ["three", "one"]


def test_whatever_matters_makes_another_entry(cache, compiled, monkeypatch):
    text = HEAD + GOOD.format("one", 1)
    variants = [(text, "a.ptx", CompileOptions()), (text + "\n", "a.ptx", CompileOptions()),
                (text, "b.ptx", CompileOptions())]
    changes = {"interval": 100, "interval_on": preset("tiny"), "preemption_points": False, "max_registers": 16,
               "uniform": False, "check_addresses": True, "verify": False, "calls": "never", "eviction_check": True}
    assert changes.keys() == {field.name for field in dataclasses.fields(CompileOptions)}
    variants += [(text, "a.ptx", CompileOptions(**{key: value})) for key, value in changes.items()]
    variants.append((text, "a.ptx", CompileOptions(interval_on=preset("ecp5"))))
    for count, variant in enumerate(variants, 1):
        stored_module(*variant)
        stored_module(*variant)
        assert len(compiled) == count
    monkeypatch.setattr(kernel_cache, "_compiler", lambda: "another compiler")
    assert stored_module(*variants[0]).images and len(compiled) == len(variants) + 1


@pytest.mark.parametrize("damage", [
    lambda whole: b"", lambda whole: whole[:-1], lambda whole: whole[:100], lambda whole: b"\0" * len(whole),
    lambda whole: whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]])
def test_damaged_entries_are_compiled_again(cache, compiled, damage):
    right = stored_module(FOUR, kernels=["one"]).images
    kernel_names(FOUR)
    entries = [path for path in cache.iterdir() if path.is_file()]
    assert len(entries) == 2
    for path in entries:
        path.write_bytes(damage(path.read_bytes()))
    assert kernel_names(FOUR) == ["one", "two", "three", "four"]
    assert stored_module(FOUR, kernels=["one"]).images == right and compiled == ["one", "one"]
    assert stored_module(FOUR, kernels=["one"]).images == right and len(compiled) == 2


def test_an_entry_with_another_kernel_is_none(cache, compiled):
    stored_module(FOUR, kernels=["one"])
    stored_module(FOUR, kernels=["three"])
    one, three = (next(cache.glob(f"*.{name}.elf")) for name in ("one", "three"))
    one.write_bytes(three.read_bytes())
    assert stored_module(FOUR, kernels=["one"]).images["one"].name == "one" and compiled == ["one", "three", "one"]


def test_without_a_folder_to_write_to_everything_is_compiled(tmp_path, compiled, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "file" / "cache"))
    for _ in range(2):
        assert list(stored_module(FOUR, kernels=["one"]).images) == ["one"]
    assert compiled == ["one", "one"]


def test_a_name_longer_than_a_files_is_kept(cache, compiled):
    name = "k" * 300
    for _ in range(2):
        assert list(stored_module(HEAD + GOOD.format(name, 1)).images) == [name]
    assert compiled == [name]


def test_a_file_whose_name_is_no_text_is_compiled(cache):
    for _ in range(2):
        assert stored_module(FOUR, "odd\udcff.ptx", kernels=["one"]).images["one"].source == r"odd\xff.ptx"
