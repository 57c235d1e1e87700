"""States of the kernels of several SMs, and small functions that the models of their fan-out share."""

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.registers import device_register_map, register_map
from caesura.hw.device.device_events import ENDED

MAP, DEVICE = register_map(), device_register_map()
IDLE, PREEMPTING, PREEMPTED, FINISHED = (
    KernelState.IDLE, KernelState.PREEMPTING, KernelState.PREEMPTED, KernelState.FINISHED)


def bits(flags):
    return sum(int(bool(flag)) << k for k, flag in enumerate(flags))


def pick(values, number):
    """Return the value of that number, or the last one beyond them."""
    return values[min(number, len(values) - 1)]


def states_of(rng, g):
    """Return the states of all kernels by SM; those of a kernel are often alike."""
    common = [rng.choice(list(KernelState)) for _ in range(g.kernel_slots)]
    return [[state if rng.random() < 0.6 else rng.choice(list(KernelState)) for state in common]
            for _ in range(g.sms)]


def moved(rng, states):
    """Change the states of some SMs, often so that something ends, and those of one kernel often together.

    Kills are rare: a kill ends everything else without an event.
    """
    for each in states:
        for k in range(len(each)):
            if rng.random() < 0.15 or each[k] == KernelState.KILLING:
                each[k] = rng.choice([*KernelState, *ENDED, PREEMPTED, FINISHED, FINISHED])
                if each[k] == KernelState.KILLING and rng.random() < 0.8:
                    each[k] = PREEMPTING
    for k in range(len(states[0])):
        if rng.random() < 0.15:
            state = rng.choice([PREEMPTED, KernelState.RUNNING, FINISHED, PREEMPTING, KernelState.RESUMING])
            for each in states:
                each[k] = state
