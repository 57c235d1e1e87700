"""The documents: what links, comments and tables point at is there, and nothing points at a page that is not."""

import functools
import re
from pathlib import Path

import pytest

from support.checkout import PARTS, ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
MADE = {"sim/rtl/prebuilt"}
"""Named by pages, made by `make`."""
_SUFFIXES = {".py", ".md", ".rdl", ".lark", ".cpp", ".h", ".cu", ".toml", ".html", ".css", ".js"}

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")
"""A link in a page: file, anchor."""
PLACE = re.compile(r"docs/(\w+\.md)`?(?:#([\w-]+)|, ([A-Z][\w ,'-]*))?")
"""A page that a comment names: its file, an anchor, or the words that begin with a heading."""
NAMED = re.compile(r"`((?:src|hw|sim|software|tests|docs|examples|tools)/[\w./*-]+)`")
"""A file that a page names."""
ELSEWHERE = re.compile(r"\bdesign(?:'s|,| page| document)? (?:section|sec\b|§|page|table)|\(design:"
                       r"|(?<![\w.])[Ss]ections? \d|§ ?\d|\bshared/\w+\.md")
"""A page that the repository does not hold; the papers' sections have Roman numbers."""


def sources():
    """Return every file of text that people read but for the pages, this one left out."""
    places = [ROOT / name for name in ("src", *PARTS, "tests", "examples", "tools")]
    found = [path for place in places for path in place.rglob("*") if path.suffix in _SUFFIXES and path.is_file()]
    return [*(path for path in found if path != Path(__file__).resolve()), ROOT / "Makefile", ROOT / "pyproject.toml"]


@functools.cache
def prose(path):
    """Return a file's text with each run of white space, and what begins the line of a comment, as one blank."""
    return re.sub(r"\s*\n\s*(?:(?:#|//|\*)\s+)?|\s+", " ", path.read_text())


