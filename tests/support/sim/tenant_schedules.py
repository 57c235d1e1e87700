"""Random work of several tenants: kernels in streams with priorities, preempts by hand, tenants that end."""

import random

import numpy as np

from caesura import open_device
from caesura.hw.arch.commands import KernelState
from caesura.sim.scenario import differences
from caesura.software.driver import CommandRefused, DriverError
from caesura.software.driver.memory.memory import HEAP_END
from support.programs.small_runs import SMALL_RUNS

__all__ = ["TenantSchedules"]

MEMORY = 1 << 26
TENANT = 1 << 20
SYSTEM = 1 << 23
SECRET_WORDS = 1000


class _Put:
    """A kernel with a job, put into a stream of a tenant."""

    def __init__(self, tenant, stream, work):
        self.job = work.job
        self.arrays = {name: tenant.array(value) for name, value in work.job.arguments.items()
                       if isinstance(value, np.ndarray)}
        arguments = [self.arrays.get(name, value) for name, value in work.job.arguments.items()]
        kernel = tenant.load([work.image])[work.image.name]
        self.task = stream.launch(kernel, work.job.grid, work.job.block, arguments, work.job.shared_bytes)

    def check(self):
        assert self.task.over and self.task.error is None, self.task.error
        assert not any(differences(self.job, self.arrays).values())


class _User:
    """A tenant with streams, and a secret that must stay as it is."""

    def __init__(self, device, rng, number):
        self.tenant = device.tenant(TENANT, system_bytes=SYSTEM, launches=rng.choice((None, 2, 3)),
                                    name=f"user {number}")
        self.streams = [self.tenant.stream(priority=rng.randrange(3)) for _ in range(rng.randint(1, 3))]
        self.secret = self.tenant.array(np.full(SECRET_WORDS, 0x5EC2E7 + number, np.uint32))
        self.number, self.put = number, []

    def check(self):
        assert (self.secret.get() == 0x5EC2E7 + self.number).all()
        for each in self.put:
            each.check()


class TenantSchedules:
    """A device with tenants that come and go.

    Parameters
    ----------
    backend : str
    g : Geometry
    """

    def __init__(self, backend, g):
        self.backend, self.g = backend, g
        self.runs = sorted(SMALL_RUNS)

    def run(self, seed, steps=20):
        """Take so many random steps with two tenants or three, then let everything end, and look at each result."""
        self.rng = rng = random.Random(seed)
        with open_device(self.backend, self.g, memory_bytes=MEMORY) as self.device:
            how = {"scramble": True} if rng.random() < 0.5 else {}
            self.device.preempt_by(rng.choice([None, "occupied", "live", "live+cp", "live+tb"]) if not how else "live",
                                   **how)
            self.scramble, self.made = bool(how), 0
            self.users = [self._arrive() for _ in range(2)]
            for _ in range(steps):
                self._step()
            for user in self.users:
                self._bring_back(user)
            for user in self.users:
                user.tenant.synchronize(5_000_000)
                user.check()
                user.tenant.close()
            self._nothing_is_left()

    def _arrive(self):
        self.made += 1
        return _User(self.device, self.rng, self.made)

    def _step(self):
        rng = self.rng
        user = rng.choice(self.users)
        match rng.randrange(10):
            case 0 if len(self.users) > 1:
                self._leave(user)
            case 1 if len(self.users) < 3:
                self.users.append(self._arrive())
            case 2 | 3:
                self._by_hand(user)
            case 4 | 5:
                self.device.advance(rng.choice((10, 100, 1000)))
            case _:
                work = SMALL_RUNS[rng.choice(self.runs)]()
                user.put.append(_Put(user.tenant, rng.choice(user.streams), work))

    def _leave(self, user):
        """A tenant ends with all that it does; its memory is zeros."""
        ranges = [(region.base, region.end - region.base) for region in (user.tenant.system, user.tenant.heap)]
        user.tenant.close()
        self.users.remove(user)
        for start, size in ranges:
            assert not any(self.device.transport.read_memory(start, size))

    def _by_hand(self, user):
        """Whoever has the device preempts a kernel of a tenant, and brings it back some time later."""
        launches = [each.task.launch for each in user.put if each.task.launch and not each.task.over]
        if not launches:
            return
        launch = self.rng.choice(launches)
        try:
            if launch.state is KernelState.RUNNING and self.device.preempt(launch, scramble=self.scramble):
                if self.rng.random() < 0.5:
                    self.device.release_slot(launch)
                self.device.advance(self.rng.randrange(500))
            if launch.state is KernelState.PREEMPTED:
                self.device.begin_resume(launch)
        except CommandRefused:
            pass
        except DriverError as error:  # all slots may be in use, and a launch may have come back meanwhile
            assert "slot" in str(error) or "scramble" in str(error), error

    def _bring_back(self, user):
        """What was preempted by hand goes on."""
        for task in (each.task for each in user.put if each.task.launch and not each.task.over):
            while not task.over and not task.preempted and task.launch.state is KernelState.PREEMPTED:
                try:
                    self.device.begin_resume(task.launch)
                except CommandRefused:
                    pass
                except DriverError:  # no slot is free
                    self.device.advance(2000)

    def _nothing_is_left(self):
        """All memory is the device's again, and none of it tells of a tenant."""
        assert self.device.tenants == [] and self.device.heap.end == self.heap_end()
        start = self.device.heap.base
        assert not any(self.device.transport.read_memory(start, self.device.heap.end - start))

    def heap_end(self):
        """Where the heap ends without tenants."""
        return min(self.device.transport.memory_bytes, HEAP_END)
