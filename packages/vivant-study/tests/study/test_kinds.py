"""The newer designs: best and worst, sliders, spans, follow-ups; training, adaptive allocation, queues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.study.test_new import make, mmie_run
from tests.support.study_kit import judged, tiny_study
from tests.support.study_web import Walker, build_app, invite_walker, open_served_store
from vivant.analysis.correction.people_files import load_people
from vivant.core.errors import UsageError
from vivant.metrics.spans import overlap
from vivant_study.adaptive import measure_disagreement
from vivant_study.check import check_study
from vivant_study.design import AdaptiveAllocation, Kind
from vivant_study.export import export_study
from vivant_study.loading import LoadedStudy, load_study
from vivant_study.report.measures import compute_measures
from vivant_study.report.study import build_study_report
from vivant_study.report.tables import compute_mean
from vivant_study.results import load_results
from vivant_study.server.tokens import Tokens
from vivant_study.store.people import invite
from vivant_study.writing import write_study


def rewrite(loaded: LoadedStudy, change: Any, **settings: Any) -> LoadedStudy:
    """The study with its items changed one by one."""
    items = [change(number, item) for number, item in enumerate(loaded.items)]
    study = msgspec.structs.replace(loaded.study, **settings)
    write_study(loaded.path, study, items, (), loaded.texts)
    return load_study(loaded.path)


def means(loaded: LoadedStudy) -> dict[tuple[str, str], float]:
    """Mean of each measure, by its name and source."""
    result = {}
    collected = load_results(loaded.path)
    for measure in compute_measures(collected, collected.iter_counted()):
        for source in {value.source for value in measure.values}:
            values = [value for value in measure.values if value.source == source]
            result[measure.name, source] = compute_mean(measure, values)[0]
    return result


# ── from runs and benchmarks ──


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Three runs on the same samples."""
    return [
        mmie_run(tmp_path, f"r{n}", {"sa-1": f"story {n}", "sa-2": f"tale {n}"}, f"model-{n}").dir.path
        for n in range(3)
    ]


def test_several_answers_side_by_side(tmp_path: Path, runs: list[Path]) -> None:
    for kind, parts in (("best-worst", 3), ("sliders", 3)):
        _, loaded, key = make(tmp_path / kind, kind, *runs, checks=1)  # type: ignore[arg-type]
        asked = [item for item in loaded.items if not item.check]
        assert [len(item.parts) for item in asked] == [parts, parts]
        for item in asked:
            assert set(key[item.id].sources.values()) == {"model-0", "model-1", "model-2"}
            assert "model" not in msgspec.json.encode(item).decode()
        assert check_study(loaded.path).faults == ()
    with pytest.raises(UsageError, match="made from 3 or more runs"):
        make(tmp_path / "few", "best-worst", *runs[:2])


@pytest.mark.parametrize("kind", ["spans", "free-follow-up"])
def test_questions_without_options(tmp_path: Path, kind: Kind) -> None:
    made, loaded, key = make(
        tmp_path / "s", kind, "mime", data=("mini",), limit=6, checks=1, question="Look!"
    )
    asked = [item for item in loaded.items if not item.check]
    assert len(asked) == made.items == 6
    assert all(item.question == "Look!" and not item.options for item in asked)
    assert all(key[item.id].accepted for item in asked)
    assert check_study(loaded.path).faults == ()


# ── answering ──


def test_best_and_worst_differ(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "best-worst", watch_whole=False)
    with open_served_store(loaded) as store:
        walker = invite_walker(build_app(loaded, store), store)
        answer = walker.send("/study/answer", {"page": walker.page, "best": "1", "worst": "1"})
        assert (answer.status_code, "must be two different ones" in walker.text) == (422, True)
        assert walker.send("/study/answer", {"page": walker.page, "best": "1"}).status_code == 422
        assert (
            walker.send("/study/answer", {"page": walker.page, "best": "1", "worst": "9"}).status_code == 400
        )
        walker.get("/study")
        walker.script("/study/save", fields={"best": "3"})
        walker.get("/study")
        assert 'name="best" value="3" aria-label="Answer 4 is best" checked' in walker.answer.text


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("0.2-0.6", [[0.2, 0.6]]),
        ("1:02-1:04.5, 3 – 5;", [[3.0, 5.0], [62.0, 64.5]]),
        ("5-3", None),
        ("a-b", None),
        ("", None),
        ("1-2-3", None),
        ("nan-inf", None),
    ],
)
def test_spans_are_read(tmp_path: Path, text: str, spans: Any) -> None:
    loaded = tiny_study(tmp_path / "s", "spans", watch_whole=False)
    with open_served_store(loaded) as store:
        walker = invite_walker(build_app(loaded, store), store)
        walker.send("/study/answer", {"page": walker.page, "spans": text})
        assert walker.answer.status_code == (200 if spans else 422)
        assert [judgement.answer for judgement in store.judgements()] == ([spans] if spans else [])


