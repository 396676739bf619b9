"""The videos that become the benchmark: the most interacted-with of each platform, spread over strata.

**The score.** Within each platform, every video gets its place (0 for the least, 1 for the most) by views,
likes, comments, likes per view and comments per view; the score is their weighted mean. Places do not change
when counts are rescaled, so platforms with other habits can be put side by side and one viral video
weighs no more than its rank. Rates are drawn towards the platform's own (as if each video had the platform's
median of views more, at the platform's rate), so that three likes on four views are no record. A count that is
not known is left out of the mean; a video without any is not scored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from vivant.core.progress import ProgressCallback, ignore_progress
from vivant_build.mimic.database import connect, parquet_source
from vivant_build.mimic.notes import count_noun
from vivant_build.mimic.settings import ANY, PipelineSettings, SelectSettings
from vivant_build.mimic.steps import BuildStep, begin_step
from vivant_build.mimic.strata import ENOUGH, RARE, VideoCandidate, choose_videos
from vivant_build.mimic.topics import optional_inputs, videos_source

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STEP = "select"
CHOSEN = "chosen"
"""The verdict on a video of the benchmark; every other verdict is a reason."""
_GIANT = "its uploader is too large, left to training"
_NOT_TOP = "not among the top of its platform"
_UNKNOWN = "its uploader is not known"
_FEW = "too few comments"
_LARGER = (1.25, 1.5, 2, 3, 5, 10, 20, 50, 1000)
"""Times the shares of platforms that are tried where too few could be chosen."""
_PARTS = ("views", "likes", "comments", "like_rate", "comment_rate")
_MISSING = {
    "title": "trim(title) = ''",
    "description": "trim(description) = ''",
    "tags": "len(tags) = 0",
    "topics": "len(topics) = 0",
    "category": "category = ''",
}
_LIMITS = {
    _UNKNOWN: "select.uploaders",
    _GIANT: "select.giant",
    _FEW: "select.fewest_comments",
    RARE: "select.fewest_in_language",
    ENOUGH: "select.per_uploader",
    **{f"no {name}": "select.require" for name in _MISSING},
}
"""How a reason begins → the setting that is its limit."""


def select_videos(
    work: Path, settings: PipelineSettings, progress: ProgressCallback = ignore_progress, force: bool = False
) -> BuildStep:
    """Choose the benchmark's videos; `videos.parquet` has every video with its score and why it is in or out."""
    inputs = ["clean", *optional_inputs(work, STEP, settings)]
    with begin_step(work, STEP, inputs, settings.select, force=force) as step:
        if not step.done:
            with connect(work, settings.memory, settings.workers) as connection:
                progress(0, 2, "counting comments and scoring")
                _score(connection, work, settings.select, "topics" in step.record.inputs)
                progress(1, 2, "choosing")
                _choose(connection, step, settings.select)
    return step


def _score(connection: DuckDBPyConnection, work: Path, settings: SelectSettings, with_topics: bool) -> None:
    """The table `scored`: a row a video."""
    clean = work / "clean"
    connection.execute(f"""
        CREATE TEMP TABLE kept AS
        SELECT ref, count(*) FILTER (reply_to = '') AS alone, count(*) AS all_comments
        FROM {parquet_source(clean / "comments")} GROUP BY ref
    """)
    connection.execute(f"""
        CREATE TEMP TABLE v AS
        SELECT v.ref, v.platform, v.uploader, v.category, v.language, v.dup_group, v.title, v.description,
               v.tags, v.topics, v.duration,
               coalesce(kept.alone, 0) AS alone, v.views, v.likes,
               coalesce(v.comment_count, kept.all_comments, 0) AS comments
        FROM {videos_source(work, with_topics)} v LEFT JOIN kept USING (ref)
    """)
    # A platform's own rates, and how many views' worth of them each video is given beforehand.
    connection.execute("""
        CREATE TEMP TABLE rates AS
        SELECT platform, greatest(median(views), 1) AS prior,
               sum(likes) FILTER (views > 0) / greatest(sum(views) FILTER (likes IS NOT NULL), 1) AS like_rate,
               sum(comments) FILTER (views > 0) / greatest(sum(views), 1) AS comment_rate
        FROM v GROUP BY platform
    """)
    percentiles = ", ".join(
        f"CASE WHEN {part} IS NULL THEN NULL ELSE percent_rank() OVER "
        f"(PARTITION BY platform, {part} IS NULL ORDER BY {part}) END AS p_{part}"
        for part in _PARTS
    )
    weights = msgspec.to_builtins(settings.weights)
    top = " + ".join(f"coalesce({weights[part]} * p_{part}, 0)" for part in _PARTS)
    bottom = " + ".join(f"CASE WHEN p_{part} IS NULL THEN 0 ELSE {weights[part]} END" for part in _PARTS)
    connection.execute(f"""
        CREATE TEMP TABLE scored AS
        WITH rated AS (
            SELECT v.* EXCLUDE (title, description, tags, topics),
                   {_missing_expression(settings)} AS missing,
                   (v.likes + r.prior * r.like_rate) / (v.views + r.prior) AS like_rate,
                   (v.comments + r.prior * r.comment_rate) / (v.views + r.prior) AS comment_rate
            FROM v JOIN rates r USING (platform)
        ), placed AS (SELECT *, {percentiles} FROM rated),
        summed AS (SELECT *, ({top}) / nullif({bottom}, 0) AS score FROM placed)
        SELECT ref, platform, uploader, category, language, duration, dup_group, alone, missing,
               round(score, 6) AS score,
               CASE WHEN score IS NULL THEN NULL ELSE
                   (rank() OVER (PARTITION BY platform ORDER BY round(score, 6) DESC NULLS LAST) - 1)
                   / count(*) OVER (PARTITION BY platform) END AS place,
               count(*) OVER (PARTITION BY uploader) / count(*) OVER () AS uploader_share
        FROM summed
    """)


