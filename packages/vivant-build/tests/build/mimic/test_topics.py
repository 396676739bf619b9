"""Topics for crawls without any: groups of videos by their words, named by terms or a model, reviewed by a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.mimic_build_kit import Words, settings, thread, video, write_clean
from vivant.core.errors import VivantError
from vivant.engine.evaluation import evaluate
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.settings import TaskSettings, TopicSettings
from vivant_build.mimic.split import split_videos
from vivant_build.mimic.steps import StepError
from vivant_build.mimic.tasks import make_tasks
from vivant_build.mimic.topic_clusters import VideoWords, group_videos, split_terms
from vivant_build.mimic.topic_names import parse_name
from vivant_build.mimic.topics import keeps_topics, make_topics, needs_topics, read_topics

MODEL = """
class Namer:
    def generate(self, prompts, media):
        names = []
        for prompt in prompts:
            term = prompt.split("in common: ")[1].split(",")[0]
            odd = term == {odd!r}
            names.append("There is far too much in these videos for me to say" if odd else f"**{{term}} clips**")
        return names
"""


def bare(number: int, **changes: Any) -> dict[str, Any]:
    return video(number, **{"topics": [], **changes})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean crawl of 320 videos on sixteen subjects, none of which says its topic."""
    work = tmp_path_factory.mktemp("topics") / "work"
    videos = [bare(number) for number in range(320)]
    write_clean(work, videos, [c for v in videos for c in thread(v, 104)])
    return work


def test_a_channel_is_no_topic_and_gives_none_its_name() -> None:
    def make(number: int, words: str, uploader: str) -> VideoWords:
        return VideoWords(
            f"youtube/{number}", f"{words} {number}", [*words.split(), f"{uploader}tv"], "", uploader
        )

    subjects = (
        "glaze kiln",
        "sail mast",
        "dough oven",
        "chess rook",
        "tent trail",
        "guitar chord",
        "snow ski",
        "bee hive",
    )
    shared = [make(number, subjects[number % 8], f"maker{number % 5}") for number in range(96)]
    series = [make(100 + number, "gadget trial", "onlyone") for number in range(12)]
    groups = group_videos([*shared, *series], TopicSettings(), seed=0)
    names = {term for group in groups for term in group.terms[:2]}
    assert names == {term for subject in subjects for term in subject.split()}
    assert {row for group in groups for row in group.members} == set(range(96))


def test_the_terms_of_a_name_stand_together_in_a_video() -> None:
    """Twelve videos share a word and nothing else: their group is named after one meaning of it, not after three."""
    subjects = [
        "glaze kiln bowl",
        "sail mast keel",
        "dough oven crust",
        "chess rook board",
        "tent trail boots",
    ]
    subjects += ["guitar chord riff", "snow ski lift", "bee hive honey"]
    meanings = ("spike lee film", "spike volley net", "spike heel shoe")
    texts = [subjects[number % 8] for number in range(96)] + [meanings[number % 3] for number in range(12)]
    videos = [
        VideoWords(f"youtube/{number}", text, [], "", f"maker{number % 7}")
        for number, text in enumerate(texts)
    ]
    groups = group_videos(videos, TopicSettings(most=9), seed=0)
    (mixed,) = [group for group in groups if "spike" in group.terms]
    assert len({videos[row].title for row in mixed.members}) == 3
    assert " ".join(sorted(mixed.terms)) in {" ".join(sorted(meaning.split())) for meaning in meanings}


def test_videos_on_one_subject_get_one_topic_named_by_its_words(world: Path) -> None:
    make_topics(world, settings())
    topics = {topic.id: topic for topic in read_topics(world)}
    rows = pl.read_parquet(world / "topics" / "videos.parquet").to_dicts()
    subjects = {f"{v['platform']}/{v['id']}": v["topics"][0] for v in map(video, range(320))}
    told = [row for row in rows if row["topics"]]
    assert len(told) > 0.8 * len(rows)
    per_topic: dict[str, Counter[str]] = {}
    for row in told:
        per_topic.setdefault(row["topic"], Counter())[subjects[row["ref"]]] += 1
    pure = sum(counts.most_common(1)[0][1] for counts in per_topic.values())
    assert pure > 0.95 * len(told)
    assert len(per_topic) >= 14
    for name, counts in per_topic.items():
        subject = counts.most_common(1)[0][0]
        texts = [
            f"{v['title']} {v['description']}" for v in map(video, range(16)) if v["topics"][0] == subject
        ]
        words = set(split_terms(" ".join(texts)))
        assert words & set(topics[name].terms[:3]), (subject, topics[name])
    assert len({topic.name for topic in topics.values()}) == len(topics)


