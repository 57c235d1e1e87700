"""Patience on the whole SM: a preempt ends in bounded time whatever the code is; all that was stopped comes back."""

import dataclasses

import numpy as np
import pytest

from caesura.hw.arch.image.context import Capability, Mechanism
from caesura.hw.arch.isa.opcodes import Special
from caesura.hw.arch.isa.words import Instruction, encode
from caesura.hw.arch.waiting import UNLIMITED
from caesura.sim import open_device
from caesura.sim.golden.preemption.sequence import Preemption
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.report.preemption import patience_note
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import report_json
from caesura.sim.workloads.everywhere import Campaign, totals
from caesura.software.compiler import KernelImage, Parameter
from caesura.software.driver import CycleLimit, DriverError
from caesura.software.driver.preemption import patience as patience_module
from caesura.software.driver.preemption import preemption
from caesura.software.driver.preemption.patience import SHARE, bus_share
from support.selection import quick
from support.sim.tiny_run import TINY, neighbour, work

WAITING = [m for m in Mechanism if m is not Mechanism.OCCUPIED]
BACKENDS = "golden", "rtl"
SETTLING = 100
"""Cycles that what a warp has outstanding, and the round trips of a save, may take on `tiny`."""


def native(device, code, registers, name="native"):
    words = tuple(encode(Instruction.make(op, **fields)) for op, fields in code)
    parameters = (Parameter("output", "u32", 0, 4, pointer=True),)
    return device.load([KernelImage(name, words, registers, 2, parameters=parameters)])[name]


def iadd(register, imm):
    return "iadd.i", {"d": register, "a": register, "imm": imm}


STORE = [("shl.i", {"d": 0, "a": 0, "imm": 2}), ("iadd", {"d": 0, "a": 0, "b": 1}), ("st.global.b32", {"a": 0, "d": 2}),
         ("exit", {})]
BEGIN = [("s2r", {"d": 0, "imm": Special.TID_X}), ("ldp", {"d": 1, "imm": 0}), ("mov.i", {"d": 2, "imm": 7})]
STRAIGHT = [*BEGIN, *[iadd(2, k) for k in range(400)], *STORE]
"""Hundreds of instructions without a preemption point."""
STRAIGHT_RESULT = 7 + sum(range(400))
LOOP = [*BEGIN, ("mov.i", {"d": 3, "imm": 300}), iadd(2, 3), iadd(3, -1), ("setp.ne.i", {"pd": 0, "a": 3, "imm": 0}),
        ("bra", {"guard": 0, "target": 4, "reconv": 8}), *STORE]
LOOP_RESULT = 7 + 3 * 300
ENDLESS = [*BEGIN, iadd(2, 1), ("setp.ne.i", {"pd": 0, "a": 0, "imm": 999}),
           ("bra", {"guard": 0, "target": 3, "reconv": 6}), *STORE]
MIXED = [  # warp 0 waits at a barrier, with register 4 dead, while warp 1 counts without a point
    *BEGIN, ("mov.i", {"d": 3, "imm": 200}), ("mov.i", {"d": 4, "imm": 99}),
    ("setp.lt.u.i", {"pd": 0, "a": 0, "imm": 8}), ("bra", {"guard": 0, "target": 10, "reconv": 10}),
    iadd(3, -1), ("setp.ne.i", {"pd": 1, "a": 3, "imm": 0}), ("bra", {"guard": 1, "target": 7, "reconv": 10}),
    ("bar.pp.0", {"live": 0b00111}), *STORE]


@pytest.fixture(params=BACKENDS)
def device(request):
    return open_device(request.param, "tiny", 1 << 16)


def away(device, launch, mechanism, patience):
    """Preempt, let a kernel that overwrites everything run, and resume; return the report and the contexts."""
    saved = device.preempt(launch, mechanism, patience=patience, scramble=True, max_cycles=5_000)
    contexts = device.context(launch) if saved else []
    other, job = device.load([neighbour().image])["hostile"], neighbour().job
    arguments = [device.array(v) if isinstance(v, np.ndarray) else v for v in job.arguments.values()]
    device.wait(other(job.grid, job.block, arguments, job.shared_bytes), 20_000)
    if saved:
        device.resume(launch, max_cycles=5_000)
    return saved, contexts


