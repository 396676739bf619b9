"""Packages use each other's public names only; the tests of a package need the kernel and that package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parents[2] / "packages"
MODULES = {path.name: path.name.replace("-", "_") for path in PACKAGES.iterdir() if path.is_dir()}
KERNEL = "vivant"
REAL = "tests/bridges/real"
"""Needs other harnesses and trainers, too: `make test-full` alone runs it."""


def list_imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_package_imports_a_private_name_of_another() -> None:
    found = [
        f"{file.relative_to(PACKAGES)}: {name}"
        for package, module in MODULES.items()
        for file in (PACKAGES / package / "src").rglob("*.py")
        for name in list_imports(file)
        if name.split(".")[0] in {*MODULES.values()} - {module} and "._" in name
    ]
    assert found == []


@pytest.mark.parametrize("package", sorted(MODULES))
def test_tests_import_only_their_own_package_and_the_kernel(package: str) -> None:
    others = {name: module for name, module in MODULES.items() if name not in (package, KERNEL)}
    shared = {
        ".".join(file.relative_to(PACKAGES / name).with_suffix("").parts)
        for name in others
        for file in (PACKAGES / name / "tests").rglob("*.py")
        if file.name != "__init__.py"
    }
    files = [file for file in (PACKAGES / package / "tests").rglob("*.py") if REAL not in file.as_posix()]
    assert files
    found = [
        f"{file.relative_to(PACKAGES)}: {name}"
        for file in files
        for name in list_imports(file)
        if name.split(".")[0] in others.values() or {name, name.rpartition(".")[0]} & shared
    ]
    assert found == []
