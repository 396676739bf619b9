"""The four packages state one version, pin each other by it, and what they hook into the kernel loads."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import yaml

import vivant

ROOT = Path(__file__).resolve().parents[2]
PRODUCTS = ("study", "build", "train")
PACKAGES = ("vivant", *(f"vivant-{name}" for name in PRODUCTS))


def read_project(package: str) -> dict[str, Any]:
    """The table `project` of a package's pyproject.toml."""
    text = (ROOT / "packages" / package / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


VERSION = read_project("vivant")["version"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_the_same_version(package: str) -> None:
    assert read_project(package)["version"] == VERSION
    assert distribution(package).version == VERSION, (
        f"{package} is installed in another version; run make test"
    )


def test_the_version_is_stated_alike_elsewhere() -> None:
    assert vivant.__version__ == VERSION
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == VERSION
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(r"^## (\S+)", changes, re.MULTILINE)
    assert heading is not None and heading[1] == VERSION


@pytest.mark.parametrize("name", PRODUCTS)
def test_packages_pin_each_other(name: str) -> None:
    assert read_project("vivant")["optional-dependencies"][name] == [f"vivant-{name}=={VERSION}"]
    ours = [line for line in read_project(f"vivant-{name}")["dependencies"] if line.startswith("vivant")]
    assert ours == [f"vivant=={VERSION}"]


@pytest.mark.parametrize("name", PRODUCTS)
def test_entry_points_are_installed_and_load(name: str) -> None:
    declared = read_project(f"vivant-{name}")["entry-points"]
    points = distribution(f"vivant-{name}").entry_points
    stated = {
        (group, point, value) for group, entries in declared.items() for point, value in entries.items()
    }
    assert {(point.group, point.name, point.value) for point in points} == stated
    assert {point.group for point in points} <= {"vivant.commands", "vivant.models", "vivant.people"}
    for point in points:
        assert point.load() is not None
