"""A wave of gfx906 that runs the code of a kernel, and can be stopped, scrambled and brought back before any
instruction.

Masks, branches, integers and addresses are computed as the machine does; of the rest the result is a mixture of the
operands (`amdgpu_operations`). Memories are few words, so that many addresses are one.
"""

from __future__ import annotations

import functools
import re

import numpy as np

from .amdgpu_operations import COMPARE, SCALAR, U32, U64, VECTOR, mixed, old_is_read

__all__ = ["Wave"]

LANES, WORDS = 64, 61
_NAMED = {"vcc": 106, "vcc_lo": 106, "vcc_hi": 107, "exec": 126, "exec_lo": 126, "exec_hi": 127, "m0": 124,
          "flat_scratch_lo": 102, "flat_scratch_hi": 103, "flat_scratch": 102, "scc": 253, "mode": 254}
_PAIRS = ("vcc", "exec", "flat_scratch")
_STORES = re.compile(r"(global|flat|buffer|ds|scratch)_(store|write)")
_LOADS = re.compile(r"(global|flat|buffer|ds|scratch)_(load|read)")
_ATOMICS = re.compile(r"(global|flat|buffer|ds)_(atomic|add|r?sub|inc|dec|min|max|and|or|xor|mskor|wrxchg|cmpst)")
_TWO_RESULTS = re.compile(r"v_((add|sub|subrev|addc|subb|subbrev)_co_|mad_[iu]64|div_scale)")
_SCC, _EXEC, _VCC, _MODE, _M0 = 253, 126, 106, 254, 124
_SOURCES_INDEXED, _RESULT_INDEXED = 1, 2
"""Bits of the mode register."""


@functools.lru_cache(256)
def _lanes_of(mask: int):
    """Return the lanes of a mask."""
    return np.unpackbits(np.array([mask & (1 << LANES) - 1], "<u8").view(np.uint8), bitorder="little").astype(bool)


@functools.lru_cache(4096)
def _place(operand: str) -> tuple[str, int, int] | None:
    """Return file, first register and number of registers of an operand."""
    bare = re.sub(r"^-?\|?(abs|neg|sext)?\(?|\)?\|?$", "", operand.lstrip("-"))
    if bare in _NAMED:
        return "s", _NAMED[bare], 2 if bare in _PAIRS else 1
    found = re.fullmatch(r"([sv])(?:(\d+)|\[(\d+):(\d+)\])", bare)
    if found is None:
        return None
    first = int(found[2] or found[3])
    return found[1], first, int(found[4] or first) - first + 1


def _count(operand: str) -> int:
    """Return the number of registers of an operand."""
    place = _place(operand)
    assert place is not None, f"{operand} is no register"
    return place[2]


