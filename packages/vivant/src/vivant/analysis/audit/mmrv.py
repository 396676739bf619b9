"""MMR-V: a row that slipped, rows that do not add up, the human study, the counts of errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vivant.analysis.audit.check import AuditCheck, exceeds_rounding, make_check
from vivant.analysis.items.texts import find_cues, find_duplicates
from vivant.benchmarks.base import Imported
from vivant.benchmarks.mmrv import published
from vivant.benchmarks.mmrv.kinds import KINDS
from vivant.benchmarks.mmrv.native import read_results
from vivant.benchmarks.mmrv.score import STORED, score_record
from vivant.core.errors import DataError
from vivant.core.table import Cell, Table

_COLUMNS = ("overall", "implicit", "explicit", "art", "life", "TV", "film", "animation", "philosophy")
README_ROW = (52.5, 54.6, 46.0, 40.1, 54.0, 54.0, 51.7, 65.3, 27.9)
"""o4-mini in the repository's README."""
SLIPPED = "o4-mini"
TOTAL = 1257
SIDES = (907, 350)
TYPES = (139, 177, 189, 288, 378, 86)
"""Questions by side and by type: the denominators that fit the published percentages best."""
STUDY: Mapping[str, tuple[int, int]] = {
    "overall": (172, 200),
    "implicit": (79, 98),
    "explicit": (93, 102),
    "art": (15, 26),
    "life": (36, 39),
    "TV": (29, 32),
    "film": (36, 39),
    "animation": (49, 54),
    "philosophy": (7, 10),
}
"""Right answers of people, of how many: the make-up of the file of 200 questions, and the counts that fit."""
STUDY_RIGHT = 96
"""Of the 200, those that GPT-4o has right, stored answers included."""
STUDY_STORED = 1
"""Of these, answers that the file stores although the published rule reads another letter in the reply."""
KEYS_MATCHED, KEYS_AGREE, KEYS_ALL_AGREE = 129, 39, 7
"""Different questions of the human study to which replies of published logs could be matched; those of them in which
three of four runs, or all four, agree on another option than the key."""
_STATED_GAIN, _STATED_GAP = 0.57, 7.9


def check_all(data: Path | None = None) -> Sequence[AuditCheck]:
    """All checks; `data` is the human study's `questions.json` (200 questions with GPT-4o's replies)."""
    return [
        _check_slipped(),
        _check_weighted(),
        _check_text(),
        _check_people(),
        _check_study(data),
        _check_items(data),
        make_check("mmrv-keys", matched=KEYS_MATCHED, agree=KEYS_AGREE, all_agree=KEYS_ALL_AGREE),
        _check_errors(),
    ]


def _rows(style: str) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for figure in published.list_published():
        if figure.style == style:
            values.setdefault(figure.model, []).append(figure.value)
    return values


def _check_slipped() -> AuditCheck:
    paper, thought = _rows("zero-shot")[SLIPPED], _rows("cot")[SLIPPED]
    body: list[tuple[Cell, ...]] = [("paper, table 3", *paper), ("README", *README_ROW)]
    weighted = [
        (implicit * SIDES[0] + explicit * SIDES[1]) / TOTAL
        for implicit, explicit in ((paper[1], paper[2]), (README_ROW[1], README_ROW[2]))
    ]
    return make_check(
        "mmrv-shifted-row",
        tables=(Table(title="o4-mini, direct answers", columns=("source", *_COLUMNS), body=tuple(body)),),
        readme_row=README_ROW,
        paper=paper,
        thought=thought,
        weighted=weighted,
    )


