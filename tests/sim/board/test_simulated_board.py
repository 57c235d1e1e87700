"""The driver on a simulated board: kernels are preempted and come back; the line is bad, the host goes.

The board has an SM of its own, which takes minutes to build: `make test` leaves it to the tests of `hw/board` and of
the driver.
"""

import functools
import os
import random
import select
import threading
import tty
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.board_protocol import MAX_DATA, Request, Status
from caesura.sim.board import SimulatedLine, simulated_board
from caesura.sim.board.line import FRAME_PATIENCE
from caesura.sim.scenario import differences, shipped_work, start_job
from caesura.software.driver import Device, KernelFault
from caesura.software.driver.machine.board import BoardError, SerialTransport, open_board
from caesura.software.driver.machine.board.frames import Answer, FrameSplitter, request_frame
from caesura.software.job import load_geometry
from support.checkout import ROOT
from support.hw.board_bench import NoisyLine
from support.keys import read_json
from support.programs.stir import WORDS, image, stirred

G = load_geometry(Path(ROOT) / "examples/ulx3s.toml")
STIR = image(16)
BLOCK, BLOCKS, ROUNDS = 48, 3, 4
TIMEOUT = 0.01
"""Seconds, of 1,000,000 cycles each."""
LIMIT = 2_000_000


@functools.cache
def _first():
    return simulated_board(G)


def board(pins=False):
    """A line to a board that has just been switched on."""
    return SimulatedLine(_first().library, pins)


def opened(line, timeout=TIMEOUT, **options):
    return SerialTransport(line, "board", timeout=timeout, **options)


class Stirring:
    """A launch with constants, local, shared and global memory, after some cycles."""

    def __init__(self, device, cycles=3000, rounds=ROUNDS):
        self.device, self.rounds = device, rounds
        self.words = np.random.default_rng(3).integers(0, 1 << 32, WORDS, np.uint32)
        zeros = [device.zeros(BLOCK * BLOCKS, np.uint32) for _ in range(2)]
        self.arrays = zeros[0], device.array(self.words), zeros[1], device.zeros(1, np.uint32)
        self.launch = device.load([STIR])["stir"](BLOCKS, BLOCK, [*self.arrays, rounds])
        device.run(self.launch, cycles)

    def finishes(self):
        self.device.wait(self.launch, LIMIT)
        self.check([self.arrays[0], self.arrays[2]])

    def check(self, arrays):
        for array, expected in zip(arrays, stirred(self.words, BLOCK * BLOCKS, self.rounds), strict=True):
            assert np.array_equal(array.get(), expected)


@pytest.mark.full
@pytest.mark.parametrize("mechanism", ["live", "occupied", "live+cp"])
def test_preempted_in_the_middle_it_ends_as_if_nothing_had_happened(mechanism):
    device = Device(opened(board()))
    stirring = Stirring(device)
    report = device.preempt(stirring.launch, mechanism, max_cycles=LIMIT)
    assert report and report.tbs and not stirring.launch.finished
    other = shipped_work("hostile", G)
    meanwhile, arrays = start_job(device, device.load([other.image])[other.image.name], other.job)
    device.wait(meanwhile, LIMIT)
    assert not any(differences(other.job, arrays).values())
    assert device.resume(stirring.launch, max_cycles=LIMIT)
    stirring.finishes()


