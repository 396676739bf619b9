"""Which metrics of other harnesses are shares of 1, told by name; their files state no range.

Tables print a share in percent and anything else as it is. Values do not decide: a weak model's ratings of 0 to 10
may all be 0 or 1.
"""

from __future__ import annotations

import re

_WORDS = re.compile(
    r"(?<![a-z0-9])(?:[afq]?acc|accuracy|anls|cognition|correct|em|exact|f1|hits?|includes|iou|match|mcq|pass|perception|"
    r"percetion|precision|recall|relaxed|success)(?![a-z0-9])"
)
"""Words in the names of metrics that are 0 or 1 for each sample, or between both; one is misspelt in lmms-eval."""


def is_share(metric: str) -> bool:
    """Whether a metric's name says that its values are shares of 1: `mmmu_acc`, `exact_match`, `relaxed_overall`."""
    return _WORDS.search(metric.lower()) is not None
