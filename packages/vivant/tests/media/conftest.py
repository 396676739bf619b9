"""Videos with numbered frames, and a loader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image as Pillow

from tests.support.media_kit import make_video, numbered
from vivant.media import MediaLoader


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    make_video(root / "talk.mp4", 90, sound=3.0)
    make_video(root / "mute.mp4", 60)
    for number in range(5):
        Pillow.fromarray(numbered(number)).save(root / f"{number}.png")
    return root


@pytest.fixture(scope="module")
def loader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaLoader]:
    with MediaLoader(tmp_path_factory.mktemp("cache")) as made:
        yield made
