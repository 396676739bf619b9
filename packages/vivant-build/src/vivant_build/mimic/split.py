"""Bench and train, which share no video, no near-duplicate and no uploader; and the proof of it.

The benchmark's videos are fixed first. Training gets every other video whose uploader and whose near-duplicate
group are nowhere in the benchmark; what stands between the two is left out of both, and counted.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.table import Table, to_markdown
from vivant_build.mimic.creator_links import CreatorLinks, link_creators
from vivant_build.mimic.database import connect, parquet_source
from vivant_build.mimic.notes import count_noun
from vivant_build.mimic.selection import CHOSEN
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.steps import BuildStep, begin_step
from vivant_build.mimic.training_remedies import suggest_remedy

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STEP = "split"
BENCH, TRAIN, OUT = "bench", "train", "out"
PROOF = "proof.json"
_BUT_CREATORS = "Split: no video, re-upload or uploader is in both; some creators with several accounts are"


class CreatorProof(Struct, frozen=True, kw_only=True):
    """What is known of creators with uploads on several platforms."""

    linked: bool
    """Whether such uploaders counted as one."""
    known: bool
    """Whether ingest noted names at all."""
    groups: int
    """Creators with several uploaders."""
    by: dict[str, int]
    """What they share → how many such keys."""
    common: int
    """Keys that too many share, which linked nobody."""
    shared: int
    """Creators on both sides."""
    parts: dict[str, int]
    """Creators of bench, train and out."""

    def describe(self) -> str:
        """What the proof covers."""
        if not self.known:
            return "creators: uploaders count one by one; who has several accounts is not known"
        by = ", ".join(f"{number:,} by {kind}" for kind, number in sorted(self.by.items())) or "none"
        if self.linked:
            return (
                f"creators: {self.groups:,} have several uploaders, linked by what these share ({by}; {self.common:,} "
                "keys that many share linked nobody). Accounts that share nothing are not covered"
            )
        return (
            f"creators: uploaders count one by one. {self.shared:,} of {self.parts.get(BENCH, 0):,} of the benchmark "
            "seem to train under another account (same name, handle or linked profile): split.creators: across "
            "platforms leaves them out"
        )


class SplitProof(Struct, frozen=True, kw_only=True):
    """What was looked at, and that nothing is on both sides. Digests let anyone check the lists."""

    videos: dict[str, int]
    """bench, train and out."""
    uploaders: dict[str, int]
    groups: dict[str, int]
    """Near-duplicate groups."""
    shared: dict[str, int]
    """Videos, uploaders and groups on both sides: all zero."""
    creators: CreatorProof
    unknown_uploaders: dict[str, int]
    """Videos whose uploader is not known, of whom nothing can be proven."""
    digests: dict[str, str]
    """SHA-256 of the sorted names of each side's videos, a line each."""
    largest: list[tuple[str, float, str]]
    """The largest uploaders: hash, share of all videos, and where their videos are."""

    @property
    def holds(self) -> bool:
        """Whether nothing is shared, and nothing had to be taken on trust."""
        return not any(self.shared.values()) and not any(self.unknown_uploaders.values())


def split_videos(
    work: Path, settings: PipelineSettings, progress: ProgressCallback = ignore_progress, force: bool = False
) -> BuildStep:
    """Part the videos; writes `videos.parquet` (ref, part, why), `proof.json` and `proof.md`."""
    with begin_step(work, STEP, ["clean", "select"], settings.split, version=3, force=force) as step:
        if not step.done:
            with connect(work, settings.memory, settings.workers) as connection:
                progress(0, 1, "parting videos")
                links = link_creators(connection, work)
                across = settings.split.creators == "across platforms"
                if across and links is None:
                    raise step.fail(
                        "split.creators asks for creators across platforms, but ingest has noted no names; run ingest "
                        "again, or set it to 'by platform'"
                    )
                _register_creators(connection, links, across)
                _assign_parts(connection, work, step, trust=settings.split.unknown_uploaders == "train")
                proof = prove_split(connection, step.folder / "videos.parquet", links, across)
                left_out = _count_left_out(connection)
                bench, train = (proof.videos.get(part, 0) for part in (BENCH, TRAIN))
                remedy = ""
                if train < max(bench, settings.audit.practice):
                    remedy = suggest_remedy(connection, work, settings, bench, train)
                _finish(step, proof, left_out, settings, remedy)
    return step


