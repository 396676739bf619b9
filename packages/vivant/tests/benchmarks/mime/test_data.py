"""MIME's data: every form gives the same samples, and every fault one line that names it."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mime_kit import LABELS, MIME, make_edition, make_row, write_lines
from vivant.benchmarks.mime import names
from vivant.benchmarks.mime.names import VARIANTS
from vivant.benchmarks.mime.text_lists import split_texts
from vivant.core.errors import DataError
from vivant.core.types import Sample, Video

ROWS = make_edition()


def get_path(sample: Sample) -> str:
    (part,) = sample.question
    assert isinstance(part, Video)
    return part.path


def strip_folders(result: list[Sample]) -> list[tuple[Any, ...]]:
    return [(s.id, s.options, s.key, s.answers, s.facets, s.cluster, s.extra) for s in result]


# ── forms ──


def write_legacy(folder: Path) -> None:
    write_lines(folder / "mime_data_legacy.jsonl", [r for r in ROWS if r["type"] == "MIME"])
    write_lines(folder / "real_data_legacy.jsonl", [r for r in ROWS if r["type"] == "REAL"])


def write_csv(folder: Path) -> None:
    for kind, place in (("MIME", "mime-cropped/test"), ("REAL", "real/test")):
        rows = [r for r in ROWS if r["type"] == kind]
        (folder / place).mkdir(parents=True)
        with (folder / place / "metadata.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


def write_lists(folder: Path) -> None:
    lists = [r | {key: r[key].split("|") for key in ("label", "distractors")} for r in ROWS]
    write_lines(folder / "test" / "metadata.jsonl", lists)


def embed_videos(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as `datasets` stores them: the file's name only inside the video column."""
    return [
        {k: v for k, v in r.items() if k != "file_name"}
        | {"video": {"bytes": f"video of {r['sample_id']}".encode(), "path": r["file_name"]}}
        for r in rows
    ]


def write_parquet(folder: Path) -> None:
    (folder / "data").mkdir()
    for number, rows in enumerate((ROWS[:30], ROWS[30:])):
        lists = [r | {"label": r["label"].split("|")} for r in embed_videos(rows)]
        polars.DataFrame(lists).write_parquet(folder / "data" / f"test-0000{number}-of-00002.parquet")


def write_parquet_bytes(folder: Path) -> None:
    rows = [r | {"video": b"video of " + r["sample_id"].encode()} for r in ROWS]
    polars.DataFrame(rows).write_parquet(folder / "test.parquet")


def write_arrow(folder: Path) -> None:
    polars.DataFrame(embed_videos(ROWS)).write_ipc_stream(folder / "data-00000-of-00001.arrow")


FORMS = [write_legacy, write_csv, write_lists, write_parquet, write_parquet_bytes, write_arrow]


