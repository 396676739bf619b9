"""MIME's tables, on runs small enough to check by hand."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from tests.support.mime_kit import (
    MIME,
    load_samples,
    make_raw_free,
    read_import,
    score_import,
    write_json,
    write_lines,
)
from tests.support.mime_runs import TASKS, make_run, make_values
from vivant.benchmarks.base import Published
from vivant.benchmarks.mime import failures, ttest
from vivant.benchmarks.mime.cells import group_runs
from vivant.benchmarks.mime.names import VARIANTS
from vivant.benchmarks.summary import summarise
from vivant.core.errors import UsageError
from vivant.core.table import Table, format_cell, to_csv, to_json, to_latex, to_markdown, to_text


def get_cells(table: Table, label: str) -> list[str]:
    (result,) = [row for row in table.body if row[0] == label]
    return [format_cell(cell) for cell in result[1:]]


def test_multiple_choice_and_free_form_stand_side_by_side() -> None:
    runs = [
        make_run({"base+blank@0": make_values(1, 4)}),
        make_run({"base+blank@0": make_values(2, 4)}, "mime/ff", name="other"),
        make_run({"none": make_values(3, 4)}, name="real"),
    ]
    table = MIME.tables.build(MIME, "1", runs, "paper")
    assert table.columns == ("model", "MIME MC", "MIME FF", "REAL MC", "REAL FF")
    assert get_cells(table, "m") == ["25.0", "50.0", "75.0", "–"]
    assert [(row.run, row.group, row.n) for row in table.rows] == [
        ("run", {"variant": "base+blank@0"}, 4),
        ("other", {"variant": "base+blank@0"}, 4),
        ("real", {"variant": "none"}, 4),
    ]


def test_runs_of_one_model_on_the_same_samples_are_rivals() -> None:
    first = [make_run({"none": make_values(1, 4)}, task, name="a") for task in TASKS]
    second = [make_run({"none": make_values(2, 4)}, task, name="b") for task in TASKS]
    lines = group_runs([first[0], second[0], second[1], first[1]])
    assert [line.label for line in lines] == ["m (a)", "m (b)"]
    assert [[part.run for part in line.parts] for line in lines] == [["a", "a"], ["b", "b"]]


def test_lines_are_sorted_by_model_and_style_with_people_last() -> None:
    order = [("human", "zero-shot"), ("x", "few-shot"), ("y", "cot"), ("x", "zero-shot"), ("x", "mine")]
    lines = group_runs([make_run({"none": [1.0]}, model=model, style=style) for model, style in order])
    assert [(line.model, line.style) for line in lines] == [
        ("x", "zero-shot"),
        ("x", "few-shot"),
        ("x", "mine"),
        ("y", "cot"),
        ("human", ""),
    ]


def test_the_papers_rounding_and_plain_rounding() -> None:
    for correct, of, paper, plain in (
        (47, 86, "54.6", "54.7"),
        (12, 86, "13.9", "14.0"),
        (31, 86, "36.0", "36.0"),
    ):
        run = make_run({"base+blank@0": make_values(correct, of)})
        assert get_cells(MIME.tables.build(MIME, "2", [run], "paper"), "m")[0] == paper
        assert get_cells(MIME.tables.build(MIME, "2", [run], "strict"), "m")[0] == plain
        run = make_run({"base+blank@0": make_values(correct, of)}, rounding="plain")
        assert get_cells(MIME.tables.build(MIME, "2", [run], "paper"), "m")[0] == plain
        run = make_run({"base+blank@0": make_values(correct, of)}, rounding="paper")
        assert get_cells(MIME.tables.build(MIME, "2", [run], "strict"), "m")[0] == paper
    with pytest.raises(UsageError, match="rounding is sideways"):
        MIME.tables.build(MIME, "2", [make_run({"none": [1.0]}, rounding="sideways")], "paper")


def test_errors_and_unparsed_are_counted_and_told() -> None:
    run = make_run({"base+blank@0": [1.0, 0.0, None, math.nan, math.nan]})
    table = MIME.tables.build(MIME, "2", [run], "paper")
    (row,) = table.rows
    assert (row.n, row.errors, row.unparsed) == (3, 2, 1)
    assert row.value == 33.33
    assert "m, zero-shot, mime/mcq: 2 errors (not counted), 1 unparsed (counted as wrong)." in table.notes


def test_angles_have_a_mean_and_a_population_deviation() -> None:
    from scipy import stats

    rights = dict(
        zip(
            ("base+blank@0", "base+blank@90", "base+blank@180", "base+blank@270"),
            (34, 34, 43, 37),
            strict=True,
        )
    )
    run = make_run({variant: make_values(correct, 86) for variant, correct in rights.items()})
    table = MIME.tables.build(MIME, "4", [run], "paper")
    assert get_cells(table, "m") == ["MC", "39.5", "39.5", "50.0", "43.0", "43.0", "4.3"]
    values = [correct / 86 * 100 for correct in rights.values()]
    result = {row.metric: row.value for row in table.rows}
    assert result["standard deviation over angles"] == pytest.approx(stats.tstd(values, ddof=0), abs=0.01)
    part = make_run({"base+blank@0": make_values(1, 2), "base+blank@90": make_values(1, 2)})
    assert get_cells(MIME.tables.build(MIME, "4", [part], "paper"), "m") == [
        "MC",
        "50.0",
        "50.0",
        "–",
        "–",
        "–",
        "–",
    ]


def test_zero_shot_tables_leave_other_styles_out_and_say_so() -> None:
    runs = [make_run({"none": make_values(1, 2)}, style=style) for style in ("zero-shot", "cot")]
    table = MIME.tables.build(MIME, "1", runs, "paper")
    assert len(table.body) == 1
    assert "1 lines in other styles are left out; table 5 shows them." in table.notes
    with pytest.raises(UsageError, match="Table 1 shows zero-shot runs, and none is given"):
        MIME.tables.build(MIME, "1", runs[1:], "paper")


def test_a_table_without_its_samples_is_refused() -> None:
    with pytest.raises(UsageError, match="None of these runs holds samples that table 3 shows"):
        MIME.tables.build(MIME, "3", [make_run({"none": [1.0]})], "paper")
    with pytest.raises(UsageError, match="needs a run of the model 'human'"):
        MIME.tables.build(MIME, "annotators", [make_run({"none": [1.0]})], "paper")
    with pytest.raises(UsageError, match="table of mime '7'"):
        MIME.tables.build(MIME, "7", [make_run({"none": [1.0]})], "paper")


def test_actors_are_compared_with_the_published_and_with_welchs_test() -> None:
    from scipy import stats

    values = [float(x) for x in random.Random(3).choices((0, 1), k=61)]
    n, j = values[::2], values[1::2]
    for protocol in ("paper", "strict"):
        table = MIME.tables.build(
            MIME, "6", [make_run({"base+blank@0": values}, protocol=protocol)], protocol
        )
        t, p = ([row.value for row in table.rows if row.metric == metric] for metric in "tp")
        if protocol == "strict":
            expected = stats.ttest_ind(n, j, equal_var=False)
        else:
            spread = [float(stats.tstd(group, ddof=0)) for group in (n, j)]
            means = [sum(group) / len(group) for group in (n, j)]
            expected = stats.ttest_ind_from_stats(means[0], spread[0], len(n), means[1], spread[1], len(j))
        assert t == [pytest.approx(expected.statistic, abs=1e-9)]
        assert p == [pytest.approx(expected.pvalue, abs=1e-9)]
        assert [row[3] for row in table.body] == [len(n), len(j), None]
        assert [row[4] for row in table.body] == [sum(n), sum(j), None]


@pytest.mark.parametrize("seed", range(5))
def test_welch_agrees_with_scipy(seed: int) -> None:
    from scipy import stats

    chance = random.Random(seed)
    first = [chance.gauss(0, 1 + seed) for _ in range(chance.randint(2, 40))]
    second = [chance.gauss(0.5, 1) for _ in range(chance.randint(2, 400))]
    expected = stats.ttest_ind(first, second, equal_var=False)
    result = ttest.welch_t_test(first, second)
    assert result.t == pytest.approx(expected.statistic, rel=1e-10)
    assert result.freedom == pytest.approx(expected.df, rel=1e-10)
    assert result.p == pytest.approx(expected.pvalue, rel=1e-8)


def test_groups_without_spread_have_no_t() -> None:
    for test in (ttest.welch_t_test, ttest.pooled_t_test):
        assert test([1.0, 1.0], [1.0, 1.0]).t is None
        assert test([1.0], [1.0]).p is None
    table = MIME.tables.build(MIME, "6", [make_run({"base+blank@0": [1.0] * 6})], "paper")
    assert "no spread" in to_text(table)


def test_annotators_are_scored_one_by_one(tmp_path: Path) -> None:
    data = load_samples(tmp_path, "mime/mcq")
    lines = []
    for person, rights in (("ann", (True, True)), ("bob", (False, True))):
        for index, (sample, correct) in enumerate(zip(data, rights, strict=False)):
            question = {
                "label": ["a"],
                "options": ["a", "b"],
                "label_idx": 0,
                "s3_url": sample.extra["file_name"],
            }
            lines.append(
                {
                    "question_i": index,
                    "sample_id": "x",
                    "user_answer": "a",
                    "user_mcq_selection": 1 if correct else 2,
                    "question": question,
                    "url_data": {"annotator": person},
                }
            )
    write_lines(tmp_path / "human_eval.jsonl", lines)
    imported = MIME.native.read_human(MIME, tmp_path, "mime/mcq")
    assert imported is not None
    table = MIME.tables.build(MIME, "annotators", [score_import(imported)], "paper")
    assert [(row[1], row[2]) for row in table.body] == [(2, 100.0), (2, 50.0), (2, 50.0), (4, 75.0)]
    assert [row[0] for row in table.body][2:] == ["first videos, MIME", "all, MIME"]
    by_variant = summarise(score_import(imported), MIME, ("variant",))
    assert sum(row.n for row in by_variant) == 4


def test_failure_modes_are_counted_beside_the_published_ones(tmp_path: Path) -> None:
    data = load_samples(tmp_path, "mime/ff")
    modes = ["none", "Confused by context", "none", "a mode of my own"]
    items = [make_raw_free(s, "x", fail_mode=mode) for s, mode in zip(data, modes, strict=False)]
    run = score_import(read_import(write_json(tmp_path / "raw_ff_x_y.json", items), data, "mime/ff"))
    table = MIME.tables.build(MIME, "failures", [run], "paper")
    assert table.columns[1:5] == VARIANTS[:4]
    result = {row[0]: row[1:] for row in table.body}
    assert result["none"] == (1, 0, 1, 0, 12, 11, 11)
    assert result["confused by context"] == (0, 1, 0, 0, 0, 1, 21)
    assert result["a mode of my own"] == (0, 0, 0, 1, 0, 0, 0)
    assert result["all"] == (1, 1, 1, 1, 86, 86, 86)
    assert {row.source for row in table.rows} == {"measured", failures.PUBLISHED_SOURCE}
    with pytest.raises(UsageError, match="None of these runs holds failure labels"):
        MIME.tables.build(MIME, "failures", [make_run({"none": [1.0]}, "mime/ff")], "paper")


def test_every_layout_has_every_form() -> None:
    values = {variant: make_values(2, 8) for variant in (*VARIANTS, "none")}
    runs = [make_run(values, task, style=style, name=style) for task in TASKS for style in MIME.styles]
    for name in ("1", "2", "3", "4", "5", "6"):
        table = MIME.tables.build(MIME, name, runs, "paper")
        assert all(len(row) == len(table.columns) for row in table.body)
        for form in (to_text, to_csv, to_markdown, to_latex):
            assert "25.0" in form(table)
        rows = json.loads(to_json([table]))
        assert all(
            {"run", "task", "group", "metric", "value", "n", "errors", "unparsed"} <= set(row) for row in rows
        )
        assert all(row["interval"] for row in rows if row["metric"] == "accuracy")


def test_published_cells_are_shares_of_the_samples() -> None:
    """Every published figure is some k of n in the paper's rounding: a slip of the pen would not be."""
    sizes = {"none": 46}
    people = {"base+blank@270": 222, "adversarial+aligned@0": 253, "none": 184}

    def possible(figure: Published) -> set[float]:
        variant = figure.group["variant"]
        n = people.get(variant, 258) if figure.model == "human" else sizes.get(variant, 86)
        return {float(f"{round(k / n * 100, 2):.1f}") for k in range(n + 1)}

    figures = MIME.published.rows()
    for figure in figures:
        assert figure.value in possible(figure), figure
        assert figure.source
    assert len(figures) == 2 * (15 * 6 + 15 + 7 * 3 + 7)
    assert len({(f.model, f.style, f.task, f.group["variant"]) for f in figures}) == len(figures)
