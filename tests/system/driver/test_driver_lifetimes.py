"""How long things on a device live: arrays, modules, launches and the device itself, whatever the order of events."""

import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from caesura.hw.arch.isa.words import Instruction, encode
from caesura.sim import open_device
from caesura.software.compiler import KernelImage
from caesura.software.driver import Closed, DriverError, LaunchError, OutOfMemory, Texture
from caesura.software.kernels import kernel
from support.selection import quick

BACKENDS = ["golden", "rtl"]
MEMORY = 1 << 17


@pytest.fixture(params=BACKENDS)
def device(request):
    return open_device(request.param, "tiny", MEMORY)


def vecadd(device):
    return device.load_ptx(kernel("vecadd").ptx_path)["vecadd"]


def start(entry, tbs=20):
    """Launch it on arrays of which only the result is kept."""
    device, n = entry.device, 8 * tbs
    result = device.zeros(n, np.int32)
    launch = entry(tbs, 8, [device.array(np.full(n, 1, np.int32)), device.array(np.full(n, 2, np.int32)), result, n])
    return launch, result


def endless(device):
    code = [("mov.i", {"d": 0, "imm": 0}), ("bra", {"target": 0, "reconv": 2}), ("exit", {})]
    words = tuple(encode(Instruction.make(op, **fields)) for op, fields in code)
    return device.load([KernelImage("endless", words, 4, 1)])["endless"]


def used(device):
    return sum(end - start for start, end in device.heap.used())


