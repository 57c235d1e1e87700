"""What is not what a call wants, and what its message has to say."""

from caesura.software.driver import DriverError

NOT = {"None": None, "float": 1.5, "text": "nonsense", "object": object(), "negative": -1, "huge": 1 << 70,
       "list": [object()]}
"""Values that are neither objects of the driver nor flags."""


def wanted(error, parameter, value):
    """Return what is wrong with an error; empty if it is as it should be."""
    if error is None:
        return "accepted"
    if parameter == "path" and isinstance(error, FileNotFoundError):
        return ""
    if not isinstance(error, (TypeError, ValueError, DriverError)):
        return f"{type(error).__name__}: {error}"
    text = str(error)
    if parameter.split("_")[0] not in text and parameter.rstrip("s") not in text:
        return f"does not name {parameter}: {text}"
    if parameter == "arguments" and "takes 2 arguments" in text:
        return ""
    shown = repr(value)[:12]
    if shown not in text and str(value)[:12] not in text and type(value).__name__ not in text:
        return f"does not say {shown}: {text}"
    return ""
