"""An image that the RTL has written, restored and saved again by the golden model, is the same to the bit."""

import numpy as np
import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, Capability, Mechanism
from caesura.hw.arch.image.encodings import Encoding, codes_of, row_words
from caesura.hw.arch.image.image_reader import ImageReader
from caesura.sim.golden.context_image import read_entry, restore, save
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.workloads.random_native import random_program
from support.selection import quick
from support.sim.launch import Bench, argument_words

TINY = preset("tiny")
MEMORY = 1 << 16


def preempted(transport, program, cycles, mechanism):
    """Return a bench with the program preempted after `cycles`, and what was loaded."""
    bench = Bench(transport(TINY, memory_bytes=MEMORY))
    bench.transport.write_memory(0, bytes(MEMORY))
    output, inputs = bench.allocate(program.output_bytes), bench.store(program.inputs)
    loaded = bench.load(0, program.image, program.grid, program.block, argument_words(program.image, output, inputs))
    bench.start(0)
    bench.transport.advance(cycles)
    bench.preempt(0, mechanism)
    return bench, loaded


def records(entry, stream, resolved=False):
    """Split a stream: {warp: (record, row of the encoding table)}, and the words of shared memory.

    If `resolved` a record and its row are what they say, whatever they repeat of the record before.
    """
    count, words = entry["live_warps"].bit_count(), row_words(entry["registers"])
    table = stream[len(stream) - words * count:].reshape(count, words)
    reader, found = ImageReader(stream, TINY, count, entry["registers"]), {}
    for codes, row in zip(reader.codes, table, strict=True):
        at, record = reader.position, reader.record()
        registers = reader.registers(record, codes)
        found[record.header["warp"]] = stream[at:reader.position].tolist(), row.tolist()
        if resolved:
            found[record.header["warp"]] = record, {r: values.tolist() for r, values in registers.items()}
    return found, stream[reader.position:len(stream) - words * count].tolist()


@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
@pytest.mark.parametrize("seed, cycles", quick([(3, 150), (8, 400), (9, 250)], [(3, 150)]))
def test_golden_model_saves_what_the_rtl_has_saved(seed, cycles, mechanism):
    program = random_program(TINY, seed, tbs=2, registers=16, statements=24, exits=False)
    bench, loaded = preempted(RtlTransport, program, cycles, mechanism)
    assert bench.state(0) is KernelState.PREEMPTED
    golden = preempted(GoldenTransport, program, 1, mechanism)[0].transport
    assert isinstance(golden, GoldenTransport)
    kernel = golden.machine.kernels[0]
    memory = np.frombuffer(bench.transport.read_memory(0, MEMORY), "<u4")
    encodings = set()
    for index in range(TINY.tb_slots):
        at = context.entry_address(loaded.ccb_base, index) // 4
        entry = read_entry(TINY, memory[at:at + CCB_ENTRY.size // 32])
        assert entry
        stream = memory[entry["register_image"] // 4:][:entry["length"] // 4]
        again = save(restore(kernel, index, entry, stream), mechanism)
        own = {"stream_crc", "table_crc"}  # the order of the records is each model's own
        assert {name: entry[name] for name in again.entry if name not in own} == {
            name: value for name, value in again.entry.items() if name not in own}
        own_order = mechanism is Mechanism.LIVE_TB and [*records(entry, stream)[0]] != sorted(records(entry, stream)[0])
        assert records(again.entry, again.stream, own_order) == records(entry, stream, own_order)
        rows = [row for _, row in records(entry, stream)[0].values()]
        encodings |= {Encoding(code) for row in rows for code in codes_of(np.array(row))}
    encodings -= {Encoding.DEAD}
    if mechanism.has(Capability.COMPRESSES):
        assert (Encoding.FOLLOWS in encodings) is mechanism.has(Capability.FOLLOWS)
        assert encodings >= {Encoding.UNIFORM_8, Encoding.STRIDED_8, Encoding.RANDOM}
        assert encodings & {*range(Encoding.LOW_4, Encoding.RANDOM)}
    else:
        assert encodings == {Encoding.RANDOM}
