"""Atomic writing, JSON lines and locks."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from msgspec import Struct

from vivant.core.errors import DataError, UsageError
from vivant.core.files import (
    atomic_file,
    atomic_path,
    is_temporary,
    iter_jsonl,
    lock_file,
    read_jsonl,
    remove,
    write_atomic,
    write_jsonl,
)


class Point(Struct):
    x: int


def test_text_and_bytes_replace_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    write_atomic(path, "né")
    assert path.read_bytes() == "né".encode()
    write_atomic(path, b"\x00", durable=False)
    assert path.read_bytes() == b"\x00"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_file(path) as file:
        file.write(b"half")
        raise RuntimeError
    with pytest.raises(RuntimeError), atomic_path(path) as temporary:
        temporary.mkdir()
        (temporary / "b").write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_shows_before_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with atomic_file(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"


def test_a_temporary_path_keeps_the_suffix_and_may_be_a_folder(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "a.png") as temporary:
        assert temporary.suffix == ".png"
        temporary.write_bytes(b"png")
        assert is_temporary(temporary)
    with atomic_path(tmp_path / "a.mp4", keep_suffix=False) as temporary:
        assert temporary.suffix != ".mp4" and is_temporary(temporary)
        temporary.write_bytes(b"mp4")
    assert not is_temporary(tmp_path / "a.mp4")
    with atomic_path(tmp_path / "folder") as temporary:
        temporary.mkdir()
        (temporary / "b").write_text("b")
    assert (tmp_path / "a.png").read_bytes() == b"png"
    assert (tmp_path / "folder" / "b").read_text() == "b"


def test_threads_may_write_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    texts = [str(number) * 100_000 for number in range(8)]
    threads = [threading.Thread(target=write_atomic, args=(path, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts
    assert list(tmp_path.iterdir()) == [path]


def test_remove_takes_files_folders_links_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    remove(tmp_path / "link")
    assert (tmp_path / "folder").is_dir()
    remove(tmp_path / "folder")
    remove(tmp_path / "folder")
    assert not list(tmp_path.iterdir())


def test_json_lines_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_jsonl(path, (Point(number) for number in range(3)))
    assert path.read_text() == '{"x":0}\n{"x":1}\n{"x":2}\n'
    assert read_jsonl(path, Point) == [Point(0), Point(1), Point(2)]


def test_errors_name_the_file_and_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"x":0}\n{"x":"one"}\n')
    lines = iter_jsonl(path, Point)
    assert next(lines) == Point(0)
    with pytest.raises(DataError, match=r"a\.jsonl, line 2: Expected `int`"):
        next(lines)
    with pytest.raises(UsageError, match=r"Cannot read .*gone\.jsonl: No such file"):
        read_jsonl(tmp_path / "gone.jsonl", Point, UsageError)


def test_a_lock_has_one_holder_and_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    script = (
        "import sys\nfrom pathlib import Path\nfrom vivant.core.files import lock_file\n"
        "from vivant.core.errors import UsageError\n"
        "with lock_file(Path(sys.argv[1]), UsageError('busy')):\n"
        "    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(UsageError, match="busy"), lock_file(path, UsageError("busy")):
        pass
    process.kill()
    process.wait()
    process.stdout.close()
    process.stdin.close()
    with lock_file(path, UsageError("busy")):
        pass
