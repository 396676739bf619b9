"""What a report says about a study: figures that can be checked by hand, and people who do not pay attention."""

from __future__ import annotations

import itertools
import math
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.runs_kit import call
from tests.support.study_kit import SOURCES, judged, tiny_study
from vivant.core.errors import VivantError
from vivant.core.randomness import derive_generator
from vivant.core.table import Table
from vivant_study.design import KeyLine, Kind, Study, StudyItem, StudyText
from vivant_study.judgement import StudyJudgement, StudyPerson
from vivant_study.loading import LoadedStudy
from vivant_study.report.annotators import compute_annotator_statistics, upper_tail
from vivant_study.report.page import build_page, list_tables
from vivant_study.report.study import build_study_report
from vivant_study.results import StudyResults, load_results
from vivant_study.store import open_store


def number(item: StudyItem) -> int:
    return int(item.id.rpartition("-")[2])


def cell(table: Table, row: str, column: str) -> Any:
    """A cell by the words that its row begins with."""
    result = [line for line in table.body if any(str(c) == row for c in line[:2])]
    assert len(result) == 1, f"{row} stands {len(result)} times in {table.title}"
    return result[0][table.columns.index(column)]


# ── figures ──


def choose(name: str, item: StudyItem, page: str, _part: str) -> Any:
    """Ann is always right; Bob chooses 0; Cat is right at angle 0 alone."""
    good = number(item) % 4
    if page == "free":
        return item.options[good].upper() + "!" if name == "ann" else "no idea"
    return {"ann": good, "bob": 0, "cat": good if item.facets["angle"] == "0" else (good + 1) % 4}[name]


def test_accuracy_by_facet_with_intervals_that_count_people(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "free-then-mcq", count=8)
    judged(loaded, ["ann", "bob", "cat"], choose)
    report = build_study_report(load_results(tmp_path / "s"))
    # Ann 8, Bob 2 (items 0 and 4), Cat 4.
    assert cell(report.results, "Right choices, %", "mean") == pytest.approx(100 * 14 / 24)
    assert cell(report.results, "Right choices, %", "chance") == 25
    row = next(r for r in report.results.rows if r.metric == "accuracy")
    assert (row.n, row.model) == (24, "human")
    assert row.interval is not None
    assert row.interval[0] < 100 * 14 / 24 < row.interval[1]
    assert "two-way clustered" in row.interval_method
    free = next(r for r in report.results.rows if r.metric == "free")
    assert free.value == pytest.approx(100 / 3)
    by_angle = next(table for table in report.facets if table.title.endswith("by angle"))
    assert [r.group["angle"] for r in by_angle.rows] == ["0", "90"]
    assert [r.value for r in by_angle.rows] == pytest.approx([100 * 10 / 12, 100 * 4 / 12])
    only = build_study_report(load_results(tmp_path / "s"), ["actor"]).facets
    assert [table.title for table in only] == ["Right choices, % by actor"]
    with pytest.raises(VivantError, match="Unknown facet 'weather'"):
        build_study_report(load_results(tmp_path / "s"), ["weather"])


