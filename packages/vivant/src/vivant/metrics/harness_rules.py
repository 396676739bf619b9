"""Rules by which other harnesses read replies: what a rule is given, what it returns, and the list of all rules.

A rule is named `harness/rule`, such as `lmms-eval/priority`. Rules repeat the original to the digit, flaws included;
where the original draws an answer at random, the draw here is derived from the sample's seed and marked as a guess.
Where it would ask a judge, the rule stops as the original does without one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from random import Random
from typing import Any, Literal

from msgspec import Struct, field

from vivant.core.errors import unknown_name_error

_MODULES = {
    "lmms-eval": "vivant.metrics.lmms_eval_rules",
    "vlmevalkit": "vivant.metrics.vlmevalkit_rules",
    "mmmu": "vivant.metrics.mmmu_rules",
}


class RuleItem(Struct, frozen=True, kw_only=True):
    """A question as a rule sees it: options under the letters shown, and the accepted answer."""

    options: Mapping[str, str] = field(default_factory=dict)
    """Texts by letter, in the order shown."""
    gold: str = ""
    """The letter of the right option; empty where the answer is free."""
    answers: tuple[str, ...] = ()
    question: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Columns that the benchmark keeps for its rule, such as `answer_type`."""
    seed: int = 0

    @property
    def letters(self) -> str:
        """All letters, joined."""
        return "".join(self.options)

    @property
    def answer(self) -> str:
        """The first accepted text."""
        return self.answers[0] if self.answers else ""

    def guess(self, choices: str = "") -> Reading:
        """A letter drawn from the sample's seed, marked as a guess."""
        letter = Random(self.seed).choice(choices or self.letters)
        return self.choose(letter, "random", guessed=True)

    def choose(self, letter: str, rule: str, *, guessed: bool = False) -> Reading:
        """A letter compared with the key. No letter at all is a reply that names none."""
        status: Literal["scored", "unparsed"] = "scored" if letter else "unparsed"
        return Reading(float(bool(letter) and letter == self.gold), letter, rule, guessed, status)


class Reading(Struct, frozen=True):
    """What a rule makes of a reply."""

    value: float
    answer: str = ""
    rule: str = ""
    guessed: bool = False
    status: Literal["scored", "unparsed", "excluded"] = "scored"


Rule = Callable[[str, RuleItem], Reading]


def find_rule(name: str) -> Rule:
    """The rule `harness/name`."""
    harness, _, short = name.partition("/")
    if harness not in _MODULES:
        raise unknown_name_error("harness of a scoring rule", harness, _MODULES)
    rules: Mapping[str, Rule] = import_module(_MODULES[harness]).RULES
    if short not in rules:
        raise unknown_name_error(f"scoring rule of {harness}", short, rules)
    return rules[short]
