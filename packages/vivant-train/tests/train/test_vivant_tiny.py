"""The model that comes with the package: it looks at videos, its scores fall when there is nothing to see, and it says
when a question is none for it."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vivant.benchmarks import registry
from vivant.core.types import FramePolicy
from vivant.engine.evaluation import evaluate

FRAMES = FramePolicy(count=8)
SOME = 24
"""Items of each task: enough to tell a model that looks from one that guesses."""


def scores(selector: Any, out: Path, model: str = "vivant/tiny", **named: Any) -> list[float]:
    """Right or wrong, sample by sample."""
    run = evaluate(selector, model, data=("mini",), frames=FRAMES, out=str(out), cache="off", **named)
    rows = [score for part in run.scores() for _, _, score in part.rows]
    assert all(score.status in ("scored", "unparsed") for score in rows)
    return [score.value or 0.0 for score in rows]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


@pytest.fixture(scope="module")
def thinking(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    return scores("mimic/thinking", tmp_path_factory.mktemp("thinking") / "run", limit=SOME)


def test_it_is_small_and_says_where_it_comes_from() -> None:
    from vivant.models.onnx_backend import find_bundled_model, read_settings

    folder = find_bundled_model("tiny")
    assert folder is not None
    assert sum(file.stat().st_size for file in folder.iterdir()) < 6_000_000
    settings = read_settings(folder)
    assert settings.parameters < 3_000_000 and "tools/tiny" in settings.note


def test_it_thinks_well_above_chance_on_videos_it_never_saw(thinking: list[float]) -> None:
    assert len(thinking) == 7 * SOME
    assert mean(thinking) >= 0.75, "chance is a quarter"


def test_without_frames_it_is_no_better_than_chance(thinking: list[float], tmp_path: Path) -> None:
    """By forced choice: an option is weighed whether it would have answered or not."""
    blind = mean(scores("mimic/thinking", tmp_path / "run", limit=SOME, control="blind", answer_by="loglik"))
    assert 0.12 <= blind <= 0.38 < mean(thinking) - 0.2


@pytest.mark.full
def test_eight_by_six_pixels_do_not_name_what_it_names(thinking: list[float], tmp_path: Path) -> None:
    nearest = mean(scores("mimic/thinking", tmp_path / "run", "nearest", limit=SOME))
    assert nearest <= 0.5 < mean(thinking) - 0.15


def test_it_recognises_mimed_actions(tmp_path: Path) -> None:
    assert mean(scores("mime/mcq", tmp_path / "run", limit=2 * SOME)) >= 0.75, "chance is a quarter"


@pytest.mark.full
def test_mimed_actions_are_not_told_from_less(tmp_path: Path) -> None:
    looking = mean(scores("mime/mcq", tmp_path / "run", limit=4 * SOME))
    still = mean(scores("mime/mcq", tmp_path / "still", limit=4 * SOME, control="one-frame"))
    assert still < looking - 0.15, "movement is missed"
    assert mean(scores("mime/mcq", tmp_path / "nearest", "nearest", limit=4 * SOME)) < looking - 0.15
    blind = scores("mime/mcq", tmp_path / "blind", limit=4 * SOME, control="blind", answer_by="loglik")
    assert mean(blind) <= 0.4


@pytest.mark.full
def test_scenes_that_it_never_saw_hardly_mislead_it(tmp_path: Path) -> None:
    values = scores("mime/mcq", tmp_path / "run", where=("background=misaligned",))
    assert len(values) == 34 and mean(values) >= 0.65


def test_it_names_actions_freely(tmp_path: Path) -> None:
    assert mean(scores("mime/ff", tmp_path / "run", limit=SOME)) >= 0.5


# ── outside its world ──


@pytest.mark.parametrize("selector", ["mmrv/mcq", "milebench/MovingDirection", "milebench/SlideVQA"])
def test_a_question_in_words_it_never_met_is_refused_and_not_guessed(selector: str, tmp_path: Path) -> None:
    run = evaluate(
        selector,
        "vivant/tiny",
        data=("mini",),
        frames=FRAMES,
        limit=6,
        out=str(tmp_path / "run"),
        cache="off",
    )
    replies = [record.reply for record in run.records().values()]
    assert {reply.status for reply in replies} == {"refused"} and not any(reply.text for reply in replies)
    assert all("outside the model's world" in reply.error for reply in replies)
    assert "words were in no question that it learnt from" in replies[0].error


def test_a_question_without_pictures_is_refused(tmp_path: Path) -> None:
    run = evaluate(
        "mimic/topic",
        "vivant/tiny",
        data=("mini",),
        control="blind",
        limit=3,
        out=str(tmp_path / "run"),
        cache="off",
    )
    errors = {record.reply.error for record in run.records().values()}
    assert {record.reply.status for record in run.records().values()} == {"refused"}
    assert len(errors) == 1 and "this one has none" in errors.pop()


def test_it_writes_comments_of_its_world(tmp_path: Path) -> None:
    run = evaluate(
        "mimic/comment",
        "vivant/tiny",
        data=("mini",),
        frames=FRAMES,
        limit=12,
        out=str(tmp_path / "run"),
        cache="off",
    )
    texts = [record.reply.text for record in run.records().values()]
    samples = registry.get("mimic").load(registry.locate(registry.get("mimic"), "mini"), "mimic/comment")
    known = {word for sample in samples for text in sample.extra["human"] for word in text.lower().split()}
    words = [word for text in texts for word in text.lower().split()]
    assert all(3 <= len(text.split()) <= 40 for text in texts)
    assert mean([word in known for word in words]) > 0.7
    assert len(set(texts)) >= 6, "not one comment for all"


def test_it_needs_no_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('torch was imported')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    script = (
        "from vivant.engine.evaluation import evaluate\nfrom vivant.core.types import FramePolicy\n"
        "run = evaluate('mimic/topic', 'vivant/tiny', data=('mini',), frames=FramePolicy(count=8), limit=2,\n"
        f"               out={str(tmp_path / 'run')!r}, cache='off')\n"
        "print(sorted({record.reply.status for record in run.records().values()}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stdout.strip().endswith("['ok']"), done.stderr


def test_a_prompt_longer_than_it_reads_is_told_so() -> None:
    from PIL import Image

    from vivant.core.types import Decoding, Picture, Request, Text, Turn
    from vivant.models.onnx_backend import find_bundled_model
    from vivant.models.onnx_engine import OnnxMimicChatEngine

    engine = OnnxMimicChatEngine({"folder": str(find_bundled_model("tiny")), "threads": 1}, 0)
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), "grey").save(buffer, "PNG")
    picture = Picture(buffer.getvalue(), "image/png", 64, 48)
    long = Request(
        turns=(Turn("user", (picture, Text("the video " * 10_000))),), decoding=Decoding(max_tokens=4)
    )
    (reply,) = engine.generate([long])
    assert reply.status == "too_long" and "this model reads 2047 at most" in reply.error
