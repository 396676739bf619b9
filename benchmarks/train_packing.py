"""Packing against padding: tokens a second of training on the lengths that a training set really has.

Both sides are the same tiny model, the same questions and the same number of questions a pass; packed rows hold
several questions each, padded ones a question each, as long as the longest of the pass. Only tokens that are not
padding count. Lengths are those of MIMIC's eight tasks on the mini-edition: choices of a few words, descriptions of
many, comments. Limit: packing reaches at least 1.5 times the tokens a second. The best of three rounds, in turns.

    python benchmarks/train_packing.py [questions a pass]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

LIMIT = 1.5
ROUNDS = 3
ROW = 256


def passes(count: int) -> tuple[Any, dict[str, list[dict[str, Any]]], int]:
    """A model, its passes in both ways, and the tokens that they hold."""
    import torch

    from vivant.core.randomness import shuffled_indices
    from vivant_train.components import fill_vocabulary, train_example_tokenizer
    from vivant_train.data.packing import collate, pack_rows
    from vivant_train.data.sources import TrainingSource, load_examples, phrase_example
    from vivant_train.model.config import MimicChatConfig
    from vivant_train.model.modeling import MimicChat
    from vivant_train.model.processing import ModelInput, Processor
    from vivant_train.settings import make_recipe

    torch.set_num_threads(1)
    torch.manual_seed(0)
    examples = load_examples([TrainingSource(benchmark="mimic", data="mini")], Path()).examples
    recipe = make_recipe({"model": "tiny", "data": {"sources": [{"data": "mini"}]}})
    tokenizer = train_example_tokenizer(recipe, examples)
    parts = fill_vocabulary(recipe.model, tokenizer)
    processor = Processor(parts, tokenizer, len(tokenizer))
    side = parts.vision.image_size
    frames = torch.randint(0, 255, (16, side, side, 3), dtype=torch.uint8).numpy()
    order = shuffled_indices(len(examples), 0, "packing")
    questions = []
    for place in order[: 4 * count]:
        said = phrase_example(examples[place], 0, 0)
        ids, answer = processor.encode_prompt(said.text, video=True), processor.encode_answer(said.answer)
        # One video for all: what is compared is the language model's rows, and the way there.
        questions.append(ModelInput(ids, answer, frames, "one"))
    made: dict[str, list[dict[str, Any]]] = {"packed": [], "padded": []}
    for start in range(0, len(questions), count):
        chosen = questions[start : start + count]
        rows = [[chosen[place] for place in row] for row in pack_rows([q.length for q in chosen], ROW)]
        made["packed"].append(collate(rows, tokenizer.pad_token_id))
        made["padded"].append(collate([[question] for question in chosen], tokenizer.pad_token_id))
    return (
        MimicChat(MimicChatConfig.from_settings(parts)),
        made,
        sum(question.length for question in questions),
    )


def main() -> None:
    """Print both rates and their ratio; exit with 1 where it is below the limit."""
    model, made, tokens = passes(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
    model.train()
    best = dict.fromkeys(made, float("inf"))
    for _ in range(ROUNDS):
        for way, batches in made.items():
            began = time.perf_counter()
            for batch in batches:
                model(**batch).loss.backward()
                model.zero_grad()
            best[way] = min(best[way], time.perf_counter() - began)
    for way, seconds in best.items():
        print(f"{way}: {tokens / seconds:8.0f} tokens/s")
    ratio = best["padded"] / best["packed"]
    print(f"ratio {ratio:.2f} (limit {LIMIT})")
    sys.exit(0 if ratio >= LIMIT else 1)


if __name__ == "__main__":
    main()
