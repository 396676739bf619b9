"""docs/architecture.md names the packages, the allowed imports and the code as they are."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    path.name.replace("-", "_"): path for path in sorted((ROOT / "packages").iterdir()) if path.is_dir()
}
SOURCE = PACKAGES["vivant"] / "src" / "vivant"
ROOTS = (SOURCE, *(path / "src" for path in PACKAGES.values()), ROOT)
"""What paths on the page are relative to."""
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
REFERENCE = re.compile(r"`([\w./-]+\.py)(?::\s+([\w.]+))?`")


def read_table() -> dict[str, tuple[int, str]]:
    """Each package of the page's table of layers, with its layer and what it may import."""
    rows = re.findall(r"^\| (\d+) \| `(\w+)(?:/|\.py)` \| [^|]+ \| ([^|]+) \|$", PAGE, re.MULTILINE)
    table = {package: (int(layer), allowed) for layer, package, allowed in rows}
    assert len(table) == len(rows), "a package has two rows"
    return table


def list_packages() -> set[str]:
    """The packages and modules in the kernel."""
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    return packages | {path.stem for path in SOURCE.glob("*.py") if path.stem != "__init__"}


def read_contract() -> dict[str, set[str]]:
    """What each package may import, as the import-linter contract in pyproject.toml says."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = (each for each in contracts["contracts"] if each.get("containers") == ["vivant"])
    allowed: dict[str, set[str]] = {}
    below: set[str] = set()
    for layer in reversed(contract["layers"]):
        # In parentheses: a package that need not exist.
        names = {name.strip(" ()") for name in layer.split("|")} & list_packages()
        allowed |= {name: set(below) for name in names}
        below |= names
    return allowed


@cache
def list_definitions(path: Path) -> frozenset[str]:
    """Functions, classes, methods (`Class.method`), constants and fields defined in a file."""
    names = set()

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names.update(prefix + target.id for target in targets if isinstance(target, ast.Name))

    visit(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return frozenset(names)


def test_the_page_begins_with_the_four_packages() -> None:
    first, _, _ = PAGE.partition("\n## ")
    rows = re.findall(
        r"^\| `packages/([\w-]+)/` \| `(\w+)` \| [^|]+ \| ([^|]+) \| ([\d,]+) \|$", first, re.MULTILINE
    )
    assert {name for _, name, _, _ in rows} == set(PACKAGES)
    for folder, name, needs, lines in rows:
        project = tomllib.loads((PACKAGES[name] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert (project["name"], PACKAGES[name].name) == (folder, folder)
        ours = [line for line in project["dependencies"] if line.startswith("vivant")]
        assert needs == ("`vivant`" if ours else "–"), f"{name} depends on {ours}"
        files = (PACKAGES[name] / "src").rglob("*.py")
        counted = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
        stated = int(lines.replace(",", ""))
        assert abs(counted - stated) < 0.1 * counted, f"{name} has {counted:,} lines"


def test_the_diagram_shows_the_hooks_that_each_package_uses() -> None:
    diagram = re.search(r"(?:^    .*\n)+", PAGE, re.MULTILINE)
    assert diagram is not None
    shown: dict[str, set[str]] = {}
    package = ""
    for line in diagram[0].splitlines():
        package = (re.match(r" +(vivant-\w+)", line) or ["", package])[1]
        shown.setdefault(package, set()).update(re.findall(r"─ (vivant\.\w+) ─", line))
    used = {}
    for path in PACKAGES.values():
        project = tomllib.loads((path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        used[path.name] = {group for group in project["entry-points"] if group.startswith("vivant.")}
    assert shown == {name: groups for name, groups in used.items() if groups}


def test_the_table_lists_the_layers() -> None:
    assert read_table().keys() == list_packages()


def test_allowed_imports_are_those_of_the_contract() -> None:
    table = read_table()
    allowed = {}
    for package, (layer, text) in table.items():
        expected = {0: "nothing", 1: "layer 0"}.get(layer, f"layers 0–{layer - 1}")
        assert text == expected, f"{package} in layer {layer} may import {text}"
        allowed[package] = {other for other, (number, _) in table.items() if number < layer}
    assert allowed == read_contract()


def test_every_file_and_name_exists() -> None:
    references = REFERENCE.findall(PAGE)
    assert len(references) > 100
    for file, name in references:
        path = next((root / file for root in ROOTS if (root / file).is_file()), None)
        if "/" not in file and path is None:
            assert file in ("file.py", "my_bench.py"), f"{file} does not exist"
            continue
        assert path is not None, f"{file} does not exist"
        assert not name or name in list_definitions(path), f"{file} defines no {name}"


def test_every_folder_exists() -> None:
    folders = re.findall(r"`([a-z_/-]+)/`", PAGE)
    assert len(folders) > 20
    for folder in folders:
        assert folder == "scores" or any((root / folder).is_dir() for root in ROOTS), folder


def test_the_page_stays_short() -> None:
    assert len(PAGE.splitlines()) <= 270
