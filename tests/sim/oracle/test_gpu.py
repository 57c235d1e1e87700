"""The host's side of a real GPU as judge, on a stand-in for the CUDA driver, and that it is left out where none is."""

import ctypes
import json
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli.bench import bench_group
from caesura.hw.arch.geometry import preset
from caesura.sim import open_device
from caesura.sim.bench import gpu as bench
from caesura.sim.oracle import CudaGpu, GpuError, open_gpu, pinned, run_job
from caesura.software.compiler import compile_ptx
from caesura.software.driver import DriverError
from caesura.software.kernels import KERNELS, kernel

FAULT = 700


class Cuda:
    """``cuda.bindings.driver`` with the golden model for a GPU: it takes what that takes, addresses of host memory too.

    Parameters
    ----------
    broken : str
        Kernel that faults; after it every call fails, until the context is made anew.
    flip : str
        Kernel after which a bit of the first allocation is wrong.
    count : int
        Devices there are.
    always : bool
        The flip happens also to what is compiled without optimisations.
    """

    CUdevice_attribute = SimpleNamespace(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=75,
                                         CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=76)

    def __init__(self, broken="", flip="", count=1, always=True):
        self.broken, self.flip, self.count, self.always = broken, flip, count, always
        self.contexts, self.failed, self.calls = 0, False, []

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append(name)
            if self.failed and not name.startswith(("cuDevice", "cuInit", "cuDriver", "cuCtxSet")):
                return (FAULT,)
            return getattr(self, f"_{name}")(*arguments)

        if not name.startswith("cu"):
            raise AttributeError(name)
        return call

    def cuGetErrorString(self, status):
        return 0, {FAULT: b"an illegal memory access was encountered"}[status]

    def _cuInit(self, flags):
        return (flags,)

    def _cuDeviceGetCount(self):
        return 0, self.count

    def _cuDeviceGet(self, number):
        return 0, 40 + number

    def _cuDeviceGetName(self, size, device):
        return 0, b"Golden GPU\0\0\0"

    def _cuDriverGetVersion(self):
        return 0, 13020

    def _cuDeviceGetAttribute(self, attribute, device):
        return 0, {75: 9, 76: 0}[attribute]

    def _cuDevicePrimaryCtxRetain(self, device):
        self.contexts, self.failed, self.arrays = self.contexts + 1, False, {}
        self.device = open_device("golden", preset("gtx480").replace(stack_depth=36))
        return 0, "context"

    def _cuCtxSetCurrent(self, context):
        assert context == "context"
        return (0,)

    def _cuDevicePrimaryCtxReset(self, device):
        self.failed = False
        return (0,)

    def _cuDevicePrimaryCtxRelease(self, device):
        self.contexts -= 1
        return (0,)

    def _cuModuleLoadData(self, address):
        return 0, self.device.load(compile_ptx(ctypes.string_at(address).decode()).values())

    CUjit_option = SimpleNamespace(CU_JIT_OPTIMIZATION_LEVEL=7)

    def _cuModuleLoadDataEx(self, address, count, options, values):
        assert (count, options, values) == (1, [7], [0])
        self.flip = self.flip if self.always else ""
        return self._cuModuleLoadData(address)

    def _cuModuleGetFunction(self, module, name):
        return 0, module[name.decode()]

    def _cuMemAlloc(self, size):
        assert size > 0
        array = self.device.empty(size, np.uint8)
        self.arrays[array.address] = array
        return 0, array.address

    def _cuMemFree(self, address):
        self.arrays.pop(address).free()
        return (0,)

    def _cuMemcpyHtoD(self, to, source, size):
        self.device.transport.write_memory(to, ctypes.string_at(source, size))
        return (0,)

    def _cuMemcpyDtoH(self, to, source, size):
        ctypes.memmove(to, self.device.transport.read_memory(source, size), size)
        return (0,)

    def _cuLaunchKernel(self, entry, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        assert (stream, extra) == (0, 0)
        places = (ctypes.c_void_p * len(entry.image.parameters)).from_address(parameters)
        values = [ctypes.string_at(place, p.size) for place, p in zip(places, entry.image.parameters, strict=True)]
        launch = entry((gx, gy, gz), (bx, by, bz), values, shared)
        try:
            if entry.name == self.broken:
                raise DriverError("broken")
            self.device.wait(launch)
        except DriverError:
            self.failed = True
        if entry.name == self.flip:
            last = max(self.arrays)
            self.device.transport.write_memory(last, bytes([self.device.transport.read_memory(last, 1)[0] ^ 1]))
        return (0,)

    def _cuCtxSynchronize(self):
        return (FAULT,) if self.failed else (0,)


@pytest.mark.parametrize("name", ["vecadd", "histogram", "nbody", "hybridsort"])
def test_job_runs_on_the_driver_as_on_the_golden_model(name):
    """Pointers, numbers of every size, dynamic shared memory, atomics."""
    cuda = Cuda()
    result = bench.run([name], "tiny", opened=lambda: CudaGpu(cuda))
    assert result["met"] and result["gpu"] == {"name": "Golden GPU", "capability": [9, 0], "driver": "13.2"}
    (row,) = result["runs"]
    assert (row["wrong_by_reference"], row["wrong_by_golden"], row["refused"]) == (0, 0, None) and row["elements"] > 0
    assert cuda.contexts == 0 and not cuda.arrays, "everything was given back"


def test_wrong_bit_and_a_fault_are_found_and_the_rest_goes_on(tmp_path):
    cuda, page = Cuda(broken="reduction", flip="pathfinder"), tmp_path / "page.md"
    result = bench.run(["vecadd", "reduction", "pathfinder", "saxpy"], "tiny", opened=lambda: CudaGpu(cuda))
    vecadd, reduction, pathfinder, saxpy = result["runs"]
    assert not result["met"] and cuda.contexts == 0
    assert reduction["refused"] == "cuCtxSynchronize: an illegal memory access was encountered"
    assert pathfinder["wrong_by_reference"] == pathfinder["wrong_by_golden"] == 1 and pathfinder["max_error"] == 1
    for row in (vecadd, saxpy):
        assert row["wrong_by_reference"] == row["wrong_by_golden"] == 0 and row["refused"] is None
    page.write_text(f"# GPU\n{bench.BEGIN}\nold\n{bench.END}\nrest\n")
    bench.update_markdown(page, result)
    text = page.read_text()
    assert "Golden GPU (compute capability 9.0, CUDA 13.2), size tiny, seed 1: 2 of 4 kernels right." in text
    assert "\nold" not in text and text.count("\n| ") == 6 and text.endswith("rest\n")


def test_random_kernels_are_judged_too():
    result = bench.run(["vecadd"], "tiny", 5, 8, opened=lambda: CudaGpu(Cuda()))
    assert result["met"] and result["random"] == {"kernels": 8, "wrong": []}
    assert bench.markdown(result).startswith("Golden GPU") and "8 of 8 random kernels right" in bench.markdown(result)


@pytest.mark.full
def test_random_kernel_that_comes_out_otherwise_or_faults_is_named():
    result = bench.run(["vecadd"], "tiny", 5, 4, opened=lambda: CudaGpu(Cuda(flip="random_kernel")))
    assert not result["met"] and [row["wrong_words"] for row in result["random"]["wrong"]] == [1] * 4
    assert "0 of 4 random kernels right (wrong: seed 5 (structured): 1 words" in bench.markdown(result)
    result = bench.run(["vecadd"], "tiny", 5, 1, opened=lambda: CudaGpu(Cuda(flip="random_kernel", always=False)))
    assert result["met"] and "1 of 1 random kernels right, 1 of them only without" in bench.markdown(result)
    cuda = Cuda(broken="random_kernel")
    result = bench.run(["vecadd"], "tiny", 5, 4, opened=lambda: CudaGpu(cuda))
    assert [row["refused"] for row in result["random"]["wrong"]] == [
        "cuCtxSynchronize: an illegal memory access was encountered"] * 4
    assert cuda.contexts == 0


def test_kernel_is_loaded_with_every_rounding_named():
    assert pinned("add.f32 a; mul.ftz.f32 b; sub.f64 c; add.sat.f32 e;") == (
        "add.rn.f32 a; mul.rn.ftz.f32 b; sub.rn.f64 c; add.rn.sat.f32 e;")
    same = "add.rn.f32 a; fma.rn.f32 b; add.s32 c; mul.wide.u32 d; mul.lo.s32 e; add.rz.f64 f; red.global.add.f32 g;"
    assert pinned(same) == same


@pytest.mark.parametrize("name", ["saxpy", "nbody", "histogram"])
def test_naming_the_rounding_changes_nothing_here(name):
    text = kernel(name).ptx_path.read_text()
    assert compile_ptx(pinned(text))[name].code == compile_ptx(text)[name].code


def test_no_shipped_kernel_uses_an_operation_whose_bits_ptx_leaves_open():
    """So all of them are judged to the bit."""
    for shipped in KERNELS.values():
        assert ".approx" not in shipped.ptx_path.read_text() and not shipped.job("tiny").tolerance


def test_refusals_of_the_driver_are_messages():
    with pytest.raises(GpuError, match="there is no GPU 0"):
        CudaGpu(Cuda(count=0))
    gpu = CudaGpu(Cuda())
    job = kernel("vecadd").job("tiny")
    with pytest.raises(Exception, match="nothing"):
        run_job(gpu, kernel("vecadd").ptx_path.read_text(), "nothing", kernel("vecadd").image().parameters, job)


def no_driver():
    def missing(*_):
        raise RuntimeError("libcuda.so.1 was not found")

    return CudaGpu(SimpleNamespace(cuInit=missing))


def test_without_a_driver_it_is_left_out_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "open_gpu", no_driver)
    monkeypatch.setattr(bench.run, "__defaults__", (*bench.run.__defaults__[:-1], no_driver))
    result = CliRunner().invoke(bench_group, ["gpu"])
    assert result.exit_code == 0 and "not run: there is no NVIDIA driver: libcuda.so.1 was not found" in result.output
    written = tmp_path / "gpu.json"
    assert CliRunner().invoke(bench_group, ["gpu", "--json", str(written)]).exit_code == 0
    assert json.loads(written.read_text())["skipped"].startswith("there is no NVIDIA driver")


def test_without_the_package_the_reason_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings.driver", None)
    with pytest.raises(GpuError, match=r"cuda-bindings is not installed \(pip install 'caesura\[gpu\]'\)"):
        open_gpu()


def test_gpu_of_this_machine_agrees():
    """For real, where there is one; else skipped with the reason."""
    try:
        open_gpu().close()
    except GpuError as reason:
        pytest.skip(str(reason))
    result = bench.run(size="tiny")
    assert result["met"], [row for row in result["runs"] if row["refused"] or row["wrong_by_golden"]]
