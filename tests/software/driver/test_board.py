"""The driver's side of a board's line, against the bridge: noise, silence, other boards, a line that goes."""

import importlib
import random
import sys

import pytest

from caesura.errors import InputError
from caesura.hw.arch.board_protocol import IDENTITY, Identity
from caesura.hw.arch.geometry import preset
from caesura.software.driver.machine.board import BoardError, SerialTransport, open_board
from support.hw.board_bench import WRITES, BridgedMemory, NoisyLine, SteppedLine
from support.selection import quick

TINY = preset("tiny")
SIZE = 1 << 13
TIMEOUT = 0.0009
"""Seconds, of 1,000,000 cycles each."""


def line(identity=None):
    return SteppedLine(BridgedMemory(TINY, SIZE, identity))


@pytest.fixture(scope="module")
def quiet():
    """One for all tests; it is reset by each that opens it."""
    return line()


def opened(quiet, **options):
    return SerialTransport(quiet, "port", timeout=TIMEOUT, **options)


def test_what_a_board_says_is_taken_over(quiet):
    board = opened(quiet, geometry=TINY)
    assert (board.geometry, board.memory_bytes, board.cycle) == (TINY, SIZE, 0)
    assert board.identity == Identity("bench", TINY, SIZE, 1_000_000)


def test_registers_memory_and_time(quiet):
    board = opened(quiet)
    board.write_register(8, 0x12C0DB34)
    assert board.read_register(8) == 0x12C0DB34 and board.peek_register(8) is None
    data = random.Random(1).randbytes(1030)
    board.write_memory(77, data)
    assert board.read_memory(77, 1030) == data and board.read_memory(5, 0) == b""
    began = board.cycle
    assert 700 <= board.advance(700) == board.cycle - began
    assert board.wait(300) >= 300
    quiet.set(interrupt=1)
    assert board.wait(1 << 40) < 1000
    quiet.set(interrupt=0)


@pytest.mark.parametrize("address, size", quick(
    [(SIZE, 1), (SIZE - 3, 4), (-1, 4), (1 << 32, 4)], [(SIZE - 3, 4)]))
def test_beyond_the_memory(quiet, address, size):
    board = opened(quiet)
    with pytest.raises(InputError, match="not within the board's memory of 8192 bytes"):
        board.read_memory(address, size)
    with pytest.raises(InputError, match="not within"):
        board.write_memory(address, bytes(size))


@pytest.mark.full
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_noisy_line_only_takes_longer(quiet, seed):
    """Every register is written once, however often that is asked for; memory is what was written."""
    rng = random.Random(seed)
    board = opened(NoisyLine(quiet, rng, 0.0), tries=30)
    first, kept = board.read_register(WRITES), bytearray(board.read_memory(0, 512))
    board._line.rate = 0.01
    registers = {}
    for number in range(10):
        address, value = 4 * rng.randrange(1, 60), rng.getrandbits(32)
        board.write_register(address, value)
        registers[address] = value
        begin, data = rng.randrange(400), rng.randbytes(rng.randrange(40))
        board.write_memory(begin, data)
        kept[begin:begin + len(data)] = data
        assert board.read_register(WRITES) == first + number + 1
    assert b"".join(board.read_memory(begin, 32) for begin in range(0, 512, 32)) == kept
    assert {address: board.read_register(address) for address in registers} == registers
    assert board.link.repeated > 2 and board._line.events > 5


def test_a_line_that_is_too_noisy(quiet):
    board = opened(NoisyLine(quiet, random.Random(1), 0.0))
    board._line.rate = 0.5
    with pytest.raises(BoardError, match=r"^port: .*(damaged|no answer).* \(4 tries\)$"):
        board.read_memory(0, 512)


class Silent:
    """A port with nothing at its end, or one that says the same for ever."""

    timeout = None
    in_waiting = 0

    def __init__(self, says=b""):
        self.says, self.written, self.closed = says, 0, False

    def read(self, size=1):
        return self.says * size

    def write(self, data):
        self.written += 1

    def reset_input_buffer(self):
        pass

    def close(self):
        self.closed = True


def test_nothing_answers():
    silent = Silent()
    with pytest.raises(BoardError, match=r"^port7: no answer; is the board on, .* \(4 tries\)$"):
        open_board("port7", opener=lambda port, baud: silent)
    assert silent.written == 4 and silent.closed


def test_something_else_speaks():
    with pytest.raises(BoardError, match="bytes come without end; is this the board's port"):
        SerialTransport(Silent(b"x"), "port")


