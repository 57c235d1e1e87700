"""The cache: where it is, that nothing half-written is used, that the dead leave nothing, that it can be emptied."""

import os
import stat
import threading
import time

import pytest
from click.testing import CliRunner

from caesura import cache
from caesura.cli import main
from support.keys import read_json

WORKER_SECONDS = 10


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty cache of its own."""
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "cache"))
    return cache.cache_directory()


@pytest.fixture
def no_checkout(monkeypatch, tmp_path):
    """The package as if it were installed, with a working folder that has a cache of a stranger's."""
    monkeypatch.delenv("CAESURA_CACHE", raising=False)
    monkeypatch.setattr(cache, "checkout_root", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "build" / "cache").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home" / "caesura"


def test_in_a_checkout_the_cache_is_that_of_the_checkout_wherever_one_stands(monkeypatch, tmp_path):
    monkeypatch.delenv("CAESURA_CACHE", raising=False)
    monkeypatch.setattr(cache.Path, "mkdir", lambda *_, **__: None)
    monkeypatch.chdir(tmp_path)
    root = cache.Path(__file__).resolve().parents[1]
    assert cache.cache_directory() == root / "build" / "cache"


def test_elsewhere_it_is_the_users_own_and_never_that_of_the_working_folder(no_checkout):
    assert cache.cache_directory() == no_checkout
    assert stat.S_IMODE(no_checkout.stat().st_mode) == 0o700


def test_the_variable_goes_before_everything(no_checkout, monkeypatch, tmp_path):
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "mine"))
    assert cache.cache_directory() == tmp_path / "mine"


def test_a_folder_that_others_may_write_is_refused(no_checkout):
    cache.cache_directory().chmod(0o770)
    with pytest.raises(cache.CacheError, match="others may write .*chmod 700"):
        cache.cache_directory()


def test_a_folder_of_another_user_is_refused_in_one_line(no_checkout, monkeypatch):
    cache.cache_directory()
    monkeypatch.setattr(cache.os, "getuid", lambda: 12345)
    result = CliRunner().invoke(main, ["cache"])
    assert result.exit_code == 2 and "belongs to user" in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:5], lambda data: b"",
                                    lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:]])
def test_a_damaged_text_is_not_read(folder, damage):
    path = folder / "sv" / "x.sv.gz"
    text = "".join(f"wire w{n};\n" for n in range(1000))
    cache.write_packed(path, text)
    assert cache.read_packed(path) == text
    path.write_bytes(damage(path.read_bytes()))
    assert cache.read_packed(path) is None and cache.read_packed(folder / "none") is None


def test_a_file_is_whole_only_with_a_record_that_fits(folder):
    path = folder / "library.so"
    path.write_bytes(b"code" * 1000)
    assert not cache.whole(path)
    cache.seal(path, "simulator", "tiny", 1.5)
    assert cache.whole(path) and cache.record_of(path).seconds == 1.5
    path.write_bytes(b"code" * 999)
    assert not cache.whole(path)
    path.unlink()
    assert not cache.whole(path)
    path.write_bytes(b"code" * 1000)
    path.with_name("library.so.record").write_text('{"what": 1')
    assert not cache.whole(path)


@pytest.mark.timeout(WORKER_SECONDS)
def test_a_lock_excludes_threads_and_one_that_was_removed_is_taken_anew(folder):
    lock = folder / "a.lock"
    order, waited = [], []

    def other():
        with cache.locked(lock, waiting=lambda: waited.append(True)):
            order.append("other")

    with cache.locked(lock) as held, cache.locked(lock, wait=False) as again:
        assert held and not again
        thread = threading.Thread(target=other)
        thread.start()
        while not waited:
            time.sleep(0.01)
        lock.unlink()
        with cache.locked(lock, wait=False) as new:
            assert new  # nobody holds the file of this name
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


def test_what_a_killed_build_left_goes_and_what_is_being_built_stays(folder):
    dead, alive = folder / "work-dead", folder / "work-alive"
    for left in dead, alive:
        left.mkdir()
        (left / "half.o").write_text("half")
    with cache.locked(folder / "alive.lock"):
        with cache.locked(folder / "mine.lock"), cache.work_folder(folder / "mine.lock") as work:
            assert work.is_dir() and not dead.exists() and (alive / "half.o").exists()
        assert not work.exists() and cache.sweep(folder) == []
    assert cache.sweep(folder) == [alive] and not alive.exists()


@pytest.fixture
def filled(folder):
    """A cache with two simulators, one unused for ten days, a result, and one being built."""
    for name, design, days in (("old", "tiny", 10), ("new", "gtx480", 0)):
        path = folder / "verilator" / f"{name}.so"
        cache.write_atomically(path, b"x" * 1000)
        cache.seal(path, "simulator", design)
        (folder / "verilator" / f"{name}.lock").touch()
        for file in path, path.with_name(path.name + cache.RECORD_SUFFIX):
            os.utime(file, (time.time() - days * 86_400,) * 2)
    cache.write_atomically(folder / "synth" / "r.json", "{}")
    return folder


def names(folder):
    """Names of the files that are left."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def run(*arguments):
    """Run `caesura cache`; return its output."""
    result = CliRunner().invoke(main, ["cache", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_list_says_what_is_kept_its_size_age_and_design(filled):
    table = run()
    assert str(filled) in table.replace("\n", "") and "2.0 kB" in table
    rows = [line.split() for line in table.splitlines()]
    assert ["verilator", "simulator", "tiny", "1.0", "kB", "10", "days"] in rows
    assert any(row[:3] == ["verilator", "simulator", "gtx480"] for row in rows)
    assert any(row[:4] == ["synth", "result", "of", "synthesis"] for row in rows)
    found = read_json("cache", run("--json", "--kind", "verilator", "--older", "5"))
    assert [(entry["design"], entry["bytes"]) for entry in found["entries"]] == [("tiny", 1000)]


def test_cleaning_takes_what_was_asked_for_and_leaves_the_rest(filled):
    run("--clean", "--kind", "verilator", "--older", "5")
    assert names(filled) == ["new.lock", "new.so", "new.so.record", "r.json"]
    assert "2 files removed" in run("--clean")
    assert names(filled) == []


def test_cleaning_leaves_what_is_being_built(filled):
    with cache.locked(filled / "verilator" / "old.lock"):
        run("--clean")
    assert names(filled) == ["old.lock", "old.so", "old.so.record"]


def test_an_unknown_kind_is_one_message(filled):
    result = CliRunner().invoke(main, ["cache", "--kind", "simulators"])
    assert result.exit_code == 2 and "there is synth, verilator" in " ".join(result.stderr.split())


def test_a_link_is_followed_and_a_pipe_stays_one(tmp_path):
    """`-o /dev/null` must leave the device."""
    (tmp_path / "there").write_text("old")
    (tmp_path / "link").symlink_to("there")
    cache.write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "there").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    cache.write_atomically(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through" and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    os.close(reader)
