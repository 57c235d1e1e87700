"""The check for an eviction: where it stands, what it costs, and that nothing else changes."""

import numpy as np
import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.words import decode
from caesura.sim import open_device
from caesura.sim.scenario import differences, shipped_work, start_job
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileOptions, assemble, compile_ptx, disassemble, spoilers
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.compiler.flashback.kinds import ROUTINES
from caesura.software.compiler.flashback.traps import with_routines
from caesura.software.compiler.image.lift import lift
from caesura.software.compiler.ir.spec import is_memory, writes_memory
from caesura.software.compiler.ir.variables import EVICTION, eviction_words
from caesura.software.driver import Device
from caesura.software.driver.launch.tickets import Flag, Ticket, Ticketed
from caesura.software.kernels import KERNELS, kernel
from support.programs.shared_counters import HEAD
from support.selection import quick

GTX480 = preset("gtx480")
CHECKED = CompileOptions(eviction_check=True)
PATHS = {"apart": 6, "together": 11}
"""Instructions of the check."""
SOME = ["vecadd", "hotspot", "reduction", "bfs", "gaussian", "sgemm"]


def effects_before_leaving(image):
    """Return the operations in front of the exit that ends the check: all that a block does which leaves."""
    entry = lift(image).kernel.blocks
    found = []
    for block in entry:
        for op in block.ops:
            found.append(op)
            if op.name == "exit":
                return found
    raise AssertionError("no guarded exit")


@pytest.mark.parametrize("name", quick(KERNELS, [*KERNELS][::4]))
def test_every_shipped_kernel_leaves_before_it_has_done_anything(name):
    plain, checked = kernel(name).image(), kernel(name).image(CHECKED)
    words = eviction_words(checked.bindings)
    ops = effects_before_leaving(checked)
    touched = [op for op in ops if is_memory(op)]
    loads = [op for op in touched if not writes_memory(op)]
    assert touched[0].name == "ld.global.b32" and ops[0].imm == words.offset, "the flag, before all else"
    stores = [op for op in ops if writes_memory(op)]
    assert all(op.guard is not None for op in stores), "nothing is stored by a block that goes on"
    together = len(loads) > 1
    assert [op.name for op in stores] == together * ["st.shared.b32"] + ["st.global.b32"]
    if together:
        meeting = [op.name for op in ops if op.name.startswith("bar.") or ".shared." in op.name]
        assert meeting == ["st.shared.b32", "bar.pp.0", "ld.shared.b32", "bar.pp.0"]
    assert together == (plain.shared_bytes > 0 or any(decode(word).op.name.startswith("bar.") for word in plain.code)
                        or any(".shared." in decode(word).op.name for word in plain.code))
    assert len(ops) == PATHS["together" if together else "apart"]
    assert len(checked.code) - len(plain.code) == len(ops)
    assert (checked.registers, checked.stack_depth) == (plain.registers, plain.stack_depth)
    assert checked.shared_bytes == (max(4, plain.shared_bytes) if together else plain.shared_bytes)
    assert words.offset >= plain.parameter_bytes and checked.parameter_bytes == words.offset + 8


@pytest.mark.parametrize("name", quick(KERNELS, [*KERNELS][::4]))
def test_whether_a_kernel_can_begin_anew_does_not_change(name):
    plain, checked = spoilers(kernel(name).image()), spoilers(kernel(name).image(CHECKED))
    assert [plain.always is None, plain.apart is None] == [checked.always is None, checked.apart is None]


def test_it_is_off_unless_it_is_asked_for():
    image = kernel("hotspot").image()
    assert eviction_words(image.bindings) is None and image == kernel("hotspot").image(CompileOptions())


@pytest.mark.parametrize("name", SOME)
def test_image_files_and_assembly_keep_it(name):
    image = kernel(name).image(CHECKED)
    assert read_elf(write_elf([image]), "k.elf")[name] == image
    (back,) = assemble(disassemble(image), "k.s")
    assert (back.bindings, back.code, back.shared_bytes) == (image.bindings, image.code, image.shared_bytes)
    assert image.bindings[-1].kind == EVICTION


LOOP_FIRST = HEAD + """
.visible .entry spin(.param .u64 output, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %a<2>;
TOP:
    ld.param.u32 %r0, [rounds];
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p0, %r1, %r0;
    @%p0 bra TOP;
    ld.param.u64 %a0, [output];
    st.global.u32 [%a0], %r1;
    ret;
}
"""


