"""Training data: answers, orders, forms, rows, shards, frames, and data that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.support.helpers import questions
from tests.support.train_kit import recipe, write_world
from vivant.benchmarks import registry
from vivant.benchmarks.base import PromptContext
from vivant.core.errors import DataError, UsageError
from vivant.core.types import FramePolicy, Text

if TYPE_CHECKING:
    from vivant_train.data.dataloader import BatchSampler, TrainingPosition
    from vivant_train.data.sources import Example
    from vivant_train.model.processing import Processor


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_world(tmp_path_factory.mktemp("data") / "world", 10, side=32, times=8)


def load_world(world: Path, benchmark: str = "mimic/thinking", **changes: Any) -> tuple[Example, ...]:
    from vivant_train.data.sources import TrainingSource, load_examples

    return load_examples([TrainingSource(benchmark=benchmark, data=str(world), **changes)], Path()).examples


def make_sampler(world: Path, **changes: Any) -> tuple[BatchSampler, Processor]:
    from vivant_train.components import fill_vocabulary, train_example_tokenizer
    from vivant_train.data.dataloader import BatchSampler
    from vivant_train.data.example_set import ExampleSet
    from vivant_train.data.sources import TrainingSource
    from vivant_train.model.processing import Processor
    from vivant_train.settings import make_recipe

    settings = make_recipe(recipe(world))
    source = TrainingSource(benchmark="mimic/thinking", data=str(world), **changes)
    examples = ExampleSet([source], Path())
    tokenizer = train_example_tokenizer(settings, examples.fixed)
    processor = Processor(fill_vocabulary(settings.model, tokenizer), tokenizer, len(tokenizer))
    sampler = BatchSampler(
        examples,
        processor,
        seed=1,
        steps=100,
        batch_tokens=300,
        row_tokens=150,
        per_video=2,
    )
    return sampler, processor


def take(sampler: BatchSampler, start: TrainingPosition, count: int) -> list[Any]:
    steps: Iterator[Any] = sampler.plan_batches(start)
    return [next(steps) for _ in range(count)]


def list_contents(steps: list[Any]) -> list[Any]:
    return [[[(a.example.name, a.ids, a.answer) for a in row] for row in step.rows] for step in steps]


def test_prompts_are_the_benchmark_s_and_answers_its_key(world: Path) -> None:
    from vivant_train.data.sources import phrase_example

    mimic = registry.get("mimic")
    for example in load_world(world):
        phrased = phrase_example(example, 0, seed=3)
        usual = mimic.prompt(example.sample, PromptContext(style="zero-shot", seed=3, pool=example.pool))
        texts = [part.text for part in usual.messages[0].parts if isinstance(part, Text)]
        assert phrased.text == texts[0]
        right = {option.name: option.text for option in usual.options}[phrased.answer]
        assert example.sample.key is not None
        assert right == example.sample.options[example.sample.key].text


def test_epochs_draw_other_orders_and_each_answer_fits_its_own(world: Path) -> None:
    from vivant_train.data.sources import phrase_example

    example = load_world(world)[0]
    epochs = [phrase_example(example, epoch, seed=0) for epoch in range(8)]
    assert len({phrased.text for phrased in epochs}) > 3 and len({phrased.answer for phrased in epochs}) > 1
    right = example.sample.options[0].text
    for phrased in epochs:
        assert f"{phrased.answer}. {right}" in phrased.text.split("\n")


def test_comments_are_learnt_from_the_most_liked(world: Path) -> None:
    from vivant_train.data.sources import phrase_example

    examples = load_world(world, "mimic/comment")
    drawn = {phrase_example(examples[0], epoch, 0).answer for epoch in range(12)}
    assert drawn == set(examples[0].sample.extra["human"])


def test_forms_without_options_and_with_some_of_them(world: Path) -> None:
    from vivant_train.data.sources import phrase_example

    example = load_world(world)[0]
    right = example.sample.options[0].text
    words = phrase_example(example, 0, 0, "words")
    assert words.answer == right and words.media and "A." not in words.text
    counts = set()
    for epoch in range(12):
        full, some = phrase_example(example, epoch, 0), phrase_example(example, epoch, 0, "fewer")
        lines = full.text.split("\n")
        options = [line for line in some.text.split("\n") if line[:2] in ("A.", "B.", "C.", "D.")]
        assert some.answer == full.answer and f"{some.answer}. {right}" in options
        assert all(line in lines for line in some.text.split("\n"))
        counts.add(len(options))
    assert counts == {1, 2, 3}


def test_any_benchmark_s_folder_will_do(tmp_path: Path) -> None:
    from vivant_train.data.sources import TrainingSource, load_examples, phrase_example

    (example, *_) = load_examples(
        [TrainingSource(benchmark="mime/mcq", data="mini", limit=3)], Path()
    ).examples
    assert phrase_example(example, 0, 0).answer.strip("[]") in {
        option.name for option in example.sample.options
    }
    file = questions(tmp_path, 4)
    mine = load_examples([TrainingSource(benchmark=file.name)], tmp_path).examples
    assert len(mine) == 4 and mine[0].media and phrase_example(mine[0], 0, 0).answer


def test_steps_are_the_same_however_they_are_resumed(world: Path) -> None:
    from vivant_train.data.dataloader import TrainingPosition

    all_steps = take(make_sampler(world)[0], TrainingPosition(), 9)
    assert list_contents(all_steps) == list_contents(take(make_sampler(world)[0], TrainingPosition(), 9))
    assert all_steps[-1].position.epoch > 0
    middle = all_steps[5].position
    assert list_contents(take(make_sampler(world)[0], middle, 4)) == list_contents(all_steps[5:])


def test_an_epoch_asks_everything_once_and_a_weight_counts(world: Path) -> None:
    from vivant_train.data.dataloader import TrainingPosition

    steps = take(make_sampler(world)[0], TrainingPosition(), 30)
    first = [name for step in steps if step.position.epoch == 0 for name in step.sample_names]
    assert sorted(first) == sorted({example.name for example in load_world(world)})
    half = take(make_sampler(world, weight=0.5)[0], TrainingPosition(), 30)
    names = [
        [name for s in half if s.position.epoch == epoch for name in s.sample_names] for epoch in range(2)
    ]
    assert sorted(names[0] + names[1]) == sorted(set(first)) and names[0] and names[1]


def test_only_answers_are_learnt_and_a_video_is_shown_once(world: Path) -> None:
    from vivant_train.data.dataloader import DataLoader, TrainingPosition
    from vivant_train.data.frame_loader import FrameLoader

    sampler, processor = make_sampler(world)
    policy = FramePolicy(count=4)
    with closing(
        FrameLoader(processor, policy, world.parent / "cache", workers=1, megabytes=64)
    ) as frame_loader:
        loader = DataLoader(sampler, frame_loader, TrainingPosition(), last_step=2, pad_token_id=0)
        batches = list(loader)
    assert [batch.plan.position.step for batch in batches] == [0, 1]
    (part,) = batches[0].micro_batches
    tokenized = [example for row in batches[0].plan.rows for example in row]
    labels = part["labels"][part["labels"] != -100].tolist()
    assert labels == [token for example in tokenized for token in example.answer]
    assert (
        len(part["frame_counts"])
        == len({example.example.video for example in tokenized})
        < len(part["question_videos"])
        == len(tokenized)
    )
    assert part["frames"].shape == (4 * len(part["frame_counts"]), 32, 32, 3)


def test_wording_becomes_single_tokens_but_options_never(world: Path) -> None:
    from vivant_train.components import train_example_tokenizer
    from vivant_train.data.sources import phrase_example
    from vivant_train.model.processing import find_shared_lines
    from vivant_train.settings import make_recipe

    examples = load_world(world)
    phrased = [phrase_example(example, 0, 0) for example in examples]
    lines = find_shared_lines([(example.text, example.options) for example in phrased])
    assert any(line.startswith("Exactly one is right") for line in lines)
    assert not any(option in line for line in lines for example in phrased for option in example.options)
    tokenizer = train_example_tokenizer(make_recipe(recipe(world)), examples)
    assert len(tokenizer.encode(phrased[0].text)) < 60
    assert tokenizer.decode(tokenizer.encode(phrased[0].text)) == phrased[0].text


def test_data_without_answers_are_refused_or_counted(tmp_path: Path) -> None:
    from vivant_train.data.sources import TrainingSource, load_examples

    lines = [{"id": f"q{n}", "question": "What is it?"} for n in range(3)]
    file = tmp_path / "open.jsonl"
    file.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    with pytest.raises(DataError, match="answer"):
        load_examples([TrainingSource(benchmark="open.jsonl")], tmp_path)
    world = write_world(tmp_path / "world", 3, side=32, times=2)
    videos = [msgspec.json.decode(line) for line in (world / "videos.jsonl").read_bytes().splitlines()]
    videos[1]["comments"] = []
    (world / "videos.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, videos)))
    loaded = load_examples([TrainingSource(benchmark="mimic/comment", data="world")], tmp_path)
    assert len(loaded.examples) == 2
    assert (
        "1 of 3 samples of mimic/comment have no answer" in loaded.warnings[0]
        and "v0001" in loaded.warnings[0]
    )


def test_sources_that_say_too_little_or_too_much(tmp_path: Path) -> None:
    from vivant_train.data.sources import TrainingSource, load_examples

    with pytest.raises(UsageError, match="needs either data or shards"):
        load_examples([TrainingSource(benchmark="mimic")], tmp_path)
    with pytest.raises(UsageError, match="nothing to learn from"):
        load_examples([], tmp_path)
    with pytest.raises(UsageError, match="did you mean 'zero-shot'"):
        load_examples([TrainingSource(benchmark="mimic/thinking", data="mini", style="zeroshot")], tmp_path)
