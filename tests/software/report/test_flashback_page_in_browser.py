"""The flashback page of `caesura explain` in a real browser: what a plan does is marked, and keys lead there."""

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.kernel import flashback
from caesura.software.compiler.flashback.machine_code import program
from caesura.software.kernels import KERNELS
from caesura.software.report.flashback import runs_on
from caesura.software.report.flashback_page import render_flashback_page
from support.trace.browser import browser, find_browser

pytestmark = pytest.mark.skipif(find_browser() is None, reason="needs Chromium: apt install chromium")


@pytest.fixture(scope="module")
def tab():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def facts(tab, tmp_path_factory):
    """What the page shows of its first kernel: reverting, executing again and running on occur."""
    found = [flashback(program(KERNELS[name].image(), PRESETS["gtx480"]), Objective.LATENCY)
             for name in ("dot", "saxpy")]
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(render_flashback_page(found, "kernels.ptx"))
    tab.open(path.as_uri())
    return found[0].instructions


def marked(tab, name):
    return tab.ask(f"[...document.querySelectorAll('#k0 .rows .{name}')].map(row => Number(row.id.split('-').pop()))")


def panel(tab):
    return tab.ask("document.querySelector('article:not([hidden]) aside').innerText")


def test_page_holds_every_instruction_and_asks_for_nothing(tab, facts):
    assert tab.ask("document.querySelectorAll('#k0 .rows .r').length") == len(facts)
    assert [address for address in tab.requests if not address.startswith(("file:", "data:", "about:"))] == []
    assert tab.problems == []


@pytest.mark.parametrize("what", ["again", "resumed", "runs_on"])
def test_what_a_plan_does_is_marked_and_told(tab, facts, what):
    fact = next(fact for fact in facts if (runs_on(fact) if what == "runs_on" else getattr(fact, what)))
    tab.ask(f"location.hash = '#k0-{fact.pc}'")
    tab.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert marked(tab, "again") == sorted(fact.again) and marked(tab, "resumed") == sorted(fact.resumed)
    assert marked(tab, "undone") == sorted(fact.reverted)
    assert marked(tab, "reached") == ([fact.deferred] if runs_on(fact) else [])
    told = panel(tab)
    assert f"{fact.bytes:,} B" in told and f"{fact.live_bytes:,} B" in told and " ".join(fact.saved) in told
    assert ("run on to" in told) == runs_on(fact)


def test_enter_goes_to_the_flashback_point_and_backspace_back(tab, facts):
    fact = next(fact for fact in reversed(facts) if fact.flashback < fact.pc)
    tab.ask(f"location.hash = '#k0-{fact.pc}'")
    tab.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    for key, place in (("Enter", fact.flashback), ("Backspace", fact.pc), ("ArrowUp", fact.pc - 1)):
        tab.press(key)
        assert tab.ask("document.querySelector('#k0 [aria-selected]').id") == f"k0-{place}", key


def test_other_kernel_opens_from_its_tab(tab, facts):
    tab.ask("document.querySelector('nav a[data-kernel=k1]').click()")
    tab.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert tab.ask("[document.getElementById('k0').hidden, document.getElementById('k1').hidden]") == [True, False]
    assert tab.problems == []
