"""Rules of all machines: possible queues, works that can be preempted, works that begin next."""

from __future__ import annotations

from collections.abc import Sequence

from ..machine import IN_FLIGHT, MachineError, QueueSpec, RunState, Submission

__all__ = ["check_queue", "check_preempt", "waiting_works"]


def check_queue(spec: QueueSpec, others: Sequence[QueueSpec], slots: int, sms: int) -> None:
    """Check that a machine can have one more queue.

    Raises
    ------
    MachineError
        If the machine cannot have it.
    """
    if spec.capacity < 1:
        raise MachineError(f"a queue has a capacity of 1 or more, not {spec.capacity}")
    taken = sum(other.capacity for other in others)
    if taken + spec.capacity > slots:
        raise MachineError(f"queues would have {taken + spec.capacity} works in flight, this machine has {slots} "
                           "kernel slots; give them less capacity")
    if spec.sms is not None and not spec.sms:
        raise MachineError("a queue is of no SM; name one, or leave sms out for all")
    if spec.sms is not None and not spec.sms <= frozenset(range(sms)):
        raise MachineError(f"a queue is of SMs {sorted(spec.sms)}, this machine has {sms}, numbered from 0")


def check_preempt(signal: Submission) -> None:
    """Check that a work can be preempted now.

    Raises
    ------
    MachineError
        If the work neither runs nor is being resumed.
    """
    if signal.state not in (RunState.RUNNING, RunState.RESUMING):
        raise MachineError(f"work {signal.work.name!r} is {signal.state.value}: only one that runs, or is being "
                           "resumed, can be preempted")


def waiting_works(specs: Sequence[QueueSpec], signals: Sequence[Submission]) -> list[Submission]:
    """Return the works that begin next, in order: the heads of queues with free capacity, by priority."""
    begin: list[Submission] = []
    for number in sorted(range(len(specs)), key=lambda n: -specs[n].priority):
        own = [signal for signal in signals if signal.queue == number]
        free = specs[number].capacity - sum(signal.state in IN_FLIGHT for signal in own)
        begin += [signal for signal in own if signal.state is RunState.WAITING][:max(0, free)]
    return begin
