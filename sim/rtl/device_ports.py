"""C++ that connects the SMs of a device to its uncore: each port of one is copied to the other's of that name; and that
reads those of their ports that say what is handed out and what queues do."""

from __future__ import annotations

from amaranth.hdl import Const
from amaranth.lib import wiring

from caesura.hw.arch.geometry import Geometry
from caesura.hw.device.uncore import Uncore
from caesura.hw.interfaces.gpu_ports import tb_claim, tb_grant

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

// Bits of a port, wide or not, from the lowest on.
inline uint64_t bits_of(const void* port, size_t bytes, unsigned low, unsigned width) {{
    unsigned char copy[16] = {{}};
    std::memcpy(copy, port, bytes < sizeof copy ? bytes : sizeof copy);
    uint64_t value = 0;
    for (unsigned k = 0; k < width; ++k) value |= uint64_t(copy[(low + k) / 8] >> (low + k) % 8 & 1) << k;
    return value;
}}

// The thread block that the dispatcher hands out to an SM in this cycle.
inline bool is_granted(const Vsm& sm) {{
    return bits_of(&sm.supply_grant, sizeof sm.supply_grant, {valid}, 1)
        && !bits_of(&sm.supply_grant, sizeof sm.supply_grant, {none}, 1);
}}
inline uint32_t granted_launch(const Vsm& sm) {{
    return bits_of(&sm.supply_grant, sizeof sm.supply_grant, {launch}, 32);
}}
inline unsigned granted_kernel(const Vsm& sm) {{
    return bits_of(&sm.supply_claim, sizeof sm.supply_claim, {kernel}, {kernel_width});
}}

// Calls `look(queue, state, packets written)`; of the state bits 0 to 31 are the index of the packet to be begun next,
// 32 says that the one before is a barrier that has not completed, 33 that no more may be in flight, 40 and above are
// the `QueueState`.
template <class Look> void each_queue(const Vtop& uncore, Look look) {{
    (void)uncore;
    (void)look;
{queues}
}}

// Calls `look(number, state)` for each kernel that can be in flight, by queue; of the state bits 0 to 31 are the index
// of its packet, 32 says that there is one, 33 and above are its kernel slot.
template <class Look> void each_flight(const Vtop& uncore, Look look) {{
    (void)uncore;
    (void)look;
{flights}
}}
"""
_QUEUE = """    look({q}, uncore.trace_{q}_unstarted | uint64_t(uncore.trace_{q}_passing) << 32
         | uint64_t(uncore.trace_{q}_full) << 33 | uint64_t(uncore.trace_{q}_state) << 40,
         uncore.trace_{q}_write_index);
"""
_FLIGHT = """    look({f}, uncore.trace_{q}_flights_{i}_index | uint64_t(uncore.trace_{q}_flights_{i}_busy) << 32
         | uint64_t(uncore.trace_{q}_flights_{i}_slot) << 33);
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
    count, depth = uncore.geometry.sms, uncore.geometry.queue_capacity
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
                          back=", ".join(f"from_sm_{n}" for n in range(count)), **_places(uncore.geometry),
                          queues="".join(_QUEUE.format(q=q) for q in range(uncore.geometry.queues)),
                          flights="".join(_FLIGHT.format(f=f, q=f // depth, i=f % depth)
                                          for f in range(uncore.geometry.flights)))


def _places(g: Geometry) -> dict[str, int]:
    """Return where the parts of a claim and of its answer are."""
    claim, grant = tb_claim(g), tb_grant()
    return {"valid": grant["valid"].offset, "none": grant["none"].offset, "launch": grant["launch_id"].offset,
            "kernel": claim["kernel"].offset, "kernel_width": claim["kernel"].width}
