"""The RTL and, in `arch`, the contracts."""

if __name__ != "caesura.hw":
    raise ImportError("import caesura.hw: under two names a class would be two classes")
