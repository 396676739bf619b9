"""Results of lmms-eval and VLMEvalKit as runs. The sample logs in `data/lmms` were written by lmms-eval 0.7.3."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from tests.support.helpers import vivant
from vivant import api, import_results
from vivant.bridges.lmms_import import import_lmms_eval
from vivant.bridges.vlmevalkit_import import import_vlmevalkit
from vivant.core.errors import DataError

LMMS = Path(__file__).parent / "data" / "lmms" / "painter"
AI2D = LMMS / "20260101_000000_samples_ai2d.jsonl"


def test_a_sample_log_of_lmms_eval_keeps_its_scores(tmp_path: Path) -> None:
    run = import_lmms_eval(AI2D, tmp_path / "run")
    (part,) = run.scores()
    assert (part.task, part.model) == ("lmms/ai2d", "painter")
    own = [json.loads(line) for line in AI2D.read_text().splitlines()]
    assert [score.value for _, _, score in part.rows] == [line["exact_match"] for line in own]
    theirs = json.loads((LMMS / "20260101_000000_results.json").read_text())["results"]["ai2d"]
    assert run.table().rows[0].value == pytest.approx(100 * theirs["exact_match,flexible-extract"])
    sample, record, _ = part.rows[2]
    assert sample.id == "2" and sample.answers == ("C",)
    assert record is not None and record.reply.text == own[2]["filtered_resps"]


def test_a_metric_that_is_a_mapping_is_read(tmp_path: Path) -> None:
    run = import_lmms_eval(LMMS / "20260101_000000_samples_mmmu_val.jsonl", tmp_path / "run")
    (part,) = run.scores()
    assert run.table().rows[0].value == 50.0  # as lmms-eval printed
    assert part.rows[0][2].answer == "A"


def test_nan_in_a_sample_log_costs_no_more_than_its_reply(tmp_path: Path) -> None:
    path = tmp_path / "20260101_samples_t.jsonl"
    lines = [{"doc_id": 0, "resps": "x", "acc": math.nan}, {"doc_id": 1, "resps": "y", "acc": 1.0}]
    path.write_text("\n".join(map(json.dumps, lines)))
    rows = import_lmms_eval(path, tmp_path / "run").scores()[0].rows
    assert [(score.status, score.value) for _, _, score in rows] == [("unparsed", None), ("scored", 1.0)]


def test_a_folder_of_sample_logs_and_a_comparison(tmp_path: Path) -> None:
    runs = import_results(LMMS, "lmms-eval", tmp_path / "runs")
    assert sorted(run.manifest.tasks[0] for run in runs) == ["lmms/ai2d", "lmms/mmmu_val"]
    other = import_lmms_eval(AI2D, tmp_path / "other", model="second")
    comparison = api.compare([runs[0].path, other.path])
    assert "second" in str(comparison.table())


def test_a_request_that_failed_there_is_an_error_here(tmp_path: Path) -> None:
    path = tmp_path / "20260101_samples_t.jsonl"
    failed = "[LMMS_EVAL_REQUEST_FAILED after 3 retries] 500"
    lines = [
        {"doc_id": 0, "filtered_resps": failed, "acc": 0.0},
        {"doc_id": 1, "filtered_resps": "x", "acc": 1.0},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    run = import_lmms_eval(path, tmp_path / "run")
    row = run.table().rows[0]
    assert (row.value, row.n, row.errors) == (100.0, 1, 1)


def test_a_broken_line_and_a_strange_name_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "20260101_samples_t.jsonl"
    path.write_text('{"doc_id": 0, "filtered_resps": "x"}\n{"doc_id"')
    with pytest.raises(DataError, match=r"_samples_t\.jsonl, line 2"):
        import_lmms_eval(path, tmp_path / "run")
    with pytest.raises(DataError, match="TIME_samples_TASK"):
        import_lmms_eval(tmp_path / "samples.jsonl", tmp_path / "run")


def test_one_metric_scores_all_records_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "20260101_samples_t.jsonl"
    given: list[dict[str, Any]] = [
        {"length": 250, "em": None},
        {"em": 1.0, "length": 260},
        {"em": 0.0, "length": 300},
        {"length": 9},
    ]
    lines = [{"doc_id": number, "filtered_resps": "x", **metrics} for number, metrics in enumerate(given)]
    path.write_text("\n".join(map(json.dumps, lines[1:] + lines[:1])))
    run = import_lmms_eval(path, tmp_path / "run")
    scores = {score.id: (score.status, score.value) for _, _, score in run.scores()[0].rows}
    assert scores == {
        "0": ("unparsed", None),
        "1": ("scored", 1.0),
        "2": ("scored", 0.0),
        "3": ("excluded", None),
    }
    row = run.table().rows[0]
    assert row.value == pytest.approx(100 / 3)
    assert (row.n, row.unparsed) == (3, 1)
    assert "'em' gave 1 replies no number; they count as unparsed" in run.manifest.notes
    assert "1 replies bear no 'em' but length; they are left out of the score" in run.manifest.notes


@pytest.mark.parametrize(
    ("dataset", "values", "shown"),
    [
        ("MMBench-Video", "0110", 0.5),  # a weak model's ratings of 0 to 3
        ("MMBench-Video_8frame", "3232", 2.5),
        ("POPE", "0110", 50.0),  # here a score is right or wrong
        ("Unheard-of", "0110", 0.5),  # nobody says what the best score is
        ("Unheard-of", "0910", 2.5),
    ],
)
def test_the_scale_of_a_rating_does_not_depend_on_the_values(
    dataset: str, values: str, shown: float, tmp_path: Path
) -> None:
    path = tmp_path / f"m_{dataset}_score.tsv"
    rows = [f"{number}\tq\tx\ty\t{value}" for number, value in enumerate(values)]
    path.write_text("\n".join(["index\tquestion\tanswer\tprediction\tscore", *rows]))
    assert import_vlmevalkit(path, tmp_path / "run").table().rows[0].value == pytest.approx(shown)


@pytest.mark.parametrize(
    ("metric", "values", "shown"),
    [
        ("mvbench_accuracy", (0, 1), 50.0),
        ("gpt_eval_score", (0, 1), 0.5),  # of 5 in some tasks, of 1 in others
        ("gpt_eval_score", (0, 4), 2.0),
        ("verdict", (False, True), 50.0),
        ("acc", (0, 100), 50.0),  # the name says share, the values percent
    ],
)
def test_the_name_of_a_metric_says_whether_it_is_a_share(
    metric: str, values: tuple[float, float], shown: float, tmp_path: Path
) -> None:
    path = tmp_path / "20260101_samples_t.jsonl"
    lines = [{"doc_id": n, "filtered_resps": "x", metric: value} for n, value in enumerate(values)]
    path.write_text("\n".join(map(json.dumps, lines)))
    run = import_lmms_eval(path, tmp_path / "run")
    assert run.table().rows[0].value == pytest.approx(shown)
    told = [note for note in run.manifest.notes if "for its scale is not known" in note]
    assert bool(told) == (metric == "gpt_eval_score" and max(values) == 1)


ROWS = [
    {"index": "0", "question": "Which?", "hint": "Look up.", "A": "sun", "B": "moon", "C": "", "answer": "A",
     "category": "sky", "prediction": "A", "hit": "1", "log": "exact"},
    {"index": "1", "question": "Where?", "hint": "", "A": "here", "B": "there", "C": "away", "answer": "C",
     "category": "place", "prediction": "There & <there>", "hit": "0", "log": "judge"},
    {"index": "2", "question": "When?", "hint": "", "A": "now", "B": "then", "C": "", "answer": "B",
     "category": "time", "prediction": "Failed to obtain answer via API.", "hit": "0", "log": ""},
]  # fmt: skip


def _workbook(path: Path, rows: list[dict[str, str]]) -> Path:
    """As pandas and openpyxl write it: numbers as numbers, texts in a table of their own."""
    names = list(rows[0])
    texts: list[str] = []

    def cell(column: int, row: int, value: str) -> str:
        place = f"{chr(65 + column)}{row}"
        if value.isdigit():
            return f'<c r="{place}"><v>{value}</v></c>'
        if not value:
            return ""
        texts.append(value)
        return f'<c r="{place}" t="s"><v>{len(texts) - 1}</v></c>'

    lines = [names, *([row[name] for name in names] for row in rows)]
    body = "".join(
        f'<row r="{number}">{"".join(cell(c, number, value) for c, value in enumerate(line))}</row>'
        for number, line in enumerate(lines, 1)
    )
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "xl/worksheets/sheet1.xml", f"<worksheet {space}><sheetData>{body}</sheetData></worksheet>"
        )
        shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
        archive.writestr("xl/sharedStrings.xml", f"<sst {space}>{shared}</sst>")
    return path


def test_an_evaluated_workbook_keeps_hits(tmp_path: Path) -> None:
    folder = tmp_path / "MyVLM"
    folder.mkdir()
    path = _workbook(folder / "MyVLM_MMBench_DEV_EN_gpt-4-0125_result.xlsx", ROWS)
    run = import_vlmevalkit(path, tmp_path / "run")
    (part,) = run.scores()
    assert (part.task, part.model) == ("vlmevalkit/MMBench_DEV_EN", "MyVLM")
    assert [score.value for _, _, score in part.rows] == [1.0, 0.0, None]
    assert [score.status for _, _, score in part.rows] == ["scored", "scored", "missing"]
    assert part.rows[0][0].facets == {"category": "sky"}
    assert [option.text for option in part.rows[1][0].options] == ["here", "there", "away"]
    assert part.rows[1][1] is not None and part.rows[1][1].reply.text == "There & <there>"


def test_options_keep_their_letters_where_one_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "m_MMStar.tsv"
    rows = [f"{number}\tq\ttwo\tone\t\tthree\tD\t{reply}" for number, reply in enumerate("DA")]
    path.write_text("\n".join(["index\tquestion\tA\tB\tC\tD\tanswer\tprediction", *rows]))
    (part,) = import_vlmevalkit(path, tmp_path / "run").scores()
    assert [score.value for _, _, score in part.rows] == [1.0, 0.0]
    assert [option.name for option in part.rows[0][0].options] == ["A", "B", "D"]


REAL = Path(__file__).parent / "data" / "vlmevalkit" / "Qwen2_VL-7B" / "T20260818_Ge8e78f05"
"""Files that VLMEvalKit's own code wrote (its commit e8e78f05, without a judge) for questions and replies of ours."""


