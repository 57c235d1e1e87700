"""What a program can do wrong with the driver: one clear error, the machine unharmed, never a wrong number."""

import numpy as np
import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.words import Instruction, encode
from caesura.sim import open_device
from caesura.sim.scenario import differences, start_job
from caesura.software.compiler import CompileError, KernelImage, compile_ptx
from caesura.software.driver import CommandRefused, DriverError, KernelFault, LaunchError
from caesura.software.kernels import kernel
from support.selection import quick


@pytest.fixture
def device():
    return open_device("golden", "gtx480")


@pytest.fixture(params=["golden", "rtl"])
def tiny_device(request):
    return open_device(request.param, "tiny", 1 << 16)


def load(device, name="vecadd"):
    return device.load_ptx(kernel(name).ptx_path)[name]


def arrays(device, count=32):
    return [device.array(np.full(count, k, np.int32)) for k in (1, 2, 0)]


def check_works(device, entry):
    a, b, c = arrays(device)
    device.wait(entry(1, 32, [a, b, c, 32]))
    assert (c.get() == 3).all()


@pytest.mark.parametrize("size", [None, 1.5, "32", (32.0,), ("a",), (1, 1, 1, 1), (), True, [[1, 2]], -1, (1, 0)])
def test_grid_and_block_are_whole_positive_numbers(device, size):
    entry = load(device)
    for sizes in ({"grid": 1, "block": size}, {"grid": size, "block": 32}):
        with pytest.raises(LaunchError, match="must be one to three positive integers"):
            entry(**sizes, arguments=[*arrays(device), 32])
    check_works(device, entry)


@pytest.mark.parametrize("block", [np.int64(32), np.array(32), np.array([32, 1]), [8, 4], (4, 4, 2)])
def test_grid_and_block_may_be_any_kind_of_whole_number(device, block):
    a, b, c = arrays(device, 4)
    device.wait(load(device)(1, block, [a, b, c, 4]))
    assert (c.get() == 3).all()


@pytest.mark.parametrize("sizes", [
    {"block": 1025}, {"block": (1 << 40, 1 << 40)}, {"block": (1, 1, 1024)}, {"grid": 1 << 32},
    {"grid": (1, 1 << 16)}, {"shared_bytes": -1}, {"shared_bytes": -128}, {"shared_bytes": 1.5},
    {"shared_bytes": "9"}, {"shared_bytes": 48 * 1024 + 1}, {"arguments": None}, {"arguments": [1, 2, 3]}])
def test_refused_launch_changes_nothing(device, sizes):
    entry = load(device)
    finished = entry(1, 32, [*arrays(device), 32])
    device.wait(finished)
    before = device.host_state()
    with pytest.raises(LaunchError):
        entry(**{"grid": 1, "block": 32, "arguments": [*arrays(device), 32]} | sizes)
    assert device.host_state()[:2] == before[:2]
    check_works(device, entry)


def test_refusal_of_the_device_gives_the_save_area_back(device, monkeypatch):
    entry = load(device)
    used = device.system.used()
    monkeypatch.setattr("caesura.software.driver.launch.prepared.check_fit", lambda *_: 0)
    with pytest.raises(CommandRefused, match="never fit"):
        entry(1, 32, [*arrays(device), 32])
    assert device.system.used() == used


def test_wait_after_a_refused_command_ends(tiny_device):
    entry = load(tiny_device)
    a, b, c = arrays(tiny_device)
    launch = entry(1, 32, [a, b, c, 32])
    for _ in range(2):
        with pytest.raises(CommandRefused, match="only a preempted one resumed"):
            tiny_device.resume(launch)
    tiny_device.wait(launch, 10_000)
    assert (c.get() == 3).all()


def test_arrays_of_another_device_are_refused(device):
    entry = load(device)
    other = open_device("golden", "gtx480")
    with pytest.raises(LaunchError, match="on another device"):
        entry(1, 32, [*arrays(device)[:2], other.empty(32, np.int32), 32])
    launch = entry(1, 32, [*arrays(device), 32])
    for act in (other.wait, other.preempt, other.resume, other.context):
        with pytest.raises(DriverError, match="launched on another device"):
            act(launch)
    device.wait(launch)


@pytest.mark.parametrize("shape", [-4, (2, -3), (-2, -3), 1.5, (2.5,), "a", None])
def test_shape_is_checked(device, shape):
    used = device.heap.used()
    with pytest.raises(DriverError, match="a shape is"):
        device.empty(shape, np.int32)
    assert device.heap.used() == used


def test_element_type_and_size_are_checked(device):
    with pytest.raises(DriverError, match="holds numbers, not object"):
        device.array([None, {}])
    with pytest.raises(DriverError, match="out of device memory"):
        device.empty((1 << 40, 1 << 40), np.int32)
    assert device.heap.used() == []


