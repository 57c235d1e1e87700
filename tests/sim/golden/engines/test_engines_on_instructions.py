"""The compiled engine and the numpy model agree on every operation, on every fault, and on words nobody would write."""

import random

import numpy as np
import pytest

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.opcodes import OPCODES, PT, AluOp, Unit
from caesura.hw.arch.isa.words import Instruction, encode
from caesura.sim.golden.native import build
from caesura.sim.golden.native.compiled import load_library
from caesura.software.compiler import KernelImage
from support.programs.machine_code import word
from support.programs.random_instruction import random_instruction
from support.reference import binary32, binary64
from support.selection import quick
from support.sim.engines import EnginePair
from support.sim.launch import Bench

GTX480, TINY = preset("gtx480"), preset("tiny").replace(regs_per_thread=64, registers=256)
CHUNK = 8
COMPUTING = [op for op in OPCODES if op.size is None and op.unit is not Unit.CONTROL and op.name != "call"]


def started(g, code, registers=64, warps=1, blocks=1, shared=252, **options):
    """Return a pair of engines at the start of a kernel; memory beyond it is random."""
    pair = EnginePair(g, 1 << 16, trace=True)
    image = KernelImage("k", tuple(code), registers, shared_bytes=shared, local_bytes=64, constants=bytes(range(256)))
    for transport in pair.transports:
        transport.write_memory(0x8000, np.random.default_rng(1).bytes(0x8000))
        bench = Bench(transport)
        bench.load(0, image, (blocks,), (warps * g.warp_size,), params=range(100, 164),
                   area_bytes=128, **options)
        bench.start(0)
        transport.machine.manage()
    return pair


def computing(rng, op):
    """Return a word of an operation that does not fault."""
    instruction = random_instruction(rng, op)
    fields = dict(instruction.fields)
    if op.alu is AluOp.S2R:
        fields["imm"] = rng.randrange(24)
    elif op.format is Format.I and rng.random() < 0.5:
        fields["imm"] = rng.randrange(40)
    if "guard" in fields and rng.random() < 0.5:
        fields |= {"guard": PT, "guard_not": 0}
    return encode(Instruction(op, fields))


def stratified(op, seed):
    """Return words for 64 registers in 32 lanes, which make an operation meet its special cases."""
    words = np.random.default_rng(seed).integers(0, 1 << 32, (64, 32), np.uint32)
    if op.function in binary64.OPERATIONS and op.unit is Unit.F64:
        triples = binary64.tuples(op.function, 32 * 32, seed)
        for k, values in enumerate(np.concatenate(triples).reshape(-1, 32)[:32]):
            words[2 * k], words[2 * k + 1] = values & np.uint64(0xFFFF_FFFF), values >> np.uint64(32)
    elif op.unit is Unit.SFU or op.alu in binary32.OPERATIONS:
        kind = op.alu if op.alu in binary32.OPERATIONS else AluOp.FSETP_EQ
        words[:] = np.concatenate(binary32.tuples(kind, 64 * 32, seed)).reshape(-1, 32)[:64]
    else:
        words[::3] >>= np.random.default_rng(seed).integers(0, 32, words[::3].shape, np.uint32)
    return words


def agree_on(op, rounds, seed, libraries=None):
    rng = random.Random(seed * 1024 + op.code)
    pair = started(GTX480, [computing(rng, op) for _ in range(CHUNK * rounds)])
    if libraries is not None:
        pair.transports[1].machine.engine.library = libraries
    for number in range(rounds):
        words = stratified(op, seed * rounds + number)
        predicates = [rng.getrandbits(32) for _ in range(7)]
        for transport in pair.transports:
            warp = transport.machine.resident()[0].warps[0]
            warp.registers[:], warp.predicates[:], warp.uniforms[:] = words, predicates, words.ravel()[::64]
        pair.each(lambda transport: transport.advance(CHUNK))
        pair.check()
        assert pair.transports[0].machine.fault_count == 0


@pytest.mark.parametrize("unit", [Unit.ALU, Unit.F64, Unit.SFU, Unit.EXCHANGE, Unit.UNIFORM], ids=lambda u: u.name)
def test_every_operation_gives_the_same_bits(unit):
    for op in COMPUTING:
        if op.unit is unit:
            agree_on(op, 2, 1)


@pytest.mark.full
@pytest.mark.parametrize("op", COMPUTING, ids=lambda op: op.name)
def test_every_operation_gives_the_same_bits_for_many_operands(op):
    agree_on(op, 150, 2)


@pytest.mark.full
def test_a_processor_without_vector_units_computes_the_same():
    flags = tuple("-march=x86-64" if flag == "-march=native" else flag for flag in build.FLAGS)
    library = load_library(build.build(32, flags)[0])
    for op in COMPUTING:
        if op.unit in (Unit.F64, Unit.ALU) and not op.name.startswith(("setp", "fsetp", "dsetp")):
            agree_on(op, 1, 3, library)


