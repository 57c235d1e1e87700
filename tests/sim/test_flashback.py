"""Flashback on our own machine code: shipped kernels on the golden model, stopped, scrambled and brought back by plans.

The routines are carried out by the golden model's instructions: what is executed again is the kernel's own word, what
is reverted the word of the inverse. Every register that was not saved holds something else afterwards.
"""

import itertools
from collections import Counter

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.isa.opcodes import PT
from caesura.sim.golden.semantics.operation import compile_word
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.scenario import differences, start_job
from caesura.software.compiler.codegen.emit import emit
from caesura.software.compiler.flashback.backup import add_backups
from caesura.software.compiler.flashback.blocks import Instruction, Register, RegisterClass
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.machine_code import program
from caesura.software.compiler.flashback.reversing import reverting
from caesura.software.compiler.flashback.routines import Action
from caesura.software.compiler.flashback.search import Search
from caesura.software.compiler.ir.kernel import Block as IrBlock
from caesura.software.compiler.ir.kernel import Kernel
from caesura.software.driver import Device
from caesura.software.kernels import KERNELS
from support.selection import quick

G = PRESETS["gtx480"].replace(stack_depth=64)
PLACES = [Register(RegisterClass.SCALAR, k) for k in range(32)]


class Interrupter:
    """Plans of a kernel, and a warp that is stopped by them."""

    def __init__(self, image, objective, seed, fault=None):
        self.routines, self.copies, self.used = {}, {}, Counter()
        self.rng = np.random.default_rng(seed)
        kernel = program(image, G)
        for code in kernel.blocks:
            block = code.block if fault is None else fault(code.block)
            search = Search(block, kernel.costs)
            plans = list(search.plans(objective))
            for copy in add_backups(search, plans, objective, PLACES):
                self.copies.setdefault(code.start + copy.before, []).append((block.register_of[copy.value], copy.place))
            self.routines |= {code.start + plan.at: (code.start, block, search.routines(plan))
                              for plan in plans[:code.words]}

    def interrupt(self, machine, warp, pc):
        """Stop a warp before the instruction at `pc` and bring it back."""
        start, block, routines = self.routines[pc]
        slots = {}
        self.perform(machine, warp, start, block, routines.preemption, slots)
        warp.registers[:] = self.rng.integers(0, 1 << 32, warp.registers.shape, np.uint32)
        warp.uniforms[:] = self.rng.integers(0, 1 << 32, warp.uniforms.shape, np.uint32)
        warp.predicates[:] = map(int, self.rng.integers(0, 1 << 32, len(warp.predicates)))
        self.perform(machine, warp, start, block, routines.resume, slots)

    def perform(self, machine, warp, start, block, steps, slots):
        """Carry out a routine; execution and reverts run under the warp's mask, the rest moves all lanes."""
        for action, number, reg in steps:
            self.used[action] += 1
            if reg is not None:
                files = {RegisterClass.VECTOR: warp.registers, RegisterClass.PREDICATE: warp.predicates,
                         RegisterClass.SCALAR: warp.uniforms}
                file = files[reg.kind]
                if action is Action.STORE:
                    value = file[reg.index]
                    slots[number] = value if reg.kind is RegisterClass.PREDICATE else np.copy(value)
                else:
                    file[reg.index] = slots[number]
                continue
            word = self.word(machine, warp.tb.kernel, start + number, block.instructions[number], action)
            mask = warp.stack[-1].mask & warp.live
            if word.guard != PT:
                mask &= warp.predicates[word.guard] ^ word.invert
            if mask:
                word.run(warp, mask)

    def word(self, machine, kernel, pc, instruction: Instruction, action):
        """Return an instruction of the kernel, or its inverse, as the machine executes it."""
        if action is Action.EXECUTE:
            return machine.decoder.operation(kernel, pc)
        inverse = reverting(instruction.origin)
        (word, *_) = emit(Kernel("inverse", [IrBlock("only", [inverse])])).code
        return compile_word(word, machine, kernel)


def run_interrupted(image, job, objective, share, seed=1, fault=None):
    """Run a job that is interrupted before a share of its instructions; return what was done and what is wrong."""
    transport = GoldenTransport(G, 64 << 20)
    device, machine = Device(transport), transport.machine
    interrupter = Interrupter(image, objective, seed, fault)
    launch, arrays = start_job(device, device.load([image])[image.name], job)
    stops = 0
    while True:
        if machine.attention:
            machine.attention = False
            machine.manage()
        if not machine.ready:
            break
        warp = machine.ready[0]
        pc = warp.stack[-1].pc
        if interrupter.rng.random() < share:
            interrupter.interrupt(machine, warp, pc)
            stops += 1
        for source, place in interrupter.copies.get(pc, ()):
            warp.uniforms[place.index] = warp.uniforms[source.index]
            interrupter.used["copy"] += 1
        machine.advance(1)
    device.wait(launch, 1000)
    return stops, interrupter.used, {name: d for name, d in differences(job, arrays).items() if d}


KERNELS_TRIED = ["vecadd", "reduction", "pathfinder", "collatz", "histogram", "warpscan", "matmul", "dot"]


@pytest.mark.parametrize("name, objective", quick(itertools.product(KERNELS_TRIED, Objective), [
    ("vecadd", Objective.SIZE), ("reduction", Objective.LATENCY), ("dot", Objective.LATENCY)]))
def test_shipped_kernels_are_brought_back(name, objective):
    kernel = KERNELS[name]
    job = kernel.job("small")
    stops, used, wrong = run_interrupted(kernel.image(), job, objective, 0.02)
    print(name, stops, dict(used))
    assert not wrong and stops > 20
