"""Votes, ballots, matches and shuffles see the lanes that execute them: on the golden model, against plain Python."""

import random
import re

import pytest

from caesura.software.compiler import compile_ptx
from caesura.software.compiler.codegen.disassemble import disassemble
from caesura.software.compiler.errors import CompileError
from support.ptx.lanes import ballot, match, shuffle
from support.software.ptx_bench import HEAD, THREADS, kernel_text, run, store

WARP = 32
LOW = 0xFFFF_FFFF
SETUP = ("and.b32 %r70, %r3, 1; setp.ne.u32 %p1, %r70, 0; and.b32 %r71, %r3, 2; setp.ne.u32 %p2, %r71, 0; "
         "mov.u32 %r4, 77; mov.u32 %r5, 0;")
"""%p1 and %p2 are bits 0 and 1 of n; %r4 is the result, %r5 a second one."""
NOT_EXECUTED = 77


def inputs(seed, classes=4):
    """Words of which some are equal, member masks, and n whose two low bits make predicates and branches."""
    rng = random.Random(seed)
    a = [rng.choice((rng.randrange(classes), rng.randrange(classes) << 32, rng.getrandbits(64)))
         for _ in range(THREADS)]
    b = [rng.getrandbits(64) for _ in range(THREADS)]
    n = [rng.randrange(4) for _ in range(THREADS)]
    n[:WARP] = [3] * WARP                                         # a warp that agrees
    n[WARP:2 * WARP] = [rng.choice((0, 3)) for _ in range(WARP)]  # predicates that agree with the branch
    return a, b, n


class Lanes:
    """One warp: the words of its lanes, and the lanes that execute the instruction."""

    def __init__(self, a, b, n, active):
        self.a, self.b, self.n, self.active = a, b, n, active
        self.p1 = [x & 1 for x in n]
        self.low_a, self.members = [x & LOW for x in a], [x & LOW for x in b]


def execute(cases, seed):
    """Run ``(text, meaning(Lanes) -> a value a lane)`` converged, under a guard, and in both sides of a branch."""
    a, b, n = inputs(seed)
    surroundings = {
        "converged": ("{}", lambda x: True), "guarded": ("@%p2 {}", lambda x: x & 2),
        "guarded not": ("@!%p2 {}", lambda x: not x & 2),
        "in a branch": ("@!%p2 bra SKIP{k}; {} SKIP{k}:", lambda x: x & 2),
        "in the other branch": ("@!%p2 bra ELSE{k}; {} bra.uni END{k}; ELSE{k}: {} END{k}:", None),
    }
    text, expected, names = "", [], []
    for k, (name, (shape, executes)) in enumerate(surroundings.items()):
        for j, (case, meaning) in enumerate(cases):
            if "{q}" in case and name.startswith("guarded"):
                continue
            body = case.replace("{q}", "")
            row = len(expected)
            text += SETUP + shape.replace("{k}", f"{k}_{j}").replace("{}", body)
            text += "shl.b32 %r5, %r5, 8; xor.b32 %r4, %r4, %r5; " + store(row, "%r4", 32, THREADS) + "\n"
            results = []
            for first in range(0, THREADS, WARP):
                at = slice(first, first + WARP)
                groups = [executes] if executes else [lambda x: x & 2, lambda x: not x & 2]
                values = [NOT_EXECUTED] * WARP
                for group in groups:
                    active = [bool(group(x)) for x in n[at]]
                    found = meaning(Lanes(a[at], b[at], n[at], active))
                    values = [f if on else v for v, f, on in zip(values, found, active, strict=True)]
                results += [x & LOW for x in values]
            expected.append(results)
            names.append(f"{name}: {body}")
    got = run(text, a, b, n, len(expected))
    for name, row, values in zip(names, got, expected, strict=True):
        assert row.tolist() == values, name


