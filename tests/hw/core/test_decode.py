"""The decoder agrees with `hw.arch.encoding` on every opcode, and flags what is illegal."""

import random

from amaranth.sim import Simulator

from caesura.hw.arch.encoding import Instruction, encode
from caesura.hw.arch.isa import BY_CODE, FIELDS, OPCODES, PT, Format
from caesura.hw.core.decode import Decoder


def decode_all(words):
    """Return a dict of the decoded fields of each word."""
    decoder = Decoder()
    results = []

    async def testbench(ctx):
        for word in words:
            ctx.set(decoder.word, word)
            decoded = ctx.get(decoder.decoded)
            results.append({name: int(getattr(decoded[name], "value", decoded[name])) for name in
                            decoded.shape().members})

    simulator = Simulator(decoder)
    simulator.add_testbench(testbench)
    simulator.run()
    return results


def random_instruction(rng, op):
    fields = {name: rng.getrandbits(width) for name, (_, width) in FIELDS[op.format].items()
              if not (op.format is Format.I and name == ("d" if "pd" in op.operands else "pd"))}
    if op.data_registers > 1:
        fields["d"] -= fields["d"] % op.data_registers
    return Instruction(op, fields)


def test_every_opcode_decodes_as_the_encoding_says():
    rng = random.Random(1)
    instructions = [random_instruction(rng, op) for op in OPCODES for _ in range(12)]
    for instruction, out in zip(instructions, decode_all(map(encode, instructions)), strict=True):
        op = instruction.op
        names = op.operands
        assert not out["illegal"], op.name
        assert out["unit"] == op.unit
        if op.alu is not None:
            assert out["alu"] == op.alu
        if op.size is not None:
            assert (out["size"], out["store"]) == (op.size, op.store)
            assert out["reads_a"] == (not instruction.get("no_base"))
        else:
            assert out["reads_a"] == ("a" in names)
        assert out["reads_b"] == ("b" in names)
        assert out["reads_c"] == ("c" in names)
        assert out["reads_d"] == ("data" in names)
        assert out["writes_d"] == ("d" in names)
        assert out["reads_pa"] == ("pa" in names)
        assert out["reads_pb"] == ("pb" in names)
        assert out["writes_pd"] == bool(instruction.predicate_writes)
        assert out["use_imm"] == ("imm" in FIELDS[op.format])
        for name in names:
            field = {"data": "d", "mem": "a", "sreg": "imm", "param": "imm"}.get(name, name)
            assert out[field] == instruction.get(field), (op.name, name)
        for name in ("pa_not", "pb_not", "imm", "target", "reconv", "live"):
            if name in FIELDS[op.format]:
                assert out[name] == instruction.get(name), (op.name, name)
        if op.format is Format.L:
            assert (out["guard"], out["guard_not"]) == (PT, 0)
        else:
            assert (out["guard"], out["guard_not"]) == (instruction.get("guard"), instruction.get("guard_not"))
        used = (*instruction.reads, *instruction.writes)
        assert out["uses_registers"] == bool(used)
        assert out["top_register"] == max(used, default=0)
        assert out["data_registers"] == op.data_registers
        assert out["is_bar"] == (op.barrier is not None)
        assert out["barrier"] == (op.barrier or 0)
        for name, flag in (("bra", "is_bra"), ("exit", "is_exit"), ("pp", "is_pp"), ("pp.div", "is_pp_div"),
                           ("membar", "is_membar"), ("trap", "is_trap")):
            assert out[flag] == (op.name == name)


def test_unknown_opcodes_are_illegal_and_set_nothing_else():
    rng = random.Random(2)
    unknown = [code for code in range(1024) if code not in BY_CODE]
    flags = ("reads_a", "reads_b", "reads_c", "reads_d", "writes_d", "writes_pd", "is_bra", "is_exit", "is_bar",
             "is_pp", "is_pp_div", "is_membar", "is_trap", "uses_registers", "no_base")
    for out in decode_all(code << 54 | rng.getrandbits(54) for code in unknown):
        assert out["illegal"]
        assert not any(out[flag] for flag in flags)


def test_misaligned_register_groups_are_illegal():
    rng = random.Random(3)
    words, expected = [], []
    for op in (op for op in OPCODES if op.data_registers > 1):
        base = encode(random_instruction(rng, op)) & ~(63 << 44)
        for d in range(64):
            words.append(base | d << 44)
            expected.append(d % op.data_registers != 0)
    assert [bool(out["illegal"]) for out in decode_all(words)] == expected
