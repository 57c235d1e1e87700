from caesura.hw.arch.context import Mechanism as Mechanism
from caesura.hw.arch.geometry import Geometry as Geometry
from caesura.hw.arch.geometry import preset as preset
from caesura.sim import open_device as open_device
from caesura.software.compiler import compile_ptx as compile_ptx

__version__: str
