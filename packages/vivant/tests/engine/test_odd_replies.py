"""Replies that no log could hold, lines that are no records, answers that say nothing: each costs one sample."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.support.helpers import logged_messages, questions
from vivant.core.records import Record
from vivant.core.types import Reply, ReplyStatus
from vivant.engine.evaluation import evaluate
from vivant.engine.progress import LineProgress
from vivant.engine.reply_cache import is_cacheable

MODEL = """
from vivant.core.types import Reply

class Odd:
    batch_size = 1

    def generate(self, prompts, media):
        return [Reply(text="A", tokens_in="many" if "number 1?" in prompt else 5) for prompt in prompts]
"""


def test_a_reply_that_could_not_be_read_again_is_an_error_of_its_sample(tmp_path: Path) -> None:
    path = questions(tmp_path, 3, pictures=False)
    (tmp_path / "odd.py").write_text(MODEL)
    run = evaluate(str(path), f"{tmp_path}/odd.py:Odd", out=str(tmp_path / "run"))
    replies = {record.id: record.reply for record in run.records().values()}
    assert [replies[name].status for name in ("q000", "q001", "q002")] == ["ok", "error", "ok"]
    assert "cannot be logged" in replies["q001"].error
    assert len(run.scores()[0].rows) == 3


def test_a_line_that_is_no_record_is_set_aside_and_asked_again(tmp_path: Path) -> None:
    path = questions(tmp_path, 4, pictures=False)
    run = evaluate(str(path), "first", out=str(tmp_path / "run"))
    lines = run.dir.log_file.read_bytes().splitlines(keepends=True)
    run.dir.log_file.write_bytes(b"".join([lines[0], b'{"key": 7}\n', *lines[2:]]))
    with logged_messages() as messages:
        assert len(run.records()) == 3
    assert any("line 2 is not a record" in message for message in messages)
    again = evaluate(str(path), "first", out=str(tmp_path / "run"))
    assert len(again.records()) == 4 and again.dir.log_file.read_bytes().count(b"\n") == 4


@pytest.mark.parametrize(
    ("fields", "cacheable"),
    [
        ({"text": "A"}, True),
        ({"text": "", "likelihoods": {"A": 0.5}}, True),
        ({"text": ""}, False),
        ({"text": "A", "status": "error"}, False),
    ],
)
def test_an_empty_reply_is_never_kept_for_later(fields: dict[str, Any], cacheable: bool) -> None:
    assert is_cacheable(Reply(**fields)) is cacheable


def test_progress_counts_as_errors_what_the_table_does() -> None:
    out = StringIO()
    statuses: list[ReplyStatus] = ["ok", "error", "refused", "too_long", "truncated"]
    with LineProgress(len(statuses), 0, out) as progress:
        for status in statuses:
            progress.update(Record(key=status, task="t", id=status, reply=Reply(status=status)))
    assert "5/5 samples" in out.getvalue() and "3 errors" in out.getvalue()