def test_nothing_is_an_answer_too(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "spans", watch_whole=False)
    with open_served_store(loaded) as store:
        walker = invite_walker(build_app(loaded, store), store)
        both = walker.send("/study/answer", {"page": walker.page, "spans": "1-2", "nothing": "yes"})
        assert both.status_code == 422
        walker.send("/study/answer", {"page": walker.page, "nothing": "yes"})
        assert [judgement.answer for judgement in store.judgements()] == [[]]


def test_a_follow_up_shows_what_was_written(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "free-follow-up", watch_whole=False)
    loaded = rewrite(
        loaded, lambda _, item: msgspec.structs.replace(item, follow_up="Which second tells you?")
    )
    with open_served_store(loaded) as store:
        walker = invite_walker(build_app(loaded, store), store)
        walker.send("/study/answer", {"page": walker.page, "text": "they <row>"})
        assert "they <row>" in walker.text
        assert "Which second tells you?" in walker.text
        assert walker.send("/study/answer", {"page": walker.page, "text": "the oar"}).status_code == 422
        walker.send("/study/answer", {"page": walker.page, "text": "the oar", "scale.sure.0": "4"})
        assert [judgement.answer for judgement in store.judgements()] == [
            "they <row>",
            {"text": "the oar", "sure": 4},
        ]


# ── figures ──


def test_figures_of_the_newer_kinds(tmp_path: Path) -> None:
    best = tiny_study(tmp_path / "b", "best-worst")
    judged(best, ["x", "y"], lambda *_: {"best": 0, "worst": 1})
    # Parts are by two sources in turn: 0 and 2 of the first, 1 and 3 of the second.
    assert means(best)["best-worst", "human comments"] == pytest.approx(0.5)
    assert means(best)["best-worst", "model-x"] == pytest.approx(-0.5)
    spans = tiny_study(tmp_path / "s", "spans")
    marks = {"x": [[0, 4]], "y": [[2, 4]], "z": [[0, 4]]}
    judged(spans, list(marks), lambda name, *_: marks[name])
    assert means(spans)["overlap", ""] == pytest.approx(100 * (0.5 + 1 + 0.5) / 3)
    assert means(spans)["seconds marked", ""] == pytest.approx(10 / 3)
    slides = tiny_study(tmp_path / "l", "sliders")
    judged(slides, ["x", "y"], lambda _, __, ___, part: {"quality": 80 if part.endswith("1") else 20})
    assert means(slides)["quality", "model-x"] == pytest.approx(80)
    follow = tiny_study(tmp_path / "f", "free-follow-up")
    judged(
        follow, ["x", "y"], lambda _, __, page, ___: "rowing" if page == "free" else {"text": "t", "sure": 3}
    )
    assert means(follow)["sure", ""] == pytest.approx(3)
    for loaded in (best, spans, slides, follow):
        collected = load_results(loaded.path)
        assert build_study_report(collected).results.body
        files = export_study(collected, loaded.path / "out", ("jsonl", "csv", "parquet")).files
        assert all(file.exists() for file in files)
    assert (slides.path / "out" / "human_scores.csv").exists()
    (hint,) = export_study(load_results(slides.path), tmp_path / "again").hints
    assert hint.endswith("--low 0 --high 100")
    with pytest.raises(
        UsageError, match=r"sliders, whose scale from 0 to 100 does not fit the judge's \(sliders\)"
    ):
        load_people([slides.path])
    with pytest.raises(UsageError, match="name the best and the worst"):
        load_people([best.path])


def test_overlap_of_spans() -> None:
    assert overlap([], []) == 1
    assert overlap([[0, 1]], []) == 0
    assert overlap([[0, 2], [1, 3]], [[0, 3]]) == 1, "spans that overlap are one"
    assert overlap([[0, 2]], [[1, 3]]) == pytest.approx(1 / 3)


# ── training ──


