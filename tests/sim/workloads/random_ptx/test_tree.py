"""The structured-kernel interpreter on kernels small enough to follow by eye."""

import pytest

from caesura.sim.workloads.random_ptx.tree import Barrier, If, Leave, Line, Loop, Return, Thread, Writer, run_block


def count(register, by=1):
    """Return a line that adds to a register."""
    return Line("", lambda t: t.values.update({register: t.values[register] + by}))


def threads(number, **values):
    return [Thread({"tid": k, "odd": k & 1, "c": 0, "x": 0, **values}, bytearray(4), memoryview(bytearray(4)), b"")
            for k in range(number)]


def test_conditional_and_guard():
    group = threads(2)
    run_block([If(("odd", False), [count("x", 10)], [count("x", 1)]), Line("", count("x", 5).effect, ("odd", True))],
              group)
    assert [t.values["x"] for t in group] == [6, 10]


@pytest.mark.parametrize("test_first, start, trips", [(False, 0, 1), (False, 3, 3), (True, 0, 0), (True, 3, 3)])
def test_loop_trip_counts(test_first, start, trips):
    (thread,) = threads(1, c=start)
    run_block([Loop("c", "p", [count("x")], test_first)], [thread])
    assert thread.values["x"] == trips


def test_break_and_continue():
    group = threads(2, c=5)
    run_block([Loop("c", "p", [count("x"), Leave(("odd", False), "break"), count("x", 100)])], group)
    assert [t.values["x"] for t in group] == [505, 1]
    group = threads(2, c=5)
    run_block([Loop("c", "p", [count("x"), Leave(("odd", False), "continue"), count("x", 100)])], group)
    assert [t.values["x"] for t in group] == [505, 5]


def test_return_ends_one_thread_and_barriers_order_the_others():
    group = threads(3)
    shared = bytearray(3)
    for thread in group:
        thread.shared = shared

    def put(thread):
        thread.shared[thread.values["tid"]] = thread.values["tid"] + 1

    def take(thread):
        thread.values["x"] = thread.shared[(thread.values["tid"] + 1) % 3]

    run_block([Line("", put), Barrier(), Line("", take), Return(("odd", False)), count("x", 100)], group)
    assert [t.values["x"] for t in group] == [102, 3, 101]


def test_a_barrier_that_not_all_reach_is_an_error():
    with pytest.raises(RuntimeError, match="1 of 2 threads"):
        run_block([If(("odd", False), [Barrier()])], threads(2))


def test_text_of_a_loop_with_a_conditional():
    out = Writer()
    Loop("%r1", "%p1", [If(("%p2", True), [Line("add")], [Line("sub")]), Leave(("%p3", False), "break")]).write(out)
    assert [line for line in out.lines if line] == [
        "$L__BB0_2:", "\t@%p2 bra $L__BB0_5;", "\tadd;", "\tbra.uni $L__BB0_6;", "$L__BB0_5:", "\tsub;",
        "$L__BB0_6:", "\t@%p3 bra $L__BB0_4;", "$L__BB0_3:", "\tadd.s32 %r1, %r1, -1;",
        "\tsetp.gt.s32 %p1, %r1, 0;", "\t@%p1 bra $L__BB0_2;", "$L__BB0_4:"]
