"""Functions of the package, geometries and mechanisms name what is wrong with their arguments."""

import dataclasses
import inspect

import pytest

import caesura
from caesura.hw.arch.geometry import Geometry, preset
from support.programs.shared_counters import HEAD
from support.software.arguments import NOT, wanted

MEMORY = 1 << 20
PTX = HEAD + """
.global .u32 places[4];
.visible .entry fill(.param .u64 output, .param .u32 value)
{
    .reg .b32 %r<3>; .reg .b64 %a<3>;
    ld.param.u64 %a0, [output]; ld.param.u32 %r0, [value]; mov.u64 %a1, places; st.global.u32 [%a1], %r0;
    st.global.u32 [%a0], %r0; ret;
}
"""
FUNCTIONS = {
    "open_device": {"backend": "golden", "geometry": "tiny", "memory_bytes": MEMORY, "system_fraction": 0.5},
    "compile_ptx": {"text": PTX, "filename": "<ptx>", "options": None, "kernels": None}, "preset": {"name": "tiny"},
}
"""What `import caesura` has, with valid arguments."""


def test_no_name_of_the_package_is_forgotten():
    names = {name for name in caesura.__all__ if not name.startswith("_")}
    assert names == {*FUNCTIONS, "Geometry", "Mechanism", "Way"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_the_package_name_what_is_wrong(name):
    wrong, call = [], getattr(caesura, name)
    known = {n for n, p in inspect.signature(call).parameters.items() if p.kind is not p.VAR_KEYWORD}
    assert known == {*FUNCTIONS[name]}
    for parameter, right in FUNCTIONS[name].items():
        for label, value in NOT.items():
            if value is None and right is None or label == "text" and parameter in ("text", "filename"):
                continue
            try:
                call(**FUNCTIONS[name] | {parameter: value})
                error = None
            except Exception as found:
                error = found
            if why := wanted(error, parameter, value):
                wrong.append(f"{name}({parameter}={label}): {why}")
    assert not wrong, "\n".join(wrong)


def test_every_size_of_a_geometry_names_what_is_wrong():
    wrong, tiny = [], preset("tiny")
    for field in dataclasses.fields(Geometry):
        for label, value in NOT.items():
            if (field.name, label) in (("name", "text"), ("bytes_per_cycle", "float"), ("clock_mhz", "float"),
                                       ("clock_mhz", "None"), ("clock_mhz", "huge")):
                continue
            try:
                tiny.replace(**{field.name: value})
                error = None
            except Exception as found:
                error = found
            if why := wanted(error, field.name, value):
                wrong.append(f"{field.name}={label}: {why}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "value", [None, 1.5, "nonsense", 99, -1, 2 ** 64, pytest.param(object(), id="object")], ids=repr)
def test_there_is_no_such_mechanism(value):
    with pytest.raises((TypeError, ValueError)) as refused:
        caesura.Mechanism.of(value)
    assert "mechanism" in str(refused.value) and repr(value)[:12] in str(refused.value)
