"""A saved context that something has written over: the driver says so, both machines refuse it alike."""

import itertools

import numpy as np
import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.arch.image import context as image
from caesura.hw.arch.isa.opcodes import Special
from caesura.hw.arch.isa.words import Instruction, encode
from caesura.sim import open_device
from caesura.software.compiler import KernelImage
from caesura.software.driver import CommandRefused, ContextError
from support.selection import quick

TINY = preset("tiny")
BACKENDS = ["golden", "rtl"]


def waiting(device, local_bytes=8):
    """A kernel of two TBs, preempted in a loop that 3,000 rounds later ends; it has local and shared memory."""
    code = [("s2r", {"d": 0, "imm": Special.TID_X}), ("st.shared.b32", {"no_base": 1, "imm": 0, "d": 0}),
            ("mov.i", {"d": 1, "imm": 3000}), ("isub.i", {"d": 1, "a": 1, "imm": 1}),
            ("setp.ne.i", {"pd": 0, "a": 1, "imm": 0}), ("bra", {"guard": 0, "target": 3, "reconv": PC_NONE}),
            ("exit", {})]
    words = tuple(encode(Instruction.make(op, **fields)) for op, fields in code)
    kernel = device.load([KernelImage("waiting", words, 4, 1, shared_bytes=256, local_bytes=local_bytes)])["waiting"]
    launch = kernel(2, 16, [])
    device.advance(200)
    assert device.preempt(launch, "occupied")
    return launch


@pytest.fixture(params=BACKENDS)
def device(request):
    return open_device(request.param, "tiny", 1 << 16)


def change(device, launch, index, **fields):
    """Write fields of an entry, and its checksum; return what undoes it."""
    address, size = image.entry_address(launch.ccb_base, index), image.CCB_ENTRY.size // 8
    before = device.transport.read_memory(address, size)
    entry = image.from_words(image.CCB_ENTRY, np.frombuffer(before, "<u4")) | fields
    if "crc" not in fields:
        entry["crc"] = image.entry_crc(image.to_words(image.CCB_ENTRY, **entry))
    after = np.array(image.to_words(image.CCB_ENTRY, **entry), "<u4").tobytes()
    device.transport.write_memory(address, after)
    return lambda: device.transport.write_memory(address, before)


NONE = [("version", image.VERSION + 1), ("geometry_hash", 5), ("local_base", 0x80), ("local_base", 0xFFFF_FF80)]
DAMAGE = {
    "state": (77, "its state is 77"), "version": (200, "format version 200"), "geometry_hash": (1, "another geometry"),
    "register_image": (0x80, "its stream is said to be at 0x80"), "length": (1 << 30, "1073741824 bytes long"),
    "launch_id": (9, "TB 9 of a grid of 2"), "ctaid_y": (1, "its ctaid is not that of TB"),
    "registers": (5, "registers or warps"), "live_warps": (1 << 31, "live warps 0x80000000 of 2"),
    "mechanism": (9, "mechanism 9"), "none": (3, "something is said to have stayed"),
    "base_crc": (5, "0x5 where nothing is"),
    "local_base": (4, "its local memory is said to be at 0x4, not 0x"),
    "data_bytes": (1, "bytes of data, 1 by its entry"), "crc": (5, "its checksum is wrong"),
    "stream_crc": (5, "the checksum of its stream is wrong"), "table_crc": (5, "the checksum of its stream is wrong"),
}


@pytest.mark.parametrize("device, field", quick(
    itertools.product(BACKENDS, DAMAGE), [*(("golden", field) for field in DAMAGE)]),
    indirect=["device"])
def test_damaged_entry_is_named(device, field):
    launch = waiting(device)
    value, message = DAMAGE[field]
    undo = change(device, launch, 1, **{field: value})
    with pytest.raises(ContextError, match=f"of kernel 'waiting' is damaged: entry 1 at 0x.*: .*{message}.*written"):
        device.context(launch)
    undo()
    assert [tb.launch_id for tb in device.context(launch)] == [0, 1]
    device.resume(launch)
    device.wait(launch)


@pytest.mark.parametrize("device", quick(BACKENDS, ["rtl"]), indirect=True)
def test_damaged_stream_is_an_error_and_never_a_crash(device):
    """Any byte of a stream overwritten."""
    launch, random = waiting(device), np.random.default_rng(5)
    (first, _) = device.context(launch)
    area = image.area_address(TINY, launch.ccb_base, launch.area_bytes, 0)
    stream = device.transport.read_memory(area, first.length)
    for at in [*range(0, 48), *random.integers(0, first.length, 150)]:
        broken = bytearray(stream)
        broken[at] ^= int(random.integers(1, 256))
        device.transport.write_memory(area, bytes(broken))
        with pytest.raises(ContextError, match="is damaged: entry 0"):
            device.context(launch)
    device.transport.write_memory(area, stream)
    assert repr(device.context(launch)[0]) == repr(first)
    device.transport.write_memory(area, bytes(first.length))
    with pytest.raises(ContextError, match="is damaged: entry 0"):
        device.context(launch)


@pytest.mark.parametrize("device, field, value", quick(
    [(backend, *lie) for backend in BACKENDS for lie in NONE],
    [*(("golden", *lie) for lie in NONE)]),
    indirect=["device"])
def test_image_that_is_none_is_refused_and_stays_resumable(device, field, value):
    launch = waiting(device)
    before = device.read("fault_count")
    undo = [change(device, launch, k, **{field: value}) for k in (0, 1)]
    with pytest.raises(CommandRefused) as refused:
        device.resume(launch)
    assert refused.value.error is CommandError.BAD_IMAGE
    assert launch.state is KernelState.PREEMPTED and launch.progress == (0, 2) and device.warps() == []
    for restore in undo:
        restore()
    device.resume(launch)
    device.wait(launch)
    assert device.read("fault_count") == before and launch.progress == (2, 2)


@pytest.mark.parametrize("device", quick(BACKENDS, ["golden"]), indirect=True)
def test_address_of_local_memory_does_not_matter_to_a_kernel_without(device):
    launch = waiting(device, local_bytes=0)
    change(device, launch, 0, local_base=0x1234_5600)
    device.resume(launch)
    assert device.preempt(launch, "occupied")
    assert [tb.local_base for tb in device.context(launch)] == [0, 0]
    device.resume(launch)
    device.wait(launch)
