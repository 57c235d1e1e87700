"""Tenants: each has memory of its own that no kernel of another reaches, and is gone without a trace when it ends."""

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.software.compiler import compile_ptx
from caesura.software.driver import Closed, DriverError, KernelFault, LaunchError, NoSlot, OutOfMemory
from support.attacks.hostile_tenant import REACH
from support.programs.shared_counters import HEAD
from support.programs.stirring import Stirring
from support.programs.stream_work import StirTask
from support.selection import quick
from support.sim.queues import DEVICE
from support.sim.tenant_schedules import TenantSchedules
from support.threads import together

MEMORY = 1 << 22
PART = 1 << 18
TWO = DEVICE
SPIN = compile_ptx(HEAD + ".visible .entry spin()\n{\nL:\n    bra L;\n}\n").values()


@pytest.fixture(params=["golden-one", "golden-two", "rtl-one", pytest.param("rtl-two", marks=pytest.mark.full)])
def device(request):
    backend, sms = request.param.split("-")
    with open_device(backend, TWO if sms == "two" else "tiny", memory_bytes=MEMORY) as device:
        yield device


@pytest.fixture
def golden():
    with open_device("golden", "tiny", memory_bytes=MEMORY) as device:
        yield device


def ranges(owner):
    return [(region.base, region.end) for region in (owner.system, owner.heap)]


@pytest.mark.parametrize("kind", range(4), ids=["load", "store", "atomic", "generic load"])
def test_no_kernel_reaches_what_is_anothers(device, kind):
    """Every place of another tenant, of the device, and around its own memory: a fault, and nothing has changed."""
    tenants = [device.tenant(PART, name=name) for name in ("alice", "bob", "carol")]
    alice, bob, carol = tenants
    for owner in (device, alice, carol):
        owner.array(np.full(64, 0x5EC2E7, np.uint32))
    kernel, output = bob.load(REACH)["reach"], bob.zeros(64, np.uint32)
    images = [owner.load(REACH)["reach"] for owner in (device, alice, carol)]
    places = [place for owner in (device, alice, carol) for start, end in ranges(owner)
              for place in (start, start + 128, end - 4)]
    places += [image.address for image in images] + [bob.system.base, bob.system.end - 4, kernel.address,
                                                     bob.heap.base - 4, bob.heap.end, 0, 4096]
    before = device.transport.read_memory(0, MEMORY)
    for place in places:
        with pytest.raises(KernelFault) as fault:
            bob.wait(kernel(1, 1, [place, output, kind]))
        assert fault.value.record.kind is Fault.GLOBAL_WINDOW and fault.value.record.address == place
    after = bytearray(device.transport.read_memory(0, MEMORY))
    start, end = bob.system.base, bob.system.end
    after[start:end] = before[start:end]
    assert bytes(after) == before
    bob.wait(kernel(1, 1, [bob.heap.base, output, kind]))
    bob.wait(kernel(1, 1, [bob.heap.end - 4, output, kind]))


def test_memory_is_zeros_when_it_changes_its_owner(golden):
    """What the device had there, then a tenant, then the next one."""
    top = golden.heap.end
    old = golden.array(np.full(PART // 2, 0xAB, np.uint8))
    ground = golden.transport.read_memory(old.address, PART // 2)
    assert ground.strip(b"\xab") == b""
    old.free()
    golden.transport.write_memory(top - PART, b"\xcd" * PART)
    golden.transport.write_memory(golden.system.base, b"\xef" * 4096)
    with golden.tenant(PART, system_bytes=PART) as first:
        assert first.heap.end == top and golden.heap.end == top - PART
        for start, end in ranges(first):
            assert not any(golden.transport.read_memory(start, end - start))
        Stirring(first, 3)
        golden.advance(500)
        places = ranges(first)
    for start, end in places:
        assert not any(golden.transport.read_memory(start, end - start))
    assert golden.heap.end == top and golden.tenants == []
    with golden.tenant(PART, system_bytes=PART) as second:
        assert ranges(second) == places


def test_tenants_come_and_go_in_any_order(golden):
    top, whole = golden.heap.end, golden.system.free_bytes
    one, two, three = (golden.tenant(PART << n, name=f"t{n}") for n in range(3))
    spans = sorted(ranges(owner)[1] for owner in (golden, one, two, three))
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:], strict=False)) and spans[-1][1] == top
    two.close()
    again = golden.tenant(PART)  # in the gap
    assert golden.heap.end == three.heap.base and again.heap.base >= two.heap.base
    three.close()
    again.close()
    one.close()
    one.close()  # nothing happens
    assert (golden.heap.end, golden.system.free_bytes) == (top, whole)


