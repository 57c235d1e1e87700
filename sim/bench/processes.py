"""The tasks of a benchmark, in processes of their own if more than one is allowed; these end with the benchmark."""

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
    """Yield the index of each task with what the function gives for it, as they come.

    Parameters
    ----------
    function : callable
        Of a task and the progress; one of a module, which other processes find by its name.
    tasks : sequence
    jobs : int
        Processes. With one, the tasks run here, in their order.
    progress : callable
        Hears which task begins here and what it says, or which has ended in another process; each with its number.
    label : callable
        Name of a task, for progress.
    died : callable, optional
        What to yield for a task of another process that raised an error or was killed; without it the error is raised,
        and what has not begun is left.
    taken : int
        Tasks of an earlier run, which count for progress.
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
            for child in active_children():  # or they would be waited for
                if child.pid not in others:
                    child.kill()
            raise
