"""The 29 datasets: their names, groups and metrics, and what a selector such as `realistic` stands for."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from vivant.core.errors import unknown_name_error

Realm = Literal["realistic", "diagnostic"]
Matching = Literal["choice", "rouge", "word", "substring"]
"""How a reply is compared with the key."""

LEVELS = ("Few", "Medium", "Many")


class Group(Struct, frozen=True):
    """A task of the paper: the mean of its datasets is one column of the leaderboard."""

    name: str
    title: str
    realm: Realm


class Dataset(Struct, frozen=True):
    """One folder of the release."""

    name: str
    group: str
    metric: Literal["accuracy", "rouge-l"] = "accuracy"
    size: int = 200


GROUPS: tuple[Group, ...] = (
    Group("T-1", "Action understanding and prediction", "realistic"),
    Group("T-2", "Object and scene understanding", "realistic"),
    Group("T-3", "Navigation and spatial localisation", "realistic"),
    Group("T-4", "Counterfactual reasoning and state change", "realistic"),
    Group("S-1", "Knowledge-grounded questions", "realistic"),
    Group("S-2", "Text-rich images", "realistic"),
    Group("S-3", "Relations between images", "realistic"),
    Group("S-4", "Dialogue", "realistic"),
    Group("S-5", "Understanding of space", "realistic"),
    Group("N-1", "Needle in text", "diagnostic"),
    Group("N-2", "Needle in images", "diagnostic"),
    Group("I-1", "Image retrieval", "diagnostic"),
)

DATASETS: tuple[Dataset, ...] = (
    Dataset("ActionLocalization", "T-1"),
    Dataset("ActionPrediction", "T-1"),
    Dataset("ActionSequence", "T-1"),
    Dataset("ObjectExistence", "T-2"),
    Dataset("ObjectInteraction", "T-2"),
    Dataset("MovingAttribute", "T-2"),
    Dataset("ObjectShuffle", "T-2"),
    Dataset("EgocentricNavigation", "T-3"),
    Dataset("MovingDirection", "T-3"),
    Dataset("CounterfactualInference", "T-4"),
    Dataset("StateChange", "T-4"),
    Dataset("CharacterOrder", "T-4"),
    Dataset("SceneTransition", "T-4"),
    Dataset("WebQA", "S-1"),
    Dataset("TQA", "S-1"),
    Dataset("MultiModalQA", "S-1"),
    Dataset("WikiVQA", "S-1"),
    Dataset("SlideVQA", "S-2"),
    Dataset("OCR-VQA", "S-2"),
    Dataset("DocVQA", "S-2"),
    Dataset("Spot-the-Diff", "S-3", "rouge-l"),
    Dataset("CLEVR-Change", "S-3", "rouge-l"),
    Dataset("IEdit", "S-3", "rouge-l"),
    Dataset("MMCoQA", "S-4"),
    Dataset("ALFRED", "S-4", "rouge-l"),
    Dataset("nuscenes", "S-5"),
    Dataset("TextNeedleInAHaystack", "N-1", size=320),
    Dataset("ImageNeedleInAHaystack", "N-2", size=320),
    Dataset("GPR1200", "I-1", size=600),
)

BY_NAME = {dataset.name: dataset for dataset in DATASETS}
GROUP = {group.name: group for group in GROUPS}
REALMS: tuple[Realm, ...] = ("realistic", "diagnostic")

UNLETTERED = frozenset({"GPR1200"})
"""Datasets whose choices are listed without letters before them."""


def of_group(group: str) -> tuple[str, ...]:
    """The datasets of a group, in the order of the table."""
    return tuple(dataset.name for dataset in DATASETS if dataset.group == group)


def of_realm(realm: str) -> tuple[str, ...]:
    """The groups of a half of the benchmark."""
    return tuple(group.name for group in GROUPS if group.realm == realm)


def expand(selector: str) -> tuple[str, ...]:
    """The datasets behind a selector: nothing (all), a half, a group, or a dataset's own name."""
    if not selector:
        return tuple(dataset.name for dataset in DATASETS)
    if selector in BY_NAME:
        return (selector,)
    if selector in GROUP:
        return of_group(selector)
    if selector in REALMS:
        return tuple(name for group in of_realm(selector) for name in of_group(group))
    raise unknown_name_error("MileBench dataset or group", selector, [*BY_NAME, *GROUP, *REALMS])


def level(images: int) -> str:
    """Few, Medium or Many: from the number of pictures, whatever level the file states."""
    if images < 6:
        return "Few"
    return "Medium" if images < 32 else "Many"


def matching(dataset: str, question_type: str) -> Matching:
    """Needles and MMCoQA are compared by their name; for all others the file's question type decides."""
    if "NeedleInAHaystack" in dataset:
        return "word"
    if "MMCoQA" in dataset:
        return "substring"
    return "rouge" if question_type == "open-ended" else "choice"
