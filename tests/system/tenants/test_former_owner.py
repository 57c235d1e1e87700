"""Nothing of a former owner can be read: not by the next kernel in its slot, not through the inspect registers."""

from contextlib import nullcontext

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PREDICATES, UNIFORMS, preset
from caesura.hw.arch.image.context import CCB_ENTRY, Mechanism, ccb_bytes, entry_address, from_words
from caesura.hw.arch.isa.opcodes import Special
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.memory import ErrorRange
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.compiler import KernelImage, Parameter
from caesura.software.compiler.flashback.kinds import RoutineForm, RoutineKind
from caesura.software.compiler.flashback.traps import with_routines
from caesura.software.driver import CommandRefused, Device, KernelFault
from support.programs.machine_code import word
from support.selection import quick
from support.sim.launch import Bench

TINY = preset("tiny")
LIMIT = 20_000
BACK_ENDS = pytest.mark.parametrize("transport", [GoldenTransport, RtlTransport], ids=["golden", "rtl"])


EXIT = word("exit")


@BACK_ENDS
def test_parameters_of_the_last_kernel_in_the_slot_are_out_of_reach(transport):
    device = Device(transport(TINY, memory_bytes=1 << 18))
    secret = KernelImage("secret", (EXIT,), 4,
                         parameters=(Parameter("a", "u64", 0, 8), Parameter("b", "u64", 8, 8)))
    spy = KernelImage("spy", (word("ldp", d=0, imm=8), word("ldp", d=1, imm=0), word("st.global.b32", a=1, d=0), EXIT),
                      4, parameters=(Parameter("out", "u32", 0, 4, True),))
    module = device.load([secret, spy], check=False)
    output = device.array(np.full(8, 7, np.uint32))
    first = module["secret"](1, 8, (0x1234, 0x5EC2E7))
    device.wait(first, LIMIT)
    second = module["spy"](1, 8, (output,))
    with pytest.raises(KernelFault):
        device.wait(second, LIMIT)
    assert second.slot == first.slot
    assert second.fault is not None and second.fault.kind is Fault.PARAM_BOUND and output.get()[0] == 7


@BACK_ENDS
def test_inspect_registers_show_no_stack_entry_that_is_not_there(transport):
    bench = Bench(transport(TINY, memory_bytes=1 << 16))
    nested = [word("s2r", d=0, imm=Special.TID_X)]
    for level in range(4):
        nested += [word("setp.lt.u.i", pd=1, a=0, imm=6 - level),
                   word("bra", guard=1, target=len(nested) + 3, reconv=100 + level), EXIT]
    bench.load(0, KernelImage("nested", (*nested, EXIT), 4, 7, 0, TINY.stack_depth), (1,), (8,))
    bench.start(0)
    bench.finish(0, LIMIT)
    shown = set()
    for slot in range(TINY.warps):
        for entry in range(TINY.stack_depth):
            bench.set("inspect", warp=slot, entry=entry)
            shown |= {bench.get(name) for name in ("inspect_pc", "inspect_mask", "inspect_live", "inspect_state")}
    assert shown == {0}, "an empty warp slot shows something"

    bench.load(0, KernelImage("spin", (word("bra", target=0, reconv=0),), 4), (1,), (8,))
    bench.start(0)
    bench.transport.advance(200)
    bench.set("inspect", warp=0, entry=0)
    assert bench.fields("inspect_state")["depth"] == 1 and bench.get("inspect_mask") == 0xFF
    for entry in range(1, TINY.stack_depth):
        bench.set("inspect", warp=0, entry=entry)
        assert bench.get("inspect_pc") == 0 and bench.get("inspect_mask") == 0


REGISTERS, LOCAL = TINY.regs_per_thread, 64
THREADS = TINY.warps * TINY.warp_size
SECRET = 0x5EC0_0001
ALL = (1 << REGISTERS) - 1


def secrets():
    """Code that leaves nothing zero of what a thread has."""
    at = REGISTERS - 1
    code = [word("s2r", d=at, imm=Special.TID_X), word("shl.i", d=at, a=at, imm=2)]
    code += [word("mov.i", d=r, imm=SECRET + r) for r in range(at)]
    code += [word("setp.eq.i", pd=p, a=0, imm=SECRET) for p in range(PREDICATES)]
    code += [word("umov.i", d=u, imm=SECRET + 64 + u) for u in range(UNIFORMS)]
    code += [word("st.shared.b32", a=at, imm=byte, d=1) for byte in range(0, TINY.shared_bytes, 4 * THREADS)]
    code += [word("st.local.b32", no_base=1, imm=byte, d=2) for byte in range(0, LOCAL, 4)]
    return [*code, word("mov.i", d=at, imm=SECRET)]


