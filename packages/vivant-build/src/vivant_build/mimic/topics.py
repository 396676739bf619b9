"""The step topics: names for what videos are about, where a crawl brings none.

`WORK/topics` holds `videos.parquet` (each clean video with its topics), `topics.jsonl` (each topic with its terms and
examples) and `questions.jsonl`: one question per topic, which people (`vivant study new`) and models (`vivant run`)
answer alike. The step is optional: the steps after it use the folder if it is there and the settings ask for topics.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from vivant.core.errors import DataError
from vivant.core.files import write_jsonl
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.randomness import derive_generator
from vivant.core.table import Table
from vivant.metrics.text import normalise_text
from vivant.runs.settings import digest
from vivant_build.mimic.cleaning.languages import list_frequent_words
from vivant_build.mimic.database import connect, parquet_source
from vivant_build.mimic.settings import PipelineSettings, TopicSettings
from vivant_build.mimic.steps import RECORD, BuildStep, StepError, begin_step, read_record
from vivant_build.mimic.topic_clusters import TermGroup, VideoWords, group_videos

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STEP = "topics"
_VERSION = 3
TOPICS = "topics.jsonl"
QUESTIONS = "questions.jsonl"
_EXAMPLES = 5
_SHOWN_CHARACTERS = 120
_OTHERS = 3
_LISTED = 12
NONE_FITS = "None of these"
_SCHEMA = pa.schema([("ref", pa.string()), ("topics", pa.list_(pa.string())), ("topic", pa.string())])


class Topic(Struct, frozen=True, kw_only=True):
    """One line of `topics.jsonl`."""

    id: str
    """Language and number, the largest first."""
    name: str
    terms: tuple[str, ...]
    videos: int
    examples: tuple[str, ...]
    """Titles of the videos nearest to its centre."""
    named_by: str = "terms"
    """Or the model that named it."""
    dropped: str = ""
    """Why no video has it."""


def make_topics(
    work: Path,
    settings: PipelineSettings,
    progress: ProgressCallback = ignore_progress,
    *,
    model: str = "",
    base_url: str | None = None,
    review: Path | None = None,
    force: bool = False,
) -> BuildStep:
    """Group the clean videos by their words and name the groups.

    Args:
        model: A model that names the topics, e.g. openai/NAME; empty for names by terms.
        base_url: The address of its server.
        review: A run on `questions.jsonl`, of people or of a model: topics whose name it does not choose are dropped.
    """
    parameters = _list_parameters(settings, model)
    inputs: list[str | Path] = ["clean", review] if review else ["clean"]
    with begin_step(work, STEP, inputs, parameters, version=_VERSION, force=force) as step:
        if not step.done:
            with connect(work, settings.memory, settings.workers) as connection:
                videos = _read_videos(connection, work, settings.topics)
            if not videos:
                raise step.fail(
                    "all videos have topics already; to group them anew, set topics.make to always"
                )
            groups = _group(videos, settings, progress)
            if not groups:
                raise step.fail(
                    f"the words of {sum(map(len, videos.values())):,} videos without topics form no groups "
                    f"of {settings.topics.fewest}; lower topics.fewest, bring more videos, or leave topic out of "
                    "tasks.tasks"
                )
            topics = [_describe(name, group, videos, settings.topics) for name, group in groups.items()]
            if model:
                from vivant_build.mimic.topic_names import name_topics

                topics = name_topics(work, step, topics, model, base_url, settings.seed)
            topics = _tell_apart(topics)
            if review is not None:
                from vivant_build.mimic.topic_names import apply_review

                topics = apply_review(step, topics, review, settings.topics.agreement)
            _write(step, work, topics, groups, videos, settings)
    return step


def _list_parameters(settings: PipelineSettings, model: str) -> dict[str, Any]:
    return {"topics": msgspec.to_builtins(settings.topics), "seed": settings.seed, "model": model}


def keeps_topics(work: Path, settings: PipelineSettings, model: str) -> bool:
    """Whether topics are there that a model named or a review confirmed; `all` does not make them anew.

    Those of other videos or settings, or of another `model`, are refused: what was paid for or judged is not replaced
    unasked.
    """
    if not (work / STEP / RECORD).is_file():
        return False
    record = read_record(work, STEP)
    named_by = str(record.parameters.get("model") or "")
    if not named_by and len(record.inputs) == 1:
        return False
    wanted = _list_parameters(settings, model or named_by)
    same = record.fingerprint == digest([STEP, _VERSION, record.inputs, wanted])
    if same and record.inputs.get("clean") == read_record(work, "clean").fingerprint:
        return True
    raise StepError(
        f"all: the topics in {work / STEP} were named by a model or reviewed, for other videos, settings or names; "
        f"make them anew (vivant build mimic topics --work {work}), or say --force"
    )


def asks_for_topics(settings: PipelineSettings) -> bool:
    """Whether any setting uses topics that are made; where none does, those of an earlier build are ignored."""
    used = "topic" in settings.tasks.tasks or "topics" in settings.select.require
    return used and settings.topics.make != "never"


def optional_inputs(work: Path, name: str, settings: PipelineSettings) -> list[str]:
    """`topics` for the selection, if they were made and are asked for; refuses those of other videos."""
    if not asks_for_topics(settings) or not (work / STEP / RECORD).is_file():
        return []
    made_from = read_record(work, STEP).inputs.get("clean")
    if made_from != read_record(work, "clean").fingerprint:
        raise StepError(
            f"{name}: {work / STEP} was made from other videos than {work / 'clean'}; run again: "
            f"vivant build mimic topics --work {work}"
        )
    return [STEP]


def uses_topics(work: Path) -> bool:
    """Whether the selection took the topics that were made; the steps after it do as it did."""
    return STEP in read_record(work, "select").inputs


def videos_source(work: Path, with_topics: bool) -> str:
    """The clean videos, `with_topics` with those that were made for them, as a DuckDB table expression.

    `made_topic` is the id of a topic that was made, whose name is in the video's language; else empty.
    """
    clean = parquet_source(work / "clean" / "videos")
    if not with_topics:
        return f"(SELECT *, '' AS made_topic FROM {clean})"
    made = parquet_source(work / STEP / "videos.parquet")
    return (
        "(SELECT v.* REPLACE (coalesce(t.topics, v.topics) AS topics), coalesce(topic, '') AS made_topic "
        f"FROM {clean} v LEFT JOIN {made} t USING (ref))"
    )


def count_topics(work: Path, settings: PipelineSettings) -> tuple[int, int]:
    """How many clean videos have topics, and how many there are."""
    with connect(work, settings.memory, settings.workers) as connection:
        row = connection.execute(
            f"SELECT count(*) FILTER (len(topics) > 0), count(*) FROM {parquet_source(work / 'clean' / 'videos')}"
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def needs_topics(work: Path, settings: PipelineSettings) -> bool:
    """Whether `all` makes topics: they are asked for, and too few videos came with any."""
    if not asks_for_topics(settings):
        return False
    having, total = count_topics(work, settings)
    return settings.topics.make == "always" or having < settings.tasks.least * total


def topics_table(work: Path) -> Table:
    """The largest topics for people."""
    topics = read_topics(work)
    kept = sorted((t for t in topics if not t.dropped), key=lambda topic: (-topic.videos, topic.id))
    body = tuple((topic.id, topic.name, topic.videos) for topic in kept[:_LISTED])
    more = (f"{len(kept) - _LISTED} more in {TOPICS}",) if len(kept) > _LISTED else ()
    return Table(title="Topics", columns=("id", "name", "videos"), body=body, notes=more)


def _read_videos(
    connection: DuckDBPyConnection, work: Path, settings: TopicSettings
) -> dict[str, list[VideoWords]]:
    """The videos that need topics, by language."""
    where = "true" if settings.make == "always" else "len(topics) = 0"
    rows = connection.execute(
        "SELECT language, ref, title, tags, description, uploader FROM "
        f"{parquet_source(work / 'clean' / 'videos')} WHERE {where} ORDER BY language, ref"
    ).fetchall()
    videos: dict[str, list[VideoWords]] = {}
    for language, ref, title, tags, description, uploader in rows:
        videos.setdefault(language, []).append(VideoWords(ref, title, tags or (), description, uploader))
    return videos


def _group(
    videos: dict[str, list[VideoWords]], settings: PipelineSettings, progress: ProgressCallback
) -> dict[str, TermGroup]:
    groups: dict[str, TermGroup] = {}
    frequent = list_frequent_words("en")  # tags are full of English in every language
    for number, (language, members) in enumerate(videos.items()):
        progress(number, len(videos), f"languages grouped; now {language or 'unknown'}")
        named = group_videos(
            members, settings.topics, settings.seed, frequent | list_frequent_words(language)
        )
        groups |= {f"{language or 'und'}-{place:02d}": group for place, group in enumerate(named, 1)}
    return groups


def _language_of(topic: str) -> str:
    language = topic.rpartition("-")[0]
    return "" if language == "und" else language


def _describe(
    name: str, group: TermGroup, videos: dict[str, list[VideoWords]], settings: TopicSettings
) -> Topic:
    members = videos[_language_of(name)]
    titles = dict.fromkeys(members[row].title.strip()[:_SHOWN_CHARACTERS] for row in group.members)
    return Topic(
        id=name,
        name=", ".join(group.terms[: settings.terms]),
        terms=group.terms,
        videos=len(group.members),
        examples=tuple(title for title in titles if title)[:_EXAMPLES],
    )


def _tell_apart(topics: list[Topic]) -> list[Topic]:
    """Names that are different in each language: one of equal names gets the topic's next terms."""
    taken: set[tuple[str, str]] = set()
    result = []
    for topic in topics:
        name = topic.name
        for term in (*topic.terms, topic.id):
            if (_language_of(topic.id), normalise_text(name)) not in taken:
                break
            name = f"{topic.name}, {term}"
        taken.add((_language_of(topic.id), normalise_text(name)))
        result.append(msgspec.structs.replace(topic, name=name))
    return result


