"""Every instruction form that compilers were seen to emit, on this machine's GPU, if it has one.

PTX leaves the bits of a NaN open in some forms: any is as good as another here. It bounds the error of an
approximation: both sides keep to the bound. The number of a warp and the like are the machine's own.
"""

import struct

import numpy as np
import pytest

from caesura.sim.oracle import GpuError, open_gpu, pinned
from support.software.operand_patterns import patterns
from support.software.ptx_bench import PREFIX, THREADS, kernel_text, store
from support.software.ptx_coverage import FORMS, MODULE, PRELUDE, SHARED

COUNT = 20 * THREADS
OWN = ("%warpid", "%nctaid")
"""What a form reads that is the machine's own, or the launch's."""
APPROXIMATE = 2.0 ** -19
"""Twice the largest error of an approximation that PTX allows, relative or absolute."""
A, B, INDEX = patterns(1, COUNT), patterns(2, COUNT), list(range(COUNT))


@pytest.fixture(scope="module")
def gpu():
    try:
        found = open_gpu()
    except GpuError as reason:
        pytest.skip(str(reason))
    yield found
    found.close()


def on_gpu(gpu, form):
    """Return the results of a form, a 64-bit number a thread."""
    body = f"{PRELUDE} {{ {form.text} }} {store(0, PREFIX[form.bits] + '4', form.bits, COUNT)}"
    kernel = gpu.load(pinned(kernel_text(body, SHARED, MODULE)), "k")
    inputs = [np.array(A, np.uint64), np.array(B, np.uint64), np.array(INDEX, np.uint32), np.zeros(COUNT, np.uint64)]
    places = [gpu.allocate(array.nbytes) for array in inputs]
    try:
        for place, array in zip(places, inputs, strict=True):
            gpu.write(place, array.tobytes())
        gpu.launch(kernel, (COUNT // THREADS, 1, 1), (THREADS, 1, 1), 0, [struct.pack("<Q", place) for place in places])
        return np.frombuffer(gpu.read(places[3], 8 * COUNT), np.uint64)
    finally:
        for place in places:
            gpu.free(place)


def as_floats(words, bits):
    return words.astype(np.uint32).view(np.float32).astype(np.float64) if bits == 32 else words.view(np.float64)


def equal(form, got, expected):
    """Return where a result is right."""
    same = got == expected
    if form.bits not in (32, 64) or f".f{form.bits}" not in form.text:
        return same
    with np.errstate(all="ignore"):
        x, y = as_floats(got, form.bits), as_floats(expected, form.bits)
        same |= np.isnan(x) & np.isnan(y)
        if ".approx" in form.text:
            same |= np.abs(x - y) <= APPROXIMATE * np.maximum(1.0, np.abs(y))
    return same


def wrong_results(gpu, form):
    """Return operands, expected and found result of up to three threads that got it wrong."""
    expected = [form.meaning(*x) & (1 << form.bits) - 1 for x in zip(A, B, INDEX, strict=True)]
    got = on_gpu(gpu, form)
    right = equal(form, got, np.array(expected, np.uint64))
    return [(hex(A[i]), hex(B[i]), i, hex(expected[i]), hex(int(got[i]))) for i in np.nonzero(~right)[0][:3]]


def test_every_form_on_this_gpu(gpu):
    forms = [form for form in FORMS if not any(name in form.text for name in OWN)]
    wrong = {form.text: found for form in forms if (found := wrong_results(gpu, form))}
    assert len(forms) > 400 and not wrong, wrong
