"""Imports inside a package go one way: no circle, type-checking imports included, and no arrow to a later layer.

``pytest -s tests/test_imports.py`` prints the graphs.
"""

import ast
import importlib.util
import re
from pathlib import Path

import networkx
import pytest

from support.checkout import ROOT

LAYERS = {
    "caesura.hw": (
        "arch", "lib", "interfaces", "memory", "core", "preempt", "dispatch", "control", "sm", "device", "export",
        "board formal"),
    "caesura.hw.core": ("units", "memory", "execution_units", "execute", "front_end"),
    "caesura.hw.preempt": (
        "compress", "formats", "save restore", "in_place", "sequence",
        "context_book engine_counters restore_side save_side", "engine"),
    "caesura.sim.golden": (
        "state", "semantics", "bounds", "decoder", "execution",
        "stream_writer context_image completion control_block image_store in_place preemption yielding native",
        "machine", "transport", "queues", "device"),
    "caesura.sim.golden.preemption": ("requests", "save", "restore announced", "sequence"),
    "caesura.sim.golden.queues": ("packets", "queue", "preemption", "processor", "queues"),
    "caesura.sim.events": ("split state", "code", "engine"),
    "caesura.sim.model": (
        "costs", "traffic spans residents", "flight", "switching", "model", "opening", "calibrate"),
    "caesura.sim.cocotb": (
        "ports scoreboard core_state exported build", "streams", "bench", "axi contexts run", "core_agent "
        "dispatcher_agent transport __main__", "preemption"),
    "caesura.software.sched": ("machine", "policies", "machines"),
    "caesura.software.compiler": (
        "origins hints options garbage_collection", "errors", "source",
        "ptx", "library", "ir", "analysis", "lower", "optimize", "uniform", "registers", "image", "preemption",
        "codegen", "flashback", "amdgpu", "explain",
        "compiled judge passes routines", "pipeline", "kernel_cache"),
    "caesura.software.driver": (
        "machine", "memory", "launch", "time", "preemption", "queues streams", "core", "address_space reset",
        "preempting_device", "tenant device"),
    "caesura.software.driver.machine": (
        "bounds transport", "errors", "wanted display closed_transport time_slices", "lock", "host_interface", "board"),
    "caesura.software.driver.queues": ("options registers", "packet queued ring", "queue", "queues"),
    "caesura.software.driver.memory": ("regions", "memory", "arrays partition textures constants variables"),
    "caesura.software.driver.launch": (
        "arguments fit tickets descriptor_block switches profile", "loaded", "context launch events",
        "pointers prepared adopted kernel_slots",
        "module launcher inspection"),
}
"""Packages without a circle, and their layers, the lowest first; the modules of one layer may import each other."""


def modules(package: str) -> dict[str, Path]:
    """Return the files of a package by module name, relative to it; "" is the package itself."""
    (folder,) = importlib.util.find_spec(package).submodule_search_locations
    files = {".".join(path.relative_to(folder).with_suffix("").parts): path for path in Path(folder).rglob("*.py")}
    return {name.removesuffix("__init__").removesuffix("."): path for name, path in files.items()}


def imported(name: str, path: Path, known: dict[str, Path], package: str) -> set[str]:
    """Return the modules of a package that one of them names in its imports, wherever they stand."""
    home = package.split(".") + [part for part in name.split(".") if part]
    home = home if path.name == "__init__.py" else home[:-1]
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = home[:len(home) + 1 - node.level] if node.level else []
            base = [*base, *filter(None, [node.module])]
            whole = [".".join([*base, alias.name]) for alias in node.names]
            names.update(each if relative(each, package) in known else ".".join(base) for each in whole)
    return {found for each in names if (found := relative(each, package)) in known and found != name}


def relative(name: str, package: str) -> str | None:
    """Return a module's name inside a package, None if it is not in it."""
    return name.removeprefix(package).removeprefix(".") if f"{name}.".startswith(f"{package}.") else None


def graph(package: str) -> networkx.DiGraph:
    """Return the imports among the modules of a package, itself left out: that imports for its users."""
    known = modules(package)
    found = networkx.DiGraph()
    for name, path in known.items():
        if name:
            found.add_node(name)
            found.add_edges_from((name, other) for other in imported(name, path, known, package) if other)
    return found


@pytest.mark.parametrize("package", LAYERS)
def test_no_circle(package):
    found = graph(package)
    print(package, *(f"  {name}: {', '.join(sorted(found[name]))}" for name in sorted(found)), sep="\n")
    assert [sorted(circle) for circle in networkx.strongly_connected_components(found) if len(circle) > 1] == []


@pytest.mark.parametrize("package", LAYERS)
def test_no_import_of_a_later_layer(package):
    level = {name: number for number, layer in enumerate(LAYERS[package]) for name in layer.split()}
    found = graph(package)
    place = {name: level[name.split(".")[0]] for name in found}
    assert [(name, other) for name, other in found.edges if place[other] > place[name]] == []
    assert set(level) == {name.split(".")[0] for name in found}


def test_the_page_shows_the_same_layers():
    page = (ROOT / "docs" / "architecture.md").read_text()
    shown = re.findall(r"^\| `([\w.]+)` \| `(.+)` \|$", page.split("### Layers")[1].split("\n#")[0], re.MULTILINE)
    assert dict(shown) == {package.removeprefix("caesura."): " < ".join(", ".join(layer.split()) for layer in layers)
                           for package, layers in LAYERS.items()}


def test_stages_of_the_compiler_are_in_one_order():
    """Each folder is a layer of its own; modules are found at all."""
    package = "caesura.software.compiler"
    found = graph(package)
    assert len(found) > 90 and {name.split(".")[0] for name in found if "." in name} < set(LAYERS[package])


def test_a_circle_is_found(tmp_path, monkeypatch):
    """One of a type-checking import and one inside a function, through a subpackage."""
    (tmp_path / "ring/part").mkdir(parents=True)
    for name, text in {"__init__": "from .b import x", "part/__init__": "", "a": "from .part import c",
                       "part/c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..b import x",
                       "b": "def f():\n    import ring.a"}.items():
        (tmp_path / f"ring/{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    circles = [circle for circle in networkx.strongly_connected_components(graph("ring")) if len(circle) > 1]
    assert circles == [{"a", "b", "part.c"}]
