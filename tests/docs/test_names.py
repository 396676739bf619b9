"""Names: a public class name exists once, and the names and paths that the documents mention exist."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"))
# Groups of entry points are no modules.
_DOTTED = re.compile(r"(?<![\w./-])(?<!entry-points\.\")vivant(?:\.[A-Za-z_]\w*)+")
_IMPORT = re.compile(r"from (vivant[\w.]*) import (?:\(([^)]*)\)|([^\n]*))")
_PATH = re.compile(r"(?<![\w./-])(?:src|tests|tools|benchmarks)/[\w./*-]*[\w/*]")


def test_a_public_class_name_exists_once() -> None:
    modules = defaultdict(list)
    for file in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in modules.items() if len(files) > 1} == {}


def _exists(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
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
            return (error.name or "vivant").split(".")[0] != "vivant"
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_in_the_documents_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = set(_DOTTED.findall(text))
    for module, *lists in _IMPORT.findall(text):
        names |= {f"{module}.{name.split()[0]}" for name in "".join(lists).split(",") if name.strip()}
    assert [name for name in sorted(names) if not _exists(name)] == []
    paths = set(_PATH.findall(text))
    roots = (ROOT, ROOT / "src" / "vivant")
    missing = [path for path in sorted(paths) if not any(any(root.glob(path.rstrip("/"))) for root in roots)]
    assert missing == []
