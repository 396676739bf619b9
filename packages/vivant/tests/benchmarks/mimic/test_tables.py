"""The paper's two tables, and what can be said of comments without asking anyone."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import pytest

from tests.support.mimic_kit import make_item, write_folder
from vivant.benchmarks.base import ScoredRun, ScoreSettings
from vivant.benchmarks.mimic import Mimic, names, published
from vivant.benchmarks.mimic.panels import JudgedSource, PackOutcome, Panel, PanelAgreement
from vivant.benchmarks.mimic.text_metrics import (
    ComparedComment,
    TextVectors,
    compute_text_figures,
    has_emoji,
    has_question,
    pair_human_comments,
    pick_one_per_video,
    split_words,
)
from vivant.core.errors import DataError, UsageError
from vivant.core.records import Record, Score
from vivant.core.table import to_text
from vivant.core.types import Reply, Sample

BENCHMARK = Mimic()


def make_answered_run(samples: list[Sample], correct: int, run: str = "r") -> ScoredRun:
    """A run in which the first `right` samples are right and the others wrong."""
    rows = []
    for number, sample in enumerate(samples):
        letter = sample.options[sample.key or 0].name if number < correct else "A"
        record = Record(
            key=sample.id, task=sample.task, id=sample.id, options=sample.options, reply=Reply(text=letter)
        )
        rows.append((sample, record, BENCHMARK.score([(sample, record)], ScoreSettings())[0]))
    return ScoredRun(
        run=run, model="m", style="zero-shot", task=samples[0].task, protocol="paper", rows=tuple(rows)
    )


def test_overall_counts_items_and_the_mean_counts_tasks(tmp_path: Path) -> None:
    items = [make_item(n, task) for task in names.THINKING for n in range(4 if task == "title" else 2)]
    root = write_folder(tmp_path, items=items)
    runs = [
        make_answered_run(BENCHMARK.load(root, task), 4 if task == "title" else 0) for task in names.THINKING
    ]
    table = BENCHMARK.tables.build(BENCHMARK, "tasks", runs, "paper")
    row = dict(zip(table.columns, table.body[0], strict=True))
    assert row["Title"] == 100.0 and row["Tag"] == 0.0 and row["n"] == 4 + 6 * 2
    assert row["Overall"] == pytest.approx(100 * 4 / 16)
    assert row["Mean of tasks"] == pytest.approx(100 / 7)
    axes = BENCHMARK.tables.build(BENCHMARK, "axes", runs, "paper")
    assert [(line[1], line[2], line[4]) for line in axes.body] == [
        ("mimic/ciu", pytest.approx(100 * 4 / 6), 6),
        ("mimic/cam", 0.0, 6),
        ("mimic/uiu", 0.0, 4),
        ("mimic/thinking", 25.0, 16),
    ]
    total = next(r for r in table.rows if r.task == "mimic/thinking" and r.run == "r")
    assert total.interval is not None and "clustered" in total.interval_method


def test_the_published_rows_stand_below_with_both_means() -> None:
    for model, values in published.TASKS.items():
        assert len(values) == 8, model
        apart = fmean(values[:-1]) - values[-1]
        assert 1.8 < apart < 3.3, "the published overall is not the mean of the tasks"
    rows = list(published.list_published())
    assert len(rows) == 8 * 8 + 4 + 3
    result = {(r.model, r.task, r.metric): r.value for r in rows}
    assert result["o3", "mimic/comment-popularity", "accuracy"] == 45.5
    assert result["MIMIC-Chat", "mimic/comment", "realism"] == 2.88


def test_a_part_of_the_tasks_has_no_mean(tmp_path: Path) -> None:
    table = BENCHMARK.tables.build(
        BENCHMARK, "tasks", [make_answered_run(BENCHMARK.load(write_folder(tmp_path), "title"), 2)], "paper"
    )
    row = dict(zip(table.columns, table.body[0], strict=True))
    assert row["Overall"] == 50.0 and row["Mean of tasks"] is None and row["Pop"] is None
    assert "Gemini2.5-pro †" in to_text(table)
    with pytest.raises(UsageError, match="mimic/comment"):
        BENCHMARK.tables.build(
            BENCHMARK, "mimicking", [make_answered_run(BENCHMARK.load(tmp_path, "title"), 2)], "paper"
        )


def make_comment_run(root: Path, texts: list[str], **settings: Any) -> ScoredRun:
    samples = BENCHMARK.load(root, "comment")
    rows = tuple(
        (s, None, Score(key=s.id, task=s.task, id=s.id, value=1.0, answer=text) if text else
         Score(key=s.id, task=s.task, id=s.id, status="missing"))
        for s, text in zip(samples, texts, strict=True)
    )  # fmt: skip
    return ScoredRun(
        run="r",
        model="m",
        style="zero-shot",
        task="mimic/comment",
        protocol="paper",
        rows=rows,
        settings=settings,
    )


def test_the_mimicking_table_has_people_beside_the_model(tmp_path: Path) -> None:
    run = make_comment_run(write_folder(tmp_path), ["same words", "same words", "other?", ""])
    table = BENCHMARK.tables.build(BENCHMARK, "mimicking", [run], "paper")
    model, people = (dict[str, Any](zip(table.columns, row, strict=True)) for row in table.body[:2])
    assert people["Source"] == "human comments" and people["Same %"] == 0.0
    assert model["Same %"] == pytest.approx(200 / 3) and model["Asks %"] == pytest.approx(100 / 3)
    assert model["errors"] == 1 and model["Human %"] is None
    assert people["≈ human"] > model["≈ human"]
    assert table.body[2][:3] == ("Video-LLaVA †", 6.3, 0.58)
    assert "Not judged yet" in table.notes[0]


def test_judgements_that_a_score_names_fill_the_first_columns(tmp_path: Path) -> None:
    nothing = PanelAgreement(percent=None, alpha=None, kappa=None, kappa_items=0, realism_alpha=None, items=0)
    sources = (
        JudgedSource(source="m", kind="model", comments=4, unjudged=0, judgements=4, human=25.0, realism=2.0),
        JudgedSource(source="human comments", kind="human", comments=4, unjudged=0, judgements=4, human=90.0),
    )
    panel = Panel(
        name="people", kind="people", annotators=1, judgements=8, sources=sources, agreement=nothing
    )
    file = tmp_path / "judged.json"
    file.write_bytes(msgspec.json.encode(PackOutcome(pack="p", panels=(panel,))))
    run = make_comment_run(write_folder(tmp_path / "d"), ["a b", "c d", "e f", "g h"], judged=str(file))
    table = BENCHMARK.tables.build(BENCHMARK, "mimicking", [run], "paper")
    assert table.body[0][:3] == ("m", 25.0, 2.0) and table.body[1][:3] == ("human comments", 90.0, None)
    file.write_bytes(msgspec.json.encode(PackOutcome(pack="p", panels=(panel, panel))))
    with pytest.raises(UsageError, match="2 panels of judges"):
        BENCHMARK.tables.build(BENCHMARK, "mimicking", [run], "paper")
    file.write_bytes(b"[]")
    with pytest.raises(DataError, match="was not written by"):
        BENCHMARK.tables.build(BENCHMARK, "mimicking", [run], "paper")
    file.unlink()
    with pytest.raises(DataError, match="Cannot read the judgements"):
        BENCHMARK.tables.build(BENCHMARK, "mimicking", [run], "paper")


def test_judgements_belong_to_the_run_that_was_judged(tmp_path: Path) -> None:
    nothing = PanelAgreement(percent=None, alpha=None, kappa=None, kappa_items=0, realism_alpha=None, items=0)
    judged = JudgedSource(source="m", kind="model", comments=4, unjudged=0, judgements=4, human=25.0)
    file = tmp_path / "judged.json"
    run = make_comment_run(write_folder(tmp_path / "d"), ["a b", "c d", "e f", "g h"], judged=str(file))
    named = [
        msgspec.structs.replace(run, run=name, path=name, identity=identity)
        for name, identity in (("r", ("r", "f1")), ("again", ("again", "f1")), ("cot", ("r", "f2")))
    ]

    def build(source: JudgedSource, runs: list[ScoredRun]) -> list[Any]:
        panel = Panel(
            name="people", kind="people", annotators=1, judgements=4, sources=(source,), agreement=nothing
        )
        file.write_bytes(msgspec.json.encode(PackOutcome(pack="p", panels=(panel,))))
        table = BENCHMARK.tables.build(BENCHMARK, "mimicking", runs, "paper")
        return [row[1] for row in table.body[: len(runs)]]

    whole = msgspec.structs.replace(judged, run="r", fingerprint="f1")
    assert build(whole, named) == [25.0, None, None]
    assert build(whole, named[1:2]) == [None]
    assert build(judged, named) == [None, None, None]  # an earlier file, and three runs of the model
    assert build(judged, named[:1]) == [25.0]


# ── text figures ──


def make_comments(*texts: str) -> list[ComparedComment]:
    return [ComparedComment(text=text) for text in texts]


@pytest.mark.parametrize(
    ("text", "emoji", "question", "count"),
    [
        ("plain words", False, False, 2),
        ("so good 😂😂", True, False, 2),
        ("❤️", True, False, 0),
        ("why though?", False, True, 2),
        ("何回も見てる", False, False, 6),
        ("لماذا؟", False, True, 1),
        ("don't @me_now #tag1", False, False, 4),
        ("100 % © ™ 3.5", False, False, 3),
        ("🇫🇷 👩‍👩‍👧", True, False, 0),
    ],
)
def test_words_emoji_and_questions_in_any_script(text: str, emoji: bool, question: bool, count: int) -> None:
    assert (has_emoji(text), has_question(text), len(split_words(text))) == (emoji, question, count)


def test_figures_of_variety_and_repetition() -> None:
    result = compute_text_figures(make_comments("so good", "So good!", "so bad today", "never seen that"))
    assert result is not None
    assert result.repeated == 0.5, "equal but for case and stops"
    assert result.opening == 0.5
    assert result.distinct_1 == pytest.approx(7 / 10)
    assert result.distinct_2 == pytest.approx(5 / 6)
    assert result.words == 2.5 and result.characters == 10.0
    assert result.to_human is None
    assert compute_text_figures([]) is None


def test_a_model_is_compared_with_as_many_comments_as_a_person_is() -> None:
    texts = ["I love this cat", "what a lovely kitten", "the stock market fell"]
    people = pair_human_comments("A cat plays", texts)
    assert [len(c.others) for c in people] == [2, 2, 2]
    model = [
        ComparedComment(text="this cat is lovely", description="A cat plays", others=tuple(texts), spare=True)
    ]
    vectors = TextVectors([people, model])
    cosines = vectors.compute_cosines(model[0].text, texts)
    assert cosines == sorted(cosines, reverse=True)
    result = compute_text_figures(model, vectors)
    assert result is not None and result.to_description is not None
    assert result.to_human == pytest.approx((2 * cosines[0] + cosines[1]) / 3)
    restated = compute_text_figures(
        [ComparedComment(text="A cat plays", description="A cat plays")],
        TextVectors(
            [make_comments("A cat plays"), [ComparedComment(text="A cat plays", description="A cat plays")]]
        ),
    )
    assert restated is not None and restated.to_description == pytest.approx(1.0, abs=1e-5)


def test_one_human_comment_a_video_is_drawn_by_seed() -> None:
    groups = [pair_human_comments("", [f"{v}-{n}" for n in range(5)]) for v in range(20)]
    assert pick_one_per_video(groups) == pick_one_per_video(groups)
    assert [c.text.split("-")[0] for c in pick_one_per_video(groups)] == [str(v) for v in range(20)]
    assert pick_one_per_video(groups, seed=1) != pick_one_per_video(groups)
    assert len(pick_one_per_video([[], *groups[:1]])) == 1, "a video without comments gives none"
