"""MIME's prompts: orders that are drawn per sample, demonstrations that stay out of the test, own wording."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.mime_kit import LABELS, MIME, load_samples, make_row
from vivant.benchmarks.base import PromptContext
from vivant.benchmarks.mime import Mime
from vivant.benchmarks.mime.prompts import DEMONSTRATIONS, WORDING
from vivant.benchmarks.wording import check_prompts
from vivant.core.errors import UsageError
from vivant.core.randomness import shuffled_indices
from vivant.core.types import Message, Sample, Text, Video


def make_context(pool: list[Sample], style: str = "zero-shot", **more: object) -> PromptContext:
    return PromptContext(style=style, pool=tuple(pool), **more)  # type: ignore[arg-type]


def get_text(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, Text))


def get_video(message: Message) -> str:
    return next(part.path for part in message.parts if isinstance(part, Video))


def test_options_stand_in_the_samples_own_order(tmp_path: Path) -> None:
    pool = load_samples(tmp_path, "mime/mcq")
    for sample in pool:
        prompt = MIME.prompt(sample, make_context(pool, seed=7))
        assert prompt.order == shuffled_indices(4, 7, "mime/mcq", sample.id)
        assert [o.text for o in prompt.options] == [sample.options[i].text for i in prompt.order]
        assert [o.name for o in prompt.options] == ["A", "B", "C", "D"]
        assert (
            get_text(prompt.messages[-1]).count(
                "\n" + "\n".join(f"{o.name}. {o.text}" for o in prompt.options)
            )
            == 1
        )
        alone = MIME.prompt(sample, make_context([], seed=7))
        assert alone.order == prompt.order, "what else is asked must not change the order"
    first = Counter(MIME.prompt(s, make_context(pool)).order[0] for s in pool)
    assert set(first) == {0, 1, 2, 3}
    orders = [[MIME.prompt(s, make_context(pool, seed=seed)).order for s in pool] for seed in (0, 1)]
    assert orders[0] != orders[1]


def test_free_form_shows_no_options_and_offers_all_labels(tmp_path: Path) -> None:
    pool = load_samples(tmp_path, "mime/ff")
    prompt = MIME.prompt(pool[0], make_context(pool))
    assert not prompt.options
    assert set(prompt.candidates) == {part for _, label in LABELS.values() for part in label.split("|")}
    assert not any(label in get_text(prompt.messages[0]) for label in prompt.candidates)


@pytest.mark.parametrize("task", ["mime/mcq", "mime/ff"])
def test_few_shot_shows_three_answered_examples_of_the_same_variant(tmp_path: Path, task: str) -> None:
    pool = load_samples(tmp_path, task)
    samples = [s for s in pool if MIME.keep(s, "few-shot")]
    assert {s.facets["action"] for s in samples} == set(LABELS) - set(DEMONSTRATIONS)
    assert all(MIME.keep(s, style) for s in pool for style in ("zero-shot", "cot"))
    by_path = {next(p.path for p in s.question if isinstance(p, Video)): s for s in pool}
    for sample in samples:
        *messages, question = MIME.prompt(sample, make_context(pool, "few-shot")).messages
        assert [m.role for m in messages] == ["user", "assistant"] * 3
        assert get_video(question) in [part.path for part in sample.question if isinstance(part, Video)]
        examples = [by_path[get_video(message)] for message in messages[::2]]
        assert [e.facets["action"] for e in examples] == list(DEMONSTRATIONS)
        assert {e.facets["variant"] for e in examples} == {sample.facets["variant"]}
        for example, message, answer in zip(examples, messages[::2], messages[1::2], strict=True):
            label = example.answers[0]
            if task == "mime/ff":
                assert get_text(answer) == label
            else:
                assert f"{get_text(answer)}. {label}\n" in get_text(message)
                assert "[" not in get_text(message)


def test_demonstrations_options_are_shuffled_by_their_own_seed(tmp_path: Path) -> None:
    pool = load_samples(tmp_path, "mime/mcq")
    answers = {
        get_text(message)
        for seed in range(12)
        for message in MIME.prompt(pool[0], make_context(pool, "few-shot", seed=seed)).messages
        if message.role == "assistant"
    }
    assert answers == {"A", "B", "C", "D"}


def test_a_variant_without_demonstrations_is_shown_the_plain_one(tmp_path: Path) -> None:
    rows = [make_row("Archery001", "woman+blank@0"), *(make_row(action) for action in DEMONSTRATIONS)]
    pool = load_samples(tmp_path, "mime/ff", rows)
    messages = MIME.prompt(pool[0], make_context(pool, "few-shot")).messages[:-1:2]
    assert [get_video(m) for m in messages] == [make_row(action)["file_name"] for action in DEMONSTRATIONS]


def test_other_editions_mark_their_demonstrations(tmp_path: Path) -> None:
    rows = [make_row("Archery001"), make_row("WatchingTV01")]
    pool = load_samples(tmp_path, "mime/ff", rows)
    with pytest.raises(UsageError, match=r"Soccer003.*'demo' in the column split"):
        MIME.prompt(pool[0], make_context(pool, "few-shot"))
    pool = load_samples(tmp_path, "mime/ff", [rows[0], rows[1] | {"split": "demo"}])
    assert [MIME.keep(s, "few-shot") for s in pool] == [True, False]
    assert len(MIME.prompt(pool[0], make_context(pool, "few-shot")).messages) == 3


def test_own_wording_replaces_ours_by_name(tmp_path: Path) -> None:
    pool = load_samples(tmp_path, "mime/mcq")
    wording = {"mcq.zero-shot": "Choose { braces } from\n{options}!", "other-benchmark.direct": "x"}
    samples = get_text(MIME.prompt(pool[0], make_context(pool, wording=wording)).messages[0])
    assert samples.startswith("Choose { braces } from\nA. ") and samples.endswith("!")
    other = get_text(MIME.prompt(pool[0], make_context(pool, "cot", wording=wording)).messages[0])
    assert other.startswith(WORDING["mcq.cot"][:20])


@pytest.mark.parametrize(
    ("wording", "part"),
    [
        ({"mcq.zero-shot": "Which?"}, "must hold {options}"),
        ({"mcq.zero-shot": "{options} {option_e}"}, "unknown placeholder {option_e}"),
        ({"mcq.zero-shott": "{options}"}, "did you mean 'mcq.zero-shot'"),
    ],
)
def test_bad_wording_is_refused(wording: dict[str, str], part: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_prompts([MIME], wording)
    assert part in str(caught.value)


def test_an_unknown_style_is_refused(tmp_path: Path) -> None:
    pool = load_samples(tmp_path, "mime/ff")
    with pytest.raises(UsageError, match="did you mean 'zero-shot'"):
        MIME.prompt(pool[0], make_context(pool, "zero-shots"))


def test_every_style_of_every_task_has_wording_of_its_own() -> None:
    assert set(WORDING) == {f"{task.name}.{style}" for task in MIME.tasks for style in MIME.styles}
    assert all("{options}" in text for name, text in WORDING.items() if name.startswith("mcq."))


def test_released_data_lose_three_actions_in_few_shot(parity: Path) -> None:
    samples = MIME.load(parity / "mime", "mime/mcq")
    demonstrations = [s for s in samples if not MIME.keep(s, "few-shot")]
    assert Counter(s.facets["dataset"] for s in demonstrations) == {"MIME": 30, "REAL": 3}


def test_the_original_shows_the_same_three_videos_to_every_question(tmp_path: Path) -> None:
    rows = [make_row(action) for action in ("Archery001", *DEMONSTRATIONS)]
    pool = load_samples(tmp_path, "mime/mcq", rows)
    turns = Mime(demonstrations="turns", order="text-first").prompt(pool[0], make_context(pool, "few-shot"))
    roles = [message.role for message in turns.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant", "user"]
    assert all(isinstance(m.parts[0], Text) for m in turns.messages if m.role == "user")
    wording = {"mcq.few-shot.demo": "Q {option_a}|{option_b}|{option_c}|{option_d} = {answer}\n"}
    inline = Mime(demonstrations="inline", order="text-first").prompt(
        pool[0], make_context(pool, "few-shot", wording=wording)
    )
    (message,) = inline.messages
    kinds = [type(part).__name__ for part in message.parts]
    assert kinds == ["Video", "Text"] * 3 + ["Text", "Video"]
    demo = message.parts[1]
    assert isinstance(demo, Text) and demo.text[-2] in "ABCD" and demo.text.startswith("Q ")
    shown = [part.path for part in message.parts if isinstance(part, Video)]
    assert shown[-1] == pool[0].question[0].path  # type: ignore[union-attr]


def test_the_text_may_stand_before_the_video(tmp_path: Path) -> None:
    pool = load_samples(tmp_path, "mime/ff")
    usual, other = (
        [
            type(part).__name__
            for part in Mime(order=order).prompt(pool[0], make_context(pool)).messages[0].parts
        ]
        for order in ("media-first", "text-first")
    )
    assert (usual, other) == (["Video", "Text"], ["Text", "Video"])
    with pytest.raises(UsageError, match="did you mean 'text-first'"):
        Mime(order="text-frist")
