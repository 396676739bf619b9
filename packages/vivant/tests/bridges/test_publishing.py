"""Runs given to others: nothing of this machine goes along, and what goes can be loaded by the usual clients."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import polars
import pytest
import yaml

from tests.support.helpers import questions, vivant, vivant_process
from tests.support.hub_push_server import push_hub
from vivant import api
from vivant.benchmarks.base import PROTOCOLS
from vivant.bridges.cards import write_model_card
from vivant.bridges.publishing import publish_runs
from vivant.bridges.scrubbing import Scrubber
from vivant.core.errors import DataError, UsageError
from vivant.runs.overview import build_overview
from vivant.runs.run import Run

SECRET = "sk-" + "a1B2" * 8


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run whose replies and command name a key and local paths."""
    monkeypatch.setenv("MY_SERVICE_TOKEN", "hush-hush-hush")
    (tmp_path / "model.py").write_text(
        "class M:\n"
        "    def generate(self, prompts, media):\n"
        f"        return ['A, see {tmp_path}/notes.txt, {SECRET} and hush-hush-hush'] * len(prompts)\n"
    )
    api.evaluate(str(questions(tmp_path, 6)), f"{tmp_path}/model.py:M", out=tmp_path / "runs" / "mine")
    path = tmp_path / "runs" / "mine" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["command"] = f"vivant run --model-option key={SECRET}"
    manifest["notes"] = [f"read from {tmp_path}/mine.jsonl"]
    path.write_text(json.dumps(manifest))
    return Run(tmp_path / "runs" / "mine")


def _texts(folder: Path) -> str:
    parts = [p.read_text() for p in folder.rglob("*") if p.is_file() and p.suffix != ".parquet"]
    parts += [str(polars.read_parquet(p).to_dicts()) for p in folder.rglob("*.parquet")]
    return "\n".join(parts)


def test_a_folder_holds_log_scores_manifest_and_card_and_nothing_of_this_machine(
    run: Run, tmp_path: Path
) -> None:
    publish_runs([run], str(tmp_path / "out"))
    folder = tmp_path / "out"
    frame = polars.read_parquet(folder / "data" / "mine.parquet")
    assert frame.height == 6
    assert frame["reply"][0].startswith("A, see ")
    assert frame["options"][0].len() == 4
    assert set(frame["answers"].explode()) == {"right"}
    text = _texts(folder)
    for secret in (str(tmp_path), SECRET, "hush-hush-hush"):
        assert secret not in text
    assert "[key removed]" in text and "[path]/notes.txt" in text
    manifest = json.loads((folder / "manifests" / "mine.json").read_text())
    assert manifest["settings"]["tasks"] == ["jsonl/mine"]
    assert not {"command", "roots", "machine", "server"} & manifest.keys()
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    head = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    assert head["configs"][0]["data_files"][0]["path"] == "data/mine.parquet"


