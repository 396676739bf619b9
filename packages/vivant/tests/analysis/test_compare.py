"""Runs against each other and facets inside a run, in the library and from the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import msgspec
import pytest

import vivant
from tests.support.board_kit import make_run as make_board_run
from tests.support.helpers import vivant as command
from tests.support.runs_kit import TASK, answer, make_run, quiz, run_of
from vivant.analysis.comparison_table import build_comparison_table, format_p, write_flips
from vivant.benchmarks import registry
from vivant.benchmarks.summary import summarise
from vivant.core.errors import UsageError
from vivant.core.records import Record
from vivant.core.table import to_text
from vivant.core.types import Option, Reply
from vivant.reporting.figure_context import merge_tasks
from vivant.reporting.html.leader_comparison import compare_leaders
from vivant.reporting.html.report_data import gather_report_data
from vivant.runs.run import load_runs


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """40 questions, halves by facet: b has 12 more right than a, and loses 4, all in the second half."""
    samples = quiz(40, facets={"half": ("even", "odd")})
    a = [number % 4 == 0 for number in range(40)]
    b = [number % 2 == 1 or (number % 8 == 0) for number in range(40)]
    run_of(tmp_path / "a", samples, a, model="small")
    run_of(tmp_path / "b", samples, b, model="large")
    return tmp_path / "a", tmp_path / "b"


def test_another_benchmark_in_the_report_changes_no_finding(two: tuple[Path, Path], tmp_path: Path) -> None:
    """MIME's finding must not become weaker because baselines of MMIE were added."""
    parts = [part for name in two for part in vivant.load_run(name).scores()]
    alone = compare_leaders(
        parts, [row for part in parts for row in summarise(part, registry.get_by_task(part.task))]
    )
    other = quiz(4)
    others = [run_of(tmp_path / f"x{n}", other, [n > 0] * 4, model=f"x{n}").scores()[0] for n in range(3)]
    renamed = [
        msgspec.structs.replace(
            part,
            task="mmrv/mcq",
            rows=tuple((msgspec.structs.replace(s, task="mmrv/mcq"), r, score) for s, r, score in part.rows),
        )
        for part in others
    ]
    rows = [row for part in (*parts, *renamed) for row in summarise(part, registry.get_by_task(part.task))]
    together = compare_leaders([*parts, *renamed], rows)
    assert len(together) == 3
    assert together[0] == alone[0]
    assert alone[0].adjusted == pytest.approx(0.0040774, rel=1e-4)


def test_pairs_by_id_and_not_by_place(tmp_path: Path) -> None:
    samples = quiz(10)
    first = [answer(sample, 0 if n < 5 else 1) for n, sample in enumerate(samples)]
    one = make_run(tmp_path / "a", samples, first)
    two = make_run(tmp_path / "b", samples[::-1], first[::-1], model="other")
    (pair,) = vivant.compare([one, two]).pairs
    assert (pair.result.value, pair.gained, pair.lost, pair.result.n) == (0, 0, 0, 10)


def test_difference_flips_and_correction(two: tuple[Path, Path]) -> None:
    found = vivant.compare(two, by=["half"])
    whole, even, odd = found.pairs
    assert [dict(pair.group) for pair in found.pairs] == [{}, {"half": "even"}, {"half": "odd"}]
    assert (whole.first, whole.second, whole.task) == ("a", "b", TASK)
    assert whole.result.first == pytest.approx(10 / 40)
    assert whole.result.second == pytest.approx(25 / 40)
    assert (whole.gained, whole.lost, whole.unpaired) == (20, 5, 0)
    assert (even.gained, even.lost, odd.gained, odd.lost) == (0, 5, 20, 0)
    # Exact McNemar of 20 against 5, 0 against 5 and 20 against 0; then Holm over the three.
    assert [pair.result.p for pair in found.pairs] == pytest.approx(
        [0.0040774, 0.0625, 2 * 0.5**20], rel=1e-4
    )
    assert [pair.adjusted for pair in found.pairs] == pytest.approx(
        [0.0081549, 0.0625, 6 * 0.5**20], rel=1e-4
    )
    assert found.tests == 3
    assert found.families == {TASK: 3}
    assert len(found.flips) == 25
    assert {flip.id for flip in found.flips if flip.first_value > flip.second_value} == {
        f"q{n:03d}" for n in range(4, 40, 8)
    }
    assert found.models == {"a": "small", "b": "large"}
    assert not any("differ in more" in note for note in found.notes)


def test_what_else_differs_is_named(tmp_path: Path) -> None:
    samples = quiz(8)
    run_of(tmp_path / "a", samples, [True] * 8)
    run_of(tmp_path / "b", samples, [False] * 8, model="other", style="cot", frames={"count": 16})
    (note,) = vivant.compare([tmp_path / "a", tmp_path / "b"]).notes
    assert "differ in more than the model" in note
    assert "frames.count: default → 16" in note
    assert "style: zero-shot → cot" in note
    assert "model.model" not in note
    run_of(tmp_path / "c", samples, [True] * 8)
    assert vivant.compare([tmp_path / "a", tmp_path / "c"]).notes == (
        "a and c have the same settings and the same model.",
    )


