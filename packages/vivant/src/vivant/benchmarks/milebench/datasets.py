"""The 29 datasets: their names, groups and metrics, and what a selector such as `realistic` stands for."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Realm = Literal["realistic", "diagnostic"]
Matching = Literal["choice", "rouge", "word", "substring"]
"""How a reply is compared with the key."""

LEVELS = ("Few", "Medium", "Many")


class DatasetGroup(Struct, frozen=True):
    """A task of the paper: the mean of its datasets is one column of the leaderboard."""

    name: str
    title: str
    realm: Realm


class MileBenchDataset(Struct, frozen=True):
    """One folder of the release."""

    name: str
    group: str
    metric: Literal["accuracy", "rouge-l"] = "accuracy"


GROUPS: tuple[DatasetGroup, ...] = (
    DatasetGroup("T-1", "Action understanding and prediction", "realistic"),
    DatasetGroup("T-2", "Object and scene understanding", "realistic"),
    DatasetGroup("T-3", "Navigation and spatial localisation", "realistic"),
    DatasetGroup("T-4", "Counterfactual reasoning and state change", "realistic"),
    DatasetGroup("S-1", "Knowledge-grounded questions", "realistic"),
    DatasetGroup("S-2", "Text-rich images", "realistic"),
    DatasetGroup("S-3", "Relations between images", "realistic"),
    DatasetGroup("S-4", "Dialogue", "realistic"),
    DatasetGroup("S-5", "Understanding of space", "realistic"),
    DatasetGroup("N-1", "Needle in text", "diagnostic"),
    DatasetGroup("N-2", "Needle in images", "diagnostic"),
    DatasetGroup("I-1", "Image retrieval", "diagnostic"),
)

DATASETS: tuple[MileBenchDataset, ...] = (
    MileBenchDataset("ActionLocalization", "T-1"),
    MileBenchDataset("ActionPrediction", "T-1"),
    MileBenchDataset("ActionSequence", "T-1"),
    MileBenchDataset("ObjectExistence", "T-2"),
    MileBenchDataset("ObjectInteraction", "T-2"),
    MileBenchDataset("MovingAttribute", "T-2"),
    MileBenchDataset("ObjectShuffle", "T-2"),
    MileBenchDataset("EgocentricNavigation", "T-3"),
    MileBenchDataset("MovingDirection", "T-3"),
    MileBenchDataset("CounterfactualInference", "T-4"),
    MileBenchDataset("StateChange", "T-4"),
    MileBenchDataset("CharacterOrder", "T-4"),
    MileBenchDataset("SceneTransition", "T-4"),
    MileBenchDataset("WebQA", "S-1"),
    MileBenchDataset("TQA", "S-1"),
    MileBenchDataset("MultiModalQA", "S-1"),
    MileBenchDataset("WikiVQA", "S-1"),
    MileBenchDataset("SlideVQA", "S-2"),
    MileBenchDataset("OCR-VQA", "S-2"),
    MileBenchDataset("DocVQA", "S-2"),
    MileBenchDataset("Spot-the-Diff", "S-3", "rouge-l"),
    MileBenchDataset("CLEVR-Change", "S-3", "rouge-l"),
    MileBenchDataset("IEdit", "S-3", "rouge-l"),
    MileBenchDataset("MMCoQA", "S-4"),
    MileBenchDataset("ALFRED", "S-4", "rouge-l"),
    MileBenchDataset("nuscenes", "S-5"),
    MileBenchDataset("TextNeedleInAHaystack", "N-1"),
    MileBenchDataset("ImageNeedleInAHaystack", "N-2"),
    MileBenchDataset("GPR1200", "I-1"),
)

BY_NAME = {dataset.name: dataset for dataset in DATASETS}
GROUP = {group.name: group for group in GROUPS}
REALMS: tuple[Realm, ...] = ("realistic", "diagnostic")

UNLETTERED = frozenset({"GPR1200"})
"""Datasets whose choices are listed without letters before them."""


def list_group_datasets(group: str) -> tuple[str, ...]:
    """The datasets of a group, in the order of the table."""
    return tuple(dataset.name for dataset in DATASETS if dataset.group == group)


def list_realm_groups(realm: str) -> tuple[str, ...]:
    """The groups of a half of the benchmark."""
    return tuple(group.name for group in GROUPS if group.realm == realm)


def find_level(images: int) -> str:
    """Few, Medium or Many: from the number of pictures, whatever level the file states."""
    if images < 6:
        return "Few"
    return "Medium" if images < 32 else "Many"


def choose_matching(dataset: str, question_type: str) -> Matching:
    """Needles and MMCoQA are compared by their name; for all others the file's question type decides."""
    if "NeedleInAHaystack" in dataset:
        return "word"
    if "MMCoQA" in dataset:
        return "substring"
    return "rouge" if question_type == "open-ended" else "choice"
