"""A sample phrased: instruction, context with its pictures, and for multiple choice the list of choices.

The wording of the list and of its closing line belongs to the benchmark; a user may replace it by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vivant.benchmarks.base import Prompt, PromptContext
from vivant.benchmarks.milebench.datasets import DATASETS, UNLETTERED
from vivant.benchmarks.milebench.truncation import fit_context, read_window
from vivant.benchmarks.wording import PromptText
from vivant.core.types import Image, Message, Option, Part, Sample, Text, join_texts
from vivant.media.image_grid import split_into_grids

WORDING: Mapping[str, str] = {"choices": "Choice list: ", "answer": "Your answer is: "}
"""Texts that `--prompts` may replace, besides `instruction` and `instruction.<dataset>` of the data."""

PROMPT_TEXTS: Mapping[str, PromptText] = {
    name: PromptText()
    for name in (*WORDING, "instruction", *(f"instruction.{dataset.name}" for dataset in DATASETS))
}
MAX_TOKENS = 512


def build_prompt(sample: Sample, context: PromptContext, combine: int = 0) -> Prompt:
    """The one user message of a sample, cut to the model's window where there is one."""
    dataset = sample.facets["dataset"]
    wording = {**WORDING, **context.wording}
    stated = sample.question[0]
    instruction = wording.get(f"instruction.{dataset}", wording.get("instruction"))
    if instruction is None:
        instruction = stated.text if isinstance(stated, Text) else ""
    body = sample.question[1:]
    grids: list[Part] = []
    if combine:
        grids = _build_grids(sample, combine, context.root)
        body = (Text(_format_numbered(sample)),)
    order = context.order(sample, shuffled=False)
    options = tuple(
        Option(o.name, sample.options[k].text) for o, k in zip(sample.options, order, strict=True)
    )
    if options:
        body = (*body, Text(_format_choices(options, wording, lettered=dataset not in UNLETTERED)))
    body = join_texts(body)
    lost, notes = 0, []
    limits = read_window(context.limits)
    if limits is not None:
        fitted = fit_context(instruction, body, limits)
        body, lost = fitted.parts, fitted.lost_images
        if fitted.lost_images or fitted.lost_tokens:
            notes.append(
                f"cut to {limits.tokens} tokens ({limits.tokenizer_name}, {limits.per_image} an image): "
                f"{fitted.lost_images} images and {fitted.lost_tokens} tokens lost"
            )
    opening = (*grids, Text(f"\n{instruction}\n")) if grids else (Text(f"{instruction}\n"),)
    return Prompt(
        messages=(Message("user", join_texts((*opening, *body))),),
        options=options,
        order=order,
        candidates=_list_candidates(sample, context.pool),
        max_tokens=MAX_TOKENS,
        lost_images=lost,
        notes=tuple(notes),
    )


def _format_choices(options: Sequence[Option], wording: Mapping[str, str], *, lettered: bool) -> str:
    lines = [f"{option.name}. {option.text}" if lettered else option.text for option in options]
    return "\n".join(["", wording["choices"], *lines, wording["answer"]])


def _list_candidates(sample: Sample, pool: Sequence[Sample]) -> tuple[str, ...]:
    """What a guesser may answer to an open question: the keys of the dataset."""
    if sample.options:
        return ()
    return tuple(sorted({answer for other in pool for answer in other.answers}))


def _format_numbered(sample: Sample) -> str:
    """The context with each mark as the number that the picture has in the grid."""
    numbers = iter(sample.extra["numbers"])
    texts: list[str] = []
    for part in sample.question[1:]:
        if isinstance(part, Text):
            texts.append(part.text)
        else:
            number = next(numbers)
            texts.append(f"<Image {number}> " if number else "")
    return "".join(texts)


def _build_grids(sample: Sample, combine: int, root: Path) -> list[Part]:
    """The grid pictures: those of the release where they are there, else tiles to be put together."""
    released = sample.extra.get("combined", {}).get(str(combine))
    if released and all((root / path).is_file() for path in released):
        return [Image(path) for path in released]
    images = [part.path for part in sample.question if isinstance(part, Image)]
    return [
        Image(
            f"grid of images {share.start + 1} to {share.stop}",
            tiles=tuple(images[share.start : share.stop]),
            first=share.start + 1,
        )
        for share in split_into_grids(len(images), combine)
    ]
