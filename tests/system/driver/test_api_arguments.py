"""Every public call with every wrong kind of argument: one error that names it, what it was and what is wanted.

The calls are found by introspection; what is neither in the table nor named as the driver's own fails.
"""

import dataclasses
import enum
import inspect
import types

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.way import Way, WayOptions
from caesura.software import driver
from caesura.software.compiler import compile_ptx
from caesura.software.driver import Closed, DriverError
from caesura.software.driver.queues.queue import Queue
from caesura.software.driver.queues.queued import Queued
from support.programs.shared_counters import HEAD
from support.software.arguments import NOT, wanted

MEMORY = 1 << 20
MACHINE = preset("tiny").replace(queues=2, proactive=True)
PTX = HEAD + """
.global .u32 places[4];
.visible .entry fill(.param .u64 output, .param .u32 value)
{
    .reg .b32 %r<3>; .reg .b64 %a<3>;
    ld.param.u64 %a0, [output]; ld.param.u32 %r0, [value]; mov.u64 %a1, places; st.global.u32 [%a1], %r0;
    st.global.u32 [%a0], %r0; ret;
}
"""
CLASSES = (*(c for c in map(driver.__dict__.get, driver.__all__) if inspect.isclass(c)
             and not dataclasses.is_dataclass(c) and not issubclass(c, (BaseException, enum.Enum, list))),
           Queue, Queued, driver.Piece)
OWN = {  # what the driver's parts ask of one another: a program has no reason to, and docs/python.md names none of it
    "AddressSpace": {"__init__"}, "DeviceMemory": {"claim", "clear", "reserve", "require_open"},
    "Device": {"__init__", "set_host_state"}, "PreemptingDevice": {"__init__"},
    "Tenant": {"__init__", "require_open"}, "Module": {"__init__", "__eq__"},
    "DeviceArray": {"__init__", "prepared", "reader", "writer"}, "Kernel": {"__init__"}, "Variable": {"__init__"},
    "LoadedKernel": {"__init__", "apart", "holdings", "parameter_words", "unload"},
    "Launch": {"__init__", "ccb_of", "come_back", "end_away", "go_away", "known_state", "leave_slot", "local_of",
               "reads_constants"},
    "Task": {"__init__", "begin", "begun", "cancel", "end", "has_ended", "ready", "release"},
    "Action": {"__init__", "begin", "release"}, "Event": {"__init__"},
    "KernelTask": {"__init__", "begin", "end", "has_ended", "release", "cancel"},
    "Stream": {"__init__", "failed", "noticed", "raise_failure", "wait_for"},
    "Work": {"__init__"}, "Piece": {"__init__", "__eq__", "arrange"},
    "Queue": {"__init__", "drop", "enable", "find", "fit_window", "in_flight", "stop", "unfinished", "void"},
    "Queued": {"__init__", "__eq__", "reads_constants", "require_reach"},
    "Transport": {*dir(driver.Transport)}, "Mapping": {*dir(dict)}, "_no_init_or_replace_init": {"__init__"},
}
"""By class: not for programs."""
PLAIN = {"__enter__", "__exit__", "__repr__", "__hash__", "__iter__", "__len__", "__str__", "__setattr__",
         "__delattr__", "__class_getitem__", "__init_subclass__", "__subclasshook__", "__contains__", "__array__",
         "__reversed__"}
"""Methods that Python or numpy calls."""


class Scene:
    """A golden device with everything that calls take, and another one."""

    def __init__(self, other=None):
        self.device = open_device("golden", MACHINE, memory_bytes=MEMORY)
        self.module = self.device.load(compile_ptx(PTX).values())
        self.kernel, self.array = self.module["fill"], self.device.zeros(8, np.uint32)
        self.arguments = [self.array, 7]
        self.freed = self.device.zeros(8, np.uint32)
        self.freed.free()
        self.tenant = self.device.tenant(4096)
        self.queue = self.device.queue([self.kernel], 8)
        self.queued = self.queue.launch(self.kernel, 1, 8, self.arguments)
        self.launch = self.kernel(1, 8, self.arguments)
        self.tenants = self.tenant.load(compile_ptx(PTX).values())["fill"](
            1, 8, [self.tenant.zeros(8, np.uint32), 7])
        self.stream, self.work = self.device.stream(), self.device.work()
        self.event = self.stream.record()
        self.task = self.stream.copy_from(self.array)
        self.variable = self.module.symbol("places")
        self.texture = driver.Texture(self.array)
        self.other = other


@pytest.fixture(scope="module")
def other():
    scene = Scene()
    yield scene
    scene.device.close()
