"""Thoughts that come with an answer: between marks, or in fields of their own."""

from __future__ import annotations

from typing import Any

import pytest

from vivant.models.openai_completions import read_completion
from vivant.models.thought_marks import split_thinking


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("<think>\nhm\n</think>\n\nB", "hm", "B"),
        ("<thinking>hm</thinking>B", "hm", "B"),
        ("hm\n</think>\nB", "hm", "B"),
        ("[THINK]hm[/THINK]B", "hm", "B"),
        ("◁think▷hm◁/think▷B", "hm", "B"),
        ("<think>hm</think><|begin_of_box|>B<|end_of_box|>", "hm", "B"),
        ("<|begin_of_box|>B<|end_of_box|>", "", "B"),
        ("<think>hm</think>\n<answer>B</answer>", "hm", "B"),
        ("<think>hm</think><answer><|begin_of_box|>B<|end_of_box|></answer>", "hm", "B"),  # GLM-4.1V
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
            "hm",
            "B",
        ),
        ("analysishmassistantfinalB", "hm", "B"),
        ("analysis of the picture: B", "", "analysis of the picture: B"),
        ("<think>a</think><think>b</think>C", "a\nb", "C"),
        (" plain B\n", "", " plain B\n"),
    ],
)
def test_marks_of_the_families_in_use(text: str, thinking: str, answer: str) -> None:
    assert split_thinking(text) == (thinking, answer, False)


@pytest.mark.parametrize("text", ["<think>hm", "[THINK]hm", "◁think▷hm", "<|channel|>analysis<|message|>hm"])
def test_marks_that_never_close_leave_no_answer(text: str) -> None:
    assert split_thinking(text) == ("hm", "", True)
    completion = {"choices": [{"finish_reason": "stop", "message": {"content": text}}]}
    reply = read_completion(completion, "here")
    assert (reply.status, reply.text, reply.thinking) == ("truncated", "", "hm")


@pytest.mark.parametrize(
    "message",
    [
        {"content": "B", "reasoning_content": "hm"},
        {"content": "B", "reasoning": "hm"},
        {"content": "B", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {
            "content": "B",
            "reasoning": None,
            "reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}],
        },
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "B"},
            ]
        },
    ],
)
def test_thoughts_in_the_fields_in_use(message: dict[str, Any]) -> None:
    reply = read_completion({"choices": [{"finish_reason": "stop", "message": message}]}, "here")
    assert (reply.status, reply.text, reply.thinking) == ("ok", "B", "hm")
