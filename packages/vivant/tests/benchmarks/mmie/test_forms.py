"""The full set in every form met: files, shards, folders, pictures' names; and the example that is not the set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.helpers import picture
from tests.support.mmie_kit import make_entry, make_part, run_vivant, write_answers
from vivant.benchmarks.mmie import MMIE
from vivant.core.errors import DataError
from vivant.core.types import Image

CATEGORIES = ("Situational analysis", "Project-based learning", "Multi-step reasoning")


def make_items(image: str = "images/0.png", first: int = 0) -> list[dict[str, Any]]:
    """Three items as the hub has them, one per category, which `catagory` alone names."""
    return [
        {
            "id": str(first + number),
            "conversations": [
                {"from": "human", "content": [make_part("Go on.", image)]},
                {"from": "gpt", "content": [make_part("So it went.")]},
            ],
            "catagory": category,
            "field": "Literature",
        }
        for number, category in enumerate(CATEGORIES)
    ]


def write_picture(folder: Path, name: str = "images/0.png") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    picture(folder / name)


def list_ids(root: Path) -> list[str]:
    return [s.id for task in ("sa", "pbl", "msr") for s in MMIE().load(root, f"mmie/{task}")]


def test_the_example_is_never_taken_for_the_set(tmp_path: Path) -> None:
    (tmp_path / "overview.json").write_bytes(msgspec.json.encode(make_items()))
    write_picture(tmp_path)
    with pytest.raises(DataError, match=r"overview\.json alone, which shows the format .* is not the set"):
        list_ids(tmp_path)
    assert (
        len(MMIE(file="overview.json").load(tmp_path, "mmie/sa")) == 1
    )  # where the user wants it all the same
    (tmp_path / "mmie.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, make_items(first=10))))
    assert list_ids(tmp_path) == ["10", "11", "12"]
    result = run_vivant("data", "check", "mmie", "--data", tmp_path, cwd=tmp_path)
    assert result.returncode == 0
    assert (
        "3 samples where the released edition has 20,103 (sa 1 of 5,005, pbl 1 of 11,482, msr 1 of"
        in result.stderr
    )
    assert "No problems" not in result.stderr


@pytest.mark.parametrize(
    "name",
    ["data/train.json", "train.jsonl", "MMIE/data/mmie.json", "data/train-00000-of-00001.parquet"],
)
def test_the_set_in_a_folder_below(tmp_path: Path, name: str) -> None:
    import polars

    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".parquet":
        polars.DataFrame(make_items()).write_parquet(file)
    elif file.suffix == ".jsonl":
        file.write_bytes(b"\n".join(map(msgspec.json.encode, make_items())))
    else:
        file.write_bytes(msgspec.json.encode({"train": make_items()}))
    write_picture(tmp_path)
    assert list_ids(tmp_path) == ["0", "1", "2"]


def test_json_lines_called_json_and_conversations_as_text_in_parquet(tmp_path: Path) -> None:
    import polars

    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mmie.json").write_bytes(b"\n".join(map(msgspec.json.encode, make_items())))
    assert list_ids(tmp_path / "a") == ["0", "1", "2"]
    rows = [
        {**item, "conversations": msgspec.json.encode(item["conversations"]).decode()}
        for item in make_items()
    ]
    (tmp_path / "b").mkdir()
    polars.DataFrame(rows).write_parquet(tmp_path / "b" / "mmie.parquet")
    assert list_ids(tmp_path / "b") == ["0", "1", "2"]


def test_parts_make_one_set_and_a_missing_shard_is_named(tmp_path: Path) -> None:
    import polars

    (tmp_path / "data").mkdir()
    for number in (0, 2):
        polars.DataFrame(make_items(first=10 * number)).write_parquet(
            tmp_path / "data" / f"train-{number:05d}-of-00003.parquet"
        )
    with pytest.raises(DataError, match="shard 00001 of train is missing"):
        list_ids(tmp_path)
    polars.DataFrame(make_items(first=10)).write_parquet(tmp_path / "data" / "train-00001-of-00003.parquet")
    assert list_ids(tmp_path) == ["0", "10", "20", "1", "11", "21", "2", "12", "22"]
    every = [*make_items(), *make_items(first=10), *make_items(first=20)]
    (tmp_path / "mmie.json").write_bytes(msgspec.json.encode(every))  # the same set once more
    assert sorted(list_ids(tmp_path)) == sorted(item["id"] for item in every)
    (tmp_path / "mmie.json").write_bytes(msgspec.json.encode(every[:4]))
    with pytest.raises(DataError, match=r"some ids in common .*--task-option file=NAME"):
        list_ids(tmp_path)


@pytest.mark.parametrize(
    ("stated", "there"),
    [
        ("images/0.png", "images/0.png"),
        ("./images/0.png", "images/0.png"),
        ("0.png", "images/0.png"),
        ("images/0.png", "0.png"),
        ("/home/me/MMIE/images/0.png", "images/0.png"),
        ("images/0.png", "data/images/0.png"),
    ],
)
def test_pictures_with_and_without_their_folder(tmp_path: Path, stated: str, there: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mmie.json").write_bytes(msgspec.json.encode(make_items(stated)))
    write_picture(tmp_path, there)
    (sample,) = MMIE().load(tmp_path, "mmie/sa")
    assert sample.question[1] == Image(there)
    assert not MMIE().data.check(MMIE(), tmp_path).problems


def test_pictures_inside_a_parquet_file_become_files(tmp_path: Path) -> None:
    import polars

    write_picture(tmp_path, "elsewhere/0.png")
    data = (tmp_path / "elsewhere" / "0.png").read_bytes()
    items = make_items()
    for item in items:
        item["conversations"][0]["content"][0]["image"] = {"bytes": data, "path": "0.png"}
        item["conversations"][1]["content"][0]["image"] = {"bytes": None, "path": None}
    root = tmp_path / "set"
    root.mkdir()
    polars.DataFrame(items).write_parquet(root / "train.parquet")
    (sample,) = MMIE().load(root, "mmie/sa")
    image = sample.question[1]
    assert isinstance(image, Image)
    assert (root / image.path).read_bytes() == data


def test_where_and_limit_choose_among_prepared_answers(tmp_path: Path) -> None:
    entries = [make_entry(f"SA-{n}") for n in range(5)] + [
        make_entry(f"PBL-{n}", field="Art") for n in range(5)
    ]
    folder = write_answers(tmp_path / "in", entries)

    def judge(*arguments: str) -> str:
        result = run_vivant(
            "run", "mmie", "--answers", folder, "--judge", "heuristic", *arguments, cwd=tmp_path
        )
        assert result.returncode == 0, result.stderr
        return result.stderr

    assert "writer: 5 answers" in judge("--where", "category=PBL")
    assert "writer: 4 answers" in judge("--limit", "2")
    assert "writer: 1 answers" in judge("--limit", "1", "--where", "field=Art")
    assert "Unknown field 'Opera'" in run_vivant(
        "run", "mmie", "--answers", folder, "--judge", "heuristic", "--where", "field=Opera", cwd=tmp_path
    ).stderr  # fmt: skip
