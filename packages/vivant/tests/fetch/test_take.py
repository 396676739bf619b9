"""Data that are there already, taken from folders and object stores; caches shown and trimmed."""

from __future__ import annotations

import os
import shutil
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_server import Act, serving
from tests.support.helpers import questions, vivant
from tests.support.hub_server import packed
from vivant import mini
from vivant.core.errors import DataError, UsageError
from vivant.core.types import Reply
from vivant.engine import reply_cache as replies
from vivant.engine.reply_cache import ReplyCache
from vivant.fetch.local_copy import copy_data


def tree(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_folder_is_copied_once_and_links_in_it_are_followed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    origin = tmp_path / "snapshot"
    (origin / "inner").mkdir(parents=True)
    (tmp_path / "blob").write_bytes(b"the file itself")
    (origin / "video.mp4").symlink_to(tmp_path / "blob")
    (origin / "inner" / "a.json").write_bytes(b"{}")
    place = tmp_path / "data" / "mime"
    caplog.set_level("INFO", "vivant")
    copy_data(str(origin), place)
    assert tree(place) == {"video.mp4": b"the file itself", "inner/a.json": b"{}"}
    assert not (place / "video.mp4").is_symlink()
    (place / "inner" / "a.json").write_bytes(b"cut o")
    copy_data(str(origin), place)
    assert tree(place)["inner/a.json"] == b"{}"
    messages = [record.getMessage() for record in caplog.records if record.name == "vivant"]
    assert "2 of 2 files" in messages[0] and "1 of 2 files" in messages[1]


def test_a_file_with_other_content_of_the_same_size_is_copied_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    origin, place = tmp_path / "origin", tmp_path / "data"
    origin.mkdir()
    (origin / "q.jsonl").write_text('{"answer": "A"}\n')
    copy_data(str(origin), place)
    (origin / "q.jsonl").write_text('{"answer": "B"}\n')
    os.utime(origin / "q.jsonl", (1, 1))
    copy_data(str(origin), place)
    assert tree(place) == tree(origin)
    os.utime(origin / "q.jsonl", (2, 2))
    caplog.set_level("INFO", "vivant")
    copy_data(str(origin), place)
    assert "0 of 1 files" in caplog.text


def test_a_folder_is_linked_and_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    place = tmp_path / "data" / "mime"
    copy_data(str(tmp_path / "theirs"), place, link=True)
    assert place.resolve() == tmp_path / "theirs"
    (tmp_path / "data" / "mmrv").mkdir()
    with pytest.raises(DataError, match="exists already; move it away"):
        copy_data(str(tmp_path / "theirs"), tmp_path / "data" / "mmrv", link=True)
    with pytest.raises(DataError, match="no such folder"):
        copy_data(str(tmp_path / "nowhere"), place)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            {"LastModified": datetime(2026, 1, 1, tzinfo=UTC)},
            {"LastModified": datetime(2026, 1, 2, tzinfo=UTC)},
        ),
        ({"updated": "2026-01-01T00:00:00.5Z"}, {"updated": "2026-01-01T00:00:00.7Z"}),
        ({"ETag": f'"{md5(b"old").hexdigest()}"'}, {"ETag": f'"{md5(b"new").hexdigest()}"'}),
        (
            {"md5Hash": b64encode(md5(b"old").digest()).decode()},
            {"md5Hash": b64encode(md5(b"new").digest()).decode()},
        ),
    ],
    ids=["time", "time as text", "etag", "md5"],
)
def test_an_object_replaced_by_one_of_the_same_size_is_copied_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    before: dict[str, Any],
    after: dict[str, Any],
) -> None:
    import fsspec

    memory: Any = fsspec.filesystem("memory")
    caplog.set_level("INFO", "vivant")
    for content, told in ((b"old", before), (b"old", before), (b"new", after)):
        memory.pipe({"/replaced/a.csv": content})
        entry = {"name": "/replaced/a.csv", "size": 3, "type": "file", **told}
        monkeypatch.setattr(type(memory), "find", lambda *_, entry=entry, **__: {"/replaced/a.csv": entry})
        copy_data("memory://replaced", tmp_path / "mime")
        assert tree(tmp_path / "mime") == {"a.csv": content}
    copied = [
        record.getMessage().partition(" files")[0] for record in caplog.records if record.name == "vivant"
    ]
    assert copied == ["1 of 1", "0 of 1", "1 of 1"]


