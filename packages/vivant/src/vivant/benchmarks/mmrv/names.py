"""The benchmark's own vocabulary: abilities at three levels and video types, and how the data spell them."""

from __future__ import annotations

import re
from collections.abc import Mapping

ABILITIES: Mapping[str, str] = {
    "MU": "Metaphor Understanding",
    "TU": "Theme Understanding",
    "ER": "Emotion Recognition",
    "CM": "Comment Matching",
    "IS": "Implicit Symbol",
    "CAR": "Causal Reasoning",
    "SSR": "Sequential Structure Reasoning",
    "CIR": "Counterintuitive Reasoning",
    "CTR": "Cross-modal Creative Transfer",
    "VTI": "Video Type and Intent",
}
"""Level 2, by code, in the order of the paper."""

IMPLICIT = ("MU", "TU", "ER", "CM", "IS")
EXPLICIT = ("CAR", "SSR", "CIR", "CTR", "VTI")

L3: Mapping[str, tuple[str, ...]] = {
    "MU": ("Structural Metaphor", "Orientational Metaphor", "Ontological Metaphor", "Creative Metaphor"),
    "TU": (
        "Philosophical Concepts",
        "Social Issues",
        "Personal Reflection",
        "Everyday Topics",
        "Video Naming",
    ),
    "ER": ("Explicit Emotion", "Implicit Emotion", "Meta-emotion", "Audience Emotion"),
    "CM": ("Humorous", "Thought-provoking", "Trending"),
    "IS": ("Cultural Symbols", "Art Symbols", "Other Symbols"),
    "CAR": ("Forward Reasoning", "Backward Reasoning"),
    "SSR": (
        "Narrative Structure",
        "Core Connecting Elements",
        "Inference on Editing Techniques",
        "Hallucination",
    ),
    "CIR": (
        "Magic Deconstruction",
        "Special Effects Editing",
        "Artistic Techniques",
        "Humor and Exaggeration",
    ),
    "CTR": ("Video-to-Text", "Video-to-Audio", "Video-to-Video"),
    "VTI": ("Video Type", "Video Intent"),
}
"""Level 3 below each level 2. The paper counts magic and special effects as one."""

VIDEO_TYPES = ("Art", "Life", "TV", "Film", "Animation", "Philosophy")
"""In the order of the published table."""

LETTERS = "ABCDEFGHIJKL"
"""Letters that the published rules know; data with a thirteenth option lose it in the `paper` protocol."""


def fold_name(text: str) -> str:
    """Letters and digits alone, in lower case: case, spaces and hyphens make no difference."""
    return re.sub(r"[\W_]+", "", text.casefold())


_BY_NAME = {fold_name(name): code for code, name in ABILITIES.items()} | {
    fold_name(code): code for code in ABILITIES
}
_BY_NAME |= {
    fold_name("Video Type & Intent"): "VTI",
    fold_name("Implicit Symbols"): "IS",
    fold_name("Counter-intuitive Reasoning"): "CIR",
    fold_name("Crossmodal Transfer"): "CTR",
}
_L3_BY_NAME = {fold_name(name): name for names in L3.values() for name in names}
_TYPES = {fold_name(name): name for name in VIDEO_TYPES} | {
    "movie": "Film",
    "movies": "Film",
    "films": "Film",
    "tvseries": "TV",
    "tvshow": "TV",
    "animations": "Animation",
    "arts": "Art",
    "phi": "Philosophy",
    "ani": "Animation",
}


def find_ability_code(text: str) -> str | None:
    """The code of a level-2 ability given by name or code; None where it is not one of the ten."""
    return _BY_NAME.get(fold_name(text))


def find_level1(code: str | None) -> str:
    """`implicit`, `explicit`, or `unknown` for an ability that is not one of the ten."""
    if code in IMPLICIT:
        return "implicit"
    return "explicit" if code in EXPLICIT else "unknown"


def normalise_l3(text: str) -> str:
    """The usual spelling of a level-3 ability; an unknown one as it stands."""
    return _L3_BY_NAME.get(fold_name(text), " ".join(text.split()))


def is_known_l3(text: str) -> bool:
    """Whether a level-3 ability is one of the published ones."""
    return fold_name(text) in _L3_BY_NAME


def normalise_video_type(text: str) -> str:
    """One of the six types whatever its case ("life", "movie"); an unknown one as it stands."""
    return _TYPES.get(fold_name(text), " ".join(text.split()))
