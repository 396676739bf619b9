"""The bundled mini-edition: whole, balanced and small."""

from __future__ import annotations

from pathlib import Path

from vivant import mini
from vivant.benchmarks.mmrv import MMRV, names
from vivant.benchmarks.mmrv.options import find_skipped_letters

ROOT = mini.root("mmrv") or Path("missing")


def test_it_covers_all_abilities_and_types_with_seven_to_twelve_options() -> None:
    samples = MMRV().load(ROOT, "mcq")
    assert len(samples) >= 240
    assert {s.facets["ability"] for s in samples} == set(names.ABILITIES)
    assert {s.facets["type"] for s in samples} == set(names.VIDEO_TYPES)
    assert {len(s.options) for s in samples} == set(range(7, 13))
    assert all(s.key is not None for s in samples)
    assert len([s for s in samples if find_skipped_letters(s.options)]) == 1
    assert len({s.cluster for s in samples}) == len(list((ROOT / "videos").iterdir())) >= 12
    assert sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file()) < 2_500_000
