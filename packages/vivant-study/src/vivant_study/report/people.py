"""Who took part, how far they are, and what speaks for leaving somebody out, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vivant.core.table import Cell, Table
from vivant_study.balance import list_judged
from vivant_study.report.annotators import AnnotatorStatistics
from vivant_study.results import StudyResults

SHORT = 12
"""Characters of an annotator's hash in tables."""


def build_progress_table(collected: StudyResults) -> Table:
    """How far the study is."""
    study = collected.loaded.study
    judged_items = list_judged(collected.loaded.items)
    finished = {(judgement.annotator, judgement.item) for judgement in collected.iter_counted()}
    with_excluded = {
        (judgement.annotator, judgement.item) for judgement in collected.iter_counted(excluded=True)
    }
    dropped = with_excluded - finished
    unfinished = {
        (judgement.annotator, judgement.item) for judgement in collected.judgements if not judgement.complete
    }
    counts = Counter(item for _, item in finished)
    target = study.judgements_per_item
    reached = sum(counts[item.id] >= target for item in judged_items)
    states = Counter(person.state for person in collected.people.values())
    needed = target * len(judged_items)
    done = sum(min(counts[item.id], target) for item in judged_items)
    body: list[tuple[Cell, ...]] = [
        ("Judged items that count", f"{len(finished)} ({done} of the {needed} wanted)"),
        (f"Items with {target} or more", f"{reached} of {len(judged_items)}"),
        (
            "Fewest and most on one item",
            f"{min((counts[item.id] for item in judged_items), default=0)} and {max(counts.values(), default=0)}",
        ),
        ("People", ", ".join(f"{count} {state}" for state, count in states.items()) or "nobody yet"),
        ("Excluded people", sum(bool(person.excluded) for person in collected.people.values())),
        ("Items judged by excluded people", len(dropped)),
        ("Items begun and not finished", len(unfinished)),
    ]
    notes = []
    if collected.unknown_judgements:
        notes.append(
            f"{len(collected.unknown_judgements)} judgements are of items that the study no longer has, the first of "
            f"'{collected.unknown_judgements[0].item}'; they are in exports only."
        )
    return Table(title="Progress", columns=("", "so far"), body=tuple(body), notes=tuple(notes))


def build_annotator_table(rows: Sequence[AnnotatorStatistics], *, ratings: bool = False) -> Table:
    """One line a person, with what speaks against them."""
    body: list[tuple[Cell, ...]] = [
        (
            statistics.annotator[:SHORT],
            statistics.items,
            None if ratings or not statistics.tried else 100 * statistics.hits / statistics.tried,
            _format_likeness(statistics, ratings),
            f"{statistics.checks_passed} of {statistics.checks}" if statistics.checks else None,
            None if statistics.seconds is None else f"{statistics.seconds:.1f}",
            _format_p(statistics.p_chance),
            _format_p(statistics.p_others),
            _format_p(statistics.p_same),
            "; ".join(statistics.signs) or None,
            statistics.excluded or None,
        )
        for statistics in rows
    ]
    alike = "correlation with others" if ratings else "like most others %"
    return Table(
        title="People, one by one",
        columns=(
            "annotator",
            "items",
            "hits %",
            alike,
            "checks passed",
            "median s",
            "p guessing",
            "p like others",
            "p same place",
            "signs",
            "excluded",
        ),
        body=tuple(body),
        notes=(
            "Hits: right by the key, else what most others said. p guessing: how often a guesser does as well; p like "
            "others: how often somebody like the others does as badly (Holm). “Like guessing”: the first above 0.05 "
            "and the second below. p same place: how often one place or answer is as frequent by chance (Holm).",
            "These are signs, not verdicts: to leave somebody out, vivant study exclude DIR ANNOTATOR --reason “…”.",
        ),
    )


def _format_likeness(statistics: AnnotatorStatistics, ratings: bool) -> Cell:
    if statistics.like_others is None:
        return None
    return f"{statistics.like_others:.2f}" if ratings else statistics.like_others * 100


def _format_p(value: float | None) -> str | None:
    if value is None:
        return None
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def build_exclusion_table(collected: StudyResults) -> Table:
    """Who was left out, and why."""
    counts = Counter(judgement.annotator for judgement in collected.iter_counted(excluded=True))
    people = [person for person in collected.people.values() if person.excluded]
    return Table(
        title="Exclusions",
        columns=("annotator", "reason", "judgements"),
        body=tuple((p.annotator[:SHORT], p.excluded, counts[p.annotator]) for p in people),
        notes=() if people else ("Nobody is excluded.",),
    )


def build_question_table(collected: StudyResults) -> Table:
    """What people said about themselves; free texts are in exports only."""
    body: list[tuple[Cell, ...]] = []
    language = collected.loaded.study.languages[0]
    people = [person for person in collected.people.values() if person.answers and not person.excluded]
    for question in collected.loaded.study.questions:
        counts_by_answer = Counter(person.answers.get(question.name) for person in people)
        for index, choice in enumerate(question.choices):
            if counts_by_answer[index]:
                body.append((question.text[language], choice[language], counts_by_answer[index]))
    return Table(title="Who took part", columns=("question", "answer", "people"), body=tuple(body))
