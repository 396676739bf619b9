"""Score files name their rows by position alone: which sample stands at which place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.benchmarks.data_files import read_json
from vivant.benchmarks.mime.names import VARIANTS, SampleIndex
from vivant.core.errors import DataError
from vivant.core.types import Sample

RELEASED = 860
"""Rows of the released MIME file, and of every complete score file on it."""


def match_rows(
    file: Path, rows: Sequence[dict[str, str]], index: SampleIndex, notes: list[str]
) -> list[Sample]:
    """The sample of each row: by a raw file's names where one lies beside, else by the order of the data."""
    positions = [_read_position(file, number, row) for number, row in enumerate(rows, 1)]
    order: Sequence[Sample] | None = _read_sibling_order(file, len(rows), index, notes)
    if order is None:
        order = _find_data_order(file, len(rows), index.samples)
        # Rows 0 to 85 of 860 may be a file on one variant as well as the beginning of a file on all.
        if len(rows) < len(order) and positions == list(range(len(rows))):
            raise DataError(
                f"{file} names its {len(rows)} rows by position, and the data hold {len(order)} samples; "
                "put the raw file of the same model beside it, or import that one"
            )
        notes.append("rows were joined by their position in the data, because the file names no videos")
    beyond = next((position for position in positions if not 0 <= position < len(order)), None)
    if beyond is not None:
        raise DataError(f"{file}: instance_id {beyond} lies beyond the {len(order)} samples of the data")
    return [order[position] for position in positions]


def _read_position(file: Path, number: int, row: dict[str, str]) -> int:
    try:
        return int(row["instance_id"])
    except ValueError:
        raise DataError(
            f"{file}, row {number}: instance_id '{row['instance_id']}' is no whole number"
        ) from None


def _read_sibling_order(file: Path, count: int, index: SampleIndex, notes: list[str]) -> list[Sample] | None:
    """The samples in the order of a raw file of the same model that has as many items."""
    other = {"mcq": "ff", "ff": "mcq"}
    prefix, _, rest = file.stem.partition("_")
    kind, _, model = rest.partition("_")
    if prefix != "score" or kind not in other or not model:
        return None
    for name in (f"raw_{kind}_{model}.json", f"raw_{other[kind]}_{model}.json"):
        raw = file.with_name(name)
        if not raw.is_file():
            continue
        value = read_json(raw)
        while isinstance(value, dict):
            value = value.get("predictions")
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise DataError(f"{raw} is no list of predictions, so it cannot name the rows of {file.name}")
        if len(value) != count:
            notes.append(
                f"{name} has {len(value)} items where this file has {count} rows, so it names no rows"
            )
            continue
        samples = [index.find(str(item.get("video_path", "")), item.get("instance_id")) for item in value]
        unmatched = [
            str(item.get("video_path")) for item, sample in zip(value, samples, strict=True) if not sample
        ]
        if unmatched:
            raise DataError(
                f"{raw}, which names the rows of {file.name}: {len(unmatched)} of {count} videos are not in "
                f"the data, the first is '{unmatched[0]}'; give the data that they were made on"
            )
        notes.append(f"rows were joined by the videos' names in {name}")
        return [sample for sample in samples if sample]
    return None


def _find_data_order(file: Path, count: int, samples: Sequence[Sample]) -> Sequence[Sample]:
    rendered = [sample for sample in samples if sample.facets["dataset"] != "REAL"]
    real = len(samples) - len(rendered)
    if file.parent.name in VARIANTS:
        rendered = [sample for sample in rendered if sample.facets["variant"] == file.parent.name]
        return sorted(rendered, key=_released_key)
    if real and (count == real or not rendered):
        raise DataError(
            f"{file} names its {count} rows by position, and files on REAL are not in the data's order; "
            "put the raw file of the same model beside it, or import that one"
        )
    if len(rendered) == RELEASED and all(sample.facets["variant"] in VARIANTS for sample in rendered):
        # Copies of the released data may be sorted otherwise; score files follow the released order.
        return sorted(rendered, key=_released_key)
    return rendered


def _released_key(sample: Sample) -> tuple[str, str, int]:
    facets = sample.facets
    return facets["actor"], facets["action"], VARIANTS.index(facets["variant"])
