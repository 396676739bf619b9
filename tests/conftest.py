"""What all tests share: a cache of their own, and where the parity data may be."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

PARITY = Path(
    os.environ.get("VIVANT_PARITY") or Path(__file__).resolve().parents[2] / "shared" / "parity"
).absolute()
"""Real outputs and published scores: `VIVANT_PARITY`, else `../shared/parity`."""


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
    """No test reads or fills the user's caches; no key of the user's reaches a test."""
    root = tmp_path_factory.mktemp("cache")
    os.environ["VIVANT_CACHE"] = str(root)
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        os.environ.pop(name)
    for name in ("OPENAI_BASE_URL", "VIVANT_DATA"):
        os.environ.pop(name, None)
    yield
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def parity() -> Path:
    """Published outputs and scores; a user's machine has none."""
    if not PARITY.is_dir():
        pytest.skip("no parity data here")
    return PARITY
