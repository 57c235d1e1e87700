"""Constant banks: the constants of a module in device memory."""

from __future__ import annotations

from caesura.software.compiler import KernelImage
from caesura.software.compiler.ir.spaces import MAX_CONSTANT_BYTES

from ..machine.errors import LaunchError
from .memory import DeviceMemory
from .variables import Bank, GlobalVariables, relocated, symbols_of

__all__ = ["ConstantBank"]


class ConstantBank(Bank):
    """The constants of a module's kernels, in system memory: no kernel can write them.

    Parameters
    ----------
    device : DeviceMemory
    image : KernelImage
        One of the kernels that share the bank.
    variables : GlobalVariables
        Variables of the same kernels, whose addresses constants may hold.

    Attributes
    ----------
    size : int
        Bytes.

    Raises
    ------
    DriverError
        If there is no room.
    LaunchError
        If the bank is larger than any can be, or a symbol lies beyond it.
    """

    what = "constant"

    def __init__(self, device: DeviceMemory, image: KernelImage, variables: GlobalVariables):
        self.device, self.size = device, len(image.constants)
        if self.size > MAX_CONSTANT_BYTES:
            raise LaunchError(f"kernel {image.name!r} has {self.size} bytes of constants, {MAX_CONSTANT_BYTES} are the "
                              "most")
        self.symbols = symbols_of(image, "const", self.size, self.what)
        self.memory = device.reserve(self.size, device.system) if self.size else None
        if self.size:
            device.transport.write_memory(self.address, relocated(image, "const", image.constants, variables.address))

    def in_use(self) -> bool:
        """Whether a kernel that has not ended, or has not begun, may read the bank."""
        return any(user.reads_constants(self) and not user.ended for user in self.device.users())
