"""Hardware queues that are stopped at one cycle after another."""

from collections.abc import Iterable, Iterator

__all__ = ["stopped_at"]


def stopped_at(device, queue, cycles: Iterable[int]) -> Iterator[int]:
    """Yield the first packet that has not been begun, its queue stopped so many cycles from now, each time anew."""
    beginning = device.transport.snapshot()
    for at in cycles:
        device.transport.restore(beginning)
        device.advance(at)
        yield queue.stop()