def test_a_loop_at_the_entry_does_not_check_again():
    image = compile_ptx(LOOP_FIRST, options=CHECKED)["spin"]
    assert [op.name for op in lift(image).kernel.ops()].count("exit") == 1
    leaders = {word.get("target") for word in map(decode, image.code) if word.op.name == "bra"}
    assert min(leaders) >= PATHS["apart"], "the loop begins behind the check"


def run(device, image, job, flag=None):
    """Run a job; return its wrong elements, and whether a block has left."""
    loaded = device.load([image])[image.name]
    arrays = {name: device.array(value) for name, value in job.arguments.items() if isinstance(value, np.ndarray)}
    arguments = [arrays.get(name, value) for name, value in job.arguments.items()]
    ticket = Ticket(flag or Flag(device))
    before = {name: array.get() for name, array in arrays.items()}
    device.wait(loaded(job.grid, job.block, Ticketed(arguments, ticket), job.shared_bytes))
    same = all(array.get().tobytes() == before[name].tobytes() for name, array in arrays.items())
    return differences(job, arrays), ticket.left, same


@pytest.mark.parametrize("name", quick([(name,) for name in KERNELS], [(name,) for name in SOME]))
def test_kernels_run_as_before_and_do_nothing_with_the_flag_set(name):
    with open_device("golden", GTX480) as device:
        work = shipped_work(name, GTX480, "tiny", eviction_check=True)
        wrong, left, _ = run(device, work.image, work.job)
        assert not any(wrong.values()) and not left
        flag = Flag(device)
        flag.write(True)
        _, left, same = run(device, work.image, work.job, flag)
        assert left and same


@pytest.mark.parametrize("options", quick(
    [{"uniform": False}, {"preemption_points": False}, {"calls": "never"}, {"check_addresses": True}, {"interval": 4}],
    [{"check_addresses": True}, {"interval": 4}]))
def test_with_other_options(options):
    with open_device("golden", GTX480) as device:
        for name in ("hotspot", "nbody"):
            work = shipped_work(name, GTX480, "tiny")
            image = kernel(name).image(CompileOptions(eviction_check=True, **options))
            wrong, left, _ = run(device, image, work.job)
            assert not any(wrong.values()) and not left


@pytest.mark.parametrize("seed", quick(range(12), range(8, 12)))
def test_random_kernels(seed):
    """Ragged warps, barriers, spills: the check takes no register, and results are what they were."""
    found = RandomKernel(seed, grid=(3,), block=(40,), statements=8)
    plain, checked = (compile_ptx(found.ptx, options=CompileOptions(
        eviction_check=check, max_registers=12 if seed % 3 == 0 else 64))[found.name] for check in (False, True))
    assert (checked.registers, checked.stack_depth) == (plain.registers, plain.stack_depth)
    with open_device("golden", GTX480.replace(stack_depth=64), memory_bytes=1 << 20) as device:
        loaded = device.load([checked])[found.name]
        inputs = device.array(np.frombuffer(found.inputs(), np.uint8))
        for evicted in (False, True):
            output = device.array(np.zeros(found.output_bytes, np.uint8))
            ticket = Ticket(Flag(device))
            ticket.flag.write(evicted)
            device.wait(loaded(found.grid, found.block, Ticketed([output, inputs, found.n], ticket)))
            assert output.get().tobytes() == (bytes(found.output_bytes) if evicted else found.expected())
            assert ticket.left == evicted


@pytest.mark.parametrize("kind", quick(["live", "ctxback"], ["ctxback"]))
def test_with_preemption_routines(kind):
    label = next(name for name in ROUTINES if kind in name)
    work = shipped_work("hotspot", GTX480, "tiny", eviction_check=True)
    image = with_routines(work.image, GTX480, ROUTINES[label].kind, form=ROUTINES[label].form)
    assert eviction_words(image.bindings)
    with open_device("golden", GTX480) as device:
        launch, arrays = start_job(device, device.load([image])["hotspot"], work.job)
        for at in (5, 60, 700):
            device.advance(at)
            if device.preempt(launch, Mechanism.LIVE, trap=True, scramble=True) is not None:
                device.resume(launch)
        device.wait(launch)
        assert not any(differences(work.job, arrays).values())


def test_bounds_are_checked_of_flag_and_record_too():
    with open_device("golden", GTX480, check_bounds=True) as device:
        assert isinstance(device, Device)
        work = shipped_work("vecadd", GTX480, "tiny", check_bounds=True, eviction_check=True)
        wrong, left, _ = run(device, work.image, work.job)
        assert not any(wrong.values()) and not left
        flag = Flag(device)
        flag.write(True)
        assert run(device, work.image, work.job, flag)[1:] == (True, True)