def test_what_remains_stops_the_publication(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scrubber, "clean_text", lambda _, text: text)
    with pytest.raises(DataError, match="nothing was published"):
        publish_runs([run], str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_is_not_touched(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text("x")
    with pytest.raises(UsageError, match="is not empty"):
        publish_runs([run], str(tmp_path / "out"))


def test_a_hub_gets_a_private_repository_and_all_files(run: Run, tmp_path: Path) -> None:
    with push_hub() as hub:
        env = {"HF_ENDPOINT": hub.url, "HF_TOKEN": hub.token, "HF_HUB_OFFLINE": "0"}
        # huggingface_hub reads these variables when it is first imported.
        result = vivant_process("publish", run.path, "--to", "hub:lab/results", cwd=tmp_path, env=env)
        assert result.returncode == 0, result.stderr
        assert "(private)" in result.stderr
        taken = hub.repositories["lab/results"]
        assert taken.private
        assert {"README.md", "data/mine.parquet", "manifests/mine.json", "scores.json"} <= taken.files.keys()
        assert all(SECRET.encode() not in data for data in taken.files.values())
        refused = vivant_process("publish", run.path, "--to", "hub:other/results", cwd=tmp_path, env=env)
        assert refused.returncode == 1
        assert "may not write for 'other'" in refused.stderr


def test_a_model_card_keeps_its_text_and_gains_results_that_the_hub_reads(run: Run, tmp_path: Path) -> None:
    from huggingface_hub import ModelCard

    path = tmp_path / "README.md"
    path.write_text("---\nlicense: mit\ntags:\n- vision\n---\n\n# My model\n\nKeep this.\n")
    for _ in range(2):  # a second time replaces, and does not add
        write_model_card(path, [run], build_overview([run]))
    card = ModelCard.load(path)
    assert card.data.license == "mit" and card.data.tags == ["vision"]
    assert "Keep this." in card.text
    results = card.data.eval_results
    assert results is not None and len(results) == 1
    assert results[0].dataset_type == "jsonl/mine"
    assert results[0].metric_value == pytest.approx(build_overview([run]).rows[0].value, abs=0.01)


def test_a_card_with_a_broken_head_is_left_alone(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("---\nlicense: [mit\n---\n")
    with pytest.raises(DataError, match="its head is no YAML"):
        write_model_card(path, [run], build_overview([run]))
    assert path.read_text() == "---\nlicense: [mit\n---\n"


def test_nothing_named_is_an_error_that_lists_the_targets(run: Run, tmp_path: Path) -> None:
    result = vivant("publish", run.path, cwd=tmp_path)
    assert result.returncode == 1
    assert "--to hub:OWNER/NAME" in result.stderr


@pytest.fixture(scope="module")
def mini_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A guesser on four questions of a mini-edition."""
    path = tmp_path_factory.mktemp("mini") / "small"
    api.evaluate("mime/mcq", "first", data="mini", limit=4, out=path)
    return path


def _copy(source: Path, target: Path, **changes: object) -> Run:
    shutil.copytree(source, target)
    manifest = json.loads((target / "manifest.json").read_text())
    manifest["settings"].update(changes)
    (target / "manifest.json").write_text(json.dumps(manifest))
    return Run(target)


def test_cards_name_the_mini_edition_the_limit_and_no_made_up_address(mini_run: Path, tmp_path: Path) -> None:
    run = Run(mini_run)
    write_model_card(tmp_path / "CARD.md", [run], build_overview([run]))
    text = (tmp_path / "CARD.md").read_text()
    (result,) = yaml.safe_load(text.split("---\n")[1])["model-index"][0]["results"]
    publish_runs([run], str(tmp_path / "out"))
    for description in (result["dataset"]["name"], (tmp_path / "out" / "README.md").read_text()):
        assert "mini-edition" in description and "limit 4" in description
        assert "UNFINISHED" not in description
    assert result["dataset"]["type"] == "mime/mcq" and result["metrics"][0]["args"]["n"] == 4
    assert "protocol paper" in result["metrics"][0]["name"]
    assert "http" not in text


def test_an_unfinished_run_is_named_so_in_both_cards_and_on_the_terminal(
    mini_run: Path, tmp_path: Path
) -> None:
    run = _copy(mini_run, tmp_path / "cut")
    log = run.dir.log_file.read_text().splitlines(keepends=True)
    run.dir.log_file.write_text("".join(log[:3]))
    shutil.rmtree(run.path / "scores", ignore_errors=True)
    result = vivant("publish", run.path, "--to", "out", "--model-card", "CARD.md", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    for text in (result.stderr, *((tmp_path / name).read_text() for name in ("out/README.md", "CARD.md"))):
        assert "UNFINISHED, 3 of 4 answered" in " ".join(text.split())


def test_one_result_has_one_value_and_other_settings_are_another_result(
    mini_run: Path, tmp_path: Path
) -> None:
    run, card = Run(mini_run), tmp_path / "CARD.md"
    same, other = _copy(mini_run, tmp_path / "same"), _copy(mini_run, tmp_path / "other", limit=3)
    with pytest.raises(UsageError, match=r"small and same both hold mime/mcq.*name one of these runs"):
        write_model_card(card, [run, same], build_overview([run, same]))
    assert not card.exists()
    write_model_card(card, [run, other], build_overview([run, other]))
    results = yaml.safe_load(card.read_text().split("---\n")[1])["model-index"][0]["results"]
    assert len({result["dataset"]["name"] for result in results}) == 2


def test_results_of_two_protocols_stand_side_by_side(mini_run: Path, tmp_path: Path) -> None:
    run, card = Run(mini_run), tmp_path / "CARD.md"
    for protocol in (*PROTOCOLS, PROTOCOLS[-1]):
        write_model_card(card, [run], build_overview([run], protocol))
    results = yaml.safe_load(card.read_text().split("---\n")[1])["model-index"][0]["results"]
    names = [result["metrics"][0]["name"].partition("protocol ")[2] for result in results]
    assert names == ["paper)", "strict)"]


def test_a_target_of_the_wrong_kind_is_one_line_and_nothing_is_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file.md").write_text("mine")
    table = build_overview([run])
    with pytest.raises(UsageError, match=r"there is no folder .*nodir; make it first"):
        write_model_card(tmp_path / "nodir" / "README.md", [run], table)
    with pytest.raises(UsageError, match="is a folder; name the card's file"):
        write_model_card(tmp_path, [run], table)
    with pytest.raises(UsageError, match="is a file; name a folder"):
        publish_runs([run], str(tmp_path / "file.md"))
    with pytest.raises(UsageError, match="Cannot write to"):
        publish_runs([run], str(tmp_path / "file.md" / "out"))
    with pytest.raises(UsageError, match="is a file; name a folder"):
        api.export(run, "inspect", tmp_path / "file.md")
    with pytest.raises(UsageError, match="Cannot write to"):
        api.export(run, "inspect", tmp_path / "file.md" / "out")
    assert (tmp_path / "file.md").read_text() == "mine"
    result = vivant("publish", run.path, "--model-card", "CARD.md", "--to", "file.md", cwd=tmp_path)
    assert result.returncode == 1 and "is a file" in result.stderr
    assert not (tmp_path / "CARD.md").exists()


def test_an_unknown_export_format_lists_inspect_too(mini_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="known: inspect, mime-raw, mime-score"):
        api.export(mini_run, "xyz", tmp_path / "out")


def test_two_runs_at_one_step_of_a_curve_are_refused(mini_run: Path, tmp_path: Path) -> None:
    _copy(mini_run, tmp_path / "again")
    result = vivant("publish", mini_run, "again", "--tensorboard", "curves", cwd=tmp_path)
    assert result.returncode == 1
    assert "small and again both have mime/mcq/accuracy at step 0" in " ".join(result.stderr.split())
    assert not (tmp_path / "curves").exists()