@functools.cache
def headings(path):
    """Return a page's headings by the anchors that GitHub gives them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    titles = [re.sub(r"[`*]", "", title.strip()) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-"): title for title in titles}


def broken_links(page):
    """Return the links of a page that lead nowhere."""
    broken = []
    for name, anchor in LINK.findall(page.read_text()):
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or anchor and anchor[1:] not in headings(target):
            broken.append(name + anchor)
    return broken


def broken_places(text):
    """Return the references ``docs/page.md``, ``docs/page.md#anchor`` and ``docs/page.md, Heading`` that lead nowhere.

    Words behind a comma are a heading if they begin with a capital letter.
    """
    broken = []
    for found in PLACE.finditer(text):
        name, anchor, words = found.groups()
        page = ROOT / "docs" / name
        if not page.exists():
            broken.append(found[0])
        elif anchor and anchor not in headings(page):
            broken.append(found[0])
        elif words and not any(re.match(rf"{re.escape(title)}\b", words) for title in headings(page).values()):
            broken.append(found[0])
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_files_of_a_page_are_there(page):
    assert broken_links(page) == []
    missing = [name for name in {*NAMED.findall(page.read_text())} - MADE
               if not (any(ROOT.glob(name)) if "*" in name else (ROOT / name).exists())]
    assert missing == []


def test_every_room_has_a_line_in_the_architecture():
    page = (ROOT / "docs" / "architecture.md").read_text()
    rooms = [folder for pattern in ("hw/*", "hw/*/*", "software/*", "software/driver/*", "software/sched/*", "sim/*")
             for folder in sorted(ROOT.glob(pattern)) if (folder / "__init__.py").exists()]
    lines = [str(folder.relative_to(ROOT)) for folder in rooms]
    assert len(lines) > 40 and [line for line in lines if f"\n| `{line}` |" not in page] == []


def test_places_that_the_sources_name_are_there():
    broken = {str(path): found for path in sources() if (found := broken_places(prose(path)))}
    assert broken == {}


def test_nothing_names_a_page_that_is_not_in_the_repository():
    found = {str(path): match[0] for path in (*sources(), *PAGES) if (match := ELSEWHERE.search(prose(path)))}
    assert found == {}


def test_every_page_is_in_the_readme_or_a_page_it_lists():
    linked = {name for page in PAGES for name, _ in LINK.findall(page.read_text())}
    assert [page.name for page in PAGES if not {page.name, f"docs/{page.name}"} & linked] in ([], ["README.md"])


def test_pictures_show_files_that_their_walk_names():
    page = (ROOT / "docs" / "architecture.md").read_text()
    pictures = [(picture, section) for section in page.split("\n### ")
                for picture in re.findall(r"```mermaid\n(.*?)```", section, re.DOTALL)]
    assert len(pictures) == 3
    for picture, section in pictures:
        shown = re.findall(r'\["([\w/.]+)"\]', picture)
        assert [name for name in shown if not (ROOT / name).exists()] == []
        files = [name for name in shown if name.endswith(".py")]
        assert len(files) > 10 and [name for name in files if f"`{name}`" not in section] == []
        rooms = re.findall(r'subgraph \w+ \["([\w/]+)"\]\n(.*?)\n  end', picture, re.DOTALL)
        assert [room for room, inside in rooms
                if [name for name in re.findall(r'\["(.*?)"\]', inside) if not name.startswith(room)]] == []


def test_modules_of_the_change_log_are_where_it_says():
    log = (ROOT / "CHANGELOG.md").read_text()
    rows = re.findall(r"^\| (`.*) \| `([\w.]+)`.* \|$", log.split("### Modules")[1].split("\n#")[0], re.MULTILINE)
    places = {now: re.sub(r"^caesura/", "src/caesura/", now.replace(".", "/")) for _, now in rows if "." in now}
    assert len(places) > 20
    assert [now for now, place in places.items()
            if not ((ROOT / place).is_dir() or (ROOT / f"{place}.py").exists())] == []


def test_each_row_of_the_papers_names_files():
    """And every figure, table and section that the sources cite has a row."""
    rows = [row.split("|")[1:-1] for row in (ROOT / "docs" / "papers.md").read_text().split("\n")
            if row.startswith("|") and not row.startswith(("|--", "| figure", "| paper"))]
    assert len(rows) > 20 and all(NAMED.search(files) for *_, files in rows)
    said = " ".join(row[0] for row in rows)
    cited = {match for path in sources() for words in re.findall(r"Lin et al\. ([^;:)\"]*)", prose(path))
             for match in re.findall(r"(?:Fig|Table)\.? \w+|\b(?:III|IV)-[A-C]\b|(?<=Figs\. )\d+", words)}
    cited = {f"Fig. {name}" if name.isdigit() else name for name in cited}
    assert [name for name in sorted(cited) if not re.search(rf"{re.escape(name)}\b", said)] == []


@pytest.mark.parametrize("text", [
    "docs/none.md", "docs/architecture.md, Nothing of the kind", "(`docs/architecture.md`, Nothing)", "docs/cli.md#no"])
def test_a_place_that_is_not_there_is_noticed(text):
    assert broken_places(text)


@pytest.mark.parametrize("text", [
    "docs/ptx.md", "(docs/sm.md, Faults).", "docs/architecture.md#extended-liveness",
    "docs/jobs.md), and Geometries"])
def test_a_place_that_is_there_is_found(text):
    assert not broken_places(text)


@pytest.mark.parametrize("text", ["(design section 4)", "design, section 5", "(design: what counts)", "see section 3",
                                  "§ 4", "the design table", "shared/design.md"])
def test_a_page_elsewhere_is_noticed(text):
    assert ELSEWHERE.search(text)


@pytest.mark.parametrize("text", ["Lin et al. III-B", "the design of a block", "a section of the ELF file"])
def test_papers_and_plain_words_are_not(text):
    assert not ELSEWHERE.search(text)


def test_anchors_are_those_of_github(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A warp's `exit`\n\n```\n# no heading\n```\n\n## To run, and to stop\n")
    assert headings(page) == {"a-warps-exit": "A warp's exit", "to-run-and-to-stop": "To run, and to stop"}
    page.write_text("# One\n[a](#one) [b](#two) [c](none.md)\n")
    headings.cache_clear()
    assert broken_links(page) == ["#two", "none.md"]
