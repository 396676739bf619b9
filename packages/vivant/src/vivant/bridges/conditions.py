"""What a published score was measured on: the edition, the settings that are not default, and whether it is whole."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from vivant import mini
from vivant.benchmarks.base import Protocol, ScoredRun
from vivant.bridges.scrubbing import Scrubber
from vivant.core.errors import UsageError
from vivant.runs.overview import score_runs
from vivant.runs.run import Run


class Conditions(Struct, frozen=True, kw_only=True):
    """What one task of one run was measured on."""

    run: str
    task: str
    settings: str
    """Edition, style and settings: two results with the same ones are two values for one result."""
    state: str = ""
    """Why not all samples count; empty where all were answered."""

    def describe(self) -> str:
        """All of it in one line."""
        return "; ".join(filter(None, (self.settings, self.state)))


def list_conditions(runs: Sequence[Run], protocol: Protocol | None = None) -> list[Conditions]:
    """What each task of each run was measured on. The names of the runs must differ."""
    check_names(runs)
    owners = {run.name: run for run in runs}
    return [
        Conditions(
            run=part.run,
            task=part.task,
            settings=_describe_settings(owners[part.run], part.task),
            state=_describe_state(owners[part.run], part),
        )
        for part in score_runs(runs, protocol)
    ]


def check_names(runs: Sequence[Run]) -> None:
    """Refuse runs that their names do not tell apart."""
    names = [run.path.resolve().name for run in runs]
    if len(set(names)) != len(names):
        raise UsageError("Two runs have the same name; rename a run directory")


def _describe_settings(run: Run, task: str) -> str:
    manifest = run.manifest
    if mini.is_bundled(manifest.roots.get(task, ""), task.partition("/")[0]):
        edition = "bundled mini-edition, not the full benchmark"
    else:
        edition = f"edition {manifest.settings.data.get(task, '')[:8] or 'unknown'}"
    words = [edition, *manifest.settings.list_distinctions(), f"style {manifest.style}"]
    if manifest.recipe:
        words.append(f"recipe {manifest.recipe}")
    scrubber = Scrubber([run.path.resolve(), *filter(None, manifest.roots.values())])
    return scrubber.clean_text(", ".join(words))


def _describe_state(run: Run, part: ScoredRun) -> str:
    answered = sum(record is not None for _, record, _ in part.rows)
    if part.stopped is not None:
        return f"stopped early after {answered:,} replies"
    planned = len(part.rows)
    if run.manifest.settings.permute == 1:
        planned = len({sample.id for sample, _, _ in part.rows}) * run.manifest.settings.repeat
    return f"UNFINISHED, {answered:,} of {planned:,} answered" if answered < planned else ""
