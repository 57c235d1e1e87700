"""Changed contexts: hostile values in every field of an image, and images of random numbers by the format's rules."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from caesura.hw.arch.geometry import PC_BITS, PC_NONE, PREDICATES, SEGMENT_BYTES, WORD_BYTES
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import (
    CCB_ENTRY,
    STACK_ENTRY,
    WARP_HEADER,
    Mechanism,
    Reconvergence,
)
from caesura.hw.arch.image.encodings import (
    CODE_BITS,
    Encoding,
    codes_of,
    encoded_words,
    row_of,
    row_words,
)
from caesura.hw.arch.image.image_reader import ImageReader
from caesura.hw.arch.image.tb_history import known_encodings

from .context_machine import TINY, VICTIM, Image

__all__ = ["Places", "lies", "random_image"]

CHECKSUMS = "crc", "stream_crc", "table_crc"
LINES = -(-VICTIM.shared_bytes // SEGMENT_BYTES)
WORD = 1 << 32
CODES = 32 // CODE_BITS
"""Codes in a word of the encoding table."""
ROW = row_words(VICTIM.registers)
KNOWN = Encoding.DEAD, *known_encodings(TINY)


class Places:
    """Where the parts of an image begin, in words of its stream.

    Attributes
    ----------
    heads, scalars, stacks, registers : list of int
        First word of these parts in each warp record.
    depths : list of int
        Stack entries of each.
    lines, table, end : int
        The bitmap of shared memory, the encoding table, and the end.
    """

    def __init__(self, image: Image):
        fields = image.fields
        self.end = fields["length"] // WORD_BYTES
        records = fields["live_warps"].bit_count()
        self.table = self.end - ROW * records
        self.heads, self.scalars, self.stacks, self.registers, self.depths = [], [], [], [], []
        reader = ImageReader(np.array(image.stream[:self.end], np.uint32), TINY, records, VICTIM.registers)
        for codes in reader.codes:
            at = reader.position
            record = reader.record()
            head = context.from_words(WARP_HEADER, image.stream[at:at + 1])
            self.heads.append(at)
            self.scalars.append(at + 1 + head["exited"] + head["uniforms"])
            self.stacks.append(self.scalars[-1] + len(record.predicates) + len(record.uniforms))
            self.depths.append(len(record.stack))
            self.registers.append(reader.position)
            reader.registers(record, codes)
        self.lines = reader.position


def _values(width: int, value: int, *others: int) -> list[int]:
    """Return hostile values of a field: the ends of its range, the neighbours of what it is, and others."""
    most = (1 << width) - 1
    near = {0, 1, most, most - 1, 1 << width - 1, value - 1, value + 1, *others}
    return sorted(each for each in near if 0 <= each <= most and each != value)


def _of_entry(image: Image, area_bytes: int) -> Iterator[tuple[str, Image]]:
    fields = image.fields
    area, length = fields["register_image"], fields["length"]
    others = {
        "register_image": (area - 128, area + 4, area + 128, area + area_bytes),
        "base_crc": (fields["crc"],),
        "length": (4, 12, 16, 32, 36, length - 4, length + 4, length + 16, area_bytes - 4, area_bytes, area_bytes + 4),
        "data_bytes": (length - 4, length, length + 4), "live_warps": (1, 2, 4, 7, 8, 15, 16, 1 << 4 | 3, 3 << 30 | 3),
        "mechanism": (max(Mechanism), max(Mechanism) + 1), "none": (1, 2, 4, 8, 16),
        "registers_stay": (1,), "lines_stay": (1,),
        "registers": (TINY.regs_per_thread, TINY.regs_per_thread + 1), "warps": (TINY.max_block_warps, 4),
        "local_base": (fields["local_base"] - 128, fields["local_base"] + 128, area),
    }
    for name, place in CCB_ENTRY:
        if name in CHECKSUMS:
            continue
        for value in _values(place.width, fields[name], *others.get(name, ())):
            changed = image.copy()
            changed.change(**{name: value})
            changed.seal()
            yield f"{name} = {value:#x}", changed


def _with(image: Image, **words: int) -> Image:
    """Return an image with other words at some places (``w12=...``), its checksums renewed."""
    changed = image.copy()
    for place, value in words.items():
        changed.stream[int(place[1:])] = value
    changed.seal()
    return changed


def _of_heads(image: Image, places: Places) -> Iterator[tuple[str, Image]]:
    others = {"warp": (2, 3, 4, 8), "depth": (TINY.stack_depth, TINY.stack_depth + 1)}
    for number, at in enumerate(places.heads):
        head = context.from_words(WARP_HEADER, image.stream[at:at + 1])
        for name, place in WARP_HEADER:
            for value in _values(place.width, head[name], *others.get(name, ())):
                new, = context.to_words(WARP_HEADER, **head | {name: value})
                yield f"record {number}: {name} = {value:#x}", _with(image, **{f"w{at}": new})
        for further in range(at + 1, places.scalars[number]):
            for value in _values(32, image.stream[further], 0x80, 0x100, 0x1FF):
                yield f"record {number}: word {further} = {value:#x}", _with(image, **{f"w{further}": value})


def _of_words(image: Image, places: Places) -> Iterator[tuple[str, Image]]:
    """Predicates, uniform registers, stacks, the bitmap of shared memory, and a few words of registers."""
    codes = len(VICTIM.code)
    near = (codes - 1, codes, codes + 1, PC_NONE, PC_NONE - 1, 1 << PC_BITS, 1 << PC_BITS | 16)
    for number, (scalars, stack, registers) in enumerate(zip(places.scalars, places.stacks, places.registers,
                                                             strict=True)):
        for at in range(scalars, registers):
            part = "stack" if at >= stack else "scalar"
            forms = [image.stream[at] ^ bits << PC_BITS for bits in range(1, 8)]  # other words follow
            for value in _values(32, image.stream[at], *((*near, *forms) if part == "stack" else (0xFF, 0x100))):
                yield f"record {number}: {part} word {at} = {value:#x}", _with(image, **{f"w{at}": value})
        for at in (registers, places.lines - 1 if number else places.heads[1] - 1):
            for value in _values(32, image.stream[at]):
                yield f"record {number}: register word {at} = {value:#x}", _with(image, **{f"w{at}": value})
    for value in _values(32, image.stream[places.lines], (1 << LINES) - 1, 1 << LINES, 1 << LINES | 1, 2, 4):
        yield f"lines = {value:#x}", _with(image, **{f"w{places.lines}": value})


def _of_encodings(image: Image, places: Places) -> Iterator[tuple[str, Image]]:
    """Codes of registers, also beyond the kernel's."""
    strange = sorted({*range(1 << CODE_BITS)} - {*KNOWN})
    for number in range(len(places.heads)):
        row = places.table + ROW * number
        for register in range(CODES * ROW):
            at, low = row + register // CODES, CODE_BITS * (register % CODES)
            old = image.stream[at] >> low & (1 << CODE_BITS) - 1
            some = (KNOWN[register % len(KNOWN)], strange[register % len(strange)])
            for code in sorted({Encoding.DEAD, Encoding.LOW_4, Encoding.RANDOM, Encoding.UNIFORM_8, Encoding.STRIDED_8,
                                Encoding.FOLLOWS, *some} - {old}):
                new = image.stream[at] & ~((1 << CODE_BITS) - 1 << low) | code << low
                yield f"record {number}: code of r{register} = {int(code)}", _with(image, **{f"w{at}": new})
        codes = codes_of(np.array(image.stream[row:row + ROW]))
        last, = np.flatnonzero(codes)[-1:]
        for register in range(last + 1, len(codes)):
            moved = codes.copy()
            moved[last], moved[register] = Encoding.DEAD, codes[last]
            words = {f"w{row + k}": word for k, word in enumerate(row_of(moved))}
            yield f"record {number}: r{last} is r{register}", _with(image, **words)


