"""Warp-uniform values: what is one, how they move to uniform registers, and that warps cannot tell."""

import math
import textwrap

import numpy as np
import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import PRESETS, UNIFORMS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.words import decode
from caesura.sim.golden.transport import GoldenTransport
from caesura.software.compiler import CompileOptions
from caesura.software.compiler.analysis.uniformity import uniformity
from caesura.software.compiler.ir.kernel import Reg
from caesura.software.compiler.ir.spec import IRError, verify
from caesura.software.compiler.ir.text import parse, show
from caesura.software.compiler.uniform.scalarize import use_uniform_registers
from caesura.software.kernels import KERNELS
from support.programs.random_uniform import RandomUniform
from support.selection import quick
from support.sim.launch import Bench

GEOMETRY = PRESETS["gtx480"].replace(stack_depth=64)


def kernel_of(text):
    return parse("kernel k\n" + textwrap.dedent(text).strip("\n") + "\n")


def uniform_names(text):
    kernel = kernel_of(text)
    verify(kernel, "narrow")
    return {str(reg) for reg in uniformity(kernel).registers}


def straight(lines):
    return "entry:\n" + "".join(f"  {line.strip()}\n" for line in lines.split(";")) + "  end\n"


def moved(text):
    kernel = kernel_of(text)
    use_uniform_registers(kernel)
    verify(kernel, "narrow")
    return show(kernel).removeprefix("kernel k\n")


# What is uniform


@pytest.mark.parametrize("line, uniform", [
    ("%r9 = s2r #12", True), ("%r9 = s2r #4", False), ("%r9 = ldp #8", True), ("%r9 = mov 7", True),
    ("%r9 = iadd %r0, %r0", True), ("%r9 = iadd %r0, %r1", False), ("%r9 = fadd.rn %r0, %r0", True),
    ("%r9 = ballot %p1", True), ("@%p1 %r9 = ballot %p0", False), ("%r9 = match %r0", False),
    ("%r9 = shfl.idx.i %r0, 7936", False), ("%r9 = ld.const.b32 %r0", True), ("%r9 = ld.const.b32 %r1", False),
    ("%r9 = ld.global.b32 %r0", True), ("%r9 = ld.shared.b32 %r1", False), ("%r9 = ld.local.b32 %r0", False),
    ("%r9 = atom.shared.add.b32 %r0, %r0", False), ("%r9 = mov 0; @%p0 %r9 = mov 1", True),
    ("%r9 = mov 0; @%p1 %r9 = mov 1", False), ("@%p0 %r9 = mov 1; @!%p0 %r9 = mov 2", False),
    ("%r9 = sel %r0, 4, %p0", True), ("%r9 = sel %r0, 4, %p1", False),
])
def test_definitions(line, uniform):
    names = uniform_names(straight(
        "%r0 = ldp; %r1 = s2r #4; %p0 = setp.eq %r0, 3; %p1 = setp.eq %r1, 3; " + line + "; st.global.b32 %r1, %r9"))
    assert {"%r0", "%p0"} <= names and names.isdisjoint({"%r1", "%p1"})
    assert ("%r9" in names) == uniform


def test_volatile_load_is_not_uniform():
    kernel = kernel_of(straight("%r0 = ldp; %r1 = ld.global.b32 %r0; st.global.b32 %r0, %r1"))
    assert Reg("r", 1) in uniformity(kernel).registers
    kernel.blocks[0].ops[1].volatile = True
    assert Reg("r", 1) not in uniformity(kernel).registers


JOIN = """
entry:
  %r0 = ldp
  %r1 = s2r #4
  %p0 = setp.eq {which}, 3
  %r2 = mov 1
  %r4 = mov 1
  branch %p0 then other
then:
  %r2 = mov 2
  %r3 = mov 5
  st.shared.b32 %r1, %r3
  st.shared.b32 %r1, %r4
  jump meet
other:
  %r4 = mov 3
  st.shared.b32 %r1, %r4
  jump meet
meet:
  st.global.b32 %r1, %r2
  end
"""