def test_agreement_is_percent_alpha_and_kappa(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", count=4)
    judged(loaded, ["ann", "bob"], lambda name, item, *_: number(item) % 2 if name == "ann" else 0)
    table = build_study_report(load_results(tmp_path / "s")).agreement
    assert cell(table, "Option", "percent") == 50
    # Ann 0101, Bob 0000: two of four pairs differ; of eight values two are 1.
    assert cell(table, "Option", "Krippendorff's alpha") == pytest.approx(1 - (2 / 4) / (2 * 6 * 2 / (8 * 7)))
    assert cell(table, "Option", "Fleiss' kappa") == pytest.approx((0.5 - 0.625) / (1 - 0.625))
    assert cell(table, "Option", "judged twice") == 4


def test_figures_with_excluded_people_stand_beside(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", count=8)
    judged(loaded, ["ann", "bob", "cat"], choose)
    with open_store(tmp_path / "s") as store:
        store.exclude("bob", "chose the first option throughout")
    report = build_study_report(load_results(tmp_path / "s"))
    assert cell(report.results, "Right choices, %", "mean") == pytest.approx(100 * 12 / 16)
    assert cell(report.results, "Right choices, %", "with excluded") == pytest.approx(100 * 14 / 24)
    assert [line[1] for line in report.agreement.body] == ["counted people", "with excluded"]
    assert report.exclusions.body == (("bob", "chose the first option throughout", 8),)
    assert cell(report.progress, "Excluded people", "so far") == 1
    assert cell(report.progress, "Items judged by excluded people", "so far") == 8
    # Facets leave them out too.
    assert all(row.n == 8 for row in report.facets[0].rows)


def test_times_are_quartiles_over_items_with_both_pages_together(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "free-then-mcq", count=5)
    judged(loaded, ["ann"], choose, seconds=lambda _, item: float(10 * (number(item) + 1)))
    table = build_study_report(load_results(tmp_path / "s")).times
    for page, factor in (("free", 1), ("choose", 1), ("both pages", 2)):
        shown = [cell(table, page, name) for name in ("median", "lower quartile", "upper quartile", "n")]
        assert shown == [30 * factor, 20 * factor, 40 * factor, 5]


def test_comments_are_reported_by_who_wrote_them(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "blind-comments", count=4)

    def verdict(name: str, _item: StudyItem, _page: str, part: str) -> dict[str, Any]:
        human = not part.endswith("-1")
        return {"verdict": "human" if human or name == "bob" else "ai", "realism": 4 if human else 1}

    judged(loaded, ["ann", "bob"], verdict)
    report = build_study_report(load_results(tmp_path / "s"))
    shares = {r.group["source"]: r.value for r in report.results.rows if r.metric == "judged human"}
    assert shares == {SOURCES[0]: 100.0, SOURCES[1]: 50.0}
    real = {r.group["source"]: r.value for r in report.results.rows if r.metric == "realism"}
    assert real == {SOURCES[0]: 4.0, SOURCES[1]: 1.0}
    assert next(r.value for r in report.results.rows if r.metric == "accuracy") == pytest.approx(
        100 * 20 / 24
    )
    assert [line[0] for line in report.agreement.body] == ["Verdict", "realism"]


def test_pairs_give_each_source_its_share(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "pairwise", count=4)
    answers = {"ann": "first", "bob": "tie"}
    judged(loaded, list(answers), lambda name, *_: answers[name])
    report = build_study_report(load_results(tmp_path / "s"))
    # The kit's first part is always by the first source.
    shares = {r.group["source"]: r.value for r in report.results.rows if r.metric == "preferred"}
    assert shares == {SOURCES[0]: 75.0, SOURCES[1]: 25.0}
    assert cell(report.results, "Ties, %", "mean") == 50
    with open_store(tmp_path / "s") as store:
        store.exclude("bob", "ties")
    # Ann prefers the first throughout: four items leave room for doubt all the same.
    row = build_study_report(load_results(tmp_path / "s")).results.rows[0]
    assert row.value == 100
    assert row.interval is not None
    assert row.interval[0] < 80


def test_ratings_are_summed_where_no_criterion_is_the_score(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "rating", count=6)
    judged(loaded, ["ann", "bob"], lambda _, item, *__: {"coherence": number(item), "help": 6})
    report = build_study_report(load_results(tmp_path / "s"))
    assert cell(report.results, "Sum of all criteria, 0–12", "mean") == 8.5
    assert cell(report.results, "help, 0–6", "mean") == 6
    # All the same is no certainty.
    assert cell(report.results, "help, 0–6", "95 % interval") is None


# ── people ──


@given(st.lists(st.floats(0, 1), max_size=8), st.integers(-1, 10))
@settings(max_examples=80, deadline=None)
def test_the_exact_test_is_the_sum_over_all_outcomes(chances: list[float], hits: int) -> None:
    total = 0.0
    for outcome in itertools.product((0, 1), repeat=len(chances)):
        if sum(outcome) >= hits:
            pairs = zip(outcome, chances, strict=True)
            total += math.prod(chance if hit else 1 - chance for hit, chance in pairs)
    assert upper_tail(chances, hits) == pytest.approx(total, abs=1e-9)


def in_memory(people: dict[str, Any], items: int, options: int = 4, seed: int = 0) -> StudyResults:
    """A study with `items` questions; people[name](chance) gives the share of right answers, or an answer."""
    asked = tuple(
        StudyItem(id=f"i{n}", content=(StudyText("x"),), options=tuple("abcdefgh"[:options]))
        for n in range(items)
    )
    study = Study(kind="mcq", title={"en": "x"})
    loaded = LoadedStudy(path=Path("s"), study=study, items=asked, texts={}, media_root=Path())
    key = {item.id: KeyLine(item=item.id, option=n % options) for n, item in enumerate(asked)}
    given: list[StudyJudgement] = []
    for name, skill in people.items():
        for place, item in enumerate(asked):
            chance = derive_generator(seed, name, item.id)
            right = key[item.id].option
            assert right is not None
            shown = tuple(chance.sample(range(options), options))
            if skill == "left":
                answer = shown[0]
            elif chance.random() < skill:
                answer = right
            else:
                answer = chance.choice([k for k in range(options) if k != right])
            given.append(
                StudyJudgement(
                    annotator=name, item=item.id, page="choose", answer=answer, shown=shown, position=place
                )
            )
    crowd = {name: StudyPerson(annotator=name, state="finished") for name in people}
    return StudyResults(loaded, key, crowd, tuple(given))


def signs(collected: StudyResults) -> dict[str, tuple[str, ...]]:
    return {one.annotator: one.signs for one in compute_annotator_statistics(collected)}


def test_who_guesses_and_who_always_clicks_the_same_place_is_marked() -> None:
    people: dict[str, Any] = {f"good-{n}": 0.9 for n in range(6)}
    result = signs(in_memory({**people, "guesser": 0.25, "clicker": "left"}, 30))
    assert "like guessing" in result["guesser"]
    assert {"like guessing", "always the same"} <= set(result["clicker"])
    assert not any(result[name] for name in people)


def test_a_hard_study_makes_nobody_a_guesser() -> None:
    # All are near chance: nobody can be told from a guesser, but nobody from the others either.
    people: dict[str, Any] = {f"p{n}": 0.3 for n in range(8)}
    for seed in range(5):
        assert not any("like guessing" in marks for marks in signs(in_memory(people, 20, seed=seed)).values())


def test_few_answers_mark_nobody() -> None:
    result = signs(in_memory({"a": 1.0, "b": 1.0, "unlucky": 0.0}, 2))
    assert not any(result.values())


def test_honest_people_are_seldom_marked() -> None:
    marked = total = 0
    for seed in range(40):
        people: dict[str, Any] = {f"p{n}": 0.75 for n in range(10)}
        result = signs(in_memory(people, 15, seed=seed))
        marked += sum(bool(marks) for marks in result.values())
        total += len(result)
    assert marked / total < 0.01


def test_checks_speed_and_constant_ratings_are_signs(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "rating", count=12, checks=2)

    def rate(name: str, item: StudyItem, *_: str) -> dict[str, int]:
        if name == "flat":
            return {"coherence": 3, "help": 3}
        spread = derive_generator(0, name, item.id).randint(0, 1)
        return {"coherence": number(item) % 6 + spread, "help": 0 if item.check else 3}

    people = ["ann", "bob", "cat", "dan", "flat"]
    judged(loaded, people, rate, seconds=lambda name, _: 2.0 if name == "dan" else 20.0)
    result = {one.annotator: one for one in compute_annotator_statistics(load_results(tmp_path / "s"))}
    assert (result["ann"].checks_passed, result["ann"].checks) == (2, 2)
    assert result["ann"].signs == ()
    assert result["dan"].signs == ("fast: 2.0 s, usual 20.0 s",)
    assert "2 of 2 checks failed" in result["flat"].signs
    assert "always the same" in result["flat"].signs
    assert result["flat"].like_others == 0
    assert result["ann"].like_others is not None
    assert result["ann"].like_others > 0.8


# ── the page and the command ──


class Page(HTMLParser):
    """Whether tags close as they opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002
        if tag not in ("meta", "br", "hr", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("kind", ["mcq", "free-then-mcq", "blind-comments", "rating", "pairwise"])
def test_the_page_of_every_kind_is_whole_and_obeys_nobody(tmp_path: Path, kind: Kind) -> None:
    loaded = tiny_study(tmp_path / "s", kind, count=4, checks=1)

    def answer(name: str, item: StudyItem, page: str, part: str) -> Any:
        if page == "free":
            return "<script>alert(1)</script>"
        if page == "choose":
            return number(item) % 4
        if page == "pair":
            return "second"
        scores = {c.name: len(name) % 2 + len(part) % 3 for c in loaded.study.criteria}
        return scores | ({"verdict": "ai"} if page == "comments" else {})

    judged(loaded, ["ann", "bobby"], answer)
    with open_store(tmp_path / "s") as store:
        store.exclude("bobby", "<b>rude</b> & fast")
    report = build_study_report(load_results(tmp_path / "s"))
    page = build_page(report)
    parsed = Page()
    parsed.feed(page)
    assert parsed.open == []
    assert "<script" not in page
    assert "<b>rude" not in page
    assert "<b>rude</b> & fast" in parsed.text
    for table in list_tables(report):
        assert all(len(line) == len(table.columns) for line in table.body)
        assert all(column in parsed.text for column in table.columns)


def test_a_study_without_judgements_has_a_report_that_says_so(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s")
    with open_store(loaded.path):
        pass
    report = build_study_report(load_results(tmp_path / "s"))
    assert report.findings == ("There are no judgements yet.",)
    assert cell(report.progress, "Judged items that count", "so far") == "0 (0 of the 12 wanted)"
    assert "There are no judgements yet" in build_page(report)


def test_without_the_key_a_report_has_all_but_what_is_right(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", count=8)
    judged(loaded, ["ann", "bob", "cat"], choose)
    (tmp_path / "s" / "key.jsonl").unlink()
    report = build_study_report(load_results(tmp_path / "s"))
    assert report.findings[0].startswith("Nothing can be measured without the key")
    assert "Two people agree in" in report.findings[1]
    assert report.results.body == ()
    # Hits are then what most of the others chose.
    assert all(one.tried > 0 for one in compute_annotator_statistics(load_results(tmp_path / "s")))


def test_judgements_of_items_that_were_taken_out_are_told_of(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", count=6)
    judged(loaded, ["ann"], lambda *_: 0)
    file = tmp_path / "s" / "items.jsonl"
    for name in ("items.jsonl", "key.jsonl"):
        file = tmp_path / "s" / name
        file.write_text("".join(line + "\n" for line in file.read_text().splitlines()[1:]))
    report = build_study_report(load_results(tmp_path / "s"))
    assert "1 judgements are of items that the study no longer has" in report.progress.notes[0]


def test_the_command_prints_tables_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = tiny_study(tmp_path / "s", "mcq", count=8)
    judged(loaded, ["ann", "bob", "cat"], choose)
    assert call("study", "report", tmp_path / "s", "--by", "angle") == 0
    shown = capsys.readouterr()
    assert "Right choices, % by angle" in shown.out
    assert "accuracy: 58.3 (24 judgements" in shown.err
    assert call("study", "report", tmp_path / "s", "--format", "json") == 0
    rows = msgspec.json.decode(capsys.readouterr().out)
    assert {"accuracy"} == {row["metric"] for row in rows}
    assert call("study", "report", tmp_path / "s", "--out", tmp_path / "r.html") == 0
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert call("study", "report", tmp_path / "nowhere") == 1
