"""The facts of `caesura explain`: they agree with the words of the code, with each other and with the golden model."""

import dataclasses
import functools
import io
import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner
from rich.console import Console

from caesura.cli import main
from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.isa.liveness import liveness_vector, saved_by
from caesura.hw.arch.isa.words import decode
from caesura.sim.scenario import CompiledJob
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileOptions, assemble, compile_ptx, load_elf, save_elf
from caesura.software.compiler.codegen.elf import write_elf
from caesura.software.compiler.codegen.listing import rows
from caesura.software.compiler.explain import explain
from caesura.software.compiler.preemption.check import check_image
from caesura.software.kernels import KERNELS
from caesura.software.report.terminal import print_kernel
from support.keys import read_json
from support.sim.single_step import single_step

G = PRESETS["gtx480"]
CHOSEN = ["bfs", "histogram", "hotspot", "fdwt53", "random"]


@functools.cache
def image_of(name, **options):
    if name != "random":
        return KERNELS[name].image(CompileOptions(**options))
    text = RandomKernel(7, unstructured=True).ptx
    return next(iter(compile_ptx(text, "random.ptx", CompileOptions(**options)).values()))


@pytest.mark.parametrize("name", CHOSEN)
def test_bytes_are_those_of_the_liveness_words_in_the_code(name):
    image = image_of(name, interval=40)
    facts = explain(image, G)
    assert facts.occupied_bytes == image.registers * 32 * 4
    kinds = {"pp": "pp", "barrier": "bar"}
    assert [p.pc for p in facts.points] == [
        pc for pc, word in enumerate(image.code) if decode(word).op.name.startswith(("bar.", "pp"))
        and decode(word).op.name != "pp.div"]
    for point in facts.points:
        word, row = decode(image.code[point.pc]), facts.instructions[point.pc]
        assert word.op.name.startswith(kinds[point.kind])
        saved = saved_by(word.get("live"), image.registers)
        assert saved.registers == row.live
        if image.registers <= 53:
            assert point.live_bytes == row.live_bytes == len(row.live) * 32 * 4
        if point.kind == "pp":
            diverged = decode(image.code[point.pc + 1])
            assert diverged.op.name == "pp.div"
            assert liveness_vector((*row.live, *row.waiting), row.predicates, row.uniforms, image.registers) == \
                diverged.get("live")
            assert point.divergent_bytes >= row.divergent_bytes >= row.live_bytes


@pytest.mark.parametrize("name", CHOSEN)
def test_rows_agree_with_the_listing_and_with_each_other(name):
    image = image_of(name)
    facts = explain(image, G)
    for row, other in zip(facts.instructions, rows(image), strict=True):
        assert (row.pc, row.text, row.live, row.waiting, row.line) == (
            other.pc, other.text, other.live, other.waiting, other.line)
        assert row.live_bytes == len(row.live) * G.vector_bytes
        assert row.compressed_bytes <= row.live_bytes <= row.divergent_bytes <= facts.occupied_bytes
        assert {r for r, _ in row.shapes} <= set(row.live)
        inside = {k for k, loop in enumerate(facts.loops) if any(a <= row.pc < z for a, z in loop.spans)}
        assert set(row.loops) == inside and [facts.loops[k].depth for k in row.loops] == list(range(len(inside)))
        assert row.regions and all(facts.regions[k].pc in range(len(image.code)) for k in row.regions)
    assert facts.instructions[facts.largest].divergent_bytes == max(r.divergent_bytes for r in facts.instructions)
    assert facts.longest_interval == check_image(image)


@pytest.mark.parametrize("name", CHOSEN)
def test_every_pp_of_the_compiler_has_a_reason_that_holds(name):
    image = image_of(name, interval=40)
    facts = explain(image, G)
    loops = {loop.header: loop for loop in facts.loops}
    placed = [point for point in facts.points if point.kind == "pp"]
    assert [p.pc for p in placed] == [p.pc for p in image.points] and placed
    for k, point in enumerate(facts.points):
        chosen = point.chosen
        assert (chosen is None) == (point.kind == "barrier")
        if chosen is None:
            continue
        assert chosen.live == len(facts.instructions[point.pc].live) <= chosen.most and chosen.candidates >= 1
        if chosen.rule == "loop":
            assert k in loops[chosen.loop].points
        else:
            assert chosen.rule == "interval" and chosen.candidates <= 40