FAULTS = {
    "illegal opcode": (0x3FF << 54, Fault.ILLEGAL_OPCODE), "trap": (word("trap"), Fault.TRAP),
    "register": (word("mov.i", d=63, imm=1), Fault.REGISTER_BOUND),
    "code": (word("bra", target=1000, reconv=2000), Fault.FETCH_BOUND),
    "shared": (word("ld.shared.b64", d=2, no_base=1, imm=248), Fault.SHARED_BOUND),
    "local": (word("st.local.b32", no_base=1, imm=64, d=2), Fault.LOCAL_BOUND),
    "constant": (word("ld.const.b32", d=2, no_base=1, imm=256), Fault.CONSTANT_BOUND),
    "uniform constant": (word("uld.const.b32", d=2, no_base=1, imm=256), Fault.CONSTANT_BOUND),
    "uniform misaligned": (word("uld.const.b32", d=2, no_base=1, imm=2), Fault.MISALIGNED),
    "window": (word("ld.global.b32", d=2, no_base=1, imm=0xFFFF_FF00), Fault.GLOBAL_WINDOW),
    "beyond memory": (word("ld.global.b32", d=2, no_base=1, imm=0x10000), Fault.BUS_ERROR),
    "store in part": (word("st.global.b32", a=1, imm=0x7E00, d=2), Fault.MISALIGNED),
    "store in segments": (word("st.global.b32", a=1, imm=0xFF80, d=2), Fault.BUS_ERROR),
    "atomic": (word("red.global.add.b32", a=1, imm=0x7F80, b=2), Fault.GLOBAL_WINDOW),
    "shared atomic": (word("atom.shared.add.b32", d=3, a=1, imm=200, b=2), Fault.SHARED_BOUND),
    "parameter": (word("ldp", d=2, imm=256), Fault.PARAM_BOUND),
    "uniform parameter": (word("uldp", d=2, imm=256), Fault.PARAM_BOUND),
    "odd parameter": (word("ldp", d=2, imm=2), Fault.MISALIGNED),
    "odd uniform parameter": (word("uldp", d=2, imm=6), Fault.MISALIGNED),
    "pp alone": (word("pp", live=0), None),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_leave_the_same_record_and_the_same_memory(name):
    instruction, kind = FAULTS[name]
    code = [word("s2r", d=1, imm=0), word("shl.i", d=1, a=1, imm=4 if "segments" in name else 3),
            word("setp.eq.i", pd=0, a=1, imm=8), word("iadd.i", d=1, a=1, imm=2, guard=0)]
    code = code[:2] if "in part" not in name else code
    pair = started(GTX480, [*code, instruction, word("exit")], 4, warps=3, blocks=9,
                   windows=((0x8000, 0x20000), (0, 0x7F00)))
    while pair.each(lambda transport: transport.machine.kernels[0].completed) < 9:
        pair.each(lambda transport: transport.advance(7))
        pair.check()
    if kind is not None and name != "store in part" and "atomic" not in name:
        assert pair.transports[0].machine.fault.kind is kind and pair.transports[0].machine.fault_count == 9


def test_lanes_that_run_off_the_stack_fault_in_both():
    pair = started(TINY, [word("mov.i", d=1, imm=k) for k in range(5)] + [word("exit")], warps=2, blocks=3)
    for transport in pair.transports:
        transport.machine.resident()[0].warps[1].stack[0].reconv = 3
    pair.each(lambda transport: transport.advance(100))
    pair.check()
    assert pair.transports[0].machine.fault.kind is Fault.FETCH_BOUND


def test_code_that_a_kernel_changes_is_what_was_first_met():
    """An instruction is decoded when it is first met, whatever memory holds there later."""
    code = [word("mov.i", d=2, imm=7), word("st.global.b32", no_base=1, imm=0x1000, d=1),
            word("st.global.b32", no_base=1, imm=0x1028, d=2), word("nop"), word("nop"),
            word("mov.i", d=3, imm=0x55), word("bra", target=0, reconv=9), word("exit")]
    pair = started(TINY, code)
    for _ in range(30):
        pair.each(lambda transport: transport.advance(1))
        pair.check()
    pair.exchange()
    pair.each(lambda transport: transport.advance(20))
    pair.check()


def nonsense(rng):
    """Return words of any instruction with any fields, and some that are none."""
    words = []
    for _ in range(40):
        instruction = random_instruction(rng, rng.choice(OPCODES))
        fields = dict(instruction.fields)
        if "imm" in fields and rng.random() < 0.8:
            fields["imm"] = rng.choice((0, 0, 4, 16, 0x8000, 64, 128)) if not instruction.op.is_atomic else 16
        if "mem" in instruction.op.operands and rng.random() < 0.6:
            fields |= {"no_base": 1, "base_uniform": 0, "a": 0}
        fields |= {name: rng.randrange(41) for name in ("target", "reconv") if name in fields}
        words.append(encode(Instruction(instruction.op, fields)) if rng.random() < 0.98 else rng.getrandbits(64))
    return words


@pytest.mark.parametrize("seeds", quick([range(60), range(60, 2000)], [range(60)]),
                         ids=["some", "many"])
def test_programs_of_any_words_do_the_same(seeds):
    kinds = set()
    for seed in seeds:
        rng = random.Random(seed)
        pair = started(TINY, nonsense(rng), warps=2, blocks=2, windows=((0x8000, 0x10000),))
        for _ in range(8):
            cycles = rng.choice((1, 5, 30, 100))
            pair.each(lambda transport: transport.advance(cycles))  # noqa: B023
            pair.check()
        kinds.add(pair.transports[0].machine.fault.kind)
    assert len(kinds) >= 7, kinds
