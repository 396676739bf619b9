"""Reasoning that a model writes into its answer between tags, told apart from the answer."""

from __future__ import annotations

_OPEN, _CLOSE = "<think>", "</think>"


def split_thinking(text: str, *, opened: bool = False) -> tuple[str, str]:
    """(reasoning, answer). `opened`: the prompt itself ended with the opening tag.

    Reasoning that was cut off leaves an empty answer: it must not be read as one.
    """
    start = text.lstrip()
    if not opened and not start.startswith(_OPEN):
        return "", text
    thoughts, closed, answer = start.removeprefix(_OPEN).partition(_CLOSE)
    return (thoughts.strip(), answer.lstrip()) if closed else (thoughts.strip(), "")
