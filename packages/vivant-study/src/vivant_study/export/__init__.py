"""What came of a study, for other programs: every judgement, and the formats that the benchmarks read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from vivant.core.errors import UsageError
from vivant_study.export.tables import write_tables

if TYPE_CHECKING:
    from vivant_study.results import StudyResults


class StudyExport(Struct, frozen=True, kw_only=True):
    """What was written, and what to do with it."""

    files: tuple[Path, ...]
    judgements: int
    people: int
    hints: tuple[str, ...] = ()


def export_study(
    collected: StudyResults, out: Path, forms: Sequence[str] = ("jsonl",), *, only_counted: bool = False
) -> StudyExport:
    """Write everything below `out`. Native formats hold what counts: finished items of people not excluded."""
    # Late, because these know the key, and the server writes tables without it.
    from vivant_study.export.foreign import FOREIGN
    from vivant_study.export.native import (
        asks_for_labels,
        find_mixed_runs,
        find_scale,
        is_mime,
        write_label_rows,
        write_mime,
        write_pack,
        write_scores,
    )
    from vivant_study.export.run import write_human_run

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists already; choose another --out")
    study = collected.loaded.study
    judgements = list(collected.iter_counted()) if only_counted else list(collected.judgements)
    weights = collected.weights
    if weights:
        judgements = [
            structs.replace(judgement, weight=weights.get(judgement.item, 1.0)) for judgement in judgements
        ]
    people = list(collected.people.values())
    hints: list[str] = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        files = write_tables(out, study, judgements, people, [form for form in forms if form not in FOREIGN])
        for form in dict.fromkeys(form for form in forms if form in FOREIGN):
            files += FOREIGN[form](collected, out, judgements)
        if asks_for_labels(collected):
            files += write_label_rows(collected, out)
            hints.append(f"people beside a judge: vivant table {study.origin} --corrected-by {out}")
        elif "mcq" in study.kind:
            mime = write_mime(collected, out) if is_mime(collected) else []
            runs = write_human_run(collected, out, mime)
            files += [*mime, *runs]
            hints += [f"as a row of tables: vivant table RUN… {run}" for run in runs]
        elif study.kind == "blind-comments":
            pack = write_pack(collected, out)
            files += pack
            if pack:
                hints.append(
                    f"who passes as human: vivant mimic score {study.origin} {pack[0]} --key PACK.key.jsonl"
                )
        elif study.kind in ("rating", "sliders") and (mixed := find_mixed_runs(collected)):
            hints.append(f"no human_scores.csv: {mixed}")
        elif study.kind in ("rating", "sliders"):
            files += write_scores(collected, out)
            low, high = find_scale(study)
            hints.append(
                f"people beside judges: vivant judge-check {files[-1]} {study.origin} --low {low:g} --high {high:g}"
            )
    except OSError as error:
        raise UsageError(f"Cannot write to {out}: {error.strerror}") from error
    return StudyExport(files=tuple(files), judgements=len(judgements), people=len(people), hints=tuple(hints))
