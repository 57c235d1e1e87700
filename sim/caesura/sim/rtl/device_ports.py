"""C++ that connects the SMs of a device to its uncore: each port of one is copied to the other's of that name."""

from __future__ import annotations

from amaranth.hdl import Const
from amaranth.lib import wiring

from caesura.hw.gpu.uncore import Uncore

__all__ = ["device_ports_header"]

_HEADER = """// Made by sim/rtl/device_ports.py: what the uncore of a device and each of its SMs show each other.
#pragma once
#include <cstring>
#include <type_traits>

template <class T> [[gnu::always_inline]] inline bool differs(T& to, const T& from) {{
    if constexpr (std::is_integral_v<T>) {{
        if (to == from) return false;
    }} else if (std::memcmp(&to, &from, sizeof to) == 0) {{
        return false;
    }}
    to = from;
    return true;
}}

{functions}
using Copy = bool (*)(Vtop&, Vsm&);
const Copy to_sm[] = {{{to}}};
const Copy from_sm[] = {{{back}}};
"""
_FUNCTION = """// Copies what {what}; returns whether anything has changed.
inline bool {name}_{number}(Vtop& uncore, Vsm& sm) {{
    bool changed = false;
{lines}
    return changed;
}}
"""


def device_ports_header(uncore: Uncore) -> str:
    """Return the header ``device_ports.h``, for the classes ``Vtop`` of the uncore and ``Vsm`` of its SMs."""
    count = uncore.geometry.sms
    inputs: list[str] = []  # of an SM
    outputs: list[str] = []
    port = uncore.sms[0]
    for path, member, value in port.signature.flatten(port):
        if not isinstance(value, Const):
            from_sm = member.flow is wiring.In  # pyright: ignore[reportAttributeAccessIssue]
            (outputs if from_sm else inputs).append("_".join(map(str, path)))
    functions = [
        _FUNCTION.format(name=name, number=number, what=what, lines="\n".join(
            f"    changed |= differs({line.format(name=port, number=number)});" for port in ports))
        for number in range(count) for name, what, ports, line in (
            ("to_sm", "the uncore shows an SM", inputs, "sm.{name}, uncore.sms_{number}_{name}"),
            ("from_sm", "an SM shows the uncore", outputs, "uncore.sms_{number}_{name}, sm.{name}"))]
    return _HEADER.format(functions="\n".join(functions), to=", ".join(f"to_sm_{n}" for n in range(count)),
                          back=", ".join(f"from_sm_{n}" for n in range(count)))
