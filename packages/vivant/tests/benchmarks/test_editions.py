"""Published sizes as data: what a folder holds of an edition, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.mmie_kit import run_vivant
from tests.support.mmrv_kit import make_item, write_items
from vivant import mini
from vivant.benchmarks import registry
from vivant.benchmarks.editions import compare_size, find_edition, load_editions
from vivant.core.types import Sample


def make_samples(count: int, **facets: str) -> list[Sample]:
    return [Sample(id=str(n), task="mime/mcq", question=(), facets=facets) for n in range(count)]


@pytest.mark.parametrize("name", ["mime", "mmrv", "milebench", "mmie", "mimic"])
def test_the_bundled_editions_have_the_stated_sizes(name: str) -> None:
    benchmark, root = registry.get(name), mini.root(name)
    assert root is not None
    edition = find_edition(benchmark, root)
    assert edition is not None
    tasks = benchmark.data.available(benchmark, root, benchmark.expand(""))
    size = compare_size(name, edition, {task: benchmark.load(root, f"{name}/{task}") for task in tasks})
    assert size is not None
    assert size.fits, size.line
    if "*" not in edition.tasks:
        assert set(edition.tasks) == set(tasks)


def test_the_released_sizes_are_the_published_ones() -> None:
    released = {
        name: editions["released"] for name, editions in load_editions().items() if "released" in editions
    }
    assert released["mime"].parts == {"dataset": {"MIME": 860, "REAL": 46}}
    assert sum(released["mmie"].tasks.values()) == 20_103
    assert released["mmrv"].tasks == {"mcq": 1257}
    assert sum(released["milebench"].tasks.values()) == 6440


def test_what_is_missing_is_named() -> None:
    edition = load_editions()["mime"]["released"]
    whole = {"mcq": [*make_samples(860, dataset="MIME"), *make_samples(46, dataset="REAL")]}
    size = compare_size("mime", edition, whole)
    assert size is not None
    assert (size.fits, size.line) == (True, "mime: all 906 samples of the released edition")
    part = compare_size("mime", edition, {"mcq": make_samples(860, dataset="MIME")})
    assert part is not None
    assert not part.fits
    assert part.line.startswith("mime: 860 samples where the released edition has 906 (REAL 0 of 46)")
    traded = {"mcq": [*make_samples(861, dataset="MIME"), *make_samples(45, dataset="REAL")]}
    wrong = compare_size("mime", edition, traded)
    assert wrong is not None
    assert "(MIME 861 of 860, REAL 45 of 46)" in wrong.line


def test_a_run_says_it_in_one_line_and_so_does_the_check(tmp_path: Path) -> None:
    write_items(tmp_path / "MMR-V.json", [make_item(n) for n in range(3)])
    line = "mmrv: 3 samples where the released edition has 1,257; figures are not comparable"
    planned = run_vivant(
        "plan", "mmrv", "--data", tmp_path, "--model", "blind", "--control", "blind", cwd=tmp_path
    )
    assert line in planned.stderr
    assert line in run_vivant("data", "check", "mmrv", "--data", tmp_path, cwd=tmp_path).stderr
    whole = run_vivant("plan", "mmrv", "--data", "mini", "--model", "random", cwd=tmp_path)
    assert "mmrv: all 240 samples of the bundled mini-edition" in whole.stderr


def test_the_check_counts_tasks_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "mmie.json").write_bytes(
        b'[{"id": "SA-1", "conversations": [{"from": "human", "content": [{"text": "?", "image": null}]}]}]'
    )
    said = run_vivant("data", "check", "mmie", "--data", tmp_path, cwd=tmp_path).stderr
    assert (
        "mmie: 1 sample where the released edition has 20,103 (sa 1 of 5,005, pbl 0 of 11,482, msr 0 of"
        in said
    )