WRONG = {
    "object": NOT,
    "flag": {k: v for k, v in NOT.items()},
    "number": {k: v for k, v in NOT.items() if k != "huge"},
    "bounded": NOT,
    "text": {k: v for k, v in NOT.items() if k != "text"},
    "values": {k: NOT[k] for k in ("None", "text", "object", "list")},
    "any": {},
}
WRONG["waiting"] = {k: v for k, v in NOT.items() if k != "None"}
KIND = {name: kind for kind, names in {
    "object": "launch victims kernel image array other awaited images kernels tasks after parts arguments function "
              "mechanism path data",
    "object?": "newcomer queue queued tbs", "number": "max_cycles cycles settled priority", "number?": "launches",
    "bounded": "first handle address block_threads packets capacity shared_bytes entries grid block memory_bytes grace "
               "shape",
    "bounded?": "system_bytes value", "waiting": "patience expiry", "dtype": "dtype", "text": "name",
    "values": "values",
    "flag": "gang scramble restart incremental in_place trap select clear check eviction_check barrier any_of withdraw "
            "run_on",
}.items() for name in names.split()}
"""What each argument is, by its name; with a question mark, or None."""
WRONG["dtype"] = {k: NOT[k] for k in ("text", "object", "list", "float")}
OTHERS = {"launch": "launch", "newcomer": "launch", "kernel": "kernel", "array": "array", "other": "event",
          "queue": "queue", "awaited": "task", "queued": "queued"}
"""Arguments for which that of another device is tried, by what the scene calls it."""
MANY_OTHERS = {"kernels": "kernel", "tasks": "task", "after": "queued"}

CALLS = {
    "Device": {
        "advance": {"cycles": 1}, "close": {}, "describe_warps": {}, "fields": {"path": "status"}, "host_state": {},
        "peek": {"path": "status"}, "read": {"path": "status"}, "run": {"launch": "launch", "cycles": 1},
        "tenant": {"memory_bytes": 4096}, "wait": {"launch": "launch"}, "wait_any": {"tasks": lambda s: [s.task]},
        "warps": {}, "work": {}, "write": {"path": "patience", "value": 1},
    },
    "PreemptingDevice": {
        "abort": {"launch": "launch"}, "adopt": {"handle": 4096, "image": lambda s: s.kernel.image},
        "announce": {"victims": lambda s: s.launch, "cycles": 1}, "announced": {}, "announcement_counts": {},
        "withdraw": {}, "anticipate": {"launch": "launch", "cycles": 1}, "begin_checkpoint": {"launch": "launch"},
        "begin_preempt": {"launch": "launch"}, "begin_resume": {"launch": "launch"}, "checkpoint": {"launch": "launch"},
        "context": {"launch": "launch"}, "estimate": {"launch": "launch"},
        "finish_preempt": {"launch": "launch"}, "finish_resume": {"launch": "launch"},
        "hasten": {"launch": "launch"}, "kill": {"launch": "launch"},
        "move": {"launch": "launch", "parts": lambda s: [0]}, "preempt": {"launch": "launch"}, "preempt_by": {},
        "release_slot": {"launch": "launch"}, "resident_tbs": {"launch": "launch"}, "resume": {"launch": "launch"},
    },
    "AddressSpace": {
        "array": {"values": lambda s: [1, 2]},
        "array_at": {"address": lambda s: s.array.address, "shape": 8, "dtype": "u4"},
        "empty": {"shape": 8}, "launch": {"kernel": "kernel", "grid": 1, "block": 8, "arguments": "arguments"},
        "load": {"images": lambda s: [s.kernel.image]}, "load_ptx": {"path": "no.ptx"},
        "queue": {"kernels": lambda s: [s.kernel], "block_threads": 8}, "stream": {}, "synchronize": {},
        "zeros": {"shape": 8},
    },
    "DeviceMemory": {"write_memory": {"address": lambda s: s.array.address, "data": b"1234"}},
    "DeviceArray": {"get": {}, "set": {"values": lambda s: np.zeros(8)}, "free": {}},
    "Kernel": {"__call__": {"grid": 1, "block": 8, "arguments": "arguments"}},
    "Launch": {"peek_progress": {}, "peek_state": {}},
    "Module": {"__getitem__": {"name": "fill"}, "bind_texture": {"name": "nothing", "array": "array"},
               "symbol": {"name": "places"}, "unload": {}},
    "Variable": {"get": {}, "set": {"values": lambda s: [1, 2]}},
    "Stream": {
        "call": {"function": lambda s: print}, "close": {}, "copy_from": {"array": "array"},
        "copy_to": {"array": "array", "values": lambda s: np.zeros(8)},
        "launch": {"kernel": "kernel", "grid": 1, "block": 8, "arguments": "arguments"}, "record": {},
        "synchronize": {}, "wait_event": {"awaited": "event"},
    },
    "Task": {"wait": {}}, "Event": {"since": {"other": "event"}},
    "Tenant": {"close": {}, "kill": {"launch": "tenants"}, "wait": {"launch": "tenants"}},
    "Texture": {"__init__": {"array": "array"}},
    "Work": {"barrier": {"queue": "queue", "after": lambda s: []},
             "launch": {"kernel": "kernel", "grid": 1, "block": 8, "arguments": "arguments"}, "relaunch": {},
             "reset": {}, "wait": {}},
    "Queue": {"barrier": {"after": lambda s: [s.queued]}, "checkpoint_others": {}, "end": {},
              "launch": {"kernel": "kernel", "grid": 1, "block": 8, "arguments": "arguments"}, "wait": {}},
    "Queued": {"wait": {}},
}
"""By class and call: valid arguments, as names of what a scene has, as they are, or made of a scene."""
SUBJECT = {"Device": "device", "PreemptingDevice": "device", "AddressSpace": "device", "DeviceMemory": "device",
           "DeviceArray": "array",
           "Kernel": "kernel", "Launch": "launch", "Module": "module", "Variable": "variable", "Stream": "stream",
           "Task": "task", "Event": "event", "Tenant": "tenant", "Work": "work", "Queue": "queue",
           "Queued": "queued"}