def test_the_steps_after_it_ask_for_the_topics_that_were_made(tmp_path: Path) -> None:
    videos = [bare(number) for number in range(256)]
    write_clean(tmp_path, videos, [c for v in videos for c in thread(v, 104)])
    chosen = settings()
    assert needs_topics(tmp_path, chosen)
    make_topics(tmp_path, chosen)
    select_videos(tmp_path, chosen)
    split_videos(tmp_path, chosen)
    make_tasks(tmp_path, chosen, encoder=Words())
    names = {topic.name for topic in read_topics(tmp_path)}
    items = [json.loads(line) for line in (tmp_path / "tasks" / "items.jsonl").read_text().splitlines()]
    asked = [item for item in items if item["task"] == "topic"]
    assert len(asked) >= 32
    assert {option["text"] for item in asked for option in item["options"]} <= names
    assert all(len({option["text"] for option in item["options"]}) == 4 for item in asked)


def test_topics_that_no_setting_asks_for_change_nothing(tmp_path: Path) -> None:
    """What a work folder did before does not change the edition."""
    videos = [bare(number) for number in range(256)]
    chosen = settings(tasks=TaskSettings(tasks=("title", "tag")))
    results = []
    for folder, earlier in (("fresh", False), ("used", True)):
        work = tmp_path / folder
        write_clean(work, videos, [c for v in videos for c in thread(v, 104)])
        if earlier:
            make_topics(work, chosen)
            select_videos(work, settings())
        record = select_videos(work, chosen).record
        split_videos(work, chosen)
        make_tasks(work, chosen, encoder=Words())
        lines = [(work / "tasks" / name).read_bytes() for name in ("videos.jsonl", "items.jsonl")]
        results.append((record.inputs, record.fingerprint, lines))
    assert results[0] == results[1]
    assert select_videos(work, settings()).record.inputs.keys() == {"clean", "topics"}