def _of_lengths(image: Image, places: Places) -> Iterator[tuple[str, Image]]:
    """Words left out of the stream, or put in, with the length that is then right."""
    for at in {0, *places.heads, *places.stacks, *places.registers, places.lines, places.table, places.end - 1}:
        for words in (-ROW, -1, 1, ROW, TINY.warp_size):
            changed = image.copy()
            size = len(changed.stream)
            if words < 0:
                del changed.stream[at:at - words]
                changed.stream += [0] * -words
            else:
                changed.stream[at:at] = [0] * words
            changed.stream = changed.stream[:size]
            changed.change(length=image.fields["length"] + WORD_BYTES * words)
            changed.seal()
            yield f"{words:+} words at {at}", changed


def _with_lanes(image: Image, at: int, lanes: int) -> Image:
    """Return an image in whose record at `at` so many lanes are live, a word more if all were; not yet sealed."""
    changed = image.copy()
    size, head = len(changed.stream), context.from_words(WARP_HEADER, image.stream[at:at + 1])
    changed.stream[at:at + 1] = context.to_words(WARP_HEADER, **head | {"exited": 1})
    changed.stream[at + 1:at + 1 + head["exited"]] = [lanes]
    changed.stream = changed.stream[:size]
    changed.change(length=changed.fields["length"] + WORD_BYTES * (1 - head["exited"]))
    return changed


