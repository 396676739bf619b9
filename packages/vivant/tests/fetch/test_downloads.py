"""Downloads from a stand-in for the hub that this process asks: resumed, awaited, ended."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from tests.fetch.test_fetch import PINNED, minilm
from tests.support.hub_server import Hub, Repository, hub
from vivant.benchmarks.sources import DataSource, Repo, load_sources
from vivant.core.errors import DataError
from vivant.fetch.hub import WORKERS, FetchPlan, HubListing, fetch_files, find_missing, list_hub_files
from vivant.fetch.source_record import NAME

ONE = "1" * 40


def test_the_sentence_model_is_known_by_its_checksum(tmp_path: Path, near: Hub) -> None:
    repository = minilm()
    near.repositories["sentence-transformers/all-MiniLM-L6-v2"] = repository
    source = load_sources()["minilm"]
    with pytest.raises(DataError, match=r"offers another model\.safetensors .* nothing was fetched"):
        list_hub_files("minilm", source)
    del repository.commits[PINNED]["model.safetensors"]
    listing = list_hub_files("minilm", source)
    with pytest.raises(DataError, match=r"tokenizer\.json"):
        fetch_files(listing, find_missing(listing, tmp_path))
    assert not (tmp_path / "tokenizer.json").exists()


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A stand-in for the hub that this process asks, without waiting between tries."""
    with hub() as served:
        template = served.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", served.url)
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr("vivant.fetch.retrying.PATIENCE", 0.0)
        monkeypatch.setenv("HF_TOKEN", "")
        yield served


def one_file(served: Hub, place: Path, data: bytes) -> tuple[HubListing, FetchPlan]:
    """A source of one large file, and what is to be done about it."""
    served.repositories["a/b"] = Repository({ONE: {"large.bin": data}}, main=ONE)
    found = list_hub_files("x", DataSource(repos=(Repo(id="a/b"),), licence="none"))
    return found, find_missing(found, place)


def test_a_connection_that_breaks_is_taken_up_where_it_was(tmp_path: Path, near: Hub) -> None:
    data = os.urandom(3_000_000)
    near.cut_at, near.cuts, near.failing = 2_500_000, 1, [503, 429]
    fetch_files(*one_file(near, tmp_path, data))
    assert (tmp_path / "large.bin").read_bytes() == data
    begun = [int(asked.removeprefix("bytes=").removesuffix("-") or 0) for _, asked in near.fetched]
    assert begun[:3] == [0, 0, 0] and 1_000_000 < begun[3] <= 2_500_000
    assert {file.name for file in tmp_path.iterdir()} == {"large.bin", NAME}


def test_several_files_come_at_once(tmp_path: Path, near: Hub) -> None:
    files = {f"part-{n}.bin": os.urandom(5000) for n in range(8)}
    near.repositories["a/b"] = Repository({ONE: files}, main=ONE)
    near.hold = 0.2
    found = list_hub_files("x", DataSource(repos=(Repo(id="a/b"),), licence="none"))
    seen: list[tuple[int, int]] = []
    fetch_files(found, find_missing(found, tmp_path), lambda done, total, _: seen.append((done, total)))
    assert {name: (tmp_path / name).read_bytes() for name in files} == files
    assert 2 <= near.most_at_once <= WORKERS
    assert seen[-1] == (40_000, 40_000)  # all files together
    assert not find_missing(found, tmp_path).missing


def test_one_failure_ends_the_others_and_what_is_whole_stays(tmp_path: Path, near: Hub) -> None:
    files = {f"{n}.bin": os.urandom(5000) for n in range(12)}
    near.repositories["a/b"] = Repository({ONE: files}, main=ONE)
    near.spoil = "3.bin"
    found = list_hub_files("x", DataSource(repos=(Repo(id="a/b"),), licence="none"))
    with pytest.raises(DataError, match=r"3\.bin arrived damaged"):
        fetch_files(found, find_missing(found, tmp_path))
    near.spoil = ""
    rest = find_missing(found, tmp_path)
    assert any(file.path == "3.bin" for file in rest.missing)
    fetch_files(found, rest)
    assert all((tmp_path / name).read_bytes() == data for name, data in files.items())


