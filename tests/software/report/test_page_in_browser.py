"""The page of `caesura explain` in a real browser: the largest shipped kernel, and a long one without source."""

import random
import re
import time

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.software.compiler import assemble
from caesura.software.compiler.explain import explain
from caesura.software.kernels import KERNELS
from caesura.software.report.page import render_page
from support.selection import quick
from support.trace.browser import browser, find_browser

pytestmark = pytest.mark.skipif(find_browser() is None, reason="needs Chromium: apt install chromium")
G = PRESETS["gtx480"]
FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
LARGEST = "heartwall"


def long_kernel(instructions, seed=3):
    """Assembly of a kernel with a loop and a branch every hundred instructions."""
    rng = random.Random(seed)
    lines = [".kernel long", ".registers 40", " s2r R39, tid.x"] + [f" iadd.i R{r}, R39, {r}" for r in range(39)]
    loop = 0
    while len(lines) < instructions:
        every = "{" + ", ".join(f"R{r}" for r in range(40)) + "}"
        lines += [f"head{loop}:", f" pp {every}", f" pp.div {every}",
                  f" setp.lt.u P0, R{rng.randrange(40)}, R{rng.randrange(40)}", f" @P0 bra skip{loop}, skip{loop}"]
        for k in range(90):
            lines += [f"skip{loop}:"] * (k == 60)
            name = rng.choice(["iadd", "isub", "xor", "imul.lo"])
            lines.append(f" {name} R{rng.randrange(39)}, R{rng.randrange(40)}, R{rng.randrange(40)}")
        lines += [f" setp.lt.u.i P1, R{rng.randrange(40)}, 9", f" @P1 bra head{loop}, out{loop}", f"out{loop}:"]
        loop += 1
    return assemble("\n".join([*lines, " st.global.b32 [R0], R1", " exit", ""]))[0]


@pytest.fixture(scope="module")
def tab():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module", params=quick(("largest", "long", "longest"), ["largest", "long"]))
def subject(request, tab, tmp_path_factory):
    """Facts of the kernel whose page the tab shows."""
    if request.param == "largest":
        image, source = KERNELS[LARGEST].image(), KERNELS[LARGEST].ptx_path.read_text().split("\n")
    else:
        image, source = long_kernel(1_500 if request.param == "long" else 10_000), []
    facts = explain(image, G)
    other = explain(assemble(".kernel other\n.registers 2\n mov.i R0, 1\n st.global.b32 [0], R0\n exit\n")[0], G)
    started = time.process_time()
    page = render_page([facts, other], f"{image.name}.ptx", source)
    made = time.process_time() - started
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page)
    seconds = tab.open(path.as_uri())
    tasks = tab.ask("performance.getEntriesByType('navigation')[0].loadEventEnd")
    print(f"\n{image.name}: {len(image.code):,} instructions, page of {len(page):,} bytes made in {made:.1f} s, "
          f"opened and drawn in {seconds:.2f} s (loaded after {tasks / 1000:.2f} s)")
    return facts


def panel(tab):
    return tab.ask("document.querySelector('article:not([hidden]) aside').innerText")


def place(tab, pc):
    """Middle of an instruction's row in the window, as (x, y)."""
    box = f"document.getElementById('k0-{pc}').getBoundingClientRect()"
    return tab.ask(f"(r => [r.x + 200, r.y + r.height / 2])({box})")


def selected(tab):
    return int(tab.ask("document.querySelector('article:not([hidden]) [aria-selected]').id.split('-').pop()"))


def visible(tab, pc):
    return 38 <= place(tab, pc)[1] <= 768


def test_page_holds_every_instruction_and_asks_for_nothing(tab, subject):
    assert tab.ask("document.querySelectorAll('#k0 .rows .r').length") == len(subject.instructions)
    assert [address for address in tab.requests if not address.startswith(("file:", "data:", "about:"))] == []
    assert tab.problems == []


def test_pointer_over_an_instruction_shows_its_registers(tab, subject):
    pc = max(pc for pc in range(60) if subject.instructions[pc].live)
    tab.ask(f"document.getElementById('k0-{pc}').scrollIntoView({{block: 'center'}})")
    tab.point(*place(tab, pc))
    row, text = subject.instructions[pc], panel(tab)
    assert row.text in text and f"{row.live_bytes:,} B" in text and f"{len(row.live)} live of" in text
    cells = tab.ask("[...document.querySelectorAll('#k0 aside .grid span')].map(x => x.className)")
    assert {r for r, kind in enumerate(cells) if kind in ("uniform", "strided", "random")} == set(row.live)
    assert {r for r, kind in enumerate(cells) if kind == "waiting"} == set(row.waiting)
    for r, shape in row.shapes:
        assert f"R{r} {shape}" in re.sub(r"\s+", " ", text)


