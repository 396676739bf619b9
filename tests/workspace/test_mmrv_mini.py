"""MMR-V-mini is what tools/minis draws with vivant-build: stories of several scenes whose keys are what is shown."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import av
import msgspec
import numpy as np
import pytest

from minis.mmrv import arts, nights, questions, shows, tales
from minis.mmrv.encode import encode, frames, tune
from minis.mmrv.series import EACH, SHIRTS, make_series
from minis.mmrv.stage import Story
from tests.support.rebuilt_video import assert_rebuilt
from vivant import mini

ROOT = mini.root("mmrv") or Path("missing")
TOLD: dict[str, Story] = {
    story.name: story for module in (tales, nights, shows, arts) for story in module.STORIES
}
SERIES: dict[str, Story] = {story.name: story for story, _, _ in make_series()}
STORIES = TOLD | SERIES


def decode(path: Path) -> list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    with av.open(str(path)) as container:
        return [np.asarray(f.to_ndarray(format="rgb24"), dtype=np.uint8) for f in container.decode(video=0)]


@pytest.mark.full
def test_the_bundled_files_are_what_the_builder_makes(tmp_path: Path) -> None:
    assert msgspec.json.decode((ROOT / "MMR-V.json").read_bytes()) == questions()
    assert {path.name for path in (ROOT / "videos").iterdir()} == set(STORIES)
    for name in ("Three Cups.mp4", "Night Watch.mp4", "Visit 05.mp4", "Race 11.mp4"):
        encode(STORIES[name], tmp_path / name)
        assert_rebuilt(tmp_path / name, ROOT / "videos" / name)


@pytest.mark.parametrize("name", [*sorted(TOLD), *sorted(SERIES)[::8]])
def test_every_story_has_several_scenes_that_differ(name: str) -> None:
    story = STORIES[name]
    assert len(story.scenes) >= 3
    with av.open(str(ROOT / "videos" / name)) as container:
        video = container.streams.video[0]
        assert (video.codec_context.name, video.width, video.height) == ("h264", 320, 240)
        assert bool(container.streams.audio) == bool(story.notes)
    frames = decode(ROOT / "videos" / name)
    ends = np.cumsum([round(scene.seconds * 12) for scene in story.scenes])
    middles = [
        frames[int(end - round(scene.seconds * 6))] for end, scene in zip(ends, story.scenes, strict=True)
    ]
    assert max(np.abs(a.astype(int) - b).mean() for a, b in pairwise(middles)) > 1


def test_the_second_half_of_two_shapes_really_runs_backwards() -> None:
    story = STORIES["Two Shapes.mp4"]
    half = round(story.scenes[0].seconds * 12)
    drawn = [np.asarray(picture) for picture in frames(story)][: 2 * half]
    assert all((a == b).all() for a, b in zip(drawn[:half], reversed(drawn[half:]), strict=True))


def test_tunes_rise_where_the_questions_say_so() -> None:
    notes = STORIES["Grey Canvas.mp4"].notes
    assert max(notes[:6]) < min(notes[6:])
    assert list(notes[6:]) == sorted(notes[6:])
    sound = tune((220.0, 440.0), 1.0)
    spectrum = [np.abs(np.fft.rfft(part)).argmax() * 2 for part in np.split(sound, 2)]
    assert spectrum == [220, 440]


def test_the_ball_ends_where_the_key_says() -> None:
    index = 0
    for first, second in ((0, 1), (1, 2), (0, 1)):
        index = {first: second, second: first}.get(index, index)
    question = next(q for q in questions() if q["question"].startswith("If nobody cheats"))
    correct = next(o for o in question["options"] if o.startswith(question["correctAnswer"]))
    assert correct.endswith(
        ("Under the left-hand cup", "Under the middle cup", "Under the right-hand cup")[index]
    )


def find_shirt(picture: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], name: str) -> int:
    """How many pixels have a shirt's colour."""
    return int((np.abs(picture.astype(int) - SHIRTS[name]).max(axis=-1) < 8).sum())


def test_keys_of_the_series_are_what_is_shown() -> None:
    """Read from the finished pictures: who leads at the end of a race, and which ball is shown under a cup."""
    for number in range(0, EACH, 5):
        story, _, asked = make_series()[2 * EACH + number]
        assert story.name == f"Race {number:02d}.mp4"
        last = np.asarray(list(frames(story))[-1])
        leaders = {
            name: np.nonzero((np.abs(last.astype(int) - colour).max(axis=-1) < 8).any(axis=0))[0].max()
            for name, colour in SHIRTS.items()
            if find_shirt(last[:, :280], name) > 40 and name not in ("white", "red")
        }
        key = asked[0]["options"][0].removeprefix("The runner in ")
        if key in leaders:
            assert leaders[key] == max(leaders.values()), story.name
    for number in range(0, EACH, 5):
        story, _, asked = make_series()[EACH + number]
        first = np.asarray(next(frames(story)))[:200]
        colour = next(name for name in SHIRTS if name in asked[1]["options"][0])
        assert find_shirt(first, colour) > 60 or colour == "blue", story.name


def test_questions_of_the_series_are_asked_of_drawn_stories_with_distinct_options() -> None:
    for story, _, asked in make_series():
        assert len(asked) == 2
        for question in asked:
            assert len(set(question["options"])) == len(question["options"]) >= 7, story.name
