"""Our liveness judged from outside: on SASS that ptxas makes of the kernels, it must agree with nvdisasm's life ranges.

What an instruction reads and writes is nvdisasm's word; the flow of control is read from the text; `liveness` is ours.
The two differ in what a guarded write does. For us it kills nothing: lanes that do not execute it keep the old value.
nvdisasm has the same rule within straight code, from label to label; but from one stretch of it to the next a guarded
write kills a register that the stretch does not read further down. So there are two comparisons: one with
`nvdisasm_guards`, in which every row must agree, and one with our own rule, in which a row may differ by registers that
are written under a guard, and only so that we keep them live (`is_guarded_write`).

``data/sass.tar.xz`` holds the listings of eight kernels; ``PYTHONPATH=tests python FILE`` with this file makes it anew.
"""

import io
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from caesura.software import kernels
from caesura.software.compiler.analysis.liveness import Liveness, liveness
from caesura.software.compiler.ir.kernel import Block, Kernel, Op, Reg
from support.software.sass import KEPT_BY_CALLS, Listing, Row, disassemble, kernel_of, read, tool

STORED = Path(__file__).parents[1] / "data" / "sass.tar.xz"
KERNELS = "bfs", "collatz", "compute_cost", "heartwall", "hybridsort", "nbody", "persistent", "warpscan"
SOURCES = sorted(Path(kernels.__file__).parent.rglob("*.ptx"))
LEVELS = 0, 1, 3
TOOLS = pytest.mark.skipif(not (tool("ptxas") and tool("nvdisasm")),
                           reason="needs ptxas and nvdisasm: packages nvidia-cuda-nvcc and nvidia-cuda-nvdisasm")


@dataclass(frozen=True)
class Difference:
    """A row on which two analyses differ.

    Attributes
    ----------
    listing : Listing
    index : int
        Of the row.
    ours, theirs : frozenset of Reg
        What lives across the instruction untouched.
    """

    listing: Listing
    index: int
    ours: frozenset[Reg]
    theirs: frozenset[Reg]

    def __str__(self):
        row = self.listing.rows[self.index]
        return (f"{self.listing.name} {row.address:#06x} {row.text}: only ours {_names(self.ours - self.theirs)}, "
                f"only nvdisasm's {_names(self.theirs - self.ours)}")


def _names(registers):
    return " ".join(map(str, sorted(registers))) or "none"


def differences(listing, change=lambda kernel, heads: kernel):
    """Compare `liveness` of the listing with the marks.

    Between stretches of straight code, from label to label, registers live as in the kernel that `change` returns
    (its second argument are the blocks that begin a stretch), inside one as in the kernel itself.
    """
    kernel, blocks = kernel_of(listing)
    heads = _heads(listing, blocks)
    known = frozenset().union(*(row.marks for row in listing.rows))
    between = liveness(change(kernel, heads)).live_in
    index, following, above = len(listing.rows), "", frozenset()
    for block, rows in reversed(blocks):
        index -= len(rows)
        after = frozenset().union(*(above if target == following and target not in heads else between[target]
                                    for target in block.end.targets))
        result = Liveness(between, {block.label: after})
        for k, op, after in result.backward(block):
            ours = ((after | set(op.read())) & known) - rows[k].marked("^vx")
            if ours != rows[k].marked(":"):
                yield Difference(listing, index + k, ours, rows[k].marked(":"))
            above = frozenset(after - set(op.killed()) | set(op.read()))
        following = block.label


def _heads(listing, blocks):
    """The blocks behind a label or behind an instruction that is not passed."""
    labelled = set(listing.labels.values())
    heads, index, falls = set(), 0, False
    for block, rows in blocks:
        if index in labelled or not falls:
            heads.add(block.label)
        index += len(rows)
        falls = f"B{index}" in block.end.targets
    return heads


def nvdisasm_guards(kernel, heads):
    """The kernel with guards only on writes whose register the stretch reads further down; all others kill."""
    changed, read_below = Kernel(kernel.name), set()
    for block in reversed(kernel.blocks):
        ops = []
        for op in reversed(block.ops):
            guard = op.guard if not read_below.isdisjoint(op.written()) else None
            ops.append(Op(op.name, op.defs, op.uses, guard))
            read_below.difference_update(op.killed())
            read_below.update(op.read())
        changed.blocks.insert(0, Block(block.label, ops[::-1], block.end))
        if block.label in heads:
            read_below = set()
    return changed


def is_guarded_write(d: Difference) -> bool:
    """Whether only we keep some registers live, each of which is written under a guard."""
    guarded = frozenset().union(*(row.marked("^x") for row in d.listing.rows if row.guard))
    return d.theirs < d.ours and d.ours - d.theirs <= guarded


@dataclass
class Totals:
    """Rows, and on how many of them we differ by our own rule of guarded writes."""

    rows: int = 0
    by_our_rule: int = 0

    def add(self, listing):
        """Judge a listing."""
        assert [str(d) for d in differences(listing, nvdisasm_guards)] == []
        ours = list(differences(listing))
        assert [str(d) for d in ours if not is_guarded_write(d)] == []
        self.rows += len(listing.rows)
        self.by_our_rule += len(ours)

    def report(self):
        """Print both shares."""
        print(f"{self.rows} rows: all agree with nvdisasm's guarded writes, {1 - self.by_our_rule / self.rows:.3%} "
              f"by our rule ({self.by_our_rule} rows differ)")


