"""Items and what speaks against some of them, with the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.analysis.items.responses import ResponseMatrix
from vivant.analysis.items.texts import OptionCue, find_cues, find_duplicates
from vivant.core.types import Sample
from vivant.metrics.intervals import encode_labels
from vivant.metrics.item_statistics import KeyCheck, check_keys, difficulty, disagreement, discrimination
from vivant.metrics.label_noise import LabelNoise, estimate_noise

Kind = Literal["suspect key", "ambiguous", "inverted", "solved blind", "near-duplicate", "given away"]
FEWEST_RUNS = 3
"""Runs below which nothing is said about a key."""
SUSPECT = 0.5
"""The probability of another option from which on a key is suspect."""
_BETTER_HALF = 6
"""Answers of the better half of the runs below which a division among them says nothing."""
_INVERTED = -0.3
_INVERTED_RUNS = 8


class ItemFinding(Struct, frozen=True, kw_only=True):
    """One thing that speaks against an item."""

    kind: Kind
    weight: float
    """From 0 to 1, to sort by."""
    evidence: str
    other: str = ""
    """The option that answers speak for, or the ids of duplicates."""


class ItemReport(Struct, frozen=True, kw_only=True):
    """One item."""

    task: str
    id: str
    key: str
    """Of its record, for the viewer."""
    right: str
    """The text of the right option; empty where answers are free."""
    runs: int
    difficulty: float | None
    """The share of runs that have it right (or their mean score)."""
    discrimination: float | None
    disagreement: float | None
    without_media: float | None
    one_frame: float | None
    shuffled: float | None
    people: float | None
    """The share of people who agree with the key."""
    people_count: int
    findings: tuple[ItemFinding, ...] = ()


class ItemAnalysis(Struct, frozen=True, kw_only=True, eq=False):
    """All items of one task."""

    matrix: ResponseMatrix
    items: tuple[ItemReport, ...]
    keys: KeyCheck | None
    cues: tuple[OptionCue, ...]
    duplicates: int
    """Groups of near-duplicates."""
    noise: LabelNoise | None
    notes: tuple[str, ...]

    def select(self, *kinds: str) -> list[ItemReport]:
        """Items with a finding of these kinds (all kinds: none named), the heaviest first."""
        chosen = [
            (max(f.weight for f in item.findings if not kinds or f.kind in kinds), item)
            for item in self.items
            if any(not kinds or f.kind in kinds for f in item.findings)
        ]
        return [item for _, item in sorted(chosen, key=lambda entry: -entry[0])]


def analyse_items(matrix: ResponseMatrix) -> ItemAnalysis:
    """Everything that the answers and the words of a task say about its items."""
    usual = matrix.usual
    values, codes = matrix.values[:, usual], matrix.codes[:, usual]
    plain = [run for run in matrix.runs if run.control == "none"]
    models = Counter(run.model for run in plain)
    names = [run.model if models[run.model] == 1 else f"{run.model} ({run.name})" for run in plain]
    findings: list[list[ItemFinding]] = [[] for _ in matrix.samples]
    notes = list(matrix.notes)
    keyed = np.array([sample.key is not None for sample in matrix.samples], bool)
    easy, steep = difficulty(values), discrimination(values)
    apart = disagreement(codes)
    keys = None
    if keyed.any() and len(names) >= FEWEST_RUNS:
        keys = check_keys(codes, matrix.option_bits[:, usual], matrix.sizes[:, usual])
        _find_suspects(matrix, codes, keys, names, findings)
        _find_ambiguous(matrix, codes, values, findings)
    elif keyed.any():
        notes.append(
            f"{matrix.task}: {len(names)} run(s) without a control; keys are looked at from {FEWEST_RUNS} on."
        )
    if len(names) >= _INVERTED_RUNS:
        _find_inverted(steep, findings)
    elif len(names) < FEWEST_RUNS:
        notes.append(f"{matrix.task}: discrimination needs {FEWEST_RUNS} runs without a control.")
    by_control = {
        control: matrix.values[:, [run.control == control for run in matrix.runs]]
        for control in ("blind", "one-frame", "shuffled")
    }
    _find_without_media(matrix, by_control["blind"], findings)
    duplicates = find_duplicates(matrix.samples)
    _find_near_duplicates(matrix, duplicates, findings)
    cues = find_cues(matrix.samples)
    _find_given_away(cues, findings)
    noise = _measure_noise(matrix)
    if noise is not None:
        _find_people_suspects(matrix, noise, findings)
    controls = {name: difficulty(part) if part.shape[1] else None for name, part in by_control.items()}
    agree = [(codes_.count(0) / len(codes_)) if codes_ else None for codes_ in matrix.people]
    runs = np.isfinite(values).sum(axis=1)
    items = [
        ItemReport(
            task=matrix.task,
            id=sample.id,
            key=matrix.keys[index],
            right=_right(sample),
            runs=int(runs[index]),
            difficulty=_none(easy[index]),
            discrimination=_none(steep[index]),
            disagreement=_none(apart[index]) if keyed[index] else None,
            without_media=_pick(controls["blind"], index),
            one_frame=_pick(controls["one-frame"], index),
            shuffled=_pick(controls["shuffled"], index),
            people=agree[index],
            people_count=len(matrix.people[index]),
            findings=tuple(sorted(findings[index], key=lambda finding: -finding.weight)),
        )
        for index, sample in enumerate(matrix.samples)
    ]
    return ItemAnalysis(
        matrix=matrix,
        items=tuple(items),
        keys=keys,
        cues=tuple(cues),
        duplicates=len(duplicates),
        noise=noise,
        notes=tuple(notes),
    )


def _none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _pick(column: NDArray[np.float64] | None, index: int) -> float | None:
    return None if column is None else _none(column[index])


def _right(sample: Sample) -> str:
    return sample.options[sample.key].text.strip() if sample.key is not None else ""


def _find_suspects(
    matrix: ResponseMatrix,
    codes: NDArray[np.int16],
    keys: KeyCheck,
    names: Sequence[str],
    findings: list[list[ItemFinding]],
) -> None:
    skill = (codes == 0).sum(axis=0) / np.maximum((codes >= 0).sum(axis=0), 1)
    best = np.argsort(-skill)[: max(1, len(names) // 3)]
    for index in np.flatnonzero(keys.rival_posterior >= SUSPECT).tolist():
        rival = int(keys.rival[index])
        votes, kept = int((codes[index] == rival).sum()), int((codes[index] == 0).sum())
        if votes < FEWEST_RUNS:
            continue
        answered = int((codes[index] >= 0).sum())
        strong = [names[run] for run in best if codes[index, run] == rival]
        text = matrix.options[index][rival]
        right = _cut(_right(matrix.samples[index]))
        evidence = f"{votes} of {answered} runs choose '{_cut(text)}', {kept} the key '{right}'"
        if strong:
            evidence += f"; among them the strongest: {', '.join(strong[:3])}"
        people = Counter(matrix.people[index])
        if people:
            evidence += (
                f"; of {people.total()} people {people[rival]} agree with them and {people[0]} with the key"
            )
        findings[index].append(
            ItemFinding(
                kind="suspect key", weight=float(keys.rival_posterior[index]), evidence=evidence, other=text
            )
        )


def _find_people_suspects(
    matrix: ResponseMatrix, noise: LabelNoise, findings: list[list[ItemFinding]]
) -> None:
    """Keys that people agree on another option than."""
    for index in np.flatnonzero(noise.wrong >= SUSPECT).tolist():
        if any(finding.kind == "suspect key" for finding in findings[index]):
            continue
        people = Counter(matrix.people[index])
        code, votes = max(((c, n) for c, n in people.items() if c), key=lambda entry: entry[1])
        text = matrix.options[index][code]
        evidence = f"of {people.total()} people {votes} choose '{_cut(text)}' and {people[0]} the key"
        findings[index].append(
            ItemFinding(
                kind="suspect key",
                weight=float(noise.wrong[index]),
                evidence=f"{evidence} '{_cut(_right(matrix.samples[index]))}'",
                other=text,
            )
        )


def _find_ambiguous(
    matrix: ResponseMatrix,
    codes: NDArray[np.int16],
    values: NDArray[np.float64],
    findings: list[list[ItemFinding]],
) -> None:
    """Two options that divide the better half of the runs between them, or people who are divided."""
    means = np.nanmean(np.where(np.isfinite(values), values, np.nan), axis=0)
    half = np.argsort(-means)[: max(_BETTER_HALF, (codes.shape[1] + 1) // 2)]
    for index, row in enumerate(codes[:, half]):
        evidence, weight, other = "", 0.0, ""
        votes = Counter(int(code) for code in row if code >= 0).most_common(2)
        total = int((row >= 0).sum())
        settled = (
            len(matrix.people[index]) >= 3
            and matrix.people[index].count(0) / len(matrix.people[index]) >= 0.8
        )
        if total >= _BETTER_HALF and len(votes) == 2 and votes[1][1] / total >= 0.4 and not settled:
            texts = [matrix.options[index][code] for code, _ in votes]
            shares = [f"{count} choose '{_cut(text)}'" for text, (_, count) in zip(texts, votes, strict=True)]
            evidence = f"the better runs are divided: {' and '.join(shares)}"
            weight = votes[1][1] / total
            other = next(
                text for text, (code, _) in zip(texts, votes, strict=True) if code or len(texts) == 1
            )
        people = Counter(matrix.people[index]).most_common(1)
        judges = len(matrix.people[index])
        if judges >= 3 and people[0][1] / judges < 0.6:
            evidence += ("; " if evidence else "") + f"of {judges} people no more than {people[0][1]} agree"
            weight = max(weight, 0.6)
        if evidence:
            findings[index].append(
                ItemFinding(kind="ambiguous", weight=min(0.9, weight), evidence=evidence, other=other)
            )


def _find_without_media(
    matrix: ResponseMatrix, blind: NDArray[np.float64], findings: list[list[ItemFinding]]
) -> None:
    """Items that so many runs solve without their media that guessing would rarely do so (1 in 20)."""
    for index, sample in enumerate(matrix.samples if blind.shape[1] else ()):
        row = blind[index][np.isfinite(blind[index])]
        chance = 1 / len(sample.options) if sample.options else 0.0
        if row.size and (row >= 1).all() and chance**row.size < 0.05:
            findings[index].append(
                ItemFinding(
                    kind="solved blind",
                    weight=0.4,
                    evidence=f"all {row.size} runs without pictures and video get it right (by chance: "
                    f"{chance**row.size:.1%})",
                )
            )


def _find_inverted(steep: NDArray[np.float64], findings: list[list[ItemFinding]]) -> None:
    """Items that the better runs get wrong."""
    for index in np.flatnonzero(steep <= _INVERTED).tolist():
        findings[index].append(
            ItemFinding(
                kind="inverted",
                weight=float(-steep[index]) / 2,
                evidence=f"the better runs get it wrong: correlation {steep[index]:.2f} with the score on the rest",
            )
        )


def _find_near_duplicates(
    matrix: ResponseMatrix, groups: Sequence[Sequence[int]], findings: list[list[ItemFinding]]
) -> None:
    for group in groups:
        ids = [matrix.samples[index].id for index in group]
        for index in group:
            rest = [name for name in ids if name != matrix.samples[index].id]
            findings[index].append(
                ItemFinding(
                    kind="near-duplicate",
                    weight=0.5,
                    evidence=f"nearly the same words and the same media as {', '.join(rest[:3])}"
                    + (f" and {len(rest) - 3} more" if len(rest) > 3 else ""),
                    other=", ".join(rest),
                )
            )


def _find_given_away(cues: Sequence[OptionCue], findings: list[list[ItemFinding]]) -> None:
    """Items whose options give the answer away."""
    for cue in cues:
        for index in cue.items if cue.works else ():
            findings[index].append(
                ItemFinding(
                    kind="given away",
                    weight=min(0.49, cue.share / 2),
                    evidence=f"{cue.says}; picking so is right on {cue.right} of {cue.applies} such items "
                    f"(chance {cue.chance:.0%})",
                )
            )


def _measure_noise(matrix: ResponseMatrix) -> LabelNoise | None:
    if sum(len(codes) > 1 for codes in matrix.people) < 10:
        return None
    width = max(len(options) for options in matrix.options)
    counts = np.zeros((len(matrix.samples), max(2, width)))
    for index, codes in enumerate(matrix.people):
        for code in codes:
            counts[index, code] += 1
    sizes = np.array([max(2, len(sample.options)) for sample in matrix.samples], np.float64)
    return estimate_noise(counts, sizes, encode_labels(matrix.clusters()))


def _cut(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
