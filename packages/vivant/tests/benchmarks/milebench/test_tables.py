"""MileBench's tables: the arithmetic of groups and halves, what is partial, what is counted."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest
from msgspec import structs

from tests.support.milebench_kit import make_item, score_replies, write_dataset
from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.milebench import MileBench
from vivant.benchmarks.milebench.datasets import DATASETS, list_realm_groups
from vivant.benchmarks.milebench.published import group_by_model
from vivant.core.errors import UsageError
from vivant.core.table import Table, to_json, to_text
from vivant.core.types import Sample


def load_samples(root: Path, dataset: str, count: int = 4, images: int = 2, **more: object) -> list[Sample]:
    """Questions whose key is A, "red"."""
    context = " ".join(f"{{image#{n + 1}}}" for n in range(images))
    choices = [] if "Needle" in dataset else ["red", "blue", "green"]
    items = [
        make_item(number, context, [f"{number}-{n}.png" for n in range(images)], "red", choices, **more)
        for number in range(count)
    ]
    write_dataset(root, dataset, items, pictures=False)
    return MileBench().load(root, f"milebench/{dataset}")


def make_run(run_samples: list[Sample], share: float, run: str = "r") -> ScoredRun:
    """A run in which that share of the replies is right."""
    cut = round(share * len(run_samples))
    return score_replies(run_samples, ["red"] * cut + ["blue"] * (len(run_samples) - cut), run=run)


def build_table(name: str, runs: list[ScoredRun]) -> Table:
    result = MileBench().tables.build(MileBench(), name, runs, "paper")
    assert isinstance(result, Table)
    to_text(result)
    to_json([result])
    return result


def get_cell(result: Table, row: int, column: str) -> object:
    return result.body[row][result.columns.index(column)]


def test_a_full_run_has_both_means(tmp_path: Path) -> None:
    shares = {dataset.name: (i % 5) / 4 for i, dataset in enumerate(DATASETS)}
    runs = [make_run(load_samples(tmp_path, name), share) for name, share in shares.items()]
    result = build_table("main", runs)
    groups: dict[str, list[float]] = {}
    for dataset in DATASETS:
        groups.setdefault(dataset.group, []).append(100 * shares[dataset.name])
    for group, values in groups.items():
        assert get_cell(result, 0, group) == pytest.approx(fmean(values))
    for realm in ("realistic", "diagnostic"):
        assert get_cell(result, 0, realm) == pytest.approx(
            fmean(fmean(groups[g]) for g in list_realm_groups(realm))
        )
    assert get_cell(result, 0, "n") == 4 * 29
    assert not any("*" in str(entry) for entry in result.body[0])
    by_group = {tuple(row.group.items()): row for row in result.rows if row.source == "measured"}
    assert sum(row.source != "measured" for row in result.rows) == 23 * 14
    assert by_group[(("realm", "diagnostic"),)].n == 12
    assert by_group[(("group", "T-1"),)].interval is not None


def test_partial_groups_are_marked_and_incomplete_halves_not_given(tmp_path: Path) -> None:
    runs = [make_run(load_samples(tmp_path, name), 0.5) for name in ("TQA", "WebQA", "nuscenes", "GPR1200")]
    result = build_table("main", runs)
    assert get_cell(result, 0, "S-1") == "50.0*"
    assert get_cell(result, 0, "S-5") == 50.0
    assert get_cell(result, 0, "T-1") is None
    assert get_cell(result, 0, "realistic") is None
    assert get_cell(result, 0, "diagnostic") is None
    assert any("only WebQA, TQA, nuscenes, GPR1200" in note for note in result.notes)


def test_published_rows_stand_beside_with_their_arithmetic(tmp_path: Path) -> None:
    result = build_table("main", [make_run(load_samples(tmp_path, "TQA"), 1.0)])
    names = [row[0] for row in result.body]
    assert "GPT-4V †" in names
    assert get_cell(result, names.index("GPT-4o †"), "diagnostic") == 99.4
    assert any("95.2 and 95.9" in note for note in result.notes)
    assert any("mean of its datasets" in note for note in result.notes)


def test_published_means_are_those_of_their_columns_but_for_the_known_rows() -> None:
    rows = group_by_model()
    assert len(rows) == 23
    odd = set()
    for model, values in rows.items():
        for realm in ("realistic", "diagnostic"):
            if abs(fmean(values[group] for group in list_realm_groups(realm)) - values[realm]) > 0.11:
                odd.add((model, realm))
    assert odd == {
        ("Random", "realistic"),
        ("Random", "diagnostic"),
        ("GPT-4V", "diagnostic"),
        ("GPT-4o", "diagnostic"),
    }
    assert round(fmean(rows["GPT-4V"][g] for g in ("N-1", "N-2", "I-1")), 1) == 95.2
    assert round(fmean(rows["GPT-4o"][g] for g in ("N-1", "N-2", "I-1")), 1) == 95.9
    assert len(MileBench().published.rows()) == 23 * 14


def test_errors_unparsed_and_guesses_are_counted_beside_the_score(tmp_path: Path) -> None:
    run = score_replies(load_samples(tmp_path, "TQA", 5), ["red", None, "", "zzz", "blue"], lost_images=1)
    result = build_table("datasets", [run])
    cells = dict(zip(result.columns, result.body[0], strict=True))
    assert (cells["n"], cells["errors"], cells["unparsed"], cells["guessed"]) == (4, 1, 1, 1)
    assert cells["score"] == 25.0
    assert cells["images lost"] == 4
    assert any("Guessed" in note for note in result.notes)
    assert any("4 samples lost 4 images" in note for note in result.notes)


def test_levels_pool_the_samples_of_all_datasets(tmp_path: Path) -> None:
    runs = [
        make_run(load_samples(tmp_path, "TQA", 4, images=2), 1.0),
        make_run(load_samples(tmp_path, "WebQA", 2, images=5), 0.0),
        make_run(load_samples(tmp_path, "GPR1200", 2, images=40), 0.5),
    ]
    result = build_table("levels", runs)
    total = dict(zip(result.columns[:3], result.body[0][:3], strict=True))
    assert total == {"model": "model r", "dataset": "all", "Few (<6)": pytest.approx(400 / 6)}
    assert result.body[0][3:8] == (6, None, 0, 50.0, 2)
    assert [row[1] for row in result.body] == ["all", "WebQA", "TQA", "GPR1200"]


def test_the_needle_map_has_a_line_a_length_and_a_column_a_depth(tmp_path: Path) -> None:
    items = [
        make_item(
            10 * n + depth, "", [f"{i}.png" for i in range(n)], "red", needle={"depth": depth, "length": n}
        )
        for n in (2, 12)
        for depth in (0, 9)
    ]
    write_dataset(tmp_path, "ImageNeedleInAHaystack", items, pictures=False)
    needles = MileBench().load(tmp_path, "milebench/ImageNeedleInAHaystack")
    result = build_table("needles", [score_replies(needles, ["red", "red", "no", "red"])])
    assert [row[2] for row in result.body] == ["2 images", "12 images"]
    assert [get_cell(result, 0, depth) for depth in ("0", "5", "9")] == [100.0, None, 100.0]
    assert [get_cell(result, 1, depth) for depth in ("0", "5", "9")] == [0.0, None, 100.0]
    position = build_table("position", [score_replies(needles, ["red", "red", "no", "red"])])
    assert [get_cell(position, 0, name) for name in ("first fifth", "middle", "last fifth")] == [
        50.0,
        None,
        100.0,
    ]


def test_tables_without_anything_to_show_say_so(tmp_path: Path) -> None:
    run = make_run(load_samples(tmp_path, "TQA"), 1.0)
    for name in ("needles", "position"):
        with pytest.raises(UsageError):
            MileBench().tables.build(MileBench(), name, [run], "paper")
    with pytest.raises(UsageError, match="'mian'; did you mean 'main'"):
        MileBench().tables.build(MileBench(), "mian", [run], "paper")


def test_protocols_side_by_side_whatever_the_run_was_scored_with(tmp_path: Path) -> None:
    data = load_samples(tmp_path, "TQA", 5)
    texts = ["red", "", "I cannot tell", None, "The answer is A"]
    expected = {
        "paper": 25.0,
        "strict": 50.0,
        "difference": 25.0,
        "guessed": 1,
        "letters": 2,
        "n": 4,
        "errors": 1,
    }
    for protocol in ("paper", "strict"):
        result = build_table("protocols", [score_replies(data, texts, protocol)])
        cells = dict(zip(result.columns, result.body[0], strict=True))
        assert {name: cells[name] for name in expected} == expected
        assert cells["unparsed, strict"] == 2


def test_runs_of_one_model_that_share_no_dataset_are_one_line(tmp_path: Path) -> None:
    parts = [
        structs.replace(make_run(load_samples(tmp_path, name), 1.0, f"run-{name}"), model="m")
        for name in ("TextNeedleInAHaystack", "ImageNeedleInAHaystack", "GPR1200")
    ]
    result = build_table("main", parts)
    assert get_cell(result, 0, "diagnostic") == 100.0
    assert result.body[1][0] == "Random †"
    twice = build_table("main", [*parts, structs.replace(parts[0], run="again")])
    assert [row[0] for row in twice.body[:5]] == ["m", "m", "m", "m", "Random †"]


def test_runs_are_kept_apart(tmp_path: Path) -> None:
    data = load_samples(tmp_path, "nuscenes")
    result = build_table("main", [make_run(data, 1.0, "one"), make_run(data, 0.0, "two")])
    assert [(row[0], row[result.columns.index("S-5")]) for row in result.body[:2]] == [
        ("model one", 100.0),
        ("model two", 0.0),
    ]