def test_ballots():
    execute([
        ("activemask.b32 %r4;", lambda w: [ballot([1] * WARP, w.active)] * WARP),
        ("vote.sync.ballot.b32 %r4, %p1, -1;", lambda w: [ballot(w.p1, w.active)] * WARP),
        ("vote.ballot.sync.b32 %r4, %p1, -1;", lambda w: [ballot(w.p1, w.active)] * WARP),
        ("vote.sync.ballot.b32 %r4, !%p1, %r2;",
         lambda w: [ballot([not x for x in w.p1], w.active) & m for m in w.members]),
        ("vote.ballot.b32 %r4, %p1;", lambda w: [ballot(w.p1, w.active)] * WARP),
        ("vote.sync.ballot.b32 %r4, 1, %r2;", lambda w: [ballot([1] * WARP, w.active) & m for m in w.members]),
    ], seed=1)


@pytest.mark.parametrize("form", ["vote.sync.{}.pred %p3, %p1, %r2;", "vote.{}.sync.pred %p3, %p1, %r2;",
                                  "vote.sync.{}.pred %p3, %p1, -1;",
                                  "vote.{}.pred %p3, %p1;", "vote.sync.{}.pred %p3, !%p1, 0xf0;"])
def test_votes(form):
    def members(w):
        mask = {"%r2": None, "-1": LOW, "0xf0": 0xF0}.get(form.split(", ")[-1].rstrip(";"), LOW)
        return w.members if mask is None else [mask] * WARP

    def meaning(kind):
        def value(w):
            inverted = "!%p1" in form
            yes = ballot([bool(x) != inverted for x in w.p1], w.active)
            no = ballot([bool(x) == inverted for x in w.p1], w.active)
            holds = {"any": lambda m: yes & m != 0, "all": lambda m: no & m == 0,
                     "uni": lambda m: yes & m == 0 or no & m == 0}[kind]
            return [9 if holds(m) else 3 for m in members(w)]
        return value
    # the vote is not guarded by itself, but its result is used by an instruction in the same surroundings
    kinds = ("any", "all", "uni")
    execute([("{q}" + form.format(kind) + " selp.b32 %r4, 9, 3, %p3;", meaning(kind)) for kind in kinds], seed=2)


def test_a_guarded_vote_changes_its_predicate_only_where_it_executes():
    a, b, n = inputs(3)
    text = SETUP + "setp.eq.u32 %p3, %r3, 9; @%p2 vote.sync.any.pred %p3, %p1, -1; selp.b32 %r4, 1, 2, %p3; "
    got = run(text + store(0, "%r4", 32, THREADS), a, b, n, 1)
    for first in range(0, THREADS, WARP):
        warp = n[first:first + WARP]
        voted = any(x == 3 for x in warp)
        assert got[0][first:first + WARP].tolist() == [1 if x & 2 and voted else 2 for x in warp]


def test_shuffles():
    cases = []
    for mode in ("up", "down", "bfly", "idx"):
        for k, (b, c) in enumerate(((1, 31), (3, 0x181F), (16, 0x1F), (0, 0), (7, 0x1C03), (33, 0x1F), (5, 0))):
            def meaning(w, mode=mode, b=b, c=c):
                return [d for d, _ in shuffle(mode, w.low_a, [b] * WARP, [c] * WARP, w.active)]

            def tested(w, mode=mode, b=b, c=c):
                return [d ^ (2 - p) << 8 for d, p in shuffle(mode, w.low_a, [b] * WARP, [c] * WARP, w.active)]
            forms = (f"shfl.sync.{mode}.b32 %r4, %r1, {b}, {c}, -1;", f"shfl.{mode}.b32 %r4, %r1, {b}, {c};",
                     f"shfl.{mode}.sync.b32 %r4, %r1, {b}, {c}, -1;",
                     f"shfl.sync.{mode}.b32 %r4|%p4, %r1, {b}, {c}, -1;")
            cases += [(forms[k % 3], meaning),
                      (f"{{q}}shfl.sync.{mode}.b32 %r4|%p4, %r1, {b}, {c}, -1; selp.b32 %r5, 1, 2, %p4;", tested)]
    execute(cases, seed=4)