def secret(ending):
    """A kernel that leaves no part of the SM without a secret, and then goes on for ever, exits or faults."""
    code = secrets()
    loop = len(code)
    code += {"loop": [word("pp", live=ALL), word("pp.div", live=ALL), word("bra", target=loop, reconv=loop + 3), EXIT],
             "exit": [EXIT], "fault": [word("trap"), EXIT]}[ending]
    return KernelImage("secret", tuple(code), REGISTERS, PREDICATES, TINY.shared_bytes, 2, local_bytes=LOCAL)


def spy(name, at, based, before=()):
    """A kernel that stores all that it can read: but for register `at` and uniform register `based`, which it needs.

    Return it with the number of words that each thread stores; `before` is executed first.
    """
    code = [*before, word("s2r", d=at, imm=Special.TID_X), word("shl.i", d=at, a=at, imm=2),
            word("uldp", d=based, imm=0), word("iadd", d=at, a=at, b=based, b_uniform=1)]
    other, words = 1, 0

    def store(register):
        nonlocal words
        code.append(word("st.global.b32", a=at, imm=4 * THREADS * words, d=register))
        words += 1

    for register in range(REGISTERS):
        if register != at:
            store(register)
    for predicate in range(PREDICATES):
        code.extend([word("mov.i", d=other, imm=0), word("mov.i", d=other, imm=1, guard=predicate)])
        store(other)
    for uniform in range(UNIFORMS):
        if uniform != based:
            code.extend([word("mov.i", d=other, imm=0), word("iadd", d=other, a=other, b=uniform, b_uniform=1)])
            store(other)
    for byte in range(0, TINY.shared_bytes, 4):
        code.append(word("ld.shared.b32", d=other, no_base=1, imm=byte))
        store(other)
    for byte in range(0, LOCAL, 4):
        code.append(word("ld.local.b32", d=other, no_base=1, imm=byte))
        store(other)
    return KernelImage(name, (*code, EXIT), REGISTERS, PREDICATES, TINY.shared_bytes, 1, local_bytes=LOCAL,
                       parameters=(Parameter("out", "u32", 0, 4, True),)), words


SPIES = spy("low", 0, 31), spy("high", REGISTERS - 1, 0)


class Scene:
    """A device with the secret kernel resident, or gone, on all of its SM."""

    def __init__(self, transport, ending, routines=None):
        self.device = Device(transport(TINY, memory_bytes=1 << 18))
        image = secret(ending)
        if routines:
            image = with_routines(image, TINY, RoutineKind.CTXBACK, form=routines)
        self.module = self.device.load([image, *(image for image, _ in SPIES)])
        self.launch = self.module["secret"](1, THREADS, ())
        self.device.advance(2000)

    def areas(self, **kinds):
        """Let accesses to the contexts of the secret kernel fail."""
        end = self.launch.ccb_base + ccb_bytes(TINY, self.launch.area_bytes)
        self.device.transport.add_error_range(ErrorRange(self.launch.ccb_base, end, **kinds))

    def flip(self):
        """Flip the last bit of the secret kernel's shared memory where it is saved."""
        entry, = (entry for entry in range(TINY.tb_slots)
                  if self.device.transport.read_memory(entry_address(self.launch.ccb_base, entry), 1)[0])
        fields = from_words(CCB_ENTRY, np.frombuffer(self.device.transport.read_memory(
            entry_address(self.launch.ccb_base, entry), CCB_ENTRY.size // 8), "<u4"))
        at = fields["register_image"] + fields["length"] - 16 * TINY.warps - 1
        self.device.transport.write_memory(at, bytes([self.device.transport.read_memory(at, 1)[0] ^ 0x80]))

    def expect_nothing(self):
        """Let the spies look: each has all of the SM."""
        for image, words in SPIES:
            output = self.device.array(np.full(words * THREADS, SECRET, np.uint32))
            self.device.wait(self.module[image.name](1, THREADS, (output,)), LIMIT)
            assert not output.get().any(), f"{np.count_nonzero(output.get())} words of {image.name}"


@BACK_ENDS
def test_a_spy_sees_all_that_is_there(transport):
    device = Device(transport(TINY, memory_bytes=1 << 18))
    for at, based in ((0, 31), (REGISTERS - 1, 0)):
        image, words = spy("self", at, based, secrets())
        output = device.array(np.zeros(words * THREADS, np.uint32))
        device.wait(device.load([image])["self"](1, THREADS, (output,)), LIMIT)
        assert output.get().all()


@BACK_ENDS
@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]), ids=lambda m: m.label)
def test_nothing_of_a_preempted_kernel_can_be_read(transport, mechanism):
    """Nor when it is back with random bits in the registers that were not saved, and away again."""
    scene = Scene(transport, "loop")
    for scramble in (False, True):
        saved = scene.device.preempt(scene.launch, mechanism, scramble=scramble)
        assert (saved.registers, saved.lines) == (REGISTERS * TINY.warps, TINY.shared_lines)
        scene.expect_nothing()
        scene.device.resume(scene.launch)
        scene.device.advance(50)
    scene.device.preempt(scene.launch, mechanism)
    scene.expect_nothing()


