"""MMIE: its numbers of questions, its means, and the scores that drop out of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.analysis.audit.check import AuditCheck, format_percent, make_check
from vivant.benchmarks.mmie import paper
from vivant.benchmarks.mmie.published import LEADERBOARD, SIZES, list_leaderboard
from vivant.core.errors import DataError
from vivant.core.table import Cell, Table

TOTAL = 20_103
FORMATS: Mapping[str, int] = {"multiple choice": 663, "open": 19_340}
PBL_FIELDS: Mapping[str, int] = {
    "Education": 2835,
    "Finance": 2604,
    "Health": 2000,
    "EECS": 1792,
    "Art": 1304,
    "Sports": 895,
    "Philosophy": 52,
}
_SHARES = (0.9, 2 / 3, 1 / 3)


def check_all(data: Path | None = None) -> Sequence[AuditCheck]:
    """All checks; `data` is a file of judge's texts: a list of {id, feedback} or an `eval_result.json`."""
    return [_check_counts(), _check_means(), _check_dropped(data)]


def _check_counts() -> AuditCheck:
    categories = " + ".join(f"{size:,}" for size in SIZES.values())
    fields = " + ".join(f"{size:,}" for size in PBL_FIELDS.values())
    formats = " + ".join(f"{size:,}" for size in FORMATS.values())
    short = TOTAL - sum(FORMATS.values())
    return make_check(
        "mmie-count",
        questions=TOTAL,
        categories=categories,
        by_category=sum(SIZES.values()),
        fields=fields,
        by_field=sum(PBL_FIELDS.values()),
        formats=formats,
        by_format=sum(FORMATS.values()),
        short=short,
    )


def _check_means() -> AuditCheck:
    rows = list_leaderboard()
    gaps = []
    for _, _, (story, project, reasoning, mean) in rows:
        weighted = (story * SIZES["SA"] + project * SIZES["PBL"] + reasoning * SIZES["MSR"]) / TOTAL
        gaps.append((abs(weighted - mean), abs((story + project + reasoning) / 3 - mean)))
    return make_check(
        "mmie-average",
        leaderboard=LEADERBOARD,
        row_count=len(rows),
        weighted_gap=max((weighted for weighted, _ in gaps)),
        smallest_plain_gap=min((plain for _, plain in gaps)),
        largest_plain_gap=max((plain for _, plain in gaps)),
    )


def _check_dropped(data: Path | None) -> AuditCheck:
    examples = [
        (model, figures[3])
        for model, _, figures in list_leaderboard()
        if model in ("Anole", "GPT-4o + SD-XL")
    ]
    body: tuple[tuple[Cell, ...], ...] = tuple(
        (model, value, *(value * share for share in _SHARES)) for model, value in examples
    )
    return make_check(
        "mmie-dropped-scores",
        tables=(
            Table(
                title="The worst case for two rows, by the share of scores that were kept",
                columns=("model", "as printed", "90 % kept", "2/3 kept", "1/3 kept"),
                body=body,
            ),
        ),
        recomputed=_recompute(data) if data is not None else (),
        low=55.22 / 3,
        high=55.22 / 3 + 200 / 3,
    )


def _recompute(path: Path) -> tuple[str, ...]:
    texts = _feedback(path)
    scores = [paper.find_score(text) for text in texts]
    valid = [score for score in scores if score is not None and paper.is_on_scale(score)]
    unread = sum(score is None for score in scores)
    lines = [
        f"{path}: of {len(scores)} texts {len(valid)} hold a score from 0 to 6; {unread} hold none and "
        f"{len(scores) - len(valid) - unread} one off the scale."
    ]
    if valid:
        mean = sum(valid) / len(valid)
        lines.append(
            f"Their mean is {format_percent(mean / 6)} of the top over those kept, and "
            f"{format_percent(sum(valid) / 6 / len(scores))} over all texts with lost ones as 0."
        )
    return tuple(lines)


def _feedback(path: Path) -> list[str]:
    file = path / "eval_result.json" if path.is_dir() else path
    try:
        content: Any = msgspec.json.decode(file.read_bytes())
    except OSError as error:
        raise DataError(f"Cannot read {file}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{file} holds no JSON: {error}") from error
    if isinstance(content, dict):
        content = content.get("feedback", [])
    entries = [
        next(
            (
                entry[name]
                for name in ("feedback", "gpt_feedback", "response")
                if isinstance(entry.get(name), str)
            ),
            None,
        )
        for entry in (content if isinstance(content, list) else [])
        if isinstance(entry, dict)
    ]
    texts = [text for text in entries if text is not None]
    if not texts:
        raise DataError(f"{file} holds no judge's texts: a list of objects with a field 'feedback' is read")
    return texts
