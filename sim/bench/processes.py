"""Runs the tasks of a benchmark, in processes if more than one is allowed. These end with the benchmark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from typing import TypeVar

from caesura.children import end_with_parent
from caesura.progress import quiet

__all__ = ["perform"]

Task = TypeVar("Task")
Result = TypeVar("Result")


def perform(function: Callable[[Task, Callable[[str], None]], Result], tasks: Sequence[Task], jobs: int,
            progress: Callable[[str], None], label: Callable[[Task], str],
            died: Callable[[Task, Exception], Result] | None = None, taken: int = 0) -> Iterator[tuple[int, Result]]:
    """Yield the index of each task with its result, in the order of their ends.

    Parameters
    ----------
    function : callable
        Function of a task and the progress. It belongs to a module, so that other processes find it by its name.
    tasks : sequence
    jobs : int
        Number of processes. With 1, the tasks run in this process, in their order.
    progress : callable
        Called with the messages of a task in this process, or the end of a task in another process. Each message has
        the task's number.
    label : callable
        Name of a task, for progress.
    died : callable, optional
        Returns the result of a task whose process raised an error or was killed. Without this function the error is
        raised, and the remaining tasks do not begin.
    taken : int
        Number of tasks of an earlier run, which count in the progress.
    """
    total = taken + len(tasks)
    if jobs == 1:
        for number, task in enumerate(tasks, taken + 1):
            progress(f"{number} of {total}: {label(task)}")
            yield number - taken - 1, function(task, lambda text, n=number: progress(f"{n} of {total}: {text}"))
        return
    if tasks:
        progress(f"{taken} of {total} measured")
    others = {child.pid for child in active_children()}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=end_with_parent,
                             initargs=(os.getpid(),)) as pool:
        futures = {pool.submit(function, task, quiet): index for index, task in enumerate(tasks)}
        try:
            for number, future in enumerate(as_completed(futures), taken + 1):
                index = futures[future]
                error = future.exception()
                if isinstance(error, Exception) and died is not None:
                    yield index, died(tasks[index], error)
                else:
                    yield index, future.result()
                progress(f"{number} of {total}: {label(tasks[index])}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in active_children():  # the pool would wait for them
                if child.pid not in others:
                    child.kill()
            raise
