"""A small study that is served, for test modules that name this one in `pytest_plugins`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from tests.support.study_kit import tiny_study
from tests.support.study_web import build_app, open_served_store
from vivant_study.loading import LoadedStudy
from vivant_study.store import StudyStore


@pytest.fixture
def study(tmp_path: Path) -> LoadedStudy:
    """Six items of six judgements each, whose videos need not be watched."""
    return tiny_study(tmp_path / "study", watch_whole=False, judgements_per_item=6)


@pytest.fixture
def store(study: LoadedStudy) -> Iterator[StudyStore]:
    """Its store, closed after the test."""
    with open_served_store(study) as opened:
        yield opened


@pytest.fixture
def app(study: LoadedStudy, store: StudyStore) -> ASGIApp:
    """Its application, with no limits on rates."""
    return build_app(study, store)