def test_each_rule_of_placement_is_among_the_reasons():
    rules = {point.rule for name in CHOSEN for point in image_of(name, interval=40).points}
    assert rules == {"loop", "interval"}


@pytest.mark.parametrize("name", ["bfs", "rankfilter", "lud_diagonal"])
def test_warps_come_to_the_points_that_are_named_and_within_the_bounds(name):
    image = image_of(name)
    facts = explain(image, G)
    stop_at = {point.pc: k for k, point in enumerate(facts.points)}
    division = {pc for pc, word in enumerate(image.code) if decode(word).op.name == "pp.div"}
    behind, seen = {}, 0
    for warp, pc, _ in single_step(CompiledJob(image, KERNELS[name].job("tiny"))):
        if len(warp.stack) > 1:  # whose lanes take turns: several ways at once
            behind.pop(warp, None)
            continue
        way = behind.setdefault(warp, [])
        if pc in stop_at:
            for row, passed in zip(way, range(len(way), 0, -1), strict=True):
                assert stop_at[pc] in row.stops and row.least_drain <= passed <= row.most_drain
                seen += 1
            way.clear()
        elif pc not in division:
            way.append(facts.instructions[pc])
    assert seen > 100


def test_image_compiled_without_points_says_that_nothing_bounds_the_way():
    facts = explain(image_of("bfs", preemption_points=False), G)
    assert facts.longest_interval is None and facts.points == ()
    assert any(row.most_drain is None for row in facts.instructions)


def test_reasons_survive_the_image_and_are_not_invented_for_assembly(tmp_path):
    image = image_of("collatz")
    save_elf(tmp_path / "k.elf", [image])
    assert load_elf(tmp_path / "k.elf")["collatz"].points == image.points
    text = ".kernel k\n.registers 2\nloop:\n pp {R0}\n pp.div {R0}\n iadd.i R0, R0, 1\n bra loop, none\n"
    (point,) = explain(assemble(text)[0], G).points
    assert point.chosen is None


def test_patterns_make_the_compressed_size():
    text = ".kernel k\n.registers 4\n s2r R0, laneid\n ldp R1, param[0]\n imul.lo R2, R0, R0\n" \
           " st.global.b32 [R1], R2\n st.global.b32 [R1], R0\n exit\n"
    row = explain(assemble(text)[0], G).instructions[3]
    assert row.live == (0, 1, 2) and dict(row.shapes) == {0: "stride 1", 1: "uniform"}
    assert row.compressed_bytes == 8 + 4 + 128
    assert explain(assemble(text)[0], G, (8, 8, 1)).instructions[3].compressed_bytes == 4 * 12 + 128


def run(*arguments):
    return CliRunner().invoke(main, ["explain", *map(str, arguments)])


def test_command_prints_pages_and_json_of_ptx_and_images(tmp_path):
    path = KERNELS["bfs"].ptx_path
    shown = run(path)
    assert shown.exit_code == 0 and "pp {" in shown.output and "The loop at" in shown.output
    image = tmp_path / "bfs.elf"
    save_elf(image, [image_of("bfs")])
    page = tmp_path / "bfs.html"
    for source in (path, image):
        assert run(source, "--html", page, "--kernel", "bfs").exit_code == 0
        assert page.read_text().startswith("<!DOCTYPE html>")
    (kernel,) = read_json("explain", run(path, "--json", "--block", "512").output)["kernels"]
    facts = explain(image_of("bfs"), G, (512, 1, 1))
    assert [row["live"] for row in kernel["instructions"]] == [list(row.live) for row in facts.instructions]
    assert kernel["block"] == [512, 1, 1] and kernel["points"][0]["why"]
    fields = {field.name for field in dataclasses.fields(facts)} - {"image"}
    assert fields <= kernel.keys()


