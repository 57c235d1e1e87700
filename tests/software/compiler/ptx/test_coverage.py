"""Every instruction form that compilers were seen to emit compiles and computes what PTX says: on the golden model."""

from pathlib import Path

import numpy as np
import pytest

from caesura.sim import open_device
from caesura.software.compiler import compile_ptx
from support.selection import quick
from support.software.operand_patterns import patterns
from support.software.ptx_bench import THREADS, check
from support.software.ptx_coverage import FORMS, MODULE, PARAMETERS, PRELUDE, RETURNING, SHARED, kernel_with_parameters

COUNT = 2 * THREADS
GROUP = 60
"""Forms a kernel."""


A, B = patterns(1, COUNT), patterns(2, COUNT)
INDEX = list(range(COUNT))


def scoped(text):
    """Give the statements a scope of their own, with its labels."""
    return f"{{ {text} }}"


def under_guard(form, negated):
    """The same under @%p5 or @!%p5, with the thread's number where it does not hold."""
    r = {16: "%rs", 32: "%r", 64: "%rd"}[form.bits]
    first = form.text.split(";")[0]
    dest = first.split()[1].rstrip(",")
    home = f"cvt.u{form.bits}.u32 {r}4, %r3; mov.b{form.bits} {dest}, {r}4;"
    rest = form.text[len(first):]
    return (home + f"@{'!' * negated}%p5 {first}{rest}", form.bits,
            lambda x, y, i: form.meaning(x, y, i) if bool(i % 2) != negated else i)


GROUPS = [FORMS[k:k + GROUP] for k in range(0, len(FORMS), GROUP)]


@pytest.mark.parametrize("forms", quick(GROUPS, GROUPS[1::2]), ids=lambda forms: "".join(forms[0].opcodes[:1]))
def test_every_form(forms):
    cases = [(scoped(form.text), form.bits, form.meaning) for form in forms]
    cases[0] = (PRELUDE + cases[0][0], *cases[0][1:])
    check(cases, A, B, INDEX, SHARED, MODULE)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3, 43, 2))
@pytest.mark.parametrize("forms", GROUPS, ids=lambda forms: "".join(forms[0].opcodes[:1]))
def test_every_form_on_many_operands(forms, seed):
    cases = [(scoped(form.text), form.bits, form.meaning) for form in forms]
    cases[0] = (PRELUDE + cases[0][0], *cases[0][1:])
    check(cases, patterns(seed, COUNT), patterns(seed + 1, COUNT), INDEX, SHARED, MODULE)


@pytest.mark.parametrize("turn", quick((0, 1), [0]))
@pytest.mark.parametrize("forms", quick(GROUPS, GROUPS[::3]), ids=lambda forms: "".join(forms[0].opcodes[:1]))
def test_every_form_under_a_guard(forms, turn):
    """Guards are negated in turn: every form's with one `turn` or the other."""
    cases = [under_guard(form, bool((k + turn) % 2)) for k, form in enumerate(forms) if form.guarded]
    if cases:
        cases[0] = (PRELUDE + cases[0][0], *cases[0][1:])
        check(cases, A, B, INDEX, SHARED, MODULE)


def test_kernel_parameters_of_every_type():
    device = open_device("golden", "gtx480", memory_bytes=1 << 20)
    out = device.array(np.zeros((4, len(PARAMETERS)), np.uint64))
    values = [np.array(x, np.uint32).view(np.float32) if type == "f32" else np.array(x, np.uint64).view(np.float64)
              if type == "f64" else x for type, x in PARAMETERS.items()]
    arguments = [out, *(x[()] if isinstance(x, np.ndarray) else x for x in values)]
    device.wait(device.load([compile_ptx(kernel_with_parameters())["k"]])["k"](1, 4, arguments))
    expected = [x & (1 << 64) - 1 for x in PARAMETERS.values()]
    assert [[int(x) for x in row] for row in out.get()] == [expected, [*expected[:-1], 0]] * 2


def listed(page):
    """Return the opcodes of a page with entries ``add: s32 cc.u32``, continued where a line is indented."""
    found, base = set(), ""
    for line in page.splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            base, _, line = line.partition(":")
        found |= {f"{base}.{form}" if form != "-" else base for form in line.split()}
    return found


def test_the_table_has_every_form_that_was_seen():
    seen = listed((Path(__file__).parents[1] / "data/seen_opcodes.txt").read_text())
    covered = {opcode for form in FORMS for opcode in form.opcodes} | {*RETURNING}
    assert len(seen) == 199 and seen - covered == set()
