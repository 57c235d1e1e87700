"""Registers of the queues of a device."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import ADDRESS_BITS, Geometry
from ...arch.packets import QueueError, QueueState
from ...arch.registers import DEVICE_ADDRESS_BITS, device_register_map, register_map
from ...control.register_ports import register_layout
from .in_flight import flight

__all__ = ["QueueRegisters", "queue_policy", "queue_setup", "queue_status"]

WRITTEN = ("base", "size", "write_index", "ccb_base", "ccb_stride", "area_bytes", "local_base",
           "local_stride", "window_base", "window_end", "capacity", "system_base", "system_end")


def queue_setup() -> data.StructLayout:
    """Registers of a queue that software writes, under the names of the register map."""
    registers = device_register_map()
    return data.StructLayout({
        **{name: registers[f"queue[0].{name}"].fields["value"].width for name in WRITTEN},
        **{name: field.width for name, field in registers["queue[0].control"].fields.items()}})


def queue_policy() -> data.StructLayout:
    """How kernels of queues are preempted by priority, and checkpointed: words as of `command`."""
    command = register_layout(register_map()["command"])
    return data.StructLayout({"enable": 1, "preempt": command, "checkpoint": command})


def queue_status(g: Geometry) -> data.StructLayout:
    """Progress of a queue. `of` tells the part that an error concerns, and `uncertain` the
    completions, both as in register ``status``. With `passing` a barrier has been passed and has
    not completed. With `full` the queue may have no more in flight."""
    return data.StructLayout({
        "state": QueueState, "error": QueueError, "of": 3, "uncertain": 5, "away": g.queue_capacity,
        "passing": 1, "full": 1,
        "read_index": ADDRESS_BITS, "unstarted": ADDRESS_BITS,
        "flights": data.ArrayLayout(flight(g), g.queue_capacity)})


class QueueRegisters(wiring.Component):
    """Holds what software writes, and shows what the queue processor says.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    address, write, write_data : in
        Software's side; a write is visible one cycle later.
    setups : array of queue_setup, out
    slots : Signal(kernel_slots), out
        Vector: kernel slots of the queues.
    policy : queue_policy, out
    statuses : array of queue_status, in
    """

    address: Signal
    write: Signal
    write_data: Signal
    setups: data.View
    slots: Signal
    policy: data.View
    statuses: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "address": In(DEVICE_ADDRESS_BITS), "write": In(1), "write_data": In(32),
            "setups": Out(data.ArrayLayout(queue_setup(), g.queues)), "slots": Out(g.kernel_slots),
            "policy": Out(queue_policy()),
            "statuses": In(data.ArrayLayout(queue_status(g), g.queues)),
        })

    def shown(self) -> dict:
        """Return what the registers read, by path."""
        words: dict = {"queue_slots": self.slots}
        words |= {path: self._word(path, word) for path, word in self._policies().items()}
        words["queue_preempts"] = words["queue_preempts"] | self.policy.enable
        fields = device_register_map()["queue[0].status"].fields
        for q in range(self.geometry.queues):
            setup, status = self.setups[q], self.statuses[q]
            words |= {f"queue[{q}].{name}": setup[name] for name in WRITTEN}
            words[f"queue[{q}].control"] = (setup.enable | setup.priority << 4
                                            | setup.discard << 8)
            words[f"queue[{q}].status"] = sum(
                Value.cast(status[name]) << field.low for name, field in fields.items())
            words |= {f"queue[{q}].{name}": status[name] for name in ("read_index", "unstarted")}
            words |= {f"queue[{q}].packet[{i}]": status.flights[i].index
                      for i in range(self.geometry.queue_capacity)}
            words[f"queue[{q}].in_flight"] = Cat(
                Cat(status.flights[i].busy, status.away[i], Const(0, 2), status.flights[i].slot)
                | Const(0, 8) for i in range(self.geometry.queue_capacity))
        return words

    def _policies(self) -> dict:
        return {"queue_preempts": self.policy.preempt, "queue_checkpoints": self.policy.checkpoint}

    @staticmethod
    def _word(path: str, word: data.View):
        """Return what a register of the policy reads, but for `enable`."""
        return sum(Value.cast(word[name]) << field.low for name, field
                   in device_register_map()[path].fields.items() if name != "enable")

    def elaborate(self, platform: Any):
        m = Module()
        registers = device_register_map()

        def written(path: str):
            return self.write & (self.address[2:] == registers[path].address >> 2)

        with m.If(written("queue_slots")):
            m.d.sync += self.slots.eq(self.write_data)
        for path, word in self._policies().items():
            with m.If(written(path)):
                for name, field in registers[path].fields.items():
                    target = self.policy.enable if name == "enable" else word[name]
                    m.d.sync += target.eq(self.write_data[field.low:field.low + field.width])
        control = registers["queue[0].control"].fields
        for q in range(self.geometry.queues):
            setup = self.setups[q]
            for name in WRITTEN:
                with m.If(written(f"queue[{q}].{name}")):
                    m.d.sync += setup[name].eq(self.write_data)
            with m.If(written(f"queue[{q}].control")):
                m.d.sync += [setup[name].eq(self.write_data[field.low:field.low + field.width])
                             for name, field in control.items()]
        return m
