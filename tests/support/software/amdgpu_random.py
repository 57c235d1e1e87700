"""Random kernels of gfx906: alternatives, loops, saved masks, instructions that are easily got wrong."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

__all__ = ["random_kernel"]

_PLAIN = ("v_add_u32_e32", "v_sub_u32_e32", "v_subrev_u32_e32", "v_xor_b32_e32", "v_and_b32_e32", "v_mul_lo_u32")


class _Writer:
    """Writes the lines of a kernel."""

    def __init__(self, rng: random.Random):
        self._rng, self._labels = rng, itertools.count()

    def _v(self) -> str:
        return f"v{self._rng.randrange(6)}"

    def _s(self) -> str:
        return f"s{self._rng.randrange(8, 12)}"

    def _mask(self) -> str:
        return self._rng.choice(("vcc", "vcc", "s[12:13]", "s[14:15]"))

    def _simple(self) -> list[str]:
        """Return an instruction, or a few that belong together."""
        rng, v, s = self._rng, self._v, self._s
        d = v()
        a = d if rng.random() < 0.5 else v()
        kind = rng.randrange(14)
        if kind < 5:
            operands = [a, rng.choice((v(), v(), s()))]
            first = operands[::-1] if operands[1].startswith("s") or rng.random() < 0.3 else operands
            return [f"{rng.choice(_PLAIN)} {d}, {first[0]}, {first[1]}"]
        mask = self._mask()
        return [rng.choice(choice) for choice in {
            5: [(f"v_mov_b32_e32 {d}, {rng.choice((s(), v(), str(rng.randrange(64))))}",)],
            6: [(f"v_cmp_{rng.choice(('lt', 'gt', 'ne'))}_u32_e64 {mask}, {a}, {v()}",)],
            7: [(f"v_add_co_u32_e64 {d}, {mask}, {a}, {v()}",),
                (f"v_addc_co_u32_e64 {v()}, {mask}, {v()}, {v()}, {mask}",)],
            8: [(f"v_cndmask_b32_e64 {d}, {a}, {v()}, {mask}", f"v_fmac_f32_e32 {d}, {a}, {v()}")],
            9: [(f"v_add3_u32 {d}, {a}, {v()}, {s()}", f"v_lshl_add_u32 {d}, {v()}, 3, {a}",
                 f"v_alignbit_b32 {d}, {a}, {a}, {rng.randrange(32)}", f"v_mul_lo_u32 {d}, {a}, {rng.randrange(64)}",
                 f"v_not_b32_e32 {d}, {a}")],
            10: [(f"v_readlane_b32 {s()}, {a}, {rng.randrange(3)}", f"v_readfirstlane_b32 {s()}, {a}",
                  f"v_writelane_b32 {d}, {s()}, {rng.randrange(64)}",
                  f"v_mov_b32_dpp {d}, {a} row_shr:1 row_mask:0xf bank_mask:0xf")],
            11: [(f"s_add_u32 {s()}, {s()}, {s()}", f"s_mul_i32 {s()}, {s()}, {s()}", f"s_xor_b32 {s()}, {s()}, 5",
                  f"s_cmp_lt_u32 {s()}, {s()}", f"s_addc_u32 {s()}, {s()}, {s()}", f"s_addk_i32 {s()}, 0x7")],
            12: [(f"ds_read_b32 {d}, {a}", f"global_load_dword {d}, v[{rng.randrange(5)}:{5}], off".replace(
                "v[5:5]", "v[4:5]"), f"ds_read_u16_d16_hi {d}, {a}", f"s_load_dword {s()}, s[4:5], 0x8")],
            13: [(f"ds_write_b32 {a}, {v()}", f"global_store_dword v[2:3], {a}, off", "s_barrier",
                  f"ds_add_rtn_u32 {d}, {a}, {v()}")]}[kind]]

    def part(self, depth: int, length: int) -> Iterator[str]:
        """Yield a part of a kernel; masks of `depth` alternatives around it are saved."""
        for _ in range(length):
            kind = self._rng.random()
            if kind < 0.8 or depth > 2:
                yield from self._simple()
            elif kind < 0.9:
                yield from self._alternative(depth)
            elif kind < 0.94:
                yield from self._turns(depth)
            elif kind < 0.97:
                yield from self._own_turns(depth)
            elif kind < 0.98:
                yield self._rng.choice(("s_xor_b64 exec, exec, vcc", "s_mov_b64 exec, s[12:13]", "s_not_b64 exec, exec",
                                        "s_or_saveexec_b64 s[14:15], vcc"))
            else:
                yield self._rng.choice(("s_or_b64 s[12:13], s[12:13], vcc", "s_and_b64 s[14:15], exec, vcc",
                                        "s_mov_b64 s[12:13], exec", "s_xor_b64 s[14:15], exec, s[12:13]"))

    def _alternative(self, depth: int) -> Iterator[str]:
        saved, label = f"s[{16 + 2 * depth}:{17 + 2 * depth}]", f".L{next(self._labels)}"
        yield f"s_and_saveexec_b64 {saved}, {self._mask()}"
        otherwise = self._rng.random() < 0.5
        if otherwise:
            yield f"s_xor_b64 {saved}, exec, {saved}"
        if self._rng.random() < 0.5:
            yield f"s_cbranch_execz {label}"
        yield from self.part(depth + 1, self._rng.randint(1, 5))
        yield f"{label}:"
        if otherwise:
            yield self._rng.choice((f"s_andn2_saveexec_b64 {saved}, {saved}",
                                    f"s_or_saveexec_b64 {saved}, {saved}\ns_xor_b64 exec, exec, {saved}"))
            yield from self.part(depth + 1, self._rng.randint(1, 4))
        yield f"s_or_b64 exec, exec, {saved}"

    def _turns(self, depth: int) -> Iterator[str]:
        """Yield a loop that all lanes go round as often."""
        count, label = f"s{24 + depth}", f".L{next(self._labels)}"
        yield f"s_mov_b32 {count}, {self._rng.randint(1, 3)}"
        yield f"{label}:"
        yield from self.part(depth + 1, self._rng.randint(1, 5))
        yield f"s_sub_u32 {count}, {count}, 1"
        yield f"s_cmp_lg_u32 {count}, 0"
        yield f"s_cbranch_scc1 {label}"

    def _own_turns(self, depth: int) -> Iterator[str]:
        """Yield a loop that each lane leaves by itself, at the latest when all have: its mask shrinks each turn."""
        left, label = f"s[{16 + 2 * depth}:{17 + 2 * depth}]", f".L{next(self._labels)}"
        yield f"s_mov_b64 {left}, 0"
        yield f"{label}:"
        yield from self.part(depth + 1, self._rng.randint(1, 4))
        yield f"v_cmp_gt_u32_e32 vcc, {1 << self._rng.randint(20, 31)}, {self._v()}"
        yield f"s_or_b64 {left}, vcc, {left}"
        yield f"s_andn2_b64 exec, exec, {left}"
        yield f"s_cbranch_execnz {label}"
        yield f"s_or_b64 exec, exec, {left}"


def random_kernel(rng: random.Random, length: int = 14) -> list[str]:
    """Return the lines of a kernel that ends by storing some of its registers."""
    lines = [line for part in _Writer(rng).part(0, rng.randint(3, length)) for line in part.split("\n")]
    shown = [f"global_store_dword v[0:1], v{number}, off offset:{8 * number}" for number in rng.sample(range(6), 3)]
    return [*lines, f"v_mov_b32_e32 v7, s{rng.randrange(8, 12)}", *shown, "global_store_dword v[2:3], v7, off",
            "s_endpgm"]
