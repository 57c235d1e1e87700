"""Simulators compiled by a profile: the same bits as the plain ones, taken where they are, made once."""

import hashlib

import pytest

from caesura.cli.build import LONG, offer
from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.bench import speed
from caesura.sim.rtl import optimise, recipe, verilator
from caesura.sim.rtl.compile import Model
from caesura.sim.rtl.toolchain import BuildError
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, start_job
from caesura.software.driver import Device
from caesura.software.kernels import hostile, kernel
from caesura.software.kernels.fit import refusal
from support.programs.routines import routines_work

TINY = PRESETS["tiny"]


@pytest.fixture
def text_only(monkeypatch, tmp_path):
    """An empty cache, a design that is a fixed text, and builds that write down what they were given."""
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path))
    monkeypatch.setattr(recipe, "design_texts", lambda g, design, progress, observed: ("module top; endmodule", (), ()))
    steps = []

    def compiled(made, model, options, work, what, progress):
        steps.append(options)
        library = work / f"{len(steps)}.so"
        library.write_text(repr(options))
        return library

    def train(library, g, work):
        steps.append("training")
        (work / "obj" / "Vtop.gcda").touch()

    def verilate(text, flags, work, module="top"):
        (work / "obj").mkdir()
        return Model("Vtop", work / "obj", (), ())

    monkeypatch.setattr(recipe, "verilate", verilate)
    monkeypatch.setattr(optimise, "_compiled", compiled)
    monkeypatch.setattr(optimise, "_train", train)
    monkeypatch.setattr(verilator, "_build", lambda made, work, progress: compiled(made, None, "plain", work, "", None))
    return steps


def test_it_is_built_once_in_three_steps_and_then_taken(text_only):
    plain = verilator.library(TINY)
    best = optimise.optimised_library(TINY)
    assert text_only == ["plain", optimise.GENERATE, "training", optimise.USE]
    assert best != plain and optimise.optimised_library(TINY) == best and len(text_only) == 4
    assert verilator.library(TINY) == best and verilator.library(TINY, plain=True) == plain
    assert verilator.library(TINY, waves="control") not in (best, plain)


def test_one_that_is_cut_off_is_not_taken(text_only):
    plain, best = verilator.library(TINY), optimise.optimised_library(TINY)
    best.write_bytes(best.read_bytes()[:10])
    assert verilator.library(TINY) == plain
    assert optimise.optimised_library(TINY) == best and verilator.library(TINY) == best


def test_a_training_without_a_profile_is_an_error(text_only, monkeypatch):
    monkeypatch.setattr(optimise, "_train", lambda library, g, work: None)
    with pytest.raises(BuildError, match="no profile"):
        optimise.optimised_library(TINY)
    assert verilator.library(TINY) == verilator.library(TINY, plain=True)


def test_what_is_measured_is_not_what_was_trained_on():
    assert not set(speed.KERNELS) & set(optimise.TRAINING_KERNELS)
    for name in optimise.TRAINING_KERNELS:
        assert not refusal(kernel(name), PRESETS["gtx480"], kernel(name).job("tiny"))


def test_a_long_run_is_told_of_it_once_there_is_none(text_only, capsys):
    offer(TINY, LONG - 1)
    assert capsys.readouterr().err == ""
    offer(TINY, LONG)
    assert "caesura build --preset tiny --optimise" in capsys.readouterr().err
    optimise.optimised_library(TINY)
    offer(TINY, LONG)
    assert "--optimise" not in capsys.readouterr().err


def digest_of_a_run(simulator):
    """Everything a run leaves behind: trace, memory, traffic, cycles of each step, of a preempted kernel."""
    transport = RtlTransport(TINY, 1 << 20, trace=True, simulator=simulator)
    device = Device(transport)
    facts = []
    for work in (CompiledJob(*hostile(TINY)), routines_work(1, 13)):
        launch, _ = start_job(device, device.load([work.image])[work.image.name], work.job)
        for mechanism in Mechanism:
            device.run(launch, 130)
            facts.append(str(device.preempt(launch, mechanism, scramble=True)))
            device.resume(launch)
        device.wait(launch)
    facts += [str(transport.traffic), str(transport.cycle)]
    return hashlib.sha256(b"".join([transport.take_trace().tobytes(), transport.read_memory(0, 1 << 20),
                                    *map(str.encode, facts)])).hexdigest()


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_results_are_those_of_the_plain_simulator_bit_for_bit():
    plain, best = verilator.library(TINY, plain=True), optimise.optimised_library(TINY)
    assert plain != best and digest_of_a_run(plain) == digest_of_a_run(best)
    assert speed.code_bytes(best) > 0


def test_the_report_has_ratios_and_both_sizes(capsys):
    rates = {"first": 100, "plain": 150, "optimised": 500}
    row = {"name": "k", "cycles": 10, "instructions": 5, "cycles_per_second": rates, "instructions_per_second": rates,
           "ratio": {"first": 1.0, "plain": 1.5, "optimised": 5.0}, "same_cycles": True, "correct": True}
    speed.print_report({"preset": "tiny", "size": "small", "goal": 4.0, "cache_bytes": 1 << 19, "met": True,
                        "code_bytes": {"first": 9000, "plain": 8000, "optimised": 7000}, "runs": [row],
                        "least_ratio": 5.0})
    shown = capsys.readouterr().out
    assert "5.00" in shown and "524 kB" in shown and "9 / 8 / 7" in shown and "met" in shown
