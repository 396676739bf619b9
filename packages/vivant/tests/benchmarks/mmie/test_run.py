"""MMIE from answers to tables: prepared ones, a model's own with pictures, both protocols, exports, bad answers."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.fault_server import Act, FaultServer, serving
from tests.support.helpers import picture
from tests.support.mmie_kit import (
    compute_averages,
    format_verdict,
    list_judge_inputs,
    make_entry,
    make_part,
    run_vivant,
    write_answers,
    write_three_answers,
)
from vivant.benchmarks import registry
from vivant.core.table import to_json, to_text
from vivant.core.types import Image
from vivant.engine.evaluation import evaluate
from vivant.judging.judge_run import judge_run
from vivant.judging.options import JudgeOptions
from vivant.runs.importing import export_result, import_answers
from vivant.runs.judgements import list_judgements
from vivant.runs.overview import build_layout, build_overview
from vivant.runs.run import Run


def serve_judge(run: Run, behave: Any, protocol: Any = "paper", **more: Any) -> FaultServer:
    with serving(behave) as server:
        options = JudgeOptions(model="openai/j", base_url=server.url, **more)
        judge_run(run, [options], protocol)
    return server


def get_shown(body: dict[str, Any]) -> tuple[str, int]:
    """The user's text with a mark for each picture, and how many there are."""
    pieces = body["messages"][1]["content"]
    if isinstance(pieces, str):
        return pieces, 0
    text = "".join(piece.get("text", "<image>") for piece in pieces)
    return text, sum(piece["type"] == "image_url" for piece in pieces)


def test_parity_through_the_whole_path(parity: Path, tmp_path: Path) -> None:
    """The requests that reach a judge hold the expected texts, with the pictures where their marks stand."""
    folder = parity / "mmie"
    (run,) = import_answers(["mmie"], folder, str(tmp_path / "run"))
    server = serve_judge(run, lambda *_: Act(format_verdict(3)))
    texts = sorted(get_shown(body) for body in server.requests)
    assert len(texts) == 80
    for expected in list_judge_inputs(folder):
        result = [
            pictures
            for text, pictures in texts
            if f">>>\n{expected.question}\n<<<end question" in text
            and f">>>\n{expected.answer}\n<<<end answer" in text
        ]
        assert len(expected.images) in result
        reference = any(f">>>\n{expected.gt_answer}\n<<<end reference" in text for text, _ in texts)
        assert reference == expected.id.startswith("MSR")
    export_result(run, "paper")
    entries = json.loads((run.dir.path / "eval_result.json").read_text())
    by_id = {entry["id"]: entry for entry in entries}
    for expected in list_judge_inputs(folder):
        mine = by_id[expected.id]
        assert (mine["question"], mine["answer"]) == (expected.question, expected.answer)
        assert tuple(mine["images"]) == expected.images
        assert mine["gpt_feedback"] == format_verdict(3)


def test_published_feedback_gives_the_published_means(parity: Path, tmp_path: Path) -> None:
    """Other people's judgements, replayed as a judge: all scores and means equal."""
    expected = json.loads((parity / "mmie" / "expected_scores.json").read_text())
    folder = write_answers(tmp_path / "in", [make_entry(entry["id"]) for entry in expected["feedback"]])
    (tmp_path / "said.json").write_text(json.dumps(expected["feedback"]))
    (run,) = import_answers(["mmie"], folder, str(tmp_path / "run"))
    judge_run(run, [JudgeOptions(model=f"replay/{tmp_path / 'said.json'}", attempts=1)])
    scores = {s.id: s for scored in run.scores() for _, _, s in scored.rows}
    for entry in expected["feedback"]:
        inside = entry["score"] is not None and 0 <= entry["score"] <= 6
        assert scores[entry["id"]].status == ("scored" if inside else "unparsed")
        if inside:
            assert scores[entry["id"]].detail["figure"] == entry["score"]
    table = build_layout("mmie:main", [run], "paper")
    cells = dict(zip(table.columns, table.body[0], strict=True))
    for name in ("SA", "PBL", "MSR", "AVG"):
        on_scale, percent = cells[f"{name} /6"], cells[f"{name} %"]
        assert isinstance(on_scale, float)
        assert isinstance(percent, float)
        assert round(on_scale, 3) == expected["aggregate"][name]
        assert percent == pytest.approx(on_scale / 6 * 100)
    assert cells["n"] == expected["aggregate"]["n"]
    assert cells["unparsed"] == 60 - expected["aggregate"]["n"]
    assert any("could not be read" in note for note in table.notes)


