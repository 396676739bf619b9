"""Published rows beside runs: which are shown, and what is said about how asking differed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.original_repos import make_clone
from vivant import mini
from vivant.benchmarks import recipes
from vivant.benchmarks.official_wording import read_wording, wording_digest
from vivant.core.table import Table
from vivant.engine.evaluation import evaluate
from vivant.runs.overview import build_layout, build_overview
from vivant.runs.published_rows import uses_mini
from vivant.runs.run import Run


def ask(folder: Path, name: str, **options: Any) -> Run:
    """A run on a copy of the mini-edition, which is then an edition like any other."""
    bundled = mini.root(name.partition("/")[0])
    assert bundled is not None
    data = folder / "data"
    if not data.exists():
        shutil.copytree(bundled, data)
    return evaluate(name, "random", data=data, out=folder / str(options.get("recipe", "plain")), **options)


def get_sources(table: Table) -> set[str]:
    return {"measured" if row.source == "measured" else "published" for row in table.rows}


def test_a_mini_edition_stands_beside_no_published_row_unless_asked(tmp_path: Path) -> None:
    run = evaluate("mmrv", "random", data="mini", out=tmp_path / "run")
    table = build_layout("mmrv:main", [run], "paper")
    assert get_sources(table) == {"measured"}
    assert any("--published shows them" in note for note in table.notes)
    asked = build_layout("mmrv:main", [run], "paper", True)
    assert get_sources(asked) == {"measured", "published"}
    assert any(note.startswith("Edition: the runs used the bundled mini-edition") for note in asked.notes)


def test_a_mini_edition_is_known_after_the_package_has_moved(tmp_path: Path) -> None:
    run = evaluate("mmrv", "random", data="mini", out=tmp_path / "run")
    file = tmp_path / "run" / "manifest.json"
    bundled = mini.root("mmrv")
    assert bundled is not None
    file.write_text(file.read_text("utf-8").replace(str(bundled.parents[1]), "/elsewhere/vivant"), "utf-8")
    moved = Run(tmp_path / "run")
    assert set(moved.manifest.roots.values()) == {"/elsewhere/vivant/mini/mmrv"}
    assert uses_mini([run], "mmrv") and uses_mini([moved], "mmrv")
    assert not uses_mini([ask(tmp_path, "mmrv")], "mmrv")


def test_where_no_published_row_fits_the_table_a_note_says_how_to_see_them(tmp_path: Path) -> None:
    run = ask(tmp_path, "mime/mcq", limit=4, longest_side=512)
    table = build_overview([run], "paper", published=True)
    assert get_sources(table) == {"measured"}
    (note,) = [note for note in table.notes if "published" in note.lower()]
    assert "with --by variant" in note
    grouped = build_overview([run], "paper", ["variant"], published=True)
    assert get_sources(grouped) == {"measured", "published"}
    counts = {cells[grouped.columns.index("n")] for cells in grouped.body[-3:]}
    assert counts == {None}, "how many questions a published figure counts is not known"
    (size,) = [note for note in grouped.notes if note.startswith("Picture size")]
    assert "here longer side at most 512 pixels" in size and "not sent" not in size


def test_one_note_for_each_difference(tmp_path: Path) -> None:
    table = build_layout("mmrv:main", [ask(tmp_path, "mmrv", max_tokens=32)], "paper")
    assert get_sources(table) == {"measured", "published"}
    subjects = [note.partition(":")[0] for note in table.notes]
    for subject in ("Wording", "Frames", "Reply limit", "Temperature", "Number of questions", "Scoring rule"):
        assert subjects.count(subject) == 1, subject
    (limit,) = [note for note in table.notes if note.startswith("Reply limit")]
    assert "here 32 tokens" in limit and "none sent" in limit
    assert any("rows were asked is not stated" in note for note in table.notes)


def test_exact_shows_the_rows_whose_recipe_was_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = read_wording("mmrv", make_clone(tmp_path / "clone", "mmrv")).texts
    stated = recipes.load_recipes("mmrv")
    # As if the published rows had been asked in these words, about as many questions.
    words = {key: replace(place, sha256=wording_digest(texts[key])) for key, place in stated.words.items()}
    changed = replace(stated, words=words, items={"mmrv/mcq": 240})
    for module in ("vivant.runs.recipe_differences", "vivant.benchmarks.recipes"):
        monkeypatch.setattr(f"{module}.load_recipes", lambda _: changed)
    run = ask(tmp_path, "mmrv", recipe="paper/claude-3.5-sonnet", prompts=texts)
    assert run.manifest.recipe == "paper/claude-3.5-sonnet"
    assert not any("wording" in note for note in run.manifest.notes)
    table = build_overview([run], "paper", published="exact")
    assert {row.model for row in table.rows if row.source != "measured"} == {"Claude-3.5"}
    assert any("extraction=brackets, fallback=anywhere" in note for note in table.notes)
    other = ask(tmp_path, "mmrv", style="zero-shot")
    nothing = build_overview([other], "paper", published="exact")
    assert get_sources(nothing) == {"measured"}
    assert any("so none is shown" in note for note in nothing.notes)
