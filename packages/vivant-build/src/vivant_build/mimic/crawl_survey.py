"""What a crawl lacks, said before the first step: which tasks can be asked about how many videos, and what to do.

Before ingest some hundreds of videos are read, spread over all files; after ingest all of them are counted. Both are
held against the settings: a task that will not reach `tasks.least` is named with its remedy.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from vivant.benchmarks.mimic.names import OWN
from vivant.core.errors import DataError
from vivant.core.table import Cell, Table
from vivant.metrics.intervals import wilson
from vivant_build.mimic.database import connect, parquet_source
from vivant_build.mimic.ingestion import sample_sources
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.topics import asks_for_topics

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SAMPLE = 600
"""Videos that are read before the first step."""
_RARE, _SOME = 0.5, 0.01
_ENOUGH = "videos"
_FEWEST_TOP = 40
"""Videos that stand for those with the most interaction, at least."""


class FieldDemand(Struct, frozen=True):
    """Something that records should have."""

    name: str
    needed_by: str
    least: float
    """Share that must have it; 0 where nothing stops without it."""
    remedy: str


class FieldCount(Struct, frozen=True, kw_only=True):
    """How many records have it."""

    demand: FieldDemand
    having: int
    total: int
    top: tuple[int, int] | None = None
    """The same of the videos with the most interaction, which selection chooses from."""

    @property
    def stops(self) -> bool:
        """Whether a later step will stop for want of it; in doubt it will not."""
        having, total = self.top or (self.having, self.total)
        if self.demand.least <= _SOME:
            return bool(self.demand.least and self.total) and not self.having
        return bool(total) and wilson(having, total).high < self.demand.least

    @property
    def is_rare(self) -> bool:
        """Whether it is worth a remark."""
        return self.stops or (bool(self.total) and self.having < _RARE * self.total)


class CrawlSurvey(Struct, frozen=True, kw_only=True):
    """What a crawl, or a sample of it, has."""

    videos: int
    comments: int
    sampled: bool
    fields: tuple[FieldCount, ...]
    apart: bool = False
    """Comments come in files of their own: a sample cannot say how many each video has."""
    lacking: dict[str, tuple[str, ...]] = {}
    """Of a crawl of several platforms: what no video of one has, though others do."""

    @property
    def stops(self) -> list[FieldCount]:
        """What will stop a later step."""
        return [field for field in self.fields if field.stops]

    def table(self) -> Table:
        """For people: what there is, who needs it, and what to do."""
        body: list[tuple[Cell, ...]] = []
        for field in self.fields:
            mark = "✗" if field.stops else ("–" if field.is_rare else "")
            shares = (_percent(field.having, field.total), _percent(*(field.top or (0, 0))))
            body.append((field.demand.name, *shares, field.demand.needed_by, mark))
        kind = "a sample" if self.sampled else "all of it"
        notes = [f"{field.demand.name}: {field.demand.remedy}" for field in self.fields if field.is_rare]
        if notes:
            notes.insert(0, "✗ a step would stop for want of it; – few have it, nothing stops.")
        notes += [f"{platform}: none has {', '.join(names)}" for platform, names in self.lacking.items()]
        if self.apart:
            notes.append(
                "Comments come in files of their own: how many a video has is taken from its own count."
            )
        return Table(
            title=f"What the crawl has ({kind}: {self.videos:,} videos, {self.comments:,} comments)",
            columns=("what", "have it", "of the top", "needed for", ""),
            body=tuple(body),
            notes=tuple(notes),
        )

    def explain(self) -> str:
        """One line on what will stop the build."""
        return "; ".join(_explain(field) for field in self.stops)


def _explain(field: FieldCount) -> str:
    if field.demand.name == _ENOUGH:
        share = f"{field.having:,} for a benchmark of {field.total:,}"
    else:
        share = f"{_percent(*(field.top or (field.having, field.total)))} of the videos at the top have it"
    return f"{field.demand.name} ({share}; {field.demand.remedy})"


def _percent(having: int, total: int) -> str:
    return f"{having / total:.0%}" if total else "–"


def survey_sources(
    sources: Sequence[Path],
    settings: PipelineSettings,
    *,
    media: Path | None = None,
    work: Path | None = None,
) -> CrawlSurvey:
    """Read some videos of a crawl that has not been taken in. Nothing is kept."""
    with tempfile.TemporaryDirectory(prefix="vivant-survey-") as temporary:
        folder = Path(temporary)
        sample_sources(folder, sources, settings, SAMPLE, media=media, work=work)
        with connect(folder, settings.memory, settings.workers) as connection:
            return _survey(connection, folder, settings, sampled=True)


def survey_ingest(work: Path, settings: PipelineSettings) -> CrawlSurvey:
    """Count what a crawl that was taken in has."""
    with connect(work, settings.memory, settings.workers) as connection:
        return _survey(connection, work / "ingest", settings, sampled=False)


def _survey(
    connection: DuckDBPyConnection, folder: Path, settings: PipelineSettings, *, sampled: bool
) -> CrawlSurvey:
    videos, comments = parquet_source(folder / "videos"), parquet_source(folder / "comments")
    connection.execute(f"CREATE TEMP TABLE v AS SELECT * FROM {videos}")
    connection.execute(f"CREATE TEMP TABLE c AS SELECT ref, reply_to, likes FROM {comments}")
    total, seen, liked = _query(
        connection, "SELECT (SELECT count(*) FROM v), (SELECT count(*) FROM c), (SELECT count(likes) FROM c)"
    )
    if not total:
        raise DataError("no video could be read from the sources; `vivant build mimic ingest` says why")
    share = max(settings.select.top.values())
    if not sampled:  # of those that may be chosen, the first are
        share = min(share, 2 * settings.select.target / total)
    share = max(share, _FEWEST_TOP / total)
    ranks = " + ".join(
        f"percent_rank() OVER (PARTITION BY platform ORDER BY coalesce({count}, 0), ref)"
        for count in ("views", "likes", "greatest(comment_count, alone)")
    )
    connection.execute(
        "CREATE TEMP TABLE per_video AS WITH counted AS (SELECT v.*, "
        "count(c.ref) FILTER (c.reply_to = '') AS alone, "
        "count(c.ref) FILTER (c.reply_to = '' AND c.likes IS NOT NULL) AS liked "
        "FROM v LEFT JOIN c USING (ref) GROUP BY ALL), "
        f"ranked AS (SELECT *, {ranks} AS score FROM counted) "
        f"SELECT *, percent_rank() OVER (ORDER BY score DESC, ref) <= {share} AS is_top FROM ranked"
    )
    joined = _query(connection, "SELECT count(*) FROM per_video WHERE alone > 0")[0]
    # In a sample, comments from files of their own mostly belong to other videos.
    apart = sampled and seen > 0 and joined < total / 10
    conditions = _list_conditions(settings, apart)
    counts = ", ".join(f"count(*) FILTER ({test})" for test in conditions.values())
    numbers = _query(connection, f"SELECT {counts} FROM per_video")
    top_total, *top_numbers = _query(connection, f"SELECT count(*), {counts} FROM per_video WHERE is_top")
    demands = {demand.name: demand for demand in _list_demands(settings)}
    fields = [
        FieldCount(demand=demands[name], having=number, total=total, top=(top_number, top_total))
        for name, number, top_number in zip(conditions, numbers, top_numbers, strict=True)
    ]
    fields.append(FieldCount(demand=demands["likes of comments"], having=liked, total=seen))
    target = settings.select.target
    if not sampled or total < SAMPLE // 2:
        # A sample that is over so soon is likely the whole crawl, yet only counting all of it is sure.
        remedy = "lower select.target, or bring more: only videos at the top are chosen, and training needs the rest"
        demand = FieldDemand(_ENOUGH, "selection", 0.0 if sampled else 1.0, remedy)
        fields.insert(0, FieldCount(demand=demand, having=min(total, target), total=target))
    lacking = _find_lacking(connection, conditions)
    return CrawlSurvey(
        videos=total, comments=seen, sampled=sampled, fields=tuple(fields), apart=apart, lacking=lacking
    )


def _find_lacking(connection: DuckDBPyConnection, conditions: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Of each platform what none of its videos has, where those of another have it."""
    counts = ", ".join(f"count(*) FILTER ({test})" for test in conditions.values())
    rows = connection.execute(
        f"SELECT platform, {counts} FROM per_video GROUP BY platform ORDER BY platform"
    ).fetchall()
    somewhere = [any(numbers) for numbers in zip(*(row[1:] for row in rows), strict=True)]
    lacking = {
        platform: tuple(
            name
            for name, number, known in zip(conditions, numbers, somewhere, strict=True)
            if known and not number
        )
        for platform, *numbers in rows
    }
    return {platform: names for platform, names in lacking.items() if names}