@pytest.mark.parametrize(("dtype", "values"), [
    (np.int32, [1.5, 2.0]), (np.int32, [1 << 31, 0]), (np.int32, [1 << 70, 0]), (np.int32, [np.nan, 0.0]),
    (np.uint32, [-1, 0]), (np.uint8, [256, 0]), (np.int32, ["a", "b"])])
def test_values_that_the_elements_cannot_hold_are_refused(device, dtype, values):
    array = device.array(np.array([7, 8], dtype))
    with pytest.raises(ValueError, match="held by a device array"):
        array.set(values)
    assert array.get().tolist() == [7, 8]


@pytest.mark.parametrize("values", [[1 + 2j, 0], np.array([1, 2], np.complex64), ["1", "2"], [b"1", b"2"],
                                    np.array([1, 2], "m8[s]"), [10**400, 0]], ids=str)
def test_real_elements_hold_no_other_values(device, values):
    array = device.array(np.array([7, 8], np.float32))
    with pytest.raises(ValueError, match="not all values can be held by a device array of float32"):
        array.set(values)
    assert array.get().tolist() == [7, 8]
    pair = device.zeros(2, np.complex64)
    pair.set([1 + 2j, 3])
    assert pair.get().tolist() == [1 + 2j, 3]


@pytest.mark.parametrize("values", [["abc"], [b"abc"], np.array(["2020-01-01"], "M8[D]"),
                                    np.zeros(2, [("name", "U3"), ("value", "f4")])], ids=str)
def test_arrays_are_of_numbers(device, values):
    with pytest.raises(DriverError, match="a device array holds numbers, not"):
        device.array(values)
    with pytest.raises(DriverError, match="there is no type 'abc' of them"):
        device.zeros(4, "abc")
    assert device.heap.used() == []
    pairs = np.array([(1, 2.5)], [("count", "<i4"), ("value", "<f4")])
    assert (device.array(pairs).get() == pairs).all()


SCALE = """.version 8.0
.target sm_70
.address_size 64
.visible .entry keep(.param .u64 output, .param .f32 value, .param .f64 wide)
{
    .reg .f32 %f<2>; .reg .b64 %a<2>;
    ld.param.u64 %a0, [output]; ld.param.f32 %f0, [value]; st.global.f32 [%a0], %f0; ret;
}
"""


def test_real_parameters_take_real_numbers(device, recwarn):
    keep, output = device.load(compile_ptx(SCALE).values())["keep"], device.zeros(1, np.float32)
    for value in (np.complex64(1 + 2j), 1 + 2j, np.timedelta64(1), "1"):
        with pytest.raises(LaunchError, match=r"parameter value \(f32\): a number is wanted"):
            keep(1, 1, [output, value, 0])
    for values in ((10**400, 0), (0, -10**400)):
        with pytest.raises(LaunchError, match="the integer is larger than any number of that type; give a float"):
            keep(1, 1, [output, *values])
    device.wait(keep(1, 1, [output, 1e300, 10**300]))
    assert output.get()[0] == np.inf and not recwarn.list


@pytest.mark.parametrize(("fraction", "why"), [(0, "between 0 and 1"), (1.0, "between 0 and 1"), ("half", "between"),
                                               (1e-9, "leaves no room")])
def test_the_memory_is_split_as_one_likes(fraction, why):
    with open_device("golden", "tiny", memory_bytes=1 << 20, system_fraction=0.25) as device:
        assert device.heap.base == device.system.end == 1 << 18
        check_works(device, load(device))
    with pytest.raises(DriverError, match=why):
        open_device("golden", "tiny", memory_bytes=1 << 20, system_fraction=fraction)


def test_arrays_of_any_layout_and_byte_order_arrive(device):
    strided = np.arange(48, dtype=np.int32).reshape(6, 8).T[::2, ::-1]
    frozen = np.arange(4, dtype=np.int32)
    frozen.flags.writeable = False
    swapped = np.arange(5, dtype=">i4")
    for values in (strided, frozen, swapped, np.array(5, np.int32), np.zeros((0, 3), np.int32)):
        array = device.array(values)
        assert array.get().shape == values.shape and (array.get() == values).all()
        assert device.transport.read_memory(array.address, array.nbytes) == values.astype("<i4").tobytes()


def test_use_after_free_is_refused(device):
    entry, array = load(device), arrays(device)[0]
    array.free()
    for act in (array.get, array.free, lambda: array.set(np.zeros(32, np.int32))):
        with pytest.raises(DriverError, match="has been freed"):
            act()
    with pytest.raises(LaunchError, match="has been freed"):
        entry(1, 32, [array, *arrays(device)[1:], 32])


@pytest.mark.parametrize("cycles", [-1, 1.5, "9", None])
def test_time_only_passes_forwards(device, cycles):
    with pytest.raises(LaunchError, match="cycles must be a whole number"):
        device.advance(cycles)


