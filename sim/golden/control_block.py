"""A kernel's context control block in the golden model: what of its entries and its record is believed."""

from __future__ import annotations

from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_RECORD, ENTRY_WORDS, State
from caesura.hw.arch.image.image_reader import BadImage

from .context_image import check_entry, read_entry
from .state.kernel import Base, Kernel, SavedEntry
from .state.sm import Sm

__all__ = ["place", "read_saved", "read_base", "read_completion", "demote", "write_record", "void_record",
           "read_record"]

_RECORD_WORDS = CCB_RECORD.size // 32


def place(sm: Sm, index: int, side: int) -> int:
    """Return which of a CCB's entries the one of a TB on a side is."""
    return context.place_of(sm.g, index, side)


def read_saved(sm: Sm, kernel: Kernel, index: int, side: int) -> dict[str, int]:
    """Return the fields of a saved entry of a kernel, whatever its generation.

    Raises
    ------
    BadImage
        If it cannot be an entry of this kernel.
    """
    return _read(sm, kernel, place(sm, index, side))


def read_base(sm: Sm, kernel: Kernel, index: int, entry: dict[str, int], side: int, expected: int) -> dict[str, int]:
    """Return the fields of the entry that a saved one, `entry` on `side`, is an increment of; `expected` is its
    checksum, as it is remembered.

    Raises
    ------
    BadImage
        If it cannot be an entry of this kernel, or is not the one that was meant.
    """
    base = _read(sm, kernel, place(sm, index, side ^ 1), base=True)
    if base["crc"] != entry["base_crc"] or base["crc"] != expected or SavedEntry.of(base, side).partial:
        raise BadImage("it is not the base of the increment")
    return base


def read_completion(sm: Sm, kernel: Kernel, index: int, entry: dict[str, int], side: int) -> dict[str, int]:
    """Return the fields of the entry that completes a saved one, `entry` on `side`, of which nothing stays any more.

    Raises
    ------
    BadImage
        If it cannot be an entry of this kernel, or completes another one.
    """
    second = _read(sm, kernel, place(sm, index, side ^ 1), base=True)
    alike = all(second[name] == entry[name] for name in ("registers_stay", "lines_stay", "incremental"))
    if second["base_crc"] != entry["crc"] or not alike:
        raise BadImage("it does not complete the image")
    return second


def _read(sm: Sm, kernel: Kernel, number: int, base: bool = False) -> dict[str, int]:
    descriptor, words = kernel.descriptor, sm.views[2]
    address = context.entry_address(descriptor.ccb_base, number) // 4
    entry = read_entry(sm.g, words[address:address + ENTRY_WORDS], base)
    if entry["register_image"] != context.area_address(sm.g, descriptor.ccb_base, descriptor.area_bytes, number):
        raise BadImage("a pointer out of its save area")
    length = entry["length"]
    if length > descriptor.area_bytes or length % 4 or entry["data_bytes"] > length:
        raise BadImage(f"{length} bytes")
    check_entry(kernel, entry)
    return entry


