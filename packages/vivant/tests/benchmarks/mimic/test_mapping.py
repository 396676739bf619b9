"""Data in other shapes, mapped onto ours: every form of file and column, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import polars
import pytest

from vivant.benchmarks.mimic import Mimic
from vivant.benchmarks.mimic.check import check
from vivant.benchmarks.mimic.conversion import convert_dataset
from vivant.benchmarks.mimic.format import iter_items, iter_videos
from vivant.core.errors import DataError, UsageError, VivantError


def convert_with(folder: Path, text: str) -> Path:
    """Convert by this mapping, in place."""
    (folder / "map.yaml").write_text(text, "utf-8")
    convert_dataset(folder / "map.yaml", folder)
    return folder


CSV = """\
video_id,name,about,labels,kind,secs,cat
101,First one,"About, the first",cats; funny ,1,12.5,10
102,Second one,About the second,,2,,20
"""
CSV_MAP = """
videos:
  file: meta.csv
  columns:
    platform: {value: youtube}
    id: video_id
    title: name
    description: about
    tags: {column: labels, split: ";"}
    duration: secs
    category: {column: cat, values: {"10": Music, "20": Pets}}
    file: {column: video_id, format: "clips/{}.mp4"}
items:
  file: qa.json
  rows: data.questions
  columns:
    id: qid
    task: {column: type, values: {title_match: title, cat_match: category}}
    video: {column: vid, format: "youtube/{}"}
    options: choices
    key: answer
"""


def test_csv_videos_and_nested_json_items(tmp_path: Path) -> None:
    (tmp_path / "meta.csv").write_text(CSV, "utf-8-sig")
    questions: list[dict[str, Any]] = [
        {"qid": 7, "type": "title_match", "vid": 101, "choices": ["x", "First one", "y", "z"], "answer": "B"},
        {"qid": 8, "type": "cat_match", "vid": 102, "choices": {"B": "Pets", "A": "Cars"}, "answer": "Pets"},
    ]
    (tmp_path / "qa.json").write_bytes(msgspec.json.encode({"data": {"questions": questions}}))
    root = convert_with(tmp_path, CSV_MAP)
    first, second = (video for _, video in iter_videos(root))
    assert (first.id, first.title, first.description) == ("101", "First one", "About, the first")
    assert first.tags == ("cats", "funny") and first.duration == 12.5 and first.category == "Music"
    assert first.path == "clips/101.mp4"
    assert second.tags == () and second.duration is None and second.category == "Pets"
    one, two = (item for _, item in iter_items(root))
    assert (one.id, one.task, one.video, one.key) == ("7", "title", "youtube/101", 1)
    assert one.options[1].video == "youtube/101" and one.options[0].video == ""
    assert [o.text for o in two.options] == ["Cars", "Pets"] and two.key == 1
    assert Mimic().load(root, "title")[0].facets["category"] == "Music"
    assert any("2 items do not name the source" in line for line in check(root).contents)


def test_parquet_with_nested_comments(tmp_path: Path) -> None:
    frame = polars.DataFrame(
        {
            "meta": [{"vid": 5, "head": "Title"}],
            "thread": [[{"body": "nice 😂", "up": 3}, {"body": "ok", "up": None}]],
        }
    )
    frame.write_parquet(tmp_path / "v.parquet")
    root = convert_with(
        tmp_path,
        """
videos:
  file: v.parquet
  columns:
    platform: {value: tiktok}
    id: meta.vid
    title: meta.head
    comments: {column: thread, columns: {text: body, likes: up}}
""",
    )
    (video,) = (video for _, video in iter_videos(root))
    assert [(c.id, c.text, c.likes) for c in video.comments] == [("c1", "nice 😂", 3), ("c2", "ok", None)]
    assert not (root / "items.jsonl").exists()


def test_comments_and_options_in_columns_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text('{"id": 1}\n{"id": 2}\n', "utf-8")
    (tmp_path / "c.tsv").write_text("vid\ttext\tlikes\n1\tfirst\t9\n2\tother\t1\n1\tsecond\t\n", "utf-8")
    (tmp_path / "q.csv").write_text("task,vid,A,As,B,Bs,gold\ntitle,1,yes,1,no,2,1\n", "utf-8")
    root = convert_with(
        tmp_path,
        """
