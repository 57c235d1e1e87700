"""ptxas as a judge of legal PTX; tests that need it skip where it is not installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

__all__ = ["assert_legal"]

FRAME = """.version {version}
.target {target}
.address_size 64
{module}
.visible .entry k(.param .u64 o, .param .align 4 .b8 q[64])
{{
    .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .f64 %fd<9>;
    .reg .f16 %h<9>; .reg .f16x2 %hh<9>; .shared .align 16 .b8 s[256];
    {body}
    ret;
}}
"""


def assert_legal(body: str, folder: Path, module: str = "", version: str = "8.5", target: str = "sm_90") -> None:
    """Let ptxas compile statements in a frame of registers; skip the test if there is none."""
    program = shutil.which("ptxas")
    if program is None:
        pytest.skip("ptxas is not installed")
    source = folder / "judged.ptx"
    source.write_text(FRAME.format(version=version, target=target, module=module, body=body))
    found = subprocess.run([program, "-arch", target if target != "sm_13" else "sm_75", "-o", str(folder / "judged"),
                            str(source)], capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 0, found.stderr[:500]
