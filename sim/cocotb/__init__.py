"""Benches of exported blocks in cocotb: agents, monitors, scoreboards, and the build and run of a bench.

docs/cocotb.md has an example. This package needs the extra ``cocotb``; nothing else imports it.
"""

from .bench import Bench, parameters
from .ports import Codec, Port, PortGroup, ports_of
from .scoreboard import Scoreboard
from .streams import StreamMonitor, StreamSink, StreamSource

__all__ = ["Bench", "Codec", "Port", "PortGroup", "Scoreboard", "StreamMonitor", "StreamSink", "StreamSource",
           "parameters", "ports_of"]
