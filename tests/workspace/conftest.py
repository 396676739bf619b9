"""Runs that commands are tried on."""

from __future__ import annotations

from pathlib import Path

import pytest

import vivant


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on MIME, one judged run on MMIE, what people scored of it, and a folder that looks like a study."""
    home = tmp_path_factory.mktemp("runs")
    for name, model in (("first", "random"), ("second", "echo/A")):
        vivant.evaluate("mime/mcq", model, data="mini", out=home / "runs" / name)
    judged = vivant.evaluate("mmie", "random", data="mini", limit=30, out=home / "runs" / "judged")
    vivant.judge(judged, "heuristic")
    ids = [row.id for part in judged.scores() for *_, row in part.rows]
    lines = [f"{name},{index % 7}" for index, name in enumerate(ids)]
    (home / "people.csv").write_text("\n".join(["id,score", *lines, ""]))
    (home / "someones-study").mkdir()
    (home / "someones-study" / "study.yaml").write_text("title: Theirs\n")
    return home
