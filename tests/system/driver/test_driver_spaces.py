"""The driver and memory spaces: constants by name, local memory of a launch, and what is refused."""

import dataclasses

import numpy as np
import pytest

from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.opcodes import Special
from caesura.sim import open_device
from caesura.software.compiler import ImageError, KernelImage, compile_ptx
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.driver import DriverError, LaunchError
from caesura.software.kernels import kernel
from support.programs.machine_code import word

PTX = """.version 8.0
.target sm_75
.address_size 64
.const .align 4 .u32 table[4] = {5, 6, 7, 8};
.const .f32 scale = 0f3F800000;
.const .align 4 .b8 raw[8];
""" + "".join(f"""
.visible .entry {name}(.param .u64 OUT)
{{
    .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [OUT]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
    mov.u64 %rd3, table; add.s64 %rd3, %rd3, %rd2; ld.const.u32 %r2, [%rd3]; ld.const.u32 %r3, [raw+4];
    add.s32 %r2, %r2, %r3; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r2; ret;
}}""" for name in ("one", "two"))


@pytest.fixture
def device():
    return open_device("golden", "gtx480", memory_bytes=1 << 22)


def result(device, module, name):
    out = device.array(np.zeros(4, np.uint32))
    device.wait(module[name](1, 4, [out]))
    return out.get().tolist()


def test_a_modules_kernels_share_constants_that_the_host_writes(device):
    module = device.load(read_elf(write_elf(compile_ptx(PTX))).values())
    assert result(device, module, "one") == [5, 6, 7, 8]
    table = module.symbol("table")
    table.set([50, 60], first=1)
    module.symbol("raw", np.uint32).set(1000, first=1)
    assert table.get().tolist() == [5, 50, 60, 8] and table.count == 4
    assert result(device, module, "one") == result(device, module, "two") == [1005, 1050, 1060, 1008]
    assert module["one"].bank.address == module["two"].bank.address and module["one"].bank.address % 128 == 0
    other = device.load(compile_ptx(PTX).values())
    assert result(device, other, "one") == [5, 6, 7, 8], "another module has constants of its own"
    assert module.symbol("scale").get().tolist() == [1.0]


def test_constants_refuse_what_they_cannot_hold(device):
    module = device.load(compile_ptx(PTX).values())
    table = module.symbol("table")
    for values, first in (([1, 2, 3], 2), ([[1, 2]], 0), (1, 4), (1, -1)):
        with pytest.raises(ValueError, match="do not fit the 4 elements of constant 'table'"):
            table.set(values, first)
    for value in (-1, 1 << 32, 0.5, "x"):
        with pytest.raises(ValueError, match="not all values can be held"):
            table.set(value)
    assert table.get().tolist() == [5, 6, 7, 8]
    with pytest.raises(LaunchError, match="no variables 'tabel' in this module; there are raw, scale, table"):
        module.symbol("tabel")
    with pytest.raises(LaunchError, match="no whole number"):
        module.symbol("raw", np.dtype("V3"))


def test_constants_do_not_change_under_a_kernel_that_runs(device):
    job, image = kernel("rankfilter").job("tiny"), kernel("rankfilter").image()
    module = device.load([image])
    out = device.array(job.arguments["out"])
    arguments = [device.array(job.arguments["samples"]), out, *list(job.arguments.values())[2:]]
    launch = module["rankfilter"](job.grid, job.block, arguments)
    device.advance(200)
    device.preempt(launch, Mechanism.LIVE)
    with pytest.raises(DriverError, match="belongs to a kernel that has not finished"):
        module.symbol("weights", np.int32).set(0)
    device.resume(launch)
    device.wait(launch)
    assert (out.get() == job.expected["out"]).all()
    module.symbol("weights", np.int32).set(np.zeros(16, np.int32))
    device.wait(module["rankfilter"](job.grid, job.block, arguments))
    assert not out.get().any()


STORE = (word("s2r", d=0, imm=int(Special.TID_X)), word("ld.local.b32", d=1, no_base=1, imm=8), word("ldp", d=2, imm=0),
         word("imul.lo.i", d=3, a=0, imm=4), word("iadd", d=2, a=2, b=3), word("st.global.b32", a=2, d=1),
         word("st.local.b32", no_base=1, imm=8, d=2), word("exit"))


def test_local_memory_begins_with_zeros_and_is_given_back(device):
    image = compile_ptx(PTX)["one"]
    spy = KernelImage("spy", STORE, 4, parameters=image.parameters, local_bytes=12)
    module, before = device.load([spy]), None
    used = device.system.used()
    for _ in range(3):
        out = device.array(np.ones(64, np.uint32))
        launch = module["spy"](1, 64, [out])
        region = 2 * 32 * 12
        assert launch.local_base % 128 == 0 and before in (None, launch.local_base)
        assert (launch.local_base, launch.local_base + 8 * region) in device.system.used()
        before = launch.local_base
        device.wait(launch)
        assert not out.get().any()
        assert launch.local_base == 0 and len(device.system.used()) == len(used) + 1, "the context block stays"


def test_forks_take_the_local_memory_along(device):
    image = compile_ptx(PTX)["one"]
    launch = device.load([KernelImage("spy", STORE, 4, parameters=image.parameters, local_bytes=12)])["spy"](
        1, 64, [device.array(np.ones(64, np.uint32))])
    base, state, machine = launch.local_base, device.host_state(), device.transport.snapshot()
    for _ in range(2):
        device.wait(launch)
        assert launch.local_base == 0
        device.transport.restore(machine)
        device.set_host_state(state)
        assert launch.local_base == base


@pytest.mark.parametrize("facts, message", [
    ({"local_bytes": 1 << 16}, "local_bytes must be an integer from 0 to 65532, not 65536"),
    ({"local_bytes": 6}, "local_bytes must be a multiple of 4, not 6"),
])
def test_a_kernel_with_too_much_local_memory_is_refused(device, facts, message):
    image = dataclasses.replace(compile_ptx(PTX)["one"], **facts)
    used = device.system.used()
    with pytest.raises(ImageError, match=message):
        device.load([image])
    assert device.system.used() == used


def test_local_memory_that_does_not_fit_leaves_nothing_behind(device):
    image = dataclasses.replace(compile_ptx(PTX)["one"], local_bytes=65532)
    module = device.load([image])
    array, used = device.array(np.zeros(4, np.uint32)), device.system.used()
    with pytest.raises(DriverError, match="out of system memory"):
        module["one"](1, 1024, [array])
    assert device.system.used() == used


def test_too_many_constants_are_refused(device):
    image = compile_ptx(PTX)["one"]
    with pytest.raises(ImageError, match="constants must be at most 65536 bytes, not 65540"):
        device.load([dataclasses.replace(image, constants=bytes(65540))])
    with pytest.raises(ImageError, match="symbols.*must be an integer from 0 to"):
        device.load([dataclasses.replace(image, constants=bytes(20))])
