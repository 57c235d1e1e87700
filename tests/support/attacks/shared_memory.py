"""Two machines over one memory, each a few cycles in turn."""

import numpy as np

__all__ = ["SharedMemory"]


class SharedMemory:
    """Copies the writes of one machine to the other, some cycles later.

    Parameters
    ----------
    machines : sequence of transports
        Machines with memory of the same size; both get the contents of the first.
    """

    def __init__(self, machines):
        self.machines, self.size = machines, machines[0].memory_bytes
        self._known = self._read(machines[0])
        for machine in machines[1:]:
            machine.write_memory(0, self._known.tobytes())

    def _read(self, machine):
        return np.frombuffer(machine.read_memory(0, self.size), np.uint8).copy()

    def advance(self, cycles):
        """Let both machines run for so many cycles, one after the other."""
        for machine in self.machines:
            machine.advance(cycles)
            self.publish(machine)

    def publish(self, machine):
        """Give what a machine has written to the others."""
        now = self._read(machine)
        changed = np.flatnonzero(now != self._known)
        if not len(changed):
            return
        starts = np.flatnonzero(np.diff(changed, prepend=-2) != 1)
        for run in np.split(changed, starts[1:]):
            start, end = int(run[0]), int(run[-1]) + 1
            for other in self.machines:
                if other is not machine:
                    other.write_memory(start, now[start:end].tobytes())
        self._known = now