def _register_creators(connection: DuckDBPyConnection, links: CreatorLinks | None, across: bool) -> None:
    """The table `creators`: uploader → creator, for those that have several; empty where they count one by one."""
    import polars as pl

    pairs = links.creators if links is not None and across else {}
    columns = {"uploader": list(pairs), "creator": list(pairs.values())}
    connection.register("creators", pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))


def _assign_parts(connection: DuckDBPyConnection, work: Path, step: BuildStep, *, trust: bool) -> None:
    connection.execute(
        "CREATE TEMP TABLE judged AS SELECT v.*, coalesce(c.creator, v.uploader) AS creator "
        f"FROM {parquet_source(work / 'select' / 'videos.parquet')} v LEFT JOIN creators c USING (uploader)"
    )
    unknown = "false" if trust else "uploader = ''"
    target = str(step.folder / "videos.parquet").replace("'", "''")
    connection.execute(f"""
        COPY (
            WITH bench AS (SELECT * FROM judged WHERE verdict = '{CHOSEN}'),
            reasons AS (
                SELECT ref, platform, uploader, dup_group, category, language,
                CASE WHEN verdict = '{CHOSEN}' THEN ''
                     WHEN dup_group IN (SELECT dup_group FROM bench WHERE dup_group IS NOT NULL)
                         THEN 'near-duplicate of one in the benchmark'
                     WHEN uploader <> '' AND uploader IN (SELECT uploader FROM bench)
                         THEN 'its uploader is in the benchmark'
                     WHEN creator <> '' AND creator IN (SELECT creator FROM bench)
                         THEN 'its creator is in the benchmark on another platform'
                     WHEN {unknown} THEN 'its uploader is not known'
                     ELSE '' END AS why,
                verdict = '{CHOSEN}' AS chosen
                FROM judged
            )
            SELECT ref, CASE WHEN chosen THEN '{BENCH}' WHEN why = '' THEN '{TRAIN}' ELSE '{OUT}' END AS part,
                   why, platform, uploader, dup_group, category, language
            FROM reasons ORDER BY ref
        ) TO '{target}' (FORMAT parquet, COMPRESSION zstd)
    """)


def prove_split(
    connection: DuckDBPyConnection, path: Path, links: CreatorLinks | None = None, across: bool = False
) -> SplitProof:
    """Read the parted list again and count what is on both sides."""
    import polars as pl

    pairs = links.creators if links is not None else {}
    columns = {"uploader": list(pairs), "creator": list(pairs.values())}
    connection.register("linked", pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE parted AS SELECT v.*, coalesce(l.creator, v.uploader) AS creator "
        f"FROM {parquet_source(path)} v LEFT JOIN linked l USING (uploader)"
    )
    sides = f"part IN ('{BENCH}', '{TRAIN}')"

    def per_part(what: str, where: str = "true") -> dict[str, int]:
        rows = connection.execute(
            f"SELECT part, {what} FROM parted WHERE {where} GROUP BY part ORDER BY part"
        ).fetchall()
        return dict(rows)

    def shared(column: str, where: str) -> int:
        number: int = _query_value(
            connection,
            f"SELECT count(*) FROM (SELECT {column} FROM parted WHERE {sides} AND {where} "
            f"GROUP BY {column} HAVING count(DISTINCT part) > 1)",
        )
        return number

    total = _query_value(connection, "SELECT count(*) FROM parted")
    largest = connection.execute(
        "SELECT uploader, count(*), string_agg(DISTINCT part, ', ' ORDER BY part) FROM parted "
        "WHERE uploader <> '' GROUP BY uploader ORDER BY count(*) DESC, uploader LIMIT 5"
    ).fetchall()
    return SplitProof(
        videos=per_part("count(*)"),
        uploaders=per_part("count(DISTINCT uploader)", "uploader <> ''"),
        groups=per_part("count(DISTINCT dup_group)", "dup_group IS NOT NULL"),
        shared={
            "videos": shared("ref", "true"),
            "uploaders": shared("uploader", "uploader <> ''"),
            "near-duplicate groups": shared("dup_group", "dup_group IS NOT NULL"),
        },
        creators=CreatorProof(
            linked=across,
            known=links is not None,
            groups=links.groups if links else 0,
            by=links.kinds if links else {},
            common=links.common if links else 0,
            shared=shared("creator", "creator <> ''"),
            parts=per_part("count(DISTINCT creator)", "creator <> ''"),
        ),
        unknown_uploaders=per_part("count(*)", f"uploader = '' AND {sides}"),
        digests={
            part: _query_value(
                connection,
                f"SELECT sha256(coalesce(string_agg(ref, chr(10) ORDER BY ref), '')) FROM parted WHERE part = '{part}'",
            )
            for part in (BENCH, TRAIN)
        },
        largest=[(name, count / total, where) for name, count, where in largest],
    )


