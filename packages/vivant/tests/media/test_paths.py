"""Where media are looked for, and what serves where the cache cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image as Pillow

from tests.support.helpers import logged_messages
from tests.support.media_kit import job, load, numbered, numbers
from vivant.core.errors import MediaError
from vivant.core.types import (
    FramePolicy,
    Image,
    Video,
)
from vivant.media import MediaLoader, resolve_media
from vivant.media.worker_pool import MediaWorkerPool


def test_paths_stay_inside_the_root(tmp_path: Path) -> None:
    root = tmp_path / "data"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.png").write_bytes(b"x")
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "data-other").mkdir()
    (tmp_path / "data-other" / "a").write_bytes(b"x")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "in").symlink_to(root / "sub" / "a.png")
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    real = str(root / "sub" / "a.png")
    assert (
        resolve_media(root, "sub/a.png")
        == resolve_media(root, "in")
        == resolve_media(str(root), "sub/../sub/a.png")
        == real
    )
    (tmp_path / "link").symlink_to(root)
    assert resolve_media(tmp_path / "link", "sub/a.png") == real
    for path in ("../secret", "sub/../../secret", str(tmp_path / "secret"), real, "out", "folder/secret"):
        with pytest.raises(MediaError, match="data folder"):
            resolve_media(root, path)
    with pytest.raises(MediaError, match="leads out"):
        resolve_media(root, "../data-other/a")
    for path in ("", "a\0b"):
        with pytest.raises(MediaError, match="no path"):
            resolve_media(root, path)
    for path in ("sub", "pipe"):
        with pytest.raises(MediaError, match="not a file"):
            resolve_media(root, path)
    for path in ("none.png", "sub/a.png/b"):
        with pytest.raises(MediaError, match="is missing from"):
            resolve_media(root, path)


def test_a_relative_root_follows_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
        monkeypatch.chdir(tmp_path / name)
        assert Path(resolve_media("", "a")).read_text() == name


def test_a_file_that_goes_away_is_an_error_of_its_sample(loader: MediaLoader, tmp_path: Path) -> None:
    made = job(tmp_path, Image("a.png"))
    Pillow.fromarray(numbered(1)).save(tmp_path / "a.png")
    assert numbers(load(loader, made)) == [1]
    (tmp_path / "a.png").unlink()
    with pytest.raises(MediaError, match=r"a\.png is missing"):
        load(loader, made)
    with pytest.raises(MediaError, match=r"a\.png is missing"):
        loader.describe(made)


def test_a_runs_own_pictures(loader: MediaLoader, data: Path, tmp_path: Path) -> None:
    Pillow.fromarray(numbered(77)).save(tmp_path / "made.png")
    loaded = load(loader, job(data, Image("run:made.png"), Image("1.png"), run=str(tmp_path)))
    assert numbers(loaded) == [77, 1]
    assert loaded.media[0].path == "run:made.png"
    with pytest.raises(MediaError, match="leads out"):
        load(loader, job(data, Image("run:../1.png"), run=str(tmp_path)))


def test_without_a_usable_cache_a_temporary_folder_serves_with_one_warning(
    data: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    made = job(data, Video("mute.mp4"), frames=FramePolicy(count=3))
    with logged_messages() as messages:
        for _ in range(2):  # a run and its judge
            with MediaLoader(blocked / "cache", workers=1) as own:
                assert numbers(load(own, made)) == [0, 29, 59]
    assert len(messages) == 1 and f"The media cache {blocked}/cache cannot be written" in messages[0]


def test_a_cache_that_can_only_be_read_is_read(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = job(data, Video("mute.mp4"), frames=FramePolicy(count=3))
    with MediaLoader(tmp_path, workers=1) as own:
        load(own, made)

    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    monkeypatch.setattr(MediaWorkerPool, "run", lambda *_: pytest.fail("decoded again"))
    with logged_messages() as messages, MediaLoader(tmp_path, workers=1) as own:
        assert numbers(load(own, made)) == [0, 29, 59]
    assert "(Permission denied)" in messages[0]


def test_the_temporary_folder_is_removed_at_exit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    code = (
        "from pathlib import Path; from vivant.media.frame_cache import find_writable_cache as find\n"
        f"print(find(Path({str(tmp_path)!r}, 'file', 'cache')))"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout.strip()
    assert printed.startswith(str(tmp_path)) and not Path(printed).exists()


def test_importing_loads_no_decoder() -> None:
    code = (
        "import sys, vivant, vivant.media\n"
        "assert not [m for m in ('sqlite3', 'subprocess') if m in sys.modules and m not in before]\n"
        "from vivant.media import MediaLoader, probe, resolve_media, verify, trim_cache, measure_cache\n"
        "print([m for m in ('av', 'PIL', 'simplejpeg', 'numpy') if m in sys.modules])\n"
    )
    code = "import sys; before = set(sys.modules)\n" + code
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
