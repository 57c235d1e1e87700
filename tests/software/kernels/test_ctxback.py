"""The kernels of CTXBack Table I and the persistent threads: equal to their references; what is wrong is noticed."""


import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.sim import open_device
from caesura.sim.scenario import differences, start_job
from caesura.software.kernels import kernel
from caesura.software.kernels.ctxback import KERNELS, layers, linear, sorting
from caesura.software.kernels.ctxback.layers import avgpool_job, directconv_job, lrn_job, relu_job
from caesura.software.kernels.ctxback.linear import dot_job, gaussian_job, matvec_job, sgemm_job, vectoradd_job
from caesura.software.kernels.ctxback.sorting import hybridsort_job, kmeans_job, mergesort_job, persistent_job
from caesura.software.kernels.ctxback.unordered import SameElements

GTX480 = PRESETS["gtx480"]
NAMES = tuple(k.name for k in KERNELS)
ODD = {
    "avgpool": [lambda: avgpool_job(1, 1, 1, 1, 3), lambda: avgpool_job(3, 2, 5, 1, 3, (7, 3, 1)),
                lambda: avgpool_job(2, 9, 70, 3, 3, (33, 1, 1)), lambda: avgpool_job(1, 6, 8, 1, 3)],
    "directconv": [lambda: directconv_job(1, 4, 3, 3, 1, 3), lambda: directconv_job(2, 12, 7, 11, 2, 3, (5, 3, 1)),
                   lambda: directconv_job(0, 4, 4, 4, 1, 3)],
    "dot": [lambda: dot_job(1, 1, 3, 1), lambda: dot_job(1000, 3, 3, 32), lambda: dot_job(70, 1, 3, 64),
            lambda: dot_job(2048, 2, 3)],
    "gaussian": [lambda: gaussian_job(1, 1, 1, 3), lambda: gaussian_job(3, 2, 2, 3), lambda: gaussian_job(1, 19, 1, 3),
                 lambda: gaussian_job(2, 9, 1, 3, (5, 3, 1))],
    "hybridsort": [lambda: hybridsort_job(1, 1, 3), lambda: hybridsort_job(1025, 3, 3)],
    "kmeans": [lambda: kmeans_job(1, 1, 1, 3), lambda: kmeans_job(333, 7, 1, 3, 40)],
    "lrn": [lambda: lrn_job(1, 40, 1, 3), lambda: lrn_job(2, 9, 1, 3, 8), lambda: lrn_job(3, 77, 2, 3, 33)],
    "sgemm": [lambda: sgemm_job(1, 1, 1, 1, 3), lambda: sgemm_job(33, 8, 31, 1, 3), lambda: sgemm_job(7, 9, 65, 5, 3)],
    "mergesort": [lambda: mergesort_job(1, 1, 1, 3), lambda: mergesort_job(37, 2, 1, 3, 33),
                  lambda: mergesort_job(5, 11, 1, 3)],
    "matvec": [lambda: matvec_job(1, 1, 1, 3), lambda: matvec_job(6, 63, 3, 3), lambda: matvec_job(5, 260, 1, 3)],
    "relu": [lambda: relu_job(3, 1, 3), lambda: relu_job(1024, 1, 3), lambda: relu_job(1100, 2, 3, 33)],
    "vectoradd": [lambda: vectoradd_job(1, 1, 3), lambda: vectoradd_job(1500, 2, 3, 48)],
    "persistent": [lambda: persistent_job(1, 2, 3), lambda: persistent_job(90, 3, 3, 40)],
}
CONTRACTED = {"directconv": layers, "lrn": layers, "dot": linear, "matvec": linear, "sgemm": linear}


def inputs(job):
    """Return the arrays that a job begins with."""
    return {name: value for name, value in job.arguments.items() if isinstance(value, np.ndarray)}


def outcome(image, job):
    """Return wrong elements by array, and the arrays as the kernel leaves them."""
    device = open_device("golden", GTX480)
    launch, arrays = start_job(device, device.load([image])[image.name], job)
    device.wait(launch, 20_000_000)
    return differences(job, arrays), {name: array.get() for name, array in arrays.items()}


def test_every_benchmark_of_the_table_is_there():
    labels = {k.source.split(", ")[1].split(" ")[0] for k in KERNELS if "Table I" in k.source}
    assert labels == {"AP", "DC", "DOT", "GE", "HS", "KM", "LRN", "MM", "MS", "MV", "RELU", "VA"}
    assert set(NAMES) == set(ODD)


@pytest.mark.parametrize("name", NAMES)
def test_odd_shapes(name):
    for number, make in enumerate(ODD[name]):
        wrong, _ = outcome(kernel(name).image(), make())
        assert not any(wrong.values()), (number, wrong)