def test_shuffles_with_operands_in_registers():
    """Each lane has its own b and c, of which only some bits count."""
    cases = []
    for mode in ("up", "down", "bfly", "idx"):
        def meaning(w, mode=mode):
            c = [x >> 32 for x in w.b]
            return [d ^ (2 - p) << 8 for d, p in shuffle(mode, w.low_a, [x & LOW for x in w.b], c, w.active)]
        cases.append((f"{{q}}shr.u64 %rd10, %rd2, 32; cvt.u32.u64 %r10, %rd10; shfl.sync.{mode}.b32 %r4|%p4, %r1, %r2, "
                      "%r10, -1; selp.b32 %r5, 1, 2, %p4;", meaning))
    execute(cases, seed=5)


def test_shuffle_of_its_own_destination_and_of_floats():
    a, b, n = inputs(6)
    text = ("mov.b32 %f4, %r1; shfl.sync.idx.b32 %f4, %f4, 5, 31, -1; mov.b32 %r4, %f4; " + store(0, "%r4", 32, THREADS)
            + "shfl.sync.bfly.b32 %r1|%p1, %r1, 1, 31, -1; " + store(1, "%r1", 32, THREADS))
    got = run(text, a, b, n, 2)
    low = [x & LOW for x in a]
    assert got[0].tolist() == [low[k & ~31 | 5] for k in range(THREADS)]
    assert got[1].tolist() == [low[k ^ 1] for k in range(THREADS)]


def test_matches():
    def any_of(words):
        return lambda w: [x & m for x, m in zip(match(words(w), w.active), w.members, strict=True)]

    def all_of(words, tested=False):
        def value(w):
            results = []
            for same, m in zip(match(words(w), w.active), w.members, strict=True):
                everyone = ballot([1] * WARP, w.active) & m
                agree = same & m == everyone
                results.append((everyone if agree else 0) ^ (tested and (1 if agree else 2) << 8))
            return results
        return value
    cases = []
    for size, source, words in ((32, "%r1", lambda w: w.low_a), (64, "%rd1", lambda w: w.a),
                                (32, "%r70", lambda w: w.p1)):
        cases += [(f"match.any.sync.b{size} %r4, {source}, %r2;", any_of(words)),
                  (f"match.sync.any.b{size} %r4, {source}, %r2;", any_of(words)),
                  (f"match.all.sync.b{size} %r4, {source}, %r2;", all_of(words)),
                  (f"{{q}}match.all.sync.b{size} %r4|%p4, {source}, %r2; selp.b32 %r5, 1, 2, %p4;",
                   all_of(words, True))]
    execute(cases, seed=7)


def test_lane_numbers_masks_and_clocks():
    masks = {"eq": lambda k: 1 << k, "lt": lambda k: (1 << k) - 1, "le": lambda k: (2 << k) - 1,
             "gt": lambda k: -(2 << k), "ge": lambda k: -(1 << k)}
    a, b, n = inputs(8)
    text = "".join(f"mov.u32 %r4, %lanemask_{name}; " + store(row, "%r4", 32, THREADS)
                   for row, name in enumerate(masks))
    text += "mov.u32 %r4, %laneid; " + store(5, "%r4", 32, THREADS)
    text += ("mov.u32 %r10, %clock; mov.u64 %rd10, %clock64; mov.u32 %r11, %clock_hi; cvt.u32.u64 %r12, %rd10; "
             "sub.u32 %r12, %r12, %r10; setp.lt.u32 %p1, %r12, 100; selp.b32 %r4, %r11, 5, %p1; ")
    got = run(text + store(6, "%r4", 32, THREADS), a, b, n, 7)
    for row, meaning in enumerate((*masks.values(), lambda k: k, lambda k: 0)):
        assert got[row].tolist() == [meaning(k % WARP) & LOW for k in range(THREADS)]


