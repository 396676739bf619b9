"""Which takes are kept: those that enough blind annotators call the same, with the labels they gave.

Near-equal labels count as one only where a person said so: proposals go to a file, decisions come from it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError, UsageError
from vivant.core.table import Table, to_csv
from vivant.core.yaml_files import read_yaml, write_text, write_yaml
from vivant.metrics.agreement import krippendorff_alpha, percent_agreement
from vivant_build.mime.labels import (
    NEAR,
    JudgedLabel,
    LabelFile,
    Merge,
    choose_spellings,
    merge_keys,
    propose_merges,
)
from vivant_build.mime.semantic_choice import PhraseEncoder

MERGES, ACTIONS_FILE, REPORT = "merges.yaml", "actions.yaml", "labels.csv"
_MERGES_HEAD = """\
Labels that may be one. Set `confirm: true` where they are and `confirm: false` where not (delete labels that do not
belong), then run `vivant build mime consolidate FILE --confirm THIS_FILE --out FOLDER`. Until then they count as
different."""
_ACTIONS_HEAD = """\
Takes that were kept, with their accepted answers, most frequent first, as a plan's `actions:`. Give each its motion
and the background that fits."""


class Merges(Struct, frozen=True, forbid_unknown_fields=True):
    """The file of proposed and decided merges."""

    merges: tuple[Merge, ...] = ()


class Decision(Struct, frozen=True, kw_only=True):
    """What becomes of one take."""

    item: str
    kept: bool
    labels: tuple[str, ...]
    """Those that agree, most frequent first; of a dropped take the largest group."""
    votes: int
    annotators: int
    reason: str = ""
    """Why it was dropped."""


class Consolidation(Struct, frozen=True, kw_only=True):
    """The outcome for all takes, with how far annotators agree."""

    decisions: tuple[Decision, ...]
    merges: tuple[Merge, ...]
    notes: tuple[str, ...]
    agreement: tuple[float, float]
    """Share of pairs of annotators who agree on a take: by equal labels alone, and after confirmed merges."""
    alpha: tuple[float, float]
    """Krippendorff's alpha, likewise."""

    @property
    def kept(self) -> tuple[Decision, ...]:
        """The takes that stay."""
        return tuple(decision for decision in self.decisions if decision.kept)

    @property
    def undecided(self) -> int:
        """Merges that nobody has confirmed or refused."""
        return sum(merge.confirm is None for merge in self.merges)


def decide(
    judged: Sequence[JudgedLabel], into: dict[str, str], *, agree: int = 2, of: int = 3
) -> tuple[Decision, ...]:
    """Keep each take that at least `agree` annotators call the same, in the order in which takes first come."""
    if not 1 <= agree <= of:
        raise UsageError(f"{agree} of {of} annotators cannot agree; give --agree no larger than --of")
    spellings = choose_spellings(judged)
    items: dict[str, list[JudgedLabel]] = {}
    for label in judged:
        items.setdefault(label.item, []).append(label)
    decisions = []
    for item, labelled in items.items():
        groups = Counter(into[label.key] for label in labelled)
        (best, votes), *rest = sorted(groups.items(), key=lambda pair: (-pair[1], pair[0]))
        counts = Counter(label.key for label in labelled if into[label.key] == best)
        labels = tuple(
            spellings[key] for key in sorted(counts, key=lambda key: (-counts[key], key != best, key))
        )
        reason = ""
        if len(labelled) < min(of, agree):
            reason = f"only {len(labelled)} of {of} annotators"
        elif votes < agree:
            reason = f"no {agree} agree"
        elif rest and rest[0][1] == votes:
            reason = f"tied with '{spellings[rest[0][0]]}'"
        # An even proportion with more annotators: 2 of 3 asks for 4 of 6.
        elif len(labelled) > of and votes / len(labelled) < agree / of:
            reason = f"{votes} of {len(labelled)} are fewer than {agree} of {of}"
        decisions.append(
            Decision(
                item=item,
                kept=not reason,
                labels=labels,
                votes=votes,
                annotators=len(labelled),
                reason=reason,
            )
        )
    return tuple(decisions)