def _missing_expression(settings: SelectSettings) -> str:
    whens = " ".join(f"WHEN {_MISSING[name]} THEN 'no {name}'" for name in dict.fromkeys(settings.require))
    return f"CASE {whens} ELSE '' END" if whens else "''"


def _choose(connection: DuckDBPyConnection, step: BuildStep, settings: SelectSettings) -> None:
    total: int = _query(connection, "SELECT count(*) FROM scored")[0][0]
    if not total:
        raise step.fail("there are no clean videos; loosen the settings of the step clean")
    _judge(connection, settings)
    candidates = _read_candidates(connection, settings.top)
    chosen, why = choose_videos(candidates, settings)
    before = dict(_query(connection, "SELECT why, count(*) FROM judged WHERE why <> '' GROUP BY why"))
    reasons = Counter(before) + Counter(why.values())
    if len(chosen) < settings.target:
        raise step.fail(
            _explain_shortage(total, len(candidates), len(chosen), settings, reasons)
            + _suggest_remedy(connection, len(chosen), settings, reasons)
            + _name_absent_platforms(connection, settings.top)
        )
    _write(connection, step, [c.ref for c in chosen], why)
    step.count("videos", into=total, out=len(chosen), why=reasons)
    strata = Counter(c.stratum for c in chosen)
    step.note(
        f"{count_noun(len(strata), 'stratum', 'strata')} of category × language × length; "
        f"lowest score chosen {chosen[-1].score:.3f}"
    )
    if absent := _name_absent_platforms(connection, settings.top):
        step.note(absent.removeprefix("; "))
    for uploader, share in _query(
        connection,
        f"SELECT DISTINCT uploader, uploader_share FROM scored WHERE uploader <> '' "
        f"AND uploader_share > {settings.giant} ORDER BY uploader_share DESC, uploader LIMIT 5",
    ):
        step.note(
            f"uploader {uploader} has {share:.1%} of all videos, more than select.giant ({settings.giant:.0%}): "
            "all of them are left to training"
        )


