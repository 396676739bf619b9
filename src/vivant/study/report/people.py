"""Who took part, how far they are, and what speaks for leaving somebody out, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vivant.core.table import Cell, Table
from vivant.study.collected import StudyResults
from vivant.study.report.annotators import AnnotatorStatistics

SHORT = 12
"""Characters of an annotator's hash in tables."""


def build_progress_table(collected: StudyResults) -> Table:
    """How far the study is."""
    study = collected.loaded.study
    asked = [item for item in collected.loaded.items if not item.check]
    finished = {(one.annotator, one.item) for one in collected.counted()}
    dropped = {(one.annotator, one.item) for one in collected.counted(excluded=True)} - finished
    open_ones = {(one.annotator, one.item) for one in collected.judgements if not one.complete}
    counts = Counter(item for _, item in finished)
    target = study.judgements_per_item
    reached = sum(counts[item.id] >= target for item in asked)
    states = Counter(person.state for person in collected.people.values())
    wanted = target * len(asked)
    done = sum(min(counts[item.id], target) for item in asked)
    body: list[tuple[Cell, ...]] = [
        ("Judged items that count", f"{len(finished)} ({done} of the {wanted} wanted)"),
        (f"Items with {target} or more", f"{reached} of {len(asked)}"),
        (
            "Fewest and most on one item",
            f"{min((counts[item.id] for item in asked), default=0)} and {max(counts.values(), default=0)}",
        ),
        ("People", ", ".join(f"{count} {state}" for state, count in states.items()) or "nobody yet"),
        ("Excluded people", sum(bool(person.excluded) for person in collected.people.values())),
        ("Items judged by excluded people", len(dropped)),
        ("Items begun and not finished", len(open_ones)),
    ]
    notes = []
    if collected.strangers:
        notes.append(
            f"{len(collected.strangers)} judgements are of items that the study no longer has, the first of "
            f"'{collected.strangers[0].item}'; they are in exports only."
        )
    return Table(title="Progress", columns=("", "so far"), body=tuple(body), notes=tuple(notes))


def build_annotator_table(found: Sequence[AnnotatorStatistics], *, ratings: bool = False) -> Table:
    """One line a person, with what speaks against them."""
    body: list[tuple[Cell, ...]] = [
        (
            one.annotator[:SHORT],
            one.items,
            None if ratings or not one.tried else 100 * one.hits / one.tried,
            _likeness(one, ratings),
            f"{one.checks_passed} of {one.checks}" if one.checks else None,
            None if one.seconds is None else f"{one.seconds:.1f}",
            _p(one.p_chance),
            _p(one.p_others),
            _p(one.p_same),
            "; ".join(one.signs) or None,
            one.excluded or None,
        )
        for one in found
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


def _likeness(one: AnnotatorStatistics, ratings: bool) -> Cell:
    if one.like_others is None:
        return None
    return f"{one.like_others:.2f}" if ratings else one.like_others * 100


def _p(value: float | None) -> str | None:
    if value is None:
        return None
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def build_exclusion_table(collected: StudyResults) -> Table:
    """Who was left out, and why."""
    counts = Counter(one.annotator for one in collected.counted(excluded=True))
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
        given = Counter(person.answers.get(question.name) for person in people)
        for place, choice in enumerate(question.choices):
            if given[place]:
                body.append((question.text[language], choice[language], given[place]))
    return Table(title="Who took part", columns=("question", "answer", "people"), body=tuple(body))
