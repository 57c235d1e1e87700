"""`compile` for a geometry says what no launch there can do."""

import json

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.software.compiler import CompileError, compile_ptx
from caesura.software.compiler.lower import context

HEAD = ".version 8.0\n.target sm_70\n.address_size 64\n"
SMALL = ".visible .entry small(.param .u64 o)\n{\n    ret;\n}\n"
LARGE = {
    "shared memory": ("big()\n{\n    .shared .align 4 .b8 mine[4096];\n    .reg .b32 %r;\n    mov.u32 %r, mine;\n"
                      "    st.shared.u32 [%r], 1;\n    ret;\n}", "4096 bytes of shared memory, this SM (tiny)"),
    "threads": ("big()\n.reqntid 64\n{\n    ret;\n}", "64 threads a TB, this SM (tiny) takes 32"),
}


def compiled(path, *options):
    return CliRunner().invoke(main, ["compile", str(path), *options])


@pytest.mark.parametrize("what", LARGE)
def test_a_kernel_that_cannot_run_there_is_refused_and_the_others_are_not(tmp_path, what):
    text, message = LARGE[what]
    path = tmp_path / "two.ptx"
    path.write_text(f"{HEAD}.visible .entry {text}\n{SMALL}")
    result = compiled(path, "--preset", "tiny", "--json", str(tmp_path / "out.json"))
    assert result.exit_code == 2 and f"{path}: kernel 'big'" in result.output and message in result.output
    found = json.loads((tmp_path / "out.json").read_text())
    assert [kernel["name"] for kernel in found["kernels"]] == ["small"]
    assert [refusal["name"] for refusal in found["refused"]] == ["big"]
    for options in ([], ["--preset", "gtx480"]):
        assert compiled(path, *options).exit_code == 0


def test_words_behind_the_parameters_count_as_well(monkeypatch):
    text = (f"{HEAD}.global .u32 g;\n.visible .entry k(.param .align 8 .b8 t[16])\n"
            "{\n    st.global.u32 [g], 1;\n    ret;\n}\n")
    assert compile_ptx(text)["k"].parameter_bytes == 20
    monkeypatch.setattr(context, "MAX_PARAM_BYTES", 16)
    with pytest.raises(CompileError, match="the words that the driver passes behind them, take more than 16 bytes"):
        compile_ptx(text)