def test_strict_shows_everything_and_says_what_it_cannot_show(tmp_path: Path) -> None:
    answer = [make_part(f"Step {n}", f"images/{n}.png") for n in range(5)] + [
        make_part("gone", "images/gone.png")
    ]
    folder = write_answers(
        tmp_path / "in",
        [make_entry("MSR-1", answer, gt_answer=[make_part("So", "images/5.png"), make_part("and so")])],
    )
    (run,) = import_answers(["mmie"], folder, str(tmp_path / "run"))
    paper = get_shown(serve_judge(run, lambda *_: Act(format_verdict(1))).requests[0])
    assert paper[1] == 3
    assert "Step 2" not in paper[0]
    assert "and so" not in paper[0]
    strict = get_shown(serve_judge(run, lambda *_: Act(format_verdict(1)), "strict").requests[0])
    assert strict[1] == 7
    assert all(f"Step {n}" in strict[0] for n in range(5))
    assert "Image-6: (missing)" in strict[0]
    assert "and so" in strict[0]
    limited = serve_judge(run, lambda *_: Act(format_verdict(1)), "strict", max_images=2)
    text, pictures = get_shown(limited.requests[0])
    assert pictures == 2
    assert text.count("not shown, the judge takes 2") == 5
    record = next(
        r for entry in list_judgements(run.dir.path, "strict") for *_, r in entry.records() if r.lost_images
    )
    assert record.lost_images == 5
    assert any("not shown to the judge in full" in note for note in build_overview([run], "strict").notes)


def test_pictures_that_are_none_and_pictures_that_are_missing(tmp_path: Path) -> None:
    items = [
        make_entry("SA-1", [make_part("a", "images/bad.png")]),
        make_entry("SA-2", [make_part("a", "images/none.png")]),
    ]
    folder = write_answers(tmp_path / "in", items)
    (folder / "images" / "bad.png").write_text("this is text")
    (run,) = import_answers(["mmie"], folder, str(tmp_path / "run"))
    serve_judge(run, lambda *_: Act(format_verdict(4)))
    scores = {s.id: s for scored in run.scores() for _, _, s in scored.rows}
    assert scores["SA-1"].status == "missing"
    assert "images/bad.png" in scores["SA-1"].rule
    assert scores["SA-2"].status == "scored"
    assert scores["SA-2"].detail["unseen"] == ["missing: images/none.png"]
    row = build_overview([run]).rows[0]
    assert (row.n, row.errors) == (1, 1)
    # The sound protocol says to the judge what it cannot see, and goes on.
    serve_judge(run, lambda *_: Act(format_verdict(4)), "strict")
    assert {s.status for scored in run.scores("strict") for _, _, s in scored.rows} == {"scored"}


def test_left_out_and_without_category_are_counted_not_failed(tmp_path: Path) -> None:
    five = [make_part("q", f"images/{n}.png") for n in range(5)]
    folder = write_answers(
        tmp_path / "in", [make_entry("SA-1"), make_entry("SA-2", question=five), make_entry("x-1")]
    )
    (run,) = import_answers(["mmie"], folder, str(tmp_path / "run"))
    server = serve_judge(run, lambda *_: Act(format_verdict(6)))
    assert len(server.requests) == 1
    status = {s.id: s.status for scored in run.scores() for _, _, s in scored.rows}
    assert status == {"SA-1": "scored", "SA-2": "excluded", "x-1": "excluded"}
    table = build_layout("mmie:main", [run], "paper")
    cells = dict(zip(table.columns, table.body[0], strict=True))
    assert (cells["n"], cells["errors"], cells["left out"], cells["AVG %"]) == (1, 0, 2, 100.0)
    assert any("2 answers left out" in note for note in table.notes)
    assert any("left out" in note for note in build_overview([run]).notes)


def test_a_model_that_writes_pictures(tmp_path: Path) -> None:
    data = picture(tmp_path / "drawn.png", (1, 2, 3))
    url = f"data:image/png;base64,{b64encode(data).decode()}"
    content = [
        {"type": "text", "text": "First"},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "text", "text": "then"},
    ]
    message = {
        "role": "assistant",
        "content": content,
        "images": [{"type": "image_url", "image_url": {"url": url}}],
    }
    body = msgspec.json.encode({"choices": [{"message": message, "finish_reason": "stop"}]})

    def behave(_: int, request: dict[str, Any]) -> Act:
        return Act(format_verdict(5)) if "Judge it now" in json.dumps(request) else Act(body=body)

    with serving(behave) as server:
        run = evaluate(
            "mmie/sa",
            "openai/painter",
            data=("mini",),
            limit=2,
            out=str(tmp_path / "run"),
            base_url=server.url,
        )
        again = evaluate(
            "mmie/sa",
            "openai/painter",
            data=("mini",),
            limit=2,
            out=str(tmp_path / "again"),
            base_url=server.url,
        )
        judge_run(run, [JudgeOptions(model="openai/j", base_url=server.url)])
        requests = [r for r in server.requests if "Judge it now" in json.dumps(r)]
    for entry in (run, again):
        (saved,) = (entry.dir.path / "media").iterdir()
        assert saved.read_bytes() == data
        for record in entry.records().values():
            paths = [piece.path for piece in record.reply.parts if isinstance(piece, Image)]
            assert paths == [f"run:media/{saved.name}"] * 2
    assert all(record.cached for record in again.records().values())
    assert len(requests) == 2
    assert all(get_shown(request)[1] == 3 for request in requests)  # two of the question, one before the stop
    assert "base64" not in (run.dir.path / "log.jsonl").read_text()