def consolidate(
    reading: LabelFile, merges: Sequence[Merge], *, agree: int = 2, of: int = 3, source: str = "The merges"
) -> Consolidation:
    """Decide on every take with the merges that are confirmed."""
    judged = reading.judged
    plain_keys = {label.key: label.key for label in judged}
    into = merge_keys(judged, merges, source)
    notes = list(reading.notes)
    few = sum(count < of for count in Counter(label.item for label in judged).values())
    if few:
        notes.append(f"{few} takes have fewer than {of} annotators")
    return Consolidation(
        decisions=decide(judged, into, agree=agree, of=of),
        merges=tuple(merges),
        notes=tuple(notes),
        agreement=(_agreement(judged, plain_keys), _agreement(judged, into)),
        alpha=(_alpha(judged, plain_keys), _alpha(judged, into)),
    )


def _codes(judged: Sequence[JudgedLabel], into: dict[str, str]) -> tuple[list[int], list[int]]:
    items = {item: n for n, item in enumerate(dict.fromkeys(label.item for label in judged))}
    keys = {key: n for n, key in enumerate(dict.fromkeys(into[label.key] for label in judged))}
    return [items[label.item] for label in judged], [keys[into[label.key]] for label in judged]


def _agreement(judged: Sequence[JudgedLabel], into: dict[str, str]) -> float:
    return percent_agreement(*_codes(judged, into))


def _alpha(judged: Sequence[JudgedLabel], into: dict[str, str]) -> float:
    return krippendorff_alpha(*_codes(judged, into))


def settle_merges(
    reading: LabelFile,
    encoder: PhraseEncoder,
    *,
    confirmed: Path | None = None,
    near: float = NEAR,
    ask: Callable[[Merge], bool | None] | None = None,
) -> list[Merge]:
    """The merges with their decisions: from a file, or proposed and then asked for one by one."""
    if confirmed is not None:
        return list(read_yaml(confirmed, Merges).merges)
    if not 0.0 < near <= 1.0:
        raise UsageError(f"--near {near:g} is not between 0 and 1")
    proposed = propose_merges(reading.judged, encoder, near=near)
    if ask is None:
        return proposed
    return [msgspec.structs.replace(merge, confirm=ask(merge)) for merge in proposed]


def report(consolidation: Consolidation) -> Table:
    """Every take, kept or dropped, with its label and votes; the overall agreement in the notes."""
    total = len(consolidation.decisions)
    before, after = consolidation.agreement
    merged = sum(merge.confirm is True for merge in consolidation.merges)
    return Table(
        title="Takes by the agreement of blind annotators",
        columns=("take", "kept", "label", "also called", "votes", "of", "why not"),
        body=tuple(
            (
                decision.item,
                "yes" if decision.kept else "no",
                decision.labels[0],
                ", ".join(decision.labels[1:]),
                decision.votes,
                decision.annotators,
                decision.reason,
            )
            for decision in consolidation.decisions
        ),
        notes=(
            f"{len(consolidation.kept)} of {total} takes kept; {merged} merges confirmed, "
            f"{consolidation.undecided} undecided",
            f"Two annotators agree in {_percent(before)} of cases by equal labels and in {_percent(after)} after "
            f"merges; Krippendorff's alpha {_figure(consolidation.alpha[0])} and {_figure(consolidation.alpha[1])}",
            *consolidation.notes,
        ),
    )


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f} %"


def _figure(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def write_consolidation(
    consolidation: Consolidation, out: Path, *, confirmed: Path | None = None
) -> list[Path]:
    """Write the merges (unless a file of them was given), the kept takes as a plan's actions, and the table."""
    written = []
    if confirmed is None:
        write_yaml(out / MERGES, Merges(consolidation.merges), _MERGES_HEAD)
        written.append(out / MERGES)
    actions = [{"name": decision.item, "labels": list(decision.labels)} for decision in consolidation.kept]
    write_yaml(out / ACTIONS_FILE, {"actions": actions}, _ACTIONS_HEAD)
    write_text(out / REPORT, to_csv(report(consolidation)))
    return [*written, out / ACTIONS_FILE, out / REPORT]


def check_overwrite(out: Path) -> None:
    """Refuse to write proposals over a file in which somebody has decided."""
    file = out / MERGES
    if file.exists() and any(merge.confirm is not None for merge in read_yaml(file, Merges).merges):
        raise DataError(f"{file} holds decisions; use them with --confirm {file}, or remove it to begin anew")
