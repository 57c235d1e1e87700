"""The host bridge: every request, on buses of every width; what is damaged, cut off, repeated or not answered."""

import random
import zlib

import pytest

from caesura.hw.arch.board_protocol import IDENTITY, MAX_DATA, Request, Status
from caesura.hw.arch.geometry import preset
from caesura.software.driver.machine.board.frames import Answer, FrameSplitter, framed, request_frame
from support.hw.board_bench import PATIENCE, BridgedMemory, SteppedLine
from support.hw.buses import with_bus
from support.selection import quick

SIZE = 1 << 13
WIDTHS = (4, 8, 16, 64, 128)


class Host:
    """Sends requests one by one, and returns the answers."""

    def __init__(self, g=None):
        self.line = SteppedLine(BridgedMemory(g or preset("tiny"), SIZE))
        self.sequence = 0

    def answers(self, cycles=20000, count=1):
        splitter, found = FrameSplitter(), []
        end = self.line.cycle + cycles
        while self.line.cycle < end and len(found) < count:
            self.line.timeout = (end - self.line.cycle) * 1e-6
            found += [Answer.unpack(body) for body in splitter.feed(self.line.read(1))]
        assert None not in found, "an answer is damaged"
        return found

    def ask(self, request, address=0, size=0, data=b"", sequence=None):
        self.sequence = (self.sequence + 1) % 256 if sequence is None else sequence
        self.line.write(request_frame(self.sequence, request, address, size, data))
        (answer,) = self.answers()
        assert answer.sequence == self.sequence
        return answer

    def done(self, *asked, **named):
        answer = self.ask(*asked, **named)
        assert answer.status is Status.DONE
        return answer.data

    def write(self, address, data, **named):
        return self.ask(Request.WRITE_MEMORY, address, len(data), data, **named)

    def read(self, address, size):
        return self.done(Request.READ_MEMORY, address, size)


@pytest.fixture(scope="module")
def bench():
    return Host()


@pytest.fixture
def host(bench):
    """One for all tests; each begins with a reset, and with a request that no sequence number goes before."""
    bench.line.set(deaf=0, interrupt=0)
    bench.line.run(PATIENCE + 50)  # for what the test before has left unsaid
    bench.line.reset_input_buffer()
    bench.done(Request.RESET)
    bench.done(Request.IDENTIFY, 0, 4)
    return bench


@pytest.mark.parametrize("width", quick(WIDTHS, [4]))
def test_any_bytes_of_memory(width):
    host, rng = Host(with_bus(width)), random.Random(width)
    kept = bytearray(SIZE)
    sizes = [0, 1, 2, 3, width + 1, 129, 300]
    for size in sizes + [rng.randrange(1, 200) for _ in range(3)]:
        address = rng.randrange(SIZE - size)
        data = rng.choice([rng.randbytes(size), bytes([0xC0]) * size, bytes([0xDB]) * size])
        assert host.write(address, data).status is Status.DONE
        kept[address:address + size] = data
        begin = max(0, address - 9)
        wanted = min(MAX_DATA, size + 30, SIZE - begin)
        assert host.read(begin, wanted) == kept[begin:begin + wanted]


def test_registers(host):
    rng = random.Random(1)
    kept = {}
    for _ in range(12):
        address, value = 4 * rng.randrange(64), rng.getrandbits(32)
        kept[address] = value
        assert host.done(Request.WRITE_REGISTER, address, 4, value.to_bytes(4, "little")) == b""
    assert {address: int.from_bytes(host.done(Request.READ_REGISTER, address, 4), "little") for address in kept} == kept


def test_it_says_what_it_is(host):
    packed = host.line.dut.identity
    head = host.done(Request.IDENTIFY, 0, IDENTITY.size)
    assert head == packed[:IDENTITY.size]
    assert host.done(Request.IDENTIFY, IDENTITY.size, MAX_DATA).rstrip(b"\0") == packed[IDENTITY.size:]


def test_beyond_the_memory(host):
    assert host.write(SIZE - 4, b"abcdefgh").status is Status.BUS_ERROR
    assert host.ask(Request.READ_MEMORY, SIZE - 4, 8).status is Status.BUS_ERROR
    assert host.read(SIZE - 4, 4) == b"abcd"