@pytest.mark.parametrize(
    ("file", "task", "percent", "n"),
    [
        ("ChartQA_TEST.xlsx", "ChartQA_TEST", 83.333, 6),
        ("ChartQA_TEST_results.xlsx", "ChartQA_TEST", 83.333, 6),
        ("DocVQA_VAL.xlsx", "DocVQA_VAL", 58.182, 5),
        ("DocVQA_VAL_results.xlsx", "DocVQA_VAL", 58.182, 5),
        ("DocVQA_VAL_results.tsv", "DocVQA_VAL", 58.182, 5),
        ("MMBench_DEV_EN.xlsx", "MMBench_DEV_EN", 25.0, 4),
        ("MMBench_DEV_EN_exact_matching_result.xlsx", "MMBench_DEV_EN", 25.0, 4),
        # It counts a failed request as a wrong answer, 1 of 10; here the request is no part of n.
        ("MMStar.xlsx", "MMStar", 11.111, 9),
        ("MMStar.json", "MMStar", 11.111, 9),
        ("MMStar_exact_matching_result.xlsx", "MMStar", 11.111, 9),
    ],
)
def test_files_that_vlmevalkit_wrote_give_the_scores_that_it_gave(
    file: str, task: str, percent: float, n: int, tmp_path: Path
) -> None:
    run = import_vlmevalkit(REAL / f"Qwen2_VL-7B_{file}", tmp_path / "run")
    (row,) = run.table().rows
    assert (run.model, row.task) == ("Qwen2_VL-7B", f"vlmevalkit/{task}")
    assert row.value == pytest.approx(percent, abs=0.001)
    assert row.n == n


