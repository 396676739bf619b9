"""Settings that could only lead astray are refused when the file is read, before any step has worked."""

from __future__ import annotations

from pathlib import Path

import pytest

from vivant.core.errors import DataError
from vivant_build.mimic.settings import PipelineSettings, read_settings


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tasks: {tasks: [titel]}", r"Unknown task 'titel'; did you mean 'title'\?.*at `\$\.tasks`"),
        ("tasks: {tasks: []}", "tasks is empty; name at least one task"),
        ("tasks: {tasks: [title, title]}", "tasks names title more than once"),
        ("tasks: {ranks: [100, 50, 10, 1]}", "ranks must rise: the first is the right answer"),
        ("tasks: {ranks: [1, 10, 10, 100]}", "ranks must rise"),
        ("tasks: {comments: 20}", "comments is 20, but the last of ranks is 100"),
        ("audit: {level: 1.0}", r"Expected `float` < 1\.0 - at `\$\.audit\.level`"),
        ("audit: {level: 0}", r"Expected `float` > 0"),
        ("select: {top: {}}", "top names no platform"),
        (
            "select: {weights: {views: 0, likes: 0, comments: 0, like_rate: 0, comment_rate: 0}}",
            "all weights are 0",
        ),
        ("clean: {title_characters: [300, 3]}", "title_characters: 300 is more than 3"),
        ("clean: {shortest: 60, longest: 10}", "shortest and longest: 60 is more than 10"),
        ("workers: 0", r"Expected `int` >= 1 - at `\$\.workers`"),
    ],
)
def test_a_setting_that_leads_astray_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    with pytest.raises(DataError, match=rf"settings\.yaml: .*{reason}"):
        read_settings(file)


def test_few_comments_do_where_popularity_is_not_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("tasks: {tasks: [title, comment-match], comments: 20}")
    assert read_settings(file).tasks.comments == 20
    assert read_settings(None) == PipelineSettings()
