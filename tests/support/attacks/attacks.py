"""Kernels that try to get out of what is theirs: window, registers, shared, local and constant memory, code.

Each has two parameters, the address of its window and one that it has no business with. It first writes `MARK` to its
window, then attacks, and stores to its window whatever it has got if nobody has ended it before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import PC_NONE, PREDICATES, UNIFORMS, preset
from caesura.hw.arch.isa.opcodes import VECTOR_WORDS
from caesura.software.compiler import KernelImage, assemble
from caesura.software.compiler.ir.spaces import WINDOWS

__all__ = ["ATTACKS", "IN_ROUTINES", "MARK", "START", "Attack", "image"]

TINY = preset("tiny")
MARK = 0x600D
REGISTERS, SHARED, LOCAL, CONSTANTS = 12, 72, 12, 20
"""Resources of an attacker; none is a multiple of the greatest access."""


@dataclass(frozen=True)
class Attack:
    """One way to try.

    Attributes
    ----------
    name : str
    image : KernelImage
    fault : Fault or None
        Fault that ends its thread blocks. None if nothing ends them, since the attack does no harm to others.
    place : str
        The address that it is told (`Cell.attack`).
    ends : bool
        It ends by itself or by its fault; otherwise it has to be killed.
    """

    name: str
    image: KernelImage
    fault: Fault | None
    place: str = "input"
    ends: bool = True


PROLOGUE = f"""
    s2r R0, tid.x
    shl.i R1, R0, 2
    ldp R2, param[0]
    iadd R2, R2, R1
    ldp R3, param[4]
    uldp U1, param[4]
    mov.i R4, {MARK}
    st.global.b32 [R2], R4
"""
START = 8
"""Words before the attack."""
EPILOGUE = """
    st.global.b32 [R2+64], R8
    st.global.b32 [R2+128], R9
    st.global.b32 [R2+192], R10
    st.global.b32 [R2+256], R11
    exit