@pytest.fixture(scope="module")
def stored():
    with tarfile.open(STORED) as archive:
        texts = {member.name: archive.extractfile(member).read().decode() for member in archive}
    return {name: read(text) for name, text in texts.items()}


def test_liveness_agrees_with_the_stored_listings(stored):
    assert set(stored) == {f"{name}.{level}.txt" for name in KERNELS for level in LEVELS}
    totals = Totals()
    for listings in stored.values():
        for listing in listings:
            totals.add(listing)
    assert totals.rows > 7000
    totals.report()


@TOOLS
@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.depends_on("hw/arch", "software")
def test_liveness_agrees_with_nvdisasm_on_the_whole_suite(tmp_path):
    totals = Totals()
    for source in SOURCES:
        for level in LEVELS:
            for listing in read(disassemble(source, level, tmp_path)):
                totals.add(listing)
    totals.report()


@TOOLS
def test_listing_of_today_is_understood(tmp_path):
    totals = Totals()
    for listing in read(disassemble(next(p for p in SOURCES if p.stem == "collatz"), 3, tmp_path)):
        totals.add(listing)
    assert totals.rows >= 40


# Would it be noticed?


def without_back_edges(kernel):
    order = {block.label: k for k, block in enumerate(kernel.blocks)}
    for block in kernel.blocks:
        block.end.targets = tuple(t for t in block.end.targets if order[t] > order[block.label])
        block.end.condition = block.end.condition if len(block.end.targets) == 2 else None
    return kernel


def without_one_read(kernel):
    """Of what the last operation that reads anything reads."""
    op = next(op for block in reversed(kernel.blocks) for op in reversed(block.ops) if len(op.uses) > 1)
    op.uses = op.uses[1:]
    return kernel


@pytest.mark.parametrize("change", [without_back_edges, without_one_read])
def test_a_liveness_that_is_wrong_is_noticed(stored, change):
    listing, = stored["nbody.3.txt"]
    assert list(differences(listing, lambda kernel, heads: nvdisasm_guards(change(kernel), heads)))
    assert not all(map(is_guarded_write, differences(listing, lambda kernel, heads: change(kernel))))


def test_our_rule_alone_differs_where_guarded_writes_are(stored):
    found = {name: sum(1 for listing in listings for _ in differences(listing)) for name, listings in stored.items()}
    assert found["persistent.3.txt"] > 0 and found["compute_cost.3.txt"] > 0
    assert not any(count for name, count in found.items() if name.endswith(".0.txt"))


def test_the_explanation_does_not_take_everything():
    r0, r1 = frozenset({Reg("R", 0)}), frozenset({Reg("R", 1)})
    rows = [Row(0, "", "MOV R1, R2", {}), Row(16, "P0", "MOV R0, R1", dict.fromkeys(r0, "^"))]
    listing = Listing("k", rows, {})
    assert is_guarded_write(Difference(listing, 0, r0, frozenset()))
    assert not is_guarded_write(Difference(listing, 0, r1, frozenset()))
    assert not is_guarded_write(Difference(listing, 0, frozenset(), r0))
    assert not is_guarded_write(Difference(listing, 0, r0, r1))


# The reader


def test_rows_of_a_listing(stored):
    listing, = stored["collatz.3.txt"]
    rows = {row.address: row for row in listing.rows}
    assert (listing.name, rows[0x30].text) == ("collatz", "IMAD R0, R0, c[0x0][0x0], R3")
    assert rows[0x30].marks == {Reg("R", 0): "x", Reg("R", 1): ":", Reg("R", 3): "v"}
    loop = next(row for row in listing.rows if row.is_conditional and row.mnemonic == "BRA" and "P1" in row.text)
    assert loop.guard == "!P0" and listing.labels[loop.target] < listing.rows.index(loop)
    assert {reg.kind for listing, in stored.values() for row in listing.rows for reg in row.marks} == {
        "R", "P", "U", "UP"}


def test_calls_keep_what_is_said(stored):
    calls = [(listing, row) for listings in stored.values() for listing in listings for row in listing.rows
             if row.mnemonic == "CALL"]
    assert len(calls) > 50
    for listing, row in calls:
        vectors = {reg for other in listing.rows for reg in other.marks if reg.kind == "R" and reg.index}
        assert {reg for reg in row.marked("^x") if reg in vectors} == vectors - KEPT_BY_CALLS


@pytest.mark.parametrize("before, after, message", [
    ("BRA `(.L_x_4)", "BRX R2 -0x10", "BRX"), ("BSYNC B2", "BSYNC B0", "BSYNC B0"), (" ^ ", " ? ", "unknown mark"),
    ("# 01234", "# 01235", "registers left out")])
def test_what_is_not_understood_is_refused(before, after, message):
    with tarfile.open(STORED) as archive:
        text = archive.extractfile("collatz.3.txt").read().decode()
    assert before in text
    with pytest.raises(ValueError, match=message):
        for listing in read(text.replace(before, after)):
            kernel_of(listing)


def store(folder):
    """Make the stored listings anew."""
    with tarfile.open(STORED, "w:xz") as archive:
        for source in (path for path in SOURCES if path.stem in KERNELS):
            for level in LEVELS:
                data = disassemble(source, level, folder).encode()
                member = tarfile.TarInfo(f"{source.stem}.{level}.txt")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        store(Path(scratch))
