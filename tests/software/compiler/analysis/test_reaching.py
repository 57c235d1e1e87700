"""Use-def chains: the cases of the definition, and a search along every path as judge."""

import pytest

from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import compile_ptx
from caesura.software.compiler.analysis.definitions import Place
from caesura.software.compiler.analysis.reaching import ENTRY, use_def_chains
from caesura.software.compiler.image.lift import lift
from caesura.software.compiler.ir.cfg import graph as flow_graph
from caesura.software.compiler.ir.kernel import Reg
from caesura.software.compiler.ir.text import parse
from caesura.software.kernels import KERNELS

R0, R1, P0 = Reg("R", 0), Reg("R", 1), Reg("P", 0)

JOIN = """kernel k
entry:
  R0 = mov 1
  R1 = mov 5
  branch P0 left right
left:
  R0 = mov 2
  jump join
right:
  @P0 R0 = mov 3
  jump join
join:
  R1 = iadd R0, R1
  branch P0 join done
done:
  st.global.b32 R1, R0
  end
"""


def test_definitions_on_all_paths_reach_and_a_guarded_one_replaces_none():
    found = use_def_chains(parse(JOIN))
    assert set(found.definitions[Place("join", 0), R0]) == {Place("left", 0), Place("entry", 0), Place("right", 0)}
    assert found.only(Place("join", 0), R0) is None


def test_definition_reaches_its_own_operation_round_a_loop():
    found = use_def_chains(parse(JOIN))
    assert found.definitions[Place("join", 0), R1] == (Place("entry", 1), Place("join", 0))
    assert found.only(Place("done", 0), R1) == Place("join", 0)


def test_start_of_the_kernel_is_a_definition():
    found = use_def_chains(parse(JOIN))
    assert found.definitions[Place("entry", 2), P0] == (ENTRY,)
    assert found.only(Place("entry", 2), P0) is None


def paths_backwards(kernel, graph, site, reg):
    """Every definition met first on some path backwards from a place."""
    blocks = {block.label: block for block in kernel.blocks}
    found, seen, pending = set(), set(), [site]
    while pending:
        label, index = pending.pop()
        for k in range(index - 1, -1, -1):
            op = blocks[label].ops[k]
            if reg in op.written():
                found.add(Place(label, k))
                if reg in op.killed():
                    break
        else:
            if label == kernel.blocks[0].label:
                found.add(ENTRY)
            for before in graph.pred[label]:
                if before not in seen:
                    seen.add(before)
                    pending.append(Place(before, len(blocks[before].ops)))
    return found


@pytest.mark.parametrize("name", ["bfs", "collatz", "histogram", "fdwt53", "random"])
def test_chains_are_what_a_search_along_all_paths_finds(name):
    text = RandomKernel(4, unstructured=True).ptx if name == "random" else KERNELS[name].ptx_path.read_text()
    kernel = lift(next(iter(compile_ptx(text).values()))).kernel
    graph = flow_graph(kernel)
    found = use_def_chains(kernel, graph)
    places = list(found.definitions)[::1 + len(found.definitions) // 600]
    for site, reg in places:
        assert set(found.definitions[site, reg]) == paths_backwards(kernel, graph, site, reg), (site, reg)
    inverse = {(site, reg, definition) for (site, reg), some in found.definitions.items() for definition in some}
    assert inverse == {(site, reg, definition) for definition, some in found.uses.items() for site, reg in some}
