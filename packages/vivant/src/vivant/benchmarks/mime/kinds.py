"""Failure modes of free-form answers as kinds, with the counts of the repository."""

from __future__ import annotations

from vivant.benchmarks.label_scheme import Scheme
from vivant.benchmarks.mime import failures

_MODES = {
    "completely incorrect description of action": "the movement itself is described wrongly",
    "partially correct description of action": "some of the movement is described rightly, some of it is not",
    "correct description of action but incorrect interpretation": "the movement is described rightly and taken "
    "for another action",
    "confused by context": "the surroundings, not the movement, lead to the wrong action",
    "none": "the answer is right, and rests on the movement",
    "none, helped by context": "the answer is right, and rests on the surroundings",
    "valid alternative description of action": "the answer differs from the accepted ones and fits all the same",
}
KINDS = Scheme(
    name="mime",
    kinds=_MODES,
    right_too=True,
    published={
        f"{failures.PUBLISHED_BY[0]} {variant}": {
            mode: counts[index] for mode, counts in failures.PUBLISHED.items()
        }
        for index, variant in enumerate(failures.PUBLISHED_VARIANTS)
    },
    source=f"{failures.PUBLISHED_SOURCE}, {failures.PUBLISHED_TOTAL} answers each",
)
