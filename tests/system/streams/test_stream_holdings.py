"""What tasks of streams keep until they have ended: arguments, textures, arrays, the stream itself."""

import gc

import numpy as np
import pytest

from caesura import open_device
from caesura.software.compiler import compile_ptx
from caesura.software.driver import (
    DriverError,
    LaunchError,
)
from support.programs.shared_counters import HEAD
from support.programs.stream_work import StirTask
from support.sim.queues import ADD

MEMORY = 1 << 22


COUNT = compile_ptx(ADD).values()
SAMPLE = compile_ptx(HEAD + """
.global .texref texels;
.visible .entry sample(.param .u64 output)
{
    .reg .b32 %r<2>;
    .reg .f32 %f<5>;
    .reg .b64 %a<2>;
    ld.param.u64 %a0, [output];
    mov.u32 %r0, 0;
    tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [texels, {%r0}];
    st.global.f32 [%a0], %f0;
    ret;
}
""").values()


def busy_stream(device, busy):
    """A stream in which what is put in waits, or begins at once."""
    stream = device.stream()
    if busy:
        stream.launch(device.load(COUNT)["add"], 4, 16, [device.zeros(1, np.uint32), 1000])
    return stream


@pytest.mark.parametrize("options", [{}, {"check_bounds": True}], ids=["", "bounds"])
@pytest.mark.parametrize("busy", [False, True])
def test_what_a_kernel_was_given_stays_until_its_task_has_ended(busy, options):
    """Array and module: given back before the kernel has begun."""
    with open_device("golden", "tiny", memory_bytes=MEMORY, **options) as device:
        stream, module = busy_stream(device, busy), device.load(COUNT)
        counter, seen = device.zeros(1, np.uint32), []
        place = counter.address
        task = stream.launch(module["add"], 1, 16, [counter, 1])
        assert (task.launch is None) == busy
        stream.call(lambda: seen.append(device.transport.read_memory(place, 4)))
        counter.free()
        module.unload()
        others = [device.zeros(1, np.uint32) for _ in range(8)]
        assert place not in [other.address for other in others]
        task.wait()
        stream.synchronize()
        assert seen == [bytes([16, 0, 0, 0])] and not any(other.get()[0] for other in others)
        assert device.heap.holder(place) is None
        with pytest.raises(LaunchError, match="its module has been unloaded"):
            stream.launch(module["add"], 1, 16, [others[0], 1])
        with pytest.raises(LaunchError, match="the device array has been freed"):
            stream.launch(device.load(COUNT)["add"], 1, 16, [counter, 1])
        stream.synchronize()


@pytest.mark.parametrize("busy", [False, True])
def test_a_kernel_reads_the_textures_of_the_call(busy):
    with open_device("golden", "gtx480", memory_bytes=MEMORY) as device:
        module, output = device.load(SAMPLE), device.zeros(1, np.float32)
        one, two = (device.array(np.full(4, k, np.float32)) for k in (1, 2))
        stream = busy_stream(device, busy)
        module.bind_texture("texels", one)
        task = stream.launch(module["sample"], 1, 1, [output])
        module.bind_texture("texels", two)
        one.free()
        task.wait()
        assert output.get()[0] == 1


@pytest.mark.parametrize("busy", [False, True])
def test_copies_hold_the_memory_of_their_array(golden, busy):
    stream, array = busy_stream(golden, busy), golden.array(np.arange(4, dtype=np.int32))
    copied = stream.copy_from(array)
    stream.copy_to(array, np.arange(4, 8, dtype=np.int32))
    again = stream.copy_from(array)
    array.free()
    others = [golden.zeros(4, np.int32) for _ in range(8)]
    assert list(copied.wait()) == [0, 1, 2, 3] and list(again.wait()) == [4, 5, 6, 7]
    assert not any(other.get().any() for other in others)
    for copy in (lambda: stream.copy_from(array), lambda: stream.copy_to(array, np.zeros(4, np.int32))):
        with pytest.raises(DriverError, match="has been freed"):
            copy()


def test_events_of_two_devices_have_no_time_between_them(golden):
    with open_device("golden", "tiny", memory_bytes=MEMORY) as other:
        here, there = golden.stream().record(), other.stream().record()
        with pytest.raises(DriverError, match="the events are of two devices"):
            here.since(there)
        assert there.since(there) == 0


def test_streams_that_nobody_holds_are_gone():
    """When what is in them is over, and its failure told."""
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        streams, seen = device._core.streams, []
        for _ in range(50):
            device.stream().record()
        device.stream().call(lambda: seen.append(1))
        mine = device.stream()
        mine.record()
        assert streams.of(device) == [mine] and seen == [1]
        task = StirTask(device, device.stream(), 1, 1)
        device.stream().call(lambda: 1 // 0)
        gc.collect()
        assert len(streams.of(device)) == 3
        with pytest.raises(ZeroDivisionError):
            device.synchronize()
        task.check()
        del task
        mine.record()
        gc.collect()
        assert streams.of(device) == [mine]
