"""With the real lmms-eval: its tasks over local data give what it gives itself, sample by sample."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import ImageDraw

from tests.support import lmms_kit as kit
from tests.support.helpers import vivant
from vivant import api
from vivant.bridges.lmms_index import expand_entry
from vivant.bridges.lmms_media import MediaFolder, open_pictures
from vivant.cli.benchmark_drafts import check_benchmarks
from vivant.core.errors import DataError, UsageError
from vivant.core.types import Image, Text, Video
from vivant.engine.option_parsing import make_options
from vivant.runs.run import Run

pytestmark = pytest.mark.filterwarnings("default")  # others' packages warn about each other

MODEL = '''
import hashlib

REPLIES = ("A", "B", "C. root", "D. seed", "The answer is B", "I do not know", "104", "(C)")


class Guesser:
    """A reply for each prompt, right or wrong."""

    def generate(self, prompts, media):
        digests = [hashlib.sha256(f"{len(m)} {p}".encode()).digest() for p, m in zip(prompts, media)]
        return [REPLIES[digest[0] % len(REPLIES)] for digest in digests]
'''
TASKS: dict[str, Callable[[Path], Path]] = {
    "mmmu_val": kit.write_mmmu,
    "ai2d": kit.write_ai2d,
    "chartqa": kit.write_chartqa,
    "muirbench": kit.write_muirbench,
}


@pytest.fixture(scope="module", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A hub's folder of its own. Tasks read the variable when they are first imported, so it is set once."""
    home = tmp_path_factory.mktemp("hub")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HOME", str(home))
        patch.setenv("HF_HUB_OFFLINE", "1")  # there is nothing to look for, and looking takes its time
        patch.setenv("HF_DATASETS_CACHE", str(home / "datasets"))
        patch.delenv("OPENAI_API_KEY", raising=False)
        yield home


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return f"{path}:Guesser"


def _evaluate_there(task: str, data: Path, model: str) -> dict[str, Any]:
    """lmms-eval's own evaluation, with a backend of ours as its model."""

    from lmms_eval import evaluator
    from lmms_eval.tasks import TaskManager

    # Nothing here registers the model: lmms-eval finds it by the installed package's entry point.
    manager = TaskManager()
    load = manager._load_individual_task_or_group
    config = {"task": task, "dataset_path": str(data), "dataset_kwargs": {}}

    def load_copy(name: Any, **options: Any) -> Any:
        return load(dict(config) if name == task else name, **options)

    manager._load_individual_task_or_group = load_copy
    arguments = SimpleNamespace(process_with_media=False, reasoning_tags=None, output_path=str(data))
    result: dict[str, Any] = evaluator.simple_evaluate(
        model="vivant", model_args=f"model={model}", tasks=[task], task_manager=manager, cli_args=arguments,
        bootstrap_iters=0, log_samples=True,
    )  # fmt: skip
    return result


