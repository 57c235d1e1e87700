"""The memory model on its own: latency, bandwidth, order, checks."""

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.sim.memory import LEAST_REQUESTS, AxiMemory, MemoryTiming, ProtocolError

IDLE = dict.fromkeys(("awid", "awaddr", "awlen", "awvalid", "wdata", "wstrb", "wlast", "wvalid", "bready", "arid",
                      "araddr", "arlen", "arvalid", "rready"), 0) | {
    "awsize": 3, "awburst": 1, "arsize": 3, "arburst": 1, "rready": 1, "bready": 1}


def step(memory, **signals):
    """Run one cycle; return the slave's signals in it."""
    answer = dict(memory.drive())
    memory.sample(IDLE | signals)
    return answer


def read(memory, address, beats, id=0):
    assert step(memory, arvalid=1, araddr=address, arlen=beats - 1, arid=id)["arready"]


def model(rate=8.0, latency=5, size=4096):
    memory = AxiMemory(MemoryTiming(8, rate, latency), size)
    memory.data[:] = bytes(k * 7 & 0xFF for k in range(size))
    return memory


@pytest.mark.parametrize("latency", [1, 5, 30])
def test_first_beat_comes_latency_cycles_after_the_request(latency):
    memory = model(latency=latency)
    read(memory, 64, 2)
    answers = [step(memory) for _ in range(latency + 4)]
    assert [k + 1 for k, answer in enumerate(answers) if answer["rvalid"]] == [latency, latency + 1]
    assert answers[latency - 1]["rdata"] == int.from_bytes(memory.data[64:72], "little")
    assert [answers[latency - 1 + k]["rlast"] for k in range(2)] == [0, 1]


def test_bandwidth_is_exact_on_average():
    memory = model(rate=3.7)
    beats = 0
    for _ in range(10_000):
        answer = step(memory, arvalid=1, arlen=15)
        beats += answer["rvalid"]
    assert beats * 8 == pytest.approx(3.7 * 10_000, rel=0.002)


def test_reads_and_writes_share_the_bandwidth_in_turns():
    memory = model()
    moved = {"r": 0, "w": 0}
    left = 0
    for _ in range(1000):
        asks = left == 0
        answer = step(memory, arvalid=1, arlen=15, awvalid=asks, awlen=15, wvalid=not asks, wstrb=0xFF,
                      wlast=left == 1)
        moved["r"] += answer["rvalid"]
        if asks:
            left = 16
        elif answer["wready"]:
            moved["w"] += 1
            left -= 1
    assert 980 <= moved["r"] + moved["w"] <= 1000
    assert min(moved.values()) > 440


def test_answers_come_in_request_order_with_their_ids():
    memory = model()
    for k in range(4):
        read(memory, 128 * k, 1, id=k)
    answers = [step(memory) for _ in range(12)]
    beats = [(a["rid"], a["rdata"]) for a in answers if a["rvalid"]]
    assert beats == [(k, int.from_bytes(memory.data[128 * k:128 * k + 8], "little")) for k in range(4)]


def test_a_read_sees_what_memory_holds_when_the_beat_is_sent():
    memory = model()
    read(memory, 0, 1)
    memory.data[0:8] = bytes(8)
    assert [step(memory)["rdata"] for _ in range(5)][-1] == 0


def test_strobes_select_bytes_and_the_acknowledgement_waits():
    memory = model()
    before = bytes(memory.data)
    step(memory, wvalid=1, wdata=0x1122334455667788, wstrb=0b1010_0001, wlast=1)  # data may come first
    assert memory.data == before
    step(memory, awvalid=1, awaddr=16, awid=1)
    assert memory.data[16:24] == bytes([0x88, *before[17:21], 0x33, before[22], 0x11])
    answers = [step(memory) for _ in range(6)]
    assert [k + 1 for k, answer in enumerate(answers) if answer["bvalid"]] == [5]
    assert answers[4]["bid"] == 1


def test_a_beat_that_is_not_taken_stays():
    memory = model()
    read(memory, 8, 1)
    answers = [step(memory, rready=0) for _ in range(10)]
    assert [a["rvalid"] for a in answers] == [0] * 4 + [1] * 6
    assert len({a["rdata"] for a in answers[4:]}) == 1


def test_requests_are_limited():
    memory = model(latency=500)
    taken = sum(step(memory, arvalid=1)["arready"] for _ in range(LEAST_REQUESTS + 20))
    assert taken == LEAST_REQUESTS


@pytest.mark.parametrize("signals, message", [
    ({"arvalid": 1, "arburst": 2}, "ar is not an aligned INCR burst"),
    ({"awvalid": 1, "awsize": 2}, "aw is not an aligned INCR burst"),
    ({"arvalid": 1, "araddr": 4}, "ar is not an aligned INCR burst"),
    ({"awvalid": 1, "awaddr": 0xFF8, "awlen": 1}, "crosses a 4 KB boundary"),
    ({"awvalid": 1, "awlen": 0, "wvalid": 1, "wlast": 0}, "wlast does not mark"),
])
def test_illegal_requests_are_reported(signals, message):
    memory = model(size=8192)
    with pytest.raises(ProtocolError, match=message):
        step(memory, **signals)


def test_withdrawing_a_waiting_request_is_reported():
    memory = model(latency=500)
    for _ in range(LEAST_REQUESTS):
        step(memory, arvalid=1)
    step(memory, arvalid=1, araddr=8)
    with pytest.raises(ProtocolError, match="ar was withdrawn or changed"):
        step(memory, arvalid=1, araddr=16)


def test_timing_comes_from_the_geometry_and_is_checked():
    timing = MemoryTiming.of(PRESETS["gtx980"])
    assert (timing.bus_bytes, timing.latency) == (16, 250)
    assert timing.rate / (1 << 16) == pytest.approx(224e9 / 16 / 1216e6, abs=1e-4)
    with pytest.raises(ValueError, match="not 9"):
        MemoryTiming(8, 9, 1)
    with pytest.raises(ValueError, match="not 0"):
        MemoryTiming(8, 8, 0)
