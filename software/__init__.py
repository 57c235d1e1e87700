"""Compiler, driver, kernels, schedulers and the command line."""

if __name__ != "caesura.software":
    raise ImportError("import caesura.software: a class that was imported under two names would be two classes")
