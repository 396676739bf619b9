"""Fresh environments that hold the wheels of this repository and what they declare, and nothing else.

The packages are linked from the environment of the tests, by the metadata that pip would follow: an import that no
dependency declares fails here as it does for a user.
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

from tests.support import torchvision_ops

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
def _installed() -> dict[str, list[Distribution]]:
    """Return what is installed by name: first what every test sees, then what the Makefile installs apart."""
    apart = [str(Path(sys.prefix) / folder) for folder in ("torchvision", "bridges")]
    installed: dict[str, list[Distribution]] = {}
    for each in (*distributions(), *distributions(path=apart)):
        installed.setdefault(canonicalize_name(each.metadata["Name"]), []).append(each)
    return installed


@cache
def _owners() -> Counter[str]:
    """Count the distributions that install into each top-level name."""
    tops = ({file.parts[0] for file in each[0].files or ()} for each in _installed().values())
    return Counter(top for names in tops for top in names)


def list_requirements(name: str, extras: frozenset[str]) -> dict[str, Distribution]:
    """Return the distributions that pip would install for `name[extras]`; KeyError for one that isn't here."""
    chosen: dict[str, Distribution] = {}
    seen = set()
    waiting = [(Requirement(name), extras)]
    while waiting:
        requirement, wanted = waiting.pop()
        current = canonicalize_name(requirement.name)
        if (current, wanted) in seen:
            continue
        seen.add((current, wanted))
        fitting = [each for each in _installed()[current] if each.version in requirement.specifier]
        chosen.setdefault(current, (fitting or _installed()[current])[0])
        for line in chosen[current].requires or ():
            needed = Requirement(line)
            markers = [{"extra": extra} for extra in ("", *wanted)]
            if needed.marker is None or any(needed.marker.evaluate(each) for each in markers):
                waiting.append((needed, frozenset(needed.extras)))
    return chosen


def make_environment(folder: Path, wheels: dict[str, Path], extra: str) -> Path:
    """Make an environment with `vivant` or `vivant[extra]`, and return its interpreter."""
    needed = list_requirements("vivant", frozenset({extra} if extra else ()))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    for name, distribution in sorted(needed.items()):
        if name in OURS:
            for content in wheels[name].iterdir():
                (packages / content.name).symlink_to(content)
        else:
            _link(distribution, packages)
    if "torchvision" in needed:
        # The tests' torchvision is for another build of torch: every process needs what makes it importable.
        stand_ins = Path(torchvision_ops.__file__).read_text()
        (packages / "sitecustomize.py").write_text(f"{stand_ins}\n\nimport_torchvision()\n")
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