RIGHT = {  # what looks wrong, and is not
    ("PreemptingDevice.preempt_by", "mechanism", "None"), ("Work.barrier", "queue", "None"),
    ("Module.symbol", "dtype", "None"), ("AddressSpace.array", "values", "list"),
    ("DeviceArray.set", "values", "float"),
}


def public():
    """Return every call of the classes that is for programs, with the class that has it."""
    found = {}
    for kind in CLASSES:
        for name, member in inspect.getmembers(kind, callable):
            if isinstance(member, type) or not isinstance(inspect.unwrap(member), types.FunctionType):
                continue
            owner = inspect.unwrap(member).__qualname__.split(".")[0]
            if name in PLAIN or name.startswith("_") and name not in ("__call__", "__getitem__", "__init__"):
                continue
            if name not in OWN.get(owner, ()):
                found[owner, name] = inspect.unwrap(member)
    return found


PUBLIC = public()


def test_no_public_call_is_forgotten():
    table = {(owner, name) for owner, calls in CALLS.items() for name in calls}
    assert {*PUBLIC} - table == set(), "in neither CALLS nor OWN"
    assert table - {*PUBLIC} == set(), "there is no such call"


def valid(scene, owner, name):
    def value(given):
        if isinstance(given, str) and hasattr(scene, given) and given != "path":
            return getattr(scene, given)
        return given(scene) if isinstance(given, types.FunctionType) else given

    return {key: value(given) for key, given in CALLS[owner][name].items()}


def bound(scene, owner, name):
    if owner == "Texture":
        return driver.Texture
    if owner == "Queued":
        return scene.queued.wait
    return getattr(getattr(scene, SUBJECT[owner]), name)


BASES = ("patience", "scramble")
OPTIONS = {"preempt_by": (*BASES, "grace", "incremental", "in_place", "trap"), "checkpoint": BASES,
           "begin_checkpoint": BASES, "anticipate": BASES, "announce": BASES}
OPTIONS |= dict.fromkeys(("preempt", "begin_preempt"), (*OPTIONS["preempt_by"], "restart", "select"))
"""By call: what its keywords `options` may be."""


def parameters(function):
    """Return the parameters of a call by name, with their defaults; `options` are those that there can be."""
    given = {p.name: p.default for p in [*inspect.signature(function).parameters.values()][1:]
             if p.name not in ("fields", "limit")}
    if given.pop("options", None) is not None:
        given |= dict.fromkeys(OPTIONS[function.__name__], inspect.Parameter.empty) | {"patience": None}
    return given


def trials():
    for (owner, name), function in PUBLIC.items():
        yield from ((owner, name, parameter) for parameter in parameters(function))


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_a_call_does_not_have_are_named(name):
    scene = Scene()
    for option in {*WayOptions.__annotations__} - {*OPTIONS[name]} | {"nonsense"}:
        with pytest.raises(DriverError, match=f"{name}: no option '{option}'; there are .*scramble"):
            getattr(scene.device, name)(**valid(scene, "PreemptingDevice", name), **{option: True})
    with pytest.raises(DriverError, match=f"{name}: scramble is given beside a Way"):
        getattr(scene.device, name)(**valid(scene, "PreemptingDevice", name), mechanism=Way(), scramble=False)


def tried(scene, owner, name, parameter, value):
    """Call with one wrong argument; return the error, None if there was none."""
    arguments = valid(scene, owner, name) | {parameter: value}
    try:
        bound(scene, owner, name)(**arguments)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("owner", CALLS)