def _list_conditions(settings: PipelineSettings, apart: bool) -> dict[str, str]:
    """What is counted of videos, as conditions."""
    fewest, deepest = settings.select.fewest_comments, settings.tasks.ranks[-1]
    alone, liked = ("coalesce(comment_count, 0)",) * 2 if apart else ("alone", "liked")
    return {
        "title": "trim(title) <> ''",
        "description": "trim(description) <> ''",
        "tags": "len(tags) > 0",
        "topics": "len(topics) > 0",
        "category": "category <> ''",
        "uploader": "uploader <> ''",
        "views or likes": "coalesce(views, likes) IS NOT NULL",
        "duration": "duration IS NOT NULL",
        "video file": "file <> ''",
        f"{fewest} comments": f"{alone} >= {fewest}",
        f"{deepest} comments": f"{liked} >= {deepest}",
    }


def _list_demands(settings: PipelineSettings) -> list[FieldDemand]:
    """What the settings ask for, and what to do where it is missing."""

    def need(name: str, task: str, remedy: str, also: str = "") -> FieldDemand:
        asked = task in settings.tasks.tasks
        out = f"leave {task} out of tasks.tasks" if asked else f"{task} is not in tasks.tasks"
        remedy = f"{remedy}, or {out}" if remedy and asked else out
        return FieldDemand(name, f"{task}{also}", settings.tasks.least if asked else 0.0, remedy)

    fewest, deepest = settings.select.fewest_comments, settings.tasks.ranks[-1]
    topics = need("topics", "topic", "set topics.make, give them in a mapping")
    if asks_for_topics(settings):
        topics = FieldDemand(
            "topics", "topic", 0.0, "the step topics makes them from titles, tags and descriptions"
        )
    return [
        need("title", "title", "give one in a mapping", ", selection"),
        need("description", "description", ""),
        need("tags", "tag", ""),
        topics,
        need("category", "category", "give one in a mapping"),
        need(f"{deepest} comments", OWN, "crawl more comments of each video, set tasks.ranks"),
        need("likes of comments", OWN, "crawl comments with their likes", ", the pool"),
        FieldDemand(
            "uploader",
            "selection, the split",
            _SOME if settings.select.uploaders == "known" else 0.0,
            "without uploaders the two sides of the split cannot be told apart; to build all the same, set "
            "select.uploaders: any and split.unknown_uploaders: train",
        ),
        FieldDemand("views or likes", "selection", _SOME, "crawl the videos' counts: selection goes by them"),
        FieldDemand("duration", "strata", 0.0, "the length of such videos counts as unknown"),
        FieldDemand(
            "video file",
            "running it",
            _SOME if settings.clean.need_files else 0.0,
            "name their folder with --media, or fetch them later by the edition of ids",
        ),
        FieldDemand(
            f"{fewest} comments",
            "selection, comment-match",
            _SOME,
            "crawl comments (yt-dlp: --write-comments; of TikTok it has none), or lower select.fewest_comments and "
            "clean.fewest_comments",
        ),
    ]


def _query(connection: DuckDBPyConnection, query: str) -> tuple[int, ...]:
    row = connection.execute(query).fetchone()
    assert row is not None
    return tuple(int(value) for value in row)
