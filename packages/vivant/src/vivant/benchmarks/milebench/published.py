"""Rows of the published leaderboard (the project's site, version of 2024-05-14).

Realistic is the plain mean of its nine groups and Diagnostic that of its three, but for three rows: Random,
and GPT-4V and GPT-4o, whose published 99.4 is the mean of N-1 and N-2 alone.
"""

from __future__ import annotations

from functools import cache

from vivant.benchmarks.base import Published
from vivant.benchmarks.milebench.datasets import GROUPS, REALMS

SOURCE = "milebench.github.io, 2024-05-14"

_TABLE = """
Random           25.0  31.9  25.0  31.6  25.1  24.6   0.0  25.3   0.0   0.0   0.0  11.4  22.3   5.5
GPT-4V           51.7  50.1  22.3  58.5  82.8  77.3  11.1  42.4  81.0  99.7  99.1  86.7  53.0  99.4
GPT-4o           61.8  56.8  38.0  68.3  85.3  83.3  15.3  47.2  86.5  99.7  99.1  88.8  60.3  99.4
Gemini 1.0       41.5  46.0  27.3  51.6  74.4  64.7  16.9  47.8  73.0  73.1  27.5  12.5  49.2  37.7
Gemini 1.5       55.0  54.5  34.0  57.3  73.9  72.7  17.8  44.7  82.5  99.4  96.3  88.0  54.7  94.5
Claude 3 Opus    37.7  42.1  21.0  48.6  64.8  59.7  13.3  44.0  58.5  98.1  72.5  25.0  43.3  65.2
ALLaVA-Longer    20.8  32.4  28.0  31.3  33.9  20.7  12.1  17.7  25.5   8.1   0.0   9.3  24.7   5.8
Yi-VL            26.8  34.9  31.5  41.1  57.1  34.2  11.4  33.5  35.5  12.5   0.0  10.7  34.0   7.7
Cheetor          24.2  23.3  18.3  28.0  28.5  24.8  21.9  27.5  32.0  17.8   0.0   8.5  25.4   8.8
Qwen-VL-Chat     34.7  40.0  22.3  44.6  57.3  52.3  14.3  26.7  59.5  35.3  62.8  13.5  39.1  37.2
LLaVA-1.5-7B     37.8  45.5  31.5  46.4  50.8  32.0  11.3  24.2  62.5   0.0   0.0   6.2  38.0   2.1
MiniGPT-v2        9.2  14.4  16.0  20.3  34.5  25.2   7.6  17.0  16.5  15.9   0.0   1.2  17.8   5.7
VILA             40.3  49.1  35.3  49.3  68.1  41.3  12.4  30.7  73.0  25.0   0.3  13.0  44.4  12.8
LLaVA-1.6-7B     38.8  44.4  28.5  33.0  51.6  40.3   9.9  26.9  69.5  10.6   0.9  10.2  38.1   7.2
Mantis           54.8  49.9  25.3  48.9  65.8  55.5  17.4  31.9  78.0  27.5   0.0  32.2  47.5  19.9
Open flamingo    24.5  32.5  26.3  35.1  26.9  23.7  16.2  32.7  28.5  13.8   0.0  11.7  27.4   8.5
LLaVA-1.5-13B    38.8  44.4  28.5  33.0  66.9  49.2  13.8  29.5  59.0  24.7   0.0   7.7  40.3  10.8
LLaVA-1.6-13B    32.8  47.5  23.3  33.0  59.1  34.0   9.5  25.6  72.5   6.9   1.9  10.0  37.5   6.3
Video-LLaMA-2     0.5   3.9   1.3   6.9  11.5   3.3   4.7   3.6  10.0   0.0   0.0   4.5   5.1   1.5
Valley           17.0  29.8  12.5  27.0  18.7  18.7   7.6  26.9  31.0   0.0   7.7  10.5  21.0   6.1
VideoChat2       10.8  27.1  12.8  15.9  42.1  21.8  14.4  24.0  31.5   3.4   0.0   2.7  22.3   2.0
LLaMA-VID        26.2  37.3  26.5  40.5  43.5  26.0  11.7  28.0  46.5  48.4   0.0  10.7  31.8  19.7
LWM               0.5  14.6   2.5   6.4   7.3  14.0  10.7   8.4  15.0  30.6   0.0   0.0   8.8  10.2
"""


@cache
def list_published() -> tuple[Published, ...]:
    """One figure per model and group, and per model and half."""
    figures: list[Published] = []
    for line in _TABLE.strip().splitlines():
        model, values = line[:15].strip(), [float(value) for value in line[15:].split()]
        columns = [{"group": group.name} for group in GROUPS] + [{"realm": realm} for realm in REALMS]
        for group, value in zip(columns, values, strict=True):
            figures.append(
                Published(
                    model=model,
                    task="milebench",
                    style="zero-shot",
                    group=group,
                    value=value,
                    metric="mean",
                    source=SOURCE,
                )
            )
    return tuple(figures)


def group_by_model() -> dict[str, dict[str, float]]:
    """The same by model, then by column: a group's name or a half's."""
    rows: dict[str, dict[str, float]] = {}
    for figure in list_published():
        column = figure.group.get("group") or figure.group["realm"]
        rows.setdefault(figure.model, {})[column] = figure.value
    return rows