"""
EVERY = "{R0-R52, R53+}"
"""The live registers of a point that saves them all, of those that there are and those that are not."""
ACCESSES = {
    "load": "ld.global.b32 R8, [R3]", "byte load": "ld.global.u8 R8, [R3]", "wide load": "ld.global.b128 R8, [R3]",
    "store": "st.global.b32 [R3], R4", "byte store": "st.global.b8 [R3+1], R4", "wide store": "st.global.b128 [R3], R8",
    "atomic": "atom.global.exch.b32 R8, [R3], R4", "wide atomic": "atom.global.add.b64 R8, [R3], R4",
    "comparing atomic": "atom.global.cas.b32 R8, [R3], R9, R4", "reduction": "red.global.add.b32 [R3], R4",
    "uniform base": "st.global.b32 [U1], R4", "uniform load": "ld.global.b32 R8, [U1]",
    "wrapping offset": "isub.i R3, R3, 0x7fffff00\nst.global.b32 [R3+0x7fffff00], R4",
    "wrapping load": "iadd.i R3, R3, 0x7fffff00\nld.global.b32 R8, [R3-0x7fffff00]",
    "one lane's store": "setp.eq.i P0, R0, 5\nsel R5, R3, R2, P0\nst.global.b32 [R5], R4",
    "one lane's load": "setp.eq.i P0, R0, 11\nsel R5, R3, R2, P0\nld.global.b32 R8, [R5]",
    "one lane's atomic": "setp.eq.i P0, R0, 0\nsel R5, R3, R2, P0\natom.global.or.b32 R8, [R5], R4",
}
PLACES = ("input", "output", "code", "constants", "local memory", "context", "below", "above", "zero", "end of memory",
          "beyond memory", "top", "negative", "own code", "own context", "own constants", "own local memory")


def image(body: str, registers: int = REGISTERS, local: int = LOCAL, ends: str = EPILOGUE) -> KernelImage:
    """Return an attacker, which nobody has judged."""
    (found,) = assemble(f".kernel attacker\n.registers {registers}\n.predicates {PREDICATES}\n.stack 8\n"
                        f".shared {SHARED}\n.local {local}\n.const {bytes(range(CONSTANTS)).hex()}\n"
                        ".param own u32 0 4 pointer\n.param other u32 4 4\n" + PROLOGUE + body + ends)
    return found


def _global() -> Iterator[Attack]:
    for access, text in ACCESSES.items():
        code = image(text)
        for place in PLACES:
            yield Attack(f"{access}, {place}", code, Fault.GLOBAL_WINDOW, place)
    for space, base in WINDOWS.items():
        for at in (0, 64, 0xFF_FFF0):
            for text in ("ld.global.b32 R8, [{}]", "st.global.b32 [{}], R4", "red.global.add.b32 [R5+4], R4"):
                yield Attack(f"generic address of {space} memory, {at:#x}: {text[:8]}",
                             image(f"mov.i R5, {base + at:#x}\n{text.format(hex(base + at))}"), Fault.GLOBAL_WINDOW)
    for text, name in (("ld.global.b64 R8, [R3-4]", "load"), ("st.global.b64 [R3-4], R8", "store"),
                       ("atom.global.add.b64 R8, [R3-4], R4", "atomic"), ("st.global.b128 [R3-8], R8", "wide store")):
        for place in ("above", "input", "top"):
            fault = Fault.MISALIGNED
            yield Attack(f"{name} across the bound, {place}", image(text), fault, place)
    yield Attack("from the end of memory to its start", image("ld.global.b128 R8, [R3+8]"), Fault.MISALIGNED, "top")


def _spaces() -> Iterator[Attack]:
    """Beyond shared, local and constant memory and the parameters."""
    far = (TINY.shared_bytes - 64, TINY.shared_bytes, 0x8000_0000, 0xFFFF_FFFC)
    for at in (SHARED, SHARED + 56, *far):
        for name, text in (("load", "ld.shared.b32 R8, [R5]"), ("store", "st.shared.b32 [R5], R4"),
                           ("atomic", "atom.shared.add.b32 R8, [R5], R4"), ("reduction", "red.shared.or.b32 [R5], R4"),
                           ("byte", "st.shared.b8 [R5], R4"), ("lane", "sel R5, R5, R1, P0\nld.shared.b32 R8, [R5]")):
            yield Attack(f"shared {name} at {at:#x}", image(f"setp.eq.i P0, R0, 9\nmov.i R5, {at:#x}\n{text}"),
                         Fault.SHARED_BOUND)
    for text in ("ld.shared.b128 R8, [R5]", "st.shared.b128 [R5], R8"):
        yield Attack(f"across the end of shared memory: {text[:2]}", image(f"mov.i R5, 64\n{text}"), Fault.SHARED_BOUND)
    yield Attack("across two words of shared memory", image("mov.i R5, 70\nld.shared.b32 R8, [R5]"), Fault.MISALIGNED)
    for at in (LOCAL, LOCAL + 4, 0xFFFC, 0x1_0000, 0x4000_0000, 0x8000_0000, 0xFFFF_FFFC):
        for name, text in (("load", "ld.local.b32 R8, [R5]"), ("store", "st.local.b32 [R5], R4"),
                           ("byte", "st.local.b8 [R5+3], R4"), ("load by all", "ld.local.all.b32 R8, [R5]"),
                           ("store by all", "st.local.all.b32 [R5], R4")):
            yield Attack(f"local {name} at {at:#x}", image(f"mov.i R5, {at:#x}\n{text}"), Fault.LOCAL_BOUND)
    yield Attack("local memory that it has not", image("ld.local.b32 R8, [0]", local=0), Fault.LOCAL_BOUND)
    for at in (CONSTANTS, CONSTANTS + 44, 0x1_0000, 0x8000_0000, 0xFFFF_FFFC):
        for name, text in (("load", f"mov.i R5, {at:#x}\nld.const.b32 R8, [R5]"),
                           ("uniform load", f"umov.i U5, {at:#x}\nuld.const.b32 U6, [U5]")):
            yield Attack(f"constant {name} at {at:#x}", image(text), Fault.CONSTANT_BOUND)
    yield Attack("across the end of the constants", image("mov.i R5, 16\nld.const.b64 R8, [R5]"), Fault.CONSTANT_BOUND)
    for at in (8, 136, 252, 0x1_0000, 0x8000_0000, 0xFFFF_FFFC):
        for name in ("ldp R8,", "uldp U8,"):
            yield Attack(f"{name} at {at:#x}", image(f"{name} param[{at}]"), Fault.PARAM_BOUND)
    yield Attack("odd parameter", image("ldp R8, param[2]"), Fault.MISALIGNED)


def _code() -> Iterator[Attack]:
    """Out of its code, and what is no code."""
    wild = {"the end": START + 7, "far": 5000, "no PC": PC_NONE, "negative": 0xFFFF_FFF0, "high bits": 1 << 31 | START}
    for name, at in wild.items():
        yield Attack(f"return to {name}", image(f"umov.i U2, {at:#x}\nbru U2"), Fault.FETCH_BOUND)
        if at <= PC_NONE:
            yield Attack(f"branch to {name}", image(f"bra {at}, none"), Fault.FETCH_BOUND)
            yield Attack(f"call of {name}", image(f"call U2, {at}"), Fault.FETCH_BOUND)
    yield Attack("lanes meet beyond the code", image("setp.eq.i P0, R0, 3\n@P0 bra 10, 4000\nbra 4000, none"),
                 Fault.FETCH_BOUND)
    for place in ("code", "context", "output", "window", "own context", "own constants"):
        yield Attack(f"return into {place}", image("bru U1"), Fault.FETCH_BOUND, f"words to {place}")
    yield Attack("over the end of its code", image("nop", ends=""), Fault.FETCH_BOUND)
    for name, word in {"data": 0xFFFF_FFFF_FFFF_FFFF, "zeros of an opcode": 0x3FF << 54,
                       "half a group": 0x106 << 54 | 7 << 50 | 9 << 44 | 2 << 38,
                       "no uniform register": 0x340 << 54 | 7 << 50 | 40 << 44}.items():
        yield Attack(f"executes {name}", image(f".word {word:#x}"), Fault.ILLEGAL_OPCODE)
    for text in ("mov R8, R12", "mov R40, R4", "st.global.b32 [R2], R63", "ld.global.b32 R8, [R15]",
                 "st.global.b128 [R2], R12", "atom.global.exch.b32 R14, [R2], R4", "ld.local.all.b32 R13, [0]"):
        yield Attack(f"registers that it has not: {text}", image(text), Fault.REGISTER_BOUND)
    yield Attack("meets where no entry ends", image("rejoin"), Fault.FETCH_BOUND)
    yield Attack("trap", image("trap"), Fault.TRAP)
    yield Attack("local memory by all, its own", image("st.local.all.b32 [4], R4\nld.local.all.b32 R8, [8]"), None)


def _control() -> Iterator[Attack]:
    """Stacks, barriers, and code that never ends."""
    deep = "".join(f"setp.lt.u.i P1, R0, {15 - k}\n@P1 bra {START + 2 * k + 2}, 4000\n" for k in range(15))
    yield Attack("divergence deeper than the stack", image(deep), Fault.STACK_OVERFLOW)
    yield Attack("barrier with lanes elsewhere", image(
        f"setp.lt.u.i P0, R0, 3\nsetp.eq.i P1, R0, 9\npor P0, P0, P1\n@P0 bra {START + 5}, {START + 5}\n"
        "bar.pp.0 {}"), Fault.BARRIER_DIVERGENT)
    apart = f"setp.lt.u.i P0, R0, 8\n@P0 bra {START + 4}, {START + 5}\n"
    yield Attack("two barriers", image(apart + f"bar.pp.3 {{}}\nbra {START + 5}, none\nbar.pp.4 {{}}"),
                 Fault.BARRIER_MISMATCH)
    yield Attack("barrier that nobody comes to", image(apart + f"bar.pp.3 {{}}\nbra {START + 5}, none\n"
                                                       f"bra {START + 4}, none"), None, ends=False)
    loops = {
        "nothing": "nop", "memory": "membar", "a point": "pp {}\npp.div {}", "barriers": "bar.pp.1 {}",
        "a point that leaves nothing out": f"pp {EVERY}\npp.div {EVERY}",
        "loads": "ld.global.b128 R8, [R5]\nld.global.b32 R8, [R2]", "stores": "st.global.b128 [R5], R8",
        "atomics": "red.global.add.b32 [R5], R4", "shared atomics": "red.shared.add.b32 [64], R4",
        "square roots": "mufu.sqrt R8, R0", "constants": "ld.const.b32 R8, [0]", "shuffles": "match R8, R0"}
    for name, text in loops.items():
        head = "ldp R5, param[0]\niadd.i R5, R5, 1024\n"
        yield Attack(f"loop of {name}", image(f"{head}{text}\nbra {START + 2}, none"), None, ends=False)
    yield Attack("calls without end", image(f"call U2, {START}"), None, ends=False)
    yield Attack("a point without its second half", image(f"pp {{}}\nnop\nbra {START}, none"), None, ends=False)
    yield Attack("second halves alone", image("pp.div {}\npp.div {R0-R7}"), None)


def _leavings() -> Iterator[Attack]:
    """Whatever former owners have left."""
    store = "st.global.b32 [R2+{}], R{}\n"
    yield Attack("registers never written", image("".join(store.format(64 * k, k) for k in range(5, REGISTERS))), None)
    predicates = "".join(f"mov.i R8, 0\n@P{k} mov.i R8, 1\n" + store.format(64 * k + 64, 8) for k in range(PREDICATES))
    yield Attack("predicates never written", image(predicates), None)
    uniforms = "".join(f"mov.i R8, 0\niadd R8, R8, U{k}\n" + store.format(64 * (k % 24) + 64, 8)
                       for k in range(2, UNIFORMS))
    yield Attack("uniform registers never written", image(uniforms), None)
    shared = "".join(f"ld.shared.b32 R8, [{at}]\n" + store.format(16 * at + 64, 8) for at in range(0, SHARED, 4))
    yield Attack("shared memory never written", image(shared), None)
    half = "st.shared.b8 [R0], R4\nld.shared.b32 R8, [0]\nld.shared.b32 R9, [4]\nld.shared.b32 R10, [64]"
    yield Attack("the rest of a shared line", image(half), None)
    guarded = "setp.eq.i P0, R0, 2\n@P0 mov.i R8, 1\n@P0 mov.i R9, 2"
    yield Attack("the other lanes of a register", image(guarded), None)
    lanes = "mov.i R5, 0\n@P0 exit\nsetp.lt.u.i P1, R0, 3\n@P1 shfl.idx R8, P2, R7, R6, R5"
    yield Attack("registers of other lanes", image(lanes), None)
    yield Attack("special registers that are none", image("s2r R8, 63\ns2r R9, 7\ns2r R10, 1000\nus2r U3, 99"), None)


ROUTINES = {
    "stores to what is not its own": ("st.global.b32 [R3], R4", Fault.GLOBAL_WINDOW),
    "reads shared memory of others": (f"ld.shared.b32 R8, [{SHARED}]", Fault.SHARED_BOUND),
    "stores beyond local memory": (f"st.local.all.b32 [{LOCAL + 8}], R4", Fault.LOCAL_BOUND),
    "has registers of others": ("st.local.all.b32 [0], R13", Fault.REGISTER_BOUND),
    "leads out of the code": ("bra 9000, none", Fault.FETCH_BOUND), "is data": (".word 0xffffffffffffffff",
                                                                               Fault.ILLEGAL_OPCODE),
    "never ends": ("bra {at}, none", None), "leads back at once": ("rejoin", None),
    "waits at a barrier": (f"bar.pp.2 {{{EVERY}}}", None), "ends the warp": ("exit", None),
}
"""Words that a preemption routine begins with, and what fault ends its TB."""


def routine_attacks() -> Iterator[Attack]:
    """Yield kernels that go on for ever and attack in their preemption routines."""
    plain = image(f"bra {START}, none", ends="")
    head = "".join(f".{name} {value}\n" for name, value in (
        ("kernel", "attacker"), ("registers", REGISTERS), ("predicates", PREDICATES), ("stack", 8), ("shared", SHARED),
        ("local", LOCAL), ("param", "own u32 0 4 pointer"), ("param", "other u32 4 4")))
    for name, (text, fault) in ROUTINES.items():
        vectors = "".join(f"{text.format(at=len(plain.code) + VECTOR_WORDS * pc)}\npp {EVERY}\npp.div {EVERY}\nrejoin\n"
                          for pc in range(len(plain.code)))
        (found,) = assemble(f"{head}{PROLOGUE}bra {START}, none\n.routines\n{vectors}")
        yield Attack(f"a preemption routine that {name}", found, fault, ends=fault is not None or text == "exit")


def attacks() -> Iterator[Attack]:
    """Yield every attack."""
    for group in (_global, _spaces, _code, _control, _leavings):
        yield from group()


ATTACKS = {attack.name: attack for attack in attacks()}
"""Attacks by name."""
IN_ROUTINES = {attack.name: attack for attack in routine_attacks()}
"""Those of preemption routines, by name."""
