"""The Python API as a person meets it: names, printed forms, mappings, conversions."""

import subprocess
import sys

import numpy as np
import pytest

import caesura
from caesura import Mechanism, open_device, preset
from caesura.software.driver import Closed, DriverError, LaunchError, NoSuchKernel
from caesura.software.driver.machine.display import html_table
from caesura.software.kernels import kernel

SHORT = 120
"""Characters of a printed form, a line of a terminal."""


@pytest.fixture
def device():
    return open_device("golden", "gtx480")


@pytest.fixture
def module(device):
    return device.load_ptx(kernel("pathfinder").ptx_path)


def preempted(device, module, mechanism="live"):
    job = kernel("pathfinder").job("tiny")
    arrays = [device.array(v) if isinstance(v, np.ndarray) else v for v in job.arguments.values()]
    launch = module["pathfinder"](job.grid, job.block, arrays, job.shared_bytes)
    device.advance(300)
    return launch, device.preempt(launch, mechanism)


def test_importing_the_package_imports_nothing_else():
    program = ("import sys, caesura; heavy = {'numpy', 'amaranth', 'click', 'caesura.sim', 'caesura.software'}; "
               "print(sorted(heavy & {*sys.modules}), sorted({*caesura.__all__} - {*dir(caesura)}))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[] []\n" and not done.stderr


def test_names_at_the_top_are_those_below():
    from caesura.hw.arch.geometry import Geometry
    from caesura.software.compiler import compile_ptx

    assert caesura.Geometry is Geometry and caesura.compile_ptx is compile_ptx
    assert {name: getattr(caesura, name) for name in caesura.__all__}.keys() == {*caesura.__all__}
    assert caesura.__version__.split(".")[0].isdigit()
    with pytest.raises(AttributeError, match="module 'caesura' has no attribute 'open_devise'"):
        caesura.open_devise  # noqa: B018


def test_geometry_of_ones_own(tmp_path):
    g = preset("gtx480").replace(name="mine", warps=16, tb_slots=4)
    with caesura.open_device("golden", g) as device:
        assert device.geometry is g and "mine" in repr(device)


@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_printed_forms_are_short_and_take_no_time(backend):
    device = open_device(backend, "tiny", 1 << 17)
    module = device.load_ptx(kernel("vecadd").ptx_path)
    n = 160
    array = device.zeros((n,), np.int32)
    launch = module["vecadd"](20, 8, [array, array, array, n])
    device.advance(60)
    saved = device.preempt(launch, "occupied")
    contexts = device.context(launch)
    cycle = device.cycle
    shown = [device, module, module["vecadd"], array, launch, contexts, contexts[0], contexts[0].warps[0], device.heap,
             array.memory]
    for thing in shown:
        text = repr(thing)
        assert len(text) < SHORT * (len(contexts) if thing is contexts else 1) and "\n" not in text, text
        assert " object at 0x" not in text
    assert device.cycle == cycle
    assert repr(device) == f"Device({backend}, tiny, 131,072 bytes, cycle {cycle:,})"
    assert repr(module) == "Module(vecadd)"
    assert repr(module["vecadd"]) == f"Kernel(vecadd, 4 parameters, {len(module['vecadd'].image.code)} instructions)"
    assert module["vecadd"].signature.startswith("vecadd(u64* ")
    assert repr(launch).endswith(f"preempted, {launch.progress[0]} of 20 TBs)")
    assert repr(contexts[0]).startswith(f"TbContext(TB {contexts[0].launch_id}, occupied, 1 warps, 0 shared lines, ")
    assert saved.tbs == len(contexts)


def test_tables_for_notebooks(device, module):
    launch, _ = preempted(device, module)
    contexts = device.context(launch)
    table = contexts._repr_html_()
    assert table.count("<tr>") == 1 + sum(len(tb.warps) for tb in contexts)
    assert table.count("<td") == table.count("</td>") and "<th>barrier</th>" in table
    page = module._repr_html_()
    image = module["pathfinder"].image
    assert page.count("<tr>") == 2 and f">{len(image.code):,}</td>" in page and "pathfinder(" in page
    assert "&lt;" in html_table(["a"], [["<"]])


def test_module_is_a_mapping(device, module):
    assert list(module) == list(module.keys()) == ["pathfinder"] and len(module) == 1
    assert "pathfinder" in module and "path" not in module and 7 not in module
    assert dict(module) == {"pathfinder": module["pathfinder"]} == dict(module.items())
    assert [k.name for k in module.values()] == ["pathfinder"] and module.get("nothing") is None
    assert module == module and module != device.load(k.image for k in module.values()) and {module}
    with pytest.raises(NoSuchKernel) as caught:
        module["pathfindr"]
    assert isinstance(caught.value, KeyError) and isinstance(caught.value, LaunchError)
    assert str(caught.value) == "no entry 'pathfindr' in this module; did you mean 'pathfinder'? There are pathfinder"
    with pytest.raises(KeyError, match="no entry 'zzz' in this module; there are pathfinder"):
        module["zzz"]
    assert len(device.load([])) == 0 and repr(device.load([])) == "Module(no kernel)"


@pytest.mark.parametrize("mechanism", [*Mechanism, *(m.label for m in Mechanism)])
def test_mechanisms_by_value_and_by_name(device, module, mechanism):
    launch, saved = preempted(device, module, mechanism)
    assert saved and saved.way.mechanism is (mechanism if isinstance(mechanism, Mechanism) else Mechanism.of(mechanism))
    with pytest.raises(DriverError, match=r"no mechanism 'magic'; there are 'occupied', 'live', 'live\+cp', 'live\+"):
        device.preempt(launch, "magic")


def test_array_converts_by_numpy_and_copies_on_purpose(device):
    values = np.arange(12, dtype=np.int16).reshape(3, 4)
    array = device.array(values)
    copy = np.asarray(array)
    assert copy.dtype == np.int16 and (copy == values).all()
    copy[:] = 0
    assert (array.get() == values).all(), "a copy"
    assert np.asarray(array, np.float32).dtype == np.float32 and np.array(array, copy=True).shape == (3, 4)
    assert (np.concatenate([array, array]).shape, len(array), array.size, array.ndim) == ((6, 4), 3, 12, 2)
    if int(np.__version__.split(".")[0]) >= 2:
        with pytest.raises(ValueError, match="can only be copied: its memory is not the host's"):
            np.array(array, copy=False)
    with pytest.raises(ValueError, match="can only be copied"):
        array.__array__(copy=False)
    other = open_device("golden", "tiny", 1 << 16).array(array)
    assert (other.get() == values).all() and other.device is not device
    array.set(other)
    with pytest.raises(TypeError, match="without dimensions"):
        len(device.zeros(()))
    array.free()
    with pytest.raises(DriverError, match="has been freed"):
        np.asarray(array)
    assert repr(array) == "DeviceArray(int16, shape (3, 4), freed)"


def test_cycle_is_the_machines():
    for backend in ("golden", "rtl"):
        device = open_device(backend, "tiny", 1 << 16)
        before = device.cycle
        device.advance(17)
        assert device.cycle == before + 17 == device.cycle
        device.close()
        with pytest.raises(Closed):
            device.cycle  # noqa: B018