MOMENTS = ["running", "preempting", "preempted", "away", "resuming", "in place", "in streams", "killed", "finished"]


@pytest.mark.parametrize("moment", quick(MOMENTS, [*MOMENTS][::3]))
def test_a_tenant_ends_at_any_moment(device, moment):
    """Whatever its kernels do; the other's go on, and end right."""
    whole = device.system.free_bytes, device.heap.end
    alice, bob = device.tenant(PART, system_bytes=2 * PART), device.tenant(PART, system_bytes=2 * PART)
    innocent = Stirring(bob, 6)
    work = Stirring(alice, 100_000 if moment != "finished" else 1)
    device.advance(400)
    match moment:
        case "preempting":
            device.begin_preempt(work.launch, "occupied")
        case "preempted" | "away" | "resuming":
            device.preempt(work.launch)
            if moment == "away":
                device.release_slot(work.launch)
            elif moment == "resuming":
                device.begin_resume(work.launch)
        case "in place":
            device.preempt(work.launch, in_place=True)
        case "in streams":
            for n in range(3):
                StirTask(alice, alice.stream(priority=n), 3, n)
            device.advance(300)
        case "killed":
            alice.kill(work.launch)
        case "finished":
            alice.wait(work.launch)
    alice.close()
    assert alice.closed and device.tenants == [bob]
    assert all(launch.device is bob for launch in device.launches.values())
    later = device.tenant(PART, system_bytes=2 * PART)
    Stirring(later, 1, 9).finishes()
    innocent.finishes()
    for tenant in (later, bob):
        tenant.close()
    assert (device.system.free_bytes, device.heap.end) == whole


def test_the_slot_of_one_that_has_ended_is_taken_while_its_tenant_is_closed(golden, monkeypatch):
    """By another thread, between the look at what there is to kill and the kill."""
    alice, bob = (golden.tenant(PART, system_bytes=2 * PART) for _ in range(2))
    over = [Stirring(alice, 1) for _ in range(2)]
    for each in over:
        each.finishes()
    slots, kill = golden._core.launcher.slots, golden._core.preemption.kill
    assert slots.of(alice) == [each.launch for each in over]
    others = []

    def late(launch, *limit):
        while slots.of(alice):
            others.append(Stirring(bob, 1))
        kill(launch, *limit)

    monkeypatch.setattr(golden._core.preemption, "kill", late)
    alice.close()
    assert alice.closed and len(others) == 2
    for other in others:
        other.finishes()


WRITE = compile_ptx(HEAD + """
.visible .entry write(.param .u64 output)
{
    .reg .b32 %r<2>;
    .reg .b64 %a<2>;
    ld.param.u64 %a0, [output];
    mov.u32 %r0, 0xdead;
L:
    st.global.u32 [%a0], %r0;
    bra L;
}
""").values()


