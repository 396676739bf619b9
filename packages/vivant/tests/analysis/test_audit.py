"""The audit: each case's arithmetic, the page that it writes, and what the authors' own files say."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.runs_kit import call
from vivant.analysis.audit import audit, milebench, mime, mimic, mmie, mmrv, to_markdown, to_text
from vivant.analysis.audit.check import AuditCheck, exceeds_rounding
from vivant.benchmarks.mmie.published import SIZES
from vivant.core.errors import DataError, UsageError

PAGE = Path(__file__).resolve().parents[4] / "docs" / "audit.md"


@pytest.fixture(scope="module")
def cases() -> dict[str, AuditCheck]:
    return {case.name: case for case in audit()}


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == to_markdown(audit()), (
        "vivant audit --markdown -o docs/audit.md"
    )


def test_every_case_is_whole(cases: dict[str, AuditCheck]) -> None:
    assert len(cases) == 26
    for case in cases.values():
        assert case.claim
        assert case.arithmetic
        assert case.finding
        assert "  " not in case.finding
    assert {case.benchmark for case in cases.values()} == {
        "MIME",
        "MileBench",
        "MIMIC-Bench",
        "MMR-V",
        "MMIE",
    }
    assert sum(case.outcome == "holds" for case in cases.values()) == 4


def test_milebench(cases: dict[str, AuditCheck]) -> None:
    case = cases["milebench-diagnostic-mean"]
    assert [(row[0], round(float(row[4] or 0), 1), row[6]) for row in case.tables[0].body] == [
        ("GPT-4V", 95.2, 99.4),
        ("GPT-4o", 95.9, 99.4),
    ]
    assert "In 20 of 22 rows" in case.arithmetic[0]
    assert "Gemini 1.5 with 94.5, shrinks from 4.9 points to 0.7 and 1.4" in case.finding
    assert "20.9" in cases["milebench-random-row"].arithmetic[0]
    assert "LLaVA-1.6-7B and LLaVA-1.5-13B" in cases["milebench-same-figures"].arithmetic[0]


def test_mimic(cases: dict[str, AuditCheck]) -> None:
    gaps = [float(row[3] or 0) for row in cases["mimic-overall"].tables[0].body]
    assert (min(gaps), max(gaps)) == pytest.approx((1.86, 3.16), abs=0.005)
    # The certificate: every task of the combination lies above its overall, further than rounding explains.
    above = [float(row[2] or 0) for row in cases["mimic-overall-weights"].tables[0].body]
    assert len(above) == 7
    assert min(above) > 0.15
    assert sum(map(abs, mimic._COMBINATION.values())) == pytest.approx(1.0)
    assert "3 of 7 models" in cases["mimic-upper-bound"].arithmetic[0]


def test_no_weights_fit_mimic_s_overall() -> None:
    """The same by linear programming: the best weights miss some row by more than rounding allows."""
    import numpy as np
    from scipy.optimize import linprog

    from vivant.benchmarks.mimic.published import TASKS

    rows = np.array(list(TASKS.values()))
    tasks, overall, count = rows[:, :7], rows[:, 7], len(rows)
    ones = np.ones((count, 1))
    solved = linprog(
        [0.0] * 7 + [1.0],
        A_ub=np.block([[tasks, -ones], [-tasks, -ones]]),
        b_ub=np.concatenate((overall, -overall)),
        A_eq=[[1.0] * 7 + [0.0]],
        b_eq=[1.0],
    )
    assert solved.fun == pytest.approx(0.193, abs=0.001)
    assert solved.fun > 0.1


def test_mmrv(cases: dict[str, AuditCheck]) -> None:
    assert sum(mmrv.TYPES) == sum(mmrv.SIDES) == mmrv.TOTAL
    paper, readme = cases["mmrv-shifted-row"].tables[0].body
    assert paper[1:4] == (52.5, 54.6, 47.1)
    assert readme[3:6] == (46.0, 40.1, 54.0)
    assert readme[6:] == paper[6:]
    assert "give 52.5 for the paper's row and 52.2" in cases["mmrv-shifted-row"].arithmetic[2]
    misfits = {(row[0], row[1]) for row in cases["mmrv-weighted-means"].tables[0].body}
    assert len(misfits) == 7
    assert ("o4-mini", "zero-shot") not in misfits
    assert sum(right for right, _ in list(mmrv.STUDY.values())[1:3]) == 172
    assert sum(right for right, _ in list(mmrv.STUDY.values())[3:]) == 172
    assert cases["mmrv-people"].outcome == "holds"
    assert "= 107." in cases["mmrv-errors"].arithmetic[0]


def test_mmie(cases: dict[str, AuditCheck]) -> None:
    assert "20,003, 100 short" in cases["mmie-count"].arithmetic[2]
    assert sum(mmie.PBL_FIELDS.values()) == SIZES["PBL"]
    assert "within 0.012 points" in cases["mmie-average"].arithmetic[0]


def test_mime_figures_follow_from_counts(cases: dict[str, AuditCheck]) -> None:
    assert round(mime.RIGHT / mime.ANSWERS * 100, 1) == 83.3
    told = " ".join(cases["mime-human-free-form"].arithmetic)
    assert "75 % + 16.7 % = 91.7 %" in told
    assert "138 + 4 = 142, 77.2 %" in told
    rounded = {row[0]: row[2:] for row in cases["mime-rounding"].tables[0].body}
    assert rounded["47 of 86"] == ("54.7", "54.6", "54.7")
    assert rounded["31 of 86"] == ("36.0", "36.0", "36.1")
    assert [row[4] for row in cases["mime-failure-labels"].tables[0].body] == [46, 3, 33, 9]


def test_mime_from_its_own_files(parity: Path) -> None:
    found = {case.name: case for case in mime.check_all(parity / "mime")}
    people = found["mime-human-free-form"].recomputed
    assert people == (
        "MIME: 2115 of 2539 free answers are right (83.3 %); by the published rule 91.7 %.",
        "REAL: 180 of 184 are right (97.8 %); by the published rule 77.2 %.",
        "All variants agree with the table.",
    )
    assert found["mime-released-options"].recomputed == (
        "6 result files on MIME: 0 of 5160 items have the released options.",
    )
    assert "holds no few-shot result files" in found["mime-few-shot-options"].recomputed[0]


def test_what_is_said_of_mimes_items_is_what_vivant_items_says(parity: Path, tmp_path: Path) -> None:
    from vivant.analysis.items.findings import analyse_items
    from vivant.analysis.items.responses import read_responses
    from vivant.runs.importing import import_predictions

    data = str(parity / "mime" / "mime_data_legacy.jsonl")
    folder = parity / "mime" / "results" / "mime-cropped"
    files = [*sorted(folder.glob("*/all/raw_mcq_*.json")), folder / "human_eval.jsonl"]
    runs = [
        import_predictions("mime/mcq", file, str(tmp_path / str(number)), data=data)
        for number, file in enumerate(files)
    ]
    (matrix,) = read_responses(runs)
    analysis = analyse_items(matrix)
    assert not analysis.select("suspect key")
    assert sum(item.difficulty == 0 for item in analysis.items) == 162
    assert sum(item.difficulty == 1 for item in analysis.items) == 124
    assert sum(item.people_count for item in analysis.items) == 2539
    assert analysis.noise is not None
    assert round(100 * analysis.noise.person, 1) == 98.9
    assert round(100 * analysis.noise.majority, 1) == 99.9
    shortest = next(cue for cue in analysis.cues if cue.name == "shortest")
    assert (shortest.right, shortest.applies) == (166, 416)


def test_marked_options_are_counted(tmp_path: Path) -> None:
    from vivant.analysis.audit.mime_files import count_marked_options

    folder = tmp_path / "few-shot" / "all"
    folder.mkdir(parents=True)
    items = [
        {"options": ["a", "['b']", "c"], "correct_answer": "B"},
        {"options": ["a", ["b"], "c"], "correct_answer": "B"},
        {"options": ["a", "['b']", "c"], "correct_answer": "A"},
        {"options": ["a", "b", "c"], "correct_answer": "A"},
    ]
    (folder / "raw_mcq_x.json").write_text(json.dumps({"predictions": items}))
    assert count_marked_options(tmp_path) == (
        "raw_mcq_x.json: in 2 of 4 items the right option alone is stored as a list.",
    )
    (folder / "raw_mcq_x.json").write_text('{"predictions": 3}')
    with pytest.raises(DataError, match="no list of predictions"):
        count_marked_options(tmp_path)


def test_the_others_from_their_own_files(parity: Path) -> None:
    study = next(case for case in mmrv.check_all(parity / "mmrv") if case.name == "mmrv-study-make-up")
    assert study.recomputed == (
        "questions_200.json: GPT-4o is right on 95 of 200 by the published rule, and on 96 with 1 answer that the file "
        "stores against its own rule.",
    )
    items = next(case for case in mmrv.check_all(parity / "mmrv") if case.name == "mmrv-items")
    assert items.recomputed == (
        "Repeated: 12 and 104; 15 and 105 (counted from 0). Rules: longest: 9 of 60, shortest: 14 of 24, "
        "form: 15 of 52.",
    )
    dropped = mmie.check_all(parity / "mmie" / "expected_scores.json")[2]
    assert (
        "of 60 texts 37 hold a score from 0 to 6; 14 hold none and 9 one off the scale"
        in dropped.recomputed[0]
    )


def _match_by_words(texts: list[str], replies: list[str]) -> dict[int, int]:
    """The reply that fits each text clearly better than any other: by shared words, rare ones counting more."""
    words = [set(re.findall(r"[a-z]{4,}", reply.lower())) for reply in replies]
    holders: dict[str, list[int]] = {}
    for index, own in enumerate(words):
        for word in own:
            holders.setdefault(word, []).append(index)
    weights = {word: math.log(len(replies) / len(own)) for word, own in holders.items()}
    norms = [math.sqrt(sum(weights[word] for word in own)) + 1e-9 for own in words]
    matched: dict[int, int] = {}
    for number, text in enumerate(texts):
        fits: dict[int, float] = defaultdict(float)
        for word in set(re.findall(r"[a-z]{4,}", text.lower())):
            for index in holders.get(word, ()):
                fits[index] += weights[word] / norms[index]
        (best, fit), (_, second) = sorted(fits.items(), key=lambda entry: -entry[1])[:2]
        if fit >= 2 and fit - second >= 1 and best not in matched.values():
            matched[number] = best
    return matched


def test_keys_of_mmrv_against_the_published_logs(parity: Path) -> None:
    folder = parity / "mmrv"
    questions = json.loads((folder / "questions_200.json").read_text())
    logs = [
        {line["idx"]: line for line in json.loads((folder / f"mmrv_{name}.json").read_text())}
        for name in ("o4-cot", "gemma-3-27b-it_cot", "gemma-3-12b-it")
    ]
    replies = [
        " ".join(log[index]["response"] or "" for log in logs[:2] if index in log)
        for index in range(mmrv.TOTAL)
    ]
    texts = [" ".join((q["question"], *q["options"], q["video"])) for q in questions]
    matched = _match_by_words(texts, replies)
    assert len(matched) == mmrv.KEYS_MATCHED
    places = list(matched.values())
    assert sum(second < first for first, second in pairwise(places)) == 3
    agree: list[int] = []
    for number, index in matched.items():
        own = re.search(r"'final_answer': '([A-L])", str(questions[number].get("gpt-4o_response")))
        letters = [own[1] if own else None, *(log[index]["answer"] for log in logs if index in log)]
        key = re.search("[A-L]", questions[number]["correctAnswer"])
        assert key is not None
        known = "ABCDEFGHIJKL"[: len(questions[number]["options"])]
        wrong = Counter(letter for letter in letters if letter and letter in known and letter != key[0])
        agree += [count for _, count in wrong.most_common(1) if count >= 3]
    assert (len(agree), agree.count(4)) == (mmrv.KEYS_AGREE, mmrv.KEYS_ALL_AGREE)


def test_bad_data(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="benchmark in --data 'mile'"):
        audit(data={"mile": tmp_path})
    with pytest.raises(DataError, match="no such folder"):
        audit(data={"mime": tmp_path / "nowhere"})
    with pytest.raises(DataError, match="human study"):
        mmrv.check_all(tmp_path)
    (tmp_path / "x.json").write_text("[{}]")
    with pytest.raises(DataError, match="no judge's texts"):
        mmie.check_all(tmp_path / "x.json")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(DataError, match="holds no JSON"):
        mmie.check_all(tmp_path / "x.json")
    for make in (milebench.check_all, mimic.check_all):
        with pytest.raises(UsageError, match="built in"):
            make(tmp_path)


def test_tolerance() -> None:
    assert not exceeds_rounding(53.1, 53.0)
    assert exceeds_rounding(53.12, 53.0)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("audit", "--only", "mimic,mmie-count") == 0
    text = capsys.readouterr().out
    assert text == to_text(audit(["mimic", "mmie-count"]))
    assert text.count("Finding:") == 4
    assert call("audit", "--only", "mmie-count", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)[0]["outcome"] == "does not hold"
    assert call("audit", "--markdown", "-o", tmp_path / "page.md") == 0
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    capsys.readouterr()
    for arguments, message in (
        (["--only", "mimc"], "Unknown check 'mimc'; did you mean 'mimic'"),
        (["--format", "xml"], "Unknown format 'xml'"),
        (["--markdown", "-o", str(tmp_path / "no" / "page.md")], "Cannot write"),
    ):
        assert call("audit", *arguments) == 1
        assert message in capsys.readouterr().err