def test_keys_jump_to_loops_and_points_and_follow_branches(tab, subject):
    tab.press("Home")
    tab.ask("document.getElementById('k0-0').focus()")
    tab.press("Home")
    assert selected(tab) == 0
    headers = sorted({loop.header for loop in subject.loops})
    for header in headers[:2]:
        tab.press("l")
        assert selected(tab) == header and visible(tab, header)
    tab.press("End")
    last = len(subject.instructions) - 1
    assert selected(tab) == last and visible(tab, last)
    tab.press("p", shift=True)
    assert selected(tab) == max(point.pc for point in subject.points if point.pc < last)
    assert "Why a point is here" in panel(tab) and visible(tab, selected(tab))
    branch = next(row for row in reversed(subject.instructions) if row.target is not None)
    tab.ask(f"location.hash = '#k0-{branch.pc}'")
    tab.ask(FRAME)
    assert selected(tab) == branch.pc
    tab.press("Enter")
    assert selected(tab) == branch.target and visible(tab, branch.target)
    tab.press("Backspace")
    assert selected(tab) == branch.pc


def test_links_of_the_loop_table_and_the_profile_scroll_there(tab, subject):
    header = max(loop.header for loop in subject.loops)
    tab.ask("scrollTo(0, 0)")
    tab.ask(f"document.querySelector('#k0 details a[href=\"#k0-{header}\"]').click()")
    assert selected(tab) == header and visible(tab, header) and tab.ask("scrollY") > 0
    tab.ask("scrollTo(0, 0)")
    x, y, width = tab.ask("(r => [r.x, r.y, r.width])(document.querySelector('#k0 .profile').getBoundingClientRect())")
    tab.point(x + width / 2, y + 30, click=True)
    assert abs(selected(tab) - len(subject.instructions) / 2) < len(subject.instructions) / 100 + 1


def test_other_kernel_of_the_file_opens_from_its_tab(tab, subject):
    tab.ask("document.querySelector('nav a[data-kernel=k1]').click()")
    tab.ask(FRAME)
    assert tab.ask("[document.getElementById('k0').hidden, document.getElementById('k1').hidden]") == [True, False]
    tab.ask("location.hash = '#k0'")
    tab.ask(FRAME)
    assert tab.ask("[document.getElementById('k0').hidden, document.getElementById('k1').hidden]") == [False, True]


def test_dark_screens_get_a_dark_page(tab, subject):
    paper = []
    for scheme in ("light", "dark", "light"):
        tab.media(scheme=scheme)
        tab.ask(FRAME)
        paper.append(tab.ask("getComputedStyle(document.body).backgroundColor"))
    assert paper[0] == paper[2] != paper[1]


@pytest.mark.parametrize("subject", ["largest"], indirect=True)
def test_printed_page_has_every_kernel_and_no_panel(tab, subject):
    tab.media("print")
    hidden = tab.ask("[...document.querySelectorAll('aside, .keys, nav')].map(x => getComputedStyle(x).display)")
    assert set(hidden) == {"none"}
    assert tab.ask("[...document.querySelectorAll('article')].map(x => getComputedStyle(x).display)") == ["block"] * 2
    pc = subject.largest
    live = tab.ask(f"getComputedStyle(document.getElementById('k0-{pc}'), '::after').content")
    assert f"R{subject.instructions[pc].live[-1]}" in live
    assert tab.ask("getComputedStyle(document.querySelector('.chunk')).contentVisibility") == "visible"
    tab.media()
    paper = tab.printed()
    assert paper.startswith(b"%PDF") and len(re.findall(rb"/Type\s*/Page\b", paper)) > len(subject.instructions) / 100


def test_cards_stand_in_one_row_on_a_screen_of_1280_pixels(tab, subject):
    tab.call("Emulation.setDeviceMetricsOverride", width=1280, height=720, deviceScaleFactor=1, mobile=False)
    tops = tab.ask("[...document.querySelectorAll('#k0 .summary dl div')].map(card => card.getBoundingClientRect().y)")
    over = tab.ask("document.documentElement.scrollWidth - innerWidth")
    tab.call("Emulation.setDeviceMetricsOverride", width=1366, height=768, deviceScaleFactor=1, mobile=False)
    assert len(tops) == 7 and len(set(tops)) == 1 and over <= 0


def test_nothing_is_printed_behind_the_last_instruction(tab, subject):
    tab.media("print")
    bottoms = tab.ask("""[document.querySelector('article:last-of-type .rows'), document.body]
        .map(part => part.getBoundingClientRect().bottom)""")
    tab.media("")
    assert bottoms[1] - bottoms[0] < 13  # less than a row: no page holds what is below


def test_nothing_went_wrong_on_the_way(tab, subject):
    assert tab.problems == []