def test_dropped_array_gives_its_memory_back(device):
    for _ in range(100):
        array = device.zeros(MEMORY // 4, np.uint8)
    assert used(device) == MEMORY // 4
    del array
    assert used(device) == 0


@pytest.mark.parametrize("device", quick(BACKENDS, ["golden"]), indirect=True)
def test_array_in_a_reference_cycle_gives_its_memory_back_before_memory_is_out(device):
    gc.collect()
    gc.disable()
    try:
        for _ in range(8):
            array = device.zeros(MEMORY // 4, np.uint8)
            array.itself = array
            del array
    finally:
        gc.enable()


def test_array_that_a_launch_uses_stays_until_it_has_finished(device):
    entry = vecadd(device)
    launch, result = start(entry)
    held = used(device)
    others = [device.array(np.full(160, 7, np.int32)) for _ in range(20)]
    assert used(device) == held + 20 * 768
    device.wait(launch)
    assert (result.get() == 3).all() and all((o.get() == 7).all() for o in others)
    del others
    assert used(device) == 768, "the result alone"


def test_array_freed_under_a_launch_comes_back_with_its_end(device):
    entry = vecadd(device)
    n, tbs = 160, 20
    a, b, c = device.array(np.ones(n, np.int32)), device.array(np.ones(n, np.int32)), device.zeros(n, np.int32)
    launch, before = entry(tbs, 8, [a, b, c, n]), used(device)
    for array in (a, b, c):
        array.free()
        with pytest.raises(DriverError, match="has been freed"):
            array.free()
    assert used(device) == before
    other = device.array(np.full(n, 9, np.int32))
    device.wait(launch)
    assert (other.get() == 9).all() and used(device) == 768


def test_array_given_by_address_stays_too(device):
    n, entry = 160, vecadd(device)
    arrays = [device.array(np.full(n, k, np.int32)) for k in (1, 2, 0)]
    launch = entry(20, 8, [*(int(a.address) for a in arrays), n])
    at = arrays[2].address
    del arrays
    device.array(np.full(n, 9, np.int32))
    device.wait(launch)
    assert np.frombuffer(device.transport.read_memory(at, 4 * n), np.int32).tolist() == [3] * n


def test_preempted_launch_keeps_its_arrays(device):
    launch, result = start(vecadd(device), 40)
    device.advance(60)
    assert device.preempt(launch, "occupied")
    before = used(device)
    gc.collect()
    fill = []
    with pytest.raises(OutOfMemory, match="out of device memory"):
        while True:
            fill.append(device.array(np.full(1000, 5, np.uint8)))
    assert used(device) > before and device.heap.free_bytes < 1024
    device.resume(launch)
    device.wait(launch)
    assert (result.get() == 3).all() and all((f.get() == 5).all() for f in fill)


def test_finished_launch_that_nobody_waits_for_gives_memory_when_it_is_needed(device):
    launch = start(vecadd(device))[0]
    device.advance(20_000)
    assert used(device) == 3 * 768
    device.zeros(device.heap.end - device.heap.base, np.uint8)
    assert launch.finished


def test_new_memory_is_zero_unless_asked_otherwise(device):
    dirty = device.array(np.full(4096, 0xAB, np.uint8))
    at = dirty.address
    dirty.free()
    left = device.empty(4096, np.uint8, clear=False)
    assert left.address == at and (left.get() == 0xAB).all()
    left.free()
    for make in (device.zeros, device.empty):
        array = make(4096, np.uint8)
        assert array.address == at and not array.get().any()
        array.set(np.full(4096, 0xCD, np.uint8))
        array.free()


def test_modules_unload(device):
    baseline = device.system.used()
    image = kernel("vecadd").image()
    for k in range(300):
        module = device.load([image])
        if k % 2:
            module.unload()
            module.unload()
    entry = module["vecadd"]
    assert device.system.used() == baseline, "all dropped or unloaded"
    assert repr(entry).endswith(", unloaded)")
    array = device.zeros(8, np.int32)
    with pytest.raises(LaunchError, match="'vecadd': its module has been unloaded; load it again"):
        entry(1, 8, [array, array, array, 8])
    assert device.system.used() == baseline


def test_module_unloaded_while_it_runs_stays_until_the_end(device):
    module = device.load_ptx(kernel("vecadd").ptx_path)
    launch, result = start(module["vecadd"])
    code = launch.kernel.address
    module.unload()
    other = endless(device)
    assert other.address != code
    device.wait(launch)
    assert (result.get() == 3).all()
    del module
    again = vecadd(device)
    assert again.address == code
    late, result = start(again)  # the caches forget what lay there
    device.wait(late)
    assert (result.get() == 3).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_closed_device_refuses_everything(backend):
    device = open_device(backend, "tiny", MEMORY)
    entry = vecadd(device)
    module, array = device.load([entry.image]), device.array(np.arange(8))
    finished, _ = start(entry)
    device.wait(finished)
    running = endless(device)(1, 8, [])
    device.advance(10)
    device.close()
    device.close()
    acts = [lambda: device.wait(running), lambda: device.run(running, 1), lambda: device.advance(1),
            lambda: device.preempt(running), lambda: device.resume(running), lambda: device.context(running),
            lambda: device.warps(), lambda: device.describe_warps(), lambda: device.read("status"),
            lambda: device.write("event", 0), lambda: device.peek("status"), lambda: device.cycle,
            lambda: device.array([1]), lambda: device.zeros(4), lambda: device.empty(4, clear=False),
            lambda: device.load([entry.image]), lambda: entry(1, 8, [array, array, array, 8]), lambda: array.get(),
            lambda: array.set(np.arange(8)), lambda: np.asarray(array), lambda: running.finished,
            lambda: running.progress, lambda: running.faulted_tbs, lambda: Texture(device.array([1])),
            lambda: device.__enter__()]
    for act in acts:
        with pytest.raises(Closed, match="this device has been closed; open another"):
            act()
    array.free()
    module.unload()
    assert "closed" in repr(device) and "closed" in repr(running) and repr(array) and repr(entry)


@pytest.mark.parametrize("backend", BACKENDS)
def test_device_is_a_context_manager(backend):
    with open_device(backend, "tiny", MEMORY) as device:
        launch, result = start(vecadd(device))
        device.wait(launch)
        values = np.asarray(result)
    assert device.closed and (values == 3).all()
    with pytest.raises(ZeroDivisionError), open_device(backend, "tiny", MEMORY) as device:
        print(1 // 0)
    assert device.closed


def test_closed_simulation_is_no_crash():
    transport = open_device("rtl", "tiny", MEMORY).transport
    snapshot = transport.snapshot()
    transport.close()
    transport.close()
    for act in (lambda: transport.read_register(0), lambda: transport.advance(1), lambda: transport.cycle,
                lambda: transport.read_memory(0, 4), lambda: transport.snapshot(), lambda: transport.traffic,
                lambda: transport.restore(snapshot), lambda: transport.take_trace()):
        with pytest.raises(ValueError, match="this simulation has been closed"):
            act()


def test_dropped_devices_go():
    for backend in BACKENDS:
        device = open_device(backend, "tiny", MEMORY)
        start(vecadd(device))
        gone = weakref.ref(device.transport)
        del device
        gc.collect()
        assert gone() is None


@pytest.mark.full
@pytest.mark.parametrize("backend", BACKENDS)
def test_end_of_the_program_in_any_state_is_quiet(backend):
    program = f"""
from caesura.sim import open_device
from caesura.software.kernels import kernel
device = open_device({backend!r}, "tiny", {MEMORY})
entry = device.load_ptx(kernel("vecadd").ptx_path)["vecadd"]
array = device.zeros(160, "i4")
launch = entry(20, 8, [array, array, array, 160])
device.advance(50)
device.preempt(launch, "occupied")
device.itself = device
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("device", quick(BACKENDS, ["golden"]), indirect=True)
def test_threads_take_turns_without_a_crash(device):
    launch = endless(device)(1, 8, [])
    errors = []

    def poll():
        try:
            for _ in range(300):
                assert device.peek(f"kernel[{launch.slot}].state") == 1 and device.cycle >= 0
                device.transport.read_memory(0, 64)
        except Exception as error:
            errors.append(error)

    pollers = [threading.Thread(target=poll) for _ in range(3)]
    for thread in pollers:
        thread.start()
    while any(thread.is_alive() for thread in pollers):
        device.advance(500)
    assert not errors and not launch.finished


def test_memory_of_4_gb_works():
    for backend in BACKENDS:
        with open_device(backend, "tiny", 1 << 32) as device:
            assert device.heap.end == 0xFD00_0000, "above it lie the generic windows of other spaces"
            launch, result = start(vecadd(device))
            device.wait(launch)
            assert (result.get() == 3).all()
            top = device.empty(device.heap.free_bytes - 256, np.uint8, clear=False)
            high = device.array(np.arange(64, dtype=np.int32))
            assert high.address + 256 == 0xFD00_0000 > top.address
            launch = vecadd(device)(8, 8, [high, high, high, 64])
            device.wait(launch)
            assert (high.get() == 2 * np.arange(64)).all()


@pytest.mark.parametrize("size", [(1 << 32) + 4096, 0, -4096, 100, 1.5, "1 GB", None])
@pytest.mark.parametrize("backend", ["golden", "rtl", "amaranth"])
def test_sizes_of_memory_that_cannot_be_are_refused(backend, size):
    with pytest.raises(ValueError, match="memory_bytes must be a positive multiple of 4096 up to 4 GiB, not"):
        open_device(backend, "tiny", size)