def test_a_tenant_that_is_being_closed_begins_nothing_more(golden, monkeypatch):
    """What another thread asks for between the kills and the end."""
    alice = golden.tenant(PART, system_bytes=2 * PART, name="alice")
    kernel, output = alice.load(WRITE)["write"], alice.zeros(4, np.uint32)
    kernel(1, 1, [output])
    kill, refused = golden._core.preemption.kill, []
    uses = [lambda: kernel(1, 1, [output]), alice.stream, lambda: alice.zeros(4), lambda: alice.load(WRITE)]

    def late(launch, *limit):
        kill(launch, *limit)
        for use in uses:
            with pytest.raises(Closed, match="alice is being closed, and begins nothing more"):
                use()
            refused.append(use)

    monkeypatch.setattr(golden._core.preemption, "kill", late)
    alice.close()
    assert refused == uses and alice.closed
    bob = golden.tenant(PART, system_bytes=2 * PART, name="bob")
    mine = bob.zeros(4, np.uint32)
    golden.advance(1000)
    assert not mine.get().any() and not golden.launches


def test_a_tenant_is_closed_by_several_threads(golden):
    whole = golden.system.free_bytes, golden.heap.end
    for _ in range(6):
        alice = golden.tenant(PART, system_bytes=2 * PART)
        work = [Stirring(alice, 100_000, seed) for seed in range(3)]
        golden.advance(300)
        golden.preempt(work[0].launch)
        golden.release_slot(work[0].launch)
        together(*[alice.close] * 3)
        assert alice.closed and not golden.launches
        assert (golden.system.free_bytes, golden.heap.end) == whole


def test_a_close_that_was_cut_short_goes_on(golden, monkeypatch):
    whole = golden.system.free_bytes, golden.heap.end
    alice = golden.tenant(PART, system_bytes=2 * PART, name="alice")
    work = [Stirring(alice, 100_000, seed) for seed in range(2)]
    kill = golden._core.preemption.kill
    with monkeypatch.context() as patch:
        def cut(launch, *limit):
            kill(launch, *limit)
            raise KeyboardInterrupt

        patch.setattr(golden._core.preemption, "kill", cut)
        with pytest.raises(KeyboardInterrupt):
            alice.close()
    assert not alice.closed
    with pytest.raises(Closed, match="if its close was cut short, close it again"):
        Stirring(alice, 1)
    alice.close()
    assert alice.closed and all(each.launch.ended for each in work)
    assert (golden.system.free_bytes, golden.heap.end) == whole


def test_a_kill_writes_nothing_where_another_launch_is_by_now(golden, monkeypatch):
    """Another thread sees that the launch has ended, and its memory is used again, before the one that killed it goes
    on."""
    work, over, forget = Stirring(golden, 100_000), [], golden._core.launcher.slots.forget

    def late(launch):
        if launch is work.launch and not over:
            over.append(launch)
            golden._core.launcher.slots.drop(launch)
            over.append(golden.system.allocate(1 << 16))
            golden.transport.write_memory(over[1], b"\xab" * (1 << 16))
        forget(launch)

    golden.advance(300)
    monkeypatch.setattr(golden._core.launcher.slots, "forget", late)
    golden.kill(work.launch)
    assert over[1] == work.launch.handle
    assert golden.transport.read_memory(over[1], 1 << 16) == b"\xab" * (1 << 16)
    golden.system.free(over[1])


def test_what_is_a_closed_tenants_cannot_be_used(golden):
    tenant = golden.tenant(PART, name="alice")
    work, array, stream = Stirring(tenant, 3), tenant.zeros(4), tenant.stream()
    module = tenant.load(REACH)
    tenant.close()
    assert repr(tenant) == "Tenant(alice, closed)"
    uses = [lambda: tenant.zeros(4), array.get, lambda: array.set(np.zeros(4)), lambda: tenant.load(REACH),
            lambda: module["reach"](1, 1, [0, 0, 0]), lambda: tenant.wait(work.launch), tenant.stream, stream.record,
            tenant.synchronize, lambda: work.launch.kernel(1, 1, [])]
    for use in uses:
        with pytest.raises(Closed, match="alice has been closed"):
            use()
    with pytest.raises(DriverError):
        golden.resume(work.launch)
    assert work.launch.ended


