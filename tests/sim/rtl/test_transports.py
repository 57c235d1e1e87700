"""Verilator and Amaranth's simulator show one machine; snapshots, errors, timing and waveforms."""

import dataclasses
import random
import time

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.sim.memory import AxiMemory, ErrorRange, MemoryTiming, ProtocolError
from caesura.sim.rtl import amaranth_sim
from caesura.sim.rtl.amaranth_sim import AmaranthTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.trace.retired import ATOMIC, PREDICATE, RETIRE, UNIFORM, WRITE

TINY = PRESETS["tiny"]
NARROW = dataclasses.replace(TINY, warp_size=16, lanes=8, bytes_per_cycle=5.3, memory_latency=17)
SEGMENTS, SOURCE, TARGET, STATUS, CYCLES = 40, 0x1000, 0x8000, 16, 20
LIMIT = 5000


def pattern(seed, size):
    return random.Random(seed).randbytes(size)


def machine(kind, g, copier, **options):
    result = kind(g, memory_bytes=1 << 17, design=copier, **options)
    result.write_memory(SOURCE, pattern(1, 128 * SEGMENTS))
    return result


@pytest.mark.parametrize("g", [pytest.param(TINY, id="one-beat"),
                               pytest.param(NARROW, id="two-beats-slow", marks=pytest.mark.full)])
def test_both_simulators_agree_in_every_cycle_record_and_byte(g, copier, run_copy):
    seen = []
    for kind in (RtlTransport, AmaranthTransport):
        m = machine(kind, g, copier, trace=True)
        run_copy(m, SOURCE, TARGET, SEGMENTS)
        passed = m.wait(LIMIT)
        registers = [m.read_register(address) for address in (0, STATUS, CYCLES)]
        seen.append((passed, registers, m.cycle, m.read_memory(0, 1 << 17), m.traffic.read, m.traffic.written,
                     m.take_trace()))
    assert seen[0][:-1] == seen[1][:-1]
    assert np.array_equal(seen[0][-1], seen[1][-1])
    assert seen[0][3][TARGET:TARGET + 128 * SEGMENTS] == pattern(1, 128 * SEGMENTS)


