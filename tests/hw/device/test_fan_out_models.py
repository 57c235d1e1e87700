"""Command fan-out, device events and register fan-out beside models, in every cycle, with any inputs."""

import itertools
import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.device.command_fan_out import CommandFanOut
from caesura.hw.device.device_events import DeviceEvents
from caesura.hw.device.register_fan_out import RegisterFanOut
from support.hw.lockstep import lockstep
from support.hw.simulation import component
from support.models.command_fan_out_model import Commands, commands
from support.models.device_events_model import Events, episodes, happenings
from support.models.register_fan_out_model import Registers, accesses
from support.selection import quick

G = preset("tiny").replace(sms=3)
SHORT = ("two kernels", 60)


@pytest.mark.parametrize("name, cycles", quick([*itertools.product(["two kernels", "four"], (60, 4000))], [SHORT]))
def test_commands_go_where_a_model_says(name, cycles):
    g = {"two kernels": G.replace(kernel_slots=2), "four": G}[name]
    lockstep(component(CommandFanOut, g), commands(
        component(CommandFanOut, g), random.Random(name), cycles, Commands(g)))


@pytest.mark.parametrize("given", [happenings, episodes], ids=lambda given: given.__name__)
@pytest.mark.parametrize("name, cycles", quick(
    [*itertools.product(["two kernels", "four", "no counters"], (60, 6000))], [SHORT]))
def test_events_are_those_of_a_model(name, cycles, given):
    two, plain = G.replace(kernel_slots=2), G.replace(profile=False)
    dut = component(DeviceEvents, g := {"two kernels": two, "four": G, "no counters": plain}[name])
    lockstep(dut, given(dut, random.Random(name), cycles, Events(g)))


@pytest.mark.parametrize("name, cycles", quick(
    [("two kernels", 60), ("two kernels", 600), ("four", 6000)], [SHORT]))
def test_registers_of_a_device_are_those_of_a_model(name, cycles):
    g = {"two kernels": G.replace(kernel_slots=2), "four": G}[name]
    dut = component(RegisterFanOut, g)
    lockstep(dut, accesses(dut, random.Random(name), cycles, Registers(g)))
