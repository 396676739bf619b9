"""The dataset: splits by action, two editions that the loader reads, a data sheet, checksums, and the push."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
import yaml

from tests.support.helpers import vivant
from vivant.benchmarks.mime import Mime
from vivant.core.checksums import SUMS, verify_sums
from vivant.core.errors import DataError, UsageError
from vivant.fetch.hub_push import prepare_push, push
from vivant_build.mime import dataset
from vivant_build.mime.bundled_characters import make_character
from vivant_build.mime.choreography import ACTIONS, perform
from vivant_build.mime.dataset import CROPPED, SPLITS, make_dataset, split_actions
from vivant_build.mime.jobs import build
from vivant_build.mime.plan_file import Cross, OwnAction, Specification
from vivant_build.mime.video import frame_motion, read_frames

if TYPE_CHECKING:
    from tests.support.hub_push_server import PushHub

pytestmark = [
    # The hub's own client calls its HTTP library in a way that this one has given up.
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]
NAMES = ("Waving01", "PushUps01", "Cello01", "Sawing01")


def _spec(width: int, height: int) -> Specification:
    return Specification(
        actions=tuple(OwnAction(name=name, distractors=("a", "b", "c")) for name in NAMES),
        variants=Cross(backgrounds=("blank", "aligned")),
        width=width,
        height=height,
        fps=1.0,
        effort="ultrafast",
    )


@pytest.fixture(scope="module", autouse=True)
def _small() -> Iterator[None]:
    """Editions of an eighth of the published width and height: all but their sizes is the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "CROPPED", (CROPPED[0] // 8, CROPPED[1] // 8))
        yield


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mime") / "rendered"
    build(_spec(160, 90), folder)
    return folder


@pytest.fixture(scope="module")
def made(rendered: Path) -> Path:
    out = rendered.parent / "dataset"
    make_dataset(rendered, out, licence="cc-by-4.0", title="Tiny mimes")
    return out


@pytest.mark.parametrize(
    "count,sizes",
    [(86, (36, 14, 36)), (43, (18, 7, 18)), (17, (7, 3, 7)), (4, (2, 1, 1)), (3, (1, 1, 1)), (2, (1, 0, 1))],
)
def test_splits_are_in_proportion(count: int, sizes: tuple[int, int, int]) -> None:
    found = split_actions([f"A{n}" for n in range(count)], seed=1)
    counted = Counter(found.values())
    assert sum(counted.values()) == count
    if count in (86, 43, 3):
        assert tuple(counted[split] for split in SPLITS) == sizes
    assert all(abs(counted[split] - size) <= 1 for split, size in zip(SPLITS, sizes, strict=True))
    if count >= 3:
        assert all(counted[split] for split in SPLITS)


def test_splits_depend_on_names_and_seed_alone() -> None:
    names = [f"A{n}" for n in range(30)]
    assert split_actions(names, 5) == split_actions(names[::-1], 5)
    assert split_actions(names, 5) != split_actions(names, 6)


def test_both_editions_are_there_and_whole(made: Path, rendered: Path) -> None:
    assert_whole(made, rendered, 90)


@pytest.mark.full
def test_both_editions_have_the_published_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "CROPPED", CROPPED)
    build(_spec(1280, 720), tmp_path / "rendered")
    made = make_dataset(tmp_path / "rendered", tmp_path / "dataset", workers=2)
    assert dict(made.editions) == {"original": (1280, 720), "cropped": (640, 480)}
    assert_whole(made.folder, tmp_path / "rendered", 720)


def assert_whole(made: Path, rendered: Path, height: int) -> None:
    """Both editions hold every video with all its frames, and one is the middle of the other."""
    wide, crop = height * 16 // 9, (height * 2 // 3, height * 8 // 9)
    rows = [json.loads(line) for line in (rendered / "metadata.jsonl").read_text().splitlines()]
    for edition, size in (("original", (height, wide, 3)), ("cropped", (*crop, 3))):
        seen = []
        for split in SPLITS:
            for line in (made / edition / split / "metadata.jsonl").read_text().splitlines():
                row = json.loads(line)
                assert row["split"] == split and list(row) == list(rows[0])
                frames = read_frames(made / edition / split / row["file_name"])
                assert frames[0].shape == size
                assert len(frames) == len(read_frames(rendered / row["file_name"]))
                seen.append(row["sample_id"])
        assert sorted(seen) == sorted(row["sample_id"] for row in rows)
    name = next(row["file_name"] for row in rows if row["action"] == "Sawing01")
    large, small = (
        read_frames(next((made / e).rglob(name)))[1].astype(float) for e in ("original", "cropped")
    )
    # The middle of the picture, scaled by two thirds.
    half = crop[0] // 2, crop[1] // 2
    margin = (wide - 3 * half[1]) // 2
    middle = large[:, margin : wide - margin].reshape(half[0], 3, half[1], 3, 3).mean(axis=(1, 3))
    assert np.abs(middle - small.reshape(half[0], 2, half[1], 2, 3).mean(axis=(1, 3))).mean() < 3