def _of_order(image: Image, places: Places) -> Iterator[tuple[str, Image]]:
    """Records of the same warp, with lanes and without; warps that are not in the entry."""
    first, second = places.heads
    number = (1 << WARP_HEADER["warp"].width) - 1
    for lanes in (0, 1, 0xFF):
        for at, other in ((first, second), (second, first)):
            changed = _with(image, **{f"w{at}": image.stream[at] & ~number | image.stream[other] & number})
            changed = _with_lanes(changed, first, lanes)
            changed.seal()
            yield f"the warp of the record at {at} twice, with lanes {lanes:#x}", changed
    changed = _with_lanes(_with_lanes(image, second, 0), first, 0)
    changed.seal()
    yield "no lanes at all", changed


def lies(image: Image, area_bytes: int) -> list[tuple[str, Image]]:
    """Return images that differ from a right one in a field or two, all checksums renewed, each with what it says."""
    places = Places(image)
    return [*_of_entry(image, area_bytes), *_of_heads(image, places), *_of_words(image, places),
            *_of_encodings(image, places), *_of_lengths(image, places), *_of_order(image, places)]


def random_image(image: Image, rng: random.Random) -> Image:
    """Return an image that the rules of the format allow, all else of it random; about one in four breaks a rule."""
    g = TINY

    def number(width: int) -> int:
        return rng.choice((rng.getrandbits(width), rng.getrandbits(rng.randint(1, width)), 0, (1 << width) - 1))

    def pc() -> int:
        return rng.choice((rng.randrange(len(VICTIM.code) + 1), PC_NONE, number(32)))

    changed = image.copy()
    warps = rng.choice(([0], [1], [0, 1], [1, 0]))
    stream, table = [], []
    kept: set[int] = set()
    for warp in warps:
        codes = [rng.choice(KNOWN) for _ in range(VICTIM.registers)]
        kept |= {r for r, code in enumerate(codes) if Encoding(code).group}
        if rng.random() < 0.95:  # nothing to follow is refused
            codes = [Encoding.RANDOM if code == Encoding.FOLLOWS and r not in kept else code
                     for r, code in enumerate(codes)]
        predicates, uniforms, depth = number(PREDICATES), number(32), rng.randint(1, g.stack_depth)
        exited, some = rng.getrandbits(1), int(uniforms != 0)
        stream += context.to_words(
            WARP_HEADER, warp=warp, launched=number(5), depth=depth, predicates=predicates, exited=exited,
            waiting=rng.getrandbits(1), barrier=rng.choice((0, rng.getrandbits(4))), uniforms=some,
            repeats=rng.getrandbits(1))
        stream += [number(8)] * exited + [uniforms] * some
        stream += [number(8) for _ in range(predicates.bit_count())]
        stream += [number(32) for _ in range(uniforms.bit_count())]
        for _ in range(depth):
            whole, reconv = rng.getrandbits(1), rng.choice(list(Reconvergence))
            stream += context.to_words(STACK_ENTRY, pc=pc() & (1 << PC_BITS) - 1, whole=whole, reconv=reconv,
                                       none=number(4))
            stream += [number(8)] * (not whole) + [pc()] * (reconv == Reconvergence.OWN)
        stream += [number(32) for code in codes for _ in range(encoded_words(code, g.warp_size))]
        table += row_of(codes)
    lines = rng.getrandbits(LINES)
    stream += [lines, *(number(32) for _ in range(32 * lines.bit_count())), *table]
    changed.stream[:len(stream)] = stream
    changed.change(length=WORD_BYTES * len(stream), live_warps=sum(1 << warp for warp in warps), data_bytes=0,
                   launch_id=number(32), ctaid_x=number(32), ctaid_y=number(16), ctaid_z=number(16))
    if rng.random() < 0.25:
        changed.stream[rng.randrange(len(stream))] = number(32)
    changed.seal()
    return changed
