"""A board under Verilator, behind a line that pyserial could have opened."""

from .line import SimulatedLine, simulated_board

__all__ = ["SimulatedLine", "simulated_board"]
