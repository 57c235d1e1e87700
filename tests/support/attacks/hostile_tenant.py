"""A tenant among others whose kernels reach for what is theirs."""

import numpy as np

from caesura.hw.arch.faults import Fault
from caesura.software.compiler import compile_ptx
from caesura.software.driver import KernelFault, Tenant

from ..programs.shared_counters import HEAD
from ..sim.tenant_schedules import TENANT, TenantSchedules

__all__ = ["REACH", "HostileTenantSchedules"]

SYSTEM = 1 << 22
REACH = compile_ptx(HEAD + """
.visible .entry reach(.param .u64 where, .param .u64 output, .param .u32 kind)
{
    .reg .pred %p<4>;
    .reg .b32 %r<4>;
    .reg .b64 %a<3>;
    ld.param.u64 %a0, [where];
    ld.param.u64 %a1, [output];
    ld.param.u32 %r0, [kind];
    mov.u32 %r1, 7;
    setp.eq.u32 %p0, %r0, 0;
    setp.eq.u32 %p1, %r0, 1;
    setp.eq.u32 %p2, %r0, 2;
    setp.eq.u32 %p3, %r0, 3;
    @%p0 ld.global.u32 %r1, [%a0];
    @%p1 st.global.u32 [%a0], %r1;
    @%p2 atom.global.add.u32 %r1, [%a0], 5;
    @%p3 ld.u32 %r1, [%a0];
    st.global.u32 [%a1], %r1;
    ret;
}
""").values()
"""Loads, stores, adds, loads by a generic address."""


class HostileTenantSchedules(TenantSchedules):
    """Random work of several tenants, beside one that is hostile.

    Attributes
    ----------
    attacks : int
        Kernels that have reached for memory of others, and have ended in a fault.
    recorded : int
        Those of which the fault's kind and address were read.
    """

    def __init__(self, backend, g):
        super().__init__(backend, g)
        self.attacks = self.recorded = 0
        self.attacker: Tenant | None = None

    def run(self, seed, steps=20):
        self.attacker, self.under_way = None, []
        super().run(seed, steps)

    def _step(self):
        if self.attacker is None:
            self.attacker = self.device.tenant(TENANT, system_bytes=SYSTEM, name="attacker")
        if self.rng.random() < 0.4:
            self._attack()
        super()._step()

    def _attack(self):
        rng, attacker = self.rng, self.attacker
        assert attacker
        victim = rng.choice(self.users)
        region = rng.choice((victim.tenant.heap, victim.tenant.system))
        places = [victim.secret.address, region.base, region.end - 4, rng.randrange(region.base, region.end, 4)]
        place, output = rng.choice(places), attacker.zeros(1, np.uint32)
        stream = attacker.stream(priority=rng.randrange(3))
        kernel = attacker.load(REACH)["reach"]
        self.under_way.append((place, output, stream.launch(kernel, 2, 16, [place, output, rng.randrange(4)])))

    def _nothing_is_left(self):
        for place, output, task in self.under_way:
            passed = 0
            while not task.over:
                assert passed < 5_000_000, "an attack does not end"
                passed += self.device.advance(1000)
            assert isinstance(task.error, KernelFault), task.error
            record = task.error.record  # None if another kernel's fault stood in the registers then
            assert record is None or (record.kind, record.address) == (Fault.GLOBAL_WINDOW, place)
            self.recorded += record is not None
            assert not output.get().any()
            self.attacks += 1
        if self.attacker:
            self.attacker.close()
        super()._nothing_is_left()
