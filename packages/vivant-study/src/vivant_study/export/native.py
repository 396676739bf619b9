"""The formats that the benchmarks themselves read: MIME's judgements, a pack's, people's scores for judge checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from vivant.analysis.correction.asking_plan import read_plan, read_probabilities, write_plan
from vivant.analysis.correction.people_files import LABELS_FILE
from vivant.analysis.reasoning.people_labels import COLUMNS, LabelRow
from vivant.benchmarks.mime.human import FILE_NAME
from vivant.benchmarks.mimic import judgements as pack
from vivant.core.errors import DataError
from vivant.core.files import write_atomic
from vivant_study.design import Study
from vivant_study.export.tables import write_csv_rows
from vivant_study.judgement import StudyJudgement
from vivant_study.make.items import LABEL, MODEL, PACK, RUN, SAMPLE
from vivant_study.make.templates import QUEUE, SET
from vivant_study.results import StudyResults

MIME = "mime"
"""In `KeyLine.extra`: the question as an imported file had it."""
MIME_URL = "mime_url"
"""In `KeyLine.extra`: what an imported file had of the page's address."""
PERSONAL = ("study_id", "prolific_id", "session_id")
"""Fields of MIME's page address that tell of a person. A study keeps none of them, so they stay empty."""
_QUESTION_FACETS = {
    "avatar": "avatar",
    "angle": "angle",
    "background_config": "background",
    "background_name": "background_name",
}
"""Fields of a question of MIME, and the facets that hold them. REAL's have none."""
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
        dataset = "REAL" if collected.facets(chosen.item).get("dataset") == "REAL" else "MIME"
        line = _build_mime_line(collected, chosen, free, dataset)
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
    collected: StudyResults, chosen: StudyJudgement, free: StudyJudgement | None, dataset: str
) -> dict[str, Any]:
    facets = collected.facets(chosen.item)
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
        **{
            name: facets[facet]
            for name, facet in _QUESTION_FACETS.items()
            if dataset == "MIME" and facet in facets
        },
    }
    address = key.extra.get(MIME_URL) or facets
    visits = [chosen, *([free] if free is not None else [])]
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
        "count_exited_page": sum(visit.leaves for visit in visits),
        "url_data": {
            **{name: address[name] for name in ("avatar", "angle", "background", SET) if name in address},
            "annotator": chosen.annotator,
            **dict.fromkeys(PERSONAL, ""),
            **({QUEUE: address[QUEUE]} if QUEUE in address else {}),
        },
    }


def list_pack_judgements(collected: StudyResults) -> list[pack.CommentJudgement]:
    """Every judgement of a comment that counts."""
    return [
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


def write_pack(collected: StudyResults, out: Path) -> list[Path]:
    """Judgements of a pack: as `vivant mimic score` reads them, and as plain rows."""
    packs = {line.extra[PACK] for line in collected.key.values() if PACK in line.extra}
    if len(packs) != 1:
        return []
    rows = list_pack_judgements(collected)
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


def find_scale(study: Study) -> tuple[float, float]:
    """The ends of the scale of `total_score`. A criterion that only takes points off leaves the bottom where it is."""
    chosen = [criterion for criterion in study.criteria if criterion.name == "score"] or study.criteria
    adding = [criterion for criterion in chosen if criterion.high > 0]
    return float(sum(c.low for c in adding)), float(sum(c.high for c in adding))


def list_scores(collected: StudyResults) -> list[tuple[str, float, str, str]]:
    """Sample, score, model and annotator of every rating that counts; no score lies below the scale."""
    if mixed := find_mixed_runs(collected):
        raise DataError(mixed)
    criteria = [criterion.name for criterion in collected.loaded.study.criteria]
    bottom = find_scale(collected.loaded.study)[0]
    rows: list[tuple[str, float, str, str]] = []
    for judgement in collected.iter_counted():
        score = total_score(judgement.answer, criteria) if judgement.page == "rate" else None
        if score is not None:
            key = collected.key_line(judgement.item)
            name = key.extra.get(SAMPLE, {}).get("id", judgement.item)
            model = key.extra.get(MODEL, {}).get(judgement.part, key.sources.get(judgement.part, ""))
            rows.append((name, max(score, bottom), model, judgement.annotator))
    return rows


def find_mixed_runs(collected: StudyResults) -> str:
    """Why scores by model would mix the answers of two runs, in a line; empty where they do not."""
    runs: dict[tuple[str, str], str] = {}
    for line in collected.key.values():
        models = line.extra.get(MODEL, {})
        for part, folder in line.extra.get(RUN, {}).items():
            answer = (line.extra.get(SAMPLE, {}).get("id", line.item), models.get(part, ""))
            if (other := runs.setdefault(answer, folder)) != folder:
                return (
                    f"{collected.loaded.path}: {other} and {folder} are both by {answer[1]}, and scores by model "
                    "do not tell their answers apart; make a study for each run, or take the ratings from "
                    "`vivant study export`, whose tables name every part"
                )
    return ""


def asks_for_labels(collected: StudyResults) -> bool:
    """Whether people label reasoning."""
    return any(LABEL in line.extra for line in collected.key.values())


def list_label_rows(collected: StudyResults) -> list[LabelRow]:
    """Every label of reasoning that counts."""
    rows: list[LabelRow] = []
    for judgement in collected.iter_counted():
        label = collected.key_line(judgement.item).extra.get(LABEL)
        if judgement.page == "choose" and judgement.answer is not None and label is not None:
            chosen = label["labels"][judgement.answer]
            rows.append(LabelRow(label["key"], label["segment"], chosen, annotator=judgement.annotator))
    return rows


def write_label_rows(collected: StudyResults, out: Path) -> list[Path]:
    """People's labels, for `vivant reasoning --labels` and `vivant table --corrected-by`; with the plan, if any."""
    path = out / LABELS_FILE
    rows = [(row.key, row.segment, "", row.label, "", row.annotator) for row in list_label_rows(collected)]
    write_csv_rows(path, COLUMNS, rows)
    plan = read_plan(collected.loaded.path)
    if plan:
        write_plan(out, plan)
    return [path]


def write_scores(collected: StudyResults, out: Path) -> list[Path]:
    """People's scores of answers, for `vivant judge-check` and `vivant table --corrected-by`."""
    chances = read_probabilities(collected.loaded.path)
    columns = ("id", "score", "model", "annotator", *(("probability",) if chances else ()))
    rows: list[tuple[Any, ...]] = [
        (name, score, model, who, *((chances[name, model],) if chances else ()))
        for name, score, model, who in list_scores(collected)
    ]
    path = out / "human_scores.csv"
    write_csv_rows(path, columns, rows)
    return [path]
