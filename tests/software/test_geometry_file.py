"""Geometries of the user's own: what is read from the file, and errors that name file and key."""

import dataclasses
import re
from pathlib import Path

import pytest

from caesura.hw.arch.geometry import PRESETS, Geometry
from caesura.software.job import JobError, load_geometry, load_job

ROOT = Path(__file__).resolve().parents[2]
FIELDS = [field.name for field in dataclasses.fields(Geometry) if field.name != "name"]


@pytest.fixture
def write(tmp_path):
    def to(text, name="my.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path
    return to


def test_what_is_not_given_is_as_in_the_base(write):
    assert load_geometry(write("base = 'ecp5'")) == PRESETS["ecp5"].replace(name="my")
    found = load_geometry(write("base = 'gtx480'\nname = 'half a Fermi'\nwarps = 24\nregisters = 512"))
    assert found == PRESETS["gtx480"].replace(name="half a Fermi", warps=24, registers=512)


@pytest.mark.parametrize("base", list(PRESETS))
def test_every_field_can_be_changed_to_what_any_preset_has(write, base):
    for other in PRESETS.values():
        lines = [f"{field} = {str(value).lower()}" for field in FIELDS if (value := getattr(other, field)) is not None]
        if other.clock_mhz is None:
            lines.append("clock_mhz = 0")
        assert load_geometry(write("\n".join([f"base = '{base}'", *lines]))) == other.replace(name="my")


def test_a_mechanism_may_be_left_out(write):
    assert not load_geometry(write("base = 'tiny'\ntb_compressor = false")).tb_compressor


def test_numbers_may_be_whole_where_they_need_not(write):
    found = load_geometry(write("base = 'tiny'\nbytes_per_cycle = 4\nclock_mhz = 700"))
    assert (found.bytes_per_cycle, found.clock_mhz) == (4, 700)


@pytest.mark.parametrize(("text", "words"), [
    ("warps = 4", ["key 'base'", "missing"]),
    ("base = 'gtx488'", ["key 'base'", "'gtx488'", "did you mean 'gtx480'"]),
    ("base = 5", ["key 'base'", "a string is wanted"]),
    ("base = 'tiny'\nwarp = 4", ["key 'warp'", "did you mean 'warps'"]),
    ("base = 'tiny'\nsomething = 4", ["key 'something'", "there are base, name, warp_size, lanes"]),
    ("base = 'tiny'\n[machine]\nwarps = 4", ["key 'machine'"]),
    ("base = 'tiny'\nwarps = '4'", ["key 'warps'", "an integer is wanted, not '4'"]),
    ("base = 'tiny'\nwarps = 4.0", ["key 'warps'", "an integer is wanted, not 4.0"]),
    ("base = 'tiny'\nwarps = true", ["key 'warps'", "an integer is wanted, not true"]),
    ("base = 'tiny'\ntb_compressor = 1", ["key 'tb_compressor'", "true or false is wanted, not 1"]),
    ("base = 'tiny'\nwarps = [4]", ["key 'warps'", "an integer is wanted"]),
    ("base = 'tiny'\nwarps = 0", ["key 'warps'", "1 to 64, not 0"]),
    ("base = 'tiny'\nwarps = 99999999999999999999", ["key 'warps'", "1 to 64"]),
    ("base = 'tiny'\nlanes = 3", ["key 'lanes'", "divides warp_size, not 3"]),
    ("base = 'tiny'\nlanes = 16", ["key 'lanes'", "divides warp_size, not 16"]),
    ("base = 'gtx480'\nlanes = 8\nf64_lanes = 16", ["key 'f64_lanes'", "at most lanes"]),
    ("base = 'tiny'\nregisters = 100", ["key 'registers'", "power of two", "100"]),
    ("base = 'tiny'\nregisters = 1099511627776", ["key 'registers'", "16 to 4096"]),
    ("base = 'tiny'\nregs_per_thread = 7", ["key 'regs_per_thread'", "8 to 64, not 7"]),
    ("base = 'tiny'\nshared_bytes = 1000", ["key 'shared_bytes'", "multiple of 128", "1000"]),
    ("base = 'tiny'\nshared_bytes = 1048576", ["key 'shared_bytes'", "up to 1048448"]),
    ("base = 'tiny'\nbytes_per_cycle = 9", ["key 'bytes_per_cycle'", "at most bus_bytes"]),
    ("base = 'tiny'\nbytes_per_cycle = nan", ["key 'bytes_per_cycle'", "finite"]),
    ("base = 'tiny'\nbytes_per_cycle = 1e-9", ["key 'bytes_per_cycle'", "1/64"]),
    ("base = 'tiny'\nclock_mhz = -1", ["key 'clock_mhz'", "above 0"]),
    ("base = 'tiny'\nmemory_latency = 100000000", ["key 'memory_latency'", "4096"]),
    ("base = 'tiny'\nicache_lines = 6", ["key 'icache_lines'", "power of two", "6"]),
    ("base = 'tiny'\nload_queue = 1", ["key 'load_queue'", "2 to 256"]),
    ("base = 'tiny'\nname = 'gtx480'", ["key 'name'", "'gtx480' is a preset"]),
    ("base = 'tiny'\nname = ''", ["key 'name'", "1 to 40"]),
    ("base = 'tiny'\nname = \"a\\u001b[2J\"", ["key 'name'", "printable"]),
    ("base = tiny", ["no TOML"]),
])
def test_mistakes_name_file_and_key(write, text, words):
    path = write(text)
    with pytest.raises(JobError) as caught:
        load_geometry(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and "\n" not in message
    for word in words:
        assert word in message, message


def test_a_file_called_like_a_preset_needs_a_name(write):
    with pytest.raises(JobError, match="'tiny' is a preset"):
        load_geometry(write("base = 'tiny'\nwarps = 8", "tiny.toml"))
    assert load_geometry(write("base = 'tiny'\nwarps = 8\nname = 'tiny8'", "tiny.toml")).name == "tiny8"


def test_a_file_that_is_no_text_is_refused(write, tmp_path):
    path = tmp_path / "my.toml"
    path.write_bytes(b"base = '\xff'")
    with pytest.raises(JobError, match="no TOML"):
        load_geometry(path)


def test_a_job_file_names_a_geometry_beside_it(write, tmp_path):
    (tmp_path / "sm").mkdir()
    write("base = 'tiny'\nwarps = 8", "sm/eight.toml")
    head = "grid = 1\nblock = 32\n"
    assert load_job(write(head)).machine == PRESETS["gtx480"]
    assert load_job(write(head + "preset = 'ecp5'")).machine == PRESETS["ecp5"]
    assert load_job(write(head + "geometry = 'sm/eight.toml'")).machine == PRESETS["tiny"].replace(
        name="eight", warps=8)
    for text, words in (("geometry = 'sm/nine.toml'", "key 'geometry': there is no file"),
                        ("geometry = 'sm/eight.toml'\npreset = 'tiny'", "key 'geometry': goes in place of 'preset'"),
                        ("geometry = 8", "key 'geometry': a string is wanted")):
        with pytest.raises(JobError, match=words):
            load_job(write(head + text))


def test_the_example_is_valid():
    found = load_geometry(ROOT / "examples" / "small_sm.toml")
    assert (found.name, found.lanes, found.warps) == ("small_sm", PRESETS["ecp5"].lanes, 16)


def test_the_page_of_the_documentation_has_the_example_and_every_key():
    page = (ROOT / "docs" / "geometry.md").read_text()
    assert page.split("```toml\n")[1].split("```")[0] == (ROOT / "examples" / "small_sm.toml").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(["base", "name", *FIELDS])
