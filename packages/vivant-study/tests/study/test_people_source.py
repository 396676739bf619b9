"""What people said in studies corrects judges: ratings, pairs and comments, from the study's folder to the table."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.support.correction_kit import judge_kindly, make_answers, quality_of
from tests.support.mmie_kit import run_vivant
from tests.support.study_kit import judged, tiny_study
from vivant.analysis.correction.people_files import load_people
from vivant.core.errors import DataError, UsageError
from vivant_study.design import StudyItem
from vivant_study.loading import load_study


def _number(item: StudyItem) -> int:
    return int(item.id.partition("@")[0].rpartition("-")[2])


def test_a_rating_study_corrects_a_judge(tmp_path: Path) -> None:
    runs = make_answers(tmp_path, 60)
    judge_kindly(runs)
    folder = tmp_path / "study"
    made = run_vivant(
        *("study", "new", folder, "--kind", "rating", "--from", "runs/writer", "--limit", "30"), cwd=tmp_path
    )
    assert made.returncode == 0, made.stderr
    loaded = load_study(folder)
    names = [criterion.name for criterion in loaded.study.criteria]

    def rate(_: str, item: StudyItem, *__: str) -> dict[str, int]:
        left = quality_of(_number(item))
        points = {name: int(left > place) for place, name in enumerate(names)}
        return {**points, "feeling": -1 if left == 0 else 0}  # takes off what is not there

    judged(loaded, [f"p{n}" for n in range(11)], rate)
    result = run_vivant("table", "runs/writer", "--corrected-by", folder, "--format", "json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = {row["metric"]: row for row in msgspec.json.decode(result.stdout)}
    truth = sum(map(quality_of, range(60))) / 60 / 6 * 100
    assert rows["judge, corrected"]["value"] == pytest.approx(truth, abs=3)
    assert rows["judge, judge alone"]["value"] > truth + 12
    assert "by item and person" in rows["judge, corrected"]["interval_method"]
    assert run_vivant("study", "export", folder, "--out", "export", cwd=tmp_path).returncode == 0
    again = run_vivant("table", "runs/writer", "--corrected-by", "export", "--format", "json", cwd=tmp_path)
    assert msgspec.json.decode(again.stdout) == msgspec.json.decode(result.stdout)


def test_a_study_of_pairs_corrects_a_judge_of_pairs(tmp_path: Path) -> None:
    make_answers(tmp_path, 40, ("writer", "other"))
    both = ("runs/writer", "runs/other")
    (tmp_path / "people.csv").write_text("id,score,model\nSA-1,3,writer\nSA-1,3,other\n")
    assert run_vivant("score", *both, "--judge", "heuristic", cwd=tmp_path).returncode == 0
    asked = run_vivant("judge-check", "people.csv", *both, "--pairs", "--judge", "heuristic", cwd=tmp_path)
    assert asked.returncode == 0, asked.stderr
    folder = tmp_path / "duel"
    made = run_vivant(
        *("study", "new", folder, "--kind", "pairwise", "--from", both[0], "--from", both[1]), cwd=tmp_path
    )
    assert made.returncode == 0, made.stderr
    loaded = load_study(folder)

    def prefer(_: str, item: StudyItem, *__: str) -> str:
        first = "".join(getattr(part, "text", "") for part in item.parts[0].content)
        return "first" if "writer" in first else "second"

    judged(loaded, ["p", "q"], prefer)
    result = run_vivant("table", *both, "--corrected-by", folder, "--format", "json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = {row["metric"]: row for row in msgspec.json.decode(result.stdout)}
    assert rows["preferred to other, people alone"]["value"] == 100
    assert rows["preferred to other, corrected"]["interval"][0] > 60


def test_a_study_of_comments_needs_a_judge_beside_its_pack(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "study", "blind-comments", count=6)
    judged(
        loaded,
        ["p", "q"],
        lambda *_: {"verdict": "human", "realism": 3},
    )
    with pytest.raises(DataError, match="does not know who wrote the comments"):
        load_people([tmp_path / "study"])


def test_questions_to_people_are_no_correction(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "study")
    judged(loaded, ["p"], lambda *_: 1)
    with pytest.raises(UsageError, match="asks people the questions themselves"):
        load_people([tmp_path / "study"])


def test_a_pack_judged_by_a_model_is_corrected_by_people(tmp_path: Path) -> None:
    def vivant(*words: str | Path) -> str:
        result = run_vivant(*words, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return result.stdout

    vivant("run", "mimic/comment", "--data", "mini", "--model", "random", "--out", "runs/a")
    vivant("mimic", "pack", "runs/a", "--data", "mini", "--out", "packs/p")
    vivant(
        "study", "new", "blind", "--kind", "blind-comments", "--from", "packs/p", "--key", "packs/p.key.jsonl"
    )
    loaded = load_study(tmp_path / "blind")
    judged(loaded, ["p", "q"], lambda *_: {"verdict": "human", "realism": 3})
    early = run_vivant("table", "runs/a", "--corrected-by", "blind", cwd=tmp_path)
    assert "vivant mimic judge packs/p --judge MODEL --out packs/p.NAME.jsonl" in early.stderr
    vivant("mimic", "judge", "packs/p", "--judge", "heuristic", "--out", "packs/p.rule.jsonl")
    table = vivant("table", "runs/a", "--corrected-by", "blind")
    assert "judged human" in table
    assert "people alone, because" in table
    vivant("study", "export", "blind", "--out", "export")
    scored = vivant(
        *("mimic", "score", "packs/p", "export/pack/judgements.jsonl", "packs/p.rule.jsonl"),
        *("--key", "packs/p.key.jsonl"),
    )
    assert "Judge corrected by people" in scored
