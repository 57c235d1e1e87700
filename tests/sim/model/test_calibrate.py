"""Costs that are measured are what the RTL takes, and are measured once."""

import pytest

from caesura import open_device
from caesura.errors import InputError
from caesura.sim.model import calibrate as module
from caesura.sim.model.calibrate import BASE, SWITCHES, calibrate, crowds, fitting
from caesura.sim.model.traffic import KINDS, kinds_for, make_work
from caesura.sim.scenario import verdicts
from caesura.software.sched import DriverMachine, QueueSpec
from support.sim.sched import MEMORY, TINY, events, round_kernel

KERNELS = ("vecadd", "saxpy")


@pytest.mark.full
def test_a_long_run_takes_what_its_tbs_cost():
    costs = calibrate(TINY, KERNELS, 2)
    for name in KERNELS:
        kernel = costs.kernels[name]
        made = DriverMachine(open_device("rtl", TINY, MEMORY))
        signal = made.submit(made.queue(QueueSpec()), make_work(name, TINY, 120)[0])
        events(made, silence=100_000)
        made.close()
        most, cycles = kernel.tb_cycles[-1]
        assert most == 2 and signal.latency == pytest.approx(120 / most * cycles, rel=0.04)
        assert kernel.tb_cycles[0][1] <= cycles <= 2 * kernel.tb_cycles[0][1]
        assert kernel.start_cycles == signal.started - signal.submitted
        assert 0.8 < min(kernel.spread) <= 1 <= max(kernel.spread) < 1.3
        assert kernel.bytes_per_tb >= kernel.threads * 4 * 3 and 0 < kernel.cold_cycles < 500


def test_switches_have_been_measured_in_each_way_with_one_tb_and_with_two():
    kernels = calibrate(TINY, KERNELS, 2).kernels
    assert {*kernels["vecadd"].switches} == {*SWITCHES, BASE}
    assert {*kernels["saxpy"].switches} == {*SWITCHES, BASE} - {"flush"}, "its TBs cannot begin anew"
    for kernel in kernels.values():
        for name, costs in kernel.switches.items():
            assert {tbs for tbs, _, _ in costs.samples} <= {1, 2} and 1 <= len(costs.samples)
            assert 40 < costs.save.at(1) <= costs.save.at(2) < 600
            assert (costs.resume is None) == (name == BASE)
    assert -0.5 < kernels["vecadd"].beside["saxpy"] < 5 and {*kernels["saxpy"].beside} == {"vecadd"}


def test_what_was_measured_is_not_measured_again(monkeypatch):
    first = calibrate(TINY, KERNELS, 2)

    def never(*arguments, **options):
        raise AssertionError("measured again")

    monkeypatch.setattr(module, "measure_kernel", never)
    monkeypatch.setattr(module, "measure_pair", never)
    assert calibrate(TINY, KERNELS, 2) == first
    with pytest.raises(AssertionError, match="measured again"):
        calibrate(TINY, KERNELS, 2, seed=77)


def test_dynamic_shared_memory_keeps_tbs_away():
    for name in kinds_for(TINY):
        work, _ = make_work(name, TINY, 1)
        warps = -(-work.threads // TINY.warp_size)
        most = fitting(TINY, work.image.registers, warps, work.image.shared_bytes)
        found = crowds(TINY, work)
        assert max(found) == most and found[most] == 0
        for count, more in found.items():
            assert fitting(TINY, work.image.registers, warps, work.image.shared_bytes + more) == count


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(InputError, match="costs are measured on one SM, and tiny has 2"):
        calibrate(TINY.replace(sms=2))
    with pytest.raises(InputError, match="kernel 'matmul' cannot be measured on tiny; these can: vecadd"):
        calibrate(TINY, ("matmul",))
    with pytest.raises(InputError, match="moments must be 1 or more"):
        calibrate(TINY, KERNELS, 0)


@pytest.mark.parametrize("name", kinds_for(TINY))
def test_jobs_are_right_and_idempotent_ones_are_said_to_be(name):
    device = open_device("golden", TINY, MEMORY)
    made = DriverMachine(device)
    work, job = make_work(name, TINY, 5, seed=3)
    assert work.tbs == 5
    signal = made.submit(made.queue(QueueSpec()), work)
    assert (not device.launches[0].not_restartable) == KINDS[name].idempotent
    events(made, silence=60_000)
    assert sum(verdict.wrong for verdict in verdicts(job, made.results(signal))) == 0
    made.close()


def test_round_costs_of_tests_are_of_the_same_code():
    assert calibrate(TINY, ("vecadd",), 2).kernels["vecadd"].code == round_kernel("vecadd").code
