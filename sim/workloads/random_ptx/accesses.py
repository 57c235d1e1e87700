"""Random loads and stores of a PTX kernel: its output slot, the input, and shared memory across barriers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .builder import NAME, Builder
from .operations import signed
from .tree import Barrier, Guard, Thread

__all__ = ["INPUT_BYTES", "SLOT_BYTES", "RESULTS", "SHARED_SLOT", "Accesses"]

INPUT_BYTES = 1024
SLOT_BYTES = 128
"""Bytes of a thread's slot in the output."""
RESULTS = 48
"""Offset of the final values in a slot; the part below is scratch."""
SHARED_SLOT = 16


class Accesses(Builder):
    """Statements that access memory."""

    def _access(self, text: str, vector: int, registers: Sequence[str], address: str, store: bool,
                effect: Callable[[Thread], None], guard: Guard | None) -> None:
        data = f"{{{', '.join(registers)}}}" if vector > 1 else registers[0]
        operands = f"[{address}], {data}" if store else f"{data}, [{address}]"
        opcode = text.replace(".v", f".v{vector}") if vector > 1 else text.replace(".v", "")
        self.emit(f"{opcode} \t{operands}", effect, guard)

    def _shape(self, store: bool) -> tuple[str, int, int]:
        """Return type, bits and vector length of a random access."""
        rng = self.rng
        bits = rng.choice((8, 16, 32, 32, 64))
        letter = rng.choice("bf" if self.s.floats else "b") if bits == 32 else "u" if store else rng.choice("us")
        lengths = [n for n in (1, 2, 4) if n == 1 or (self.s.heavy and bits >= 32 and bits * n <= 128)]
        return f"{letter}{bits}", bits, rng.choice(lengths)

    def _destinations(self, bits: int, vector: int) -> list[str]:
        """Return distinct registers for a load; 8- and 16-bit values go to 16-bit or 32-bit registers."""
        if bits == 64:
            pool = self.wide
        elif bits < 32 and self.rng.random() < 0.5:
            return [self.fresh("%rs")]
        else:
            pool = self.narrow
        chosen = self.rng.sample(pool, min(vector, len(pool)))
        return chosen + [self.fresh("%r" if bits < 64 else "%rd") for _ in range(vector - len(chosen))]

    def _move_in(self, type: str, bits: int, vector: int, address: str, space: str,
                 source: Callable[[Thread], bytes], guard: Guard | None) -> None:
        """Load from `source`, the accessed bytes; values in 16-bit registers are widened afterwards."""
        registers = self._destinations(bits, vector)
        half = registers[0].startswith("%rs")

        def effect(thread: Thread) -> None:
            data = source(thread)
            for k, register in enumerate(registers):
                value = int.from_bytes(data[k * bits // 8:(k + 1) * bits // 8], "little", signed=type[0] == "s")
                width = 16 if half else 64 if bits == 64 else 32
                thread.values[register] = value & (1 << width) - 1

        guard = None if half or len(set(registers) - {*self.narrow, *self.wide}) else guard
        self._access(f"ld.{space}.v.{type}", vector, registers, address, False, effect, guard)
        if half:
            letter = self.rng.choice("su")
            self.compute(f"cvt.{letter}32.{letter}16", self.rng.choice(self.narrow), 32, [(registers[0], 16)],
                         lambda x: signed(x, 16) if letter == "s" else x)

    def _data_out(self, bits: int, vector: int) -> tuple[list[str], Callable[[Thread], bytes]]:
        registers = [self.rng.choice(self.wide if bits == 64 else self.narrow) for _ in range(vector)]

        def data(thread: Thread) -> bytes:
            return b"".join(thread.get(r, bits).to_bytes(bits // 8, "little") for r in registers)

        return registers, data

    def _input_address(self, index: str, size: int) -> str:
        """Emit the address of input element `index` of `size` bytes."""
        pointer, base, offset, address = (self.fresh("%rd") for _ in range(4))
        self.emit(f"ld.param.u64 \t{pointer}, [{NAME}_param_1]")
        self.emit(f"cvta.to.global.u64 \t{base}, {pointer}")
        self.emit(f"mul.wide.u32 \t{offset}, {index}, {size}")
        self.emit(f"add.s64 \t{address}, {base}, {offset}")
        return address

    def _load_input(self, register: str, by: str) -> None:
        index = self._masked(by, INPUT_BYTES // 4 - 1)
        address = self._input_address(index, 4)

        def effect(thread: Thread) -> None:
            start = 4 * thread.values[index]
            thread.values[register] = int.from_bytes(thread.inputs[start:start + 4], "little")

        self.emit(f"ld.global.nc.u32 \t{register}, [{address}]", effect)

    def _load(self) -> None:
        type, bits, vector = self._shape(False)
        size = bits * vector // 8
        index = self._masked(self.rng.choice(self.narrow), INPUT_BYTES // size - 1)
        address = self._input_address(index, size)

        def source(thread: Thread) -> bytes:
            start = size * thread.values[index]
            return thread.inputs[start:start + size]

        self._move_in(type, bits, vector, address, "global", source, self._guard())

    def _store(self) -> None:
        type, bits, vector = self._shape(True)
        size = bits * vector // 8
        offset = self.rng.randrange(0, RESULTS, size)
        registers, data = self._data_out(bits, vector)

        def effect(thread: Thread) -> None:
            thread.output[offset:offset + size] = data(thread)

        self._access(f"st.global.v.{type}", vector, registers, f"{self.slot}+{offset}", True, effect, self._guard())

    def _own_slot(self) -> None:
        """Read back values that the thread stored to its own slot."""
        type, bits, vector = self._shape(False)
        size = bits * vector // 8
        offset = self.rng.randrange(0, RESULTS, size)
        self._move_in(type, bits, vector, f"{self.slot}+{offset}", "global",
                      lambda thread: bytes(thread.output[offset:offset + size]), self._guard())

    def _exchange(self) -> None:
        """Store to the thread's shared slot, wait at a barrier, read another thread's slot, wait at a barrier again."""
        rng = self.rng
        own = self._shared_address(self.tid)
        for _ in range(rng.randint(1, 2)):
            self._store_shared(own)
        self.nodes.append(Barrier(rng.choice((0, 0, 0, 1, 15))))
        for _ in range(rng.randint(1, 2)):
            self._load_shared()
        self.nodes.append(Barrier(0))

    def _clear_shared(self) -> None:
        """Set the thread's shared slot to zeros."""
        own = self._shared_address(self.tid)
        for offset in range(0, SHARED_SLOT, 8):
            self.emit(f"st.shared.u64 \t[{own}+{offset}], 0")

    def _shared_address(self, index: str) -> str:
        start, scaled, address = (self.fresh("%r") for _ in range(3))
        self.emit(f"mov.u32 \t{start}, exchange")
        self.emit(f"shl.b32 \t{scaled}, {index}, {SHARED_SLOT.bit_length() - 1}")
        self.emit(f"add.s32 \t{address}, {start}, {scaled}")
        return address

    def _store_shared(self, own: str) -> None:
        type, bits, vector = self._shape(True)
        size = bits * vector // 8
        offset = self.rng.randrange(0, SHARED_SLOT, size)
        registers, data = self._data_out(bits, vector)

        def effect(thread: Thread) -> None:
            start = SHARED_SLOT * thread.values["tid"] + offset
            thread.shared[start:start + size] = data(thread)

        self._access(f"st.shared.v.{type}", vector, registers, f"{own}+{offset}", True, effect, self._guard())

    def _load_shared(self) -> None:
        rng = self.rng
        if rng.random() < 0.5:
            other = self._masked(rng.choice(self.narrow), (1 << self.block_threads.bit_length() - 1) - 1)
        else:
            other = self._neighbour(rng.randrange(1, self.block_threads + 1))
        address = self._shared_address(other)
        type, bits, vector = self._shape(False)
        size = bits * vector // 8
        offset = rng.randrange(0, SHARED_SLOT, size)

        def source(thread: Thread) -> bytes:
            start = SHARED_SLOT * thread.values[other] + offset
            return bytes(thread.shared[start:start + size])

        self._move_in(type, bits, vector, f"{address}+{offset}", "shared", source, self._guard())

    def _neighbour(self, distance: int) -> str:
        """Return a register with the number of the thread `distance` further on, modulo the TB."""
        total, less, other, flag = *(self.fresh("%r") for _ in range(3)), self.fresh("%p")
        size = self.block_threads
        self.compute("add.s32", total, 32, [(self.tid, 32), (distance, 32)], lambda a, b: a + b)
        self.compute("sub.s32", less, 32, [(total, 32), (size, 32)], lambda a, b: a - b)
        self._set_flag("setp.lt.u32", flag, 32, total, size, "lt", False)

        def effect(thread: Thread) -> None:
            thread.values[other] = thread.values[total if thread.values[flag] else less]

        self.emit(f"selp.b32 \t{other}, {total}, {less}, {flag}", effect)
        return other

    def _store_result(self, offset: int, bits: int, register: str) -> None:
        def effect(thread: Thread) -> None:
            thread.output[offset:offset + bits // 8] = thread.get(register, bits).to_bytes(bits // 8, "little")

        self.emit(f"st.global.u{bits} \t[{self.slot}+{offset}], {register}", effect)
