"""What all tests share: a cache of their own, and where the parity data may be."""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

from tests.support.matrix_tiles import avoid_broken_tiles

# A busy machine is no failure, and what passes once passes again.
settings.register_profile(
    "vivant", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("vivant")
avoid_broken_tiles()

PARITY = Path(
    os.environ.get("VIVANT_PARITY") or Path(__file__).resolve().parents[2] / "shared" / "parity"
).absolute()
"""Real outputs and published scores: `VIVANT_PARITY`, else `../shared/parity`."""


_MARKS = {
    "tests/train/": "torch",
    "tests/models/test_transformers.py": "torch",
    "tests/engine/test_ray.py": "cluster",
    "tests/build/mimic/test_ray.py": "cluster",
    "browser.py": "browser",
    "tests/bridges/real/": "bridges",
}
"""What a file's tests need, by a part of its path."""

_imported: set[ModuleType] = set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their files, so that no file can be forgotten."""
    for item in items:
        for part, mark in _MARKS.items():
            if part in item.path.as_posix():
                item.add_marker(mark)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Import what a test file names under `if TYPE_CHECKING:` when its first test runs.

    Torch, Ray, scipy and the like take seconds to import. Collecting the tests must not pay for them.
    """
    module = getattr(item, "module", None)
    if module is None or module in _imported:
        return
    _imported.add(module)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module.__file__, "exec"), module.__dict__)
    if "torch" in module.__dict__:
        module.__dict__["torch"].set_num_threads(1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly what was not checked where the parity data are absent."""
    if not PARITY.is_dir():
        terminalreporter.write_line(
            f"NOT CHECKED: agreement with published outputs. There are no parity data in {PARITY}; "
            "set VIVANT_PARITY to their folder.",
            red=True,
            bold=True,
        )


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or fills the user's caches; no key or terminal width of the user's reaches a test."""
    root = tmp_path_factory.mktemp("cache")
    os.environ["VIVANT_CACHE"] = str(root)
    os.environ["XDG_CONFIG_HOME"] = str(root / "config")
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        os.environ.pop(name)
    for name in ("OPENAI_BASE_URL", "VIVANT_DATA", "VIVANT_PRICES", "COLUMNS", "LINES"):
        os.environ.pop(name, None)
    yield
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def parity() -> Path:
    """Published outputs and scores; a user's machine has none."""
    if not PARITY.is_dir():
        pytest.skip("no parity data here")
    return PARITY
