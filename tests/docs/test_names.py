"""Names: a public class name exists once, and the names and paths that the documents mention exist."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from pathlib import Path

import pytest

from vivant import hooks

ROOT = Path(__file__).parents[2]
PAGES = sorted((*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"))
SOURCES = sorted((ROOT / "packages").glob("*/src"))
HOOKS = {value for name, value in vars(hooks).items() if name.isupper() and isinstance(value, str)}
"""Groups of entry points, which are not modules."""
_OURS = "vivant(?:_study|_build|_train)?"
_DOTTED = re.compile(rf"(?<![\w./-]){_OURS}(?:\.[A-Za-z_]\w*)+")
_IMPORT = re.compile(rf"from ({_OURS}[\w.]*) import (?:\(([^)]*)\)|([^\n]*))")
_PATH = re.compile(r"(?<![\w./-])(?:packages|src|tests|tools|benchmarks|locks|scripts)/[\w./*-]*[\w/*]")


def test_a_public_class_name_exists_once() -> None:
    modules = defaultdict(list)
    for file in sorted(file for source in SOURCES for file in source.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in modules.items() if len(files) > 1} == {}


def _exists(name: str) -> bool:
    """Whether a dotted name is a module, an attribute of one, or a group of entry points."""
    if name in HOOKS:
        return True
    value, *attributes = name.split(".")
    target = importlib.import_module(value)
    for attribute in attributes:
        value = f"{value}.{attribute}"
        if hasattr(target, attribute):
            target = getattr(target, attribute)
            continue
        try:
            target = importlib.import_module(value)
        except ModuleNotFoundError as error:
            # A module that lacks an optional library is there all the same.
            return not (error.name or "vivant").startswith("vivant")
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_in_the_documents_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = set(_DOTTED.findall(text))
    for module, *lists in _IMPORT.findall(text):
        names |= {f"{module}.{name.split()[0]}" for name in "".join(lists).split(",") if name.strip()}
    assert [name for name in sorted(names) if not _exists(name)] == []
    paths = set(_PATH.findall(text))
    roots = (ROOT, ROOT / "packages" / "vivant" / "src" / "vivant")
    missing = [path for path in sorted(paths) if not any(any(root.glob(path.rstrip("/"))) for root in roots)]
    assert missing == []
