"""Clean: what is left out and why, measured against the truth of the invented world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vivant.core.errors import DataError
from vivant_build.mimic.cleaning import clean, frame_hashes
from vivant_build.mimic.cleaning.languages import load_detector
from vivant_build.mimic.cleaning.minhash import compute_signatures, group_near_duplicates, hash_shingles
from vivant_build.mimic.cleaning.rules import read_rules
from vivant_build.mimic.cleaning.tokens import hash_texts, measure_longest_runs, tokenize
from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.schema import COMMENTS, VIDEOS
from vivant_build.mimic.settings import CleanSettings, PipelineSettings
from vivant_build.mimic.steps import StepError, begin_step
from vivant_build.mimic.world import TRUTH, WorldPlan, make_world
from vivant_build.mimic.world.phrases import Phrases, load_topics
from vivant_build.mimic.world.platform import array_generator
from vivant_build.mimic.world.rendering import render_video

ALONE = PipelineSettings(workers=1)


def told(texts: Sequence[str]) -> list[str]:
    found = load_detector()
    return [found.languages[code] for code in found.detect(tokenize(pa.array(texts)))]


# ── words and languages ──


def test_words_are_the_same_whatever_their_case_and_signs() -> None:
    found = tokenize(
        pa.array(["Hello, WORLD!", "hello world", "world hello", "", "你好 ok", "नमस्ते दुनिया", "مرحبا بك،"])
    )
    assert found.counts.tolist() == [2, 2, 2, 0, 3, 2, 2]
    made = hash_texts(found)
    assert made[0] == made[1] != made[2]
    emoji = hash_texts(tokenize(pa.array(["😂", "😂😂", "🔥", "!!"])))
    assert len(set(emoji.tolist())) == 4
    assert tokenize(pa.array([], pa.string())).texts == 0


def test_runs_of_one_sign_are_counted_within_a_text() -> None:
    found = measure_longest_runs(
        tokenize(pa.array(["aaa", "aaab", "a     b", "!!!!!!", "", "soooooooo gooood"]))
    )
    assert found.tolist() == [3, 3, 0, 6, 0, 8]


SAMPLES = {
    "en": "i really did not expect that at all",
    "es": "no puedo creer lo que pasó aquí",
    "de": "das ist wirklich nicht zu glauben",
    "fr": "je ne peux pas croire que c'est vrai",
    "pt": "eu não acredito que isso aconteceu",
    "it": "non posso credere che sia successo a te questo",
    "tr": "bu çok güzel bir video",
    "pl": "to jest bardzo dobre, dziękuję",
    "ru": "я не могу в это поверить",
    "uk": "я не можу в це повірити, що це",
    "ar": "لا أستطيع أن أصدق هذا",
    "fa": "این خیلی خوب است که می‌بینم",
    "hi": "मैं इस पर विश्वास नहीं कर सकता",
    "zh": "这真是太不可思议了",
    "ja": "これは本当に信じられない",
    "ko": "정말 믿을 수 없어요",
    "th": "ไม่น่าเชื่อเลย",
    "he": "אני לא מאמין",
    "el": "δεν το πιστεύω",
}


def test_languages_of_many_scripts() -> None:
    assert dict(zip(SAMPLES, told(list(SAMPLES.values())), strict=True)) == {code: code for code in SAMPLES}
    assert told(["😂😂😂", "12345", "", "lorem"]) == ["", "", "", ""]
    assert told(["这个 iphone 太好了 love", "ok 谢谢你们"]) == ["zh", "zh"]


def test_languages_of_the_world_are_found() -> None:
    """The figures in docs/mimic-data.md: whole texts nearly always, comments of a few words mostly."""
    phrases = Phrases()
    chance = array_generator(1, "languages")
    for number, code in enumerate(phrases.languages):
        language, topic = np.full(2000, number), chance.integers(0, len(phrases.topics), 2000)
        for family, least in (("sentences", 0.97), ("moments", 0.85), ("abouts", 0.85)):
            found = Counter(told(phrases.fill(family, language, topic, chance).to_pylist()))
            assert found[code] / 2000 > least, (code, family, found)
            wrong = sum(number for name, number in found.items() if name not in (code, ""))
            assert wrong / 2000 < 0.05, (code, family, found)


# ── near-duplicates ──


def test_similarity_is_estimated_and_groups_are_found() -> None:
    chance = array_generator(3, "minhash")
    base = [" ".join(f"w{n}" for n in chance.integers(0, 5000, 40)) for _ in range(300)]
    close = [f"{text} and two more" for text in base[:50]]
    half = [" ".join(text.split()[:20] + [f"x{n}" for n in range(20)]) for text in base[50:100]]
    texts = base + close + half
    found = tokenize(pa.array(texts))
    made = compute_signatures(found)
    combined, first = hash_shingles(found)
    for one, other in ((0, 300), (60, 360)):
        sets = [set(combined[first[row] : first[row + 1]].tolist()) for row in (one, other)]
        exact = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
        assert abs((made[one] == made[other]).mean() - exact) < 0.12
    group = group_near_duplicates(made, found.counts >= 5, 0.7)
    assert group[300:350].tolist() == list(range(50))
    assert group[350:].tolist() == list(range(350, 400))
    apart = group_near_duplicates(made, found.counts >= 5, 0.7, np.arange(len(texts)).astype(np.uint64))
    assert apart.tolist() == list(range(400))


def test_a_bucket_of_thousands_is_one_group() -> None:
    found = tokenize(pa.array(["the very same words under every one of them"] * 5000))
    assert set(group_near_duplicates(compute_signatures(found, 8), found.counts >= 5, 0.7).tolist()) == {0}


# ── the step, on the world ──


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("clean")
    make_world(work, WorldPlan(videos=2500, comments=60_000, seed=11))
    clean(work, ALONE)
    return work


def read(work: Path, step: str, kind: str) -> pl.DataFrame:
    return pl.read_parquet(work / step / kind / "*.parquet")


def reasons(work: Path) -> pl.DataFrame:
    return pl.read_parquet(work / "clean" / "quarantine.parquet")


def test_columns_are_those_agreed(cleaned: Path) -> None:
    videos, comments = read(cleaned, "clean", "videos"), read(cleaned, "clean", "comments")
    assert videos.columns == [*VIDEOS.names, "dup_group"]
    assert comments.columns == [*COMMENTS.names, "language"]
    assert set(comments["ref"].unique()) == set(videos["ref"])
    assert videos["ref"].n_unique() == len(videos)


def test_every_loss_has_a_reason(cleaned: Path) -> None:
    before, after = read(cleaned, "ingest", "videos"), read(cleaned, "clean", "videos")
    lost = set(before["ref"]) - set(after["ref"])
    named = reasons(cleaned).filter(pl.col("item") == "video")
    assert set(named["source"]) == lost
    gone = reasons(cleaned).filter(pl.col("item") != "video")["item"].str.extract(r"(\d+)").cast(int).sum()
    assert len(read(cleaned, "ingest", "comments")) - gone == len(read(cleaned, "clean", "comments"))


def test_copies_go_near_copies_are_grouped_and_few_others_are(cleaned: Path) -> None:
    truth = pl.read_parquet(cleaned / "ingest" / TRUTH)
    why = dict(reasons(cleaned).filter(pl.col("item") == "video").select("source", "reason").iter_rows())
    group = dict(read(cleaned, "clean", "videos").select("ref", "dup_group").iter_rows())
    missed = found = 0
    for ref, kind, original in truth.select("ref", "kind", "copy_of").iter_rows():
        if kind == "copy" and ref in group and original in group:
            missed += 1
        if kind == "near copy" and ref in group and original in group:
            found += group[ref] == group[original]
            missed += group[ref] != group[original]
    assert found >= 3 * missed > -1
    assert sum(reason == "copy of another video" for reason in why.values()) > 10
    honest = truth.filter(pl.col("copy_of") == pl.col("ref")).join(
        truth.filter(pl.col("copy_of") != pl.col("ref")), left_on="ref", right_on="copy_of", how="anti"
    )
    together = Counter(group[ref] for ref in honest["ref"] if ref in group)
    joined = sum(number for number in together.values() if number > 1)
    assert joined < 0.02 * len(group)


def test_languages_of_videos_are_filled_in(cleaned: Path) -> None:
    truth = pl.read_parquet(cleaned / "ingest" / TRUTH).select("ref", true="language")
    both = read(cleaned, "clean", "videos").join(truth, on="ref")
    assert len(both.filter(pl.col("language") == pl.col("true"))) > 0.995 * len(both)


def test_spam_goes_and_videos_without_real_comments_with_it(cleaned: Path) -> None:
    comments = read(cleaned, "clean", "comments")
    assert not comments["text"].str.contains("(?i)sub4sub|free robux|whatsapp|!!!!!!!!!!").any()
    top = comments.filter(pl.col("reply_to") == "")["ref"].value_counts()
    assert top.filter(pl.col("count") < 5).is_empty()
    truth = pl.read_parquet(cleaned / "ingest" / TRUTH)
    hopeless = truth.filter(pl.col("kind").is_in(["all comments spam", "all comments equal"]))["ref"]
    assert len(hopeless)
    assert set(hopeless).isdisjoint(read(cleaned, "clean", "videos")["ref"])


# ── the step, on small cases ──


def given(work: Path, videos: list[dict[str, Any]], comments: list[dict[str, Any]]) -> None:
    """WORK/ingest with just these; whatever is not said has a harmless value."""
    plain: dict[str, Any] = {
        "platform": "p", "uploader": "u", "description": "", "tags": [], "topics": [], "category": "Food",
        "language": "",
        "uploaded": datetime(2025, 1, 1), "duration": 10.0, "width": 1, "height": 1, "views": 1, "likes": 1,
        "comment_count": 1, "licence": "", "source": "", "file": "",
    }  # fmt: skip
    rows = [plain | {"ref": f"p/{v['id']}", "title": f"video number {v['id']} of mine"} | v for v in videos]
    said: list[dict[str, Any]] = [
        {"id": str(n), "likes": 1, "time": datetime(2025, 1, 2), "reply_to": ""} | c
        for n, c in enumerate(comments)
    ]
    with begin_step(work, "ingest", [], {"rows": len(rows), "said": len(said)}) as step:
        for kind, schema, values in (("videos", VIDEOS, rows), ("comments", COMMENTS, said)):
            (step.folder / kind).mkdir()
            pq.write_table(pa.Table.from_pylist(values, schema), step.folder / kind / "0.parquet")


def test_one_short_word_does_not_settle_the_language_of_a_title(tmp_path: Path) -> None:
    """English and Portuguese have the word `a`: where it is all there is, the tags are asked."""
    videos: list[dict[str, Any]] = [
        {"id": "1", "title": "Tying a shoe", "tags": ["shoe", "how to tie it"]},
        {"id": "2", "title": "Fazendo a comida", "tags": ["comida", "receita para você"]},
        {"id": "3", "title": "Panthers vs. Lions, week 5 highlights w/ sound"},
    ]
    given(tmp_path, videos, [])
    clean(tmp_path, PipelineSettings(workers=1, clean=CleanSettings(fewest_comments=0)))
    rows = read(tmp_path, "clean", "videos").sort("id")
    assert rows["language"].to_list() == ["en", "pt", "en"]


def test_of_the_same_words_the_most_liked_stays(tmp_path: Path) -> None:
    texts = [
        ("great video", 1), ("Great video!!!", 9), ("GREAT VIDEO 😂", None), ("other", 0),
        ("i watched this with my sister last night and we laughed so hard at it", 5),
        ("i watched this with my sister last night and we laughed so hard at it omg", 50),
    ]  # fmt: skip
    given(tmp_path, [{"id": "1"}], [{"ref": "p/1", "text": text, "likes": likes} for text, likes in texts])
    step = clean(tmp_path, PipelineSettings(workers=1, clean=CleanSettings(fewest_comments=1)))
    assert sorted(read(tmp_path, "clean", "comments")["likes"].to_list()) == [0, 9, 50]
    assert step.record.counts[1].why == {
        "the same words under one video": 2,
        "nearly the same words under one video": 1,
    }


def test_a_long_text_pasted_under_many_videos_is_spam(tmp_path: Path) -> None:
    pasted = "I made this wonderful little thing and everybody should really come and see it right now"
    comments: list[dict[str, Any]] = [
        {"ref": f"p/{n}", "text": text}
        for n in range(30)
        for text in (pasted, "nice one", f"own words {n} here")
    ]
    given(tmp_path, [{"id": str(n)} for n in range(30)], comments)
    step = clean(tmp_path, PipelineSettings(workers=1, clean=CleanSettings(fewest_comments=1)))
    assert step.record.counts[1].why == {"spam: the same text under many videos": 30}


def test_many_comments_on_one_video_and_all_equal(tmp_path: Path) -> None:
    many: list[dict[str, Any]] = [
        {"ref": "p/1", "text": f"comment number {n} of somebody else here today"} for n in range(30_000)
    ]
    given(tmp_path, [{"id": "1"}, {"id": "2"}], many + [{"ref": "p/2", "text": "same"}] * 500)
    step = clean(tmp_path, PipelineSettings(workers=1))
    assert read(tmp_path, "clean", "videos")["id"].to_list() == ["1"]
    assert step.record.counts[0].why == {"too few comments": 1}
    assert step.record.counts[1].why["the same words under one video"] == 499


def test_what_stands_for_a_deleted_comment_is_none(tmp_path: Path) -> None:
    texts = ["[deleted]", "[Removed]", "[deleted] is what it said", "two words"]
    given(tmp_path, [{"id": "1"}], [{"ref": "p/1", "text": text} for text in texts])
    step = clean(tmp_path, PipelineSettings(workers=1, clean=CleanSettings(fewest_comments=1)))
    assert sorted(read(tmp_path, "clean", "comments")["text"].to_list()) == sorted(texts[2:])
    assert step.record.counts[1].why == {"deleted by its writer": 2}


def test_what_is_left_out_of_videos(tmp_path: Path) -> None:
    videos: list[dict[str, Any]] = [
        {"id": "good"},
        {"id": "null", "title": None},
        {"id": "short", "title": "ok"},
        {"id": "long", "title": "x y" * 150},
        {"id": "blink", "duration": 0.2},
        {"id": "film", "duration": 9000.0},
        {"id": "unknown", "duration": None},
        {"id": "gone", "title": "[Private video]"},
        {"id": "adult", "tags": ["NSFW"]},
        {"id": "other", "title": "das ist nicht auf Englisch und bleibt nicht"},
    ]
    said = [{"ref": f"p/{v['id']}", "text": f"comment {n}"} for v in videos for n in range(5)]
    given(tmp_path, videos, said)
    step = clean(tmp_path, PipelineSettings(workers=1, clean=CleanSettings(languages=("en",))))
    assert sorted(read(tmp_path, "clean", "videos")["id"].to_list()) == ["good", "unknown"]
    assert step.record.counts[0].why == {
        "no title": 1, "title too short": 1, "title too long": 1, "shorter than 1 s": 1, "longer than 3600 s": 1,
        "another language": 1, "deleted or private": 1, "adult content": 1,
    }  # fmt: skip


def test_nothing_left_says_what_to_change(tmp_path: Path) -> None:
    given(tmp_path, [{"id": "1"}], [{"ref": "p/1", "text": "sub4sub"}] * 9)
    with pytest.raises(
        StepError, match=r"^clean: no video is left of 1: too few comments \(1\); loosen `clean`"
    ):
        clean(tmp_path, ALONE)
    assert not (tmp_path / "clean").exists()


def test_rules_are_data(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text('- {name: "no soup", fields: [comment], pattern: "soup"}\n')
    given(tmp_path / "w", [{"id": "1"}], [{"ref": "p/1", "text": t} for t in ("SOUP!", "sub4sub", "bread")])
    settings = PipelineSettings(workers=1, clean=CleanSettings(fewest_comments=1, rules=str(rules)))
    assert clean(tmp_path / "w", settings).record.counts[1].why == {"no soup": 1}
    rules.write_text('- {name: "no tea", fields: [comment], pattern: "bread"}\n')
    assert clean(tmp_path / "w", settings).record.counts[1].why == {"no tea": 1}
    for text, said in (
        ("- {name: x, fields: [comment], pattern: '('}", "the pattern of 'x' is not RE2"),
        ("- {name: x, fields: [subtitle], pattern: a}", "subtitle"),
        ("- {name: x, pattern: a, fields: [title], why: b}", "why"),
    ):
        rules.write_text(text)
        with pytest.raises(DataError, match=said):
            read_rules(rules)


def test_pictures_tell_copies_and_unreadable_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.build.mimic.test_ingest import info, put

    topics = {topic.name: topic for topic in load_topics()}
    crawl = tmp_path / "crawl"
    shown = [
        ("one", "train", 3, 96),
        ("copy", "train", 3, 80),
        ("same-topic", "train", 5, 96),
        ("other", "tea", 2, 96),
    ]
    for number, (name, topic, seed, size) in enumerate(shown):
        said = [{"id": str(n), "text": f"comment {n} on {name}"} for n in range(6)]
        title = ("a b c", "k l m n o p q r", "quite another title", "and one more of them")[number]
        put(crawl, name, info(id=name, title=title, description="", comments=said))
        render_video(
            topics[topic], seed, crawl / f"{name}.mp4", size=(size, size * 3 // 4 // 2 * 2), seconds=1.0
        )
    put(crawl, "broken", info(id="broken", title="a broken file"))
    (crawl / "broken.mp4").write_bytes((crawl / "one.mp4").read_bytes()[:300])
    ingest(tmp_path / "work", [crawl], ALONE)
    step = clean(tmp_path / "work", ALONE)
    group = dict(read(tmp_path / "work", "clean", "videos").select("id", "dup_group").iter_rows())
    assert group["one"] == group["copy"]
    assert len({group["one"], group["same-topic"], group["other"]}) == 3
    assert [reason for reason in step.record.counts[0].why if "cannot be read" in reason]

    def never(*_: Any) -> Any:
        raise AssertionError("looked at again")

    monkeypatch.setattr(frame_hashes, "hash_video", never)
    assert not clean(tmp_path / "work", ALONE, force=True).kept


def test_files_outside_the_media_folder_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "media").mkdir()
    (tmp_path / "secret.mp4").write_bytes(b"x")
    assert (
        frame_hashes.hash_video("../secret.mp4", str(tmp_path / "media")).problem
        == "the file is outside the media folder"
    )
    assert frame_hashes.hash_video("none.mp4", str(tmp_path / "media")).problem == "the file is missing"
