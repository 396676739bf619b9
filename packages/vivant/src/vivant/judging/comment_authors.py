"""Runs of `mimic/comment` as authors of a pack of comments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from vivant.benchmarks.mimic import names
from vivant.benchmarks.mimic.pack_builder import CommentAuthor
from vivant.benchmarks.mimic.packs import HUMAN, CommentSource
from vivant.core.errors import UsageError
from vivant.runs.directory import Manifest, RunDir
from vivant.runs.log import read_log

_TASK = names.format_task(names.MIMICKING)


def load_authors(runs: Sequence[Path]) -> list[CommentAuthor]:
    """Each run with its comments, read from the log as they are asked for."""
    if len({run.resolve() for run in runs}) != len(runs):
        raise UsageError("A run is named twice")
    manifests = [_manifest(run) for run in runs]
    models = Counter(manifest.model for manifest in manifests)
    return [
        CommentAuthor(
            source=_source(manifest, models[manifest.model] > 1), records=read_log(RunDir(run).log_file)
        )
        for run, manifest in zip(runs, manifests, strict=True)
    ]


def _manifest(run: Path) -> Manifest:
    manifest = RunDir(run).manifest()
    if _TASK not in manifest.tasks:
        raise UsageError(f"{run} wrote no comments: it holds {', '.join(manifest.tasks)}, not {_TASK}")
    return manifest


def _source(manifest: Manifest, several: bool) -> CommentSource:
    ambiguous = several or manifest.model == HUMAN
    return CommentSource(
        name=f"{manifest.model} ({manifest.run})" if ambiguous else manifest.model,
        kind="model",
        run=manifest.run,
        style=manifest.style,
        temperature=manifest.settings.decoding.temperature,
        seed=manifest.settings.seed,
        fingerprint=manifest.fingerprint,
    )