@pytest.mark.parametrize("write", FORMS)
def test_every_form_gives_the_same_samples(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write_lines(tmp_path / "reference.jsonl", ROWS)
    reference = MIME.load(tmp_path / "reference.jsonl", "mime/mcq")
    (tmp_path / "form").mkdir()
    write(tmp_path / "form")
    result = MIME.load(tmp_path / "form", "mime/mcq")
    assert strip_folders(result) == strip_folders(reference)
    assert len({get_path(sample) for sample in result}) == len(ROWS)


@pytest.mark.parametrize("write", [write_parquet, write_parquet_bytes, write_arrow])
def test_videos_inside_a_shard_are_written_out_once(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path)
    first = MIME.load(tmp_path, "mime/ff")
    for sample in first:
        assert (tmp_path / get_path(sample)).read_text() == f"video of {sample.id}"
    before = {get_path(s): (tmp_path / get_path(s)).stat().st_mtime_ns for s in first}
    second = MIME.load(tmp_path, "mime/ff")
    assert [get_path(s) for s in second] == [get_path(s) for s in first]
    assert {get_path(s): (tmp_path / get_path(s)).stat().st_mtime_ns for s in second} == before


def test_a_replaced_shard_never_shows_the_old_videos(tmp_path: Path) -> None:
    file = tmp_path / "test.parquet"
    polars.DataFrame([make_row("Archery001") | {"video": b"old"}]).write_parquet(file)
    MIME.load(tmp_path, "ff")
    polars.DataFrame([make_row("Archery001") | {"video": b"new"}]).write_parquet(file)
    os.utime(file, ns=(1, 1))
    (sample,) = MIME.load(tmp_path, "ff")
    assert (tmp_path / get_path(sample)).read_bytes() == b"new"


def test_an_interrupted_writing_out_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "test.parquet"
    polars.DataFrame([make_row(a) | {"video": a.encode()} for a in LABELS]).write_parquet(file)
    result = MIME.load(tmp_path, "ff")
    (index,) = tmp_path.rglob("index.json")
    index.unlink()
    (tmp_path / get_path(result[2])).write_bytes(b"half")
    again = MIME.load(tmp_path, "ff")
    assert [(tmp_path / get_path(s)).read_text() for s in again] == list(LABELS)


def test_a_video_column_of_paths_is_read_as_it_is(tmp_path: Path) -> None:
    rows = [{k: v for k, v in make_row("Archery001").items() if k != "file_name"} | {"video": "clips/a.mp4"}]
    polars.DataFrame(rows).write_parquet(tmp_path / "test.parquet")
    (sample,) = MIME.load(tmp_path, "ff")
    assert get_path(sample) == "clips/a.mp4"


def test_names_inside_a_shard_cannot_leave_its_folder(tmp_path: Path) -> None:
    video = {"bytes": b"x", "path": "../../evil/../man_j_Archery001_angle0_blank.mp4"}
    data = tmp_path / "a" / "b"
    data.mkdir(parents=True)
    polars.DataFrame([make_row("Archery001", file_name=None) | {"video": video}]).write_parquet(
        data / "t.parquet"
    )
    (sample,) = MIME.load(data, "ff")
    assert (data / get_path(sample)).resolve().is_relative_to(data)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a"]


def test_legacy_videos_are_found_beside_and_in_videos(tmp_path: Path) -> None:
    write_lines(tmp_path / "mime_data_legacy.jsonl", [make_row(action) for action in list(LABELS)[:3]])
    beside, below, absent = (make_row(action)["file_name"] for action in list(LABELS)[:3])
    (tmp_path / "videos").mkdir()
    (tmp_path / beside).touch()
    (tmp_path / "videos" / below).touch()
    assert [get_path(s) for s in MIME.load(tmp_path, "ff")] == [beside, f"videos/{below}", absent]


def test_a_snapshot_in_the_hubs_cache_keeps_its_links(tmp_path: Path) -> None:
    from vivant.media.paths import resolve_media

    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "8dadf4b" / "test"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    write_lines(snapshot / "metadata.jsonl", [make_row("Archery001")])
    (blobs / "f00d").write_bytes(b"video")
    (snapshot / make_row("Archery001")["file_name"]).symlink_to("../../../blobs/f00d")
    for root in (tmp_path, snapshot.parent, snapshot, snapshot / "metadata.jsonl"):
        (sample,) = MIME.load(root, "ff")
        assert Path(resolve_media(MIME.data.media_root(root), get_path(sample))).read_bytes() == b"video"


# ── what a sample says ──


def test_a_sample_says_what_its_row_says(tmp_path: Path) -> None:
    write_lines(tmp_path / "metadata.jsonl", [make_row("WatchingTV01", "adversarial+misaligned@0")])
    (sample,) = MIME.load(tmp_path, "mime/mcq")
    assert sample.id == "id-spacesuit_n_WatchingTV01_angle0_living_room"
    assert [option.text for option in sample.options][sample.key or 0] == "controlling remote"
    assert [option.name for option in sample.options] == ["A", "B", "C", "D"]
    assert sample.answers == ("controlling remote", "watching tv")
    assert sample.cluster == "WatchingTV01"
    assert sample.facets == {
        "variant": "adversarial+misaligned@0",
        "action": "WatchingTV01",
        "actor": "n",
        "avatar": "spacesuit",
        "background": "misaligned",
        "background_name": "living_room",
        "angle": "0",
        "dataset": "MIME",
        "split": "test",
    }
    assert set(sample.facets) == set(MIME.facets)
    assert MIME.chance(sample) == 0.25


def test_what_a_name_says_need_not_stand_in_columns(tmp_path: Path) -> None:
    columns = ("file_name", "label", "distractors")
    bare = [{key: make_row("Archery001", v)[key] for key in columns} for v in ("base+blank@90", "none")]
    write_lines(tmp_path / "train" / "metadata.jsonl", bare)
    turned, real = MIME.load(tmp_path, "mcq")
    assert turned.id == "man_j_Archery001_angle90_blank"
    assert turned.facets["variant"] == "base+blank@90"
    assert (turned.facets["actor"], turned.facets["split"]) == ("j", "train")
    assert (real.facets["variant"], real.facets["dataset"], real.facets["actor"]) == ("none", "REAL", "n/a")


def test_free_form_needs_no_distractors(tmp_path: Path) -> None:
    write_lines(tmp_path / "metadata.jsonl", [make_row("Archery001", distractors=None)])
    (sample,) = MIME.load(tmp_path, "mime/ff")
    assert not sample.options


def test_numbers_in_columns_are_read_as_text(tmp_path: Path) -> None:
    write_lines(tmp_path / "metadata.jsonl", [make_row("Archery001", angle=0.0, config_name=None)])
    (sample,) = MIME.load(tmp_path, "ff")
    assert (sample.facets["angle"], sample.facets["variant"]) == ("0", "base+blank@0")


# ── faults ──

FAULTS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("a misspelt column", {"label": None, "lable": "x"}, ["line 1", "'lable'", "did you mean 'label'"]),
    ("a misspelt facet", {"config_name": None, "config_nam": "x"}, ["'config_nam'", "'config_name'"]),
    ("no label", {"label": ""}, ["line 1", "no label", "man_j_Archery001"]),
    ("an empty list of labels", {"label": []}, ["line 1", "no label"]),
    ("no label column", {"label": None}, ["line 1", "no column 'label'"]),
    ("a label with no options", {"distractors": ""}, ["line 1", "no options", "distractors"]),
    ("a right distractor", {"distractors": "a|shooting arrow"}, ["'shooting arrow'", "replace"]),
    ("no file", {"file_name": None, "s3_url": None}, ["line 1", "file_name"]),
    ("no variant", {"config_name": None, "background_config": None, "avatar": "robot"}, ["config_name"]),
    ("a path that leaves", {"file_name": "../../x/man_j_A_angle0_blank.mp4"}, ["line 1", "outside"]),
    ("an absolute path", {"file_name": "/etc/man_j_A_angle0_blank.mp4"}, ["line 1", "outside"]),
]


