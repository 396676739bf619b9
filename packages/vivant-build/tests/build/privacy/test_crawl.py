"""A crawl that goes through the pipeline loses personal data in every field."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import polars as pl

from tests.support.mimic_build_kit import Words
from vivant.benchmarks.mimic.format import iter_items
from vivant_build.mimic.cleaning import clean
from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.settings import IngestSettings, PipelineSettings, SelectSettings
from vivant_build.mimic.split import split_videos
from vivant_build.mimic.tasks import make_tasks
from vivant_build.mimic.world import WorldPlan
from vivant_build.mimic.world.crawl import write_crawl
from vivant_build.privacy.text_forms import ENTITY, INVISIBLE

ALONE = PipelineSettings(workers=1)


def read_texts(work: Path) -> dict[str, str]:
    return dict(pl.read_parquet(work / "ingest" / "comments" / "*.parquet").select("id", "text").iter_rows())


def test_no_option_holds_an_entity_or_an_invisible_character(tmp_path: Path) -> None:
    """Every text of the crawl has both, as scrapers leave them: each task's options come from other fields."""

    def spoil(text: str) -> str:
        return f"\u200b{text} &amp;amp; co\ufeff"

    crawl, work = tmp_path / "crawl", tmp_path / "work"
    write_crawl(crawl, WorldPlan(videos=250, comments=25_000, seed=4), broken=0)
    for path in crawl.rglob("*.info.json"):
        info = json.loads(path.read_bytes())
        info |= {name: spoil(info[name] or "") for name in ("title", "description")}
        info |= {name: [spoil(text) for text in info[name]] for name in ("tags", "categories", "topics")}
        for comment in info["comments"]:
            comment["text"] = spoil(comment["text"])
        path.write_text(json.dumps(info), encoding="utf-8")
    chosen = PipelineSettings(workers=1, select=SelectSettings(target=16, top={"*": 0.5}))
    ingest(work, [crawl], chosen)
    clean(work, chosen)
    select_videos(work, chosen)
    split_videos(work, chosen)
    make_tasks(work, chosen, encoder=Words())
    items = [item for _, item in iter_items(work / "tasks")]
    assert {item.task for item in items} == set(chosen.tasks.tasks)
    texts = [option.text for item in items for option in item.options]
    assert [text for text in texts if re.search(f"[{INVISIBLE}]|{ENTITY}", text)] == []
    assert sum("& co" in text for text in texts) > len(texts) / 2


def test_an_api_answer_loses_the_names_it_brings(tmp_path: Path) -> None:
    def comment(name: str, author: str, text: str) -> dict[str, Any]:
        snippet = {"videoId": "v1", "textOriginal": text, "authorDisplayName": author, "likeCount": 1}
        return {"kind": "youtube#comment", "id": name, "snippet": snippet}

    video = {
        "title": "MARTA WALKS to the sea",
        "description": "by marta walks",
        "channelTitle": "Marta Walks",
    }
    items = [
        {"kind": "youtube#video", "id": "v1", "snippet": video},
        comment("c1", "@quill_77", "thank you, marta walks"),
        comment("c2", "Otto Kranich", "Quill_77 is right"),
        comment("c3", "someone", "as OTTO KRANICH said, I love it"),
    ]
    (tmp_path / "answer.json").write_text(json.dumps({"items": items}))
    ingest(tmp_path / "work", [tmp_path / "answer.json"], ALONE)
    assert read_texts(tmp_path / "work") == {
        "c1": "thank you,",
        "c2": "is right",
        "c3": "as said, I love it",
    }
    row = pl.read_parquet(tmp_path / "work" / "ingest" / "videos" / "*.parquet").row(0, named=True)
    assert (row["title"], row["description"]) == ("to the sea", "by")
    assert not list((tmp_path / "work").rglob("*.names"))


def test_a_table_loses_the_names_it_brings(tmp_path: Path) -> None:
    with (tmp_path / "videos.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["vid", "name", "who"], ["1", "Sea by MARTA WALKS", "Marta Walks"]])
    lines = [
        {"v": "1", "n": "a", "t": "marta walks rocks", "by": "Otto Kranich"},
        {"v": "1", "n": "b", "t": "hi otto kranich &amp; all\u200b", "by": "x"},
    ]
    (tmp_path / "comments.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "map.yaml").write_text(
        "videos:\n  file: videos.csv\n  columns: {platform: {value: vimeo}, id: vid, title: name, uploader: who}\n"
        "comments:\n  file: comments.jsonl\n  columns: {video: v, id: n, text: t, author: by}\n"
    )
    ingest(tmp_path / "work", [tmp_path / "map.yaml"], ALONE)
    assert read_texts(tmp_path / "work") == {"a": "rocks", "b": "hi & all"}
    assert pl.read_parquet(tmp_path / "work" / "ingest" / "videos" / "*.parquet")["title"].to_list() == [
        "Sea by"
    ]


def test_a_name_that_everybody_uses_is_a_word(tmp_path: Path) -> None:
    """Under five people's videos 羽毛糖 and zuckrig are words; under one person's own, перолистка is a name."""

    def record(number: int, uploader: str, texts: list[str]) -> dict[str, Any]:
        comments = [{"id": f"{number}-{n}", "text": text, "author": "x"} for n, text in enumerate(texts)]
        return {
            "id": f"v{number}", "extractor_key": "Youtube", "title": "Sea", "uploader": uploader, "comments": comments,
        }  # fmt: skip

    records = [
        record(n, f"Somebody Else {n}", [f"我买了羽毛糖{n}个", f"so zuckrig, {n} times"]) for n in range(5)
    ]
    records += [record(10 + n, "Owner", [f"перолистка молодец {n}", "same"]) for n in range(6)]
    authors = ("羽毛糖", "Zuckrig", "Перолистка")
    records[0]["comments"] += [{"id": name, "text": "перолистка, hi", "author": name} for name in authors]
    for item in records:
        (tmp_path / f"{item['id']}.info.json").write_text(json.dumps(item))
    ingest(tmp_path / "work", [tmp_path], ALONE)
    texts = read_texts(tmp_path / "work")
    assert texts["0-0"] == "我买了羽毛糖0个" and texts["4-1"] == "so zuckrig, 4 times"
    assert texts["羽毛糖"] == ", hi" and texts["15-0"] == "молодец 5"


def test_names_stay_where_mentions_are_kept(tmp_path: Path) -> None:
    comments = [{"id": "1", "text": "thanks @quill_77", "author": "@quill_77"}]
    record = {"id": "v", "extractor_key": "Youtube", "title": "Sea", "uploader": "M", "comments": comments}
    (tmp_path / "v.info.json").write_text(json.dumps(record))
    kept = PipelineSettings(workers=1, ingest=IngestSettings(mentions="keep"))
    ingest(tmp_path / "work", [tmp_path / "v.info.json"], kept)
    assert read_texts(tmp_path / "work") == {"1": "thanks @quill_77"}
