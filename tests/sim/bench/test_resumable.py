"""What is measured kernel by kernel is kept when a run is stopped, and a later one goes on from it."""

import dataclasses
import json
from unittest import mock

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.hw.arch.geometry import PRESETS
from caesura.sim.bench import estimates, patience, resumable
from caesura.sim.bench.resumable import KernelTask, code_digest, measure_kernels, read_result
from support.sim.tiny_run import work

SETTINGS = {"preset": "tiny", "seed": 1}


def renamed(name):
    """The kernel of `work` by another name."""
    return dataclasses.replace(work(), image=dataclasses.replace(work().image, name=name))


def measured(names, at=None, **options):
    """The result of kernels, and which of them were measured; that of `at` fails."""
    done, prepared = [], []

    def measure(task, progress):
        assert prepared == [PRESETS["tiny"]]
        if task.name == at:
            raise RuntimeError(f"{at} stops")
        done.append(task.name)
        return [{"number": number} for number in range(2)]

    tasks = [KernelTask(PRESETS["tiny"], renamed(name)) for name in names]
    with mock.patch.object(resumable, "library", prepared.append):
        result = measure_kernels(measure, tasks, 1, lambda text: None, options.pop("settings", SETTINGS),
                                 lambda rows: {"met": bool(rows), "rows": len(rows)}, **options)
    assert bool(prepared) == bool(done), "what is there already needs no simulator"
    return result, done


def read(path):
    found = read_result(path, "caesura bench this", ("seed",))
    assert found is not None
    return found


def test_kernels_of_an_earlier_version_that_lack_something_are_measured_anew(tmp_path):
    path = tmp_path / "r.json"
    measured(("vecadd", "bfs"), json_file=path)
    kept = json.loads(path.read_text())
    assert {"kernel", "code"} < kept["runs"][0].keys()
    name = next(key for key in kept["runs"][0] if key not in ("kernel", "code"))
    del kept["runs"][0][name]
    failed = {"kernel": "lrn", "error": "nothing was measured"}
    kept["runs"].append(failed)
    path.write_text(json.dumps(kept))
    found = read_result(path, "caesura bench this", ("seed",), (name,))
    assert found is not None and [row["kernel"] for row in found["runs"]] == ["bfs", "bfs", "lrn"]
    assert found["runs"][-1] == failed
    assert read_result(path, "caesura bench this", ("seed",)) == {k: v for k, v in kept.items() if k != "schema"}


def test_a_run_that_was_stopped_goes_on(tmp_path):
    path = tmp_path / "r.json"
    with pytest.raises(RuntimeError, match="bfs stops"):
        measured(("vecadd", "bfs", "lrn"), at="bfs", json_file=path)
    kept = read(path)
    assert [row["kernel"] for row in kept["runs"]] == ["vecadd"] * 2 and kept["rows"] == 2
    assert not kept["met"], "two kernels are missing"
    whole, done = measured(("vecadd", "bfs", "lrn"), json_file=path, resume=kept)
    assert done == ["bfs", "lrn"] and whole["met"] and read(path) == whole
    assert whole == measured(("vecadd", "bfs", "lrn"))[0]
    assert measured(("vecadd", "bfs", "lrn"), resume=whole) == (whole, [])
    assert {row["code"] for row in whole["runs"]} == {code_digest(work())}


def test_other_routines_are_other_code():
    image = work().image
    with_them = dataclasses.replace(work(), image=dataclasses.replace(image, traps=(*image.code, *image.code)))
    assert code_digest(with_them) != code_digest(work())


def test_other_kernels_are_kept_and_changed_ones_measured_anew(tmp_path):
    whole, _ = measured(("lrn", "vecadd"))
    assert [row["kernel"] for row in whole["runs"]] == ["vecadd"] * 2 + ["lrn"] * 2, "as they ship"
    more, done = measured(("bfs",), resume=whole)
    assert done == ["bfs"] and [row["kernel"] for row in more["runs"]] == ["vecadd"] * 2 + ["bfs"] * 2 + ["lrn"] * 2
    old = json.loads(json.dumps(whole).replace(code_digest(work()), "0" * 16))
    again, done = measured(("vecadd",), resume=old)
    assert done == ["vecadd"] and len(again["runs"]) == 4


def test_other_settings_are_refused():
    whole, _ = measured(("vecadd",))
    with pytest.raises(InputError, match="seed 1, not 2"):
        measured(("vecadd",), resume=whole, settings=SETTINGS | {"seed": 2})


@pytest.mark.parametrize("module", [estimates, patience])
def test_commands_go_on_from_their_file(module, monkeypatch, tmp_path):
    name, path, seen = module.__name__.rpartition(".")[2], tmp_path / "r.json", []

    def small(*arguments, json_file, resume, **options):
        seen.append((json_file, resume))
        return {"preset": "ecp5", "size": "small", "moments": 1, "seed": 1, "met": True, "runs": [],
                "summary": module.summary([])}

    monkeypatch.setattr(module, "run", small)
    arguments = ["bench", name, "--preset", "ecp5", "--kernel", "vecadd", "--json", str(path)]
    for more in ([], ["--resume"]):
        done = CliRunner().invoke(main, [*arguments, *more])
        assert done.exit_code == 0, done.output
    assert seen[0] == (path, None) and seen[1][0] == path and seen[1][1]["moments"] == 1
    path.write_text("{}")
    done = CliRunner().invoke(main, [*arguments, "--resume"])
    assert done.exit_code == 2 and f"is not what `caesura bench {name} --json` writes" in done.output
    done = CliRunner().invoke(main, [*arguments[:-2], "--resume"])
    assert done.exit_code == 2 and "--resume needs --json FILE" in done.output