def test_what_a_workbook_escapes_comes_back_and_thoughts_stand_apart(tmp_path: Path) -> None:
    run = import_vlmevalkit(REAL / "Qwen2_VL-7B_MMStar.xlsx", tmp_path / "run")
    replies = {record.id: record.reply for record in run.records().values()}
    assert replies["5"].text == "(D) red\r\nbecause"
    assert replies["6"].text == "_x000D_ B"
    assert (replies["9"].thinking.strip(), replies["9"].text.strip()) == ("It is\na B.", "B")
    assert replies["4"].status == "error"


def test_a_circular_evaluation_has_the_chance_of_all_copies(tmp_path: Path) -> None:
    run = import_vlmevalkit(REAL / "Qwen2_VL-7B_MMBench_DEV_EN.xlsx", tmp_path / "run")
    assert "15 rows are 4 questions, right where every copy is" in run.manifest.notes
    (row,) = run.table().rows
    assert row.chance == pytest.approx(100 * (3 * 0.25**4 + (1 / 3) ** 3) / 4)


def test_a_score_that_could_not_be_given_is_none_and_a_pickle_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "My_VLM_Video-MME_8frame_score.tsv"
    path.write_text(
        "index\tquestion\tcandidates\tanswer\tprediction\tscore\n"
        "0\tWho?\t['A. me', 'B. you']\tA\tA\t1.0\n1\tWhen?\t['A. now', 'B. then']\tB\tno\t-1\n"
    )
    run = import_vlmevalkit(path, tmp_path / "run", "My_VLM")
    (part,) = run.scores()
    assert (part.task, part.model) == ("vlmevalkit/Video-MME_8frame", "My_VLM")
    assert [score.status for _, _, score in part.rows] == ["scored", "missing"]
    assert [option.text for option in part.rows[0][0].options] == ["A. me", "B. you"]
    with pytest.raises(DataError, match=r"read from \.xlsx, .* writes the same rows to an \.xlsx file"):
        import_vlmevalkit(tmp_path / "M_D_result.pkl", tmp_path / "other")


