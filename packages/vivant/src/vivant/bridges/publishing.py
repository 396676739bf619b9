"""Runs as a dataset that others can load: `vivant publish RUN… --to hub:ORG/NAME | DIR`.

    README.md               a card: what was measured, how, and how to load it
    data/RUN.parquet        a row per reply: question, reply, score, tokens, facets
    manifests/RUN.json      the settings of each run, without keys and local paths
    scores.json             the table of scores with intervals
    SHA256SUMS

Keys and paths of this machine are removed from all texts. The folder is checked again before it is moved or sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from vivant.benchmarks.base import Protocol
from vivant.bridges.cards import render_dataset_card
from vivant.bridges.conditions import check_names, list_conditions
from vivant.bridges.scrubbing import Scrubber
from vivant.core.checksums import write_sums
from vivant.core.errors import DataError, UsageError
from vivant.core.files import atomic_path, write_atomic
from vivant.core.optional_packages import require_package
from vivant.core.table import to_json
from vivant.core.types import Text
from vivant.runs.overview import build_overview
from vivant.runs.run import Run

HUB = "hub:"
_REMOVED = ("command", "roots", "machine", "server")
"""What a manifest says of this machine alone."""


def publish_runs(
    runs: Sequence[Run], to: str, *, public: bool = False, protocol: Protocol | None = None
) -> str:
    """Publish runs as a dataset; returns where it is.

    Args:
        runs: The runs; their names must differ.
        to: `hub:OWNER/NAME`, or a folder that does not exist yet.
        public: Let everybody see it. Default: a private repository.
        protocol: Whose scores: `paper` or `strict`.
    """
    check_names(runs)
    check_target(to)
    require_package("polars", "parquet", "Publishing runs")
    if not to.startswith(HUB):
        target = Path(to).expanduser()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(target, keep_suffix=False) as folder:
                write_dataset(runs, folder, protocol)
        except OSError as error:
            raise UsageError(f"Cannot write to {target}: {error.strerror or error}") from error
        return str(target)
    from vivant.fetch.hub_push import prepare_push, push

    with TemporaryDirectory(prefix="vivant-publish-") as temporary:
        folder = Path(temporary) / "dataset"
        write_dataset(runs, folder, protocol)
        return push(prepare_push(folder, to.removeprefix(HUB), private=not public))


def check_target(to: str) -> None:
    """Refuse a folder that cannot take a dataset, before anything is written."""
    target = Path(to).expanduser()
    if to.startswith(HUB) or not target.exists():
        return
    if not target.is_dir():
        raise UsageError(f"{target} is a file; name a folder that does not exist yet")
    if any(target.iterdir()):
        raise UsageError(f"{target} is not empty; name a folder that does not exist yet")


def write_dataset(runs: Sequence[Run], folder: Path, protocol: Protocol | None = None) -> None:
    """Write the dataset to a new folder and check that nothing in it should stay here."""
    scrubber = Scrubber([path for run in runs for path in _list_places(run)])
    (folder / "data").mkdir(parents=True)
    (folder / "manifests").mkdir()
    for run in runs:
        _write_parquet(run, folder / "data" / f"{run.name}.parquet", scrubber, protocol)
        manifest = msgspec.to_builtins(run.manifest)
        kept = {name: value for name, value in manifest.items() if name not in _REMOVED}
        content = msgspec.json.format(msgspec.json.encode(scrubber.clean(kept)), indent=1)
        write_atomic(folder / "manifests" / f"{run.name}.json", content)
    table = build_overview(list(runs), protocol)
    write_atomic(folder / "scores.json", scrubber.clean_text(to_json([table])))
    card = render_dataset_card(runs, table, list_conditions(runs, protocol))
    write_atomic(folder / "README.md", scrubber.clean_text(card))
    scrubber.check_folder(folder)
    write_sums(folder)


def _list_places(run: Run) -> Iterable[str]:
    """The folders that a run's files may name."""
    yield str(run.path.resolve())
    yield from filter(None, run.manifest.roots.values())


def _write_parquet(run: Run, path: Path, scrubber: Scrubber, protocol: Protocol | None) -> None:
    import polars

    rows: list[dict[str, Any]] = []
    for part in run.scores(protocol):
        for sample, record, score in part.rows:
            reply = record.reply if record is not None else None
            rows.append(
                {
                    "task": part.task,
                    "id": sample.id,
                    "repeat": record.repeat if record is not None else 0,
                    "permutation": record.permutation if record is not None else 0,
                    "question": "".join(p.text for p in sample.question if isinstance(p, Text)),
                    "media": [m.path for m in record.media] if record is not None else [],
                    "options": [option.text for option in (record.options if record else sample.options)],
                    "answers": [sample.options[sample.key].text]
                    if sample.key is not None and sample.options
                    else list(sample.answers),
                    "reply_status": reply.status if reply is not None else "missing",
                    "reply": reply.text if reply is not None else None,
                    "thinking": reply.thinking or None if reply is not None else None,
                    "error": reply.error or None if reply is not None else None,
                    "status": score.status,
                    "score": score.value,
                    "answer": score.answer,
                    "rule": score.rule,
                    "tokens_in": reply.tokens_in if reply is not None else None,
                    "tokens_out": reply.tokens_out if reply is not None else None,
                    "seconds": record.seconds if record is not None else None,
                    "cluster": sample.cluster,
                    "facets": msgspec.json.encode(sample.facets, order="sorted").decode(),
                }
            )
    cleaned = scrubber.clean(rows)
    if any(scrubber.find(value) for row in cleaned for value in row.values() if isinstance(value, str)):
        raise DataError(f"{path.name} holds a key or a path of this machine; nothing was published")
    schema: dict[str, Any] = {
        "media": polars.List(polars.String),
        "options": polars.List(polars.String),
        "score": polars.Float64,
    }
    frame = polars.DataFrame(
        cleaned, infer_schema_length=None, schema_overrides={**schema, "answers": polars.List(polars.String)}
    )
    frame.write_parquet(path)
