"""The RTL and, in `arch`, the contracts."""

if __name__ != "caesura.hw":
    raise ImportError("import caesura.hw: a class that was imported under two names would be two classes")
