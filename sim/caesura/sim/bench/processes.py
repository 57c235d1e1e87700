"""The tasks of a benchmark, in processes of their own if more than one is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

from caesura.progress import quiet

__all__ = ["perform"]

Task = TypeVar("Task")
Result = TypeVar("Result")


def perform(function: Callable[[Task, Callable[[str], None]], Result], tasks: Sequence[Task], jobs: int,
            progress: Callable[[str], None], label: Callable[[Task], str],
            died: Callable[[Task, Exception], Result] | None = None) -> Iterator[tuple[int, Result]]:
    """Yield the index of each task with what the function gives for it, as they come.

    Parameters
    ----------
    function : callable
        Of a task and the progress; one of a module, which other processes find by its name.
    tasks : sequence
    jobs : int
        Processes. With one, the tasks run here, in their order.
    progress : callable
        Hears what a task here says, and which task has ended in another process; each with its number.
    label : callable
        Name of a task, for progress.
    died : callable, optional
        What to yield for a task of another process that raised an error or was killed; without it the error is raised,
        and what has not begun is left.
    """
    total = len(tasks)
    if jobs == 1:
        for number, task in enumerate(tasks, 1):
            yield number - 1, function(task, lambda text, n=number: progress(f"{n} of {total}: {text}"))
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(function, task, quiet): index for index, task in enumerate(tasks)}
        try:
            for number, future in enumerate(as_completed(futures), 1):
                index = futures[future]
                error = future.exception()
                if isinstance(error, Exception) and died is not None:
                    yield index, died(tasks[index], error)
                else:
                    yield index, future.result()
                progress(f"{number} of {total}: {label(tasks[index])}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
