"""Judges beside people: measures against scipy and by hand, intervals, biases, files with faults."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.support.fault_server import Act, serving
from tests.support.mmie_kit import format_verdict, make_entry, run_vivant, write_answers
from vivant.analysis.correction.ratings import join_ratings
from vivant.core.errors import DataError, UsageError
from vivant.judging.biases import measure_biases, model_family
from vivant.judging.calibration import (
    CalibratedJudge,
    CalibrationItem,
    compare_judges,
    compare_ratings,
    join_scores,
    measure_agreement,
)
from vivant.judging.human_scores import read_human_scores
from vivant.judging.judge_run import judge_run
from vivant.judging.options import JudgeOptions
from vivant.reporting.judges import build_judge_tables, describe_people
from vivant.runs.importing import import_answers
from vivant.runs.run import Run


def test_measures_equal_scipy_and_the_definitions() -> None:
    from scipy import stats

    generator = np.random.default_rng(1)
    a = generator.integers(0, 7, 200).astype(float)
    b = np.clip(np.round(a + generator.normal(0, 1.5, 200)), 0, 6)
    found = compare_ratings(a.tolist(), b.tolist(), [str(n) for n in range(200)])
    expected = {
        "pearson": stats.pearsonr(a, b)[0],
        "spearman": stats.spearmanr(a, b)[0],
        "cosine": float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)),
        "mse": float(np.mean((a - b) ** 2)),
        "mae": float(np.mean(np.abs(a - b))),
        "kappa": _kappa(a, b),
    }
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, abs=1e-9), name
        interval = found[name].interval
        assert interval is not None
        assert interval.low < value < interval.high


def _kappa(a: Any, b: Any) -> float:
    table = np.zeros((7, 7))
    for x, y in zip(a.astype(int), b.astype(int), strict=True):
        table[x, y] += 1
    weights = np.subtract.outer(np.arange(7), np.arange(7)) ** 2
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    return float(1 - (weights * table).sum() / (weights * expected).sum())


def test_intervals_equal_those_of_resamples_laid_out() -> None:
    from scipy import stats

    generator = np.random.default_rng(2)
    people = generator.integers(0, 7, 60).astype(float)
    judge = np.clip(np.round(people + generator.normal(0, 2, 60)), 0, 6)
    clusters = [f"c{n // 2}" for n in range(60)]  # two answers to each sample
    found = compare_ratings(judge.tolist(), people.tolist(), clusters)
    draws: dict[str, list[float]] = {"pearson": [], "spearman": [], "mae": []}
    for _ in range(1500):
        picked = generator.integers(30, size=30)
        rows = np.concatenate([picked * 2, picked * 2 + 1])
        a, b = judge[rows], people[rows]
        draws["pearson"].append(float(np.corrcoef(a, b)[0, 1]))
        draws["spearman"].append(float(np.corrcoef(stats.rankdata(a), stats.rankdata(b))[0, 1]))
        draws["mae"].append(float(np.abs(a - b).mean()))
    for name, values in draws.items():
        interval = found[name].interval
        assert interval is not None
        low, high = np.quantile(values, (0.025, 0.975))
        assert interval.low == pytest.approx(low, abs=0.05), name
        assert interval.high == pytest.approx(high, abs=0.05), name


def test_constant_columns_have_no_correlation_and_no_answers_no_figures() -> None:
    flat = compare_ratings([5.0] * 8, [1.0, 2, 3, 4, 5, 6, 0, 2], [str(n) for n in range(8)])
    assert flat["pearson"].value is None
    assert flat["spearman"].value is None
    assert flat["mae"].value == pytest.approx(2.375)
    assert all(figure.value is None for figure in compare_ratings([], [], []).values())


def test_families() -> None:
    names = {
        "openai/gpt-4o-mini": "gpt",
        "openai/gpt-4o + placeholder cards": "gpt",
        "openai/o3-mini": "gpt",
        "anthropic/claude-x": "claude",
        "transformers/Qwen/Qwen2.5-VL": "qwen",
        "mystery-7b": "mystery",
    }
    assert {name: model_family(name) for name in names} == names


# ── files ──


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.csv", "id,score\nSA-1,five\n", "line 2: the score of 'SA-1' is 'five', not a number"),
        ("a.csv", "id,score\nSA-1,nan\n", "not a number"),
        ("a.csv", "id,score\nSA-1,7\n", "off the scale 0 to 6"),
        ("a.csv", "item,score\nSA-1,3\n", "there is no id"),
        ("a.csv", "id,score,annotator\nSA-1,3,x\nSA-1,4,x\n", "scored 'SA-1' twice"),
        ("a.csv", "id,score\n", "holds no scores"),
        ("a.json", "{", "holds no list of scores"),
        ("a.json", "7", "holds no list of scores"),
        ("a.json", "[7]", "entry 1: should be an object"),
        ("a.jsonl", '{"id": "x", "score": true}', "line 1: the score of 'x' is True"),
    ],
)
def test_faulty_files_of_scores_are_one_line(tmp_path: Path, name: str, content: str, line: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError) as caught:
        read_human_scores(tmp_path / name, 0, 6)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_several_annotators_are_averaged_and_their_agreement_is_told(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("id,score,annotator\nSA-1,2,x\nSA-1,4,y\nSA-2,6,x\nSA-2,6,y\n")
    human = read_human_scores(file)
    assert human.find("SA-1", "whoever") == 3
    assert human.find("SA-9", "") is None
    assert "50.0% of pairs" in describe_people(human)[0]
    file.write_text("id,score\nSA-1,2\n")
    assert "nothing is known" in describe_people(read_human_scores(file))[0]


# ── runs ──


def _runs(tmp_path: Path, models: tuple[str, ...] = ("gpt-a", "other-b")) -> list[Run]:
    found = []
    for model in models:
        items = [make_entry(f"SA-{n}", " ".join([f"{model}"] * (n + 1)), model=model) for n in range(12)]
        folder = write_answers(tmp_path / model, items)
        found += import_answers(["mmie"], folder, str(tmp_path / "runs" / model))
    return found


def _people(tmp_path: Path, models: tuple[str, ...] = ("gpt-a", "other-b")) -> Path:
    lines = [f"SA-{n},{n % 7},{model}" for model in models for n in range(12)]
    (tmp_path / "people.csv").write_text("\n".join(["id,score,model", *lines]))
    return tmp_path / "people.csv"


def _judge(runs: list[Run], behave: Any, **more: Any) -> None:
    with serving(behave) as server:
        for run in runs:
            options = JudgeOptions(model="openai/gpt-j", base_url=server.url, **more)
            judge_run(run, [options])


def _words(body: dict[str, Any]) -> str:
    pieces = body["messages"][1]["content"]
    text = pieces if isinstance(pieces, str) else "".join(piece.get("text", "") for piece in pieces)
    return text.split("<<<answer")[1].split("<<<end answer")[0]


def test_biases_are_found_where_they_are(tmp_path: Path) -> None:
    runs, human = _runs(tmp_path), read_human_scores(_people(tmp_path))

    def partial(_: int, body: dict[str, Any]) -> Act:
        text = _words(body)
        return Act(format_verdict(min(6, len(text.split()) // 3 + (2 if "gpt-a" in text else 0))))

    _judge(runs, partial)
    judged = join_scores(human, runs, "paper")
    assert len(judged) == 1
    assert len(judged[0].items) == 24
    found = {bias.name: bias for bias in measure_biases(judged, runs, "paper")}
    length, own = found["length"].figure, found["own family"].figure
    assert length.value is not None
    assert own.value is not None
    assert own.interval is not None
    assert own.value > 1
    assert own.interval.low > 0
    assert found["own family"].n == 12
    assert found["constant figures"].figure.value == pytest.approx(
        max(np.unique([i.judge for i in judged[0].items], return_counts=True)[1]) / 24
    )
    assert {one.group for one in measure_agreement(judged, "category")} == {"all", "SA"}


def test_style_and_drift_are_found_where_they_are() -> None:
    def item(n: int, gap: float, **more: Any) -> CalibrationItem:
        return CalibrationItem(
            run="run",
            key=f"s{n}",
            sample=f"s{n}",
            model="m",
            judge=3 + gap,
            people=3,
            words=5,
            facets={},
            asked_at=1.0 + n,
            **more,
        )

    def measure(items: list[CalibrationItem]) -> dict[str, Any]:
        judge = CalibratedJudge(judge="j", fingerprint="f", items=tuple(items))
        return {bias.name: bias.figure for bias in measure_biases([judge], [], "paper")}

    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.3, 80)
    styled = measure([item(n, noise[n] + (n % 2), formatted=bool(n % 2)) for n in range(80)])
    assert styled["style"].interval.low > 0.7
    assert abs(styled["drift in time"].value) < 0.3
    assert "drift of version" not in styled
    drifting = measure([item(n, noise[n] + (n > 39), served="v1" if n < 40 else "v2") for n in range(80)])
    assert drifting["drift in time"].interval.low > 0.7
    assert drifting["drift of version"].interval.low > 0.7
    assert "style" not in drifting


def test_a_judge_that_always_says_five_is_called_out(tmp_path: Path) -> None:
    runs = _runs(tmp_path, ("gpt-a",))
    human = read_human_scores(_people(tmp_path, ("gpt-a",)))
    _judge(runs, lambda *_: Act(format_verdict(5)))
    tables = build_judge_tables(human, runs, "paper")
    assert any("does not tell answers apart" in str(cell) for row in tables[-1].body for cell in row)
    first = tables[0].body[0]
    assert first[3] is None  # no correlation with what does not vary
    assert any(str(row[0]).startswith("MMIE-Score †") for row in tables[0].body)


def test_people_on_another_scale_are_refused_or_brought_to_the_judges(tmp_path: Path) -> None:
    runs = _runs(tmp_path, ("gpt-a",))
    _judge(runs, lambda _, body: Act(format_verdict(min(6, len(_words(body).split()) // 2))))
    judge = {item.sample: item.judge for item in _check(_people(tmp_path, ("gpt-a",)), runs)}
    lines = [f"{name.partition('mmie/sa/')[2]},{rating / 6 * 100},gpt-a" for name, rating in judge.items()]
    sliders = tmp_path / "sliders.csv"
    sliders.write_text("\n".join(["id,score,model", *lines]))
    with pytest.raises(DataError, match=r"off the judge's scale 0 to 6.*--low 0 --high 100"):
        _check(sliders, runs)
    items = _check(sliders, runs, (0, 100))
    assert len(items) == 12
    assert [item.people for item in items] == pytest.approx([item.judge for item in items])
    command = ("judge-check", sliders, "runs/gpt-a", "--low", "0")
    assert "go together" in run_vivant(*command, cwd=tmp_path).stderr
    result = run_vivant(*command, "--high", "100", cwd=tmp_path)
    assert "People scored from 0 to 100" in result.stdout, result.stderr


def _check(file: Path, runs: list[Run], scale: tuple[float, float] | None = None) -> Any:
    human = msgspec.structs.replace(read_human_scores(file), scale=scale)
    return join_scores(human, runs, "paper")[0].items


def test_people_scored_the_first_of_repeated_answers_and_judges_are_compared_on_it(tmp_path: Path) -> None:
    runs = _runs(tmp_path, ("gpt-a",))
    with runs[0].dir.log_file.open("ab") as log:
        for record in runs[0].records().values():
            reply = msgspec.structs.replace(record.reply, text="again " * 40, parts=())
            again = msgspec.structs.replace(record, key=f"{record.key}#1", repeat=1, reply=reply)
            log.write(msgspec.json.encode(again) + b"\n")
    run = Run(runs[0].path)
    assert len(run.records()) == 24
    for name in ("openai/j", "openai/k"):
        with serving(lambda _, body: Act(format_verdict(min(6, len(_words(body).split()) // 3)))) as server:
            judge_run(run, [JudgeOptions(model=name, base_url=server.url)])
            assert len(server.requests) == 24
    judged = join_scores(read_human_scores(_people(tmp_path, ("gpt-a",))), [run], "paper")
    assert [(len(judge.items), judge.unmatched) for judge in judged] == [(12, 12)] * 2
    assert not any(item.key.endswith("#1") for judge in judged for item in judge.items)
    ((*_, n, values),) = compare_judges(judged)
    assert (n, values["mae"].value, values["kappa"].value) == (12, 0, 1)
    # Two runs of one model hold other answers to the same samples.
    twice = [msgspec.structs.replace(judge, items=tuple(_in_two_runs(judge.items))) for judge in judged]
    ((*_, n, values),) = compare_judges(twice)
    assert (n, values["mae"].value) == (24, 0)


def _in_two_runs(items: tuple[CalibrationItem, ...]) -> list[CalibrationItem]:
    others = [msgspec.structs.replace(item, run="other", judge=6 - item.judge) for item in items]
    return [*items, *others]


def test_several_judges_stand_beside_each_other(tmp_path: Path) -> None:
    runs = _runs(tmp_path, ("gpt-a",))
    human = read_human_scores(_people(tmp_path, ("gpt-a",)))
    _judge(runs, lambda n, _: Act(format_verdict(n % 7)))
    judge_run(runs[0], [JudgeOptions(model="heuristic")])
    tables = build_judge_tables(human, runs, "paper")
    assert [table.title for table in tables][1] == "Judges among each other"
    assert tables[1].body[0][2] == 12
    assert not any(table.title == "The judges as a panel" for table in tables)  # twelve answers are too few


def test_a_panel_is_weighted_by_agreement(tmp_path: Path) -> None:
    runs, human = _runs(tmp_path), read_human_scores(_people(tmp_path))
    _judge(runs, lambda n, _: Act(format_verdict(n % 7)))
    for run in runs:
        judge_run(run, [JudgeOptions(model="heuristic")])
    (panel,) = (t for t in build_judge_tables(human, runs, "paper") if t.title == "The judges as a panel")
    assert [row[0] for row in panel.body] == ["equal", "by agreement"]
    assert [row[1] for row in panel.body] == [24, 24]


def test_scores_that_do_not_say_whose_answers_are_not_taken_for_everyones(tmp_path: Path) -> None:
    runs = _runs(tmp_path)
    _judge(runs, lambda *_: Act(format_verdict(3)))
    (tmp_path / "people.csv").write_text("id,score\nSA-1,3\nSA-2,5\n")
    human = read_human_scores(tmp_path / "people.csv")
    with pytest.raises(UsageError, match="add a column 'model'"):
        join_scores(human, runs, "paper")
    judged = join_scores(human, runs[:1], "paper")
    assert (len(judged[0].items), judged[0].unmatched) == (2, 10)
    (tmp_path / "people.csv").write_text("id,score\nnope,3\n")
    with pytest.raises(UsageError, match="none of its 1 ids was judged"):
        join_scores(read_human_scores(tmp_path / "people.csv"), runs[:1], "paper")


def test_scores_of_one_run_are_not_given_to_another_of_the_same_model(tmp_path: Path) -> None:
    (run,) = _runs(tmp_path, ("gpt-a",))
    _judge([run], lambda *_: Act(format_verdict(3)))
    shutil.copytree(run.dir.path, tmp_path / "again")
    both, human = [run, Run(tmp_path / "again")], read_human_scores(_people(tmp_path, ("gpt-a",)))
    for join in (lambda: join_scores(human, both, "paper"), lambda: join_ratings(both, human, "paper")):
        with pytest.raises(UsageError, match=r"both by gpt-a; name the run alone whose answers people saw"):
            join()
    assert len(join_ratings(both[1:], human, "paper")) == 1


# ── pairs ──


def test_the_command_line_finds_a_preference_for_the_first_place(tmp_path: Path) -> None:
    _runs(tmp_path)
    people = _people(tmp_path)
    runs = ("runs/gpt-a", "runs/other-b")
    assert run_vivant("score", *runs, "--judge", "heuristic", cwd=tmp_path).returncode == 0
    result = run_vivant("judge-check", people, *runs, "--pairs", "--judge", "first", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "position" in result.stdout
    assert "1.000 [" in result.stdout
    assert "inconsistent" in result.stdout
    alone = run_vivant("judge-check", people, runs[0], "--pairs", cwd=tmp_path)
    assert alone.returncode == 1
    assert "--judge and --pairs go together" in alone.stderr
    rows = run_vivant("judge-check", people, *runs, "--format", "json", cwd=tmp_path)
    assert '"metric": "kappa"' in rows.stdout
    unjudged = run_vivant("judge-check", people, *runs, "--protocol", "strict", cwd=tmp_path)
    assert "has not been judged under the protocol strict" in unjudged.stderr
