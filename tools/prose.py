"""The prose of sources and pages: phrases that readers stumble over, counted by room.

``tools/prose.py`` fails where a room has more of them than `prose.json` records (``make style``). ``--list ROOM`` says
where they stand, ``--record`` writes the present counts. A room may lose such phrases, and gains none.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PARTS = "hw", "software", "sim", "src", "tests", "tools"
MOST_WORDS = 30

_PREPOSITION = re.compile(r"(Of|By|In|With|From|For|To|At|As|On)\b(?!-)")
_CLAUSE = re.compile(r"\b(that|which|who|whose|where|when|while|if|what|until|once)\b[^,;.]*")
_VERB = re.compile(r"""\b(is|are|was|were|be|been|has|have|had|does|do|did|can|may|must|will|would|should|cannot|\w+n't|
    gives?|gets?|takes?|holds?|goes|comes?|says?|makes?|stays?|stands?|lies|waits?|begins?|means?|keeps?|follows?|sends?|
    becomes?|belongs?|allows?|exists?|fails?)\b
    |,.*\b(adds?|answers?|asks?|calls?|changes?|counts?|ends?|finds?|issues?|leaves?|loads?|moves?|needs?|passes|reads?|
    returns?|runs?|saves?|shows?|starts?|stops?|stores?|uses?|works?|writes?)\b""", re.VERBOSE)
"""A finite verb; a word that may be a noun counts behind a comma only."""
_UNITS = ("array|bank|beat|bit|block|byte|call|column|cycle|element|entry|file|group|instruction|job|kernel|lane|"
          "launch|line|machine|page|plane|port|queue|register|row|second|segment|side|slot|SM|TB|thread|unit|user|"
          "vector|warp|word")
_PER = re.compile(rf"\b(an?|one|two|three|four|five|\d+(?:[.,]\d+)*) (?!(?:is|was|in|into|of|for|to|with|without|by|"
                  rf"has|as|at|on|than|from|and|or|that|which|what)\b)[\w-]+ an? ({_UNITS})\b(?!-)")
_NAMED = re.compile(r"\*{0,2}[\w`][\w`, .\[\]*]* : ")
"""The line of a docstring that names a parameter, an attribute or a port."""
_RULER = re.compile(r"=+(\s+=+)+")
"""A rule of a simple table of reStructuredText; a table ends with a rule before an empty line."""


class Text(NamedTuple):
    """A paragraph of prose.

    Attributes
    ----------
    line : int
        The number of its first line in the file.
    kind : str
        One of "docstring" (its first paragraph), "note" (on a parameter, attribute or port), "comment", "help"
        (a help text of the command line) and "other".
    words : str
        The paragraph in one line, without code and addresses of links.
    """

    line: int
    kind: str
    words: str


def sentences(words: str, marks: str = ".!?:;") -> list[str]:
    """Return the sentences of a paragraph; by default colons and semicolons end one too."""
    return [sentence for sentence in re.split(rf"(?<=[{marks}])\s+", words) if sentence]


def long(text: Text) -> int:
    """Count sentences with too many words."""
    return sum(len(sentence.split()) > MOST_WORDS for sentence in sentences(text.words))


def of(text: Text) -> int:
    """Count sentences in which "Of ..." stands before the subject."""
    return sum(bool(re.match(r"Of\b(?! course)[^,]*, ", sentence)) for sentence in sentences(text.words))


def what(text: Text) -> int:
    """Count descriptions that have "What ..." or "Who ..." as subject."""
    begins = re.match(r"(What|Who|Whose|Whoever)\b", text.words)
    return int(bool(begins) and text.kind != "other" and not sentences(text.words)[0].endswith("?"))


def verbless(text: Text) -> int:
    """Count descriptions that begin with a preposition and have no verb."""
    first = (sentences(text.words, ".!?") or [""])[0]
    return int(text.kind != "other" and bool(_PREPOSITION.match(first)) and not _VERB.search(_CLAUSE.sub("", first)))


def per(text: Text) -> int:
    """Count phrases such as "a bit a lane", which are to say "per"."""
    return len(_PER.findall(text.words))


def colons(text: Text) -> int:
    """Count sentences with two colons or more."""
    return sum(len(re.findall(r":(?=\s|$)", sentence)) > 1 for sentence in sentences(text.words, ".!?"))


RULES = {
    f"sentence over {MOST_WORDS} words": long,
    "'Of ...,' before the subject": of,
    "'What' or 'Who' as subject": what,
    "note without a verb": verbless,
    "'a ... a ...' for 'per'": per,
    "two colons in a sentence": colons,
}


def _text(line: int, kind: str, lines: list[str]) -> Text:
    words = " ".join(" ".join(lines).split())
    words = re.sub(r"``.+?``|`[^`]*`|\$[^$]+\$", "code", words)
    return Text(line, kind, re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", words).replace("**", ""))


def paragraphs(source: str, first: int, docstring: bool) -> Iterator[Text]:
    """Yield the paragraphs of a docstring or a page that starts at a line, without tables, code and headings."""
    lines = source.splitlines()
    block: list[str] = []
    begin, kind = first, "docstring" if docstring else "other"
    fenced = literal = table = False
    for number, line in enumerate([*lines, ""], first):
        bare, indent = line.strip(), len(line) - len(line.lstrip())
        following = lines[number - first + 1].strip() if number - first + 1 < len(lines) else ""
        fenced ^= bare.startswith("```")
        literal = literal and (not bare or indent > 0)
        rule = re.fullmatch(r"-{3,}|={3,}", bare) or docstring and re.fullmatch(r"-{3,}|={3,}", following)
        ruler = docstring and _RULER.fullmatch(bare)
        table = table or bool(ruler)
        named = docstring and not table and bool(_NAMED.match(line))
        item = re.match(r"([*-]|\d+\.) ", bare)
        code = fenced or literal or table or rule or bare.startswith(("|", ">>>", "```", "#", "<", "!["))
        foreign = docstring and indent >= 4 and kind != "note"
        if block and (not bare or named or item or code):
            yield _text(begin, kind, block)
            block, kind = [], "note" if kind == "note" and indent >= 4 else "other"
        if named:
            kind = "note"
        elif bare and not code and not foreign:
            begin = begin if block else number
            block.append(re.sub(r"^([*-]|\d+\.) ", "", bare))
        literal = literal or docstring and bare.endswith("::")
        table = table and not (ruler and not following)


def _comments(lines: list[str], inside: set[int]) -> Iterator[Text]:
    """Yield comments, one that goes on over several lines as one."""
    block: list[str] = []
    begin = 0
    for number, line in enumerate([*lines, ""], 1):
        found = re.search(r"(^|\s)# ?(?!:|!|noqa|type:|pyright:)(.*)$", line) if number not in inside else None
        whole = found is not None and not line[:found.start(2)].rstrip("# ").strip()
        if block and not (whole and found and found[2].strip()):
            yield _text(begin, "comment", block)
            block = []
        if found and whole and found[2].strip():
            begin = begin if block else number
            block.append(found[2])
        elif found and re.search(r"\s\s# ", line) and found[2].strip():
            yield _text(number, "comment", [found[2]])


@cache
def python_texts(file: Path) -> tuple[Text, ...]:
    """Return the prose of a Python file: docstrings, comments, help texts of the command line."""
    source = file.read_text()
    found: list[Text] = []
    inside: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            inside.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.keyword) and node.arg == "help" and isinstance(node.value, ast.Constant):
            found.append(_text(node.value.lineno, "help", [str(node.value.value)]))
        body = getattr(node, "body", None)
        for child in body if isinstance(body, list) else ():
            if (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
                    and isinstance(child.value.value, str)):
                found += paragraphs(inspect.cleandoc(child.value.value), child.lineno, True)
    return tuple(sorted([*found, *_comments(source.splitlines(), inside)]))


@cache
def page_texts(page: Path) -> tuple[Text, ...]:
    """Return the prose of a page in Markdown."""
    return tuple(paragraphs(page.read_text(), 1, False))


def texts(root: Path, parts: tuple[str, ...] = PARTS) -> Iterator[tuple[Path, Text]]:
    """Yield the prose of all Python files of some parts, and of all pages."""
    for file in sorted(file for part in parts for file in (root / part).rglob("*.py")):
        yield from ((file, text) for text in python_texts(file))
    for page in sorted([*root.glob("*.md"), *(root / "docs").glob("*.md")]):
        yield from ((page, text) for text in page_texts(page))


def room(root: Path, file: Path) -> str:
    """Return the room of a file: its folder, at most two levels deep; "." holds the pages at the top."""
    return "/".join(file.relative_to(root).parts[:-1][:2]) or "."


def findings(root: Path, rule: str, parts: tuple[str, ...] = PARTS) -> list[tuple[Path, str]]:
    """Return what breaks a rule: the file, and ``file:line: words``; a paragraph comes as often as it breaks it."""
    return [(file, f"{file.relative_to(root)}:{text.line}: {text.words[:70]}") for file, text in texts(root, parts)
            for _ in range(RULES[rule](text))]


def counts(root: Path) -> dict[str, int]:
    """Return the number of findings of each room that has any."""
    found = Counter(room(root, file) for rule in RULES for file, _ in findings(root, rule))
    return dict(sorted(found.items()))


def more_than_recorded(found: dict[str, int], recorded: dict[str, int]) -> list[str]:
    """Return a line for each room that has more findings than its record."""
    return [f"{name}: {count} phrases to mend, {recorded.get(name, 0)} were recorded; "
            f"make prose ARGS='--list {name}' says where"
            for name, count in found.items() if count > recorded.get(name, 0)]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", metavar="ROOM", help="say where each phrase stands and which rule it breaks")
    parser.add_argument("--record", action="store_true", help="write the present counts, which may not rise after that")
    arguments = parser.parse_args()
    record = Path(__file__).with_suffix(".json")
    if arguments.list:
        lines = [f"{where}  ({rule})" for rule in RULES for file, where in findings(ROOT, rule)
                 if f"{room(ROOT, file)}/".startswith(f"{arguments.list.rstrip('/')}/")
                 or str(file.relative_to(ROOT)).startswith(arguments.list)]
        print(*lines, sep="\n")
    elif arguments.record:
        record.write_text(json.dumps(counts(ROOT), indent=1) + "\n")
    else:
        recorded = json.loads(record.read_text())
        found = counts(ROOT)
        if more := more_than_recorded(found, recorded):
            sys.exit("\n".join(more))
        if found != recorded:
            print("prose: fewer phrases to mend than recorded; make prose ARGS=--record keeps that")


if __name__ == "__main__":
    main()
