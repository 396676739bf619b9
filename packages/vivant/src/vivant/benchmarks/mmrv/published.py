"""Figures from the paper, in percent, as data: Table 3, the frame sweep, the runs with sound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vivant.benchmarks.base import Published

TASK = "mmrv/mcq"
SOURCE = "MMR-V paper"
FRAMES_SOURCE = "MMR-V paper, read off the plot"

# Model; overall, overall with chain of thought; implicit, with; explicit, with; then, direct alone,
# art, life, TV, film, animation, philosophy.
_TABLE = """
LLaVA-OV          6.5  8.8  7.0  9.6  5.4  6.6  6.5  3.4  9.5  3.8  9.8  1.2
LLaVA-Video      18.4 17.6 19.1 18.1 15.4 16.3 14.4 11.2 13.2 17.4 21.4 12.8
NVILA-8B         25.5 25.3 26.2 24.2 23.9 25.9 17.3 21.3 23.5 21.6 38.0 21.8
Phi-4-mm         26.7 27.6 29.4 31.2 19.4 18.1 19.4 19.2 25.9 26.4 33.9 24.4
CogVLM2          25.6 26.1 25.4 26.2 26.1 25.7 15.5 18.3 24.7 19.1 43.2 20.8
Qwen2.5-VL-7B    30.1 32.4 33.7 36.2 20.8 22.5 20.9 18.1 29.6 21.2 48.4 19.8
InternVL3-8B     33.6 32.9 35.5 33.4 28.6 31.4 23.0 22.6 31.7 24.3 52.9 23.2
Gemma-3-12b      34.0 34.2 37.8 37.6 24.0 25.4 19.4 24.9 25.9 31.3 51.9 24.4
InternVL2.5-38B  39.9 39.7 43.8 43.7 29.9 29.4 30.4 28.8 30.4 37.2 57.4 29.1
Qwen2.5-VL-72B   39.1 40.4 41.3 42.8 33.4 34.3 28.9 28.2 29.1 36.5 55.6 37.2
Gemma-3-27b      42.0 41.1 46.5 44.7 30.3 32.0 31.7 32.2 35.5 41.3 56.1 33.7
GPT-4o-mini      34.8 35.2 38.0 38.6 26.3 26.3 29.5 25.4 29.6 33.0 48.7 18.6
Gemini-2.0-16f   42.6 44.3 44.3 45.9 38.3 40.0 30.9 32.2 40.7 40.6 58.5 24.4
Claude-3.5       43.3 44.2 45.0 46.1 38.9 39.1 33.8 31.1 41.3 41.3 55.8 44.4
GPT-4o           44.0 46.1 46.6 46.9 37.6 44.0 38.1 37.3 34.9 41.0 61.6 32.6
Gemini-2.0-think 45.0 43.5 46.6 46.0 40.6 37.1 34.5 31.6 38.6 48.3 60.1 25.6
GPT-4.1          46.6 48.9 49.1 51.7 40.3 41.7 43.2 35.6 43.9 46.5 57.1 34.9
Gemini-2.0-512f  48.0 49.9 50.5 52.6 41.6 42.9 36.7 36.7 39.7 46.2 66.7 31.4
Gemini-2.5-Flash 51.2 50.5 52.9 52.3 46.9 45.7 45.3 39.5 50.3 47.9 65.6 34.9
o4-mini          52.5 52.1 54.6 54.5 47.1 46.0 48.2 40.1 54.0 51.7 65.3 27.9
"""
HUMAN = (86.0, 80.6, 91.2, 57.7, 92.3, 90.6, 92.3, 90.7, 70.0)
"""Of 200 questions: overall, implicit, explicit, then the six types."""

GROUPS: tuple[Mapping[str, str], ...] = (
    {},
    {"l1": "implicit"},
    {"l1": "explicit"},
    *({"type": kind} for kind in ("Art", "Life", "TV", "Film", "Animation", "Philosophy")),
)
"""The columns of the published table, as facets."""

FRAMES: Mapping[int, tuple[float, float, float]] = {
    16: (42.6, 44.3, 38.3),
    32: (44.0, 46.2, 38.7),
    64: (45.3, 47.4, 41.2),
    96: (46.1, 48.6, 41.5),
    128: (47.2, 49.6, 41.7),
    256: (47.6, 50.1, 41.5),
    512: (48.0, 50.5, 41.6),
}
"""Gemini-2.0 against the number of frames: overall, implicit, explicit."""
FRAMES_MODEL = "Gemini-2.0"

_AUDIO = """
Gemini-2.0       44.0 46.2 38.3 31.0 31.6 42.3 41.0 61.1 29.1
Gemini-2.0-think 46.0 48.4 39.7 31.7 33.9 44.4 42.7 62.4 32.6
Phi-4-mm         27.7 31.3 18.1 15.4 19.7 24.5 27.8 37.3 26.7
"""


def list_published() -> Iterator[Published]:
    """Every figure of Table 3, of the human study, of the frame sweep and of the runs with sound."""
    for model, *figures in _iter_lines(_TABLE):
        numbers = [float(figure) for figure in figures]
        direct = [numbers[0], numbers[2], numbers[4], *numbers[6:]]
        thought = [numbers[1], numbers[3], numbers[5]]
        yield from _iter_figures(model, "zero-shot", direct, SOURCE)
        yield from _iter_figures(model, "cot", thought, SOURCE)
    yield from _iter_figures("Human", "human", HUMAN, SOURCE + ", 200 questions")
    for frames, values in FRAMES.items():
        yield from _iter_figures(FRAMES_MODEL, f"zero-shot, {frames} frames", values, FRAMES_SOURCE)
    for model, *figures in _iter_lines(_AUDIO):
        yield from _iter_figures(model, "zero-shot, with sound", [float(f) for f in figures], SOURCE)


def _iter_lines(table: str) -> Iterator[list[str]]:
    return (line.split() for line in table.strip().splitlines())


def _iter_figures(model: str, style: str, values: Sequence[float], source: str) -> Iterator[Published]:
    for group, value in zip(GROUPS, values, strict=False):
        yield Published(model=model, task=TASK, style=style, group=group, value=value, source=source)
