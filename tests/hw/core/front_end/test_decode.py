"""The decoder agrees with `hw.arch.isa.words` on every opcode, and flags what is illegal."""

import random

import pytest

from caesura.hw.arch.geometry import UNIFORMS
from caesura.hw.arch.isa.formats import FIELDS
from caesura.hw.arch.isa.opcodes import BY_CODE, OPCODES, PT
from caesura.hw.arch.isa.words import encode
from caesura.hw.core.front_end.decode import Decoder
from support.hw.simulation import Simulator, component
from support.programs.random_instruction import random_instruction
from support.selection import quick


def decode_all(words, yields=True):
    """Return a dict of the decoded fields of each word."""
    decoder = component(Decoder, yields)
    fields = {name: (field.offset, (1 << field.width) - 1) for name, field in decoder.decoded.shape()}
    results = []

    async def testbench(ctx):
        for word in words:
            ctx.set(decoder.word, word)
            decoded = ctx.get(decoder.decoded.as_value())
            results.append({name: decoded >> offset & mask for name, (offset, mask) in fields.items()})

    simulator = Simulator(decoder)
    simulator.add_testbench(testbench)
    simulator.run()
    return results


@pytest.mark.parametrize("times", quick([1, 5], [1]))
def test_every_opcode_decodes_as_the_encoding_says(times):
    rng = random.Random(1)
    instructions = [random_instruction(rng, op) for op in OPCODES for _ in range(times)]
    for instruction, out in zip(instructions, decode_all(map(encode, instructions)), strict=True):
        op = instruction.op
        names = op.operands
        assert not out["illegal"], op.name
        assert out["unit"] == op.unit
        if op.alu is not None:
            assert out["alu"] == op.alu
        if op.function is not None:
            assert out["function"] % (16 if op.is_atomic else 64 if op.code >= 0x280 else 128) == op.function
        memory, scalar = op.size is not None, "ud" in names
        if memory:
            assert (out["size"], out["store"], out["space"], out["atomic"]) == (
                op.size, op.store, op.space, op.is_atomic)
        based = memory and "param" not in names and not instruction.get("no_base")
        assert out["no_base"] == (memory and not based)
        base_uniform = based and (bool(instruction.get("base_uniform")) or scalar)
        b_uniform = "b" in names and bool(instruction.get("b_uniform"))
        assert (out["base_uniform"], out["b_uniform"]) == (base_uniform, b_uniform)
        assert out["reads_a"] == ("a" in names or based and not base_uniform)
        assert out["reads_b"] == ("b" in names and not b_uniform)
        assert out["reads_c"] == ("c" in names)
        assert [out[f"pair_{x}"] for x in "abc"] == [x in op.pairs and x in names for x in "abc"]
        assert {instruction.get(x) for x in "abc" if out[f"uniform_{x}"]} == set(instruction.uniform_reads)
        assert out["writes_u"] == scalar == bool(instruction.uniform_writes)
        assert out["reads_d"] == ("data" in names)
        assert out["writes_d"] == ("d" in names)
        assert out["reads_pa"] == ("pa" in names)
        assert out["reads_pb"] == ("pb" in names)
        assert out["writes_pd"] == bool(instruction.predicate_writes)
        assert out["use_imm"] == ("imm" in FIELDS[op.format])
        for name in names:
            field = {"data": "d", "mem": "a", "sreg": "imm", "param": "imm", "ud": "d", "ua": "a", "ub": "b",
                     "uc": "c"}.get(name, name)
            assert field == "imm" or out[field] == instruction.get(field), (op.name, name)
        for name in ("pa_not", "pb_not", "imm", "target", "reconv", "live"):
            if name in FIELDS[op.format]:
                value = instruction.get(name)
                assert out[name] == (value % 2**32 if name == "imm" else value), (op.name, name)
        guard = (instruction.get("guard"), instruction.get("guard_not")) if op.is_guarded else (PT, 0)
        assert (out["guard"], out["guard_not"]) == guard
        used = (*instruction.reads, *instruction.writes)
        assert out["uses_registers"] == bool(used)
        assert out["top_register"] == max(used, default=0)
        assert out["data_registers"] == op.data_registers
        assert out["is_bar"] == (op.barrier is not None)
        assert out["barrier"] == (op.barrier or 0)
        for name, flag in (("bra", "is_bra"), ("exit", "is_exit"), ("pp", "is_pp"), ("pp.div", "is_pp_div"),
                           ("membar", "is_membar"), ("trap", "is_trap"), ("call", "is_call"), ("bru", "is_bru"),
                           ("rejoin", "is_rejoin")):
            assert out[flag] == (op.name == name)
        assert out["all_lanes"] == op.all_lanes


def test_unknown_opcodes_are_illegal_and_set_nothing_else():
    rng = random.Random(2)
    unknown = [code for code in range(1024) if code not in BY_CODE]
    flags = ("reads_a", "reads_b", "reads_c", "reads_d", "writes_d", "writes_pd", "is_bra", "is_exit", "is_bar",
             "is_pp", "is_pp_div", "is_membar", "is_trap", "is_call", "is_bru", "is_rejoin", "all_lanes",
             "uses_registers", "no_base")
    for out in decode_all(code << 54 | rng.getrandbits(54) for code in unknown):
        assert out["illegal"]
        assert not any(out[flag] for flag in flags)


def test_misaligned_groups_and_pairs_are_illegal():
    rng = random.Random(3)
    words, expected = [], []
    for op in OPCODES:
        groups = {"d": op.data_registers} | {x: 2 for x in op.pairs if x in op.operands}
        for field in (field for field, group in groups.items() if group > 1):
            low, width = FIELDS[op.format][field]
            base = encode(random_instruction(rng, op)) & ~((1 << width) - 1 << low)
            for number in range(64) if op.data_registers == 4 else (0, 1, 2, 31, 32, 63):
                words.append(base | number << low)
                expected.append(number % groups[field] != 0)
    assert [bool(out["illegal"]) for out in decode_all(words)] == expected


def test_uniform_registers_that_do_not_exist_and_uniform_pairs_are_illegal():
    rng = random.Random(4)
    words, expected = [], []
    for op in OPCODES:
        layout = FIELDS[op.format]
        for _ in range(4):
            word = encode(random_instruction(rng, op))
            numbers = [layout[x] for x in "dabc" if f"u{x}" in op.operands]
            pair = "b" in op.pairs and "b_uniform" in layout
            if "b" in op.operands and "b_uniform" in layout:
                word |= 1 << layout["b_uniform"][0]
                numbers.append(layout["b"])
            if "mem" in op.operands:
                word = word & ~(1 << layout["no_base"][0]) | 1 << layout["base_uniform"][0]
                numbers.append(layout["a"])
            if not numbers:
                continue
            for low, width in numbers:
                word = word & ~((1 << width) - 1 << low) | rng.choice((4, UNIFORMS - 2, UNIFORMS, 62)) << low
            words.append(word)
            expected.append(pair or any(word >> low & UNIFORMS for low, _ in numbers))
    assert [bool(out["illegal"]) for out in decode_all(words)] == expected
    assert any(expected) and not all(expected)


@pytest.mark.full
def test_a_machine_without_watches_knows_no_instruction_for_them():
    rng = random.Random(6)
    instructions = [random_instruction(rng, op) for op in OPCODES]
    found = decode_all(map(encode, instructions), yields=False)
    assert [bool(out["illegal"]) for out in found] == [instruction.op.yields for instruction in instructions]
    assert sum(op.yields for op in OPCODES) == 3