def demote(sm: Sm, kernel: Kernel, index: int) -> None:
    """A TB is back: its entry, and a record that names it, are not believed any more.

    An image that was whole is its base from now on, if the machine has such.
    """
    saved = kernel.saved.pop(index)
    address = context.entry_address(kernel.descriptor.ccb_base, place(sm, index, saved.side))
    sm.memory[address] = State.DEMOTED
    if sm.g.checkpoints and not saved.partial:
        kernel.bases[index] = Base(saved.side, int(sm.views[2][address // 4 + 1]))
    kernel.recorded = False


def write_record(sm: Sm, kernel: Kernel, generation: int) -> None:
    """Write the record of a kernel, nothing of which is on the SM."""
    x, y, z = kernel.place
    record = context.to_words(
        CCB_RECORD, state=State.COMPLETE, version=context.VERSION, launched=kernel.launched,
        completed=kernel.completed, next_x=x, next_y=y, next_z=z, exhausted=int(kernel.exhausted),
        saved=sum(1 << index for index in kernel.saved),
        sides=sum(each.side << index for index, each in kernel.saved.items()),
        generations=_generations(sm, kernel.saved), geometry_hash=sm.g.hash, generation=generation, **_identity(kernel))
    record[1] = context.entry_crc(record)
    address = _record(sm, kernel)
    sm.views[2][address // 4:address // 4 + _RECORD_WORDS] = record
    kernel.recorded = True


def void_record(sm: Sm, kernel: Kernel) -> None:
    """The kernel is to run again, and its record names no entry whose demotion would say so."""
    sm.memory[_record(sm, kernel)] = State.DEMOTED
    kernel.recorded = False


def read_record(sm: Sm, kernel: Kernel) -> tuple[dict[str, int], dict[int, SavedEntry], dict[int, Base]]:
    """Return the record of a kernel, the entries that it names, and the bases of those that have one.

    Raises
    ------
    BadImage
        If the record or one of the entries is not believed, or is half of an image and the other half not there.
    """
    address = _record(sm, kernel) // 4
    words = sm.views[2][address:address + _RECORD_WORDS]
    record = context.from_words(CCB_RECORD, words)
    if record["state"] != State.COMPLETE or record["version"] != context.VERSION:
        raise BadImage("the record is not complete, or of another format version")
    if record["zero"] or record["zeros"] or record["crc"] != context.entry_crc(words.tolist()):
        raise BadImage("checksum of the record")
    if record["geometry_hash"] != sm.g.hash or any(record[name] != is_ for name, is_ in _identity(kernel).items()):
        raise BadImage("the record is of another geometry or kernel")
    _check_progress(sm, kernel, record)
    saved, bases = {}, {}
    for index in range(sm.g.context_entries):
        if record["saved"] >> index & 1:
            side = record["sides"] >> index & 1
            entry = read_saved(sm, kernel, index, side)
            saved[index] = SavedEntry.of(entry, side)
            if saved[index].incremental:
                bases[index] = Base(side ^ 1, entry["base_crc"])
                read_base(sm, kernel, index, entry, side, entry["base_crc"])
            elif saved[index].stayed:
                read_completion(sm, kernel, index, entry, side)
    if _generations(sm, saved) != record["generations"]:
        raise BadImage("the entries are not those that the record was written with")
    return record, saved, bases


def _check_progress(sm: Sm, kernel: Kernel, record: dict[str, int]) -> None:
    """Check what a record says of the grid and of the TBs that are saved."""
    if record["sides"] & ~(record["saved"] if sm.g.checkpoints else 0):
        raise BadImage(f"sides {record['sides']:#x} of entries {record['saved']:#x}")
    saved, tbs = record["saved"], record["launched"] - record["completed"]
    if saved >> kernel.most_entries or saved.bit_count() != tbs:
        raise BadImage(f"entries {saved:#x} of {tbs} TBs")
    place = record["next_x"], record["next_y"], record["next_z"]
    inside = all(at < size for at, size in zip(place, kernel.grid, strict=True))
    if not (place == (0, 0, kernel.grid[2]) if record["exhausted"] else inside):
        raise BadImage(f"the next TB is {place}")


def _record(sm: Sm, kernel: Kernel) -> int:
    return context.record_address(sm.g, kernel.descriptor.ccb_base)


def _identity(kernel: Kernel) -> dict[str, int]:
    """Return the fields of a record that say which kernel it is of."""
    x, y, z = kernel.grid
    return {"grid_x": x, "grid_y": y, "grid_z": z, "code_base": kernel.descriptor.code_base,
            "const_base": kernel.descriptor.const_base}


def _generations(sm: Sm, saved: dict[int, SavedEntry]) -> int:
    return context.generations_crc([saved[index].generation if index in saved else 0
                                    for index in range(sm.g.context_entries)])