@pytest.mark.parametrize(("changes", "parts"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_bad_row_is_refused_in_one_line(tmp_path: Path, changes: dict[str, Any], parts: list[str]) -> None:
    write_lines(tmp_path / "metadata.jsonl", [make_row("Archery001", **changes)])
    with pytest.raises(DataError) as caught:
        MIME.load(tmp_path, "mime/mcq")
    message = str(caught.value)
    assert "\n" not in message
    for part in ("metadata.jsonl", *parts):
        assert part in message


def test_ids_that_stand_twice_are_refused_with_both_places(tmp_path: Path) -> None:
    write_lines(tmp_path / "a" / "metadata.jsonl", [make_row("Archery001"), make_row("Fishing001")])
    write_lines(tmp_path / "b" / "metadata.jsonl", [make_row("Fishing001")])
    with pytest.raises(DataError, match=r"b/metadata.jsonl, line 1.*Fishing001.*a/metadata.jsonl, line 2"):
        MIME.load(tmp_path, "ff")


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("metadata.jsonl", b'{"label": "x"\n', "line 1"),
        ("metadata.jsonl", b"[1]\n", "line 1 is not a JSON object"),
        ("metadata.jsonl", b"\xff\xfe\x00", "UTF-8"),
        ("metadata.csv", b"", "is empty"),
        ("metadata.csv", b"label,label\na,b\n", "two columns called 'label'"),
        ("metadata.csv", b"label,file_name\na\n", "row 1 has 1 fields"),
        ("metadata.csv", b"label,file_name\n", "holds no rows"),
        ("test.parquet", b"PAR1 but not really", "test.parquet"),
        ("data.arrow", b"not arrow", "data.arrow"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(tmp_path: Path, name: str, content: bytes, part: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        MIME.load(tmp_path, "mime/ff")
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_data_say_where_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere does not exist.*mime-cropped"):
        MIME.load(tmp_path / "nowhere", "ff")
    with pytest.raises(DataError, match=r"holds no metadata.csv.*mime-cropped"):
        MIME.load(tmp_path, "ff")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match=r"notes.txt is none of"):
        MIME.load(tmp_path / "notes.txt", "ff")


# ── parsing ──

WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="|")).map(str.strip)


@given(st.lists(WORDS.filter(lambda word: bool(word) and not word.startswith("[")), min_size=1, max_size=5))
def test_lists_of_texts_are_read_however_they_are_written(words: list[str]) -> None:
    assert split_texts(words) == tuple(words)
    assert split_texts("|".join(words)) == tuple(words)
    assert split_texts(json.dumps(words)) == tuple(words)
    assert split_texts(repr(words)) == tuple(words)


@given(st.text())
def test_any_text_is_read_as_texts_without_a_fault(text: str) -> None:
    assert all(part.strip() == part != "" for part in split_texts(text))


@given(st.text(), st.sampled_from(["", "/data/test/", "C:\\videos\\", "https://example.org/x/"]))
def test_any_name_joins_with_itself_wherever_it_lies(name: str, folder: str) -> None:
    last = names.file_name(name)
    assert names.join_key(folder + last) == names.join_key(last)
    names.parse_video_name(name)


def test_two_spellings_of_a_name_meet() -> None:
    assert names.join_key("man_Justin_Archery001_angle0_blank.mp4") == names.join_key(
        "x/man_j_archery001_angle0_blank.mp4"
    )
    assert names.join_key("Bowling003.mp4") == names.join_key("real_Bowling003.mp4")
    assert names.join_key("man_n_A_angle0_x.mp4") != names.join_key("man_j_A_angle0_x.mp4")


# ── the released data ──


def test_released_data(parity: Path) -> None:
    result = MIME.load(parity / "mime", "mime/mcq")
    counts = Counter(sample.facets["variant"] for sample in result)
    assert counts == {**dict.fromkeys(VARIANTS, 86), "none": 46}
    assert Counter(s.facets["actor"] for s in result) == {"j": 520, "n": 340, "n/a": 46}
    assert sum(len(s.answers) > 1 for s in result if s.facets["dataset"] == "MIME") == 150
    assert len({s.facets["background_name"] for s in result}) == 26 + 2
    for sample in result[:860]:
        url = "https://mime-understanding.s3.amazonaws.com/" + sample.extra["file_name"]
        assert sample.id == hashlib.sha256(url.encode()).hexdigest()[:8]
        assert len(sample.options) == 4