def make_questions(topics: list[Topic], seed: int) -> list[dict[str, Any]]:
    """For each topic: some of its titles, its name among those of three others, and the way out."""
    questions = []
    for topic in topics:
        others = [t.name for t in topics if _language_of(t.id) == _language_of(topic.id) and t is not topic]
        rng = derive_generator(seed, "topic question", topic.id)
        wrong = rng.sample(others, min(_OTHERS, len(others)))
        titles = "\n".join(f"– {title}" for title in topic.examples)
        questions.append(
            {
                "id": topic.id,
                "question": f"These are titles of videos on one topic:\n\n{titles}\n\nWhich name fits the topic best?",
                "choices": [topic.name, *wrong, NONE_FITS],
                "answer": 0,
                "facets": {"language": _language_of(topic.id) or "unknown"},
            }
        )
    return questions


def read_topics(work: Path) -> list[Topic]:
    """The topics that the step wrote."""
    path = work / STEP / TOPICS
    try:
        return [msgspec.json.decode(line, type=Topic) for line in path.read_bytes().splitlines()]
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(f"{path} cannot be read ({error}); run the step topics again with --force") from error


def _write(
    step: BuildStep,
    work: Path,
    topics: list[Topic],
    groups: dict[str, TermGroup],
    videos: dict[str, list[VideoWords]],
    settings: PipelineSettings,
) -> None:
    kept = {topic.id: topic for topic in topics if not topic.dropped}
    if not kept:
        raise step.fail(
            "the review drops every topic; leave topic out of tasks.tasks, or lower topics.agreement"
        )
    write_jsonl(step.folder / TOPICS, topics)
    write_jsonl(step.folder / QUESTIONS, make_questions(list(kept.values()), settings.seed))
    assigned = {
        videos[_language_of(name)][row].ref: topic
        for name, topic in kept.items()
        for row in groups[name].members
    }
    refs = sorted(video.ref for members in videos.values() for video in members)
    names = [[assigned[ref].name] if ref in assigned else [] for ref in refs]
    ids = [assigned[ref].id if ref in assigned else "" for ref in refs]
    table = pa.table(
        [pa.array(refs, pa.string()), pa.array(names, _SCHEMA[1].type), pa.array(ids, pa.string())],
        schema=_SCHEMA,
    )
    pq.write_table(table, step.folder / "videos.parquet", compression="zstd")
    _report(step, work, topics, videos, len(refs), len(assigned), settings)


def _report(
    step: BuildStep,
    work: Path,
    topics: list[Topic],
    videos: dict[str, list[VideoWords]],
    total: int,
    assigned: int,
    settings: PipelineSettings,
) -> None:
    with_topics, _ = count_topics(work, settings)
    alone = {language or "unknown": len(members) for language, members in videos.items()}
    grouped = {_language_of(topic.id) or "unknown" for topic in topics}
    few = sum(number for language, number in alone.items() if language not in grouped)
    dropped = sum(topic.videos for topic in topics if topic.dropped)
    step.count(
        "videos without topics",
        into=total,
        out=assigned,
        why={
            "too few in their language": few,
            "their topic was dropped in the review": dropped,
            "near no topic": total - assigned - few - dropped,
        },
    )
    why = Counter(topic.dropped for topic in topics if topic.dropped)
    step.count("topics", into=len(topics), out=sum(not topic.dropped for topic in topics), why=why)
    if with_topics and settings.topics.make != "always":
        step.note(f"videos that came with topics and keep them: {with_topics:,}")
    step.note("look at them: topics.jsonl; have them reviewed: questions.jsonl (docs/mimic-topics.md)")