def _plain(value: Any) -> Any:
    """As JSON; texts in a list are sorted, because MMMU's parser keeps them in a set."""
    value = json.loads(json.dumps(value, default=str))
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return sorted(value)
    return [_plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("task", TASKS)
def test_every_sample_and_every_aggregate_equals_theirs(task: str, tmp_path: Path, model: str) -> None:
    from lmms_eval.utils import make_table

    data = TASKS[task](tmp_path / "data")
    theirs = _evaluate_there(task, data, model)
    run = api.evaluate(f"lmms:{task}", model, data=str(data), out=tmp_path / "run")
    (part,) = run.scores()
    samples = {str(sample["doc_id"]): sample for sample in theirs["samples"][task]}
    assert {sample.id for sample, _, _ in part.rows} == samples.keys()
    compared = 0
    for sample, record, score in part.rows:
        own = samples[sample.id]
        assert record is not None
        assert record.reply.text.strip() in str(own["resps"])
        if score.guessed:  # drawn by chance: each of the two draws its own
            assert score.detail["drawn"] >= 1
            continue
        for metrics in score.detail["results"].values():
            for metric, value in metrics.items():
                if metric != "submission":
                    assert _plain(value) == _plain(own[metric]), (sample.id, metric)
                    compared += 1
    assert compared >= len(part.rows) // 2
    if not any(score.guessed for _, _, score in part.rows):
        for line in run_layout(run):
            metric, name, value = str(line[2]), str(line[3]), float(str(line[4]))
            assert value == pytest.approx(float(theirs["results"][task][f"{metric},{name}"]), abs=1e-4)
            assert value == pytest.approx(_read_printed(make_table(theirs), metric), abs=1e-4)


def _read_printed(table: str, metric: str) -> float:
    """The value in the table that lmms-eval prints at its end: | task | filter | shots | metric | arrow | value | …"""
    lines = ([cell.strip() for cell in line.split("|")] for line in table.splitlines())
    return float(next(cells[6] for cells in lines if len(cells) > 6 and cells[4] == metric))


def run_layout(run: Run) -> tuple[tuple[Any, ...], ...]:
    return api.table(run.path, layout="lmms:metrics").body


@pytest.fixture(scope="module")
def mmmu(tmp_path_factory: pytest.TempPathFactory, _home: Path) -> tuple[Run, Path]:
    folder = tmp_path_factory.mktemp("mmmu")
    (folder / "model.py").write_text(MODEL)
    data = kit.write_mmmu(folder / "data")
    run = api.evaluate("lmms:mmmu_val", f"{folder}/model.py:Guesser", data=str(data), out=folder / "run")
    return run, data


def test_pictures_stand_where_the_task_puts_them_in_their_own_bytes(mmmu: tuple[Run, Path]) -> None:
    import datasets

    run, data = mmmu
    (part,) = run.scores()
    rows = datasets.load_dataset(str(data))["validation"].cast_column("image_1", datasets.Image(decode=False))
    for sample, _, _ in part.rows:
        pictures = [piece for piece in sample.question if isinstance(piece, Image)]
        assert len(pictures) == (2 if int(sample.id) % 3 == 0 else 1)
        content = (Path(part.root) / pictures[0].path).read_bytes()
        if int(sample.id) == 1:  # with transparency: the task asks for RGB, so it is encoded anew
            assert content != rows[1]["image_1"]["bytes"]
        else:
            assert content == rows[int(sample.id)]["image_1"]["bytes"]
        assert any(isinstance(piece, Text) and "item" in piece.text for piece in sample.question)


def test_columns_become_facets_and_the_token_limit_is_the_tasks(mmmu: tuple[Run, Path]) -> None:
    run, _ = mmmu
    table = run.table(by="topic_difficulty")
    assert [row.group["topic_difficulty"] for row in table.rows] == ["Easy", "Hard", "Medium"]
    assert run.scores()[0].rows[0][0].extra["max_tokens"] == 128


def test_what_is_left_to_chance_is_seeded_and_counted(mmmu: tuple[Run, Path]) -> None:
    run, _ = mmmu
    first = {score.key: (score.value, score.guessed) for _, _, score in run.scores()[0].rows}
    assert any(guessed for _, guessed in first.values())
    random.seed(99)
    again = {score.key: (score.value, score.guessed) for _, _, score in run.scores(anew=True)[0].rows}
    assert again == first


def test_a_picture_that_a_task_draws_on_is_not_sent_as_it_was(tmp_path: Path) -> None:
    data = kit.encode(kit.draw(1, "PNG"), "PNG")
    doc = open_pictures({"image": data, "other": dict(data)}, ("image", "other"))
    shown = doc["image"].convert("RGB")
    ImageDraw.Draw(shown).rectangle((0, 0, 10, 10), fill="red")
    media = MediaFolder(tmp_path)
    drawn, untouched = media.read_visual(shown), media.read_visual(doc["other"].convert("RGB"))
    assert isinstance(drawn, Image) and isinstance(untouched, Image)
    assert (tmp_path / untouched.path).read_bytes() == data["bytes"]
    assert (tmp_path / drawn.path).read_bytes() != data["bytes"]


def test_videos_missing_files_and_a_judge_of_the_tasks_own(tmp_path: Path, model: str, _home: Path) -> None:
    data = kit.write_tempcompass(tmp_path / "data", _home, count=8, missing=1).parent
    task = "lmms:tempcompass_multi_choice"
    with pytest.raises(
        DataError, match=r"1 of 4 media files are missing, the first is .*1003\.mp4.*missing=keep"
    ):
        api.evaluate(task, model, data=str(data), out=tmp_path / "run")
    run = api.evaluate(task, model, data=str(data), task_options={"missing": "keep"}, out=tmp_path / "run")
    (part,) = run.scores()
    videos = [piece for sample, _, _ in part.rows for piece in sample.question if isinstance(piece, Video)]
    assert [video.path for video in videos] == [f"{1000 + n // 2}.mp4" for n in range(8)]
    assert Path(part.root) == _home / "tempcompass" / "videos"
    for _, record, _ in part.rows[6:]:
        assert record is not None and "1003.mp4 is missing" in record.reply.error
    scored = [score for _, _, score in part.rows[:6]]
    asked = [score for score in scored if score.status == "missing"]
    assert all("asks a judge of its own; set OPENAI_API_KEY" in score.rule for score in asked)
    assert len(asked) < len(scored)
    assert {sample.cluster for sample, _, _ in part.rows} == {f"{1000 + n}.mp4" for n in range(4)}


def test_rows_that_a_task_cannot_read_are_named_with_the_column(tmp_path: Path, model: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = next(kit.write_ai2d(tmp_path / "data").iterdir())
    table = pq.read_table(path)
    misspelt = [{"question": "queston"}.get(name, name) for name in table.column_names]
    pq.write_table(table.rename_columns(misspelt).replace_schema_metadata(), path)
    with pytest.raises(DataError, match="lmms:ai2d: Unknown column 'question'; did you mean 'queston'"):
        api.evaluate("lmms:ai2d", model, data=str(path.parent), out=tmp_path / "run")

    other = tmp_path / "other" / path.name
    other.parent.mkdir()
    keys = pa.array(["9" if row == 2 else key for row, key in enumerate(table["answer"].to_pylist())])
    pq.write_table(table.set_column(table.column_names.index("answer"), "answer", keys), other)
    with pytest.raises(DataError, match=r"lmms:ai2d, row 2: .*does its key fit its options"):
        api.evaluate("lmms:ai2d", model, data=str(other.parent), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_is_not_there_is_said_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="Unknown lmms-eval task 'mmmu_vall'; did you mean 'mmmu_val'"):
        api.plan("lmms:mmmu_vall", "random")
    for task, kind in (
        ("hellaswag", "multiple_choice"),
        ("mmsearch_end2end", "generate_until_multi_round"),
        ("tau2_bench_telecom", "generate_until_agentic"),
        ("unig2u_chartqa100_visual_cot", "generate_visual_cot"),
    ):
        with pytest.raises(UsageError, match=f"lmms:{task} is of the type {kind}; Vivant runs"):
            api.plan(f"lmms:{task}", "random")
    with pytest.raises(
        UsageError, match=r"lmms:amber_g runs code from the repository .* --trust-remote-code"
    ):
        api.plan("lmms:amber_g", "random")
    with pytest.raises(DataError, match=r"ChartQA is not on this machine.*--task-option download=true"):
        api.plan("lmms:chartqa", "random")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "empty"))
    with pytest.raises(
        DataError, match=r"videos are not in .*/empty/egoschema.*download the whole repository"
    ):
        api.plan("lmms:egoschema_subset", "random")


