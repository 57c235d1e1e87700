"""The job file: what `caesura run` is told about a kernel of the user's own; docs/jobs.md has the format."""

from .arrays import ArraySpec
from .file import BACKENDS, load_job
from .geometry import load_geometry
from .spec import Expected, JobArgument, JobFile, PreemptionSpec
from .table import JobError
from .verdict import Verdict, compare

__all__ = ["JobFile", "JobArgument", "Expected", "PreemptionSpec", "ArraySpec", "JobError", "load_job",
           "load_geometry", "BACKENDS", "Verdict", "compare"]
