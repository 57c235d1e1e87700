"""Machine code with labels."""

from __future__ import annotations

from caesura.hw.arch.isa.words import Instruction, encode

__all__ = ["Assembly", "Label"]


class Label:
    """A place in the code, whose address is known after it is reached."""

    def __init__(self):
        self.pc = -1


class Assembly:
    """Instructions with labels, in order."""

    def __init__(self):
        self.lines: list[tuple[str, dict]] = []

    def emit(self, name: str, **fields) -> None:
        """Append an instruction; a field that is a label gets its address."""
        self.lines.append((name, fields))

    def place(self, label: Label) -> None:
        """Put a label before the next instruction."""
        label.pc = len(self.lines)

    def words(self) -> tuple[int, ...]:
        """Return the encoded program."""
        resolved = ((name, {k: v.pc if isinstance(v, Label) else v for k, v in fields.items()})
                    for name, fields in self.lines)
        return tuple(encode(Instruction.make(name, **fields)) for name, fields in resolved)