def test_limits(golden):
    tenant, stream = golden.tenant(PART, system_bytes=PART, launches=2, name="alice"), None
    with pytest.raises(OutOfMemory, match="out of memory of alice"):
        tenant.zeros(PART + 1, np.uint8)
    with pytest.raises(OutOfMemory, match="device memory cannot end at"):
        golden.tenant(2 * MEMORY, system_bytes=PART)
    with pytest.raises(OutOfMemory, match="out of system memory"):
        golden.tenant(PART, system_bytes=MEMORY)
    work = [Stirring(tenant, 500, seed) for seed in range(2)]
    with pytest.raises(NoSlot, match="alice may have 2 launches at a time"):
        Stirring(tenant, 1)
    golden.advance(300)
    golden.preempt(work[0].launch)
    golden.release_slot(work[0].launch)
    with pytest.raises(NoSlot, match="alice may have 2 launches"):  # a preempted launch counts
        Stirring(tenant, 1)
    stream = tenant.stream()
    waits = StirTask(tenant, stream, 1, 3)
    assert waits.task.state.value == "waiting"
    tenant.kill(work[0].launch)
    waits.finish()
    tenant.kill(work[1].launch)
    tenant.close()


def test_who_uses_what_is_checked(golden):
    alice, bob = golden.tenant(PART, name="alice"), golden.tenant(PART, name="bob")
    work, array = Stirring(alice, 3), bob.zeros(64, np.uint32)
    with pytest.raises(LaunchError, match="on another device"):
        alice.load(REACH)["reach"](1, 1, [0, array, 0])
    for call in (bob.wait, bob.kill):
        with pytest.raises(DriverError, match="is of alice, not of bob"):
            call(work.launch)
    with pytest.raises(DriverError, match="kernel 'stir' is of alice, the stream of bob"):
        bob.stream().launch(work.launch.kernel, 1, 1, [])
    with pytest.raises(DriverError, match="the array is of bob, the stream of alice"):
        alice.stream().copy_from(array)
    assert golden.preempt(work.launch)  # who has the device preempts whom it likes
    golden.resume(work.launch)
    work.finishes()


def test_the_device_itself_has_no_kernel_that_reaches_a_new_tenant(golden):
    work = Stirring(golden, 50)
    with pytest.raises(DriverError, match="kernel 'stir' of the device itself was given the memory"):
        golden.tenant(PART)
    golden.kill(work.launch)
    tenant = golden.tenant(PART)
    work = Stirring(golden, 2)  # its window ends before
    with pytest.raises(DriverError, match="kernel 'stir' of the device itself"):
        golden.tenant(PART)
    tenant.close()
    again = golden.tenant(PART)  # the same place, which the running launch does not reach
    work.finishes()
    again.close()


@pytest.mark.parametrize("busy", [False, True])
def test_a_tenant_with_a_hardware_queue(busy):
    with open_device("rtl", TWO, memory_bytes=MEMORY) as device:
        whole = device.system.free_bytes, device.heap.end
        for turn in range(2):
            tenant = device.tenant(PART, system_bytes=4 * PART)
            kernel, output = tenant.load(REACH)["reach"], tenant.zeros(64, np.uint32)
            queue = tenant.queue([kernel], block_threads=32)
            packet = queue.launch(kernel, 1, 1, [output, output, 1])
            packet.wait()
            assert output.get()[0] == 7
            outside = queue.launch(kernel, 1, 1, [device.heap.base, output, 1])
            outside.wait()
            assert device.transport.read_memory(device.heap.base, 4) == bytes(4)
            if busy:
                spin = tenant.load(SPIN)["spin"]
                for _ in range(3):
                    queue.launch(spin, 1, 1, [])
                device.advance(2000)
            tenant.close()
            assert (device.system.free_bytes, device.heap.end) == whole, turn


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", quick(range(200), range(1)))
def test_random_tenants(seed):
    TenantSchedules("golden", preset("gtx480") if seed % 2 else preset("gtx480").replace(sms=2)).run(seed)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(20))
def test_random_tenants_on_the_rtl(seed):
    TenantSchedules("rtl", preset("gtx480")).run(1000 + seed, steps=12)
