"""Files of the user's: what `caesura run` is told about a kernel (docs/jobs.md), and geometries (docs/geometry.md)."""

from .arrays import ArraySpec
from .file import BACKENDS, load_job
from .geometry import load_geometry
from .spec import DEFAULT_CYCLES, Expected, JobArgument, JobFile, PreemptionSpec
from .table import JobError
from .verdict import Verdict, compare

__all__ = ["DEFAULT_CYCLES", "JobFile", "JobArgument", "Expected", "PreemptionSpec", "ArraySpec", "JobError",
           "load_job", "load_geometry", "BACKENDS", "Verdict", "compare"]
