"""The bundled mini-edition: whole, small, and a real test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.milebench_kit import score_replies
from vivant import mini
from vivant.benchmarks.base import PromptContext
from vivant.benchmarks.milebench import MileBench
from vivant.benchmarks.milebench.datasets import GROUPS
from vivant.core.types import Image, Sample


@pytest.fixture(scope="module")
def root() -> Path:
    path = mini.root("milebench")
    assert path is not None
    return path


@pytest.fixture(scope="module")
def samples(root: Path) -> list[Sample]:
    benchmark = MileBench()
    tasks = benchmark.data.available(benchmark, root, benchmark.expand(""))
    return [sample for task in tasks for sample in benchmark.load(root, f"milebench/{task}")]


def test_every_group_has_a_dataset_and_every_level_a_sample(samples: list[Sample]) -> None:
    assert {sample.facets["group"] for sample in samples} == {group.name for group in GROUPS}
    assert {sample.facets["level"] for sample in samples} == {"Few", "Medium", "Many"}
    by_dataset = {sample.facets["dataset"] for sample in samples}
    for dataset in by_dataset:
        assert 16 <= sum(sample.facets["dataset"] == dataset for sample in samples) <= 18


def test_it_is_whole_and_small(root: Path) -> None:
    assert MileBench().data.check(MileBench(), root).problems == ()
    assert sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) < 2_500_000


def test_no_option_is_twice_there(samples: list[Sample]) -> None:
    """What place and length tell is tested for all mini-editions in test_minis_unguessable.py."""
    for sample in (sample for sample in samples if sample.options):
        assert len({option.text for option in sample.options}) == len(sample.options)


def test_the_right_order_of_letters_is_not_the_one_that_all_others_resemble(samples: list[Sample]) -> None:
    """Each wrong order made by one exchange from the right one would make the right one the middle of all."""
    resembles = []
    for sample in (sample for sample in samples if sample.facets["dataset"] == "CharacterOrder"):
        texts = [option.text for option in sample.options]
        shared = [sum(a == b for other in texts for a, b in zip(text, other, strict=True)) for text in texts]
        resembles.append(shared[sample.key or 0] == max(shared))
    assert sum(resembles) <= len(resembles) / 2


def test_the_needle_is_not_in_the_text_of_image_needles(samples: list[Sample], root: Path) -> None:
    benchmark = MileBench()
    for sample in samples:
        prompt = benchmark.prompt(sample, PromptContext(style="zero-shot", root=root))
        images = [part for part in prompt.messages[0].parts if isinstance(part, Image)]
        assert len(images) == int(sample.facets["n_images"])
        if sample.facets["dataset"] == "ImageNeedleInAHaystack":
            assert not any(
                sample.answers[0] in getattr(part, "text", "") for part in prompt.messages[0].parts
            )


def test_right_answers_score_full_marks_in_both_protocols(samples: list[Sample]) -> None:
    for protocol in ("paper", "strict"):
        for sample in samples:
            text = sample.answers[0] if sample.key is None else sample.options[sample.key].name
            (row,) = score_replies([sample], [text], protocol).rows
            assert row[2].value == pytest.approx(1.0), (sample.task, sample.id)