def test_the_loader_reads_each_edition_and_splits_share_no_action(made: Path) -> None:
    for edition in ("original", "cropped"):
        samples = Mime().load(made / edition, "mime/mcq")
        assert len(samples) == 8 and all(len(s.options) == 4 for s in samples)
        places = {(s.facets["action"], s.facets["split"]) for s in samples}
        assert len(places) == len(NAMES) and {split for _, split in places} == set(SPLITS)
    said = vivant(
        *(
            "run",
            "mime/mcq",
            "--data",
            "cropped",
            "--where",
            "split=test",
            "--model",
            "random",
            "--out",
            "../run",
        ),
        cwd=made,
    )
    assert said.returncode == 0, said.stderr


def test_the_data_sheet_says_what_is_in_it(made: Path) -> None:
    text = (made / "README.md").read_text()
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["license"] == "cc-by-4.0" and head["pretty_name"] == "Tiny mimes"
    assert {config["config_name"] for config in head["configs"]} == {"original", "cropped"}
    for config in head["configs"]:
        for entry in config["data_files"]:
            assert list(made.glob(entry["path"]))
    assert "8 videos of 4 mimed actions in 2 variants" in text
    assert all(name in text for name in NAMES) and "4 procedural" in text


def test_checksums_cover_everything(made: Path, tmp_path: Path) -> None:
    sizes = verify_sums(made)
    assert len(sizes) == 16 + 6 + 3
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    video = next((copy / "cropped").rglob("*.mp4"))
    content = video.read_bytes()
    video.write_bytes(content[:-1] + b"x")
    with pytest.raises(DataError, match=f"{video.name} is not as SHA256SUMS says"):
        verify_sums(copy)
    video.unlink()
    with pytest.raises(DataError, match="is missing"):
        verify_sums(copy)
    video.write_bytes(content)
    (copy / "notes.txt").write_text("x")
    with pytest.raises(DataError, match=r"notes\.txt is not in SHA256SUMS"):
        verify_sums(copy)


def test_it_goes_on_where_it_was_and_follows_another_seed(rendered: Path, tmp_path: Path) -> None:
    out = tmp_path / "d"
    first = make_dataset(rendered, out, seed=1)
    cropped = {path.name: path.stat().st_mtime_ns for path in (out / "cropped").rglob("*.mp4")}
    spoilt = next((out / "cropped").rglob("*Sawing01*.mp4"))
    spoilt.write_bytes(spoilt.read_bytes()[:2000])
    seed = next(n for n in range(2, 50) if split_actions(NAMES, n) != dict(first.splits))
    second = make_dataset(rendered, out, seed=seed)
    assert second.splits != first.splits
    verify_sums(out)
    videos = list((out / "cropped").rglob("*.mp4"))
    assert len(videos) == 8, "nothing is left in a split of before"
    changed = [path.name for path in videos if path.stat().st_mtime_ns != cropped[path.name]]
    assert changed == [spoilt.name], "only the broken one was made anew"


def test_cropped_videos_follow_the_content_of_their_source(rendered: Path, tmp_path: Path) -> None:
    """Two renders with the same names; the time of change of a file says nothing of which one it is."""
    second, out = tmp_path / "second", tmp_path / "out"
    build(msgspec.structs.replace(_spec(160, 90), quality=40), second)
    for video in second.glob("*.mp4"):
        os.utime(video, (1, 1))
    name = next(rendered.glob("*Waving01*.mp4")).name
    make_dataset(rendered, out)
    (cropped,) = (out / "cropped").rglob(name)
    before = cropped.read_bytes()
    make_dataset(second, out)
    make_dataset(second, tmp_path / "fresh")
    (fresh,) = (tmp_path / "fresh" / "cropped").rglob(name)
    assert cropped.read_bytes() == fresh.read_bytes() != before
    written = cropped.stat().st_mtime_ns
    make_dataset(second, out)
    assert cropped.stat().st_mtime_ns == written


def test_small_videos_have_one_edition(tmp_path: Path) -> None:
    build(_spec(64, 48), tmp_path / "small")
    small = make_dataset(tmp_path / "small", tmp_path / "d")
    assert dict(small.editions) == {"original": (64, 48)} and not (tmp_path / "d" / "cropped").exists()


@pytest.mark.parametrize("name", ["private.txt", "README.md", "original/notes.txt"])
def test_a_folder_that_holds_other_things_is_refused_and_left_alone(
    rendered: Path, tmp_path: Path, name: str
) -> None:
    stranger = tmp_path / name
    stranger.parent.mkdir(exist_ok=True)
    stranger.write_text("mine")
    with pytest.raises(DataError, match=rf"{name} is not of this dataset; remove it, or name an empty"):
        make_dataset(rendered, tmp_path)
    assert stranger.read_text() == "mine" and not (tmp_path / SUMS).exists()


def test_wide_pictures_keep_the_person_in_their_middle() -> None:
    shapes = make_character("man").pose(perform(ACTIONS["PushUps01"], 5.0))
    wide, narrow = frame_motion(shapes, (1280, 720)), frame_motion(shapes, (960, 720))
    assert (wide.distance, wide.target) == (narrow.distance, narrow.target)
    assert (wide.width, wide.height) == (1280, 720)