@pytest.mark.full
def test_a_kernel_of_the_suite_is_the_same_to_the_bit():
    """Alone, and preempted half-way."""
    work = shipped_work("collatz", G, "tiny")
    results, cycles = [], 0
    for preempted in (False, True):
        device = Device(opened(board()))
        launch, arrays = start_job(device, device.load([work.image])[work.image.name], work.job)
        if preempted:
            device.run(launch, cycles // 2)
            assert device.preempt(launch, "live", max_cycles=LIMIT) and not launch.finished
            device.resume(launch, max_cycles=LIMIT)
        cycles = device.wait(launch, LIMIT)
        assert not any(differences(work.job, arrays).values())
        results.append({name: array.get().tobytes() for name, array in arrays.items()})
    assert results[0] == results[1]


@pytest.mark.full
def test_bit_by_bit_through_the_uart():
    line = board(pins=True)
    device = Device(opened(line, 0.1))
    stirring = Stirring(device, 500, 40)
    assert device.preempt(stirring.launch, "live", max_cycles=LIMIT)
    device.resume(stirring.launch, max_cycles=LIMIT)
    stirring.finishes()


@pytest.mark.full
def test_over_a_noisy_line():
    line = NoisyLine(board(), random.Random(5), 0.0)
    transport = opened(line, tries=20)
    line.rate = 0.001
    stirring = Stirring(Device(transport))
    if stirring.device.preempt(stirring.launch, "live", max_cycles=LIMIT):
        stirring.device.resume(stirring.launch, max_cycles=LIMIT)
    stirring.device.wait(stirring.launch, LIMIT)
    line.rate = 0.0
    stirring.check([stirring.arrays[0], stirring.arrays[2]])
    assert line.events > 3 and transport.link.repeated > 1


@pytest.mark.full
def test_another_host_takes_over_what_the_first_has_left():
    """The first disappears in the middle of a burst, with its launch preempted; the second resets the board, whose
    memory stays, and brings the launch back from there."""
    line = board()
    first = Stirring(Device(opened(line)))
    assert first.device.preempt(first.launch, "live", max_cycles=LIMIT)
    handle = first.launch.handle
    line.write(request_frame(1, Request.WRITE_MEMORY, 0x8000, MAX_DATA, bytes(MAX_DATA))[:300])
    line.run(700)
    second = Device(opened(line))
    launch = second.adopt(handle, STIR, max_cycles=LIMIT)
    arrays = [second.array_at(first.arrays[k].memory.address, BLOCK * BLOCKS, np.uint32) for k in (0, 2)]
    second.resume(launch, max_cycles=LIMIT)
    second.wait(launch, LIMIT)
    first.check(arrays)


@pytest.mark.full
def test_nothing_on_the_line_disturbs_a_kernel_that_runs():
    """Garbage, a frame that is cut off, one that is too long."""
    line = board()
    stirring = Stirring(Device(opened(line)), 100)
    rng = random.Random(6)
    for noise in (rng.randbytes(200), request_frame(9, Request.WRITE_MEMORY, 0, 64, bytes(64))[:40], bytes(2000)):
        line.write(noise)
        line.run(2 * FRAME_PATIENCE)
    line.timeout = 0.001
    said = [Answer.unpack(body) for body in FrameSplitter().feed(line.read(10000))]
    assert said and {answer.status for answer in said} <= {Status.DAMAGED, Status.TRUNCATED, Status.TOO_LONG}
    stirring.finishes()


@pytest.mark.full
def test_memory_that_is_not_there():
    """The driver believes in twice the memory: a kernel's accesses to the rest are faults, the host's an error."""
    transport = opened(board())
    there = transport.memory_bytes
    transport.memory_bytes = 2 * there
    device = Device(transport)
    with pytest.raises(BoardError, match="the board's memory answers with an error.*write_memory"):
        device.array(np.zeros(4, np.uint32))
    work = shipped_work("collatz", G, "tiny")
    kernel = device.load([work.image])[work.image.name]
    arguments = [there + 4096 if isinstance(value, np.ndarray) else value for value in work.job.arguments.values()]
    with pytest.raises(KernelFault, match="BUS_ERROR"):
        device.wait(kernel(work.job.grid, work.job.block, arguments), LIMIT)


@pytest.mark.full
def test_the_command_line_runs_on_a_board(tmp_path):
    result = CliRunner().invoke(main, ["preempt", "collatz", "--size", "tiny", "--board", "simulated", "--geometry",
                                       str(ROOT / "examples/ulx3s.toml"), "--at", "5000", "--json", "-"])
    assert result.exit_code == 0, result.output
    found = read_json("preempt", result.stdout)
    assert found["backend"] == "board" and found["correct"] and found["preemptions"][0]["preempt"]["tbs"]


@pytest.mark.parametrize("arguments, message", [
    (["--board", "simulated"], "a simulated board has the SM that --geometry or --preset say"),
    (["--board", "/dev/no-such-port"], "/dev/no-such-port cannot be opened"),
    (["--board", "x", "--backend", "rtl"], "--backend is of simulators of an SM"),
    (["--board", "x", "--vcd", "x.vcd", "--at", "3"], "--vcd is of simulators of an SM"),
    (["--board", "x", "--statistics"], "--statistics is of simulators of an SM")])
def test_what_does_not_go_with_a_board(arguments, message):
    result = CliRunner().invoke(main, ["run", "collatz", *arguments])
    assert result.exit_code == 2 and message in result.output


@pytest.mark.full
def test_a_port_that_is_one():
    """pyserial on a pseudo-terminal, at whose other end the board is."""
    own, other = os.openpty()
    tty.setraw(own)
    line, ended = board(), threading.Event()
    line.timeout = 0.0002

    def pump():
        while not ended.is_set():
            if select.select([own], [], [], 0 if line.in_waiting else 0.001)[0]:
                line.write(os.read(own, 4096))
            if data := line.read(max(1, line.in_waiting)):
                os.write(own, data)

    pumping = threading.Thread(target=pump, daemon=True)
    pumping.start()
    try:
        with Device(open_board(os.ttyname(other))) as device:
            Stirring(device, 100, rounds=1).finishes()
        found = CliRunner().invoke(main, ["board", "identify", os.ttyname(other)])
        assert found.exit_code == 0 and "simulated, ulx3s, 1 MHz, 262,144 bytes of memory" in found.output
    finally:
        ended.set()
        pumping.join()
        os.close(own)
        os.close(other)