videos: {file: v.jsonl, columns: {platform: {value: youtube}, id: id}}
comments: {file: c.tsv, columns: {video: vid, text: text, likes: likes}}
items:
  file: q.csv
  columns:
    task: task
    video: {column: vid, format: "youtube/{}"}
    options:
      - columns: {text: A, video: {column: As, format: "youtube/{}"}}
      - columns: {text: B, video: {column: Bs, format: "youtube/{}"}}
    key: {column: gold, base: 1}
""",
    )
    videos = [video for _, video in iter_videos(root)]
    assert [(c.text, c.likes) for c in videos[0].comments] == [("first", 9), ("second", None)]
    (item,) = (item for _, item in iter_items(root))
    assert item.key == 0 and item.id == "1"
    assert [(o.text, o.video) for o in item.options] == [("yes", "youtube/1"), ("no", "youtube/2")]


GOOD = "videos: {file: v.jsonl, columns: {platform: {value: p}, id: id}}"


@pytest.mark.parametrize(
    ("mapping", "row", "message"),
    [
        ("videos: {file: v.jsonl, columns: {platfrom: x}}", "{}", "did you mean 'platform'"),
        ("videos: {file: v.jsonl}", "{}", "columns"),
        ("videos: {file: v.jsonl, columns: {}, typo: 1}", "{}", "typo"),
        ("videos: [", "{}", "map.yaml"),
        ("videos: {file: gone.csv, columns: {id: id}}", "{}", "Cannot read .*gone.csv"),
        ("videos: {file: v.txt, columns: {id: id}}", "{}", "rows are read from"),
        (GOOD, "{}", "row 1: .*id"),
        (GOOD, "[1]", "row 1: not an object"),
        (GOOD, "{", "line 1"),
        (
            "videos: {file: v.jsonl, columns: {platform: {value: p}, id: id, views: n}}",
            '{"id": 1, "n": "many"}',
            "row 1: .*views",
        ),
        (
            "videos: {file: v.jsonl, columns: {platform: {value: p}, id: id, category: {column: c, values: {a: A}}}}",
            '{"id": 1, "c": "b"}',
            "field category: Unknown value 'b'",
        ),
        (
            GOOD + "\nitems: {file: v.jsonl, columns: {task: t, video: id, options: o, key: k}}",
            '{"id": 1, "t": "title", "o": ["a", "b"], "k": "C"}',
            "the key 'C' is none of 2 options",
        ),
        (
            GOOD + "\nitems: {file: v.jsonl, columns: {task: t, video: id, options: o, key: k}}",
            '{"id": 1, "t": "title", "o": ["a", "b"], "k": "neither"}',
            "no letter, no place and no option's text",
        ),
        (
            GOOD + "\ncomments: {file: v.jsonl, columns: {video: t, text: t}}",
            '{"id": 1, "t": "unknown"}',
            "comments on 1 videos that are not in v.jsonl, the first is unknown",
        ),
    ],
)
def test_a_wrong_mapping_or_row_is_one_clear_line(
    tmp_path: Path, mapping: str, row: str, message: str
) -> None:
    (tmp_path / "v.jsonl").write_text(row + "\n", "utf-8")
    (tmp_path / "v.txt").write_text(row + "\n", "utf-8")
    with pytest.raises(VivantError, match=message) as caught:
        convert_with(tmp_path, mapping)
    assert "\n" not in str(caught.value)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text('{"id": 1}\n', "utf-8")
    convert_with(tmp_path, GOOD)
    with pytest.raises(UsageError, match=r"holds videos\.jsonl or items\.jsonl already"):
        convert_with(tmp_path, GOOD)
    with pytest.raises(DataError, match="cannot be read"):
        convert_dataset(tmp_path / "none.yaml", tmp_path / "out")
