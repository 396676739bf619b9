"""The bundled mini-edition: what it holds, that it is what the builder makes, that it runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image as PILImage

from minis.mmie import build_mini
from tests.support.mmie_kit import run_vivant
from vivant import mini
from vivant.benchmarks.mmie import MMIE
from vivant.core.types import Image


def find_root() -> Path:
    root = mini.root("mmie")
    assert root is not None
    return root


def test_all_categories_two_fields_each_and_both_forms() -> None:
    samples = [sample for task in ("sa", "pbl", "msr") for sample in MMIE().load(find_root(), f"mmie/{task}")]
    assert len(samples) >= 24
    fields = {(s.facets["category"], s.facets["field"]) for s in samples}
    assert Counter(category for category, _ in fields) == {"SA": 2, "PBL": 2, "MSR": 2}
    assert Counter(s.facets["form"] for s in samples if s.facets["category"] == "MSR") == {
        "multiple-choice": 6,
        "open": 6,
    }
    assert all(s.reference for s in samples)
    assert all(any(isinstance(part, Image) for part in s.question) for s in samples)
    stories = [s for s in samples if s.facets["category"] != "MSR"]
    assert all(any(isinstance(part, Image) for part in s.reference) for s in stories)
    report = MMIE().data.check(MMIE(), find_root())
    assert not report.problems
    assert sum(path.stat().st_size for path in find_root().rglob("*") if path.is_file()) < 1_500_000


def test_the_builder_makes_it(tmp_path: Path) -> None:
    build_mini(tmp_path)
    assert (tmp_path / "mmie.json").read_bytes() == (find_root() / "mmie.json").read_bytes()
    names = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert names == sorted(path.name for path in (find_root() / "images").iterdir())
    for name in names[::9]:
        built, bundled = (
            np.asarray(PILImage.open(folder / "images" / name).convert("RGB"), np.int16)
            for folder in (tmp_path, find_root())
        )
        assert np.abs(built - bundled).mean() < 3, (
            name
        )  # another Pillow may draw letters a little differently


def test_a_person_could_not_answer_the_problems_without_the_picture() -> None:
    """What the references compute with stands in no question's text."""
    for sample in MMIE().load(find_root(), "mmie/msr"):
        question = " ".join(part.text for part in sample.question if hasattr(part, "text"))
        assert sample.extra["gt"] not in question


def test_placeholder_cards_are_named_in_every_table(tmp_path: Path) -> None:
    text = "echo/See <picture>a kite</picture>"
    run = run_vivant(
        "run", "mmie", "--data", "mini", "--model", text, "--image-model", "placeholder", "--judge", "heuristic",
        "--limit", "2", "-o", "out", cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "echo + placeholder cards" in run.stdout
    for layout in ("main", "fields"):
        table = run_vivant("table", "out", "--layout", f"mmie:{layout}", cwd=tmp_path)
        assert "placeholder cards" in table.stdout