def test_a_mechanism_that_the_machine_has_not_is_refused():
    device, job = open_device("golden", preset("gtx480").replace(tb_compressor=False)), kernel("pathfinder").job("tiny")
    launch, results = start_job(device, load(device, "pathfinder"), job)
    device.advance(300)
    with pytest.raises(DriverError, match=r"has no mechanism 'live\+tb': its geometry says tb_compressor = false"):
        device.preempt(launch, "live+tb")
    assert device.preempt(launch, "live+cp")
    device.resume(launch)
    device.wait(launch)
    assert not any(differences(job, results).values())


def test_preempt_and_resume_at_the_wrong_time(device):
    job = kernel("pathfinder").job("tiny")
    launch, results = start_job(device, load(device, "pathfinder"), job)
    with pytest.raises(DriverError, match=r"no mechanism 'live\+'; there are 'occupied', 'live', 'live\+cp', 'live\+"):
        device.preempt(launch, "live+")
    assert device.context(launch) == []
    device.advance(300)
    assert device.preempt(launch) and device.context(launch)
    with pytest.raises(CommandRefused):
        device.preempt(launch)
    with pytest.raises(DriverError, match="is preempted and will not go on; resume it first"):
        device.wait(launch)
    check_works(device, load(device))  # another kernel, meanwhile
    device.resume(launch)
    with pytest.raises(CommandRefused):
        device.resume(launch)
    device.wait(launch)
    assert not any(differences(job, results).values())
    assert device.preempt(launch) is None and device.wait(launch) == 0
    with pytest.raises(CommandRefused):
        device.resume(launch)


def test_launch_that_lost_its_slot_does_not_touch_the_new_one(device):
    entry = load(device)
    old = entry(1, 32, [*arrays(device), 32])
    device.wait(old)
    job = kernel("pathfinder").job("tiny")
    new, results = start_job(device, load(device, "pathfinder"), job)
    assert new.slot == old.slot
    assert old.finished and old.progress == (1, 1) and device.wait(old) == 0 and device.preempt(old) is None
    for act in (device.resume, device.context):
        with pytest.raises(DriverError, match="slot holds another launch"):
            act(old)
    assert new.state is KernelState.RUNNING
    device.wait(new)
    assert not any(differences(job, results).values())


def test_fault_stays_with_the_launch_it_belongs_to(tiny_device):
    entry = load(tiny_device)
    faulty = entry(1, 32, [0, 0, 0, 32])
    tiny_device.advance(1000)
    assert faulty.finished
    a, b, c = arrays(tiny_device)
    healthy = entry(1, 32, [a, b, c, 32])
    assert healthy.slot == faulty.slot
    tiny_device.wait(healthy)
    assert (c.get() == 3).all()
    with pytest.raises(KernelFault, match="GLOBAL_WINDOW"):
        tiny_device.wait(faulty)


@pytest.mark.parametrize("tiny_device", quick(["golden", "rtl"], ["golden"]), indirect=True)
def test_two_kernels_that_fault_are_both_told(tiny_device):
    device = tiny_device
    code = [("mov.i", {"d": 0, "imm": 2000}), ("isub.i", {"d": 0, "a": 0, "imm": 1}),  # both run before one traps
            ("setp.ne.i", {"pd": 0, "a": 0, "imm": 0}), ("bra", {"guard": 0, "target": 1, "reconv": 4}), ("trap", {})]
    trap = KernelImage("trap", tuple(encode(Instruction.make(name, **fields)) for name, fields in code), 4, 1)
    entry = device.load([trap])["trap"]
    first, second = entry(2, 8, ()), entry(3, 8, ())
    assert not first.finished
    device.advance(200_000)
    assert first.finished and second.finished
    with pytest.raises(KernelFault, match=r"TRAP in kernel 'trap': TB \d.*and 1 more"):
        device.wait(first)
    for _ in range(2):
        with pytest.raises(KernelFault, match="3 of its TBs ended, where is not known") as caught:
            device.wait(second)
        assert caught.value.record is None
    again = entry(1, 8, ())
    assert again.slot == first.slot
    with pytest.raises(KernelFault, match="and 1 more"):
        device.wait(first)
    with pytest.raises(KernelFault, match="TRAP"):
        device.wait(again)


def test_file_that_is_no_ptx_is_named(device, tmp_path):
    path = tmp_path / "bad.ptx"
    for content, what in ((".version 7.0".encode("utf-16"), "not a text file"), (b"\xff\xfe\0v", "not a text file"),
                          (b"\xff\xfe\0", "bad.ptx:1:1: syntax error"), (b"\xff", "bad.ptx:1:1: syntax error"),
                          (b"", "no kernel"), (b"\0", "no kernel")):
        path.write_bytes(content)
        with pytest.raises(CompileError, match=what):
            device.load_ptx(path)
