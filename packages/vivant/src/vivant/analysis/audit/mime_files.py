"""MIME's checks on files of its repository, where the user has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vivant.analysis.audit.check import format_percent
from vivant.benchmarks import registry
from vivant.benchmarks.base import ScoreSettings
from vivant.benchmarks.data_files import read_json
from vivant.benchmarks.mime.data import walk_folders
from vivant.benchmarks.mime.names import SampleIndex
from vivant.benchmarks.mime.text_lists import parse_list, split_texts
from vivant.core.errors import DataError


def recompute_people(root: Path, stated: Mapping[str, float]) -> tuple[str, ...]:
    """Accuracy of people's free answers by variant, and the printed figure, from `human_eval.jsonl`."""
    benchmark = registry.get("mime")
    imported = benchmark.native.read_human(benchmark, root, "mime/ff")
    if imported is None:
        return (f"{root} holds no human_eval.jsonl, so people's answers were not recomputed.",)
    samples = {sample.id: sample for sample in imported.samples}
    items = [(samples[record.id], record) for record in imported.records]
    lines: list[str] = []
    values: dict[str, dict[str, list[float]]] = {"strict": {}, "paper": {}}
    for protocol, by_variant in values.items():
        settings = ScoreSettings(
            protocol="strict" if protocol == "strict" else "paper", values=benchmark.settings
        )
        for (sample, _), score in zip(items, benchmark.score(items, settings), strict=True):
            by_variant.setdefault(sample.facets["variant"], []).append(score.value or 0.0)
    differ = []
    for variant, accuracy in stated.items():
        scores = values["strict"].get(variant)
        if scores is None:
            continue
        figure = round(sum(scores) / len(scores) * 100, 1)
        if abs(figure - accuracy) > 0.051:
            differ.append(f"{variant} {figure} where {accuracy} is stated")
    mime = [value for variant, scores in values["strict"].items() if variant != "none" for value in scores]
    paper = [value for variant, scores in values["paper"].items() if variant != "none" for value in scores]
    if mime:
        lines.append(
            f"MIME: {sum(mime):.0f} of {len(mime)} free answers are right ({format_percent(sum(mime) / len(mime))}); "
            f"by the published rule {format_percent(sum(paper) / len(paper))}."
        )
    real, real_paper = values["strict"].get("none", []), values["paper"].get("none", [])
    if real:
        lines.append(
            f"REAL: {sum(real):.0f} of {len(real)} are right ({format_percent(sum(real) / len(real))}); by the "
            f"published rule {format_percent(sum(real_paper) / len(real_paper))}."
        )
    lines.append(
        "All variants agree with the table." if not differ else "Differences: " + "; ".join(differ) + "."
    )
    return tuple(lines)


def _raw_choice_files(root: Path) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    for folder, files in walk_folders(root) if root.is_dir() else ():
        for name in files:
            if name.startswith("raw_mcq_") and name.endswith(".json"):
                value: Any = read_json(folder / name)
                while isinstance(value, dict):
                    value = value.get("predictions")
                if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
                    raise DataError(f"{folder / name} is no list of predictions")
                yield folder / name, value


def count_marked_options(root: Path) -> tuple[str, ...]:
    """In how many items of few-shot files the right option is a list among texts."""
    lines = []
    for path, items in _raw_choice_files(root):
        if "few-shot" not in path.parts:
            continue
        marked = sum(_is_marked(item) for item in items)
        lines.append(
            f"{path.name}: in {marked} of {len(items)} items the right option alone is stored as a list."
        )
    return tuple(lines) or (f"{root} holds no few-shot result files (few-shot/**/raw_mcq_*.json).",)


def _is_marked(item: Mapping[str, Any]) -> bool:
    options = item.get("options", [])
    lists = [
        index
        for index, option in enumerate(options)
        if isinstance(option, list) or (isinstance(option, str) and parse_list(option) is not None)
    ]
    return lists == ["ABCDEFGHIJ".find(str(item.get("correct_answer", "?")))]


def count_released_options(root: Path) -> tuple[str, ...]:
    """In how many items of result files the options are those that the data release."""
    samples = [s for s in registry.get("mime").load(root, "mime/mcq") if s.facets["dataset"] == "MIME"]
    index = SampleIndex(samples)
    files = same = total = 0
    for _, items in _raw_choice_files(root):
        pairs = [(index.find(str(item.get("video_path", ""))), item) for item in items]
        matched = [(sample, item) for sample, item in pairs if sample is not None]
        if not matched:
            continue
        files += 1
        total += len(matched)
        same += sum(
            {option.text for option in sample.options}
            == {", ".join(split_texts(o)) for o in item.get("options", [])}
            for sample, item in matched
        )
    if not files:
        return (f"{root} holds no multiple-choice result files (raw_mcq_*.json).",)
    return (f"{files} result files on MIME: {same} of {total} items have the released options.",)
