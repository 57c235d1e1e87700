"""What ``caesura compile`` imports: most of a small file's time.

Numbers of modules are held, times are not. Heavy packages are for other commands: the simulator, register maps as
SystemRDL, terminals, reading ELF files.
"""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
from caesura.cli import main
main(sys.argv[1:], standalone_mode=False)
"""
ENDING = """
import atexit, sys
def tell():
    files = {name: getattr(module, "__file__", None) or "" for name, module in list(sys.modules.items())}
    print(len(files), *sorted({name.split(".")[0] for name, file in files.items() if "site-packages" in file}))
atexit.register(tell)
"""
KERNEL = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\n\tret;\n}\n"
ALLOWED = {"click", "lark", "platformdirs"}
MOST_MODULES = 400


@pytest.fixture
def compile_file(tmp_path):
    """Return a function that runs the command in a process, and returns how many modules and which packages it has."""
    def run():
        image = tmp_path / "k.elf"
        done = subprocess.run([sys.executable, "-c", ENDING + SCRIPT, "compile", str(source), "-o", str(image)],
                              capture_output=True, text=True, timeout=60,
                              env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")})
        assert done.returncode == 0 and image.exists(), done.stderr
        count, *packages = done.stdout.splitlines()[-1].split()
        return int(count), {name for name in packages if not name.startswith("_")}  # how the checkout is installed

    source = tmp_path / "k.ptx"
    source.write_text(KERNEL)
    return run


def test_compiling_imports_the_compiler_and_little_else(compile_file):
    count, packages = compile_file()
    assert packages <= ALLOWED and "lark" in packages
    assert count < MOST_MODULES


def test_what_is_in_the_cache_needs_no_parser(compile_file):
    compile_file()
    _, packages = compile_file()
    assert packages <= {"click", "platformdirs", "elftools"}
