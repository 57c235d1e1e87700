"""Registers of queues beside a model: what is written where, what is read of it and of the queues."""

import random

import pytest
from amaranth.hdl import Value

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.packets import QueueError, QueueState
from caesura.hw.arch.registers import device_register_map
from caesura.hw.device.queues.queue_registers import WRITTEN, QueueRegisters
from support.hw.lockstep import noise
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.selection import quick

MAP = device_register_map()
G = preset("tiny").replace(sms=3, queues=3, queue_capacity=2, kernel_slots=3)
POLICIES = {"queue_preempts": "preempt", "queue_checkpoints": "checkpoint"}


class Model:
    """What has been written, by path."""

    def __init__(self, g):
        self.g = g
        control = [f"queue[{q}].control" for q in range(g.queues)]
        words = [f"queue[{q}].{name}" for q in range(g.queues) for name in WRITTEN]
        self.words = dict.fromkeys(["queue_slots", *POLICIES, *control, *words], 0)

    def write(self, address, data):
        path = next((path for path in self.words if MAP[path].address // 4 == address // 4), None)
        if path == "queue_slots":
            self.words[path] = data & (1 << self.g.kernel_slots) - 1
        elif path:
            fields = MAP[path].unpack(data)
            self.words[path] = MAP[path].pack(**fields)

    def setup(self, q):
        words = {name: self.words[f"queue[{q}].{name}"] for name in WRITTEN}
        return words | MAP["queue[0].control"].unpack(self.words[f"queue[{q}].control"])

    def policy(self):
        fields = {name: MAP[path].unpack(self.words[path]) for path, name in POLICIES.items()}
        return fields.pop("preempt") | {"checkpoint": fields["checkpoint"]}

    def shown(self, statuses):
        words = dict(self.words)
        for q, status in enumerate(statuses):
            words[f"queue[{q}].status"] = MAP["queue[0].status"].pack(
                state=status["state"], error=status["error"], of=status["of"], uncertain=status["uncertain"])
            words |= {f"queue[{q}].{name}": status[name] for name in ("read_index", "unstarted")}
            words[f"queue[{q}].in_flight"] = 0
            for i, flight in enumerate(status["flights"]):
                words[f"queue[{q}].packet[{i}]"] = flight["index"]
                byte = flight["busy"] | (status["away"] >> i & 1) << 1 | flight["slot"] << 4
                words[f"queue[{q}].in_flight"] |= byte << 8 * i
        return words


@pytest.mark.parametrize("queues", quick([1, 3], [1]))
def test_registers_are_those_of_a_model(queues):
    g, rng = G.replace(queues=queues), random.Random(queues)
    dut, model = component(QueueRegisters, g), Model(g)
    shown = {path: Value.cast(word) for path, word in dut.shown().items()}
    addresses = [MAP[path].address for path in model.words]
    others = [register.address for register in MAP.values()]
    command = sum((1 << field.width) - 1 << field.offset for _, field in dut.policy.preempt.shape())

    async def bench(ctx):
        for _ in range(400):
            address = rng.choice(rng.choice((addresses, addresses, others))) | rng.getrandbits(2)
            write, data = int(rng.random() < 0.6), rng.choice([rng.getrandbits(32), 0xFFFF_FFFF])
            statuses = noise(rng, dut.statuses.shape())
            for status in statuses:
                status |= {"state": rng.choice(list(QueueState)), "error": rng.choice(list(QueueError))}
            for name, given in (("address", address), ("write", write), ("write_data", data), ("statuses", statuses)):
                ctx.set(getattr(dut, name), given)
            assert ctx.get(dut.slots) == model.words["queue_slots"]
            assert value(ctx.get(dut.setups)) == [model.setup(q) for q in range(queues)]
            policy, expected = value(ctx.get(dut.policy)), model.policy()
            assert policy["enable"] == expected.pop("enable")
            checkpoint = expected.pop("checkpoint")
            for name, fields in (("preempt", expected), ("checkpoint", checkpoint)):
                assert policy[name] == dict.fromkeys(policy[name], 0) | fields
                bits = ctx.get(Value.cast(getattr(dut.policy, name)))
                assert bits & ~command == 0, "no other bits"
            assert {path: ctx.get(word) for path, word in shown.items()} == model.shown(statuses)
            await ctx.tick()
            if write:
                model.write(address, data)

    simulate(dut, bench)
