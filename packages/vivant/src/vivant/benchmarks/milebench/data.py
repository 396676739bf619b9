"""Annotations on disk → samples, each with its pictures in place and what tables group by."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from vivant.benchmarks.milebench.datasets import BY_NAME, DATASETS, GROUP, choose_matching, find_level
from vivant.benchmarks.milebench.native import (
    Annotation,
    AnnotationItem,
    PlacedContext,
    TaskInstance,
    find_annotation_file,
    find_dataset_folder,
    get_instruction,
    get_response,
    list_combined_pictures,
    place_pictures,
    read_annotation,
    read_instance,
)
from vivant.benchmarks.milebench.normalisation import normalise
from vivant.benchmarks.milebench.paper import option_name
from vivant.core.errors import DataError
from vivant.core.types import Option, Sample, Text

DEPTHS = 10
"""Steps of a needle map from the start of the context to its end."""
CHARACTERS_PER_TOKEN = 4
"""The stated estimate where there is no tokenizer."""
LENGTH_STEP = 500
"""Tokens between two lengths of the text-needle map."""

_NAMES_PICTURE = re.compile(r"\b(?:image|picture|photo|page|slide|frame|table)\s*#?\s*(\d+)\b", re.IGNORECASE)


def load(root: Path, dataset: str, *, adv: bool = False, combine: int = 0) -> list[Sample]:
    """The samples of one dataset, those with few pictures first, so that long ones stand together."""
    file = find_annotation_file(root, dataset, adv=adv, combine=combine)
    annotation = read_annotation(file, dataset)
    samples = read_samples(
        annotation, dataset, _format_relative(find_dataset_folder(root, dataset), root), str(file)
    )
    return sorted(samples, key=lambda sample: int(sample.facets["n_images"]))


def list_present(root: Path, *, adv: bool = False) -> tuple[str, ...]:
    """The datasets whose annotation file is there."""
    return tuple(d.name for d in DATASETS if find_annotation_file(root, d.name, adv=adv).is_file())


def _format_relative(folder: Path, root: Path) -> str:
    return f"{folder.relative_to(root).as_posix()}/" if folder != root else ""


def read_samples(annotation: Annotation, dataset: str, folder: str, where: str) -> list[Sample]:
    """Samples in the order of the file. `folder` leads from the data's root to the dataset: "" or "TQA/"."""
    samples: list[Sample] = []
    ids: set[str] = set()
    for item in annotation.data:
        sample_id = str(item.sample_id)
        if sample_id in ids:
            raise DataError(f"{where}: the sample_id {sample_id} is repeated; ids must be unique")
        ids.add(sample_id)
        samples.append(_build_sample(annotation, item, dataset, folder, f"{where}, sample {sample_id}"))
    return _add_order_depths(samples) if "Needle" in dataset else samples


class MileBenchQuestion(Struct, frozen=True):
    """One annotation, read."""

    instance: TaskInstance
    response: str
    placed: PlacedContext
    choices: tuple[str, ...]
    key: int | None


def read_question(item: AnnotationItem, folder: str, where: str) -> MileBenchQuestion:
    """The question of one annotation, its pictures in place and its key found among the choices."""
    instance = read_instance(item, where)
    choices = tuple(str(choice) for choice in instance.choice_list or ())
    normalised = [normalise(choice) for choice in choices]
    response = get_response(item, where)
    answer = normalise(response)
    return MileBenchQuestion(
        instance=instance,
        response=response,
        placed=place_pictures(instance.context, instance.images_path, folder),
        choices=choices,
        key=normalised.index(answer) if answer in normalised else None,
    )