@pytest.mark.parametrize("mechanism", quick(WAITING, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
@pytest.mark.parametrize("code, expected", [(STRAIGHT, STRAIGHT_RESULT), (LOOP, LOOP_RESULT)], ids=["straight", "loop"])
def test_code_without_points_is_preempted_within_the_patience_and_comes_back_right(device, mechanism, code, expected):
    kernel, output = native(device, code, 5), device.zeros(16, np.int32)
    launch = kernel(1, 16, [output])
    device.advance(150)
    for patience in (0, 1, 40, 0, 13):
        saved, contexts = away(device, launch, mechanism, patience)
        assert saved and saved.tbs == 1 and saved.warps == 2
        assert saved.drain_cycles <= patience + SETTLING and saved.save_cycles <= patience + 3 * SETTLING
        assert saved.way.patience == patience and len(contexts) == 1
        assert saved.patience_over and "warps stopped where they were" in patience_note(saved)
        device.advance(30)
    device.wait(launch, 20_000)
    assert (np.asarray(output) == expected).all()


@pytest.mark.parametrize("mechanism", WAITING, ids=lambda m: m.name)
def test_an_endless_loop_without_points_gives_the_sm_away_unless_patience_is_unlimited(device, mechanism):
    kernel, output = native(device, ENDLESS, 5), device.zeros(16, np.int32)
    launch = kernel(1, 16, [output])
    device.advance(100)
    seen = []
    for patience in (25, None, 0):
        _, (tb,) = away(device, launch, mechanism, patience)
        seen.append([tuple(warp.registers[2]) for warp in tb.warps])
        device.advance(200)
    for before, after in zip(seen, seen[1:], strict=False):
        assert all(y[0] > x[0] and len(set(y)) == 1 for x, y in zip(before, after, strict=True)), "no progress"
    with pytest.raises(CycleLimit, match="preempt of kernel 'native' has not ended after"):
        device.preempt(launch, mechanism, patience=UNLIMITED, max_cycles=3_000)


@pytest.mark.parametrize("mechanism", WAITING, ids=lambda m: m.name)
def test_one_image_holds_a_warp_at_a_barrier_and_one_stopped_between_points(device, mechanism):
    kernel, output = native(device, MIXED, 6), device.zeros(16, np.int32)
    launch = kernel(1, 16, [output])
    device.advance(150)
    _, (tb,) = away(device, launch, mechanism, 9)
    by_warp = {warp.warp: warp for warp in tb.warps}
    assert by_warp[0].barrier is not None and set(by_warp[0].registers) == {0, 1, 2}
    assert by_warp[1].barrier is None and 7 <= by_warp[1].pc <= 9
    # in test mode also those never written, which read as zero
    assert set(by_warp[1].registers) == set(range(6))
    device.wait(launch, 20_000)
    assert (np.asarray(output) == 7).all()


@pytest.mark.parametrize("transport", quick([GoldenTransport, RtlTransport], [GoldenTransport]), ids=BACKENDS)
@pytest.mark.parametrize("mechanism", quick(WAITING, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
def test_every_cycle_of_a_stretch_with_every_patience(transport, mechanism):
    c = Campaign(transport(TINY, 1 << 20), work(), neighbour(), 100_000)
    start = c.cycles // 3
    for patience in (0, 1, 2, 3, 7, 12, 19):
        requests, saved = totals(c.at_cycles(mechanism, range(start + patience, start + patience + 42, 7),
                                             patience=patience))
        assert requests == saved == 6


@pytest.mark.parametrize("patience", quick([0, 5], [5]))
def test_preempted_again_and_again_to_the_end(patience):
    c = Campaign(RtlTransport(TINY, 1 << 20), work(), neighbour(), 100_000)
    (outcome,) = c.at_cycles(Mechanism.LIVE_CP, [100], 150, patience)
    assert outcome.wrong_bytes == 0 and outcome.saved > 20


def test_what_is_live_at_the_last_point_is_not_enough_for_a_warp_stopped_elsewhere(monkeypatch):
    """The campaign notices a machine that saves such a warp by the live vector that it met last."""
    stop = Preemption._stop

    def forgetful(self, kernel):
        tbs = self.machine.resident(kernel)
        stop(self, kernel)
        for tb in tbs:
            for warp in tb.warps:
                warp.between = False

    monkeypatch.setattr(Preemption, "_stop", forgetful)
    c = Campaign(GoldenTransport(TINY, 1 << 20), work(), neighbour(), 20_000)
    with pytest.raises((AssertionError, DriverError)):
        totals(c.at_cycles(Mechanism.LIVE, range(100, c.cycles, c.cycles // 8), patience=3))


def test_the_default_follows_what_the_launch_holds_of_the_sm(device, monkeypatch):
    share = 8 * SHARE  # of so small an SM the default one is no cycle
    monkeypatch.setattr(preemption, "default_patience", lambda launch, mechanism: bus_share(launch, share))
    kernel, output = native(device, ENDLESS, 16), device.zeros(16, np.int32)
    found = []
    for grid in (1, 2):
        launch = kernel(grid, 16, [output])
        device.advance(100)
        saved = device.preempt(launch, max_cycles=5_000)
        assert saved.tbs == grid
        found.append(saved.way.patience)
        assert saved.way.patience == int(share * saved.occupied_bytes / TINY.bytes_per_cycle)
        assert device.read("patience") == saved.way.patience
    assert found[1] == 2 * found[0] > 0


@pytest.mark.parametrize("mechanism", WAITING, ids=lambda m: m.name)
def test_the_default_is_no_cycle_with_mechanisms_that_compress(mechanism, monkeypatch):
    monkeypatch.setattr("caesura.software.driver.preemption.patience.SHARE", 8 * SHARE)
    with open_device("golden", TINY.replace(queues=1), 1 << 18) as device:
        launch = native(device, ENDLESS, 16)(2, 16, [device.zeros(16, np.int32)])
        device.advance(100)
        monkeypatch.setattr(patience_module, "bus_share", lambda launch: 17)
        waits = 0 if mechanism.has(Capability.COMPRESSES) else 17
        assert device.preempt(launch, mechanism, max_cycles=5_000).way.patience == device.read("patience") == waits
        device.queue([launch.kernel], 16)
        device.preempt_by(mechanism)
        assert (device.read("patience") == 0) == mechanism.has(Capability.COMPRESSES)


@pytest.mark.parametrize("patience", [-1, 1.5, "forever", True, 0xFFFF_FFFF, "12"])
def test_what_is_no_patience_is_refused_before_anything_happens(device, patience):
    launch = native(device, ENDLESS, 5)(1, 16, [device.zeros(16, np.int32)])
    with pytest.raises(DriverError, match="a number of cycles from 0 to 4294967294, or 'unlimited', is wanted"):
        device.preempt(launch, patience=patience)
    assert device.read("kernel[0].state") == 1


def test_a_patience_that_lasts_is_not_said_to_be_used_up(device):
    launch = native(device, [*BEGIN, ("bar.pp.0", {"live": 0b111}), *STORE], 5)(1, 8, [device.zeros(16, np.int32)])
    saved = device.preempt(launch, "live", patience=2000)
    assert saved.patience_over is False and patience_note(saved) == "patience 2000, not used up"
    device.resume(launch)
    assert report_json(saved)["patience_over"] is False
    assert dataclasses.replace(saved, way=saved.way.but(patience=UNLIMITED)).patience_over is False
    assert dataclasses.replace(saved, counted=False).patience_over is None


def test_a_mechanism_that_does_not_wait_takes_no_patience(device):
    launch = native(device, ENDLESS, 5)(1, 16, [device.zeros(16, np.int32)])
    for patience in (0, 5, UNLIMITED):
        with pytest.raises(DriverError, match="'occupied' does not wait for preemption points: it takes no patience"):
            device.preempt(launch, "occupied", patience=patience)
    saved = device.preempt(launch, "occupied")
    assert saved.way.patience is None and saved.patience_over is False and patience_note(saved) == ""
