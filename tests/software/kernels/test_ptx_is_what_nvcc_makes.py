"""The PTX that ships is what nvcc makes of the CUDA source beside it."""

import re
import shutil
import subprocess

import pytest

from caesura.software.kernels import KERNELS

RELEASE = re.compile(r"release ([\d.]+, V[\d.]+)")


@pytest.mark.full
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_ptx_is_what_nvcc_makes_of_the_source(tmp_path):
    said = subprocess.run(["nvcc", "--version"], check=True, capture_output=True, text=True).stdout
    releases = {name: RELEASE.findall(k.ptx_path.read_text()) for name, k in KERNELS.items()}
    assert {tuple(found) for found in releases.values()} == {tuple(found) for found in [releases["vecadd"]]}, releases
    if RELEASE.findall(said) != releases["vecadd"]:
        pytest.skip(f"nvcc is of release {RELEASE.findall(said)}; the PTX is of {releases['vecadd']}")
    made, different = tmp_path / "made.ptx", []
    for name, k in KERNELS.items():
        subprocess.run(["nvcc", "-ptx", "-arch=sm_75", "-O3", k.cuda_path, "-o", made], check=True)
        if made.read_text() != k.ptx_path.read_text():
            different.append(name)
    assert not different
