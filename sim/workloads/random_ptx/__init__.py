"""Random kernels in PTX, and the interpreter that gives their results."""

from .kernel import RandomKernel

__all__ = ["RandomKernel"]
