"""Free-form scoring needs a sentence model: that is said before the first request, and costs no other result."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import vivant
from tests.support.helpers import logged_messages
from vivant.cli.run import app as run_app
from vivant.cli.table import app as table_app
from vivant.core.errors import DataError
from vivant.metrics import minilm


@pytest.fixture
def without_sentence_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setattr(minilm, "_package_folders", list)
    monkeypatch.setattr(minilm, "_hub_snapshots", list)
    monkeypatch.delenv("VIVANT_MINILM", raising=False)
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return monkeypatch


@pytest.mark.usefixtures("without_sentence_model")
def test_nothing_is_sent_where_nothing_could_be_scored(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing was sent\. .*`vivant data get minilm`"):
        vivant.evaluate("mime/ff", "random", data=["mini"], out=tmp_path / "run", limit=2)
    assert not (tmp_path / "run").exists()


def test_multiple_choice_is_shown_without_it_and_free_form_once_it_is_there(
    without_sentence_model: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = ["mime", "--data", "mini", "--model", "random", "--limit", "3", "--out", "run"]
    with logged_messages() as messages:
        result = CliRunner().invoke(run_app, command)
    assert result.exit_code == 0, result.exception
    assert "mime/mcq" in result.stdout and "mime/ff" not in result.stdout
    before = next(i for i, line in enumerate(messages) if "mime/ff will be answered and kept" in line)
    assert "`vivant data get minilm`" in messages[before]
    (after,) = [line for line in messages[before + 1 :] if "mime/ff is answered but not scored" in line]
    assert "`vivant data get minilm`" in after
    without_sentence_model.undo()
    shown = CliRunner().invoke(table_app, [str(tmp_path / "run")])
    assert "mime/ff" in shown.stdout, "the next look scores what was kept"
