"""Fresh environments that hold the wheels of this repository and what they declare, and nothing else.

The packages are linked from the environment of the tests, by the metadata that pip would follow: an import that no
dependency declares fails here as it does for a user. `make test-full` installs with pip besides.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from collections import Counter
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
OURS = ("vivant", "vivant-study", "vivant-build", "vivant-train")


def build_wheels(folder: Path) -> dict[str, Path]:
    """Build the four wheels, and return their content by name: unpacked once, linked into each environment."""
    sources = [str(ROOT / "packages" / name) for name in OURS]
    options = ("--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), *sources], check=True
    )
    contents = {wheel.name.split("-")[0].replace("_", "-"): wheel for wheel in folder.glob("*.whl")}
    for name, wheel in contents.items():
        contents[name] = folder / name
        zipfile.ZipFile(wheel).extractall(contents[name])
    return contents


@cache
def _installed() -> dict[str, Distribution]:
    return {canonicalize_name(each.metadata["Name"]): each for each in distributions()}


@cache
def _owners() -> Counter[str]:
    """Count the distributions that install into each top-level name."""
    tops = ({file.parts[0] for file in each.files or ()} for each in _installed().values())
    return Counter(top for names in tops for top in names)


def list_requirements(name: str, extras: frozenset[str]) -> set[str]:
    """Return the distributions that pip would install for `name[extras]`; KeyError for one that isn't here."""
    found: dict[str, frozenset[str]] = {}
    waiting = [(canonicalize_name(name), extras)]
    while waiting:
        current, wanted = waiting.pop()
        if wanted <= found.get(current, frozenset()) and current in found:
            continue
        found[current] = found.get(current, frozenset()) | wanted
        for line in _installed()[current].requires or ():
            requirement = Requirement(line)
            markers = [{"extra": extra} for extra in ("", *wanted)]
            if requirement.marker is None or any(requirement.marker.evaluate(each) for each in markers):
                waiting.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return set(found)


def make_environment(folder: Path, wheels: dict[str, Path], extra: str) -> Path:
    """Make an environment with `vivant` or `vivant[extra]`, and return its interpreter."""
    names = list_requirements("vivant", frozenset({extra} if extra else ()))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    for name in sorted(names):
        if name in OURS:
            for content in wheels[name].iterdir():
                (packages / content.name).symlink_to(content)
        else:
            _link(_installed()[name], packages)
    return folder / "bin" / "python"


def _link(distribution: Distribution, packages: Path) -> None:
    """Link a distribution's files: a folder that only it installs into at once, others file by file."""
    done: set[str] = set()
    for file in distribution.files or ():
        top = file.parts[0]
        if top in ("..", "__pycache__") or top in done:
            continue
        if _owners()[top] == 1:
            done.add(top)
            (packages / top).symlink_to(str(distribution.locate_file(top)))
        else:
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.symlink_to(str(distribution.locate_file(file)))