@pytest.mark.parametrize("header", ["7", "date"])
def test_a_hub_that_asks_to_wait_is_waited_for(
    tmp_path: Path, near: Hub, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("vivant.fetch.retrying.time.sleep", waits.append)

    def wait(_event: threading.Event, seconds: float | None = None) -> bool:
        waits.append(seconds or 0.0)
        return False

    monkeypatch.setattr(threading.Event, "wait", wait)
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    near.retry_after = soon if header == "date" else header
    near.failing, near.listing_failing = [429], [503, 429]
    data = os.urandom(5000)
    fetch_files(*one_file(near, tmp_path, data))
    assert (tmp_path / "large.bin").read_bytes() == data
    asked = [seconds for seconds in waits if seconds and seconds > 3]
    assert len(asked) == 3
    assert all(3 < seconds <= 60 for seconds in asked)


def test_a_hub_that_asks_for_hours_is_not_waited_for(tmp_path: Path, near: Hub) -> None:
    listed = one_file(near, tmp_path, os.urandom(5000))
    near.failing, near.retry_after = [429] * 9, "7200"
    with pytest.raises(DataError, match="429"):
        fetch_files(*listed)
    assert len(near.fetched) == 1


def test_requests_name_the_project(tmp_path: Path, near: Hub) -> None:
    fetch_files(*one_file(near, tmp_path, os.urandom(5000)))
    assert near.agents
    assert all(agent.startswith("vivant/") for agent in near.agents)


def test_large_files_come_through_the_chunk_store_where_the_client_has_it(
    tmp_path: Path, near: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vivant.fetch.hub_download._XET_FROM", 1000)
    monkeypatch.setattr("huggingface_hub.utils._runtime.is_xet_available", lambda: True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", False)
    data = os.urandom(5000)
    asked: list[tuple[str, int]] = []

    def fetch_chunks(*, incomplete_path: Path, xet_file_data: Any, expected_size: int, **_: Any) -> None:
        asked.append((xet_file_data.file_hash, expected_size))
        incomplete_path.write_bytes(data)

    monkeypatch.setattr("huggingface_hub.file_download.xet_get", fetch_chunks)
    near.chunked = True
    fetch_files(*one_file(near, tmp_path / "a", data))
    assert (tmp_path / "a" / "large.bin").read_bytes() == data
    assert asked == [(hashlib.sha256(data).hexdigest(), 5000)]
    assert near.fetched == []

    def fail(**_: Any) -> None:
        raise RuntimeError("no chunk store from here")

    monkeypatch.setattr("huggingface_hub.file_download.xet_get", fail)
    fetch_files(*one_file(near, tmp_path / "b", data))
    assert (tmp_path / "b" / "large.bin").read_bytes() == data
    assert [name for name, _ in near.fetched] == ["large.bin"]
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == [NAME, "large.bin"]


def test_what_broke_for_good_is_one_line_and_later_resumed(tmp_path: Path, near: Hub) -> None:
    data = os.urandom(3_000_000)
    near.cut_at = 2_500_000
    with pytest.raises(DataError, match=r"did not send a/b: .*; run the same command to go on"):
        fetch_files(*one_file(near, tmp_path, data))
    near.cut_at = None
    found, todo = one_file(near, tmp_path, data)
    assert 1_000_000 < todo.arrived <= 2_500_000
    assert todo.size == todo.room == len(data) - todo.arrived
    fetch_files(found, todo)
    assert near.fetched[-1] == ("large.bin", f"bytes={todo.arrived}-")
    assert (tmp_path / "large.bin").read_bytes() == data


def test_a_part_of_another_version_is_not_continued(tmp_path: Path, near: Hub) -> None:
    near.cut_at = 2_500_000
    with pytest.raises(DataError):
        fetch_files(*one_file(near, tmp_path, os.urandom(3_000_000)))
    near.cut_at = None
    data = os.urandom(3_000_000)
    found, todo = one_file(near, tmp_path, data)
    assert todo.arrived == 0
    fetch_files(found, todo)
    assert near.fetched[-1] == ("large.bin", "")
    assert (tmp_path / "large.bin").read_bytes() == data


def test_a_disk_that_fills_up_on_the_way_is_one_line(
    tmp_path: Path, near: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, todo = one_file(near, tmp_path, b"x" * 3000)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("vivant.fetch.hub.download", full)
    with pytest.raises(DataError, match="No space left on device; run the same command to go on"):
        fetch_files(found, todo)
