"""Replies read as other harnesses read them: their own figures on generated replies, and what is drawn at random."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vivant.core.errors import UsageError
from vivant.metrics import lmms_eval_rules, mmmu_rules, vlmevalkit_rules
from vivant.metrics.harness_rules import RuleItem, find_rule

FIGURES = [
    msgspec.json.decode(line)
    for line in (Path(__file__).parent / "figures" / "harness_scores.jsonl").read_bytes().splitlines()
]


def make_item(figure: dict[str, Any], seed: int = 0) -> RuleItem:
    return RuleItem(
        options=figure.get("options", {}),
        gold=figure.get("gold", ""),
        answers=tuple(figure.get("answers", ())),
        question=figure.get("question", ""),
        fields=figure.get("fields", {}),
        seed=seed,
    )


@pytest.mark.parametrize("rule", sorted({figure["rule"] for figure in FIGURES}))
def test_generated_replies_score_as_the_harness_scores_them(rule: str) -> None:
    figures = [figure for figure in FIGURES if figure["rule"] == rule]
    assert len(figures) >= 12
    read = find_rule(rule)
    wrong = [
        f for f in figures if read(f["reply"], make_item(f)).value != pytest.approx(f["value"], abs=1e-12)
    ]
    assert not wrong, wrong[:3]


def test_every_rule_has_figures_or_shares_them() -> None:
    shared = {"lmms-eval/tempcompass-choice", "vlmevalkit/tempcompass-yes-no"}
    modules = {"lmms-eval": lmms_eval_rules, "mmmu": mmmu_rules, "vlmevalkit": vlmevalkit_rules}
    rules = {f"{harness}/{rule}" for harness, module in modules.items() for rule in module.RULES}
    assert rules == {figure["rule"] for figure in FIGURES} | shared


@pytest.mark.parametrize("rule", ["lmms-eval/mmmu", "lmms-eval/egoschema", "lmms-eval/longvideobench"])
def test_a_drawn_letter_is_marked_follows_the_seed_and_spreads(rule: str) -> None:
    item = {"options": {"A": "x", "B": "y", "C": "z"}, "gold": "B"}
    readings = [find_rule(rule)("no idea", make_item(item, seed)) for seed in range(300)]
    assert all(reading.guessed for reading in readings)
    assert readings == [find_rule(rule)("no idea", make_item(item, seed)) for seed in range(300)]
    assert min(Counter(reading.answer for reading in readings).values()) > 60


def test_known_flaws_are_kept() -> None:
    choice = RuleItem(options={"A": "red", "B": "blue"}, gold="B")
    assert find_rule("lmms-eval/blink")("The answer is B", choice).answer == "T"
    assert find_rule("lmms-eval/muirbench")("(B)", choice).value == 0.0
    assert find_rule("lmms-eval/ai2d")("(B)", choice).value == 1.0
    assert find_rule("vlmevalkit/mvbench")("", choice).value == 1.0
    assert find_rule("lmms-eval/mvbench")("", choice).status == "excluded"
    open_item = RuleItem(answers=("8.3",))
    assert find_rule("lmms-eval/mmmu")("8.3", open_item).value == 0.0
    assert find_rule("mmmu/official")("The answer is 8.3", open_item).value == 1.0
    assert find_rule("vlmevalkit/vqa-score")("cat", RuleItem(answers=("cat",))).value == 0.0


def test_an_unknown_rule_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'priority'"):
        find_rule("lmms-eval/prioritty")
    with pytest.raises(UsageError, match="did you mean 'lmms-eval'"):
        find_rule("lmmseval/priority")