@BACK_ENDS
@pytest.mark.parametrize("ending", ["exit", "fault"])
def test_nothing_of_a_kernel_that_has_ended_can_be_read(transport, ending):
    scene = Scene(transport, ending)
    assert scene.launch.finished and scene.launch.faulted_tbs == (ending == "fault")
    with pytest.raises(KernelFault) if ending == "fault" else nullcontext():
        scene.device.wait(scene.launch, LIMIT)
    scene.expect_nothing()


@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.label)
def test_nothing_can_be_read_after_a_save_that_failed(mechanism):
    """The first save is aborted, the kernel runs on; the second one takes it away."""
    scene = Scene(RtlTransport, "loop")
    scene.areas(reads=False)
    with pytest.raises(CommandRefused, match="memory"):
        scene.device.preempt(scene.launch, mechanism)
    scene.device.transport.clear_error_ranges()
    scene.device.preempt(scene.launch, mechanism)
    scene.expect_nothing()


@BACK_ENDS
@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_TB]), ids=lambda m: m.label)
def test_nothing_can_be_read_after_a_resume_that_failed(transport, mechanism):
    """Of a stream whose last bit of shared memory is wrong all the rest has been restored by then."""
    scene = Scene(transport, "loop")
    scene.device.preempt(scene.launch, mechanism)
    scene.flip()
    for _ in range(2):
        with pytest.raises(CommandRefused, match="saved context"):
            scene.device.resume(scene.launch)
        scene.expect_nothing()
    if transport is RtlTransport:
        scene.flip()
        scene.areas(writes=False)
        with pytest.raises(CommandRefused, match="memory"):
            scene.device.resume(scene.launch)
        scene.device.transport.clear_error_ranges()
        scene.expect_nothing()
        scene.device.resume(scene.launch)
        assert not scene.launch.finished


@BACK_ENDS
@pytest.mark.parametrize("away", [False, True])
def test_nothing_of_a_killed_kernel_can_be_read(transport, away):
    scene = Scene(transport, "loop")
    if away:
        scene.device.preempt(scene.launch, Mechanism.LIVE_CP)
    scene.device.kill(scene.launch)
    scene.expect_nothing()


@BACK_ENDS
@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_TB]), ids=lambda m: m.label)
def test_nothing_can_be_read_of_what_stayed_on_the_sm(transport, mechanism):
    """A spy takes all of the SM, so what stays has to leave; once more when it is back, and killed where it stays."""
    scene = Scene(transport, "loop")
    for _ in range(2):
        scene.device.preempt(scene.launch, mechanism, in_place=True)
        assert scene.device.read(f"kernel[{scene.launch.slot}].registers_stay")
        scene.expect_nothing()
        assert not scene.device.read(f"kernel[{scene.launch.slot}].registers_stay")
        scene.device.resume(scene.launch)
        scene.device.advance(50)
    scene.device.preempt(scene.launch, mechanism, in_place=True)
    scene.device.kill(scene.launch)
    scene.expect_nothing()


@BACK_ENDS
def test_nothing_can_be_read_of_thread_blocks_that_begin_anew(transport):
    scene = Scene(transport, "loop")
    scene.device.preempt(scene.launch, restart=True)
    scene.expect_nothing()
    scene.device.resume(scene.launch)
    scene.device.advance(2000)
    scene.device.preempt(scene.launch)
    scene.expect_nothing()


@BACK_ENDS
@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_TB]), ids=lambda m: m.label)
def test_nothing_can_be_read_of_bases_and_increments(transport, mechanism):
    scene = Scene(transport, "loop")
    scene.device.checkpoint(scene.launch, mechanism)
    scene.device.advance(50)
    for _ in range(2):
        assert scene.device.preempt(scene.launch, mechanism, incremental=True).way.incremental
        scene.expect_nothing()
        scene.device.resume(scene.launch)
        scene.device.advance(50)
    scene.device.checkpoint(scene.launch, mechanism)
    scene.device.kill(scene.launch)
    scene.expect_nothing()


@BACK_ENDS
@pytest.mark.parametrize("form", quick(RoutineForm, [RoutineForm.SOFTWARE]), ids=lambda form: form.value)
def test_nothing_can_be_read_of_a_kernel_in_its_routines(transport, form):
    """Also not where they have stored registers: in local memory, which is cleared at each launch."""
    scene = Scene(transport, "loop", routines=form)
    for _ in range(2):
        assert scene.device.preempt(scene.launch, Mechanism.LIVE, trap=True).way.trap
        scene.expect_nothing()
        scene.device.resume(scene.launch)
        scene.device.advance(50)
    scene.device.kill(scene.launch)
    scene.expect_nothing()
