"""Parts in a folder and in object storage: the same names, the same bytes, one line when something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.object_storage import ObjectStorage, serve_objects
from vivant.core.errors import VivantError
from vivant_build.part_store import PartStore, join_location


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    for name, value in (("AWS_ACCESS_KEY_ID", "nobody"), ("AWS_SECRET_ACCESS_KEY", "nothing")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with serve_objects() as served:
        yield served


@pytest.fixture(params=["folder", "objects"])
def store(request: pytest.FixtureRequest, tmp_path: Path, storage: ObjectStorage) -> PartStore:
    return PartStore(
        str(tmp_path / "parts") if request.param == "folder" else storage.address("bucket/parts")
    )


def test_files_and_tables_come_back_as_they_were(store: PartStore, tmp_path: Path) -> None:
    store.check()
    assert store.read("done/a.json") is None and store.list_tables("deep") == []
    store.write("done/a.json", b"{}")
    assert store.read("done/a.json") == b"{}"
    for number in (2, 1):
        store.write_table(f"deep/{number:02d}/x.parquet", pa.table({"a": [number], "b": ["ü"]}))
    assert store.list_tables("deep") == ["deep/01/x.parquet", "deep/02/x.parquet"]
    table = store.read_tables("deep", ["a"])
    assert table is not None and table.to_pydict() == {"a": [1, 2]}
    store.pull("deep", tmp_path / "here")
    assert sorted(path.name for path in (tmp_path / "here" / "deep").iterdir()) == ["01", "02"]
    store.remove("deep")
    assert store.list_tables("deep") == [] and store.read("done/a.json") == b"{}"


def test_a_file_is_pushed_once_and_fetched_whole(
    store: PartStore, storage: ObjectStorage, tmp_path: Path
) -> None:
    large = tmp_path / "large.bin"
    large.write_bytes(bytes(range(256)) * 50_000)  # more than one piece of an upload
    store.push(large, "in/large.bin")
    before = len([line for line in storage.requests if line.startswith(("PUT", "POST"))])
    store.push(large, "in/large.bin")
    assert len([line for line in storage.requests if line.startswith(("PUT", "POST"))]) == before
    assert store.fetch("in/large.bin", tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == large.read_bytes()
    assert not store.fetch("in/none.bin", tmp_path / "none.bin")


def test_what_is_not_reached_is_named_without_keys() -> None:
    with pytest.raises(VivantError, match=r"^nosuch://place: "):
        PartStore("nosuch://place?key=hidden").check()


def test_an_address_keeps_what_stands_behind_its_question_mark() -> None:
    assert join_location("s3://b/a/?region=x", "clean-1") == "s3://b/a/clean-1?region=x"
    assert join_location("s3://b/a", "clean-1") == "s3://b/a/clean-1"


def test_a_report_that_cannot_be_read_is_none(store: PartStore) -> None:
    assert store.read_report("done/a.json", dict) is None
    for content, report in ((b"", None), (b'{"rows": 1}', {"rows": 1})):
        store.write("done/a.json", content)
        assert store.read_report("done/a.json", dict) == report
