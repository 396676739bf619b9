"""Options on how a run goes: where it lies, how fast it may ask, what it may spend, who does the work."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

HOW, SPEND, WHERE = "How it runs", "What it may spend", "Where it runs"


def _option(*names: str, panel: str, text: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


RUNNING: dict[str, tuple[Any, Any]] = {
    "out": (
        Annotated[
            str | None,
            _option(
                "--out", "-o", panel=HOW, text="Run directory. Default: runs/<named after the settings>."
            ),
        ],
        None,
    ),
    "concurrency": (
        Annotated[
            int,
            _option(
                "--concurrency",
                "-j",
                panel=HOW,
                text="Requests under way at once, at most; fewer where the server asks for less.",
                min=1,
            ),
        ],
        16,
    ),
    "rpm": (
        Annotated[int | None, _option("--rpm", panel=HOW, text="Requests a minute, at most.", min=1)],
        None,
    ),
    "tpm": (
        Annotated[
            int | None, _option("--tpm", panel=HOW, text="Tokens a minute, in and out, at most.", min=1)
        ],
        None,
    ),
    "cache": (
        Annotated[
            Literal["auto", "always", "off"],
            _option(
                "--cache",
                panel=HOW,
                text="Reuse replies to identical requests; auto: with greedy decoding only.",
            ),
        ],
        "auto",
    ),
    "keep_errors": (
        Annotated[
            bool,
            _option("--keep-errors", panel=HOW, text="When resuming, do not ask again what failed before."),
        ],
        False,
    ),
    "batch": (
        Annotated[
            bool,
            _option(
                "--batch",
                panel=HOW,
                text="Through the provider's batch endpoint: cheaper, within a day; run again to collect.",
            ),
        ],
        False,
    ),
    "max_cost": (
        Annotated[
            float | None,
            _option(
                "--max-cost",
                panel=SPEND,
                text="Stop before the run costs more than this, in the currency of the prices.",
                min=0.0,
            ),
        ],
        None,
    ),
    "max_tokens": (
        Annotated[
            int | None,
            _option(
                "--max-tokens",
                panel=SPEND,
                text="Stop before the run takes more tokens than this, in and out, resumed or not.",
                min=1,
            ),
        ],
        None,
    ),
    "max_time": (
        Annotated[
            str | None,
            _option(
                "--max-time",
                panel=SPEND,
                metavar="TIME",
                text="Stop before this command has asked for so long: 90 (seconds), 30m, 1h30m.",
            ),
        ],
        None,
    ),
    "prices": (
        Annotated[
            str | None,
            _option(
                "--prices",
                panel=SPEND,
                metavar="FILE",
                text="YAML of prices over the bundled ones. Default: $VIVANT_PRICES.",
            ),
        ],
        None,
    ),
    "workers": (
        Annotated[
            int,
            _option(
                "--workers", panel=WHERE, text="Processes that decode video; with Ray, on each node.", min=1
            ),
        ],
        2,
    ),
    "executor": (
        Annotated[
            Literal["local", "ray"],
            _option("--executor", panel=WHERE, text="This machine, or a Ray cluster (docs/clusters.md)."),
        ],
        "local",
    ),
    "address": (
        Annotated[
            str | None,
            _option(
                "--address",
                panel=WHERE,
                text="Of the Ray cluster, e.g. auto, ray-head:6379. Default: $RAY_ADDRESS, else this machine.",
            ),
        ],
        None,
    ),
}
