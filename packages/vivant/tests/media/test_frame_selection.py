"""Which frames a policy selects: numpy's linspace, clocks, windows, controls."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivant.core.errors import MediaError, UsageError
from vivant.core.types import FramePolicy
from vivant.media.frame_selection import (
    FrameSelection,
    Timeline,
    check_policy,
    order_frames,
    select_frames,
    spread_evenly,
)


def even(frames: int, rate: int = 30) -> Timeline:
    """A constant rate whose first frame does not have timestamp zero."""
    return Timeline(list(range(7, 7 + frames)), Fraction(1, rate), 7, 7 + frames)


def chosen(timeline: Timeline, **policy: object) -> list[int]:
    return select_frames(timeline, FrameSelection(FramePolicy(**policy)))  # type: ignore[arg-type]


@given(st.integers(1, 200_000), st.integers(1, 600))
def test_count_is_linspace_truncated(available: int, count: int) -> None:
    if available <= count:
        assert spread_evenly(available, count) == list(range(available))
    else:
        assert spread_evenly(available, count) == np.linspace(0, available - 1, count).astype(int).tolist()


def test_few_frames_appear_once() -> None:
    assert chosen(even(3), count=8) == [0, 1, 2]
    assert chosen(even(1), count=32) == [0]


def test_every_and_all_with_cap() -> None:
    assert chosen(even(100), select="every", every=30) == [0, 30, 60, 90]
    assert chosen(even(100), select="every", every=30, cap=2) == [0, 90]
    assert chosen(even(5), select="all") == [0, 1, 2, 3, 4]
    assert chosen(even(100), select="all", cap=3) == [0, 49, 99]


def test_fps_takes_the_frame_on_screen_at_each_tick() -> None:
    assert chosen(even(300), select="fps", fps=1) == list(range(0, 300, 30))
    assert chosen(even(300), select="fps", fps=1, cap=4) == [0, 90, 180, 270]
    slides = Timeline([0, 1500, 2400, 9000], Fraction(1, 1000), 0, 10_000)
    # At 0, 1, 2, 3 … 9 s: the first slide at 0 and 1, the second at 2, the third from 3 to 8, the last at 9.
    assert chosen(slides, select="fps", fps=1) == [0, 1, 2, 3]
    assert chosen(slides, select="fps", fps=0.25) == [0, 2]
    # The last frame is still on screen at the tick of 1 s.
    assert chosen(Timeline([0, 600], Fraction(1, 1000), 0, 1200), select="fps", fps=1) == [0, 1]


@given(
    st.lists(st.integers(1, 500), min_size=1, max_size=60),
    st.floats(0.05, 120, allow_nan=False),
    st.integers(1, 9),
)
def test_fps_equals_a_clock_run_tick_by_tick(gaps: list[int], fps: float, start: int) -> None:
    pts = [start + sum(gaps[:i]) for i in range(len(gaps))]
    timeline = Timeline(pts, Fraction(1, 1000), pts[0], pts[-1] + gaps[-1])
    expected: list[int] = []
    tick = 0
    while (moment := pts[0] + tick * 1000 / Fraction(fps) + Fraction(1, 1000)) < timeline.end or not expected:
        shown = max(i for i, value in enumerate(pts) if value <= moment)
        if not expected or expected[-1] != shown:
            expected.append(shown)
        tick += 1
    assert chosen(timeline, select="fps", fps=fps) == expected


@pytest.mark.parametrize("numerator", range(1, 30))
def test_decimal_seconds_mean_the_frame_they_round_to(numerator: int) -> None:
    # 0.7 is a little less than 21/30 in binary.
    start = round(numerator / 30, 6)
    assert select_frames(even(60), FrameSelection(FramePolicy(select="all"), start=start))[0] == numerator
    assert select_frames(even(60), FrameSelection(FramePolicy(select="all"), end=start))[-1] == numerator - 1


def test_limits_of_part_and_policy_both_hold() -> None:
    everything = FramePolicy(select="all", start=0.5, end=1.5)
    assert select_frames(even(90), FrameSelection(everything)) == list(range(15, 45))
    assert select_frames(even(90), FrameSelection(everything, start=1.0)) == list(range(30, 45))
    assert select_frames(even(90), FrameSelection(everything, start=0.1, end=0.6)) == list(range(15, 18))


def test_a_window_between_two_frames_shows_the_one_on_screen() -> None:
    slides = Timeline([0, 10_000, 20_000], Fraction(1, 1000), 0, 30_000)
    assert select_frames(slides, FrameSelection(FramePolicy(), start=12, end=15)) == [1]
    assert select_frames(slides, FrameSelection(FramePolicy(), start=5, end=5)) == [0]
    assert select_frames(slides, FrameSelection(FramePolicy(), start=29)) == [2]


def test_impossible_windows_name_the_file() -> None:
    with pytest.raises(MediaError, match=r"a\.mp4.*starts at 4 s.*ends at 3 s"):
        select_frames(even(90), FrameSelection(FramePolicy(), start=4), "a.mp4")
    with pytest.raises(MediaError, match=r"a\.mp4.*starts at 2 s, after its end at 1 s"):
        select_frames(even(90), FrameSelection(FramePolicy(end=1), start=2), "a.mp4")


def test_middle_frame() -> None:
    assert select_frames(even(9), FrameSelection(FramePolicy(), middle=True)) == [4]
    assert select_frames(even(10), FrameSelection(FramePolicy(), middle=True)) == [4]
    assert select_frames(even(90), FrameSelection(FramePolicy(), start=1, end=2, middle=True)) == [44]


def test_arrangements() -> None:
    assert order_frames(4, "none", 5, "v") == (0, 1, 2, 3)
    assert order_frames(4, "reversed", 5, "v") == (3, 2, 1, 0)
    mixed = order_frames(32, "shuffled", 5, "v")
    assert sorted(mixed) == list(range(32)) and mixed != tuple(range(32))
    assert mixed == order_frames(32, "shuffled", 5, "v")
    assert mixed != order_frames(32, "shuffled", 6, "v")
    assert mixed != order_frames(32, "shuffled", 5, "other")


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        (FramePolicy(count=0), "count"),
        (FramePolicy(fps=0), "fps"),
        (FramePolicy(fps=float("nan")), "fps"),
        (FramePolicy(every=0), "every"),
        (FramePolicy(cap=0), "cap"),
        (FramePolicy(longest_side=0), "longest_side"),
        (FramePolicy(quality=0), "quality"),
        (FramePolicy(start=-1), "start"),
        (FramePolicy(end=float("inf")), "end"),
    ],
)
def test_senseless_policies_are_refused(policy: FramePolicy, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        check_policy(policy)


def test_each_kth_frame_is_counted_from_zero_or_from_one() -> None:
    assert chosen(even(100), select="every", every=30) == [0, 30, 60, 90]
    assert chosen(even(100), select="every", every=30, every_start="kth") == [29, 59, 89]
    assert chosen(even(30), select="every", every=30, every_start="kth") == [29]
    with pytest.raises(MediaError, match=r"29 frames.*--every-start kth"):
        chosen(even(29), select="every", every=30, every_start="kth")


@pytest.mark.parametrize("length", [9, 61, 90, 143, 600])
def test_frames_from_the_middles_of_equal_parts(length: int) -> None:
    import numpy as np

    # InternVL's rule and MiniCPM's, as their own code states them.
    size = float(length - 1) / 8
    segments = [int(0 + (size / 2) + np.round(size * i)) for i in range(8)]
    assert chosen(even(length), count=8, spread="segments") == segments
    gap = length / 5
    assert chosen(even(length), count=5, spread="middles") == [int(i * gap + gap / 2) for i in range(5)]
    # One frame of those at whole seconds: the middle one, of two the later.
    seconds = list(range(0, length, 30))
    one = chosen(even(length), select="fps", fps=1.0, cap=1, spread="middles")
    assert one == [seconds[len(seconds) // 2]]
