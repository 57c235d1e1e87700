"""Where errors end: each kind of exception of a command, and what the user sees of it."""

import signal
import subprocess
import sys
import time

import click
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.cli.errors import Group
from caesura.errors import InputError, ToolError, UserError
from caesura.hw.export.verilog import ExportError
from caesura.sim.rtl.verilator import BuildError
from caesura.software.compiler import CompileError, ImageError
from caesura.software.driver import DriverError, KernelFault
from caesura.software.job import JobError

OURS = (CompileError, ImageError, JobError, DriverError, BuildError, ExportError)


def ended(error, tmp_path):
    """Run a command that ends with `error`; return exit code and what it printed on standard error."""
    @click.group(cls=Group)
    def tool():
        pass

    @tool.command()
    def fail():
        raise error

    environment = {"CAESURA_CACHE": str(tmp_path)}
    done = CliRunner().invoke(tool, ["fail"], env=environment, standalone_mode=True)
    return done.exit_code, done.stderr


@pytest.mark.parametrize("kind", OURS)
def test_errors_of_ours_are_messages_for_the_user(kind):
    assert issubclass(kind, UserError)


@pytest.mark.parametrize(("error", "code"), [
    (InputError("no such thing; take another"), 2), (ToolError("g++ is missing; install it"), 2),
    (KernelFault(None, "k", 1), 3), (FileNotFoundError(2, "No such file or directory", "a.ptx"), 2)])
def test_what_a_user_can_mend_is_one_line(error, code, tmp_path):
    got, text = ended(error, tmp_path)
    assert got == code and text.startswith("caesura: ") and text.count("\n") == 1 and "Traceback" not in text


@pytest.mark.parametrize("arguments", [
    ["--nosuch"], ["--nosuch", "run", "vecadd"], ["--version=3"], ["run", "nosuch"], ["nosuch"],
    ["run", "vecadd", "--nosuch"], ["bench", "nosuch"], ["preempt", "vecadd", "--at", "x"],
    ["compile", "no.ptx"], ["asm"]])
def test_a_wrong_option_is_one_line_too(arguments):
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2 and done.stderr.startswith("caesura: ") and done.stderr.count("\n") == 1
    assert "--help` says more" in done.stderr


def test_no_command_at_all_shows_the_commands():
    assert "explain" in CliRunner().invoke(main, []).output


def test_memory_that_runs_out_says_what_to_do(tmp_path):
    code, text = ended(MemoryError(), tmp_path)
    assert code == 2 and "ulimit" in text and text.count("\n") == 1


def test_an_interrupt_exits_with_130(tmp_path):
    assert ended(KeyboardInterrupt(), tmp_path) == (130, "caesura: interrupted\n")


@pytest.mark.parametrize("error", [ValueError("a\nb"), AssertionError("x"), RecursionError("deep"), KeyError("y")])
def test_a_defect_of_ours_says_what_to_report(error, tmp_path):
    code, text = ended(error, tmp_path)
    assert code == 70 and "report it" in text and "Traceback" not in text and text.count("\n") == 2
    (file,) = (tmp_path / "reports").iterdir()
    assert str(file) in text and "Traceback" in file.read_text() and type(error).__name__ in file.read_text()


def test_a_report_that_cannot_be_written_is_printed(tmp_path):
    (tmp_path / "reports").write_text("a file where the folder belongs")
    code, text = ended(ValueError("x"), tmp_path)
    assert code == 70 and "Traceback" in text


def test_a_reader_that_goes_away_is_no_error():
    command = [sys.executable, "-m", "caesura.cli", "disasm", "--help"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None and child.stderr is not None
    child.stdout.close()
    errors = child.stderr.read()
    child.wait(60)
    child.stderr.close()
    assert errors == b""


def test_an_interrupt_while_the_command_line_is_imported_is_quiet():
    program = ("import sys\nclass Interrupt:\n    def find_spec(self, name, *_):\n"
               "        if name == 'click': raise KeyboardInterrupt\n"
               "sys.meta_path.insert(0, Interrupt())\nimport caesura.cli")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_of_a_running_command_is_answered_within_a_second():
    program = ("import click, sys; from caesura.cli.errors import Group\n"
               "@click.group(cls=Group)\ndef tool(): pass\n"
               "@tool.command()\ndef spin():\n    print('ready', flush=True)\n    while True: pass\ntool(['spin'])")
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        started = time.monotonic()
        _, errors = child.communicate(timeout=30)
    finally:
        child.kill()
    assert child.returncode == 130 and errors.endswith("caesura: interrupted\n")
    assert time.monotonic() - started < 5