def test_predictions_alone_name_the_column_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("index,prediction\n0,A\n")
    with pytest.raises(DataError, match="no column 'answer' and none of hit, eval_match"):
        import_vlmevalkit(path, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    path.write_text("index,question,prediction\n0,Which?,A\n")  # a set whose answers are not public
    run = import_vlmevalkit(path, tmp_path / "run")
    assert any("no column 'answer'" in note for note in run.manifest.notes)


@pytest.mark.parametrize("form", ["tsv", "csv", "json"])
def test_other_forms_and_predictions_without_scores(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "MyVLM"
    folder.mkdir()
    rows = [{key: value for key, value in row.items() if key != "hit"} for row in ROWS]
    path = folder / f"MyVLM_AI2D_TEST.{form}"
    separator = "\t" if form == "tsv" else ","
    lines = [separator.join(rows[0]), *(separator.join(row.values()) for row in rows)]
    path.write_text(json.dumps(rows) if form == "json" else "\n".join(lines))
    run = import_vlmevalkit(path, tmp_path / "run")
    scores = [score for _, _, score in run.scores()[0].rows]
    assert scores[0].value == 1.0 and scores[0].detail["scorer"] == "exact_matching"
    assert any("holds no scores" in note for note in run.manifest.notes)


def test_a_file_without_predictions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "acc.csv").write_text("split,Overall\ndev,0.5\n")
    result = vivant("import", "--as", "vlmevalkit", "acc.csv", cwd=tmp_path)
    assert result.returncode == 1
    assert "there is no column 'prediction'" in result.stderr