def test_value_merged_after_a_divergent_branch_is_not_uniform():
    # r3 is local to one side; the lanes of `then` may wait while `other` overwrites the r4 that they have yet to read.
    assert {"%r2", "%r3", "%r4"} <= uniform_names(JOIN.format(which="%r0"))
    names = uniform_names(JOIN.format(which="%r1"))
    assert "%r3" in names and names.isdisjoint({"%r2", "%r4"})
    # Written on both sides, it is not live where one side waits for the other, but is where they meet.
    both = JOIN.replace("other:\n", "other:\n  %r2 = mov 6\n").replace("  %r2 = mov 1\n", "")
    assert "%r2" in uniform_names(both.format(which="%r0"))
    assert "%r2" not in uniform_names(both.format(which="%r1"))


LOOP = """
entry:
  %r0 = {bound}
  %r1 = s2r #4
  %r2 = mov 0
  jump loop
loop:
  %r2 = iadd %r2, 1
  st.shared.b32 %r1, %r2
  %p0 = setp.lt.s %r2, %r0
  branch %p0 loop done
done:
  {after}
  end
"""


@pytest.mark.parametrize("bound, after, uniform", [
    ("ldp", "st.global.b32 %r1, %r2", True), ("s2r #4", "st.global.b32 %r1, %r2", False),
    ("s2r #4", "st.global.b32 %r1, %r1", True), ("s2r #4", "@%p0 exit", True)])
def test_loop_counter(bound, after, uniform):
    assert ("%r2" in uniform_names(LOOP.format(bound=bound, after=after))) == uniform


def test_lanes_in_different_iterations():
    """Lanes that part where they only meet again behind the loop are in different iterations of it."""
    text = """
    entry:
      %r1 = s2r #4
      %r2 = mov 0
      jump loop
    loop:
      %r2 = iadd %r2, 1
      %p0 = setp.lt.s %r1, {limit}
      branch %p0 left right
    left:
      %p1 = setp.lt.s %r2, 9
      branch %p1 loop out
    right:
      st.shared.b32 %r1, %r2
      %p2 = setp.lt.s %r2, 5
      branch %p2 loop out
    out:
      end
    """
    assert "%r2" not in uniform_names(text.format(limit=3))
    assert "%r2" not in uniform_names(text.format(limit="%r2"))
    assert "%r2" in uniform_names(text.format(limit=3).replace("%r1 = s2r #4", "%r1 = ldp"))


def test_divergence_by_a_value_that_divergence_made():
    """Of two branches the second diverges only because the first does."""
    text = JOIN.format(which="%r1").replace("  st.global.b32 %r1, %r2\n  end", """  %p1 = setp.eq %r2, 2
      %r5 = mov 0
      branch %p1 second last
    second:
      %r5 = mov 1
      jump last
    last:
      st.global.b32 %r1, %r5
      end""")
    assert uniform_names(text).isdisjoint({"%p1", "%r5"})


def test_register_that_may_be_undefined_is_not_uniform():
    assert "%r1" not in uniform_names(straight("%r0 = ldp; st.global.b32 %r0, %r1"))


# What the pass makes of it