def test_other_options_under_the_same_ids_are_named(tmp_path: Path) -> None:
    samples = quiz(6)
    other = [msgspec.structs.replace(s, options=(*s.options[:3], Option("D", "yew"))) for s in samples[:4]]
    run_of(tmp_path / "a", samples, [True] * 6)
    run_of(tmp_path / "b", [*other, *samples[4:]], [True] * 6, model="other")
    found = vivant.compare([tmp_path / "a", tmp_path / "b"])
    notes = " ".join(found.notes)
    assert "4 of 6 paired samples have other options" in notes
    assert "the samples that were read" in notes
    assert found.pairs[0].result.n == 6


def test_samples_of_another_edition_are_left_out_or_refused(tmp_path: Path) -> None:
    samples = quiz(6)
    other = [msgspec.structs.replace(s, options=(Option("A", "yew"), *s.options[1:])) for s in samples]
    run_of(tmp_path / "a", samples, [True] * 6)
    run_of(tmp_path / "b", [*other[:2], *samples[2:]], [True] * 6, model="other")
    found = vivant.compare([tmp_path / "a", tmp_path / "b"])
    assert found.pairs[0].result.n == 4
    assert "2 samples are left out, because other answers are right in the two runs" in " ".join(found.notes)
    assert not any("scored in a alone" in note for note in found.notes)
    run_of(tmp_path / "c", [*other[:4], *samples[4:]], [True] * 6, model="other")
    with pytest.raises(
        UsageError, match="different editions: in 4 of 6 samples of jsonl/quiz another answer"
    ):
        vivant.compare([tmp_path / "a", tmp_path / "c"])


def test_what_one_run_lacks_is_counted(tmp_path: Path) -> None:
    samples = quiz(10, facets={"half": ("even", "odd")})
    run_of(tmp_path / "a", samples, [True] * 10)
    failed = Record(key=f"{TASK}/q000", task=TASK, id="q000", reply=Reply(status="error", error="no server"))
    good = [answer(sample, 1) for sample in samples[1:]]
    make_run(tmp_path / "b", samples, [failed, *good], model="other")
    found = vivant.compare([tmp_path / "a", tmp_path / "b"], by=["half"])
    assert [pair.unpaired for pair in found.pairs] == [1, 1, 0]
    assert [pair.result.n for pair in found.pairs] == [9, 4, 5]
    assert any("1 samples scored in a alone" in note for note in found.notes)


def test_repeats_count_as_one_sample(tmp_path: Path) -> None:
    samples = quiz(12)
    often = [
        answer(sample, 0 if (n + repeat) % 3 else 1, repeat=repeat)
        for n, sample in enumerate(samples)
        for repeat in range(3)
    ]
    make_run(tmp_path / "a", samples, often, repeat=3)
    run_of(tmp_path / "b", samples, [True] * 12, model="other")
    (pair,) = vivant.compare([tmp_path / "a", tmp_path / "b"]).pairs
    assert pair.result.n == pair.result.clusters == 12
    assert pair.result.first == pytest.approx(2 / 3)
    assert pair.result.test == "exact permutation"
    assert pair.result.p == pytest.approx(2 * 0.5**12)