@pytest.mark.parametrize("arguments, message", [
    (("--kernel", "nope"), "no kernel 'nope' in"), (("--block", "0"), "'0' is not one to three positive numbers"),
    (("--block", "8,x"), "'8,x' is not one to three positive numbers"),
    (("--block", "1024,2"), "a thread block of kernel bfs has at most"),
    (("--html", "-", "--json"), "both write to standard output")])
def test_wrong_options_are_explained(arguments, message):
    done = run(KERNELS["bfs"].ptx_path, *arguments)
    assert done.exit_code == 2 and message in done.output


def test_file_may_be_a_pipe(tmp_path):
    for name, content in (("ptx", KERNELS["bfs"].ptx_path.read_bytes()), ("elf", write_elf([image_of("bfs")]))):
        pipe = tmp_path / name
        os.mkfifo(pipe)
        with ThreadPoolExecutor() as pool:
            pool.submit(pipe.write_bytes, content)
            assert "kernel bfs" in run(pipe).output


def test_page_goes_to_standard_output():
    assert run(KERNELS["bfs"].ptx_path, "--html", "-").output.startswith("<!DOCTYPE html>")


def test_interval_is_refused_where_it_can_change_nothing(tmp_path):
    save_elf(tmp_path / "bfs.elf", [image_of("bfs")])
    for option in ("--interval", "--interval-cycles"):
        done = run(tmp_path / "bfs.elf", option, "8")
        assert done.exit_code == 2 and "--interval-cycles are for PTX" in done.output


def test_points_may_be_asked_for_by_cycles():
    ptx = KERNELS["vecadd"].ptx_path
    counts = [len(read_json("explain", run(ptx, *options, "--json", "-").output)["kernels"][0]["points"])
              for options in ((), ("--interval-cycles", "1000"), ("--interval-cycles", "500"),
                              ("--interval-cycles", "500", "--preset", "ecp5"))]
    assert counts[0] == 0 < counts[1] < counts[2] != counts[3]
    done = run(ptx, "--interval-cycles", "500", "--interval", "20")
    assert done.exit_code == 2 and "give one" in done.output


@pytest.mark.parametrize("width", [60, 80, 100, 150])
def test_text_fits_the_terminal_and_leaves_nothing_out(width):
    facts = explain(image_of("hotspot"), G)
    narrow, wide = (Console(file=io.StringIO(), force_terminal=terminal, width=width, no_color=True)
                    for terminal in (True, False))
    for console in (narrow, wide):
        print_kernel(console, facts)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", narrow.file.getvalue()).split("\n")
    widest = max(len(line) for line in wide.file.getvalue().split("\n"))
    assert max(map(len, lines)) <= max(width, 70) < widest
    first, second = (" ".join(text.split()) for text in ("\n".join(lines), wide.file.getvalue()))
    assert first[first.index("preemption points"):] == second[second.index("preemption points"):]
    known, also = (re.findall(r"(?:uniform|strided|\+) \{[^}]*\}", text) for text in (first, second))
    assert known == also and len(known) > 20


def test_text_has_no_heading_without_anything_below_it():
    console = Console(file=io.StringIO(), width=150)
    print_kernel(console, explain(image_of("vecadd", preemption_points=False), G))
    text = console.file.getvalue()
    assert "preemption points\n" not in text and "idempotent regions\n" in text


def test_wrong_files_are_explained(tmp_path):
    broken = tmp_path / "broken.ptx"
    broken.write_text(".version 7.0\n.target sm_75\n.visible .entry k() {\n  frobnicate.u32 %r1;\n}\n")
    done = run(broken)
    assert done.exit_code == 2 and f"{broken}:4:3:" in done.output
    (tmp_path / "cut.elf").write_bytes(b"\x7fELF" + bytes(20))
    done = run(tmp_path / "cut.elf")
    assert done.exit_code == 2 and "truncated" in done.output