@pytest.mark.parametrize("before, after", [
    ("%r0 = ldp; %r1 = s2r #4; %r2 = iadd %r0, %r1; st.global.b32 %r2, %r1",
     "U0 = uldp; %r1 = s2r #4; %r2 = iadd %r1, U0; st.global.b32 %r2, %r1"),
    ("%r0 = ldp; %r1 = s2r #4; %r2 = isub %r0, %r1; st.global.b32 %r2, %r1 #4",
     "U0 = uldp; %r1 = s2r #4; %r2 = irsub %r1, U0; st.global.b32 %r2, %r1 #4"),
    ("%r0 = ldp; %r1 = s2r #4; %p0 = setp.lt.s %r0, %r1; @%p0 st.global.b32 %r0, %r1 #4",
     "U0 = uldp; %r1 = s2r #4; %p0 = setp.gt.s %r1, U0; @%p0 st.global.b32 U0, %r1 #4"),
    ("%r0 = ldp; %r2 = s2r #12; %r1 = s2r #4; %r3 = imad.lo %r0, %r2, %r1; st.global.b32 %r0, %r3",
     "%r0 = ldp; U0 = us2r #12; %r1 = s2r #4; %r3 = imad.lo %r0, U0, %r1; st.global.b32 %r0, %r3"),
    ("%r0 = ldp; %r1 = ldp #4; %p0 = setp.lt.s %r0, %r1; %r1 = sel %r0, %r1, %p0; %r3 = s2r #4; "
     "st.global.b32 %r1, %r3",
     "U1 = uldp; U0 = uldp #4; %p0 = usetp.lt.s U1, U0; @%p0 U0 = umov U1; %r3 = s2r #4; st.global.b32 U0, %r3"),
    ("%r0 = ldp; %r1 = ld.const.b32 %r0 #8; %r2 = s2r #4; red.shared.add.b32 %r1, %r2",
     "U0 = uldp; U0 = uld.const.b32 U0 #8; %r2 = s2r #4; red.shared.add.b32 U0, %r2"),
    # Operands c, stored data and operand a of an immediate form are no place for a uniform register.
    ("%r0 = ldp; %r1 = s2r #4; st.global.b32 %r1, %r0", "%r1 = s2r #4; %r2 = ldp; st.global.b32 %r1, %r2"),
    ("%r0 = ldp; %r1 = s2r #4; %r2 = popc %r0; %r3 = bfe.u %r2, 2052; st.global.b32 %r1, %r3",
     "U0 = uldp; %r1 = s2r #4; %r2 = popc U0; %r3 = bfe.u %r2, 2052; st.global.b32 %r1, %r3"),
])
def test_straight_code(before, after):
    got = [line.strip() for line in moved(straight(before)).splitlines()[1:-1]]
    assert got == [line.strip() for line in after.split(";")]


def test_constants_leave_loops():
    text = """
    entry:
      %r0 = s2r #4
      %r1 = mov 0
      jump loop
    loop:
      %r2 = mov 48
      %r1 = imad.lo %r1, %r2, %r0
      %r3 = mov 48
      %r1 = imad.lo %r0, %r3, %r1
      %p0 = setp.lt.s %r1, 9
      branch %p0 loop done
    done:
      st.global.b32 %r0, %r1
      end
    """
    assert moved(text) == textwrap.dedent("""\
        entry:
          %r0 = s2r #4
          %r1 = mov 0
          U0 = umov 48
          jump loop
        loop:
          %r1 = imad.lo %r1, U0, %r0
          %r1 = imad.lo %r0, U0, %r1
          %p0 = setp.lt.s %r1, 9
          branch %p0 loop done
        done:
          st.global.b32 %r0, %r1
          end
        """)


def test_constants_of_a_loop_without_a_way_in_stay():
    text = """
    entry:
      %r0 = s2r #4
      %r2 = mov 48
      %r1 = imad.lo %r0, %r2, %r0
      st.global.b32 %r0, %r1
      %p0 = setp.lt.s %r1, 9
      branch %p0 entry done
    done:
      end
    """
    assert "entry:\n  %r0 = s2r #4\n  U0 = umov 48\n  %r1 = imad.lo %r0, U0, %r0\n" in moved(text)


@pytest.mark.parametrize("line, what", [
    ("%r0 = iadd U0, %r1", "operands"), ("%r0 = imad.lo %r1, %r1, U0", "operands"), ("U0 = iadd %r1, %r1", "results"),
    ("U0 = uiadd %r1, U1", "operands"), ("%r0 = mufu.rcp U0", "operands"), ("st.global.b32 %r0, U0", "operands"),
    ("%r0, %r1 = dadd.rn %r2, %r3, U0, U1", "operands"), ("%r0 = uiadd U0, 4", "results")])
def test_places_of_uniform_registers_are_verified(line, what):
    with pytest.raises(IRError, match=what):
        verify(kernel_of(straight(line)), "narrow")


SIDES = """
entry:
  %r0 = ldp
  %r1 = s2r #4
  %r2 = ldp #4
  %p0 = setp.eq {which}, 3
  branch %p0 then other
then:
  st.shared.b32 %r2, %r1
  jump meet
other:
  %r3 = iadd %r0, 4
  st.shared.b32 %r3, %r1
  jump meet
meet:
  end
"""


