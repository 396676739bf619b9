"""How many samples each edition of a benchmark holds, as data, and how that compares with what a folder holds.

A folder with a part of a set, or with an example of it, reads without any fault; only its size shows what it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from vivant import mini
from vivant.core.types import Sample
from vivant.core.yaml_files import read_resource

if TYPE_CHECKING:
    from vivant.benchmarks.base import Benchmark

MINI, RELEASED = "mini", "released"
_SHOWN = 4


class PublishedEdition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The size of one edition."""

    title: str
    tasks: Mapping[str, int]
    """Samples of each task; `*` where all tasks ask about the same samples."""
    parts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Samples with each value of a facet, where a task has parts that people hold separately."""


class SizeComparison(Struct, frozen=True, kw_only=True):
    """What is there of an edition, in one line."""

    line: str
    fits: bool


@cache
def load_editions() -> dict[str, dict[str, PublishedEdition]]:
    """Editions by benchmark and name."""
    return read_resource("vivant.benchmarks", "editions.yaml", dict[str, dict[str, PublishedEdition]])


def find_edition(benchmark: Benchmark, root: Path) -> PublishedEdition | None:
    """The edition that a folder should hold: the bundled one, or the released one; None where no size is known."""
    if benchmark.edition is not None:
        return benchmark.edition
    editions = load_editions().get(benchmark.name, {})
    if mini.is_bundled(root, benchmark.name):
        return editions.get(MINI)
    if benchmark.options.get("adv"):
        return editions.get("adversarial")
    return editions.get(RELEASED)


def compare_size(
    benchmark: str, edition: PublishedEdition, pools: Mapping[str, Sequence[Sample]]
) -> SizeComparison | None:
    """The samples read of some tasks beside the published numbers; None where none is published for them.

    Args:
        benchmark: The benchmark's name.
        edition: What the folder should hold.
        pools: All samples of each task that was read, by the task's full name.
    """
    samples = {task.rpartition("/")[2]: pool for task, pool in pools.items()}
    if "*" in edition.tasks:
        pool = next(iter(samples.values()), ())
        count, expected = len(pool), edition.tasks["*"]
        counted = Counter((facet, sample.facets.get(facet)) for sample in pool for facet in edition.parts)
        rows = [
            (value, counted[facet, value], number)
            for facet, values in edition.parts.items()
            for value, number in values.items()
        ]
    else:
        rows = [
            (task, len(pool), edition.tasks[task]) for task, pool in samples.items() if task in edition.tasks
        ]
        count, expected = sum(row[1] for row in rows), sum(row[2] for row in rows)
    if not expected:
        return None
    wrong = [f"{name} {found:,} of {number:,}" for name, found, number in rows if found != number]
    if count == expected and not wrong:
        return SizeComparison(line=f"{benchmark}: all {expected:,} samples of the {edition.title}", fits=True)
    detail = ""
    if wrong and len(rows) > 1:
        more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        detail = f" ({', '.join(wrong[:_SHOWN])}{more})"
    noun = "sample" if count == 1 else "samples"
    return SizeComparison(
        line=f"{benchmark}: {count:,} {noun} where the {edition.title} has {expected:,}{detail}; figures are not "
        "comparable with published ones",
        fits=False,
    )