@pytest.mark.parametrize("name", NAMES)
def test_the_results_have_to_be_computed(name):
    """Most elements differ from what the arrays hold before, and from another seed's."""
    first, second = (kernel(name).job("tiny", seed) for seed in (1, 2))
    judged = {first.judge.name: first.judge.expected} if isinstance(first.judge, SameElements) else {}
    for array, expected in (first.expected | judged).items():
        before = inputs(first)[array]
        assert np.count_nonzero(expected.ravel() != before.ravel()) > 0.4 * expected.size, array
    again = inputs(kernel(name).job("tiny", 1))
    assert all(array.tobytes() == again[a].tobytes() for a, array in inputs(first).items())
    assert any(array.tobytes() != inputs(second)[a].tobytes() for a, array in inputs(first).items())


@pytest.mark.parametrize("name", CONTRACTED)
def test_reference_depends_on_contraction(name, monkeypatch):
    """With a product and a sum rounded one by one the reference is another: the inputs tell the two apart."""
    monkeypatch.setattr(CONTRACTED[name], "fma", lambda a, b, c: a * b + c)
    wrong, _ = outcome(kernel(name).image(), kernel(name).job("tiny", 4))
    assert any(wrong.values())


@pytest.mark.parametrize("name", ["hybridsort", "persistent"])
def test_judges_see_what_is_lost_moved_or_repeated(name):
    job = kernel(name).job("tiny", 5)
    wrong, arrays = outcome(kernel(name).image(), job)
    judge = job.judge
    assert isinstance(judge, SameElements) and not any(wrong.values())
    result = arrays[judge.name]
    last = len(result) - 1

    def verdict(changed):
        return judge(arrays | {judge.name: changed})[judge.name]

    changed = result.copy()
    changed.view(np.uint32)[7] ^= 1
    assert verdict(changed) > 0
    repeated = result.copy()
    repeated[0] = result[last]
    assert verdict(repeated) > 0
    assert verdict(np.zeros_like(result)) > 0
    exchanged = result.copy()
    exchanged[[0, last]] = result[[last, 0]]
    assert (verdict(exchanged) > 0) == (name == "hybridsort")  # in one group any order is right


def test_judge_leaves_only_the_order_within_a_group_open():
    judge = SameElements("a", np.array([1, 2, 3, 4], np.int32), np.array([0, 0, 0, 1]))
    assert judge({"a": np.array([3, 1, 2, 4], np.int32)}) == {"a": 0}
    assert judge({"a": np.array([4, 1, 2, 3], np.int32)})["a"] == 2


def test_hybridsort_leaves_buckets_in_order():
    job = hybridsort_job(900, 1, 6)
    _, arrays = outcome(kernel("hybridsort").image(), job)
    pivots, starts = inputs(job)["pivots"], arrays["starts"]
    for bucket in range(sorting.BUCKETS):
        end = starts[bucket + 1] if bucket + 1 < sorting.BUCKETS else 900
        mine = arrays["sorted"][starts[bucket]:end]
        assert bucket == 0 or (mine >= pivots[bucket]).all()
        assert bucket + 1 == sorting.BUCKETS or (mine < pivots[bucket + 1]).all()


def test_references_are_what_they_are_called():
    """The references that follow the kernels' order agree with numpy's own, up to rounding."""
    def close(a, b):
        return np.allclose(a, b, rtol=1e-4, atol=1e-4)

    job = matvec_job(9, 300, 1, 7)
    assert close(job.expected["y"], inputs(job)["a"] @ inputs(job)["x"])
    job = sgemm_job(9, 30, 11, 1, 7)
    assert close(job.expected["c"], inputs(job)["a"] @ inputs(job)["b"])
    job = dot_job(1000, 2, 7)
    assert close(job.expected["partial"].sum(), inputs(job)["x"] @ inputs(job)["y"])
    job = gaussian_job(1, 8, 1, 7)
    upper, (system,) = np.triu(job.expected["systems"][0]), inputs(job)["systems"].astype(float)
    solution = np.linalg.solve(system[:, :-1], system[:, -1])
    assert close(upper[:, :-1] @ solution, upper[:, -1])
    job = mergesort_job(4, 6, 1, 7)
    assert (job.expected["scratch"] == np.sort(inputs(job)["data"], axis=1)).all()
    job = kmeans_job(50, 6, 1, 7)
    away = inputs(job)["features"].T[:, None] - inputs(job)["centres"]
    assert (job.expected["nearest"] == (away ** 2).sum(axis=2)[:, :-1].argmin(axis=1)).all()
    job = lrn_job(6, 5, 1, 7)
    samples = inputs(job)["in"].astype(float)
    around = [(samples[max(0, c - 2):c + 3] ** 2).sum(axis=0) for c in range(6)]
    assert close(job.expected["out"], samples / (2 + 0.1 * np.array(around)) ** 0.75)


@pytest.mark.parametrize("make, what", [(lambda: dot_job(9, 1, 1, 96), "threads must be a power of two up to 256"),
                                        (lambda: directconv_job(1, 6, 9, 9, 1, 1), "channels_out must be a multiple"),
                                        (lambda: directconv_job(1, 4, 2, 9, 1, 1), "must be at least 3 x 3")])
def test_jobs_that_cannot_be(make, what):
    with pytest.raises(ValueError, match=what):
        make()