def test_what_depends_on_the_active_lanes_stays_where_it_is():
    """A vote before a branch sees all lanes although only one side uses it; equal votes of two sides are not one."""
    a, b, n = inputs(9)
    text = SETUP + """
        activemask.b32 %r10; vote.sync.ballot.b32 %r11, %p1, -1;
        @!%p2 bra ELSE; activemask.b32 %r12; xor.b32 %r4, %r10, %r12; bra.uni END;
        ELSE: activemask.b32 %r12; xor.b32 %r4, %r11, %r12; END: activemask.b32 %r13; xor.b32 %r4, %r4, %r13; """
    got = run(text + store(0, "%r4", 32, THREADS), a, b, n, 1)
    for first in range(0, THREADS, WARP):
        warp = n[first:first + WARP]
        taken, votes = ballot([x & 2 for x in warp], [True] * WARP), ballot([x & 1 for x in warp], [True] * WARP)
        assert got[0][first:first + WARP].tolist() == [
            LOW ^ taken ^ LOW if x & 2 else votes ^ ~taken & LOW ^ LOW for x in warp]


def test_a_vote_in_a_loop_counts_the_lanes_that_are_left():
    a, b, _ = inputs(10)
    rng = random.Random(10)
    n = [rng.randrange(1, 9) for _ in range(THREADS)]
    text = """mov.u32 %r4, 0; mov.u32 %r10, 0;
        LOOP: activemask.b32 %r11; popc.b32 %r12, %r11; mad.lo.s32 %r4, %r4, 3, %r12; add.u32 %r10, %r10, 1;
        setp.lt.u32 %p1, %r10, %r3; @%p1 bra LOOP; """
    got = run(text + store(0, "%r4", 32, THREADS), a, b, n, 1)
    for k in range(THREADS):
        warp, value = n[k & ~31:(k & ~31) + WARP], 0
        for turn in range(n[k]):
            value = value * 3 + sum(x > turn for x in warp)
        assert int(got[0][k]) == value & LOW


def code(body):
    return disassemble(compile_ptx(kernel_text(body))["k"])


def test_constant_shuffles_take_the_immediate_form_unless_their_predicate_is_used():
    store_d = "st.global.u32 [%rd93], %r4; "
    unused = code("shfl.sync.bfly.b32 %r4|%p4, %r1, 16, 0x1c1f, -1; " + store_d)
    assert re.search(r"shfl\.bfly\.i R\d+, R\d+, 0x1c1f10\n", unused)
    used = code("shfl.sync.bfly.b32 %r4|%p4, %r1, 16, 31, -1; @%p4 " + store_d)
    assert "shfl.bfly R" in used and "shfl.bfly.i" not in used


def test_unused_votes_go():
    assert "ballot" not in code("vote.sync.ballot.b32 %r4, %p1, -1; activemask.b32 %r5; st.global.u32 [%rd93], %r1;")


@pytest.mark.parametrize("text, message", [
    ("vote.sync.some.pred %p1, %p2, -1;", "not a known vote"),
    ("shfl.sync.idx.b64 %rd1, %rd1, 1, 31, -1;", "not a known shuffle"),
    ("shfl.sync.idx.b32 %r1, %r1, 1, 31;", "4 operands where 5 belong"),
    ("match.any.b32 %r1, %r2, -1;", "not a known match"),
    ("match.any.sync.b32 %r1|%p1, %r2, -1;", "match.any has no predicate"),
    ("prmt.b32.xyz %r1, %r1, %r1, 0;", "not a known permutation"),
    ("lop3.b32 %r1, %r1, %r1, %r1, %r2;", "must be a constant"),
    ("madc.wide.u32 %r1, %r1, %r1, %r1;", "not a multiplication with carry"),
])
def test_forms_that_do_not_exist_are_refused(text, message):
    body = f".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; {text} ret;"
    with pytest.raises(CompileError, match=message):
        compile_ptx(HEAD + ".visible .entry k() { " + body + " }")
