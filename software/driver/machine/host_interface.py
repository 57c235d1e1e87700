"""The host's access to a machine: its registers by name, and the transport that carries the accesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.registers import Register, device_register_map, register_map
from caesura.software.names import alternatives

from .closed_transport import ClosedTransport
from .errors import DriverError
from .lock import FairLock, whole
from .time_slices import uninterrupted
from .transport import Transport

__all__ = ["HostInterface"]


class HostInterface:
    """The registers of a machine, and its transport until it is closed. All users of a machine share one interface.

    With several SMs an access concerns all of them, as the register map says (`hw.arch.registers.Combine`), except
    inside `of_sm`.

    Parameters
    ----------
    transport : Transport

    Attributes
    ----------
    transport : Transport
        Transport; one that refuses every access after `close`.
    geometry : Geometry
    lock : FairLock
        Lock for the use of the machine; each register access takes it.
    code_names : dict of int to str
        Name of the kernel whose code was last written at an address.

    Raises
    ------
    DriverError
        If the geometry of the machine is not the one that it reports.
    """

    def __init__(self, transport: Transport):
        self.transport = transport
        self.geometry: Geometry = transport.geometry
        self.lock = FairLock()
        self.code_names: dict[int, str] = {}
        self._registers: dict[str, Register] = device_register_map() if self.geometry.has_uncore else register_map()
        self._held: dict[str, int] = {}  # what registers hold that nobody but the host writes, as far as that is known
        if transport.cycle == 0:
            self._held = {path: register.reset for path, register in self._registers.items()
                          if register.readable and register.writable and not register.clear_on_one
                          and (not path.startswith("kernel[") or path.endswith(".trap_base"))}
        if self.read("geometry_hash") != self.geometry.hash:
            raise DriverError(f"the device has another geometry than {self.geometry.name!r}")

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return isinstance(self.transport, ClosedTransport)

    @whole
    def close(self) -> None:
        """End the machine. Safe to repeat. Waits of other threads end with `Closed`."""
        if self.closed:
            return
        machine, self.transport = self.transport, cast(Transport, ClosedTransport(self.transport))
        if end := getattr(machine, "close", None):
            end()

    def _register(self, path: str) -> Register:
        """Return a register by its path, or raise an error that suggests the nearest path."""
        try:
            return self._registers[path]
        except KeyError:
            raise DriverError(f"path {path!r} leads to no register of {self.geometry.name}; "
                              f"{alternatives(path, self._registers)}") from None

    @whole
    def read(self, path: str) -> int:
        """Return a register by path, for example ``"kernel[0].state"``."""
        return self.transport.read_register(self._register(path).address)

    @whole
    def peek(self, path: str) -> int | None:
        """Return a register without time passing, None on a machine that cannot (Amaranth's simulator)."""
        return self.transport.peek_register(self._register(path).address)

    @whole
    def write(self, path: str, value: int | None = None, **fields: int) -> None:
        """Write a register as a whole or by fields."""
        register = self._register(path)
        word = register.pack(**fields) if value is None else value
        self.transport.write_register(register.address, word)
        self._held[path] = word

    def hold(self, path: str, value: int) -> None:
        """Write a register that only the host writes. No time passes if it is known to hold the value."""
        if self._held.get(path) != value:
            self.write(path, value)

    def hold_each(self, path: str, values: Sequence[int]) -> None:
        """Write a value of its own to each SM, as `hold` does."""
        if len({*values}) == 1:
            return self.hold(path, values[0])
        for sm, value in enumerate(values):
            with self.of_sm(sm):
                self.write(path, value)
        del self._held[path]

    @contextmanager
    def of_sm(self, sm: int) -> Iterator[None]:
        """Direct accesses to one SM inside the block, and restore the previous target after it. With a single SM
        nothing changes."""
        if not self.geometry.has_uncore:
            yield
            return
        with self.lock.turn, self.lock, uninterrupted():
            before = {name: self._held.get(name, self._registers[name].reset) for name in ("sm_read", "sm_write")}
            for name in before:
                self.hold(name, 1 << sm)
            try:
                yield
            finally:
                for name, value in before.items():
                    self.hold(name, value)

    def held(self) -> dict[str, int]:
        """Return the known values of such registers, to go with a snapshot of the machine."""
        return dict(self._held)

    def set_held(self, held: dict[str, int]) -> None:
        """Put back what `held` returned."""
        self._held = dict(held)

    def pack(self, path: str, **fields: int) -> int:
        """Return a register's value with the given fields, the rest 0."""
        return self._register(path).pack(**fields)

    def fields(self, path: str) -> dict[str, int]:
        """Return a register's fields."""
        return self._register(path).unpack(self.read(path))

    def peek_fields(self, path: str) -> dict[str, int] | None:
        """Return a register's fields without time passing, None on a machine that cannot."""
        value = self.peek(path)
        return None if value is None else self._register(path).unpack(value)
