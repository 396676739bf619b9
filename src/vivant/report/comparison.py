"""Comparisons as a table, and the samples that flipped as a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import msgspec

from vivant.engine.rundir import write_whole
from vivant.errors import UsageError
from vivant.report.table import Cell, Row, Table
from vivant.scoring.compare import Comparison, Flip, Pair
from vivant.scoring.paired import power_factor


def format_p(p: float | None) -> str:
    """A p value as papers print it."""
    if p is None:
        return "–"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.01 else f"{p:.3f}"


def format_interval(low: float, high: float) -> str:
    """Both ends of a difference, with their signs."""
    return f"{low:+.1f} to {high:+.1f}"


def comparison_table(found: Comparison) -> Table:
    """One line per comparison; p values are corrected over all of them."""
    inside = any(pair.run for pair in found.pairs)
    facets = list(dict.fromkeys(facet for pair in found.pairs for facet in pair.group))
    several = len({pair.run for pair in found.pairs}) > 1
    columns = ["first", "second", "task", *facets]
    columns += ["from", "to", "difference", "95 % interval", "p", "p (Holm)", "detectable", "n", "clusters"]
    columns += [] if inside else ["gained", "lost", "unpaired"]
    if several:
        columns.insert(0, "run")
    body: list[tuple[Cell, ...]] = []
    for pair in found.pairs:
        result, scale = pair.result, pair.scale
        interval = result.interval.scaled(scale) if result.interval else None
        cells: list[Cell] = [pair.run] if several else []
        cells += [pair.first, pair.second, pair.task, *(pair.group.get(facet, "all") for facet in facets)]
        cells += [
            result.first * scale,
            result.second * scale,
            f"{result.value * scale:+.1f}",
            format_interval(interval.low, interval.high) if interval else "–",
            format_p(result.p),
            format_p(pair.adjusted),
            None if result.smallest is None else result.smallest * scale,
            result.n,
            result.clusters,
        ]
        cells += [] if inside else [pair.gained, pair.lost, pair.unpaired]
        body.append(tuple(cells))
    return Table(
        title=f"Comparison, protocol {found.protocol}",
        columns=tuple(columns),
        body=tuple(body),
        rows=tuple(_row(found, pair) for pair in found.pairs),
        notes=(*found.notes, *_notes(found)),
    )


def _notes(found: Comparison) -> list[str]:
    methods = sorted({pair.result.interval.method for pair in found.pairs if pair.result.interval})
    tests = sorted({pair.result.test for pair in found.pairs if pair.result.test})
    notes: list[str] = []
    if methods:
        notes.append(f"Intervals of the difference, 95 %: {'; '.join(methods)}.")
    if tests:
        notes.append(f"Tests, two-sided: {'; '.join(tests)}. Holm's correction is over {found.tests} tests.")
    told = (
        "Detectable: the true difference that a test at 5 % would have found with 80 % power, from the "
        "spread seen here. A smaller one may be there all the same."
    )
    if found.tests > 1:
        factor = power_factor(found.tests)
        told += (
            f" To show as the first of {found.tests} corrected tests it must be {factor:.2f} times as large."
        )
    notes.append(told)
    matched = {pair.matched for pair in found.pairs if pair.matched}
    notes += [
        f"Paired: samples of one cluster that agree in {', '.join(facets)}." for facets in sorted(matched)
    ]
    return notes


def _row(found: Comparison, pair: Pair) -> Row:
    result, scale = pair.result, pair.scale
    interval = result.interval.scaled(scale) if result.interval else None
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
        model=" − ".join(found.models.get(name, name) for name in (pair.second, pair.first)),
        protocol=found.protocol,
    )


def write_flips(found: Comparison, path: Path) -> int:
    """The samples that one run has right and the other wrong, as JSON lines or CSV by the file's suffix."""
    if path.suffix not in (".jsonl", ".csv"):
        raise UsageError(f"{path}: samples that flipped are written as .jsonl or .csv")
    if path.suffix == ".jsonl":
        data = b"".join(msgspec.json.encode(flip) + b"\n" for flip in found.flips)
    else:
        facets = list(dict.fromkeys(name for flip in found.flips for name in flip.facets))
        names = [name for name in Flip.__struct_fields__ if name != "facets"]
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([*names, *facets])
        for flip in found.flips:
            writer.writerow(
                [*(getattr(flip, name) for name in names), *(flip.facets.get(f, "") for f in facets)]
            )
        data = buffer.getvalue().encode()
    try:
        write_whole(path, data)
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error.strerror}") from error
    return len(found.flips)
