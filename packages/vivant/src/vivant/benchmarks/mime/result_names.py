"""How the repository names result files: `score_mcq_<family>_<model>.csv`, a slash in the model as an underscore.

Families may hold underscores themselves (`internvl2_5`), so they are known by name. The aggregation script knows nine
names and no other; models that it knows are exported under exactly these, whatever backend ran them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

FAMILIES = ("internvl2_5", "qwen25vl", "qwen2vl", "phi35", "openai", "gemini", "janus", "vivant")
HUB_FAMILIES = ("internvl2_5", "qwen25vl", "qwen2vl", "phi35", "janus", "vivant")
"""Families whose models are named as on the hub, with the owner before a slash."""
KNOWN: Mapping[str, str] = {
    "gemini-1.5-flash": "gemini_gemini-1.5-flash",
    "gpt-4o-mini": "openai_gpt-4o-mini",
    "OpenGVLab/InternVL2_5-8B": "internvl2_5_OpenGVLab_InternVL2_5-8B",
    "microsoft/Phi-3.5-vision-instruct": "phi35_microsoft_Phi-3.5-vision-instruct",
    "Qwen/Qwen2.5-VL-7B-Instruct": "qwen25vl_Qwen_Qwen2.5-VL-7B-Instruct",
    "Qwen/Qwen2.5-VL-3B-Instruct": "qwen25vl_Qwen_Qwen2.5-VL-3B-Instruct",
    "Qwen/Qwen2-VL-7B-Instruct": "qwen2vl_Qwen_Qwen2-VL-7B-Instruct",
}
"""The names that the aggregation script knows, by model."""
FEW_SHOT: Mapping[str, str] = {"gemini-1.5-flash": "gemini-few-shot", "gpt-4o-mini": "openai-few-shot"}
"""Other names for the few-shot files of two models."""
_MARKS: Mapping[str, str] = {
    "qwen2-vl": "qwen2vl",
    "qwen": "qwen25vl",
    "phi": "phi35",
    "internvl": "internvl2_5",
    "janus": "janus",
    "gpt": "openai",
    "gemini": "gemini",
}


def parse_result_name(stem: str) -> str:
    """The model of a result file; empty where the name does not tell it."""
    for model, name in FEW_SHOT.items():
        if name in stem:
            return model
    match = re.fullmatch(r"(?:raw|score)_(?:mcq|ff)_(.+)", stem)
    if match is None:
        return ""
    for family in FAMILIES:
        if match[1].startswith(f"{family}_"):
            model = match[1].removeprefix(f"{family}_")
            return model.replace("_", "/", 1) if family in HUB_FAMILIES else model
    family, _, model = match[1].partition("_")
    return model.replace("_", "/", 1)


def format_result_name(model: str, style: str) -> str:
    """`<family>_<model>` for a model's result files; the script's own name where it knows the model."""
    plain = re.sub(r"-20\d\d-?\d\d-?\d\d$", "", model).casefold()
    for known, name in KNOWN.items():
        short = known.rpartition("/")[2].casefold()
        if plain == known.casefold() or plain.rpartition("/")[2] == short:
            return FEW_SHOT.get(known, name) if style == "few-shot" else name
    safe = re.sub(r"[^A-Za-z0-9._@+-]", "_", model)
    family = next((family for mark, family in _MARKS.items() if mark in safe.lower()), "vivant")
    return safe if safe.startswith(f"{family}_") else f"{family}_{safe}"