class Beats(AxiMemory):
    """Keeps the words of which the digest of the beats is made."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.words, self.now = [], 0

    def drive(self):
        self.driven = super().drive().copy()
        return self.driven

    def sample(self, signals):
        s = signals | self.driven
        for number, name in enumerate(("aw", "w", "ar", "r", "b")):
            if s[f"{name}valid"] and s[f"{name}ready"]:
                self.words += [8 * self.now + number, *self.payload(name, s)]
        self.now += 1
        super().sample(signals)

    def payload(self, name, s):
        if name in ("aw", "ar"):
            address, ident, *shape = (s[name + field] for field in ("addr", "id", "len", "size", "burst"))
            return address, ident << 32 | shape[0] << 16 | shape[1] << 8 | shape[2]
        if name == "w":
            return s["wstrb"] << 1 | s["wlast"], s["wdata"]
        answer = s[name + "id"] << 2 | s[name + "resp"]
        return (answer << 1 | s["rlast"], s["rdata"]) if name == "r" else (answer,)

    def digest(self):
        a, b, ones = 0x243F6A8885A308D3, 0x13198A2E03707344, (1 << 64) - 1
        for word in self.words:
            a = (a ^ word * 0x9E3779B97F4A7C15) & ones
            a = (a << 31 | a >> 33) * 0xC2B2AE3D27D4EB4F & ones
            b = (b + word * 0xD6E8FEB86659FD93) & ones
            b = (b << 27 | b >> 37) * 0xA0761D6478BD642F & ones
        return f"{a:016x}{b:016x}"


@pytest.mark.full
def test_digest_is_of_all_beats_with_their_cycles(copier, run_copy, monkeypatch):
    monkeypatch.setattr(amaranth_sim, "AxiMemory", Beats)
    digests = []
    for kind in (RtlTransport, AmaranthTransport):
        m = machine(kind, NARROW, copier)
        if kind is RtlTransport:
            assert m.beat_digest == 32 * "0"
            m.digest_beats()
        run_copy(m, SOURCE, TARGET, 3)
        m.wait(LIMIT)
        digests.append(m.beat_digest if kind is RtlTransport else m._memory.digest())
    assert digests[0] == digests[1]


def test_digest_shows_a_byte_a_cycle_and_a_response_but_not_what_was_before(copier, run_copy):
    def digest(change=lambda m: None, before=0):
        m = machine(RtlTransport, TINY, copier)
        change(m)
        m.advance(before)
        m.digest_beats()
        run_copy(m, SOURCE, TARGET, 2)
        m.wait(LIMIT)
        return m.beat_digest

    usual = digest()
    assert digest(before=5) == usual
    assert usual not in (changed := [
        digest(lambda m: m.write_memory(SOURCE + 255, bytes([~pattern(1, 256)[255] & 255]))),
        digest(lambda m: m.set_timing(MemoryTiming.of(TINY.replace(memory_latency=TINY.memory_latency + 1)))),
        digest(lambda m: m.add_error_range(ErrorRange(TARGET + 128, TARGET + 136, reads=False)))])
    assert len(set(changed)) == 3


def test_copy_takes_the_time_that_latency_and_bandwidth_allow(copier, run_copy):
    m = machine(RtlTransport, TINY, copier)
    for rate, latency in ((8.0, 10), (8.0, 100), (3.0, 10)):
        m.set_timing(MemoryTiming(TINY.bus_bytes, rate, latency))
        run_copy(m, SOURCE, TARGET, SEGMENTS)
        limit = 2 * 128 * SEGMENTS / rate + 2 * latency
        assert limit - rate <= m.wait(LIMIT) <= 1.02 * limit + 30


def test_register_access_takes_one_cycle_and_advance_is_exact(copier):
    m = machine(RtlTransport, TINY, copier)
    m.write_register(0, 0xDEAD_BEEF)
    assert m.cycle == 1
    assert m.read_register(0) == 0xDEAD_BEEF
    assert m.cycle == 2
    assert m.advance(123) == 123 and m.cycle == 125
    assert m.read_register(CYCLES) == 125
    assert m.wait(50) == 50


def test_trace_joins_beats_and_names_the_warp(copier, run_copy):
    m = machine(RtlTransport, NARROW, copier, trace=True)
    run_copy(m, SOURCE, TARGET, 2)
    m.wait(LIMIT)
    trace = m.take_trace()
    retired = trace[trace["kind"] == RETIRE]
    assert list(retired["pc"]) == [SOURCE // 128, SOURCE // 128 + 1]
    assert all(trace["launch"] == 0x12345678) and all(trace["kernel"] == 2) and all(trace["warp"] == 1)
    words = np.frombuffer(pattern(1, 256), "<u4").reshape(-1, 2, 2)  # write, beat, word of the bus beat
    writes = trace[trace["kind"] == WRITE]
    assert len(writes) == 16 and all(writes["mask"] == 0x0606) and all(writes["register"] == 5)
    for beat in range(2):
        assert np.array_equal(writes["data"][:, 8 * beat + 1], words[:, beat, 1])
        assert np.array_equal(writes["data"][:, 8 * beat + 2], words[:, beat, 0])
    assert list(writes["last"]) == [0] * 7 + [1] + [0] * 7 + [1]
    predicates = trace[trace["kind"] == PREDICATE]
    assert np.array_equal(predicates["data"][:, 0], words[:, 0, 0] & 6 | (words[:, 1, 0] & 6) << 8)
    uniform, atomics = trace[trace["kind"] == UNIFORM], trace[trace["kind"] == ATOMIC]
    assert np.array_equal(uniform["data"][:, 0], words[:, :, 0].ravel()) and set(uniform["register"].tolist()) == {17}
    assert np.array_equal(atomics["data"][:, :2], words.reshape(-1, 2)) and len(atomics) == 32
    shared = np.tile([*[0] * 15, 1], 2)
    assert np.array_equal(atomics["register"], shared) and np.array_equal(atomics["pc"], 0x40 + shared)
    assert set(atomics["mask"].tolist()) == {1 << NARROW.warp_size - 2}
    assert len(m.take_trace()) == 0


def test_resumed_snapshot_repeats_everything_and_leaves_the_snapshot_alone(copier, run_copy):
    m = machine(RtlTransport, TINY, copier, trace=True)
    m.digest_beats()
    run_copy(m, SOURCE, TARGET, SEGMENTS)
    m.advance(300)
    at = m.snapshot()
    results = []
    for _ in range(3):
        assert m.cycle == at.cycle == 304
        m.wait(LIMIT)
        results.append((m.cycle, m.read_memory(0, 1 << 17), m.traffic.read, m.take_trace().tobytes(), m.beat_digest))
        m.write_memory(0, bytes(1 << 17))
        m.add_error_range(ErrorRange(0, 1 << 17))
        m.restore(at)
    assert results[0] == results[1] == results[2]


def test_fork_at_every_cycle_ends_alike(copier, run_copy):
    m = machine(RtlTransport, TINY, copier)
    run_copy(m, SOURCE, TARGET, 3)
    ends = []
    while not m.wait(0) and m.cycle < 200:
        fork = m.snapshot()
        m.wait(LIMIT)
        ends.append((m.cycle, m.read_memory(TARGET, 384)))
        m.restore(fork)
        m.advance(1)
    assert len(ends) == 196 and len(set(ends[:100])) == 1
    assert ends[0][1] == pattern(1, 128 * SEGMENTS)[:384]


def test_snapshot_moves_between_simulations_of_one_build_only(copier, run_copy):
    a, b = (machine(RtlTransport, TINY, copier) for _ in range(2))
    run_copy(a, SOURCE, TARGET, SEGMENTS)
    a.advance(100)
    b.restore(a.snapshot())
    assert b.wait(LIMIT) == a.wait(LIMIT)
    assert b.read_memory(0, 1 << 17) == a.read_memory(0, 1 << 17)
    other = machine(RtlTransport, NARROW, copier)
    with pytest.raises(ValueError, match="another build"):
        other.restore(a.snapshot())
    with pytest.raises(ValueError, match="131072 bytes of memory, not 4096"):
        RtlTransport(TINY, memory_bytes=4096, design=copier).restore(a.snapshot())


def test_snapshot_and_restore_are_fast(copier, run_copy):
    m = RtlTransport(TINY, design=copier)
    m.write_memory(0, bytes(range(256)) * (m.memory_bytes // 256))
    started = time.perf_counter()
    for _ in range(20):
        m.restore(m.snapshot())
    assert (time.perf_counter() - started) / 20 < 0.002


@pytest.mark.parametrize("kind", [RtlTransport, AmaranthTransport])
def test_error_ranges_answer_slverr_and_write_nothing(kind, copier, run_copy):
    for errors, response in ((ErrorRange(SOURCE + 128, SOURCE + 136, writes=False), 2),
                             (ErrorRange(TARGET + 4, TARGET + 8, reads=False), 2),
                             (ErrorRange(TARGET, TARGET + 8, writes=False), 0)):
        m = machine(kind, TINY, copier)
        m.add_error_range(errors)
        run_copy(m, SOURCE, TARGET, 2)
        assert m.wait(LIMIT) < LIMIT
        assert m.read_register(STATUS) >> 2 & 3 == response
        expected = bytearray(pattern(1, 256))
        for k in range(256):
            if errors.reads and SOURCE + k in range(errors.start, errors.end):
                expected[k] = 0
        if errors.writes and response:
            expected[:8] = bytes(8)
        assert m.read_memory(TARGET, 256) == bytes(expected)
        m.clear_error_ranges()
        run_copy(m, SOURCE, TARGET, 2)
        m.advance(1)
        assert m.wait(LIMIT) < LIMIT
        assert m.read_register(STATUS) >> 2 & 3 == 0


def test_beyond_the_end_of_memory_is_decerr(copier, run_copy):
    m = machine(RtlTransport, TINY, copier)
    run_copy(m, (1 << 17) - 128, 0, 2)
    m.wait(LIMIT)
    assert m.read_register(STATUS) >> 2 & 3 == 3


@pytest.mark.parametrize("kind", [RtlTransport, AmaranthTransport])
def test_broken_protocol_is_reported(kind, copier, run_copy):
    m = machine(kind, TINY, copier)
    run_copy(m, 0xFC0, TARGET, 1)
    with pytest.raises(ProtocolError, match="cycle 4: ar burst at 0xfc0 crosses a 4 KB boundary"):
        m.advance(10)


@pytest.mark.parametrize("kind", [RtlTransport, AmaranthTransport])
def test_memory_access_is_checked(kind, copier):
    m = machine(kind, TINY, copier)
    with pytest.raises(ValueError, match="0x1fff8"):
        m.read_memory(0x1FFF8, 9)
    with pytest.raises(ValueError, match="not within"):
        m.write_memory(-1, b"a")
    assert m.read_memory(0x1FFF8, 8) == bytes(8)


def test_memory_size_is_checked(copier):
    with pytest.raises(ValueError, match="not 5000"):
        RtlTransport(TINY, memory_bytes=5000, design=copier)


@pytest.mark.full
def test_vcd_shows_the_run(tmp_path, copier, run_copy):
    path = tmp_path / "copy.vcd"
    m = machine(RtlTransport, TINY, copier, vcd=path)
    run_copy(m, SOURCE, TARGET, 2)
    m.wait(LIMIT)
    m.close()
    text = path.read_text()
    assert "axi_awvalid" in text and text.count("\n#") > 100
