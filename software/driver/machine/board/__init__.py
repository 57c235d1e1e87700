"""A board on a serial line as a machine for the driver."""

from .errors import BoardError
from .frames import Answer
from .line import Line, open_line
from .link import Link
from .transport import BAUD, SerialTransport, open_board

__all__ = ["BAUD", "Answer", "BoardError", "Line", "Link", "SerialTransport", "open_board", "open_line"]