def test_what_is_not_a_finished_render_is_refused(rendered: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"plan\.json cannot be read"):
        make_dataset(tmp_path, tmp_path / "d")
    half = tmp_path / "half"
    shutil.copytree(rendered, half)
    with pytest.raises(DataError, match="name another one with --out"):
        make_dataset(half, half)
    next(half.glob("*Cello01*.mp4")).unlink()
    with pytest.raises(DataError, match=r"Cello01.*is missing"):
        make_dataset(half, tmp_path / "d")
    blank, other = sorted(half.glob("*Waving01*.mp4"))
    shutil.copyfile(other, half / next(rendered.glob("*Cello01*.mp4")).name)
    shutil.copyfile(blank, half / "stranger.mp4")
    with pytest.raises(
        DataError, match=r"3 faults in .*Cello01.*stranger\.mp4: .*render. makes them anew, and delete"
    ):
        make_dataset(half, tmp_path / "d")
    assert not (tmp_path / "d").exists(), "nothing is written of what `check` refuses"
    (half / "metadata.jsonl").unlink()
    with pytest.raises(DataError, match="not all videos are"):
        make_dataset(half, tmp_path / "d")
    strange = tmp_path / "e" / "original" / "train"
    strange.mkdir(parents=True)
    (strange / "holiday.mp4").write_bytes(b"")
    with pytest.raises(DataError, match=r"holiday\.mp4 is not of this dataset"):
        make_dataset(rendered, tmp_path / "e")
    assert (strange / "holiday.mp4").exists()


# ── the push ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PushHub]:
    """The stand-in, known to this process; large files go by the older protocol, which it speaks."""
    from huggingface_hub import constants

    from tests.support.hub_push_server import push_hub

    with push_hub() as served:
        monkeypatch.setattr(constants, "ENDPOINT", served.url)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("HF_TOKEN", "hf_writer")
        yield served


def _push(folder: Path, repo: str, *, private: bool = True) -> list[str]:
    ready = prepare_push(folder, repo, private=private)
    push(ready)
    return [ready.line()]


def test_a_push_is_announced_private_and_complete(made: Path, server: PushHub, tmp_path: Path) -> None:
    env = {
        "HF_ENDPOINT": server.url,
        "HF_TOKEN": "hf_writer",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_OFFLINE": "0",
        "HF_HOME": str(tmp_path),
    }
    said = vivant("build", "mime", "dataset", made, "--push", "lab/mimes", cwd=tmp_path, env=env)
    assert said.returncode == 0, said.stderr
    assert "Pushing 25 files" in said.stderr and "(private)" in said.stderr and "lab/mimes" in said.stderr
    assert "hf_writer" not in said.stderr + said.stdout
    taken = server.repositories["lab/mimes"]
    assert taken.private and len(taken.commits) == 1
    assert taken.files == {path: (made / path).read_bytes() for path in verify_sums(made)}
    sent = server.uploads
    _push(made, "lab/mimes")
    assert sent == 16 == server.uploads, "what is there is not sent again"


@pytest.mark.parametrize(
    "repo,token,reason",
    [
        ("lab/mimes", "hf_wrong", "does not know the token in HF_TOKEN"),
        ("others/mimes", "hf_writer", "may not write for 'others'"),
        ("mimes", "hf_writer", "write OWNER/NAME"),
        ("lab/../x", "hf_writer", "write OWNER/NAME"),
        ("lab/mimes", "", "set HF_TOKEN"),
    ],
)
def test_a_refused_push_is_one_line(
    repo: str, token: str, reason: str, made: Path, server: PushHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(UsageError, match=reason) as caught:
        _push(made, repo)
    assert "\n" not in str(caught.value) and (not token or token not in str(caught.value))
    assert not server.repositories


def test_a_public_repository_is_not_filled_by_mistake(made: Path, server: PushHub) -> None:
    from tests.support.hub_push_server import Taken

    server.repositories["lab/open"] = Taken(private=False)
    with pytest.raises(UsageError, match="exists and is public"):
        _push(made, "lab/open")
    assert not server.repositories["lab/open"].files
    assert "(PUBLIC)" in _push(made, "lab/open", private=False)[0]
    assert server.repositories["lab/open"].files


def test_nothing_half_is_pushed(made: Path, server: PushHub, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    (copy / SUMS).unlink()
    with pytest.raises(DataError, match="SHA256SUMS cannot be read"):
        _push(copy, "lab/mimes")
    assert not server.repositories


def test_a_push_that_broke_off_goes_on(made: Path, server: PushHub) -> None:
    server.broken = True
    with pytest.raises(DataError, match=r"refused lab/mimes \(500\); run the same command again"):
        _push(made, "lab/mimes")
    server.broken = False
    _push(made, "lab/mimes")
    assert server.uploads == 16, "videos that had come were not sent again"


def test_a_hub_that_is_away_is_one_line(made: Path, server: PushHub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DataError, match="cannot be reached"):
        _push(made, "lab/mimes")
    assert not server.repositories
