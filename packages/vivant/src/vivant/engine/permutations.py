"""Under how many orders of its options a question is asked (`--permute`).

Orders come in rounds: a question with n options that is asked n times shows every option once at every place
(see `core.randomness.nth_permutation`). A question is asked in its usual order alone where the options refer to
each other ("both A and C", "none of the above"), since another order would make them say something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import factorial
from typing import Literal

import msgspec

from vivant.benchmarks.base import Benchmark, PromptContext
from vivant.core.errors import UsageError
from vivant.core.types import Option, Sample

MAX_ORDERS = 120
"""`all` is refused where a question has more orders than this: five options have 120."""
Permute = int | Literal["all"]

_NAMES = r"(?:option|choice|answer|statement)s?"
_REFERENCE = re.compile(
    rf"""
    \b(?:all|none|both|neither|either|any|two|some|each|one)\s+of\s+(?:the\s+)?
        (?:above|below|preceding|following|other\s+{_NAMES}|others|{_NAMES})\b
  | \b(?:all|none|both|either|neither|any)\s+of\s+(?:these|them|those)\s*[.!]?\s*$
  | \b(?:above|preceding|previous|following|other|first|last)\s+(?:two\s+|three\s+)?{_NAMES}\b
  | \b{_NAMES}\s+\(?[A-Z]\)?(?![\w'])
  | ^\W*(?:both\s+|either\s+|neither\s+|only\s+)?\(?[A-Z]\)?\s*(?:,\s*(?:and|or)?|and|or|nor|&|\+)\s*\(?[A-Z]\)?(?!\w)
  | 以上|上述|上面
    """,
    re.VERBOSE,
)


def refer_to_each_other(options: Sequence[Option]) -> bool:
    """Whether an option is about other options, by their letter or their place."""
    return any(_REFERENCE.search(_lower_words(option.text)) for option in options)


def _lower_words(text: str) -> str:
    """Lower case but for letters that stand alone, which may be names of options ("a" is an article)."""
    return re.sub(r"\b\w\w+\b", lambda match: match[0].lower(), text)


def count_orders(sample: Sample, permute: Permute) -> int:
    """How many orders of a sample's options are asked."""
    if permute == 1 or len(sample.options) < 2 or refer_to_each_other(sample.options):
        return 1
    every = factorial(len(sample.options))
    if permute != "all":
        return min(permute, every)
    if every > MAX_ORDERS:
        raise UsageError(
            f"--permute all: sample {sample.id} of {sample.task} has {len(sample.options)} options and so "
            f"{every:,} orders; with --permute {len(sample.options)} every option stands once at every place"
        )
    return every


def check_permutable(benchmark: Benchmark, sample: Sample, context: PromptContext) -> None:
    """A benchmark whose prompts do not follow the order asked for would be asked the same thing again."""
    usual = benchmark.prompt(sample, context)
    other = benchmark.prompt(sample, msgspec.structs.replace(context, permutation=1))
    if usual.order == other.order or usual.messages == other.messages:
        raise UsageError(
            f"--permute: {benchmark.name} does not change the order of its options; "
            "its prompts must show them as PromptContext.order says"
        )


def describe_unpermuted(task: str, samples: Sequence[Sample], permute: Permute) -> str:
    """What the user should know of questions that cannot be permuted."""
    if permute == 1:
        return ""
    free = sum(len(sample.options) < 2 for sample in samples)
    tied = sum(len(s.options) > 1 and refer_to_each_other(s.options) for s in samples)
    reasons = []
    if free:
        reasons.append(f"{free} have no options to permute")
    if tied:
        reasons.append(f"{tied} keep the order of their options, because these refer to each other")
    return (
        f"{task}: of {len(samples)} questions {' and '.join(reasons)}; they are asked once" if reasons else ""
    )
