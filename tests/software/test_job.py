"""Job files: what is read from them, and errors that name file, table and key; the comparison of arrays."""

import numpy as np
import pytest

from caesura.hw.arch.image.context import Mechanism
from caesura.software.compiler import KernelImage, Parameter
from caesura.software.compiler.ir.variables import Binding
from caesura.software.job import JobError, compare, load_job

HEAD = "grid = 2\nblock = [32, 2]\n"
OUT = "[[argument]]\nname = 'out'\ninit = 'zeros'\ndtype = 's32'\nshape = [2, 3]\n"


@pytest.fixture
def load(tmp_path):
    def read(text):
        path = tmp_path / "my.toml"
        path.write_text(text)
        return load_job(path)
    return read


def array(load, text):
    return load(f"{HEAD}[[argument]]\n{text}\n").arguments[0].value


def test_launch_and_defaults(load):
    job = load(HEAD)
    assert (job.grid, job.block, job.entry, job.shared_bytes) == ((2,), (32, 2), "", 0)
    assert (job.preset, job.backend, job.arguments, job.preemptions) == ("gtx480", "rtl", (), ())


@pytest.mark.parametrize(("text", "expected"), [
    ("init = 'zeros'\ndtype = 'u8'\nshape = [2, 2]", np.zeros((2, 2), np.uint8)),
    ("init = 'full'\nvalue = -3\ndtype = 'int16'\nshape = 4", np.full(4, -3, np.int16)),
    ("init = 'full'\nvalue = 2.5\ndtype = 'f32'\nshape = 4", np.full(4, 2.5, np.float32)),
    ("init = 'arange'\ndtype = 's32'\nshape = [2, 3]", np.arange(6, dtype=np.int32).reshape(2, 3)),
    ("init = 'arange'\nstart = 10\nstep = -2\ndtype = 's64'\nshape = 8", np.arange(10, -6, -2)),
    ("init = 'arange'\nstart = 18446744073709551613\ndtype = 'u64'\nshape = 3",
     np.array([2**64 - 3, 2**64 - 2, 2**64 - 1], np.uint64)),
    ("init = 'arange'\nstep = 0.5\ndtype = 'f64'\nshape = 3", np.array([0, 0.5, 1])),
])
def test_generated_arrays(load, text, expected):
    got = array(load, text)
    assert got.dtype == expected.dtype and got.shape == expected.shape and (got == expected).all()


def test_random_arrays_depend_on_their_seed_alone_and_keep_their_range(load):
    text = "init = 'integers'\nlow = -5\nhigh = 6\ndtype = 's8'\nshape = 4000\nseed = {}"
    one, again, two = (array(load, text.format(seed)) for seed in (1, 1, 2))
    assert (one == again).all() and (one != two).any()
    assert set(one.tolist()) == set(range(-5, 6)) and one.dtype == np.int8
    real = array(load, "init = 'uniform'\nlow = 2\nhigh = 3\ndtype = 'f32'\nshape = 4000")
    assert real.dtype == np.float32 and 2 <= real.min() < 2.01 and 2.99 < real.max() <= 3
    whole = array(load, "init = 'integers'\nhigh = 18446744073709551616\ndtype = 'u64'\nshape = 4000")
    assert whole.max() > 2**63


def test_files_are_found_beside_the_job_file_whatever_their_byte_order(load, tmp_path):
    values = np.arange(12, dtype=">i4").reshape(3, 4).T
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "in.npy", values)
    got = array(load, "file = 'data/in.npy'")
    assert got.dtype == np.dtype("<i4") and got.flags.c_contiguous and (got == values).all()


def test_expected_results_from_a_file_or_generated(load, tmp_path):
    np.save(tmp_path / "want.npy", np.ones((2, 3), np.int32))
    expected = load(HEAD + OUT + "expected = 'want.npy'\natol = 1").arguments[0].expected
    assert (expected.values == 1).all() and (expected.atol, expected.rtol) == (1, None)
    expected = load(HEAD + OUT + "expected = { init = 'arange', step = 2 }").arguments[0].expected
    assert expected.values.tolist() == [[0, 2, 4], [6, 8, 10]] and expected.values.dtype == np.int32