def test_a_reply_whose_picture_cannot_be_kept_is_an_error_of_that_sample(tmp_path: Path) -> None:
    message = {
        "content": [{"type": "text", "text": "x"}, {"image_url": {"url": "data:image/png;base64,###"}}]
    }
    body = msgspec.json.encode({"choices": [{"message": message}]})
    with serving(lambda *_: Act(body=body)) as server:
        run = evaluate(
            "mmie/sa",
            "openai/painter",
            data=("mini",),
            limit=1,
            out=str(tmp_path / "run"),
            base_url=server.url,
        )
    (record,) = run.records().values()
    assert record.reply.status == "error"
    assert "no base64" in record.reply.error


def test_exports_are_read_back_as_the_same_answers(tmp_path: Path) -> None:
    folder = write_three_answers(tmp_path / "in")
    (run,) = import_answers(["mmie"], folder, str(tmp_path / "run"))
    serve_judge(run, lambda *_: Act(format_verdict(2)))
    benchmark = registry.get("mmie")
    (tmp_path / "out").mkdir()
    (data,) = benchmark.native.export(run.scores(), "eval_input", tmp_path / "out")
    (result,) = benchmark.native.export(run.scores(), "eval_result", tmp_path / "out")
    mine, reference = list_judge_inputs(tmp_path / "out"), list_judge_inputs(folder)
    assert [(m.id, m.question, m.answer, m.gt_answer) for m in mine] == [
        (t.id, t.question, t.answer, t.gt_answer) for t in reference
    ]
    assert data.name == "data.json"
    scores = [(entry["id"], entry["score"]) for entry in json.loads(result.read_text())]
    assert compute_averages(scores) == {"SA": 2.0, "PBL": 2.0, "MSR": 2.0, "AVG": 2.0, "n": 3}


def test_tables_in_every_layout_beside_the_leaderboard(tmp_path: Path) -> None:
    (run,) = import_answers(["mmie"], write_three_answers(tmp_path / "in"), str(tmp_path / "run"))
    serve_judge(run, lambda *_: Act(format_verdict(3)), samples=2)
    main = to_text(build_layout("mmie:main", [run], "paper"))
    assert "Anole †" in main
    assert "55.22" in main
    assert "Qwen-VL-70b + Flux †" in main
    fields = build_layout("mmie:fields", [run], "paper")
    assert {row.group["field"] for row in fields.rows} == {"unstated"}
    judges = build_layout("mmie:judges", [run], "paper")
    assert judges.body[0][:2] == (run.name, "openai/j")
    assert any("MMIE-Score: Pearson 0.113" in note for note in judges.notes)
    rows = json.loads(to_json([build_layout("mmie:main", [run], "paper")]))
    assert {"mmie/sa", "mmie/pbl", "mmie/msr", "mmie"} <= {row["task"] for row in rows}


def test_the_published_average_is_over_items() -> None:
    from vivant.benchmarks.mmie.published import SIZES, list_leaderboard

    assert len(list_leaderboard()) == 20
    for model, _, (story, project, reasoning, mean) in list_leaderboard():
        weighted = (story * SIZES["SA"] + project * SIZES["PBL"] + reasoning * SIZES["MSR"]) / sum(
            SIZES.values()
        )
        assert weighted == pytest.approx(mean, abs=0.013), model


def test_answers_of_two_models_become_two_runs(tmp_path: Path) -> None:
    write_answers(tmp_path / "in", [make_entry("SA-1"), make_entry("SA-1", "Better.", model="b/two")])
    result = run_vivant("run", "mmie", "--answers", "in", "--judge", "heuristic", "-o", "out", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["b-two", "writer"]
    assert (tmp_path / "out" / "writer" / "eval_result.json").is_file()
