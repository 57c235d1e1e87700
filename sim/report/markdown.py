"""Tables in Markdown files, between two marks, so that a benchmark can replace them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from caesura.cache import write_atomically
from caesura.errors import InputError

__all__ = ["markdown_table", "split_markdown", "replace_markdown"]


def markdown_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> str:
    """Return a titled table; all but the first `left` columns are aligned to the right."""
    rule = "|" + "---|" * left + "---:|" * (len(columns) - left)
    head, *body = (f"| {' | '.join(row)} |" for row in (columns, *rows))
    return "\n".join([f"**{title}**", "", head, rule, *body])


def split_markdown(path: Path, begin: str, end: str) -> tuple[str, str]:
    """Return the text of a file before and after two marks; both are empty if there is no file.

    Raises
    ------
    ValueError
        If the file does not have each mark once, in order.
    """
    if not path.exists():
        return "", "\n"
    head, *rest = path.read_text().split(begin)
    parts = rest[0].split(end) if len(rest) == 1 else []
    if len(parts) != 2:
        raise InputError(f"{path} must have one line `{begin}` and after it one `{end}`; what is between is replaced")
    return head, parts[1]


def replace_markdown(path: Path, begin: str, end: str, text: Callable[[], str]) -> None:
    """Replace the text between two marks; `split_markdown` documents the errors, which come before the text is made."""
    head, tail = split_markdown(path, begin, end)
    write_atomically(path, f"{head}{begin}\n\n{text()}\n{end}{tail}")