def _query_value(connection: DuckDBPyConnection, query: str) -> Any:
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def _finish(
    step: BuildStep, proof: SplitProof, left_out: dict[str, int], settings: PipelineSettings, remedy: str
) -> None:
    if any(proof.shared.values()) or (proof.creators.linked and proof.creators.shared):
        raise ValueError(f"the two sides share {proof.shared}, creators {proof.creators.shared}")
    if not proof.videos.get(TRAIN):
        raise step.fail(
            "nothing is left for training: every other video shares an uploader or a near-duplicate with the "
            f"benchmark. {remedy}"
        )
    (step.folder / PROOF).write_bytes(msgspec.json.format(msgspec.json.encode(proof), indent=1) + b"\n")
    (step.folder / "proof.md").write_text(to_markdown(format_proof(proof)), encoding="utf-8")
    bench, train, out = (proof.videos.get(part, 0) for part in (BENCH, TRAIN, OUT))
    step.count("videos", into=bench + train + out, out=bench + train, why=left_out)
    step.count("videos of the benchmark", out=bench)
    step.count("videos for training", out=train)
    for sentence in format_proof(proof).notes:
        step.note(sentence)
    if remedy:
        lost = "None was left out by the split: the crawl is small"
        if left_out:
            reason, number = max(left_out.items(), key=lambda entry: (entry[1], entry[0]))
            lost = f"Most were lost to: {reason} ({number:,})"
        practice = f"the {settings.audit.practice:,} the audit is to practise on (audit.practice)"
        fewer = f"the {bench:,} of the benchmark" if train < bench else practice
        step.note(f"FEW FOR TRAINING: {count_noun(train, 'video')}, fewer than {fewer}. {lost}. {remedy}")


def _count_left_out(connection: DuckDBPyConnection) -> dict[str, int]:
    rows = connection.execute(
        f"SELECT why, count(*) FROM parted WHERE part = '{OUT}' GROUP BY why"
    ).fetchall()
    return dict(rows)


def format_proof(proof: SplitProof) -> Table:
    """The proof for people."""
    creators = proof.creators
    rows = [
        ("videos", proof.videos, proof.shared["videos"]),
        ("near-duplicate groups (re-uploads)", proof.groups, proof.shared["near-duplicate groups"]),
        ("uploaders (creators on one platform)", proof.uploaders, proof.shared["uploaders"]),
    ]
    if creators.known:
        kept = "" if creators.linked else ", not kept apart"
        rows.append((f"creators (uploaders linked across platforms{kept})", creators.parts, creators.shared))
    body = tuple(
        (what, numbers.get(BENCH, 0), numbers.get(TRAIN, 0), shared, numbers.get(OUT, 0))
        for what, numbers, shared in rows
    )
    notes = [f"SHA-256 of the sorted names, {part}: {digest}" for part, digest in proof.digests.items()]
    notes.append(proof.creators.describe())
    unknown = sum(proof.unknown_uploaders.values())
    if unknown:
        notes.append(
            f"{count_noun(unknown, 'video')} without a known uploader, for which disjointness by uploader is not proven"
        )
    notes += [
        f"uploader {name} has {share:.1%} of all videos, all in: {where}"
        for name, share, where in proof.largest
        if share > 0.05
    ]
    return Table(
        title="Split: nothing is in both" if creators.linked or not creators.shared else _BUT_CREATORS,
        columns=("what", "bench", "train", "in both", "left out"),
        body=body,
        notes=tuple(notes),
    )
