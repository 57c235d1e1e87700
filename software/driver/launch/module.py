"""Modules and kernels as a program sees them: compiled code by name, called to be launched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from caesura.software.compiler import KernelImage
from caesura.software.compiler.judge import judge
from caesura.software.names import alternatives

from ..machine.display import html_table
from ..machine.errors import LaunchError, NoSuchKernel
from ..machine.wanted import TEXT, a, checked, shown
from ..memory.arrays import DeviceArray
from ..memory.textures import texture_words
from ..memory.variables import Variable
from .arguments import triple
from .launch import Launch
from .launcher import LaunchingDevice
from .loaded import LoadedKernel, ModuleData

__all__ = ["Module", "Kernel"]


class Module(Mapping[str, "Kernel"]):
    """Kernels loaded on a device: a mapping from entry names. Kernels with the same variables share them.

    `unload` gives the memory of code and variables back; so does the end of the module and its kernels. A launch keeps
    the memory it uses until it has finished.

    Parameters
    ----------
    device : Device
    images : iterable of KernelImage
    check : bool
        Check the code of the images; the rest of an image is always checked (`compiler.judge`).

    Attributes
    ----------
    kernels : mapping of str to Kernel

    Raises
    ------
    ImageError
        If an image is wrong; nothing is loaded then.
    """

    def __init__(self, device: LaunchingDevice, images: Iterable[KernelImage], check: bool = True):
        images = list(images)
        for image in images:
            judge(image, check)
        data: dict[tuple, ModuleData] = {}
        kernels: dict[str, Kernel] = {}
        for image in images:
            key = image.constants, image.symbols, image.global_bytes, image.global_data, image.relocations
            if key not in data:
                data[key] = ModuleData(device, image)
            kernels[image.name] = Kernel(device, image, data[key])
        self.device = device
        self.kernels: Mapping[str, Kernel] = kernels
        self._data = list(data.values())

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self):
        return f"Module({', '.join(self.kernels) or 'no kernel'})"

    def _repr_html_(self) -> str:
        rows = [(k.name, k.signature, len(k.image.code), k.image.registers, k.image.shared_bytes, k.image.local_bytes)
                for k in self.values()]
        return html_table(("kernel", "parameters", "instructions", "registers", "shared bytes", "local bytes"), rows)

    def unload(self) -> None:
        """Give the memory of code and variables back. A launch keeps the memory it uses. Safe to repeat."""
        for kernel in self.values():
            kernel.unload()
        for data in self._data:
            data.unload()

    @property
    def globals(self) -> dict[str, Variable]:
        """The module's global variables by name. If two files declare equal variables, this is the first."""
        return {name: Variable(data.globals, symbol) for data in reversed(self._data)
                for name, symbol in data.globals.symbols.items()}

    @checked(name=TEXT)
    def symbol(self, name: str, dtype=None) -> Variable:
        """Return a constant or global variable by name, to be read and written by the host.

        Parameters
        ----------
        name : str
        dtype : numpy.dtype, optional
            Type of the elements; the declared type unless given. nvcc declares every array as bytes.

        Raises
        ------
        LaunchError
            If there is no such variable, or more than one, or its size is not a whole number of elements.
        """
        banks = [bank for data in self._data for bank in data.banks]
        found = [Variable(bank, bank.symbols[name], dtype) for bank in banks if name in bank.symbols]
        if len(found) != 1:
            known = ", ".join(sorted({n for bank in banks for n in bank.symbols})) or "none"
            raise LaunchError(f"{len(found) or 'no'} variables {name!r} in this module; there are {known}")
        return found[0]

    @checked(name=TEXT, array=a(DeviceArray))
    def bind_texture(self, name: str, array: DeviceArray) -> None:
        """Let a texture reference (``.global .texref``) read an array, from the next launch on.

        Parameters
        ----------
        name : str
        array : DeviceArray
            Array of 32-bit numbers, of shape ``(n,)`` or, with several channels, ``(n, 2)`` or ``(n, 4)``.

        Raises
        ------
        LaunchError
            If no kernel reads such a texture, or the array cannot be a texture.
        """
        users = [kernel for kernel in self.kernels.values() if name in kernel.textures]
        if not users:
            known = ", ".join(sorted({n for kernel in self.kernels.values() for n in kernel.textures})) or "none"
            raise LaunchError(f"no texture {name!r} in this module; there are {known}")
        texture_words(array, f"texture {name!r}")
        for kernel in users:
            kernel.data.textures[name] = array

    def __getitem__(self, name: str) -> Kernel:
        if not isinstance(name, str):  # a `KeyError`, as `in` and `get` expect
            raise NoSuchKernel(f"name must be a text, not {shown(name)}")
        try:
            return self.kernels[name]
        except KeyError:
            raise NoSuchKernel(f"no entry {name!r} in this module; {alternatives(str(name), self.kernels)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)


class Kernel(LoadedKernel):
    """One entry of a module; a call launches it.

    Attributes
    ----------
    device : Device
    image : KernelImage
    data : ModuleData
        Data shared with the other kernels of its module.
    """

    def __init__(self, device: LaunchingDevice, image: KernelImage, data: ModuleData | None = None):
        super().__init__(device, image, data)
        self._launcher = device.launcher

    def __repr__(self):
        size = f"{len(self.image.parameters)} parameters, {len(self.image.code):,} instructions"
        return f"Kernel({self.name}, {size}{', unloaded' if self._code is None else ''})"

    @property
    def signature(self) -> str:
        """Name and parameters, in the form of a call."""
        parameters = (f"{p.type}{'*' if p.pointer else ''} {p.name}" for p in self.image.parameters)
        return f"{self.name}({', '.join(parameters)})"

    def __call__(self, grid, block, arguments: Sequence, shared_bytes: int = 0, entries: int = 0) -> Launch:
        """Start the kernel and return at once; simulated time passes in `Device.wait` and the like.

        Parameters
        ----------
        grid, block : int or sequence of int
            TBs of the grid, threads of a TB, in x, y, z.
        arguments : sequence of (int, float, numpy scalar, DeviceArray or Texture)
            One for each parameter.
        shared_bytes : int
            Dynamic shared memory.
        entries : int, optional
            The largest number of its TBs that can be on an SM or away from it at a time. Unless given it is the number
            of TB slots of the SM, or `Geometry.context_entries` for a kernel that yields. A larger number needs
            `Geometry.entries`.

        Raises
        ------
        LaunchError
            If the arguments do not match the parameters or a TB does not fit the SM.
        """
        return self._launcher.start(self, triple(grid, "grid"), triple(block, "block"), arguments, shared_bytes,
                                    entries)
