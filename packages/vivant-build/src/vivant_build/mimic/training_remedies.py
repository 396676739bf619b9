"""What to change where the split leaves few videos for training: settings that were tried on this crawl."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from vivant_build.mimic.selection import CHOSEN
from vivant_build.mimic.settings import PipelineSettings, SelectSettings
from vivant_build.mimic.strata import LATER_REASONS, VideoCandidate, choose_videos
from vivant_build.mimic.topics import uses_topics, videos_source

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SMALLER = (0.9, 0.75, 0.5, 0.33, 0.25, 0.1, 0.05)
"""Of the benchmark's size: what is tried."""
_MORE = (2, 3, 5, 10)
"""Times the most videos of one uploader: what is tried."""


class TriedSetting(Struct, frozen=True):
    """A setting, and what the split gives with it."""

    kind: str
    text: str
    bench: int
    train: int


def suggest_remedy(
    connection: DuckDBPyConnection, work: Path, settings: PipelineSettings, bench: int, train: int
) -> str:
    """The mildest of the tried settings that leave enough for training, or what is the most that any leaves.

    The connection has the table `judged` of the split: every video with its verdict, uploader and creator.
    """
    tried = list(_try_settings(connection, work, settings, bench))
    practice = settings.audit.practice
    enough = _list_first(tried, practice)
    if enough:
        return f"Tried on this crawl: {'; '.join(enough)}"
    most = max(tried, key=lambda trial: trial.train, default=None)
    known = f"No setting that was tried on this crawl leaves {max(bench, practice):,}"
    if most is not None and most.train > train:
        known += f" (at most {most.train:,}, with {most.text})"
    milder = _list_first(tried, 0) if train < bench else []
    remedies = (
        [*milder, f"set audit.practice: {train} to practise on what there is"] if train < practice else milder
    )
    return f"{known}: {'; '.join([*remedies, 'or bring videos of more uploaders'])}"


def _list_first(tried: list[TriedSetting], needed: int) -> list[str]:
    """Of each kind the first that leaves as many for training as are needed, and as the benchmark has."""
    first: dict[str, str] = {}
    for trial in tried:
        if trial.train >= max(needed, trial.bench):
            first.setdefault(trial.kind, f"{trial.text} leaves {trial.train:,}")
    return list(first.values())


def _try_settings(
    connection: DuckDBPyConnection, work: Path, settings: PipelineSettings, bench: int
) -> Iterator[TriedSetting]:
    candidates = _read_candidates(connection, work)

    def choose(select: SelectSettings) -> list[str]:
        return [candidate.ref for candidate in choose_videos(candidates, select)[0]]

    def count(refs: list[str], column: str = "creator") -> int:
        return _count_training(connection, refs, column, trust=settings.split.unknown_uploaders == "train")

    for share in _SMALLER:
        target = max(1, int(bench * share))
        refs = choose(msgspec.structs.replace(settings.select, target=target))
        if len(refs) == target:
            yield TriedSetting("target", f"select.target: {target}", target, count(refs))
    for times in _MORE:
        most = settings.select.per_uploader * times
        refs = choose(msgspec.structs.replace(settings.select, per_uploader=most))
        if len(refs) == bench:
            yield TriedSetting("uploaders", f"select.per_uploader: {most}", bench, count(refs))
    if settings.split.creators == "across platforms":
        rows = connection.execute(
            f"SELECT ref FROM judged WHERE verdict = '{CHOSEN}' ORDER BY ref"
        ).fetchall()
        text = "split.creators: by platform (who has accounts on several is then not kept apart)"
        yield TriedSetting("creators", text, bench, count([ref for (ref,) in rows], "uploader"))


def _read_candidates(connection: DuckDBPyConnection, work: Path) -> list[VideoCandidate]:
    """The videos that the selection chose from."""
    later = " OR ".join(f"starts_with(verdict, '{reason}')" for reason in LATER_REASONS)
    videos = videos_source(work, uses_topics(work))
    rows = connection.execute(
        "SELECT j.ref, j.score, j.uploader, j.dup_group, j.category, j.language, v.duration "
        f"FROM judged j JOIN {videos} v USING (ref) WHERE verdict = '{CHOSEN}' OR {later} ORDER BY ref"
    ).fetchall()
    return [VideoCandidate.from_row(row) for row in rows]


def _count_training(connection: DuckDBPyConnection, refs: list[str], column: str, *, trust: bool) -> int:
    """Videos for training, were these the benchmark; `column` says who counts as one: uploader or creator."""
    import polars as pl

    connection.register("tried", pl.DataFrame({"ref": refs}, schema={"ref": pl.String}))
    count: int = connection.execute(f"""
        WITH bench AS (SELECT * FROM judged SEMI JOIN tried USING (ref))
        SELECT count(*) FROM judged WHERE ref NOT IN (SELECT ref FROM bench)
        AND (dup_group IS NULL OR dup_group NOT IN (SELECT dup_group FROM bench WHERE dup_group IS NOT NULL))
        AND ({column} = '' OR {column} NOT IN (SELECT {column} FROM bench))
        AND (uploader <> '' OR {str(trust).lower()})
    """).fetchall()[0][0]
    return count