OWN = {
    "mine.yaml": """
task: my_own
dataset_path: nowhere/at-all
test_split: test
output_type: generate_until
doc_to_visual: !function utils.visual
doc_to_text: "How high is it? {{question}}"
doc_to_target: "answer"
process_results: !function utils.score
metric_list:
  - metric: mine
    aggregation: mean
    higher_is_better: true
""",
    "utils.py": """
import os

HOME = os.environ["MY_DATA_HOME"]


def visual(doc):
    return [doc["image"]]


def score(doc, results):
    return {"mine": float(results[0] == doc["answer"])}
""",
}


def test_a_task_of_your_own_needs_your_word_and_its_variable(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    for name, text in OWN.items():
        (folder / name).write_text(text)
    data = kit.write_chartqa(tmp_path / "data", 3)
    options: dict[str, Any] = {"data": str(data), "task_options": {"include": str(folder)}}
    with pytest.raises(UsageError, match=r"lmms:my_own runs code in .*tasks; read it, .*--trust-remote-code"):
        api.plan("lmms:my_own", model, **options)
    with pytest.raises(UsageError, match="needs the environment variable MY_DATA_HOME; set it"):
        api.plan("lmms:my_own", model, trust_remote_code=True, **options)
    monkeypatch.setenv("MY_DATA_HOME", "x")
    run = api.evaluate("lmms:my_own", model, trust_remote_code=True, out=tmp_path / "run", **options)
    assert run.table().rows[0].n == 3
    last = run.scores()[0].rows[1][0].question[-1]
    assert last == Text("How high is it? How high is bar 1?")
    assert check_benchmarks(make_options(selectors="lmms:my_own", trust_remote_code=True, **options))
    assert "lmms/my_own: 3 questions" in capsys.readouterr().out


def test_groups_and_tags_stand_for_their_tasks() -> None:
    assert expand_entry("tempcompass") == (
        "tempcompass_multi_choice",
        "tempcompass_yes_no",
        "tempcompass_caption_matching",
        "tempcompass_captioning",
    )


def test_the_command_runs_and_another_shows_their_metrics(tmp_path: Path, model: str) -> None:
    data = kit.write_ai2d(tmp_path / "data")
    command = ("run", "lmms:ai2d", "--data", data, "--model", model, "--out", "run")
    first = vivant(*command, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "lmms/ai2d" in first.stdout and "exact_match" in first.stdout
    shown = vivant("table", "run", "--layout", "lmms:metrics", cwd=tmp_path)
    assert "flexible-extract" in shown.stdout