def test_wrong_arguments_are_named_with_what_is_wanted(owner, other):
    scene, wrong = Scene(other), []
    for kind, name, parameter in trials():
        if kind != owner:
            continue
        wants = KIND[parameter]
        for label, value in WRONG[wants.rstrip("?")].items():
            if label == "None" and wants.endswith("?") or (f"{owner}.{name}", parameter, label) in RIGHT:
                continue
            if parameters(PUBLIC[owner, name])[parameter] is None and value is None:
                continue
            error = tried(scene, owner, name, parameter, value)
            if why := wanted(error, parameter, value):
                wrong.append(f"{owner}.{name}({parameter}={label}): {why}")
            if error is None:
                scene = Scene(other)
    assert not wrong, "\n".join(wrong)


def test_a_module_is_a_mapping_whatever_is_looked_for():
    module = Scene().module
    assert 5 not in module and None not in module and module.get(1.5) is None and "fill" in module


SETTERS = {("device", "observer"): "None", ("queue", "capacity"): ""}
"""What programs set, with the kind of value that is right though it looks wrong."""


def test_no_setter_is_forgotten():
    found = {(kind.__name__, name) for kind in CLASSES for name, member in inspect.getmembers(kind)
             if isinstance(member, property) and member.fset is not None}
    assert found == {(type(getattr(Scene(), subject)).__name__, name) for subject, name in SETTERS}


@pytest.mark.parametrize("subject, name", SETTERS)
def test_what_is_set_is_named_too(subject, name):
    scene, wrong = Scene(), []
    for label, value in NOT.items():
        try:
            setattr(getattr(scene, subject), name, value)
            error = None
        except Exception as found:
            error = found
        if label != SETTERS[subject, name] and (why := wanted(error, name, value)):
            wrong.append(f"{subject}.{name} = {label}: {why}")
    assert not wrong, "\n".join(wrong)


def others():
    for owner, name, parameter in trials():
        if parameter in OTHERS or parameter in MANY_OTHERS:
            yield owner, name, parameter


@pytest.mark.parametrize("owner", sorted({owner for owner, _, _ in others()}))
def test_what_is_of_another_device_is_refused(owner, other):
    scene, wrong = Scene(other), []
    for kind, name, parameter in others():
        if kind != owner or owner == "Texture":
            continue
        value = getattr(other, OTHERS[parameter]) if parameter in OTHERS else [getattr(other, MANY_OTHERS[parameter])]
        if (owner, name) in (("Module", "bind_texture"), ("AddressSpace", "load_ptx")):
            continue  # there is no such texture: of one that there is, the launch says so; those kernels are names
        if (owner, name, parameter) == ("Work", "barrier", "after"):
            continue  # pieces: of queues, which are checked as such
        error = tried(scene, owner, name, parameter, value)
        if not isinstance(error, DriverError) or "another device" not in str(error) and "two devices" not in str(error):
            wrong.append(f"{owner}.{name}({parameter}): {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def test_a_freed_array_is_refused_everywhere():
    scene, wrong = Scene(), []
    for owner, name, parameter in trials():
        if parameter == "array" and (owner, name) != ("Module", "bind_texture"):
            error = tried(scene, owner, name, parameter, scene.freed)
        elif parameter == "arguments":
            error = tried(scene, owner, name, parameter, [scene.freed, 7])
        else:
            continue
        if not isinstance(error, DriverError) or "freed" not in str(error):
            wrong.append(f"{owner}.{name}({parameter}): {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)
    for act in (scene.freed.get, scene.freed.free, lambda: scene.freed.set(np.zeros(8))):
        with pytest.raises(DriverError, match="freed"):
            act()


AFTER_CLOSE = {  # what a program may still do with what it has
    ("Device", "close"), ("Tenant", "close"), ("Stream", "close"), ("Device", "host_state"), ("Module", "unload"),
    ("Module", "__getitem__"), ("Module", "symbol"), ("DeviceArray", "free"), ("Launch", "peek_progress"),
    ("PreemptingDevice", "finish_resume"), ("Device", "wait_any"), ("Module", "bind_texture"),
    ("Stream", "synchronize"), ("Task", "wait"), ("Queue", "launch"), ("PreemptingDevice", "preempt_by"),
    ("Event", "since"), ("Work", "relaunch"), ("Work", "wait"), ("Queue", "end"),
}


@pytest.mark.parametrize("owner", CALLS)
def test_calls_after_the_device_was_closed_say_so(owner):
    scene, wrong = Scene(), []
    calls = [(name, bound(scene, owner, name), valid(scene, owner, name)) for name in CALLS[owner]]
    scene.device.close()
    for name, call, arguments in calls:
        try:
            call(**arguments)
            error = None
        except Exception as found:
            error = found
        still = (owner, name) in AFTER_CLOSE and (error is None or isinstance(error, DriverError))
        if isinstance(error, Closed) or still:
            continue
        if name == "load_ptx" and isinstance(error, FileNotFoundError):
            continue
        wrong.append(f"{owner}.{name}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)
