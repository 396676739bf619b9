"""Scorers of free answers in a description: the package's own, and those of installed packages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vivant.benchmarks import registry
from vivant.core.errors import VivantError
from vivant.engine.evaluation import evaluate
from vivant.runs.run import load_run

DESCRIPTION = "name: mine\nsource: {files: q.jsonl}\ncolumns: {question: q, answers: a}\nscorer: "
PLUGIN = """
def share(reply, accepted):
    words = set(reply.split())
    return max(len(words & set(answer.split())) / len(answer.split()) for answer in accepted)

def percent(reply, accepted):
    return 100 * share(reply, accepted)

def broken(reply, accepted):
    return accepted[7]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "q.jsonl").write_text(json.dumps({"q": "How long?", "a": "12 cm"}))
    return tmp_path


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with scorers is installed."""
    site = tmp_path / "site"
    info = site / "our_scorers-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "our_scorers.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: our-scorers\nVersion: 1.0\n")
    points = [f"our-{name} = our_scorers:{name}" for name in ("share", "percent", "broken", "absent")]
    (info / "entry_points.txt").write_text("\n".join(["[vivant.scorers]", *points, ""]))
    monkeypatch.syspath_prepend(site)


@pytest.mark.parametrize(
    ("scorer", "reply", "value"),
    [
        ("exact", "12 CM", 0.0),
        ("normalised", "12 CM.", 1.0),
        ("{name: number, tolerance: 0.1}", "It is 13", 1.0),
        ("number", "It is 13", 0.0),
        ("anls", "12 cn", 0.8),
        ("vqa", "12 cm", 1.0),
        ("{name: relaxed, tolerance: 0.05}", "12.5", 0.0),
        ("rouge-l", "12 cm", 1.0),
    ],
)
def test_scorers_of_free_answers(folder: Path, scorer: str, reply: str, value: float) -> None:
    if "number" in scorer:
        (folder / "q.jsonl").write_text(json.dumps({"q": "How long?", "a": "12"}))
    (folder / "mine.yaml").write_text(DESCRIPTION + scorer)
    run = evaluate(str(folder / "mine.yaml"), f"echo/{reply}", out=str(folder / "run"))
    assert run.table().rows[0].value == pytest.approx(100 * value, abs=1e-4)


def test_a_run_is_scored_anew_after_the_scorer_was_changed(folder: Path) -> None:
    (folder / "mine.yaml").write_text(DESCRIPTION + "exact")
    run = evaluate(str(folder / "mine.yaml"), "echo/12 CM", out=str(folder / "run"))
    assert run.table().rows[0].value == 0.0
    (folder / "mine.yaml").write_text(DESCRIPTION + "normalised")
    assert load_run(folder / "run").table().rows[0].value == 100.0


@pytest.mark.usefixtures("_installed")
def test_a_scorer_of_an_installed_package_is_found_by_its_name(folder: Path) -> None:
    (folder / "mine.yaml").write_text(DESCRIPTION + "our-share")
    (row,) = evaluate(str(folder / "mine.yaml"), "echo/some 12", out=str(folder / "run")).table().rows
    assert (row.metric, row.value) == ("our-share", 50.0)


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "our-percent",
            "from the package our-scorers returned 100.0 for the reply 'made up'; return a number",
        ),
        ("our-broken", "from the package our-scorers failed on the reply 'made up': IndexError"),
        ("our-absent", "(our_scorers:absent) from the package our-scorers cannot be loaded: AttributeError"),
        ("our-shre", "Unknown scorer 'our-shre'; did you mean 'our-share'?"),
    ],
)
def test_a_faulty_scorer_is_one_line_before_anything_is_sent(folder: Path, name: str, reason: str) -> None:
    (folder / "mine.yaml").write_text(DESCRIPTION + name)
    with pytest.raises(VivantError) as caught:
        registry.get(str(folder / "mine.yaml"))
    assert str(caught.value).startswith(f"{folder / 'mine.yaml'}, line 4: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