def test_preemptions(load):
    at, series = load(HEAD + """
        [[preempt]]
        at = 0
        mechanism = "occupied"
        [[preempt]]
        every = 50
        with = "vecadd"
        size = "tiny"
        in_place = true
        [[preempt.preempt]]
        at = 6
        newcomer = true
        [[preempt.preempt]]
        at = 7
        gang = true
        patience = 300
        grace = "unlimited"
        restart = true
        checkpoint = 20
        [[preempt.preempt]]
        at = 9
        mechanism = "live+cp"
        patience = "unlimited"
        incremental = true
        announced = 0
        """).preemptions
    assert (at.at, at.every, at.times, at.way.mechanism, at.other) == (0, 0, 1, Mechanism.OCCUPIED, "hostile")
    assert (series.at, series.every, series.times, series.other, series.size) == (50, 50, 0, "vecadd", "tiny")
    first, second, third = series.nested
    assert second.at == 7 and second.gang and not third.gang
    assert [spec.way.patience for spec in (at, series, *series.nested)] == [None, None, None, 300, "unlimited"]
    assert [(spec.way.grace, spec.way.restart) for spec in (at, second, third)] == [
        (0, False), ("unlimited", True), (0, False)]
    assert [(spec.checkpoint, spec.announced, spec.way.incremental) for spec in (at, second, third)] == [
        (None, None, False), (20, None, False), (None, 0, True)]
    assert [(spec.way.in_place, spec.newcomer) for spec in (at, series, *series.nested)] == [
        (False, False), (True, False), (False, True), (False, False), (False, False)]


