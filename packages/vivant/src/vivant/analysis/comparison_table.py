"""Comparisons as a table, and the samples that flipped as a file."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from vivant.analysis.comparison import Comparison, RunPair
from vivant.analysis.sample_frame import Flip
from vivant.core.errors import UsageError
from vivant.core.files import write_atomic
from vivant.core.table import Cell, Row, Table
from vivant.metrics.paired import power_factor


def format_p(p: float | None) -> str:
    """A p value as papers print it."""
    if p is None:
        return "–"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.01 else f"{p:.3f}"


def format_interval(low: float, high: float) -> str:
    """Both ends of a difference, with their signs."""
    return f"{low:+.1f} to {high:+.1f}"


def build_comparison_table(comparison: Comparison) -> Table:
    """One line per comparison; p values are corrected within each benchmark."""
    inside = any(pair.run for pair in comparison.pairs)
    labels = {} if inside else _labels(comparison)
    tasks = list(dict.fromkeys(pair.task for pair in comparison.pairs))
    lacking = any(pair.unpaired for pair in comparison.pairs)
    columns: dict[str, Callable[[RunPair], Cell]] = {}
    if len({pair.run for pair in comparison.pairs}) > 1:
        columns["run"] = lambda pair: pair.run
    columns["first"] = lambda pair: labels.get(pair.first, pair.first)
    columns["second"] = lambda pair: labels.get(pair.second, pair.second)
    if len(tasks) > 1:
        columns["task"] = lambda pair: pair.task
    for facet in dict.fromkeys(facet for pair in comparison.pairs for facet in pair.group):
        columns[facet] = _facet(facet)
    columns |= {
        "from": lambda pair: pair.result.first * pair.scale,
        "to": lambda pair: pair.result.second * pair.scale,
        "change": lambda pair: f"{pair.result.value * pair.scale:+.1f}",
        "95 % interval": _interval,
        "p": lambda pair: format_p(pair.result.p),
        "p (Holm)": lambda pair: format_p(pair.adjusted),
        "detectable": lambda pair: (
            None if pair.result.smallest is None else pair.result.smallest * pair.scale
        ),
        "n": lambda pair: pair.result.n,
        "clusters": lambda pair: pair.result.clusters,
    }
    if not inside:
        columns |= {"gained": lambda pair: pair.gained, "lost": lambda pair: pair.lost}
    if lacking:
        columns["unpaired"] = lambda pair: pair.unpaired
    where = f" on {tasks[0]}" if len(tasks) == 1 else ""
    return Table(
        title=f"Comparison{where}, protocol {comparison.protocol}",
        optional=("clusters", "detectable", "p"),
        kept=list(columns).index("second") + 1,
        columns=tuple(columns),
        body=tuple(tuple(cell(pair) for cell in columns.values()) for pair in comparison.pairs),
        rows=tuple(_row(comparison, pair) for pair in comparison.pairs),
        notes=(
            *(f"{label}: the run {run}." for run, label in labels.items() if label != run),
            *comparison.notes,
            *_notes(comparison),
        ),
    )


def _facet(name: str) -> Callable[[RunPair], Cell]:
    return lambda pair: pair.group.get(name, "all")


def _interval(pair: RunPair) -> str:
    interval = pair.result.interval.scale(pair.scale) if pair.result.interval else None
    return format_interval(interval.low, interval.high) if interval else "–"


def _labels(comparison: Comparison) -> dict[str, str]:
    """Runs by their models and settings, which say more than their names, where no two share them."""
    labels = {
        run: ", ".join(filter(None, (model, comparison.settings.get(run, ""))))
        for run, model in comparison.models.items()
    }
    shared = Counter(labels.values())
    return {run: label if shared[label] == 1 else run for run, label in labels.items()}


def _count_tests(number: int) -> str:
    return f"{number} test" if number == 1 else f"{number} tests"


def _notes(comparison: Comparison) -> list[str]:
    methods = sorted({pair.result.interval.method for pair in comparison.pairs if pair.result.interval})
    tests = sorted({pair.result.test for pair in comparison.pairs if pair.result.test})
    notes: list[str] = []
    if methods:
        notes.append(f"Intervals of the difference, 95 %: {'; '.join(methods)}.")
    if tests:
        families = comparison.families
        if len(families) == 1:
            count = _count_tests(next(iter(families.values())))
        else:
            count = ", ".join(f"{_count_tests(number)} of {family}" for family, number in families.items())
            count += ", each by itself"
        notes.append(f"Tests, two-sided: {'; '.join(tests)}. Holm's correction is over {count}.")
    detectable = (
        "Detectable: the true difference that a test at 5 % would have found with 80 % power, from the "
        "spread seen here. A smaller one may be there all the same."
    )
    most = max(comparison.families.values(), default=0)
    if most > 1:
        factor = power_factor(most)
        detectable += (
            f" To show as the first of {most} corrected tests it must be {factor:.2f} times as large."
        )
    if any(pair.result.smallest is not None for pair in comparison.pairs):
        notes.append(detectable)
    matched = {pair.matched for pair in comparison.pairs if pair.matched}
    notes += [
        f"Paired: samples of one cluster that agree in {', '.join(facets)}." for facets in sorted(matched)
    ]
    return notes


def _row(comparison: Comparison, pair: RunPair) -> Row:
    result, scale = pair.result, pair.scale
    interval = result.interval.scale(scale) if result.interval else None
    return Row(
        run=pair.run or f"{pair.second} − {pair.first}",
        benchmark=pair.task.partition("/")[0],
        task=pair.task,
        group={**pair.group, **({"first": pair.first, "second": pair.second} if pair.run else {})},
        metric="difference",
        value=result.value * scale,
        n=result.n,
        errors=pair.unpaired,
        unparsed=0,
        interval=(interval.low, interval.high) if interval else None,
        interval_method=interval.method if interval else "",
        p=result.p,
        p_adjusted=pair.adjusted,
        test=result.test,
        model=" − ".join(comparison.models.get(name, name) for name in (pair.second, pair.first)),
        protocol=comparison.protocol,
    )


def write_flips(comparison: Comparison, path: Path) -> int:
    """The samples that one run has right and the other wrong, as JSON lines or CSV by the file's suffix."""
    if path.suffix not in (".jsonl", ".csv"):
        raise UsageError(f"{path}: samples that flipped are written as .jsonl or .csv")
    if path.suffix == ".jsonl":
        data = b"".join(msgspec.json.encode(flip) + b"\n" for flip in comparison.flips)
    else:
        facets = list(dict.fromkeys(name for flip in comparison.flips for name in flip.facets))
        names = [name for name in Flip.__struct_fields__ if name != "facets"]
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([*names, *facets])
        for flip in comparison.flips:
            writer.writerow(
                [*(getattr(flip, name) for name in names), *(flip.facets.get(f, "") for f in facets)]
            )
        data = buffer.getvalue().encode()
    try:
        write_atomic(path, data)
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error.strerror}") from error
    return len(comparison.flips)
