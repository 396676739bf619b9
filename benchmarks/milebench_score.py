"""Scoring 6,440 MileBench predictions: all 29 datasets, at the sizes of the release.

Peer: the same work done plainly: punctuation sign by sign, a fresh regular expression of all options for
every sample, and the PyPI package `rouge` for the open datasets. Both must give the same scores. Limit: ≥ 5 ×
the peer's speed. Where `rouge` is not installed, the script says so and ends.

    python benchmarks/milebench_score.py
"""

from __future__ import annotations

import importlib.util
import random
import re
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from vivant.benchmarks.base import ScoreSettings
from vivant.benchmarks.editions import load_editions
from vivant.benchmarks.milebench import MileBench
from vivant.benchmarks.milebench.datasets import DATASETS, MileBenchDataset, choose_matching
from vivant.core.records import Record
from vivant.core.types import Option, Reply, Sample

LIMIT = 5.0
ROUNDS = 3
WORDS = (
    "red",
    "blue",
    "door",
    "opens",
    "the",
    "man",
    "a",
    "table",
    "cup",
    "turns",
    "left",
    "right",
    "12",
    "4.5",
    "1,000",
    "truck",
    "(small)",
    "picks",
    "up",
    "lamp",
    "it's",
    "while",
)
SIGNS = ';/[]"{}()=+\\_-><@`,?!'

Items = list[tuple[Sample, Record]]


def letters(index: int) -> str:
    """A … Z, AA …"""
    return chr(65 + index) if index < 26 else "A" + chr(39 + index)


def make(dataset: MileBenchDataset, chance: random.Random) -> Items:
    """Questions of a dataset's kind with replies of every sort that models write."""
    items: Items = []
    kind = choose_matching(dataset.name, "open-ended" if dataset.metric == "rouge-l" else "multi-choice")
    for number in range(load_editions()["milebench"]["released"].tasks[dataset.name]):
        options: list[str] = []
        if kind == "choice":
            count = 30 if dataset.name == "GPR1200" else 4
            while len(options) < count:
                text = " ".join(chance.choices(WORDS, k=chance.randint(1, 6))).capitalize()
                if text not in options:
                    options.append(text)
            key = chance.choice(options)
            name = letters(chance.randrange(count))
            reply = chance.choice(
                (
                    name,
                    f"{name}. {chance.choice(options)}",
                    chance.choice(options),
                    f"The answer is {name}.",
                    key,
                )
            )
        elif kind == "rouge":
            words = chance.choices(WORDS, k=chance.randint(12, 60))
            key = " ".join(words).capitalize() + "."
            reply = (
                " ".join(word for word in words if chance.random() < 0.7)
                + ". "
                + key[: chance.randint(0, 80)]
            )
        else:
            key = chance.choice(("Albert", "mountain", "9726"))
            reply = f"It is {chance.choice((key, 'Berlin', 'nothing'))}, I think"
        task, name = f"milebench/{dataset.name}", str(number)
        sample = Sample(
            id=name,
            task=task,
            options=tuple(Option(letters(i), text) for i, text in enumerate(options)),
            key=options.index(key) if options else None,
            answers=(key,),
            facets={"dataset": dataset.name},
            extra={"match": kind},
        )
        items.append((sample, Record(key=f"{task}/{name}", task=task, id=name, reply=Reply(text=reply))))
    return items


class Peer:
    """The same scores, the plain way."""

    def __init__(self, rouge: Any) -> None:
        self.rouge = rouge

    def clean(self, text: str) -> str:
        """One sign after the other."""
        text = text.replace("\n", " ").replace("\t", " ").strip()
        out = text
        for sign in SIGNS:
            beside = f"{sign} " in text or f" {sign}" in text
            if beside or re.search(r"(\d)(\,)(\d)", text) is not None:
                out = out.replace(sign, "")
            else:
                out = out.replace(sign, " ")
        out = re.compile(r"(\.)(?!\d)").sub("", out, count=32)
        return out.strip("'").strip('"').strip().lower()

    def choose(self, reply: str, choices: list[str]) -> str:
        """A fresh pattern for every sample, twice."""
        if reply == "":
            return "C"
        named = [(letters(i), choice) for i, choice in enumerate(choices)]
        pattern = "|".join(re.escape(self.clean(f"{name} {choice}")) for name, choice in named)
        found = re.search(f"({pattern})", reply, re.DOTALL)
        if found:
            return found[0][0].upper()
        bare = [self.clean(choice).replace(" ", "") for choice in choices]
        found = re.search("(" + "|".join(map(re.escape, bare)) + ")", reply.replace(" ", ""), re.DOTALL)
        if found and not re.search(r"[.^$*|]", found[0]):
            return named[bare.index(found[0])][0]
        known = [name for name, _ in named]
        if len(reply) <= 2 and reply.upper() in known:
            return reply.upper()
        return "".join(sign.upper() for sign in reply if sign.upper() in known)

    def score(self, items: Items) -> list[float]:
        """One value a sample."""
        values: list[float] = []
        for sample, record in items:
            reply, key = self.clean(record.reply.text), self.clean(sample.answers[0])
            kind = sample.extra["match"]
            if kind == "choice":
                choices = [self.clean(option.text) for option in sample.options]
                values.append(float(self.choose(reply, choices) == letters(choices.index(key))))
            elif kind == "rouge":
                values.append(self.rouge.get_scores(reply, key)[0]["rouge-l"]["f"] if reply else 0.0)
            elif kind == "word":
                values.append(float(key in reply.split()))
            else:
                values.append(float(key in reply))
        return values


def timed(work: Callable[[], list[float]]) -> tuple[float, list[float]]:
    """Median CPU seconds, and the result."""
    spent, result = [], []
    for _ in range(ROUNDS):
        start = time.process_time()
        result = work()
        spent.append(time.process_time() - start)
    return statistics.median(spent), result


def main() -> int:
    """Measure, compare the scores, print the ratio."""
    if importlib.util.find_spec("rouge") is None:
        print("The peer needs the package 'rouge', which is not installed: pip install rouge==1.0.1")
        return 2
    from rouge import Rouge  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from vivant.benchmarks.milebench import normalisation, paper

    parts = [make(dataset, random.Random(dataset.name)) for dataset in DATASETS]
    benchmark, peer = MileBench(), Peer(Rouge())

    def ours() -> list[float]:
        # Nothing may be left over from the round before.
        normalisation.normalise_choice.cache_clear()
        paper.prepare_options.cache_clear()
        return [s.value or 0.0 for part in parts for s in benchmark.score(part, ScoreSettings())]

    ours_time, our_values = timed(ours)
    peer_time, peer_values = timed(lambda: [value for part in parts for value in peer.score(part)])
    apart = max(abs(a - b) for a, b in zip(our_values, peer_values, strict=True))
    ratio = peer_time / ours_time
    print(f"{len(our_values)} predictions, largest difference between the scores {apart:.1e}")
    print(f"vivant {ours_time:.3f} s of CPU, peer (rouge, a fresh pattern a sample) {peer_time:.3f} s")
    print(f"ratio {ratio:.1f} (limit {LIMIT:.0f})")
    return 0 if ratio >= LIMIT and apart < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
