"""MileBench-mini is what tools/minis builds, with needles by vivant-build."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from minis.milebench import build_mini_milebench
from vivant import mini
from vivant.core.errors import UsageError


@pytest.mark.full
def test_it_can_be_built_again(tmp_path: Path) -> None:
    root = mini.root("milebench")
    assert root is not None
    built = build_mini_milebench(tmp_path / "mini")
    files = {str(path.relative_to(root)) for path in root.rglob("*.*") if path.suffix != ".py"}
    assert {str(path.relative_to(built)) for path in built.rglob("*.*")} == files
    for name in sorted(files):
        if name.endswith(".json"):
            assert json.loads((built / name).read_text()) == json.loads((root / name).read_text())
        else:
            # Another version of the drawing library may differ by a shade.
            with Pillow.open(built / name) as new, Pillow.open(root / name) as old:
                difference = np.abs(np.asarray(new.convert("RGB"), int) - np.asarray(old.convert("RGB"), int))
            assert difference.mean() < 2
    with pytest.raises(UsageError, match="not empty"):
        build_mini_milebench(built)
