"""The hardware does what docs/formal.md says for any inputs: proofs, and faults that each of them has to find."""

import pytest

from caesura.hw.formal.prover import Status
from support.formal.faults import planted
from support.formal.properties import PROPERTIES

SHORT = ("packer/4-of-5",)
"""Whose first fault `make test` plants."""

pytestmark = pytest.mark.depends_on("hw")


def _marks(each, long=False):
    marks = [pytest.mark.timeout(2 * each.timeout + 60)]
    if long or not each.short:
        marks.append(pytest.mark.full)
    if each.defect:
        marks.append(pytest.mark.xfail(reason=each.defect, strict=True))
    return marks


@pytest.mark.parametrize("each", [pytest.param(each, id=each.name, marks=_marks(each)) for each in PROPERTIES])
def test_it_holds(each, tmp_path):
    found = each.prove(tmp_path / "trace.vcd")
    assert found.status == each.expected, f"{found}: {found.failed}, {tmp_path}\n{found.log[-1500:]}"


@pytest.mark.parametrize("each, fault", [
    pytest.param(each, fault, id=f"{each.name}-{k}", marks=_marks(each, long=not (each.name in SHORT and k == 0)))
    for each in PROPERTIES if not each.defect for k, fault in enumerate(each.faults)])
def test_a_fault_is_found(each, fault):
    found = each.refute(fault)
    assert found.status == Status.REFUTED, f"{fault.wrong} is {found}\n{found.log[-1500:]}"
    assert found.failed


def test_every_fault_is_in_the_source_of_today():
    for each in PROPERTIES:
        for fault in each.faults:
            with planted(fault):
                pass


def test_every_kind_of_property_can_fail():
    groups = {each.name.split("/")[0] for each in PROPERTIES}
    assert groups == {each.name.split("/")[0] for each in PROPERTIES if each.faults or each.defect}
