"""A run as a data frame: one row per reply, with its score and the facets of its sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vivant.benchmarks.base import ScoredRun


def list_columns(parts: list[ScoredRun]) -> dict[str, list[Any]]:
    """The columns of the frame by name. Facets come last; one whose name is taken is called `facet_NAME`."""
    rows: list[Mapping[str, Any]] = []
    facets: dict[str, str] = {}
    for part in parts:
        for sample, record, score in part.rows:
            reply = record.reply if record is not None else None
            rows.append(
                {
                    "run": part.run,
                    "model": part.model,
                    "task": part.task,
                    "id": sample.id,
                    "repeat": record.repeat if record is not None else 0,
                    "permutation": record.permutation if record is not None else 0,
                    "status": score.status,
                    "score": score.value,
                    "answer": score.answer,
                    "rule": score.rule,
                    "guessed": score.guessed,
                    "reply_status": reply.status if reply is not None else "missing",
                    "reply": reply.text if reply is not None else None,
                    "error": reply.error if reply is not None else None,
                    "tokens_in": reply.tokens_in if reply is not None else None,
                    "tokens_out": reply.tokens_out if reply is not None else None,
                    "seconds": record.seconds if record is not None else None,
                    "cluster": sample.cluster,
                }
            )
            facets |= dict.fromkeys(sample.facets, "")
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    samples = [sample for part in parts for sample, _, _ in part.rows]
    for facet in facets:
        name = f"facet_{facet}" if facet in columns else facet
        columns[name] = [sample.facets.get(facet) for sample in samples]
    return columns