@pytest.mark.parametrize(("text", "words"), [
    ("grid = 1\nblock = [\nshared = 0", ["TOML", "line 3"]),
    ("block = 3", ["'grid'", "missing"]),
    ("grid = 0\nblock = 1", ["'grid'", "positive integer"]),
    ("grid = [1, 2, 3, 4]\nblock = 1", ["'grid'", "up to 3"]),
    ("grid = true\nblock = 1", ["'grid'"]),
    ("grid = 1.5\nblock = 1", ["'grid'", "1.5"]),
    (HEAD + "shred = 3", ["'shred'", "'shared'"]),
    (HEAD + "preset = 'gtx48'", ["'preset'", "'gtx480'"]),
    (HEAD + "backend = 'cuda'", ["'backend'", "golden"]),
    (HEAD + "max_cycles = 0", ["'max_cycles'"]),
    (HEAD + "argument = [1]", ["'argument'", "[[argument]]"]),
    (HEAD + "[[argument]]\nname = 'a'", ["argument 1 ('a')", "'value'", "none is given"]),
    (HEAD + "[[argument]]\nvalue = 1\nfile = 'x.npy'", ["argument 1", "'value' and 'file'"]),
    (HEAD + "[[argument]]\nvalue = 'x'", ["'value'", "a number"]),
    (HEAD + "[[argument]]\nvalue = true", ["'value'", "true"]),
    (HEAD + "[[argument]]\nvalue = 1\npreset = 'tiny'", ["'preset'", "top of the file"]),
    (HEAD + "[[argument]]\nvaleu = 1", ["'valeu'", "'value'"]),
    (HEAD + "[[argument]]\nbytes = '0g'", ["'bytes'", "hexadecimal"]),
    (HEAD + "[[argument]]\nname = 'a/b'\nvalue = 1", ["'name'", "a/b"]),
    (HEAD + "[[argument]]\nfile = 'no.npy'", ["'file'", "no.npy", "no file"]),
    (HEAD + "[[argument]]\nfile = 'my.toml'", ["'file'", "my.toml", "no .npy file"]),
    (HEAD + "[[argument]]\nfile = '.'", ["'file'"]),
    (HEAD + "[[argument]]\nfile = 'object.npy'", ["'file'", "object.npy"]),
    (HEAD + "[[argument]]\nfile = 'complex.npy'", ["'file'", "complex128"]),
    (HEAD + "[[argument]]\nfile = 'empty.npy'", ["'file'", "empty"]),
    (HEAD + "[[argument]]\nfile = 'complex.npy'\ndtype = 's32'", ["'dtype'", "no such key"]),
    (HEAD + "[[argument]]\ninit = 'ones'", ["'init'", "'ones'", "full"]),
    (HEAD + "[[argument]]\ninit = 'zeros'\nshape = 3", ["'dtype'", "missing"]),
    (HEAD + "[[argument]]\ninit = 'zeros'\ndtype = 's23'\nshape = 3", ["'dtype'", "'s32'"]),
    (HEAD + "[[argument]]\ninit = 'zeros'\ndtype = 's32'", ["'shape'", "missing"]),
    (HEAD + "[[argument]]\ninit = 'zeros'\ndtype = 's32'\nshape = [65536, 65536]", ["'shape'", "bytes"]),
    (HEAD + "[[argument]]\ninit = 'full'\ndtype = 'u8'\nshape = 3\nvalue = 256", ["'value'", "256", "uint8"]),
    (HEAD + "[[argument]]\ninit = 'full'\ndtype = 'u8'\nshape = 3\nvalue = 1.5", ["'value'", "an integer"]),
    (HEAD + "[[argument]]\ninit = 'full'\ndtype = 'f32'\nshape = 3\nvalue = 1e39", ["'value'", "float32"]),
    (HEAD + "[[argument]]\ninit = 'arange'\ndtype = 'u8'\nshape = 257", ["'shape'", "256", "uint8"]),
    (HEAD + "[[argument]]\ninit = 'arange'\ndtype = 'u8'\nshape = 3\nstep = -1", ["'step'", "-2"]),
    (HEAD + "[[argument]]\ninit = 'integers'\ndtype = 'u8'\nshape = 3\nhigh = 0", ["'high'"]),
    (HEAD + "[[argument]]\ninit = 'integers'\ndtype = 'u8'\nshape = 3\nhigh = 258", ["'high'", "257"]),
    (HEAD + "[[argument]]\ninit = 'uniform'\ndtype = 'u8'\nshape = 3", ["'init'", "'integers'"]),
    (HEAD + "[[argument]]\ninit = 'uniform'\ndtype = 'f32'\nshape = 3\nlow = 2", ["'low'", "above"]),
    (HEAD + "[[argument]]\ninit = 'integers'\ndtype = 'f32'\nshape = 3\nlow = -1\nhigh = 18446744073709551616",
     ["'high'", "64 bits"]),
    (HEAD + f"[[argument]]\ninit = 'integers'\ndtype = 'f32'\nshape = 3\nlow = {-2**63 - 1}\nhigh = 1",
     ["'high'", "64 bits"]),
    (HEAD + f"[[argument]]\ninit = 'integers'\ndtype = 'f64'\nshape = 3\nhigh = {10**300}", ["'high'", "64 bits"]),
    (HEAD + "[[argument]]\ninit = 'uniform'\ndtype = 'f64'\nshape = 3\nlow = -1.7e308\nhigh = 1.7e308",
     ["'high'", "more than a float64"]),
    (HEAD + "[[argument]]\ninit = 'arange'\ndtype = 'u32'\nshape = 3\nstart = 1\nstep = 1.7e308", ["'step'", "uint32"]),
    (HEAD + "[[argument]]\ninit = 'arange'\ndtype = 'f64'\nshape = 3\nstep = 1.7e308", ["'step'", "float64"]),
    (HEAD + OUT + "atol = 1", ["argument 1 ('out')", "'atol'", "without 'expected'"]),
    (HEAD + OUT + "expected = 'float.npy'", ["'expected'", "2x3 int32", "6 float64"]),
    (HEAD + OUT + "expected = 3", ["'expected'", ".npy"]),
    (HEAD + OUT + "expected = { init = 'arange', shape = 6 }", ["argument 1 ('out'), expected", "'shape'"]),
    (HEAD + OUT + "expected = { init = 'zeros' }\nrtol = -1", ["'rtol'", "-1"]),
    (HEAD + "[[preempt]]\nmechanism = 'live'", ["preempt 1", "'at'", "'every'"]),
    (HEAD + "[[preempt]]\nat = 1\nevery = 2", ["preempt 1", "one of"]),
    (HEAD + "[[preempt]]\nat = -1", ["preempt 1", "'at'", "-1"]),
    (HEAD + "[[preempt]]\nat = 1\n[[preempt]]\nevery = 0", ["preempt 2", "'every'"]),
    (HEAD + "[[preempt]]\nat = 1\ntimes = 2", ["'times'", "'every'"]),
    (HEAD + "[[preempt]]\nat = 1\nmechanism = 'liev'", ["'mechanism'", "'live'"]),
    (HEAD + "[[preempt]]\nat = 1\npatience = -1", ["preempt 1", "'patience'", "0 to 4294967294", "-1"]),
    (HEAD + "[[preempt]]\nat = 1\npatience = 'long'", ["'patience'", "'unlimited'", "'long'"]),
    (HEAD + "[[preempt]]\nat = 1\npatience = true", ["'patience'", "'unlimited'"]),
    (HEAD + "[[preempt]]\nat = 1\npatience = 1\nmechanism = 'occupied'", ["takes no patience", "does not wait"]),
    (HEAD + "[[preempt]]\nat = 1\ngrace = -1", ["preempt 1", "'grace'", "0 to 4294967294", "-1"]),
    (HEAD + "[[preempt]]\nat = 1\ngrace = 'long'", ["'grace'", "'unlimited'", "'long'"]),
    (HEAD + "[[preempt]]\nat = 1\nrestart = 1", ["preempt 1", "'restart'"]),
    (HEAD + "[[preempt]]\nat = 1\ncheckpoint = -1", ["preempt 1", "'checkpoint'", "-1"]),
    (HEAD + "[[preempt]]\nat = 1\ncheckpoint = 1\nannounced = 1", ["preempt 1", "'announced'", "one of"]),
    (HEAD + "[[preempt]]\nat = 1\nwith = 'vecad'", ["'with'", "'vecadd'"]),
    (HEAD + "[[preempt]]\nat = 1\nwith = 'my.toml'", ["'with'", "my.toml is a file", "'with_job'"]),
    (HEAD + f"[[preempt]]\nat = 1\nwith = '{300 * 'a'}'", ["'with'", "vectoradd"]),
    (HEAD + f"geometry = '{300 * 'a'}'", ["'geometry'", "there is no file"]),
    (HEAD + "[[preempt]]\nat = 1\n[[preempt.preempt]]\natt = 1", ["preempt 1, preempt 1", "'att'", "'at'"]),
])
def test_a_mistake_is_named_with_file_table_and_key(load, tmp_path, text, words):
    np.save(tmp_path / "object.npy", np.array([None]), allow_pickle=True)
    np.save(tmp_path / "complex.npy", np.array([1j]))
    np.save(tmp_path / "empty.npy", np.zeros(0))
    np.save(tmp_path / "float.npy", np.zeros(6))
    with pytest.raises(JobError) as caught:
        load(text)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "my.toml")) and "\n" not in message
    for word in words:
        assert word in message, message