@pytest.mark.parametrize("which, shared", [("%r0", True), ("%r1", False)])
def test_both_sides_of_a_divergent_branch_execute(which, shared):
    """What one side defines may not take the place of what lanes that wait on the other side need."""
    lines = [line.strip() for line in moved(SIDES.format(which=which)).splitlines()]
    then = next(line for line in lines if line.startswith("st.shared"))
    defined = next(line for line in lines if "uiadd" in line)
    assert (defined.split()[0] == then.split()[1].rstrip(",")) == shared


def test_more_values_than_registers():
    count = UNIFORMS + 8
    params = "; ".join(f"%r{k + 1} = ldp #{4 * k}" for k in range(count))
    uses = "; ".join(f"%r99 = imul.lo %r99, %r{k + 1}" for k in range(count))
    text = straight(f"%r0 = s2r #4; %r99 = mov %r0; {params}; {uses}; st.global.b32 %r0, %r99")
    kernel = kernel_of(text)
    use_uniform_registers(kernel)
    verify(kernel, "narrow")
    places = {reg for op in kernel.ops() for reg in op.written() if reg.kind == "U"}
    assert len(places) == UNIFORMS
    assert sum(op.name == "ldp" for op in kernel.ops()) == count - UNIFORMS
    assert len(list(kernel.ops())) == len(list(kernel_of(text).ops()))


def test_shipped_kernels_need_fewer_vector_registers():
    ratios, sizes = [], []
    for k in [k for k in KERNELS.values() if k.folder == "examples"]:
        vector, uniform = k.image(CompileOptions(uniform=False)), k.image()
        ratios.append(math.log(uniform.registers / vector.registers))
        sizes.append(math.log(len(uniform.code) / len(vector.code)))
        numbers = {u for word in uniform.code for u in decode(word).uniform_writes}
        assert numbers <= set(range(UNIFORMS)) and uniform.registers <= vector.registers
    assert math.exp(np.mean(ratios)) < 0.75 and math.exp(np.mean(sizes)) < 1.03


# Warps cannot tell


class Running:
    """A random kernel on the golden model."""

    def __init__(self, seed, join):
        self.kernel = RandomUniform(seed)
        self.image = self.kernel.image(join=join)
        self.transport = GoldenTransport(GEOMETRY, 1 << 19, seed=seed)
        self.bench = Bench(self.transport)
        self.expected = np.array(self.kernel.expected(), np.uint32).tobytes()
        self.output = self.bench.store(bytes(len(self.expected)))
        self.bench.load(0, self.image, self.kernel.grid, (self.kernel.threads,), [self.output, *self.kernel.parameters])
        self.bench.start(0)

    def check(self):
        assert self.bench.fault() is None
        got = self.transport.read_memory(self.output, len(self.expected))
        assert got == self.expected, self.kernel.text


@pytest.mark.parametrize("join", [True, False])
def test_random_control_flow(join):
    used = 0
    for seed in range(6):
        run = Running(2 * seed + join, join)
        run.bench.finish(0, 1_000_000)
        run.check()
        used += sum(bool(decode(word).uniform_writes) for word in run.image.code)
    assert used > 50


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.depends_on("hw", "sim", "software")
def test_much_random_control_flow():
    for seed in range(1000, 2500):
        run = Running(seed, seed % 2 == 0)
        run.bench.finish(0, 1_000_000)
        run.check()


@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
def test_preempted_anywhere(mechanism):
    """Uniform registers come back, and no vector register was saved in their place: the others return scrambled."""
    for seed in (3, 8):
        run = Running(seed, True)
        saved = 0
        while run.bench.state(0) is KernelState.RUNNING:
            snapshot = run.transport.snapshot()
            run.bench.preempt(0, mechanism, scramble=True)
            if run.bench.state(0) is KernelState.PREEMPTED:
                saved += run.bench.get("save_tbs") > 0
                run.bench.resume(0, scramble=True)
            run.bench.finish(0, 1_000_000)
            run.check()
            run.transport.restore(snapshot)
            run.transport.advance(23)
        assert saved > 5