def _judge(connection: DuckDBPyConnection, settings: SelectSettings) -> None:
    """The table `judged`: each video with why it may not be chosen."""
    unknown = "uploader = ''" if settings.uploaders == "known" else "false"
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE judged AS
        SELECT *, CASE
            WHEN {unknown} THEN '{_UNKNOWN}'
            WHEN uploader <> '' AND uploader_share > {settings.giant} THEN '{_GIANT}'
            WHEN missing <> '' THEN missing
            WHEN alone < {settings.fewest_comments} THEN '{_FEW}'
            WHEN score IS NULL THEN 'no views, likes or comments known'
            WHEN place >= {_share_expression(settings.top)} THEN '{_NOT_TOP}'
            ELSE '' END AS why
        FROM scored
    """)


def _read_candidates(connection: DuckDBPyConnection, top: Mapping[str, float]) -> list[VideoCandidate]:
    """The videos that could be chosen if such shares of platforms might be."""
    rows = _query(
        connection,
        "SELECT ref, score, uploader, dup_group, category, language, duration FROM judged "
        f"WHERE why IN ('', '{_NOT_TOP}') AND place < {_share_expression(top)}",
    )
    return [VideoCandidate.from_row(row) for row in rows]


def _share_expression(top: Mapping[str, float]) -> str:
    """The share of a platform that may be chosen, as an expression."""
    whens = " ".join(
        f"WHEN platform = '{name.replace(chr(39), chr(39) * 2)}' THEN {share}"
        for name, share in sorted(top.items())
        if name != ANY
    )
    rest = top.get(ANY, 0.0)
    return f"CASE {whens} ELSE {rest} END" if whens else str(rest)


def _explain_shortage(
    total: int, candidates: int, chosen: int, settings: SelectSettings, reasons: Counter[str]
) -> str:
    most = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common(3))
    return (
        f"{settings.target:,} videos are asked for, but of {total:,} only {candidates:,} are at the top of their "
        f"platform and whole, and {chosen:,} could be chosen ({most}); "
    )


def _name_absent_platforms(connection: DuckDBPyConnection, top: Mapping[str, float]) -> str:
    """What to say of platforms that `select.top` names by itself and no video is from."""
    platforms = [
        name for (name,) in _query(connection, "SELECT DISTINCT platform FROM scored ORDER BY platform")
    ]
    absent = sorted(set(top) - {ANY, *platforms, *SelectSettings().top})
    if not absent:
        return ""
    return f"; select.top names {', '.join(absent)}, but all videos are from {', '.join(platforms)}"


def _suggest_remedy(
    connection: DuckDBPyConnection, chosen: int, settings: SelectSettings, reasons: Counter[str]
) -> str:
    """What to change: the smallest of some larger shares that were tried and do, if any does."""
    most = chosen
    for times in _LARGER:
        top = {name: min(1.0, round(share * times, 4)) for name, share in settings.top.items()}
        count = len(choose_videos(_read_candidates(connection, top), settings)[0])
        if count >= settings.target:
            written = ", ".join(f'"{name}": {share:g}' for name, share in top.items())
            return f"set select.top to {{{written}}}, which gives them, or lower select.target to {chosen:,}"
        most = max(most, count)
    limits = [
        limit
        for reason, _ in reasons.most_common()
        for start, limit in _LIMITS.items()
        if reason.startswith(start)
    ]
    if not most and "select.giant" in limits and (remedy := _suggest_giant(connection, settings)):
        return remedy
    loosen = f"loosen the limit that costs most ({limits[0]})" if limits else ""
    if not most:  # a lower target is no remedy
        return f"{loosen} or bring more videos" if loosen else "bring more videos"
    lower = f"lower select.target (raising select.top gives {most:,} at most)"
    return f"{lower}, {loosen}, or bring more videos" if loosen else f"{lower}, or bring more videos"


def _suggest_giant(connection: DuckDBPyConnection, settings: SelectSettings) -> str:
    """The smallest of some larger `select.giant` that gives the target, or else the most videos; none if none does."""
    best = (0, settings.giant)
    for times in _LARGER:
        tried = msgspec.structs.replace(settings, giant=min(1.0, round(settings.giant * times, 4)))
        _judge(connection, tried)
        count = len(choose_videos(_read_candidates(connection, tried.top), tried)[0])
        if count > best[0]:
            best = (count, tried.giant)
        if count >= settings.target:
            break
    count, giant = best
    if not count:
        return ""
    lower = "" if count >= settings.target else f" and lower select.target to {count:,} or raise select.top"
    return f"set select.giant to {giant:g}, which gives {count:,}{lower}, or bring more videos"


def _write(connection: DuckDBPyConnection, step: BuildStep, chosen: list[str], why: dict[str, str]) -> None:
    import polars as pl

    later = pl.DataFrame({"ref": chosen + list(why), "later": [CHOSEN] * len(chosen) + list(why.values())})
    connection.register("later", later)
    target = str(step.folder / "videos.parquet").replace("'", "''")
    connection.execute(f"""
        COPY (
            SELECT ref, platform, uploader, category, language, dup_group, score, place,
                   coalesce(later.later, judged.why) AS verdict
            FROM judged LEFT JOIN later USING (ref) ORDER BY ref
        ) TO '{target}' (FORMAT parquet, COMPRESSION zstd)
    """)


def _query(connection: DuckDBPyConnection, query: str) -> list[Any]:
    return connection.execute(query).fetchall()