class Talking(Silent):
    """A port at whose end something sends lines of text again and again, so many seconds apart, once it has been
    written to."""

    def __init__(self, says, pause):
        super().__init__(says)
        self.pause, self.seconds = pause, 0.0

    def read(self, size=1):
        self.seconds += min(self.pause, self.timeout)
        assert self.seconds < 30, "it never ends"
        return self.says if self.written and self.timeout >= self.pause else b""


@pytest.mark.parametrize("says, pause, message", [
    (b"$GPGGA,123\r\n", 0.01, "bytes come without end; is this the board's port"),
    (b"$GPGGA,123\r\n", 0.4, "damaged; is the line noisy, or is this not the board's port or baud rate"),
    (b"\xC0" * 9, 0.01, "bytes come without end"), (b"\xC0\xC0\x12\xDB" * 3, 0.01, "bytes come without end"),
    (b"\0" * 5000, 0.4, "bytes come without end")], ids=["text", "slow text", "ends", "frames", "zeros"])
def test_something_else_speaks_when_it_is_spoken_to(says, pause, message):
    talking = Talking(says, pause)
    with pytest.raises(BoardError, match=rf"^port7: .*{message}.*\? \(4 tries\)$"):
        open_board("port7", opener=lambda port, baud: talking)
    assert talking.written == 4 and talking.closed


@pytest.mark.full
def test_answers_of_earlier_tries_may_come_late(quiet):
    """Each request seems to be lost three times, and all its answers come together then."""
    class Late(NoisyLine):
        asked = 0

        def read(self, size=1):
            if self.asked % 4:
                self.line.run(1000)
                return b""
            return super().read(size)

        def write(self, data):
            self.asked += 1
            super().write(data)

        @property
        def in_waiting(self):
            return self.line.in_waiting if self.asked % 4 == 0 else 0

    board = opened(quiet)
    data = random.Random(3).randbytes(300)
    board.write_memory(0, data)
    board._line = board.link._line = Late(quiet, random.Random(1), 0.0)
    assert board.read_memory(0, 300) == data
    first = board.read_register(WRITES)
    board.write_register(8, 77)
    board._line = board.link._line = quiet
    assert (board.read_register(8), board.read_register(WRITES)) == (77, first + 1)


PACKED = Identity("bench", TINY, SIZE, 1_000_000).packed()


@pytest.mark.parametrize("identity, message", [
    (b"LITE" + PACKED[4:], "it answers, but is no Caesura board"),
    (IDENTITY.pack(b"CAES", 9, 2) + b"{}", "the board speaks version 9 of the protocol, this package version 1"),
    (IDENTITY.pack(b"CAES", 1, 2) + b"{}", "of another version of the package"),
    (PACKED.replace(b'"traps"', b'"tramp"'), "of another version of the package"),
    (PACKED.replace(b'"warps":4', b'"warps":0'), "warps must be 1 to 64, not 0")])
def test_another_board(identity, message):
    with pytest.raises(InputError, match=message):
        Identity.unpack_head(identity[:IDENTITY.size])
        Identity.unpack_text(identity[IDENTITY.size:])


def test_another_board_is_told():
    with pytest.raises(BoardError, match="^port: it answers, but is no Caesura board"):
        SerialTransport(line(b"LITE" + PACKED[4:]), "port", timeout=TIMEOUT)


def test_another_geometry(quiet):
    with pytest.raises(BoardError, match=r"the board's geometry 'tiny' is not 'mine': warps 4 \(not 2\), tb_slots 2 "
                                         r"\(not 1\); leave the geometry out"):
        opened(quiet, geometry=TINY.replace(name="mine", warps=2, tb_slots=1))


def test_a_line_that_goes(quiet):
    board = opened(quiet)

    def gone(data):
        raise OSError(5, "Input/output error")
    board._line = board.link._line = Silent()
    board._line.write = gone
    with pytest.raises(BoardError, match="^port: the line is gone .*Input/output error.* connect the board"):
        board.read_register(0)


def test_an_error_of_the_bus_is_told(quiet):
    board = opened(quiet)
    board.memory_bytes = 2 * SIZE
    with pytest.raises(BoardError, match="the board's memory answers with an error.*write_memory at 0x2000, 4 bytes"):
        board.write_memory(SIZE, b"1234")


@pytest.mark.full
def test_without_a_reset_what_is_there_stays(quiet):
    opened(quiet).advance(500)
    board = opened(quiet, reset=False)
    assert board.cycle > 500


def test_a_port_that_is_not_there(tmp_path):
    with pytest.raises(BoardError, match="nothing cannot be opened: .*serial.tools.list_ports"):
        open_board(str(tmp_path / "nothing"))


def test_pyserial_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "serial", None)
    importlib.invalidate_caches()
    with pytest.raises(BoardError, match=r"pyserial is missing.*pip install 'caesura\[board\]'"):
        open_board("/dev/ttyUSB0")