def test_options_of_topics_that_were_made_are_in_the_video_s_language(tmp_path: Path) -> None:
    """Or whoever hears which language is spoken knows the answer."""
    videos = [bare(number, language="de" if number // 16 % 2 else "en") for number in range(320)]
    write_clean(tmp_path, videos, [c for v in videos for c in thread(v, 104)])
    chosen = settings(tasks=TaskSettings(tasks=("topic",)))
    make_topics(tmp_path, chosen)
    select_videos(tmp_path, chosen)
    split_videos(tmp_path, chosen)
    make_tasks(tmp_path, chosen, encoder=Words())
    language = {f"{v['platform']}/{v['id']}": v["language"] for v in videos}
    items = [json.loads(line) for line in (tmp_path / "tasks" / "items.jsonl").read_text().splitlines()]
    asked = Counter(language[item["video"]] for item in items)
    assert asked["en"] >= 12 and asked["de"] >= 12
    for item in items:
        assert {language[option["video"]] for option in item["options"]} == {language[item["video"]]}


def test_topics_that_came_with_the_videos_stay(tmp_path: Path) -> None:
    videos = [bare(n) if n % 2 else video(n) for n in range(128)]
    write_clean(tmp_path, videos, [])
    make_topics(tmp_path, settings())
    rows = pl.read_parquet(tmp_path / "topics" / "videos.parquet")
    assert set(rows["ref"]) == {v["ref"] for v in videos if not v["topics"]}


def test_other_videos_than_those_the_topics_were_made_from_are_refused(tmp_path: Path) -> None:
    videos = [bare(number) for number in range(128)]
    write_clean(tmp_path, videos, [])
    make_topics(tmp_path, settings())
    write_clean(tmp_path, videos[:120], [])
    with pytest.raises(
        StepError, match=r"select: .*topics was made from other videos .* vivant build mimic topics"
    ):
        select_videos(tmp_path, settings())


def test_words_that_form_no_groups_are_told_with_the_remedy(tmp_path: Path) -> None:
    write_clean(tmp_path, [bare(n, title=f"x{n}", tags=[], description="") for n in range(40)], [])
    with pytest.raises(
        StepError, match=r"form no groups of 6; lower topics\.fewest, bring more videos, or leave topic"
    ):
        make_topics(tmp_path, settings())


def test_a_crawl_whose_videos_all_have_topics_needs_none(tmp_path: Path) -> None:
    write_clean(tmp_path, [video(number) for number in range(40)], [])
    with pytest.raises(StepError, match="all videos have topics already"):
        make_topics(tmp_path, settings())


def test_a_model_names_topics_and_what_is_no_name_is_counted(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_topics(world, settings())
    first = read_topics(world)[0]
    (tmp_path / "namer.py").write_text(MODEL.format(odd=first.terms[0]))
    monkeypatch.chdir(tmp_path)
    step = make_topics(world, settings(), model="./namer.py:Namer")
    named = {topic.id: topic for topic in read_topics(world)}
    assert named[first.id].name == first.name and named[first.id].named_by == "terms"
    others = [topic for topic in named.values() if topic.id != first.id]
    assert all(topic.name.startswith(topic.terms[0]) and topic.name.endswith("clips") for topic in others)
    assert any(f"no usable name for 1 of {len(named)} topics" in note for note in step.record.notes)


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ('**Topic: "Street food".**', "Street food"),
        ("Let me think about it.\n\nName: Katzen", "Katzen"),
        ("「拉面」", "拉面"),
        ("", ""),
        ("1234", ""),
        ("These videos are about many different things that I see here", ""),
        ('```json\n{"topic": "Hot air balloons"}\n```', "Hot air balloons"),
        ('{"name": "Balloons", "why": "they fly"}', ""),
        ('{"topic": "Balloo', ""),
        ("{'topic': 'Balloons'}", ""),
    ],
)
def test_a_name_is_read_from_a_reply(reply: str, name: str) -> None:
    assert parse_name(reply) == name


def test_a_review_drops_what_it_does_not_confirm(world: Path, tmp_path: Path) -> None:
    """The questions are a benchmark: whoever answers them, the run is the review."""
    make_topics(world, settings())
    before = read_topics(world)
    by_title = {topic.examples[0]: topic.name for topic in before}
    right = tmp_path / "right.py"
    right.write_text(
        "import re\n"
        "class Reader:\n"
        "    def generate(self, prompts, media):\n"
        f"        names = {[topic.name for topic in before[:-2]]!r}\n"
        "        replies = []\n"
        "        for prompt in prompts:\n"
        "            options = dict(re.findall(r'^\\W*([A-E])\\W+(.+?)\\s*$', prompt, re.MULTILINE))\n"
        "            asked = [line for line in WANTED if line in prompt]\n"
        "            wanted = WANTED[asked[0]] if asked else ''\n"
        "            good = [letter for letter, text in options.items() if text == wanted and text in names]\n"
        "            replies.append((good or [max(options)])[0])\n"
        "        return replies\n"
        f"WANTED = {by_title!r}\n"
    )
    run = evaluate(str(world / "topics" / "questions.jsonl"), f"{right}:Reader", out=tmp_path / "run")
    make_topics(world, settings(), review=run.path)
    after = {topic.id: topic for topic in read_topics(world)}
    assert {name for name, topic in after.items() if topic.dropped} == {topic.id for topic in before[-2:]}
    rows = pl.read_parquet(world / "topics" / "videos.parquet")
    assert not set(rows["topic"]) & {topic.id for topic in before[-2:]}
    # What people confirmed is not made anew by `all`, nor replaced in silence where it fits no longer.
    assert keeps_topics(world, settings(), "")
    other = settings(topics=TopicSettings(fewest=12))
    for changed, model in ((other, ""), (settings(), "./namer.py:Namer")):
        with pytest.raises(StepError, match=r"were named by a model or reviewed, for other videos.* --force"):
            keeps_topics(world, changed, model)
    with pytest.raises(VivantError, match="asks about other topics"):
        make_topics(world, other, review=run.path)
    make_topics(world, settings())
    assert not keeps_topics(world, other, "")


SAME = """
import sys
from pathlib import Path
from tests.support.mimic_build_kit import settings, video, write_clean
from vivant_build.mimic.topics import make_topics

work, order = Path(sys.argv[1]), int(sys.argv[2])
rows = [video(n, topics=[], language="en" if n % 4 else "de") for n in range(200)][::order]
write_clean(work, rows, [])
make_topics(work, settings())
"""


@pytest.mark.full
def test_the_same_videos_give_the_same_topics_byte_for_byte(tmp_path: Path) -> None:
    for name, order, seed in (("one", 1, "1"), ("two", -1, "2")):
        command = [sys.executable, "-c", SAME, str(tmp_path / name), str(order)]
        # Where `tests` is found, which spans several folders.
        path = os.pathsep.join(sys.path)
        env = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": seed}
        subprocess.run(command, check=True, env=env)
    for file in ("videos.parquet", "topics.jsonl", "questions.jsonl"):
        first, second = ((tmp_path / name / "topics" / file).read_bytes() for name in ("one", "two"))
        assert first == second, file


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The 3rd Sourdough, day 12!", ["the", "sourdough", "day"]),
        ("拉面教程", ["拉面", "面教", "教程"]),
        ("हिन्दी गाना", ["हिन्दी", "गाना"]),
    ],
)
def test_terms_are_words_or_pairs_of_characters(text: str, terms: list[str]) -> None:
    assert split_terms(text) == terms