IMAGE = KernelImage("k", (), 4, parameters=(
    Parameter("k_param_0", "u64", 0, 8, True), Parameter("k_param_1", "s32", 8, 4),
    Parameter("k_param_2", "f32", 12, 4), Parameter("k_param_3", "b8", 16, 12), Parameter("k_param_4", "u8", 28, 1),
    Parameter("k_param_5", "u64", 32, 8), Parameter("k_param_6", "f64", 40, 8)))
ARRAY = "init = 'zeros'\ndtype = 's32'\nshape = 3"
VALUES = [ARRAY, "value = 7", "value = -inf", f"bytes = '{'00' * 12}'", "value = -128", "value = -1", "value = 2"]


def bind(load, values):
    return load(HEAD + "".join(f"[[argument]]\n{v}\n" for v in values)).bind(IMAGE)


def test_arguments_have_their_parameters_names_and_types(load):
    bound = bind(load, VALUES)
    assert list(bound) == [p.name for p in IMAGE.parameters]
    assert bound["k_param_1"].value == 7 and bound["k_param_2"].value == -np.inf
    assert bound["k_param_3"].value == bytes(12)
    assert (bound["k_param_4"].value, bound["k_param_5"].value) == (-128, -1)  # nvcc writes signed integers as unsigned


@pytest.mark.parametrize(("position", "value", "words"), [
    (0, "value = 1", ["argument 1", "k_param_0", "address"]), (0, "value = 0.0", ["argument 1", "address"]),
    (1, ARRAY, ["argument 2", "k_param_1", "s32"]),
    (6, ARRAY, ["argument 7", "an array is given", "k_param_6", "f64"]),
    (1, "value = -2147483649", ["key 'value'", "argument 2", "k_param_1", "s32", "from -2147483648 to 4294967295"]),
    (4, "name = 'n'\nvalue = 256", ["argument 5 ('n')", "key 'value'", "k_param_4", "u8", "from -128 to 255"]),
    (5, f"value = {-2**63 - 1}", ["argument 6", "does not fit", str(-2**63), str(2**64 - 1)]),
    (1, "value = 1.0", ["argument 2", "an integer"]),
    (2, "value = 1e40", ["argument 3", "f32"]),
    (3, "bytes = '0011'", ["argument 4", "12"]),
    (3, "value = 5", ["argument 4", "structure"]),
    (2, "name = 'k_param_0'\nvalue = 1", ["argument 3", "'name'", "another"]),
])
def test_arguments_that_do_not_go_with_their_parameters(load, position, value, words):
    values = list(VALUES)
    values[position] = value
    with pytest.raises(JobError) as caught:
        bind(load, values)
    for word in ["my.toml", *words]:
        assert word in str(caught.value), caught.value


