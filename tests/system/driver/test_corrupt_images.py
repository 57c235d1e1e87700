"""Images damaged at random: a driver refuses each with one message, or loads it; then it harms nobody.

What was loaded runs beside an innocent kernel. No fault that the judgement of code excludes comes up, and the RTL does
what the golden model does.
"""

import functools
import itertools
from collections import Counter

import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.isa.words import decode
from caesura.sim import open_device
from caesura.software.compiler import ImageError
from caesura.software.compiler.flashback.traps import with_routines
from caesura.software.compiler.image.code_check import find_problem
from caesura.software.compiler.judge import judge
from caesura.software.driver import LaunchError
from caesura.software.driver.launch.fit import check_fit
from caesura.software.kernels import KERNELS
from support.attacks.cell import THREADS, TINY, Cell
from support.attacks.corrupt_images import DAMAGE, corrupt
from support.attacks.refusals import outcome, survey
from support.selection import quick

QUICK, MANY, SHARDS = 500, 10_000, 4
RUN_QUICK, RUN = 60, 500
COMPARED, COMPARED_FULL = 15, 400
PATIENCE = {"golden": 1000, "rtl": 60_000}
"""Cycles until which what ends on the golden model has ended: one of the RTL's instructions takes no more than 60."""
JUDGED = {Fault.ILLEGAL_OPCODE, Fault.REGISTER_BOUND, Fault.FETCH_BOUND, Fault.PARAM_BOUND}
"""Faults that code which was judged does not have, unless it goes where a register says."""
ACCESS = {Fault.GLOBAL_WINDOW, Fault.SHARED_BOUND, Fault.LOCAL_BOUND, Fault.CONSTANT_BOUND, Fault.MISALIGNED}
"""Faults of memory units, which have an instruction some time after it was issued."""
NAMES = ("vecadd", "reduction", "pathfinder", "bfs", "collatz", "histogram")


@functools.cache
def originals():
    plain = [KERNELS[name].image() for name in NAMES]
    return [*plain, *(with_routines(KERNELS[name].image(), TINY) for name in ("collatz", "reduction"))]


@functools.cache
def cell(machine):
    return Cell(machine)


def load_and_launch(device, seed):
    """Load a corrupt image; if it is not refused, launch it, which may be refused too, and kill it."""
    kind, image = corrupt(originals(), seed)
    module = device.load([image])
    arguments = [bytes(p.size) if p.size > 8 else 0 for p in image.parameters]
    try:
        launch = module[image.name](1, THREADS, arguments)
    except LaunchError:
        return
    device.advance(20)
    device.kill(launch)


def loads(seeds):
    """Load images; return how many were taken and refused."""
    with open_device("golden", TINY, memory_bytes=1 << 20) as device:
        return survey(functools.partial(load_and_launch, device), seeds)


def taken(seeds, check=True):
    """Yield the corrupt images that are not refused, by seed; without `check`, those that are for their code alone."""
    for seed in seeds:
        kind, image = corrupt(originals(), seed)
        try:
            judge(image, check)
            if not check and find_problem(image) is None:
                continue
            check_fit(TINY, image, (1, 1, 1), (THREADS, 1, 1), image.shared_bytes)
        except (ImageError, LaunchError):
            continue
        if image.shared_bytes <= TINY.shared_bytes // 2 and image.all_local_bytes <= 256:
            yield seed, kind, image


def run(machine, seed, image, **how):
    """Run an image whose pointers are those of its window, and whose numbers are small."""
    words = cell(machine).window, 1 + seed * 7 % 300
    return cell(machine).attack(image, params=words * 32, **how)


def harm(first, count):
    """Run what is taken, so many of the seeds from `first` on, beside the innocent; return how they ended."""
    ends = Counter()
    for seed, kind, image in itertools.islice(taken(itertools.count(first)), count):
        result = run("golden", seed, image)
        assert result.output == cell("golden").expected and not result.changed, (seed, kind)
        assert not cell("golden").leaked(result), (seed, kind)
        fault = result.fault.kind if result.fault else None
        computed = any(decode(word).op.name in ("bru", "rejoin") for word in image.words)
        assert computed or fault not in JUDGED, (seed, kind, result.fault)
        ends[fault.name if fault else "finished" if result.ended else "killed"] += 1
    return ends


@pytest.mark.parametrize("kind", DAMAGE)
def test_the_originals_are_taken_and_each_kind_of_damage_is_refused_at_times(kind):
    for image in originals():
        judge(image)
    number = tuple(DAMAGE).index(kind)
    counts = loads(range(number, QUICK, len(DAMAGE)))
    assert counts["refused"] > 5 and counts["taken"] >= (kind != "random words"), counts


def test_what_is_taken_harms_nobody():
    ends = harm(MANY, RUN_QUICK)
    assert len(ends) > 2, ends


def overtaken(first, recorded):
    """Return whether the RTL has told a fault at issue first, that the access before it is one is known later."""
    return (first is not None and recorded is not None and first.kind in ACCESS and recorded.kind not in ACCESS
            and recorded.pc != first.pc)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("check", quick([True, False], [False]))
@pytest.mark.parametrize("count", quick([COMPARED, COMPARED_FULL, 4], [4]))
def test_the_rtl_ends_them_as_the_golden_model_does(count, check):
    """Those that are refused, too. One warp, so that its pace does not matter; what never ends is not compared."""
    compared = Counter()
    for seed, kind, image in taken(itertools.count(2 * MANY + 100 * count), check):
        golden, rtl = (run(machine, seed, image, blocks=1, threads=TINY.warp_size, patience=cycles)
                       for machine, cycles in PATIENCE.items())
        assert rtl.output == cell("rtl").expected and not rtl.changed and not cell("rtl").leaked(rtl), (seed, kind)
        assert golden.ended <= rtl.ended, (seed, kind)
        if golden.ended and not overtaken(golden.fault, rtl.fault):
            assert (golden.fault, golden.window) == (rtl.fault, rtl.window), (seed, kind)
            compared[golden.fault is not None] += 1
        if compared.total() == count:
            break
    assert len(compared) == 2, compared


def test_a_crash_would_be_noticed():
    assert outcome(lambda: judge(None)) == "refused"
    assert outcome(lambda: len(None)).startswith("TypeError")


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_many_corrupt_images(shard):
    counts = loads(range(shard * MANY // SHARDS, (shard + 1) * MANY // SHARDS))
    print(f"{counts['taken']:,} taken, {counts['refused']:,} refused")
    assert counts.total() == MANY // SHARDS


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_many_that_are_taken_harm_nobody(shard):
    ends = harm((3 + shard) * MANY, RUN // SHARDS)
    print(", ".join(f"{count} {how}" for how, count in sorted(ends.items())))
    assert len(ends) > 2, ends