@pytest.mark.parametrize("request_, address, size, data, status", [
    (0, 0, 0, b"", Status.UNKNOWN), (8, 0, 0, b"", Status.UNKNOWN), (255, 0, 0, b"", Status.UNKNOWN),
    (Request.READ_MEMORY, 0, MAX_DATA + 1, b"", Status.BAD_SIZE),
    (Request.READ_MEMORY, 0, 0xFFFF, b"", Status.BAD_SIZE),
    (Request.READ_MEMORY, 0, 4, b"1234", Status.BAD_SIZE), (Request.WRITE_MEMORY, 0, 5, b"1234", Status.BAD_SIZE),
    (Request.WRITE_MEMORY, 0, 3, b"1234", Status.BAD_SIZE), (Request.WRITE_REGISTER, 0, 3, b"123", Status.BAD_SIZE),
    (Request.READ_REGISTER, 0, 8, b"", Status.BAD_SIZE), (Request.READ_REGISTER, 2, 4, b"", Status.BAD_ADDRESS),
    (Request.WRITE_REGISTER, 0x2000, 4, b"1234", Status.BAD_ADDRESS)])
def test_what_cannot_be_carried_out_is_refused(host, request_, address, size, data, status):
    host.write(0, bytes(range(16)))
    assert host.ask(request_, address, size, data).status is status
    assert host.read(0, 16) == bytes(range(16)), "it had an effect"


