"""Several threads at the same time."""

import threading

__all__ = ["LIMIT", "together"]

LIMIT = 60
"""Seconds in which each has ended."""


def together(*functions):
    """Run functions at the same time; raise what one of them raises."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - told to the test
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
