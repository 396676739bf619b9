"""Tiny studies of every kind, whose right answers are known."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from tests.support.media_kit import make_video
from vivant.core.randomness import shuffled_indices
from vivant_study.design import (
    PAGES,
    KeyLine,
    Kind,
    Study,
    StudyCriterion,
    StudyItem,
    StudyMedia,
    StudyPart,
    StudyQuestion,
    StudyText,
)
from vivant_study.judgement import StudyJudgement, StudyPerson
from vivant_study.loading import LoadedStudy, StudyTexts, load_study
from vivant_study.writing import write_study

OPTIONS = ("digging", "rowing", "sweeping", "casting")
AGE = StudyQuestion(
    name="age",
    text={"en": "How old are you?", "zh": "您的年龄是？"},
    choices=({"en": "18–39", "zh": "18–39 岁"}, {"en": "40 or older", "zh": "40 岁及以上"}),
)
REMARK = StudyQuestion(
    name="remark", text={"en": "Anything else?", "zh": "还有什么想说的吗？"}, required=False
)
CRITERIA = (
    StudyCriterion(
        name="coherence", text={"en": "Do text and pictures fit?", "zh": "图文是否相符？"}, high=6
    ),
    StudyCriterion(
        name="help", text={"en": "Does it answer the question?", "zh": "是否回答了问题？"}, high=6
    ),
)
REALISM = (
    StudyCriterion(
        name="realism", text={"en": "How real does it read?", "zh": "读起来有多真实？"}, low=0, high=5
    ),
)
QUALITY = (StudyCriterion(name="quality", text={"en": "How good?", "zh": "有多好？"}, high=100),)
SURE = (StudyCriterion(name="sure", text={"en": "How sure?", "zh": "有多大把握？"}, low=1),)
SIZES = {"blind-comments": 3, "rating": 1, "pairwise": 2, "best-worst": 4, "sliders": 3}
"""Parts of an item, by kind."""
SOURCES = ("human comments", "model-x")
"""Who wrote the parts of the comments, ratings and pairs, in turn."""


@lru_cache
def _video(frames: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return make_video(Path(folder) / "v.mp4", frames).read_bytes()


@lru_cache
def _empty_database() -> bytes:
    from vivant_study.store import schema
    from vivant_study.store.database import Database, database_url

    with tempfile.TemporaryDirectory() as folder:
        database = Database(database_url(Path(folder), None))
        schema.upgrade(database)
        database.close()
        return (Path(folder) / "study.db").read_bytes()


def copy_empty_database(folder: Path) -> None:
    """Give a study without a database the tables that opening its store would make, migration by migration."""
    file = folder / "study.db"
    if not file.exists():
        file.touch(0o600)
        file.write_bytes(_empty_database())


def tiny_study(
    folder: Path, kind: Kind = "mcq", *, count: int = 6, checks: int = 0, groups: int = 0, **settings: Any
) -> LoadedStudy:
    """A study of `count` items with one-second videos, written and loaded.

    The right option of item n is n modulo 4. Facets: `angle` (0, 90), `actor` (j, n). `groups`: so many groups,
    in turn; 0 gives each item its own.
    """
    media = folder / "media"
    media.mkdir(parents=True)
    files = [f"m{number}.mp4" for number in range(min(count + checks, 3))]
    for number, file in enumerate(files):
        (media / file).write_bytes(_video(10 + number))
    items: list[StudyItem] = []
    key: list[KeyLine] = []
    for number in range(count + checks):
        check = number >= count
        group = f"group-{number % groups}" if groups and not check else ""
        item = _item(number, kind, files[number % len(files)], check=check, group=group)
        items.append(item)
        line = _key(item, number, kind, check=check)
        if line is not None:
            key.append(line)
    study = msgspec.structs.replace(
        Study(
            kind=kind,
            title={"en": "A tiny study", "zh": "小小的研究"},
            origin="tests",
            languages=("en", "zh"),
            items_per_participant=min(3, count),
            judgements_per_item=2,
            checks_per_participant=checks and 1,
            questions=(AGE, REMARK),
            criteria={
                "rating": CRITERIA,
                "blind-comments": REALISM,
                "sliders": QUALITY,
                "free-follow-up": SURE,
            }.get(kind, ()),
        ),
        **settings,
    )
    write_study(folder, study, items, key, dict.fromkeys(study.languages, StudyTexts("# Watch", "Agree?")))
    return load_study(folder)


def _item(number: int, kind: Kind, file: str, *, check: bool, group: str) -> StudyItem:
    parts: Sequence[StudyPart] = ()
    if kind in SIZES:
        size = SIZES[kind]
        parts = [
            StudyPart(id=f"part-{number}-{n}", content=(StudyText(f"Words {n} on video {number}"),))
            for n in range(size)
        ]
    return StudyItem(
        id=f"item-{number}",
        group=group,
        content=(StudyMedia(file, "video"),),
        question="What is the person doing?" if "mcq" in kind else "",
        options=OPTIONS if "mcq" in kind else (),
        parts=tuple(parts),
        facets={"angle": str(number % 2 * 90), "actor": "jn"[number // 2 % 2]},
        check=check,
    )


def _key(item: StudyItem, number: int, kind: Kind, *, check: bool) -> KeyLine | None:
    if "mcq" in kind:
        return KeyLine(item=item.id, option=number % 4, accepted=(OPTIONS[number % 4],))
    expected: dict[str, Any] = {}
    if check:
        answers: dict[str, dict[str, Any]] = {
            "blind-comments": {item.parts[0].id: {"verdict": "human"}} if item.parts else {},
            "rating": {item.parts[0].id: {"help": 0}} if item.parts else {},
            "pairwise": {"pair": "first"},
            "best-worst": {"best-worst": {"best": 0}},
            "sliders": {item.parts[0].id: {"quality": 0}} if item.parts else {},
            "spans": {"spans": []},
            "free-follow-up": {"free": "apple"},
        }
        expected = answers[kind]
    sources = {part.id: SOURCES[n % 2] for n, part in enumerate(item.parts)}
    return KeyLine(item=item.id, sources=sources, expected=expected)


def judged(
    loaded: LoadedStudy,
    people: Sequence[str],
    answer: Callable[[str, StudyItem, str, str], Any],
    *,
    seconds: Callable[[str, StudyItem], float | None] = lambda *_: 10.0,
    shown: Callable[[str, StudyItem], tuple[int, ...]] | None = None,
    url: str | None = None,
) -> None:
    """Everybody judges every item: `answer(annotator, item, page, part)` says how; None leaves it out."""
    from vivant_study.store import open_store

    given: list[StudyJudgement] = []
    for name in people:
        for position, item in enumerate(loaded.items):
            size = len(item.options) or len(item.parts)
            order = shown(name, item) if shown else shuffled_indices(size, 0, name, item.id)
            for page in PAGES[loaded.study.kind]:
                parts = [part.id for part in item.parts] if page in ("comments", "rate") else [""]
                for part in parts:
                    text = answer(name, item, page, part)
                    if text is not None:
                        given.append(
                            StudyJudgement(
                                annotator=name,
                                item=item.id,
                                page=page,
                                part=part,
                                answer=text,
                                shown=order,
                                position=position,
                                seconds=seconds(name, item),
                                given="2026-01-02T03:04:05+00:00",
                                check=item.check,
                            )
                        )
    if url is None:
        copy_empty_database(loaded.path)
    with open_store(loaded.path, url) as store:
        store.add_imported([StudyPerson(annotator=name, state="finished") for name in people], given)