def test_every_damaged_bit_is_found(host):
    """None of them has an effect, and the next request is understood."""
    host.write(0, b"before..")
    frame = request_frame(7, Request.WRITE_MEMORY, 0, 8, b"\xC0after\xDB!")
    rng = random.Random(2)
    for bit in sorted(rng.sample(range(8, 8 * (len(frame) - 1)), 12)):
        damaged = bytearray(frame)
        damaged[bit // 8] ^= 1 << bit % 8
        host.line.write(bytes(damaged))
        statuses = [answer.status for answer in host.answers(PATIENCE + 100)]
        assert statuses and {*statuses} <= {Status.DAMAGED, Status.TRUNCATED, Status.TOO_LONG}, bit
        assert host.read(0, 8) == b"before..", bit


def test_garbage_before_a_request(host):
    rng = random.Random(3)
    for size in (1, 2, 40):
        host.line.write(rng.randbytes(size) + request_frame(size, Request.WRITE_MEMORY, 4 * size, 4, b"abcd"))
        answers = host.answers(800, 10)
        assert answers[-1].status is Status.DONE and answers[-1].sequence == size
        assert all(answer.status is Status.DAMAGED for answer in answers[:-1])
        assert host.read(4 * size, 4) == b"abcd"


@pytest.mark.parametrize("kept", [1, 2, 20])
def test_a_frame_that_is_cut_off(host, kept):
    """The host disappears in the middle of a burst: nothing is written, and whoever comes next is heard."""
    host.write(0, b"before..")
    host.line.write(request_frame(7, Request.WRITE_MEMORY, 0, 8, b"afterwrd")[:kept])
    answers = host.answers(2 * PATIENCE + 100)
    assert [answer.status for answer in answers] == [Status.TRUNCATED] * (kept > 1)
    assert host.read(0, 8) == b"before.."


def test_a_new_frame_ends_one_that_was_cut_off(host):
    host.line.write(request_frame(7, Request.WRITE_MEMORY, 0, 8, b"afterwrd")[:15] + request_frame(8, Request.WAIT))
    assert [answer.status for answer in host.answers(count=2)] == [Status.DAMAGED, Status.DONE]


def test_a_frame_that_is_too_long(host):
    body = bytes(8) + bytes(MAX_DATA + 1)
    for more in (0, 900):
        longer = body + bytes(more)
        host.line.write(framed(longer + zlib.crc32(longer).to_bytes(4, "little")))
        assert [answer.status for answer in host.answers()] == [Status.TOO_LONG]
    assert host.done(Request.IDENTIFY, 0, 4) == b"CAES"


def test_the_longest_frame_of_bytes_that_are_escaped(host):
    assert host.write(0, b"\xC0\xDB" * (MAX_DATA // 2)).status is Status.DONE
    assert host.read(0, MAX_DATA) == b"\xC0\xDB" * (MAX_DATA // 2)


def test_what_is_repeated_has_no_second_effect(host):
    """The host has not had the answer, and something has changed meanwhile."""
    host.ask(Request.WRITE_REGISTER, 8, 4, b"once", sequence=5)
    host.line.write(request_frame(5, Request.WRITE_REGISTER, 8, 4, b"more"))
    (answer,) = host.answers()
    assert (answer.sequence, answer.status) == (5, Status.DONE)
    assert host.done(Request.READ_REGISTER, 8, 4, sequence=6) == b"once"
    assert host.done(Request.READ_REGISTER, 8, 4, sequence=6) == b"once", "reads are carried out again"
    host.ask(Request.WRITE_REGISTER, 8, 4, b"more", sequence=7)
    assert host.done(Request.READ_REGISTER, 8, 4, sequence=8) == b"more"


def test_what_comes_meanwhile_changes_nothing(host):
    """A frame that begins to come while another request is carried out, or its answer is sent."""
    rng = random.Random(4)
    first, other = rng.randbytes(24), rng.randbytes(24)
    host.write(0, first)
    frames = [request_frame(11, Request.READ_MEMORY, 0, 24), request_frame(12, Request.WRITE_MEMORY, 64, 24, other),
              request_frame(13, Request.READ_MEMORY, 64, 24)]
    host.line.write(b"".join(frames[:2]))
    read, written = host.answers(count=2)
    assert (read.sequence, read.data, written.sequence, written.status) == (11, first, 12, Status.DONE)
    host.line.write(frames[2] + frames[2])
    assert [(answer.sequence, answer.data) for answer in host.answers(count=2)] == [(13, other)] * 2


def test_an_error_is_repeated_too(host):
    host.write(SIZE, b"1234", sequence=5)
    assert host.write(SIZE, b"1234", sequence=5).status is Status.BUS_ERROR


def test_another_host_may_begin_with_the_same_number(host):
    host.write(0, b"1111", sequence=9)
    host.done(Request.IDENTIFY, 0, 8, sequence=9)
    assert host.write(0, b"2222", sequence=9).status is Status.DONE
    assert host.read(0, 4) == b"2222"


def test_waits_end_by_time_interrupt_or_a_byte(host):
    before = host.ask(Request.WAIT).cycle
    host.line.set(interrupt=0)
    assert host.ask(Request.WAIT, 700, 1).cycle - before >= 700
    host.line.set(interrupt=1)
    began = host.line.cycle
    answer = host.ask(Request.WAIT, 1 << 30, 1)
    assert answer.interrupt and host.line.cycle - began < 200
    assert host.ask(Request.WAIT, 300, 0).cycle - answer.cycle >= 300
    host.line.write(request_frame(77, Request.WAIT, 1 << 30, 0))
    host.line.run(500)
    assert host.line.in_waiting == 0
    host.line.write(request_frame(78, Request.WAIT))
    assert [answer.sequence for answer in host.answers(count=2)] == [77, 78]


def test_a_bus_that_does_not_answer(host):
    """The bridge answers all the same; after a reset all is well."""
    host.write(64, b"kept")
    for request, size in ((Request.READ_MEMORY, 8), (Request.WRITE_MEMORY, 8), (Request.READ_REGISTER, 4),
                          (Request.WRITE_REGISTER, 4)):
        host.line.set(deaf=1)
        data = b"lost...."[:size] if "WRITE" in request.name else b""
        host.line.write(request_frame(1, request, 0, size, data))
        (answer,) = host.answers(5000)
        assert answer.status is Status.NO_ANSWER and answer.data == b""
        host.line.set(deaf=0)
        assert host.ask(Request.READ_MEMORY, 64, 4).status is Status.NO_ANSWER, "the bus is not what it was"
        assert host.ask(Request.WAIT).status is Status.DONE
        assert host.ask(Request.RESET).status is Status.DONE
        assert host.read(64, 4) == b"kept" and host.done(Request.READ_REGISTER, 4, 4) == bytes(4)


def test_cycles_are_counted_from_the_reset(host):
    host.line.run(1000)
    assert host.ask(Request.WAIT).cycle > 1000
    assert host.ask(Request.RESET).cycle < 20
    before, began = host.ask(Request.WAIT), host.line.cycle
    host.line.run(500)
    after = host.ask(Request.WAIT)
    assert after.cycle - before.cycle == host.line.cycle - began