def _check_weighted() -> AuditCheck:
    body: list[tuple[Cell, ...]] = []
    total = 0
    for style in ("zero-shot", "cot"):
        for model, values in _rows(style).items():
            total += 1
            sides = sum(v * n for v, n in zip(values[1:3], SIDES, strict=True)) / TOTAL
            types = (
                sum(v * n for v, n in zip(values[3:], TYPES, strict=True)) / TOTAL
                if len(values) > 3
                else None
            )
            if exceeds_rounding(sides, values[0]) or (
                types is not None and exceeds_rounding(types, values[0])
            ):
                body.append(
                    (
                        model,
                        style,
                        values[0],
                        sides,
                        sides - values[0],
                        types,
                        None if types is None else types - values[0],
                    )
                )
    return make_check(
        "mmrv-weighted-means",
        tables=(
            Table(
                title="Rows whose overall is not the weighted mean of their parts",
                columns=(
                    "model",
                    "style",
                    "overall",
                    "from sides",
                    "sides less overall",
                    "from types",
                    "types less overall",
                ),
                body=tuple(body),
                decimals=2,
            ),
        ),
        types=" + ".join(map(str, TYPES)),
        type_sum=sum(TYPES),
        sides=SIDES,
        side_sum=sum(SIDES),
        questions=TOTAL,
        fitting=total - len(body),
        total=total,
        body_rows=len(body),
    )


def _check_text() -> AuditCheck:
    direct, thought = _rows("zero-shot"), _rows("cot")
    gain = sum(thought[model][0] - direct[model][0] for model in direct) / len(direct)
    gap = sum(values[1] - values[2] for values in direct.values()) / len(direct)
    return make_check(
        "mmrv-means-in-text",
        stated_gain=_STATED_GAIN,
        stated_gap=_STATED_GAP,
        models=len(direct),
        gain=gain,
        gap=gap,
    )


def _check_people() -> AuditCheck:
    body: list[tuple[Cell, ...]] = []
    fits = True
    for (name, (right, total)), printed in zip(STUDY.items(), published.HUMAN, strict=True):
        share = right / total * 100
        fits = fits and not exceeds_rounding(share, printed, 0.05)
        body.append((name, right, total, share, printed))
    return make_check(
        "mmrv-people",
        outcome="holds" if fits else "does not hold",
        tables=(
            Table(
                title="People's right answers, inferred, and what is printed",
                columns=("group", "right", "of", "%", "printed"),
                body=tuple(body),
            ),
        ),
    )


def _check_study(data: Path | None) -> AuditCheck:
    return make_check(
        "mmrv-study-make-up",
        recomputed=_recompute(data) if data is not None else (),
        study_right=STUDY_RIGHT,
        rule_right=STUDY_RIGHT - STUDY_STORED,
        wrong=200 - STUDY_RIGHT,
    )


def _check_items(data: Path | None) -> AuditCheck:
    recomputed: tuple[str, ...] = ()
    if data is not None:
        samples = _read_study(data)[1].samples
        groups = [" and ".join(samples[n].id for n in group) for group in find_duplicates(samples)]
        cues = [f"{cue.name}: {cue.right} of {cue.applies}" for cue in find_cues(samples)]
        recomputed = (f"Repeated: {'; '.join(groups)} (counted from 0). Rules: {', '.join(cues)}.",)
    return make_check(
        "mmrv-items",
        recomputed=recomputed,
        short_applies=24,
        short_right=14,
        form_applies=52,
        form_right=15,
    )


def _read_study(path: Path) -> tuple[Path, Imported]:
    """The file of the human study and what it holds."""
    file = path / "questions_200.json" if path.is_dir() else path
    if path.is_dir() and not file.exists():
        file = path / "questions.json"
    if not file.is_file():
        raise DataError(f"{path} holds no questions_200.json or questions.json of the human study")
    imported = read_results(file, (), published.TASK)
    if imported is None:
        raise DataError(f"{file} is no file of the human study: questions with keys and replies")
    return file, imported


def _recompute(path: Path) -> tuple[str, ...]:
    file, imported = _read_study(path)
    samples = {sample.id: sample for sample in imported.samples}
    scores = [score_record(samples[record.id], record, "paper") for record in imported.records]
    right = sum(score.value == 1 for score in scores)
    stored = sum(score.value == 1 and score.rule == STORED for score in scores)
    return (
        f"{file.name}: GPT-4o is right on {right - stored} of {len(scores)} by the published rule, and on {right} with "
        f"{stored} answer that the file stores against its own rule.",
    )


def _check_errors() -> AuditCheck:
    counts = KINDS.published["GPT-4o"]
    return make_check(
        "mmrv-errors",
        listing=" + ".join(f"{count} ({kind})" for kind, count in counts.items()),
        counted=sum(counts.values()),
    )
