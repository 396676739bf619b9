"""Published figures: the project's leaderboard, and how far the paper's judges agreed with people."""

from __future__ import annotations

from vivant.benchmarks.base import Published
from vivant.benchmarks.rubric import JudgeAgreement

LEADERBOARD = "MMIE project site"
AGREEMENT = "MMIE paper, table 5, as a review quotes it"
SIZES = {"SA": 5005, "PBL": 11482, "MSR": 3616}

_INTERLEAVED = {
    "MiniGPT-5": (47.63, 55.12, 42.17, 50.92),
    "EMU-2": (39.65, 46.12, 50.75, 45.33),
    "GILL": (46.72, 57.57, 39.33, 51.58),
    "Anole": (48.95, 59.05, 51.72, 55.22),
}
_IMAGE_MODELS = ("Openjourney", "SD-3", "SD-XL", "Flux")
_INTEGRATED: dict[str, tuple[float, tuple[tuple[float, float, float], ...]]] = {
    "GPT-4o": (
        53.67,
        ((53.05, 71.40, 63.65), (53.00, 71.20, 63.52), (56.12, 73.25, 65.47), (54.97, 68.80, 62.63)),
    ),
    "Gemini-1.5": (
        60.05,
        ((48.08, 67.93, 61.57), (47.48, 68.70, 61.87), (49.43, 71.85, 64.15), (47.07, 68.33, 61.55)),
    ),
    "LLaVA-34b": (
        47.28,
        ((54.12, 73.47, 63.93), (54.72, 72.55, 63.57), (55.97, 74.60, 65.05), (54.23, 71.32, 62.73)),
    ),
    "Qwen-VL-70b": (
        55.63,
        ((52.73, 71.63, 64.05), (54.98, 71.87, 64.75), (52.58, 73.57, 65.12), (54.23, 69.47, 63.18)),
    ),
}


def list_leaderboard() -> list[tuple[str, str, tuple[float, float, float, float]]]:
    """Model, style and SA, PBL, MSR, AVG in percent. MSR is one figure per language model, whoever draws."""
    rows = [(model, "interleaved", figures) for model, figures in _INTERLEAVED.items()]
    for writer, (reasoning, figures_by_drawer) in _INTEGRATED.items():
        for drawer, (story, project, mean) in zip(_IMAGE_MODELS, figures_by_drawer, strict=True):
            rows.append((f"{writer} + {drawer}", "described", (story, project, reasoning, mean)))
    return rows


def list_published() -> list[Published]:
    """The leaderboard by task, for tables of any layout."""
    return [
        Published(
            model=model,
            task=f"mmie/{name}",
            style=style,
            group={},
            value=value,
            metric="judge",
            source=LEADERBOARD,
        )
        for model, style, figures in list_leaderboard()
        for name, value in zip(("sa", "pbl", "msr"), figures, strict=False)
    ]


def list_judge_agreement() -> tuple[JudgeAgreement, ...]:
    """On 200 answers held out. Secondary: quoted by a review of the paper."""
    return (
        JudgeAgreement(
            judge="MMIE-Score", pearson=0.113, cosine=0.873, mse=3.300, mae=1.444, source=AGREEMENT
        ),
        JudgeAgreement(judge="GPT-4o", pearson=0.042, cosine=0.733, mse=3.724, mae=1.573, source=AGREEMENT),
        JudgeAgreement(judge="CLIPScore", pearson=0.023, source=AGREEMENT),
    )
