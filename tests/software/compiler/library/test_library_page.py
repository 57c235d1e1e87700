"""docs/library.md says how long each routine is, and how many instructions a warp executes of it."""

from pathlib import Path

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.isa.operations import Unit
from caesura.hw.arch.isa.words import decode
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.trace.retired import RETIRE
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.compiler.codegen.disassemble import instruction_text
from caesura.software.driver import Device

PAGE = Path(__file__).parents[4] / "docs/library.md"
AROUND = ("uldp", "ld.global", "st.global", "exit", "pp")
ALONE = CompileOptions(calls="never")
INF = float("inf")
ROWS = {
    "div.rn.f32": [[("", [(1.5, 2.5)])], [("", [(1e38, 2.5), (0.0, 2.0), (1e-40, 2.0)])]],
    "div.full.f32": [[("", [(1.5, 2.5), (1e38, 2.5), (0.0, 2.0)])], []],
    "rcp.rn.f32": [[("", [(1.5,), (0.0,), (1e-40,)])], [(" from 2^126 up", [(1e38,), (2e38,), (INF,)])]],
    "sqrt.rn.f32": [[("", [(1.5,)])], [("", [(1e-40,), (0.0,), (INF,)])]],
    "div.rn.f64": [[("", [(1.5, 2.5)])], [
        (" special", [(0.0, 2.0), (1.0, 0.0), (INF, 1.0)]), (" normal", [(1e300, 2.5), (1.5, 1e300)]),
        (" subnormal results", [(1e-310, 2.0), (1e-300, 1e20)])]],
    "rcp.rn.f64": [[("", [(1.5,), (1e300,)])], [
        (" special", [(0.0,), (INF,)]), (" normal", [(1e-310,)]), (" subnormal results", [(1.7e308,)])]],
    "sqrt.rn.f64": [[("", [(1.5,), (1e300,)])], [("", [(1e-310,), (0.0,), (INF,)])]],
    "rsqrt.approx.f64": [[("", [(1.5,), (1e-310,), (0.0,)])], []],
}
"""For the two columns of an operation what follows the number, and operands for which it holds; empty: the same."""
WIDTHS = {
    16: [[("", [(7, 3), (5, 0), ((1 << 15) - 1, 3)])], []],
    32: [[("", [(7, 3), (5, 0), ((1 << 31) - 1, 3)])], []],
    64: [[(" below 2^32", [(7, 3), (5, 0), (1 << 31, 1 << 30)])],
         [("", [((1 << 63) - 1, 3), ((1 << 63) - 1, (1 << 62) + 5)])]],
}


def text(op: str, operands: int) -> str:
    """Return PTX of a kernel that does nothing else."""
    kind = op.rpartition(".")[2]
    register = kind if kind[0] == "f" else f"b{kind[1:]}"
    loads = [f"ld.global.{kind} %r{k}, [%p{k}];" for k in range(operands)]
    body = [f".reg .b64 %p<3>; .reg .{register} %r<3>;", *(f"ld.param.u64 %p{k}, [p{k}];" for k in range(operands + 1)),
            *loads, f"{op} %r2, {', '.join(f'%r{k}' for k in range(operands))};",
            f"st.global.{kind} [%p{operands}], %r2; ret;"]
    parameters = ", ".join(f".param .u64 p{k}" for k in range(operands + 1))
    return (".version 8.0\n.target sm_75\n.address_size 64\n"
            f".visible .entry k({parameters})\n{{\n" + "\n".join(body) + "\n}\n")


def executed(op: str, image, operands) -> list[int]:
    """Return the PCs that one thread executes."""
    kind = op.rpartition(".")[2]
    dtype = np.dtype(f"{kind[0].replace('s', 'i')}{int(kind[1:]) // 8}")
    transport = GoldenTransport(PRESETS["gtx480"], memory_bytes=1 << 20, trace=True)
    with Device(transport) as device:
        arrays = [device.array(np.array([x], dtype)) for x in (*operands, 0)]
        device.wait(device.load([image])["k"](1, 1, arrays))
        trace = transport.take_trace()
    return trace["pc"][trace["kind"] == RETIRE].tolist()


def cells(ops, columns) -> str:
    """Return what a row says of operations that are alike, their numbers beside each other."""
    images = [compile_ptx(text(op, len(columns[0][0][1][0])), options=ALONE)["k"] for op in ops]
    codes = [[decode(int(word)) for word in image.code] for image in images]

    def count(code, pcs) -> tuple[int, int]:
        counted = [code[pc] for pc in pcs if not instruction_text(code[pc]).startswith(AROUND)]
        return len(counted), sum(instruction.op.unit is Unit.F64 for instruction in counted)

    def number(op, image, code, cases) -> str:
        ((all_of_them, double),) = {count(code, executed(op, image, operands)) for operands in cases}
        return f"{all_of_them} ({double})" if double else str(all_of_them)

    found = [", ".join(str(count(code, range(len(code)))[0]) for code in codes)]
    found += [", ".join(", ".join(number(*each, cases) for each in zip(ops, images, codes, strict=True)) + label
                        for label, cases in column) or "the same" for column in columns]
    return f"| {', '.join(f'`{op}`' for op in ops)} | {' | '.join(found)} |"


@pytest.mark.parametrize("op", ROWS)
def test_routines_of_floating_point_are_as_long_as_the_page_says(op):
    row = cells([op], ROWS[op])
    assert row in PAGE.read_text().splitlines(), row


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("sign", "us")
def test_integer_divisions_are_as_long_as_the_page_says(sign, width):
    row = cells([f"div.{sign}{width}", f"rem.{sign}{width}"], WIDTHS[width])
    assert row in PAGE.read_text().splitlines(), row