def test_an_object_store_is_read_through_fsspec(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import fsspec

    memory: Any = fsspec.filesystem("memory")
    memory.pipe({"/bucket/mime/metadata.csv": b"a,b", "/bucket/mime/videos/1.mp4": b"video"})
    caplog.set_level("INFO", "vivant")
    copy_data("memory://bucket/mime", tmp_path / "mime")
    assert tree(tmp_path / "mime") == {"metadata.csv": b"a,b", "videos/1.mp4": b"video"}
    copy_data("memory://bucket/mime", tmp_path / "mime")
    messages = [record.getMessage() for record in caplog.records if record.name == "vivant"]
    assert "0 of 2 files" in messages[1]
    with pytest.raises(DataError, match=r"nothing is there|cannot be read"):
        copy_data("memory://bucket/none", tmp_path / "none")
    with pytest.raises(UsageError, match="nosuch"):
        copy_data("nosuch://bucket", tmp_path / "none")


def test_a_run_on_an_object_store_says_how_to_fetch_it(tmp_path: Path) -> None:
    folder = mini.root("mmrv")
    assert folder is not None
    command = ("run", "mmrv", "--model", "random", "--out", "run")
    for place, line in (
        ("s3://bucket/mmrv", "fetch it once, on every node: vivant data get mmrv --from s3://bucket/mmrv"),
        ("mmrv=memory://mmrv", "vivant data get mmrv --from memory://mmrv"),
    ):
        refused = vivant(*command, "--data", place, cwd=tmp_path)
        assert refused.returncode == 1
        assert line in refused.stderr.splitlines()[-1]
    rootless = vivant(*command, cwd=tmp_path, env={"VIVANT_DATA": "gs://bucket"})
    assert "point VIVANT_DATA at a folder" in rootless.stderr.splitlines()[-1]
    asked = vivant("run", "s3://bucket/mine.jsonl", "--model", "random", cwd=tmp_path)
    assert "copy the questions and their media to it" in asked.stderr.splitlines()[-1]
    assert not (tmp_path / "run").exists()
    # A URL of this machine's own files is a folder like any other.
    done = vivant(*command, "--data", folder.as_uri(), "--limit", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_is_taken_is_unpacked_and_a_dry_run_takes_nothing(tmp_path: Path) -> None:
    origin = tmp_path / "mirror"
    origin.mkdir()
    (origin / "MileBench_part0.tar.gz").write_bytes(packed("MileBench/TQA/TQA.json", b"{}"))
    command = ("data", "get", "milebench", "--from", "file://" + str(origin))
    planned = vivant(*command, "--dry-run", cwd=tmp_path)
    assert planned.returncode == 0 and "1 of 1 files" in planned.stderr
    assert not (tmp_path / "data").exists()
    done = vivant(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "data" / "milebench" / "MileBench" / "TQA" / "TQA.json").read_bytes() == b"{}"
    for wrong, line in (
        (("data", "get", "milebench", "--link"), "--link goes with --from"),
        ((*command, "--revision", "x"), "--revision is the hub's"),
        ((*command, "--link"), "is not a folder on this machine"),
        (("data", "get", "nothing", "--from", str(origin)), "Unknown benchmark 'nothing'"),
    ):
        result = vivant(*wrong, cwd=tmp_path)
        assert result.returncode == 1
        assert line in result.stderr.splitlines()[-1]


def test_what_does_not_fit_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "a").write_bytes(b"x" * 1000)
    usage = shutil.disk_usage(tmp_path)._replace(free=50)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(DataError, match=r"1\.0 kB are needed, unpacking included, and 50 B are free"):
        copy_data(str(tmp_path / "mirror"), tmp_path / "data" / "mime")
    assert not (tmp_path / "data").exists()


# ── caches ──


def test_caches_are_shown_and_trimmed(tmp_path: Path) -> None:
    path = questions(tmp_path, 8)
    env = {"VIVANT_CACHE": str(tmp_path / "cache")}
    with serving(lambda _n, _b: Act()) as server:
        command = ("run", path, "--model", "openai/x", "--base-url", server.url, "--longest-side", "32")
        assert vivant(*command, "--out", "one", cwd=tmp_path, env=env).returncode == 0
        shown = vivant("cache", cwd=tmp_path, env=env)
        assert shown.returncode == 0, shown.stderr
        cells = {line.split()[0]: line.split() for line in shown.stdout.splitlines() if line.strip()}
        assert cells["replies"][-3] == "8"
        assert (
            vivant("cache", "trim", "--older-than", "1h", cwd=tmp_path, env=env).stderr.count("0 removed")
            >= 1
        )
        trimmed = vivant("cache", "trim", "--older-than", "0", "--only", "replies", cwd=tmp_path, env=env)
        assert "replies: 8 removed" in trimmed.stderr
        assert vivant(*command, "--out", "two", cwd=tmp_path, env=env).returncode == 0
        assert len(server.requests) == 16
    assert "must be above 0" in vivant("cache", "trim", "--older-than", "0s", cwd=tmp_path, env=env).stderr


def test_replies_are_forgotten_by_age(tmp_path: Path) -> None:
    file = tmp_path / "replies.sqlite"
    assert replies.measure_cache(file) == (0, 0) and replies.trim_cache(file, 0) == 0
    cache = ReplyCache(file)
    for number in range(5):
        cache.put(str(number), Reply(text="x"))
    cache.flush()
    cache._db.execute("UPDATE replies SET saved = unixepoch() - 1000 WHERE fingerprint IN ('1', '2')")
    cache.close()
    assert replies.trim_cache(file, 500) == 2
    assert replies.measure_cache(file)[0] == 3
