"""Kinds of wrong answers, as the paper sorts GPT-4o's."""

from __future__ import annotations

from vivant.benchmarks.label_scheme import Scheme

KINDS = Scheme(
    name="mmrv",
    kinds={
        "visual reasoning": "the moments of the video that hold the evidence are not found, or not put together",
        "implicit": "what is seen is described, but what it stands for (symbol, mood, intent) is missed",
        "knowledge": "knowledge of a culture, a work or the world that the answer needs is missing",
        "reasoning": "the evidence is there, but a step of the argument is wrong",
        "hallucination": "the answer rests on things that the video and the text do not hold",
        "format": "no answer in the form asked for, or none at all",
    },
    unparsed="format",
    published={
        "GPT-4o": {
            "visual reasoning": 47,
            "implicit": 26,
            "knowledge": 13,
            "reasoning": 13,
            "hallucination": 6,
            "format": 2,
        }
    },
    source="MMR-V paper, figure of errors, 100 answers (its labels add up to 107)",
)
