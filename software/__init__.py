"""Compiler, driver, kernels, schedulers and the command line."""

if __name__ != "caesura.software":
    raise ImportError("import caesura.software: under two names a class would be two classes")
