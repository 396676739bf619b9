"""The formats that the benchmarks themselves read: MIME's judgements, a pack's, people's scores for judge checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks.mime.human import FILE_NAME
from vivant.benchmarks.mimic import judgements as pack
from vivant.core.files import write_atomic
from vivant.study.export.tables import write_csv_rows
from vivant.study.judgement import StudyJudgement
from vivant.study.make.items import MODEL, PACK, SAMPLE
from vivant.study.results import StudyResults

MIME = "mime"
"""In `KeyLine.extra`: the question as an imported file had it."""
FOLDERS = {"MIME": "mime-cropped", "REAL": "mime-real-resized"}
"""Where the original keeps the judgements of each data set: figures of people are computed file by file."""


def is_mime(collected: StudyResults) -> bool:
    """Whether any item comes from MIME."""
    return any(
        MIME in line.extra or str(line.extra.get(SAMPLE, {}).get("task", "")).startswith("mime/")
        for line in collected.key.values()
    )


def write_mime(collected: StudyResults, out: Path) -> list[Path]:
    """`human_eval.jsonl` for each data set met."""
    lines: dict[str, list[bytes]] = {}
    for chosen, free in _iter_pages(collected):
        facets = collected.facets(chosen.item)
        dataset = "REAL" if facets.get("dataset") == "REAL" else "MIME"
        line = _build_mime_line(collected, chosen, free, facets)
        lines.setdefault(FOLDERS[dataset], []).append(msgspec.json.encode(line) + b"\n")
    paths: list[Path] = []
    for folder, folder_lines in lines.items():
        path = out / folder / FILE_NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, b"".join(folder_lines))
        paths.append(path)
    return paths


def _iter_pages(collected: StudyResults) -> Iterator[tuple[StudyJudgement, StudyJudgement | None]]:
    """Each choice with the free answer before it."""
    free = {
        (judgement.annotator, judgement.item): judgement
        for judgement in collected.iter_counted()
        if judgement.page == "free"
    }
    for judgement in collected.iter_counted():
        if judgement.page == "choose" and judgement.answer is not None:
            yield judgement, free.get((judgement.annotator, judgement.item))


def _build_mime_line(
    collected: StudyResults, chosen: StudyJudgement, free: StudyJudgement | None, facets: Mapping[str, str]
) -> dict[str, Any]:
    item, key = collected.items[chosen.item], collected.key_line(chosen.item)
    order = chosen.shown or tuple(range(len(item.options)))
    right = key.option if key.option is not None else 0
    sample: Mapping[str, Any] = key.extra.get(SAMPLE, {})
    name = sample.get("extra", {}).get("file_name", "")
    question = key.extra.get(MIME) or {
        "sample_id": sample.get("id", chosen.item),
        "action": facets.get("action", ""),
        "s3_url": name,
        "label": list(key.accepted),
        "distractors": [text for index, text in enumerate(item.options) if index != right],
        "mcq_label": item.options[right],
    }
    return {
        "question_i": chosen.position,
        "sample_id": question["sample_id"],
        "user_answer": free.answer if free is not None else None,
        "user_mcq_selection": order.index(chosen.answer) + 1,
        "user_is_correct": chosen.answer == right,
        "question": {
            **question,
            "options": [item.options[index] for index in order],
            "label_idx": order.index(right),
        },
        "url_data": {
            "annotator": chosen.annotator,
            **{name: facets[name] for name in ("avatar", "angle", "background") if name in facets},
        },
    }


def write_pack(collected: StudyResults, out: Path) -> list[Path]:
    """Judgements of a pack: as `vivant mimic score` reads them, and as plain rows."""
    packs = {line.extra[PACK] for line in collected.key.values() if PACK in line.extra}
    if len(packs) != 1:
        return []
    rows = [
        pack.CommentJudgement(
            annotator=judgement.annotator,
            item=judgement.part,
            verdict=judgement.answer["verdict"],
            realism=_read_number(judgement.answer.get("realism")),
            time=judgement.given,
        )
        for judgement in collected.iter_counted()
        if judgement.page == "comments"
        and isinstance(judgement.answer, dict)
        and judgement.answer.get("verdict")
    ]
    header = pack.Judges(pack=packs.pop(), kind="people", name="people")
    scored, plain = out / "pack" / "judgements.jsonl", out / "pack" / "rows.csv"
    pack.write_judgements(scored, header, rows)
    write_csv_rows(plain, pack.COLUMNS, [(r.annotator, r.item, r.verdict, r.realism) for r in rows])
    return [scored, plain]


def _read_number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def total_score(answer: Any, criteria: list[str]) -> float | None:
    """One figure for an answer: the criterion called `score`, else the sum of all; None where one is missing."""
    if not isinstance(answer, dict):
        return None
    names = ["score"] if "score" in criteria else criteria
    values = [_read_number(answer.get(name)) for name in names]
    return None if None in values else float(sum(value for value in values if value is not None))


def write_scores(collected: StudyResults, out: Path) -> list[Path]:
    """People's scores of answers, for `vivant judge-check`."""
    criteria = [criterion.name for criterion in collected.loaded.study.criteria]
    rows: list[tuple[Any, ...]] = []
    for judgement in collected.iter_counted():
        score = total_score(judgement.answer, criteria) if judgement.page == "rate" else None
        if score is not None:
            key = collected.key_line(judgement.item)
            name = key.extra.get(SAMPLE, {}).get("id", judgement.item)
            model = key.extra.get(MODEL, {}).get(judgement.part, key.sources.get(judgement.part, ""))
            rows.append((name, score, model, judgement.annotator))
    path = out / "human_scores.csv"
    write_csv_rows(path, ("id", "score", "model", "annotator"), rows)
    return [path]