def _build_sample(
    annotation: Annotation, item: AnnotationItem, dataset: str, folder: str, where: str
) -> Sample:
    question = read_question(item, folder, where)
    images = question.instance.images_path
    kind = choose_matching(dataset, annotation.meta_data.question_type)
    if kind == "choice" and not question.choices:
        raise DataError(f"{where}: the dataset is multi-choice, but the sample has no choice_list")
    combined = {
        str(number): [f"{folder}combined_{number}_images/{path}" for path in paths]
        for number, paths in list_combined_pictures(item).items()
    }
    return Sample(
        id=str(item.sample_id),
        task=f"milebench/{dataset}",
        question=(
            Text(get_instruction(annotation.meta_data, item.task_instruction_id, where)),
            *question.placed.parts,
        ),
        options=tuple(Option(option_name(i), text) for i, text in enumerate(question.choices)),
        key=question.key,
        answers=(question.response,),
        facets=_build_facets(annotation.meta_data.question_type, item, question, dataset),
        cluster=_build_cluster(dataset, images, str(item.sample_id)),
        extra={
            "match": kind,
            "numbers": list(question.placed.numbers),
            "combined": combined,
            "images": list(images),
            **({"level": item.image_quantity_level} if item.image_quantity_level else {}),
        },
    )


def _build_cluster(dataset: str, images: Sequence[str], sample_id: str) -> str:
    """Samples over the very same pictures are not independent."""
    return hashlib.sha256("\n".join((dataset, *images)).encode()).hexdigest()[:12] if images else sample_id


def _build_facets(
    question_type: str, item: AnnotationItem, question: MileBenchQuestion, dataset: str
) -> dict[str, str]:
    group = BY_NAME[dataset].group
    images = len(question.instance.images_path)
    facets = {
        "dataset": dataset,
        "group": group,
        "realm": GROUP[group].realm,
        "level": find_level(images),
        "n_images": str(images),
        "question_type": question_type,
    }
    if item.needle:
        facets |= {"depth": str(item.needle.depth), "length": str(item.needle.length), "depth_from": "file"}
    elif dataset.startswith("Text") and "Needle" in dataset:
        facets |= _find_text_depth(question.instance.context, question.response)
    elif "Needle" in dataset:
        facets["length"] = str(images)
    position = _find_position(item, question)
    if position is not None:
        facets["position"] = position
    return facets


def _find_text_depth(context: str, key: str) -> dict[str, str]:
    """A text needle lies where its key stands, if it stands there once."""
    tokens = len(context) / CHARACTERS_PER_TOKEN
    facets = {"length": str(round(tokens / LENGTH_STEP) * LENGTH_STEP)}
    matches = list(re.finditer(rf"(?<!\w){re.escape(key)}(?!\w)", context, re.IGNORECASE))
    if key and len(matches) == 1:
        depth = min(DEPTHS - 1, DEPTHS * matches[0].start() // len(context))
        facets |= {"depth": str(depth), "depth_from": "text"}
    return facets


def _add_order_depths(samples: list[Sample]) -> list[Sample]:
    """Where nothing states the depth and the set is a full map, ten samples a length, the order does."""
    by_length: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_length[sample.facets["length"]].append(sample)
    full = all(len(group) == DEPTHS for group in by_length.values())
    if not full or any("depth" in sample.facets for sample in samples):
        return samples
    depth = {sample.id: step for group in by_length.values() for step, sample in enumerate(group)}
    return [
        structs.replace(
            sample, facets={**sample.facets, "depth": str(depth[sample.id]), "depth_from": "order"}
        )
        for sample in samples
    ]


def _find_position(item: AnnotationItem, question: MileBenchQuestion) -> str | None:
    """In which fifth of the pictures the evidence lies: the file says so, or a key such as "Image 3" does."""
    images = len(question.instance.images_path)
    numbers = list(item.evidence)
    if not numbers:
        match = _NAMES_PICTURE.fullmatch(question.response.strip().rstrip("."))
        numbers = [int(match[1])] if match else []
    if not numbers or images < 2 or not all(1 <= number <= images for number in numbers):
        return None
    middle = sum(numbers) / len(numbers)
    return str(min(4, int(5 * (middle - 1) / (images - 1))) + 1)