class Wave:
    """Registers and memory of a wave.

    Attributes
    ----------
    v : array of 256 x 64 words
    s : array of 256 words
        By their encodings; 253 is ``scc``.
    memory : dict of str to array of words
    """

    def __init__(self, rng: np.random.Generator, lanes: int = (1 << LANES) - 1):
        self.v = rng.integers(0, 1 << 32, (256, LANES), U32)
        self.s = rng.integers(0, 1 << 32, 256, U32)
        self.v[0] = np.arange(LANES, dtype=U32)
        self.s[_SCC] = self.s[_MODE] = 0
        self.mask(_EXEC, lanes)
        self.memory = {space: rng.integers(0, 1 << 32, WORDS, U32) for space in ("global", "ds", "own")}

    def scramble(self, rng: np.random.Generator) -> None:
        """Fill all registers with something else; the mode register is as a wave starts with."""
        self.v[:] = rng.integers(0, 1 << 32, self.v.shape, U32)
        self.s[:] = rng.integers(0, 1 << 32, self.s.shape, U32)
        self.s[_SCC] &= 1
        self.s[_MODE] = 0

    def mask(self, number: int, value: int | None = None) -> int:
        """Return, after setting it if a value is given, a pair of scalar registers."""
        if value is not None:
            self.s[number], self.s[number + 1] = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF
        return int(self.s[number]) | int(self.s[number + 1]) << 32

    def lanes(self):
        """Return which lanes are on."""
        return _lanes_of(self.mask(_EXEC))

    def words(self, operand: str) -> list:
        """Return the words of an operand."""
        place = _place(operand)
        if place is None:
            try:
                return [U32(int(operand, 0) & 0xFFFFFFFF)]
            except ValueError:
                return [mixed(operand, [])]
        file, first, count = place
        held = self.v if file == "v" else self.s
        return [np.copy(held[number]) if file == "v" else held[number] for number in range(first, first + count)]

    def write(self, operand: str, words: list, lanes=None) -> None:
        """Write the words of an operand, of a vector in some lanes."""
        place = _place(operand)
        if place is None:
            return
        file, first, _ = place
        for number, word in enumerate(words, first):
            if file == "v":
                self.v[number] = np.where(self.lanes() if lanes is None else lanes, word, self.v[number])
            else:
                self.s[number] = np.ravel(word)[0]

    def _scalar(self, operand: str, wide: bool) -> int:
        words = self.words(operand)
        value = int(words[0]) | (int(words[1]) << 32 if len(words) > 1 else 0)
        return (1 << 64) - 1 if wide and len(words) == 1 and operand.startswith("-") else value

    @np.errstate(over="ignore")
    def execute(self, mnemonic: str, operands: tuple[str, ...], modifiers: tuple[str, ...] = ()) -> bool:
        """Execute an instruction; return whether a branch is taken."""
        if mnemonic.startswith("s_cbranch"):
            return self._taken(mnemonic)
        if mnemonic.startswith(("s_waitcnt", "s_nop", "s_barrier", "s_endpgm", "buffer_wbinv", "s_sleep", "s_branch")):
            return mnemonic == "s_branch"
        text = " ".join((mnemonic, *operands, *modifiers))
        if mnemonic.startswith("s_set_gpr_idx"):
            self.s[_MODE] = 0 if mnemonic.endswith("off") else ("SRC0" in operands[1]) + 2 * ("DST" in operands[1])
            self.s[_M0] = self.s[_M0] if mnemonic.endswith("off") else self.words(operands[0])[0]
        elif self.s[_MODE] & 3 and mnemonic.startswith("v_mov"):
            self._move_indexed(operands)
        elif mnemonic.startswith("s_"):
            self._execute_scalar(mnemonic, operands)
        elif _STORES.match(mnemonic):
            self._store(mnemonic, operands, text)
        elif _LOADS.match(mnemonic):
            self._load(mnemonic, operands, text)
        elif _ATOMICS.match(mnemonic):
            self._atomic(mnemonic, operands, modifiers, text)
        else:
            self._execute_vector(mnemonic, operands, text)
        return False

    def _taken(self, mnemonic: str) -> bool:
        kind = mnemonic.removeprefix("s_cbranch_")
        if kind.startswith("scc"):
            return int(self.s[_SCC]) == int(kind[3])
        return (self.mask(_VCC if kind.startswith("vcc") else _EXEC) == 0) == (not kind.endswith("nz"))

    def _execute_scalar(self, name: str, operands: tuple[str, ...]) -> None:
        if name.endswith("_saveexec_b64"):
            return self._saveexec(name, operands)
        name = name.replace("s_cmpk_", "s_cmp_")
        if name.startswith(("s_addk_", "s_mulk_", "s_bitset")):
            name, operands = name.replace("k_", "_"), (operands[0], *operands)
        wide = name.endswith("64")
        sources = operands if name.startswith(("s_cmp", "s_bitcmp")) else operands[1:]
        values = [self._scalar(operand, wide) for operand in sources]
        if name.startswith("s_load"):
            count = int(re.sub(r"\D", "", name.removeprefix("s_load_dword")) or 1)
            words = [int(mixed("constant", [values[0] & 0xFFFFFFFF, values[1] + 4 * k])) % 24 for k in range(count)]
            return self.write(operands[0], [U32(word) for word in words])
        if name.startswith("s_cselect"):
            result, scc = values[0 if self.s[_SCC] else 1], None
        elif name in ("s_addc_u32", "s_subb_u32"):
            carry = int(self.s[_SCC])
            total = values[0] + values[1] + carry if name == "s_addc_u32" else values[0] - values[1] - carry
            result, scc = total, not 0 <= total < 1 << 32
        elif name in SCALAR:
            result, scc = SCALAR[name](*values)
        else:
            assert not name.startswith(("s_cmp", "s_bitcmp")), f"the model does not compare by {name}"
            words = [word for operand in sources for word in self.words(operand)]
            return self.write(operands[0], [mixed(name, words, k) for k in range(_count(operands[0]))])
        if result is not None:
            self.write(operands[0], [U32(result >> 32 * k & 0xFFFFFFFF) for k in range(_count(operands[0]))])
        if scc is not None:
            self.s[_SCC] = int(bool(scc))

    def _move_indexed(self, operands: tuple[str, ...]) -> None:
        """Move a register that is found at run time, or to one."""
        mode, index = int(self.s[_MODE]), int(self.s[_M0]) & 0xFF
        to, source = (int(operand[1:]) + (index if mode & bit else 0)
                      for operand, bit in zip(operands, (_RESULT_INDEXED, _SOURCES_INDEXED), strict=True))
        self.write(f"v{to % 256}", [np.copy(self.v[source % 256])])

    def _saveexec(self, name: str, operands: tuple[str, ...]) -> None:
        source, mask = self._scalar(operands[1], True), self.mask(_EXEC)
        new = {"and": source & mask, "or": source | mask, "xor": source ^ mask, "andn2": source & ~mask,
               "andn1": ~source & mask}[name.split("_")[1]]
        self.write(operands[0], [U32(mask & 0xFFFFFFFF), U32(mask >> 32)])
        self.mask(_EXEC, new)
        self.s[_SCC] = int(new != 0)

    def _execute_vector(self, mnemonic: str, operands: tuple[str, ...], text: str) -> None:
        name = re.sub(r"_(e32|e64|sdwa|dpp)$", "", mnemonic)
        plain = not re.search(r"[-|]v|sext|sdwa|dpp|clamp|op_sel|mul:|div:", text)
        if name == "v_readfirstlane_b32" or name == "v_readlane_b32":
            first = int(np.argmax(self.lanes())) if "first" in name else int(self.words(operands[2])[0]) & 63
            return self.write(operands[0], [self._vector(operands[1])[first]])
        if name == "v_writelane_b32":
            lane = int(self.words(operands[2])[0]) & 63
            return self.write(operands[0], self.words(operands[1]), np.arange(LANES) == lane)
        if name.startswith("v_cmp"):
            return self._compare(name, operands)
        results = 2 if _TWO_RESULTS.match(name) else 1
        sources = operands if old_is_read(mnemonic, text) else operands[results:]
        if name == "v_cndmask_b32" and plain:
            chosen = self._in_lanes(operands[3])
            return self.write(operands[0], [np.where(chosen, self.words(operands[2])[0], self.words(operands[1])[0])])
        if _TWO_RESULTS.match(name) and "_co_" in name:
            return self._carry(name, operands)
        if name in VECTOR and plain:
            return self.write(operands[0], [VECTOR[name](*(self._vector(operand) for operand in sources))])
        words = [word for operand in sources for word in self.words(operand)]
        if name.startswith("v_div_fmas"):
            words += self.words("vcc")
        if name.endswith("_dpp") or mnemonic.endswith("_dpp") or name.startswith("ds_"):
            words += [np.roll(np.where(self.lanes(), word, U32(0)), 1) for word in words if np.size(word) > 1]
        self.write(operands[0], [mixed(mnemonic, words, k) for k in range(_count(operands[0]))])
        if results == 2:
            mask = self._mask_of(mixed("second", words) & U32(1))
            self.write(operands[1], [U32(mask & 0xFFFFFFFF), U32(mask >> 32)])

    def _vector(self, operand: str):
        return np.broadcast_to(self.words(operand)[0], LANES).astype(U32)

    def _in_lanes(self, operand: str):
        return _lanes_of(self._scalar(operand, True))

    def _mask_of(self, bits) -> int:
        set_bits = np.broadcast_to(bits, LANES).astype(bool) & self.lanes()
        return int.from_bytes(np.packbits(set_bits, bitorder="little").tobytes(), "little")

    def _compare(self, name: str, operands: tuple[str, ...]) -> None:
        parts = name.split("_")
        if parts[2] in COMPARE and parts[3] in ("u32", "i32"):
            a, b = (self._vector(operand) for operand in operands[1:3])
            found = COMPARE[parts[2]](*((x.view(np.int32) if parts[3] == "i32" else x) for x in (a, b)))
        else:
            found = mixed(name, [word for operand in operands[1:] for word in self.words(operand)]) & U32(1)
        mask = self._mask_of(found)
        self.write(operands[0], [U32(mask & 0xFFFFFFFF), U32(mask >> 32)])
        if name.startswith("v_cmpx"):
            self.mask(_EXEC, mask)

    def _carry(self, name: str, operands: tuple[str, ...]) -> None:
        result, overflow, a, b, *carries = operands
        a, b = (self._vector(operand).astype(np.int64) for operand in ((b, a) if "rev" in name else (a, b)))
        carry = sum(self._in_lanes(operand).astype(np.int64) for operand in carries)
        total = a + b + carry if "add" in name else a - b - carry
        mask = self._mask_of((total < 0) | (total >= 1 << 32))
        self.write(result, [(total & 0xFFFFFFFF).astype(U32)])
        self.write(overflow, [U32(mask & 0xFFFFFFFF), U32(mask >> 32)])

    def _memory(self, mnemonic: str, addresses: list[str], text: str):
        """Return the memory that is meant, and the word of it for each lane."""
        space = {"ds": "ds", "buffer": "own"}.get(mnemonic.split("_")[0], "global")
        offset = sum(int(found) for found in re.findall(r"offset\d?:(\d+)", text))
        words = [word for operand in addresses for word in self.words(operand)]
        place = sum((np.broadcast_to(word, LANES).astype(U64) for word in words), np.full(LANES, offset, U64))
        return self.memory[space], (place % U64(WORDS)).astype(int)

    def _load(self, mnemonic: str, operands: tuple[str, ...], text: str) -> None:
        memory, places = self._memory(mnemonic, list(operands[1:]), text)
        kept = self.words(operands[0]) if old_is_read(mnemonic, text) else []
        count = _count(operands[0])
        self.write(operands[0], [mixed(mnemonic, [memory[(places + k) % WORDS], *kept]) for k in range(count)])

    def _store(self, mnemonic: str, operands: tuple[str, ...], text: str) -> None:
        data = 1 if mnemonic.startswith(("ds", "global", "flat")) else 0
        count = 2 if mnemonic.startswith("ds_write2") else 1
        addresses = [operand for k, operand in enumerate(operands) if not data <= k < data + count]
        memory, places = self._memory(mnemonic, addresses, text)
        words = [word for operand in operands[data:data + count] for word in self.words(operand)]
        for lane in np.flatnonzero(self.lanes()):
            for k, word in enumerate(words):
                memory[(places[lane] + k) % WORDS] = mixed(mnemonic, [np.broadcast_to(word, LANES)[lane]])

    def _atomic(self, mnemonic: str, operands: tuple[str, ...], modifiers: tuple[str, ...], text: str) -> None:
        returns = "_rtn" in mnemonic or "glc" in modifiers
        sources = operands[1:] if returns and not mnemonic.startswith("buffer") else operands
        memory, places = self._memory(mnemonic, list(sources[:1]), text)
        data = [np.broadcast_to(word, LANES) for operand in sources[1:] for word in self.words(operand)]
        old = np.zeros(LANES, U32)
        for lane in np.flatnonzero(self.lanes()):
            old[lane] = memory[places[lane]]
            memory[places[lane]] = mixed(mnemonic, [old[lane], *(word[lane] for word in data)])
        if returns:
            self.write(operands[0], [old])
