"""Random kernels in PTX, and the interpreter that says what they compute."""

from .kernel import RandomKernel

__all__ = ["RandomKernel"]
