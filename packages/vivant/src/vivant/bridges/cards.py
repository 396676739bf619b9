"""Cards: the description of a published dataset, and the evaluation results in the head of a model's card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from vivant.bridges.conditions import Conditions, list_conditions
from vivant.core.errors import DataError, UsageError
from vivant.core.files import write_atomic
from vivant.core.table import Row, Table, render
from vivant.runs.run import Run


def render_dataset_card(runs: Sequence[Run], table: Table, conditions: Sequence[Conditions]) -> str:
    """The card of published runs, with the head that makes each run loadable by name."""
    head: dict[str, Any] = {
        "tags": ["evaluation", "vivant"],
        "configs": [
            {"config_name": run.name, "data_files": [{"split": "test", "path": f"data/{run.name}.parquet"}]}
            for run in runs
        ],
    }
    lines = [f"# Evaluation of {', '.join(dict.fromkeys(run.model for run in runs))}", ""]
    lines += [render(table, "markdown"), ""]
    lines += ["What each score was measured on:", ""]
    lines += [f"- {each.run}, {each.task}: {each.describe()}." for each in conditions]
    lines += [
        "",
        "A row of `data/RUN.parquet` is one reply: the question, what the model wrote, and its score.",
        "",
    ]
    lines += ["| run | model | tasks | style | settings | replies | made |", "|---|---|---|---|---|---|---|"]
    for run in runs:
        manifest = run.manifest
        settings = ", ".join(manifest.settings.list_distinctions()) or "default"
        lines.append(
            f"| {run.name} | {run.model} | {', '.join(manifest.tasks)} | {manifest.style} | {settings} | "
            f"{run.dir.count_records()} | {manifest.created[:10]} |"
        )
    lines += ["", "Pictures and videos are named, not included. `manifests/` holds each run's settings.", ""]
    return f"---\n{_dump(head)}---\n\n" + "\n".join(lines)


def list_model_results(model: str, rows: Sequence[Row], conditions: Sequence[Conditions]) -> dict[str, Any]:
    """The `model-index` entry of a model: one result per task, named by what it was measured on.

    Raises:
        UsageError: Where two runs would give two values for one result.
    """
    known = {(each.run, each.task): each for each in conditions}
    owners: dict[tuple[Any, ...], str] = {}
    results = []
    for row in rows:
        if row.value is None or row.source != "measured":
            continue
        measured = known[row.run, row.task]
        # A source would need an address, and a run on this machine has none; the metric names the protocol.
        result = {
            "task": {"type": "visual-question-answering"},
            "dataset": {
                "name": f"{row.task} ({measured.describe()})",
                "type": row.task,
                "config": measured.settings,
            },
            "metrics": [
                {
                    "type": row.metric,
                    "name": f"{row.metric} (Vivant, protocol {row.protocol})",
                    "value": round(row.value, 2),
                    "args": {
                        **({"interval_95": [round(end, 2) for end in row.interval]} if row.interval else {}),
                        "n": row.n,
                    },
                }
            ],
        }
        owner = owners.setdefault(_identify(result), row.run)
        if owner != row.run:
            raise UsageError(
                f"{owner} and {row.run} both hold {row.task} with the same settings ({measured.settings}); "
                "a card has one value for it, so name one of these runs"
            )
        results.append(result)
    return {"name": model, "results": results}


def write_model_card(
    path: Path, runs: Sequence[Run], table: Table, conditions: Sequence[Conditions] | None = None
) -> None:
    """Put evaluation results into the head of a model's card; everything else in the card stays.

    Args:
        path: The card, a README.md; it is written where there is none.
        runs: Runs of one model.
        table: Their scores.
        conditions: What they were measured on. Default: from the runs.
    """
    models = list(dict.fromkeys(run.model for run in runs))
    if len(models) != 1:
        raise DataError(f"A model card is about one model; these runs are of {', '.join(models)}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name the card's file, such as {path / 'README.md'}")
    if not path.parent.is_dir():
        raise UsageError(f"Cannot write {path}: there is no folder {path.parent}; make it first")
    head, body = _read_card(path)
    name = models[0].rpartition("/")[2]
    new = list_model_results(name, table.rows, conditions or list_conditions(runs))
    fresh = {_identify(result) for result in new["results"]}
    kept = []
    for entry in head.get("model-index") or []:
        if entry.get("name") == name:
            new["results"] = [r for r in entry.get("results", ()) if _identify(r) not in fresh] + new[
                "results"
            ]
        else:
            kept.append(entry)
    head["model-index"] = [*kept, new]
    try:
        write_atomic(path, f"---\n{_dump(head)}---\n{body or f'{chr(10)}# {name}{chr(10)}'}")
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error.strerror}") from error


def _identify(result: dict[str, Any]) -> tuple[Any, ...]:
    metrics, dataset = result.get("metrics") or [{}], result.get("dataset", {})
    return dataset.get("type"), dataset.get("config"), metrics[0].get("type"), metrics[0].get("name")


def _read_card(path: Path) -> tuple[dict[str, Any], str]:
    if not path.exists():
        return {}, ""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read {path}: {error}") from error
    if not text.startswith("---\n"):
        return {}, "\n" + text
    head, separator, body = text[4:].partition("\n---\n")
    try:
        content = yaml.safe_load(head) or {}
    except yaml.YAMLError as error:
        raise DataError(f"{path}: its head is no YAML: {' '.join(str(error).split())}") from error
    if not separator or not isinstance(content, dict):
        raise DataError(f"{path}: its head does not end with a line of '---'")
    return content, body


def _dump(head: dict[str, Any]) -> str:
    return yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=120)