@pytest.mark.parametrize(("image", "words"), [
    (KernelImage("k", (), 4, parameters=(Parameter("t", "u64", 0, 8, True, True),)),
     ["argument 1", "parameter t is a texture object", "driver.Texture"]),
    (KernelImage("k", (), 4, parameters=(Parameter("out", "u64", 0, 8, True),), bindings=(Binding("texture", "x", 8),)),
     ["kernel 'k' reads texture 'x'", "Module.bind_texture"])])
def test_textures_are_not_for_job_files(load, image, words):
    with pytest.raises(JobError) as caught:
        load(f"{HEAD}[[argument]]\n{ARRAY}\n").bind(image)
    for word in ["my.toml", "job file", *words]:
        assert word in str(caught.value), caught.value


def test_an_address_may_be_null(load):
    assert bind(load, ["value = 0", *VALUES[1:]])["k_param_0"].value == 0


def test_too_few_arguments_and_the_choice_of_the_entry(load):
    with pytest.raises(JobError, match="takes 7 .*, 3 given"):
        bind(load, VALUES[:3])
    two = "a", "b"
    with pytest.raises(JobError, match="key 'entry': missing; the PTX has several kernels: a, b"):
        load(HEAD).choose(two)
    with pytest.raises(JobError, match="no kernel 'c'; there are a, b$"):
        load("entry = 'c'\n" + HEAD).choose(two)
    assert load("entry = 'b'\n" + HEAD).choose(two) == "b"
    assert load(HEAD).choose(["a"]) == "a"


def test_a_byte_order_mark_is_passed_over_and_other_encodings_are_told(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(HEAD, encoding="utf-8-sig")
    assert load_job(path).grid == (2,)
    path.write_bytes((HEAD + "# \u00e9").encode("latin1"))
    with pytest.raises(JobError, match=r"my.toml: no TOML: byte \d+ is no UTF-8; save the file as UTF-8$"):
        load_job(path)
    path.write_text("grid = {\n}")
    with pytest.raises(JobError, match="an inline table"):
        load_job(path)


def test_exact_comparison_is_of_bits():
    got, expected = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)
    assert compare("x", got, expected).wrong == 0
    got[1, 0], got[1, 2] = -0.0, 4
    verdict = compare("x", got, expected)
    assert (verdict.wrong, verdict.first_wrong, verdict.max_error, verdict.elements) == (2, (1, 0), 4, 6)
    assert compare("x", np.full(2, np.nan, np.float32), np.full(2, np.nan, np.float32)).wrong == 0


def test_tolerance_is_numpys():
    expected = np.array([100.0, 0.0, np.nan, np.inf, -np.inf], np.float32)
    got = np.array([101.5, 0.5, np.nan, np.inf, np.inf], np.float32)
    assert compare("x", got, expected, 0.5, 0.01).wrong == 1
    verdict = compare("x", got, expected, 0.25, 0.01)
    assert (verdict.wrong, verdict.first_wrong, verdict.got, verdict.max_error) == (3, (0,), 101.5, None)
    assert compare("x", got[:4], expected[:4], 1.5).max_error == 1.5


def test_integers_are_compared_without_wrap_around():
    got, expected = np.array([2**64 - 1, 5], np.uint64), np.array([0, 6], np.uint64)
    assert compare("x", got, expected).max_error == 2**64 - 1
    assert compare("x", got, expected, atol=1).wrong == 1
    low, high = np.array([-128], np.int8), np.array([127], np.int8)
    assert compare("x", low, high, atol=200).wrong == 1 and compare("x", low, high, atol=255).wrong == 0


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint64])
def test_tolerances_may_be_large_integers(dtype):
    got, expected = np.array([1, 5], dtype), np.array([0, 2], dtype)
    assert compare("x", got, expected, atol=10**20).wrong == compare("x", got, expected, 1, 10**300).wrong == 0


@pytest.mark.parametrize("text", [
    f"init = 'full'\nvalue = {10**30}", f"init = 'arange'\nstart = {10**30}",
    f"init = 'uniform'\nlow = {10**30}\nhigh = {10**30}"])
def test_floating_point_arrays_may_be_of_large_integers(load, text):
    assert (array(load, f"{text}\ndtype = 'f32'\nshape = 3") == np.float32(1e30)).all()


def test_arrays_of_different_kinds_cannot_be_compared():
    with pytest.raises(ValueError, match="cannot be compared"):
        compare("x", np.zeros(3), np.zeros(4))