def test_three_runs_give_three_pairs(tmp_path: Path) -> None:
    samples = quiz(30, cluster=3)
    for number, name in enumerate("abc"):
        run_of(tmp_path / name, samples, [n % (number + 2) == 0 for n in range(30)], model=name)
    found = vivant.compare([tmp_path / name for name in "abc"])
    assert [(pair.first, pair.second) for pair in found.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(pair.result.clusters == 10 for pair in found.pairs)
    assert all(pair.result.test == "exact permutation of clusters" for pair in found.pairs)
    text = to_text(build_comparison_table(found))
    assert "Holm's correction is over 3 tests" in text
    assert "80 % power" in text
    assert "1.15 times as large" in text


def test_mistakes(two: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="named twice"):
        vivant.compare([two[0], two[0]])
    with pytest.raises(UsageError, match="two runs or more"):
        vivant.compare(str(two[0]))
    with pytest.raises(UsageError, match="facet 'hlaf'; did you mean 'half'"):
        vivant.compare(two, by=["hlaf"])
    other = [msgspec.structs.replace(sample, id=f"x{sample.id}") for sample in quiz(3)]
    run_of(tmp_path / "x", other, [True] * 3)
    with pytest.raises(UsageError, match="no scored sample of jsonl/quiz in common"):
        vivant.compare([two[0], tmp_path / "x"])
    with pytest.raises(UsageError, match="cannot agree in what is compared"):
        vivant.compare([two[0]], between=["half"], match=["half"])


def test_flips_as_files(two: tuple[Path, Path], tmp_path: Path) -> None:
    found = vivant.compare(two)
    assert write_flips(found, tmp_path / "f.jsonl") == 25
    assert write_flips(found, tmp_path / "f.csv") == 25
    lines = [json.loads(line) for line in (tmp_path / "f.jsonl").read_text().splitlines()]
    with (tmp_path / "f.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [line["id"] for line in lines] == [row["id"] for row in rows]
    assert rows[0]["half"] == lines[0]["facets"]["half"]
    assert (rows[0]["first_answer"], rows[0]["second_answer"]) == ("B", "A")
    with pytest.raises(UsageError, match=r"\.jsonl or \.csv"):
        write_flips(found, tmp_path / "f.xlsx")


# ── facets inside a run ──────────────────────────────────────────────────────────────────────────


def test_crossed_facets_are_paired(tmp_path: Path) -> None:
    """Twenty actions with two avatars and two backgrounds each: an avatar is compared on the same background."""
    samples = [
        msgspec.structs.replace(
            sample,
            cluster=f"action{n // 4}",
            facets={
                "avatar": ("man", "suit")[n % 2],
                "background": ("blank", "full")[n // 2 % 2],
                "variant": f"{n % 4}",
            },
        )
        for n, sample in enumerate(quiz(80))
    ]
    # The suit is wrong on every fifth action, whatever the background.
    run = run_of(tmp_path / "r", samples, [not (n % 2 and n // 4 % 5 == 0) for n in range(80)])
    (pair,) = vivant.compare([run], between=["avatar"]).pairs
    assert pair.matched == ("background",)
    assert (pair.first, pair.second, pair.run) == ("avatar=man", "avatar=suit", "r")
    assert (pair.result.n, pair.result.clusters) == (40, 20)
    assert pair.result.value == pytest.approx(-0.2)
    assert pair.result.p == pytest.approx(0.125)  # four clusters, all one way
    unpaired = vivant.compare([run], between=["avatar"], match=[]).pairs[0]
    assert unpaired.matched == ()
    assert unpaired.result.test == "clustered t, not paired"
    assert unpaired.result.value == pytest.approx(-0.2)
    rest = vivant.compare([run], between=["variant"], rest=True).pairs
    assert [pair.second for pair in rest] == ["the others"] * 4


def test_facets_that_are_not_crossed_are_compared_as_they_are(tmp_path: Path) -> None:
    samples = quiz(60, cluster=3, facets={"ability": ("see", "think", "know")})
    run = run_of(tmp_path / "r", samples, [n % 7 > n % 3 for n in range(60)])
    found = vivant.compare([run], between=["ability"])
    assert len(found.pairs) == 3
    # Each film has one question of each ability: nothing else is crossed, so nothing is held fixed.
    assert {pair.result.test for pair in found.pairs} == {"clustered t, not paired"}
    with pytest.raises(UsageError, match="all samples have the same"):
        vivant.compare([run_of(tmp_path / "s", quiz(4, facets={"f": ("x",)}), [True] * 4)], between=["f"])


# ── the command ──────────────────────────────────────────────────────────────────────────────────


def test_the_command(two: tuple[Path, Path], tmp_path: Path) -> None:
    result = command(
        "compare",
        *(run.name for run in two),
        "--by",
        "half",
        "--format",
        "json",
        "--flips",
        "flips.csv",
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)
    assert [row["group"] for row in rows] == [{}, {"half": "even"}, {"half": "odd"}]
    assert rows[0]["value"] == pytest.approx(37.5)
    assert rows[0]["p_adjusted"] == pytest.approx(0.0081549, rel=1e-4)
    assert rows[0]["interval"][0] < 37.5 < rows[0]["interval"][1]
    assert "25 samples that flipped: flips.csv" in result.stderr
    assert len((tmp_path / "flips.csv").read_text().splitlines()) == 26
    wrong = command("compare", "a", "b", "--match", "half", cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (1, "vivant: --match and --rest go with --between\n")


def test_p_values_as_papers_print_them() -> None:
    assert [format_p(p) for p in (None, 0.5, 0.0499, 0.00432, 0.00001)] == [
        "–", "0.500", "0.050", "0.0043", "< 0.0001",
    ]  # fmt: skip


def test_runs_in_folders_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    """modelA/mime and modelB/mime are two runs, in every table, comparison, report and figure."""
    good = make_board_run(tmp_path / "x" / "m" / "run", 50, "good")
    bad = make_board_run(tmp_path / "y" / "m" / "run", 20, "bad")
    alone = make_board_run(tmp_path / "y" / "other", 30, "third")
    runs = load_runs([good, bad.path, alone.path])
    assert [run.name for run in runs] == ["x/m/run", "y/m/run", "other"]
    assert {part.run for run in runs for part in run.scores()} == {"x/m/run", "y/m/run", "other"}
    (pair,) = vivant.compare([good, bad]).pairs
    assert (round(pair.result.first * 60), round(pair.result.second * 60)) == (50, 20)
    data = gather_report_data(runs[:2], None)
    assert {(row.model, round(row.value or 0)) for row in data.rows} == {("good", 83), ("bad", 33)}
    assert sorted(len(part.rows) for part in merge_tasks(data.parts)) == [60, 60]