def test_training_comes_first_and_does_not_count(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", watch_whole=False)
    loaded = rewrite(
        loaded,
        lambda number, item: msgspec.structs.replace(
            item, training=number < 2, expected={"choose": 1} if number < 2 else {},
            explanation={"en": "See the oars.", "zh": "看船桨。"} if number < 2 else {},
        ),
    )  # fmt: skip
    with open_served_store(loaded) as store:
        walker = invite_walker(build_app(loaded, store), store)
        for choose_right in (True, False):
            options = walker.options()
            right = options.index("rowing")
            walker.next(str(right if choose_right else (right + 1) % 4))
            assert ("That is right" if choose_right else "That is not it") in walker.text
            assert "The right answer: rowing" in " ".join(walker.text.replace('<b dir="auto">', "").split())
            assert "See the oars." in walker.text
            address = walker.answer.url.path
            walker.get("/study")
        assert walker.get(address.removeprefix(walker.root)).status_code == 200, "it can be looked at again"
        walker.get("/study")
        assert walker.walk() == 3
        assert [line.item for line in store.progress().items] == [f"item-{n}" for n in range(2, 6)][
            :3
        ] or len(store.progress().items) == 3
    collected = load_results(loaded.path)
    assert {judgement.item for judgement in collected.iter_counted()} & {"item-0", "item-1"} == set()
    assert len(collected.judgements) == 5


def test_feedback_of_what_is_no_training_tells_nothing(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", watch_whole=False)
    with open_served_store(loaded) as store:
        walker = invite_walker(build_app(loaded, store), store)
        page = walker.page
        assert walker.get(f"/study/feedback/{page}").url.path == "/study"
        walker.get("/study")
        walker.next()
        assert walker.get(f"/study/feedback/{page}").url.path == "/study"
        assert walker.get("/study/feedback/nothing").status_code == 404


def test_items_are_taken_out_for_training(tmp_path: Path) -> None:
    made, loaded, key = make(tmp_path / "s", "mcq", "mmrv", data=("mini",), training=2)
    training = [item for item in loaded.items if item.training]
    assert len(training) == 2
    assert made.items == len(loaded.items) - 2
    assert not {item.id for item in training} & set(key), "their answers are told, so they are no secret"
    assert not any("no right option" in note for note in check_study(tmp_path / "s", media=False).notes)


# ── allocation ──


def test_disputed_items_get_more_judgements(tmp_path: Path) -> None:
    adaptive = AdaptiveAllocation(most=5)
    loaded = tiny_study(
        tmp_path / "s",
        count=4,
        items_per_participant=4,
        judgements_per_item=2,
        watch_whole=False,
        adaptive=adaptive,
    )
    with open_served_store(loaded) as store:
        app = build_app(loaded, store)
        for number in range(8):
            walker = Walker(app)
            walker.get(f"/join/{invite(store, 1)[0]}")
            walker.post("/study/consent", agree="yes")
            if "All places" in walker.text:
                break
            walker.send("/study/about", {"about.age": "1"})
            walker.post("/study/begin")
            while walker.page:
                options = walker.options()
                with store.database.read() as connection:
                    from vivant_study.store.participant_state import load_state

                    participant = int(
                        walker.client.cookies[Tokens(store.secret).session_cookie].partition(".")[0]
                    )
                    state = load_state(connection, loaded.study, participant)
                assert state is not None and state.current is not None
                disputed = state.current.item == "item-1"
                wanted = ("digging", "rowing", "sweeping")[number % 3] if disputed else "casting"
                walker.next(str(options.index(wanted)))
        counts = {line.item: line.finished for line in store.progress().items}
    assert counts == {"item-0": 2, "item-1": 5, "item-2": 2, "item-3": 2}
    collected = load_results(loaded.path)
    assert collected.weights == {"item-0": 1.0, "item-1": 0.4, "item-2": 1.0, "item-3": 1.0}
    export_study(collected, tmp_path / "out")
    lines = [
        msgspec.json.decode(line)
        for line in (tmp_path / "out" / "judgements.jsonl").read_bytes().splitlines()
    ]
    assert {(line["item"], line["weight"]) for line in lines} == set(collected.weights.items())
    # item-1 is right (option 1) for two of five, item-3 (option 3) for all, the others for nobody.
    share = (0 + 2 / 5 + 0 + 1) / 4
    right = next(m for m in compute_measures(collected, collected.iter_counted()) if m.name == "accuracy")
    assert compute_mean(right, right.values)[0] == pytest.approx(100 * share, abs=0.01)


def test_disagreement() -> None:
    study = load_default()
    assert measure_disagreement(study, {("choose", ""): [1, 1, 1]}) == 0
    assert measure_disagreement(study, {("choose", ""): [1, 2, 3, 1]}) == 0.5
    assert measure_disagreement(study, {("rate", "a"): [{"coherence": 0}, {"coherence": 6}]}) == 1
    assert measure_disagreement(study, {("free", ""): ["a", "b"]}) == 0


def load_default() -> Any:
    from tests.support.study_kit import CRITERIA
    from vivant_study.design import Study

    return Study(kind="rating", title={"en": "x"}, criteria=CRITERIA)


def test_one_person_stays_in_one_queue(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", count=6, watch_whole=False, queue="angle", judgements_per_item=2)
    assert "4 participants" in check_study(loaded.path).summary
    with open_served_store(loaded) as store:
        app = build_app(loaded, store)
        for _ in range(4):
            invite_walker(app, store).walk()
        assert {line.finished for line in store.progress().items} == {2}
        queues: dict[str, set[str]] = {}
        for judgement in store.judgements():
            queues.setdefault(judgement.annotator, set()).add(loaded.by_id[judgement.item].facets["angle"])
    assert all(len(values) == 1 for values in queues.values())
    assert len(queues) == 4
