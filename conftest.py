"""Share markers by file, a cache for each test, and the parity data with all tests."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Workers share the cores, so each computes on one. Set before numpy and torch are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.support.matrix_tiles import avoid_broken_tiles
from tests.support.parity import PARITY

# Tests must pass on a busy machine, and a test that passes once passes again.
settings.register_profile(
    "vivant", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("vivant")
avoid_broken_tiles()

_GROUPS = {
    # One browser at a time: beside each other, videos stutter and pages are slow.
    "browser.py": "browser",
    "vivant-train/tests/": "torch",
    "tests/models/test_transformers.py": "torch",
    "tests/engine/test_ray.py": "ray",
    "tests/build/mimic/test_ray.py": "ray",
    "tests/workspace/test_install_matrix.py": "matrix",
    "tests/cli/test_demo.py": "demo",
}
"""Tests that one worker runs in a row, by a part of their path; otherwise a file is a group. The longest come first."""

_OTHER_PROGRAMS = ("browser.py", "test_notebooks.py", "test_ray.py")
"""Tests that drive a browser, a Jupyter kernel or Ray: programs with a timing of their own."""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their files, so that no file can be forgotten."""
    order = list(_GROUPS)
    ranks = {}
    for item in items:
        path = item.path.as_posix()
        part = next((part for part in order if part in path), None)
        ranks[item] = order.index(part) if part else len(order)
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(
                pytest.mark.xdist_group(_GROUPS[part] if part else item.nodeid.partition("::")[0])
            )
        if part == "browser.py":
            item.add_marker(pytest.mark.browser)
        if "tests/bridges/real/" in path:
            item.add_marker(pytest.mark.full)
        if item.get_closest_marker("playback") or any(part in path for part in _OTHER_PROGRAMS):
            # Whether a video plays smoothly is up to the machine too. The summary names what needed a second try.
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=5))
    items.sort(key=ranks.__getitem__)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly what was not checked where the parity data are absent."""
    if not PARITY.is_dir():
        terminalreporter.write_line(
            f"NOT CHECKED: agreement with published outputs. No parity data found in {PARITY}; "
            "set VIVANT_PARITY to their folder.",
            red=True,
            bold=True,
        )


@pytest.fixture(scope="session", autouse=True)
def _clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No test reads or fills the user's caches; no key or terminal width of the user's reaches a test.

    Fixtures that tests share (a finished run, say) share this cache.
    """
    root = tmp_path_factory.mktemp("cache")
    os.environ["VIVANT_CACHE"] = str(root / "shared")
    os.environ["XDG_CONFIG_HOME"] = str(root / "config")
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        os.environ.pop(name)
    for name in ("OPENAI_BASE_URL", "VIVANT_DATA", "VIVANT_PRICES", "COLUMNS", "LINES"):
        os.environ.pop(name, None)
    return root


_numbers = count()


@pytest.fixture(autouse=True)
def _own_cache(_clean_environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test its own cache, so that none depends on what another left."""
    monkeypatch.setenv("VIVANT_CACHE", str(_clean_environment / str(next(_numbers))))


@pytest.fixture
def parity() -> Path:
    """Published outputs and scores; a user's machine has none."""
    if not PARITY.is_dir():
        pytest.skip("no parity data here")
    return PARITY
