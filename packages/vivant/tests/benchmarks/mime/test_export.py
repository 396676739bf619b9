"""MIME's exports: the files that its own scripts read."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.support.mime_kit import (
    MIME,
    load_samples,
    make_edition,
    read_import,
    score_import,
)
from tests.support.mime_runs import TASKS, make_run
from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.mime.result_names import format_result_name
from vivant.core.errors import UsageError
from vivant.core.records import Record, Score
from vivant.core.types import Reply


@pytest.mark.parametrize("task", TASKS)
def test_an_exported_run_comes_back_the_same(tmp_path: Path, task: str) -> None:
    from vivant.benchmarks.base import PromptContext, ScoreSettings

    data = load_samples(tmp_path, task)
    context = PromptContext(style="zero-shot", pool=tuple(data))
    items = []
    for number, sample in enumerate(data):
        prompt = MIME.prompt(sample, context)
        text = "ABCD"[number % 4] if task == "mime/mcq" else ["archery", "fishing", "Answer: tv"][number % 3]
        items.append(
            (
                sample,
                Record(
                    key=f"{task}/{sample.id}",
                    task=task,
                    id=sample.id,
                    options=prompt.options,
                    order=prompt.order,
                    reply=Reply(text=text),
                ),
            )
        )
    scores = MIME.score(items, ScoreSettings(style="zero-shot"))
    rows = tuple((sample, record, score) for (sample, record), score in zip(items, scores, strict=True))
    run = ScoredRun(
        run="r", model="Qwen/Qwen2.5-VL", style="zero-shot", task=task, protocol="paper", rows=rows
    )
    raw = MIME.native.export([run], "mime-raw", tmp_path / "out")
    short = task.rpartition("/")[2]
    assert [str(path.relative_to(tmp_path / "out")) for path in raw] == [
        f"mime-cropped/zero-shot/all/raw_{short}_qwen25vl_Qwen_Qwen2.5-VL.json",
        f"mime-real-resized/zero-shot/none/raw_{short}_qwen25vl_Qwen_Qwen2.5-VL.json",
    ]
    score_files = MIME.native.export([run], "mime-score", tmp_path / "out")
    expected = {score.id: score for score in scores}
    for path in (*raw, *score_files):
        imported = read_import(path, data, task)
        assert (imported.model, imported.style) == ("Qwen/Qwen2.5-VL", "zero-shot")
        for sample, record, score in score_import(imported).rows:
            assert score.value == expected[sample.id].value
            assert score.detail.get("similarity") == pytest.approx(
                expected[sample.id].detail.get("similarity"), abs=1e-6
            )
            if path in raw:
                assert [o.text for o in record.options] == [  # type: ignore[union-attr]
                    o.text for o in next(r for s, r in items if s.id == sample.id).options
                ]


def test_samples_without_a_reply_keep_their_row(tmp_path: Path) -> None:
    data = load_samples(tmp_path, "mime/ff", make_edition(real=False))
    rows = tuple(
        (s, None, Score(key=f"mime/ff/{s.id}", task="mime/ff", id=s.id, status="missing")) for s in data
    )
    run = ScoredRun(run="r", model="m", style="cot", task="mime/ff", protocol="paper", rows=rows)
    (path,) = MIME.native.export([run], "mime-score", tmp_path / "out")
    with path.open() as file:
        written = list(csv.DictReader(file))
    assert [(row["instance_id"], row["correct"]) for row in written] == [
        (str(i), "") for i in range(len(data))
    ]


@pytest.mark.parametrize("task", TASKS)
def test_an_error_is_exported_as_no_answer_not_as_a_wrong_one(tmp_path: Path, task: str) -> None:
    data = load_samples(tmp_path, task, make_edition(real=False))
    rows = []
    for number, s in enumerate(data):
        right = s.options[s.key].name if s.key is not None else s.answers[0]
        score = Score(
            key=f"{task}/{s.id}", task=task, id=s.id, value=1.0, answer=right, detail={"similarity": 1.0}
        )
        if number % 2:
            score = Score(key=score.key, task=task, id=s.id, status="missing", rule="error")
        rows.append((s, None, score))
    run = ScoredRun(
        run="r", model="m", style="cot", task=task, protocol="paper", rows=rows, root=str(tmp_path)
    )
    (raw,) = MIME.native.export([run], "mime-raw", tmp_path / "out")
    assert task == "mime/ff" or json.loads(raw.read_text())["accuracy"] == 1.0
    statuses = [record.reply.status for record in read_import(raw, data, task).records]
    assert statuses == ["ok" if number % 2 == 0 else "error" for number in range(len(data))]
    (path,) = MIME.native.export([run], "mime-score", tmp_path / "out")
    with path.open() as file:
        last = [list(row.values())[-1] for row in csv.DictReader(file)]
    assert last == [("1" if task == "mime/mcq" else "True") if n % 2 == 0 else "" for n in range(len(data))]


@pytest.mark.parametrize(
    ("model", "style", "name"),
    [
        ("openai/gpt-4o-mini", "zero-shot", "openai_gpt-4o-mini"),
        ("gpt-4o-mini-2024-07-18", "cot", "openai_gpt-4o-mini"),
        ("openai/gpt-4o-mini", "few-shot", "openai-few-shot"),
        ("google/gemini-1.5-flash", "few-shot", "gemini-few-shot"),
        ("vllm/OpenGVLab/InternVL2_5-8B", "cot", "internvl2_5_OpenGVLab_InternVL2_5-8B"),
        ("microsoft/Phi-3.5-vision-instruct", "zero-shot", "phi35_microsoft_Phi-3.5-vision-instruct"),
        ("Qwen/Qwen2-VL-7B-Instruct", "zero-shot", "qwen2vl_Qwen_Qwen2-VL-7B-Instruct"),
        ("Qwen/Qwen2.5-VL-72B-Instruct", "zero-shot", "qwen25vl_Qwen_Qwen2.5-VL-72B-Instruct"),
        ("me/mine", "zero-shot", "vivant_me_mine"),
    ],
)
def test_exports_bear_the_names_that_the_aggregation_script_knows(model: str, style: str, name: str) -> None:
    assert format_result_name(model, style) == name


def test_samples_that_a_run_left_out_keep_their_place_without_a_score(tmp_path: Path) -> None:
    """The repository joins by position: few-shot runs leave demonstrations out, and rows must not move up."""
    data = load_samples(tmp_path, "mime/mcq", make_edition(real=False))
    rows = tuple(
        (s, None, Score(key=f"mime/mcq/{s.id}", task="mime/mcq", id=s.id, status="scored", value=1.0))
        for s in data[1::2]
    )
    run = ScoredRun(
        run="r", model="m", style="few-shot", task="mime/mcq", protocol="paper", rows=rows, root=str(tmp_path)
    )
    (path,) = MIME.native.export([run], "mime-score", tmp_path / "out")
    with path.open() as file:
        written = list(csv.DictReader(file))
    assert [row["is_correct"] for row in written] == ["", "1"] * (len(data) // 2)
    imported = read_import(path, data, "mime/mcq")
    assert [record.id for record in imported.records] == [sample.id for sample in data[1::2]]


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mime-raw or mime-score, not 'xml'"):
        MIME.native.export([make_run({"none": [1.0]})], "xml", tmp_path)
    with pytest.raises(UsageError, match="has no options to write"):
        MIME.native.export([make_run({"none": [1.0]})], "mime-raw", tmp_path)
