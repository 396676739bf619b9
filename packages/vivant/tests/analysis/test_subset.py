"""`vivant subset make` and `vivant run --subset`."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.helpers import questions, vivant
from tests.support.runs_kit import call, quiz, run_of
from vivant.analysis.subset_making import make_subset
from vivant.core.errors import UsageError, VivantError
from vivant.engine.evaluation import evaluate
from vivant.runs.importing import import_predictions
from vivant.runs.run import Run
from vivant.runs.subset import read_subset

MODEL = """
import random


class Model:
    def __init__(self, able="0"):
        self.able = float(able)

    async def generate(self, request):
        name = request.key.rpartition("/")[2]
        hard = random.Random(name).random()
        luck = random.Random(name + str(self.able)).gauss(0, 0.15)
        wanted = "right" if hard + luck < self.able else "wrong"
        return next(option.name for option in request.options if option.text == wanted)
"""


def ask(folder: Path, name: str, able: float, **more: Any) -> Run:
    (folder / "own.py").write_text(MODEL, "utf-8")
    return evaluate(
        str(folder / "mine.jsonl"),
        f"{folder / 'own.py'}:Model",
        model_options={"able": str(able)},
        out=folder / name,
        cache="off",
        **more,
    )


def past_runs(folder: Path, count: int = 200) -> Path:
    """Runs of four models; a model's name tells them apart."""
    questions(folder, count, pictures=False)
    for able in (0.3, 0.45, 0.6, 0.8):
        run = ask(folder, f"runs/{able}", able)
        path = run.path / "manifest.json"
        manifest = msgspec.json.decode(path.read_bytes())
        path.write_bytes(msgspec.json.encode({**manifest, "model": f"m{able}"}))
    return folder / "runs"


def test_a_subset_is_made_asked_and_predicts_the_score_on_all(tmp_path: Path) -> None:
    result = vivant("subset", "make", past_runs(tmp_path), "--size", "40", "-o", "few.json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "40 of 200 samples, each model predicted without its own runs" in result.stdout
    assert re.search(r"Error on models left out \(root mean square\): \d+\.\d points", result.stdout)
    truth = ask(tmp_path, "all", 0.52).table().rows[0].value
    run = ask(tmp_path, "new", 0.52, subset=tmp_path / "few.json")
    table = run.table()
    estimate, naive = table.rows
    assert estimate.metric == "accuracy, estimate for all"
    assert naive.metric == "accuracy, naive mean"
    assert naive.n == 40
    assert truth is not None
    assert estimate.value is not None
    assert estimate.interval is not None
    assert estimate.interval[0] <= truth <= estimate.interval[1]
    assert abs(estimate.value - truth) < 6
    assert "asked 40 of 200 samples, a subset that predicts" in " ".join(table.notes)
    # The copy in the run is enough: the file itself may go.
    (tmp_path / "few.json").unlink()
    assert Run(run.path).table().rows[0].value == estimate.value
    assert "subset" in " ".join(run.manifest.settings.list_distinctions())
    # By facet there are the answers alone.
    assert {row.metric for row in run.table(by="half").rows} == {"accuracy"}


@pytest.mark.full
def test_neither_the_order_of_runs_nor_a_neighbouring_seed_decides(tmp_path: Path) -> None:
    runs = sorted(past_runs(tmp_path, 120).iterdir())
    first, turned = (make_subset(order, 30).tasks["jsonl/mine"] for order in (runs, runs[::-1]))
    assert turned.items == first.items
    assert turned.error == pytest.approx(first.error)
    other = make_subset(runs, 30, seed=1).tasks["jsonl/mine"]
    # Seeds share no draws: what the first one drew second is not what the next draws first.
    assert not {left.estimate for left in other.left_out} & {left.estimate for left in first.left_out}


@pytest.mark.full
def test_more_samples_measure_a_smaller_error(tmp_path: Path) -> None:
    runs = past_runs(tmp_path)
    few, many, again, other = (
        make_subset(runs, size, seed=seed).tasks["jsonl/mine"]
        for size, seed in ((10, 0), (100, 0), (100, 0), (100, 1))
    )
    assert many.error < few.error
    assert many.items == again.items != other.items


def test_what_cannot_make_a_subset_is_refused(tmp_path: Path) -> None:
    samples = quiz(60)
    for name in ("a", "b"):
        generator = random.Random(name)
        run_of(tmp_path / name, samples, [generator.random() < 0.5 for _ in samples], model="same")
    with pytest.raises(UsageError, match="runs of 1 model are named, and a subset is made from 2 at least"):
        make_subset([tmp_path / "a", tmp_path / "b"], 20)
    run_of(tmp_path / "c", samples, [True] * 60, model="other")
    with pytest.raises(UsageError, match="all runs share 60 samples; choose --size below that"):
        make_subset([tmp_path / "a", tmp_path / "c"], 60)
    (tmp_path / "there.json").write_text("{}", "utf-8")
    assert (
        call("subset", "make", tmp_path / "a", tmp_path / "c", "--size", "9", "-o", tmp_path / "there.json")
        == 1
    )
    assert (tmp_path / "there.json").read_text("utf-8") == "{}"


def test_a_subset_of_another_edition_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    runs = past_runs(tmp_path, 120)
    assert call("subset", "make", runs, "--size", "30", "-o", tmp_path / "few.json") == 0
    path = tmp_path / "mine.jsonl"
    whole = path.read_text("utf-8")
    path.write_text(whole.replace('"also wrong"', '"quite wrong"'), "utf-8")
    with pytest.raises(UsageError, match="30 of the 30 samples of jsonl/mine have other options"):
        ask(tmp_path, "new", 0.5, subset=tmp_path / "few.json")
    path.write_text("\n".join(whole.splitlines()[:60]) + "\n", "utf-8")
    with pytest.raises(UsageError, match="are not in the data: they are of another edition"):
        ask(tmp_path, "new", 0.5, subset=tmp_path / "few.json")
    path.write_text(whole, "utf-8")
    with pytest.raises(UsageError, match="leave out --limit, --where and --until"):
        ask(tmp_path, "new", 0.5, subset=tmp_path / "few.json", until=3)
    with pytest.raises(UsageError, match="has none of the tasks mime/mcq"):
        evaluate("mime/mcq", "random", data="mini", subset=tmp_path / "few.json", out=tmp_path / "x")
    (tmp_path / "bad.json").write_text('{"format": 1}', "utf-8")
    with pytest.raises(VivantError, match="is no subset"):
        read_subset(tmp_path / "bad.json")
    assert not (tmp_path / "new").exists()


def test_on_the_published_answers_to_mime_models_left_out_are_predicted(parity: Path, tmp_path: Path) -> None:
    root = parity / "mime"
    for style in ("zero-shot", "cot"):
        for file in sorted((root / "results" / "mime-cropped" / style / "all").glob("raw_mcq_*.json")):
            import_predictions(
                "mime/mcq", file, tmp_path / "runs" / f"{style}-{file.stem}", data=root, style=style
            )
    task = make_subset(tmp_path / "runs", 200).tasks["mime/mcq"]
    assert len({left.model for left in task.left_out}) == 3
    assert len(task.left_out) == 6
    assert task.error < task.random_error
    assert task.error < 0.032
