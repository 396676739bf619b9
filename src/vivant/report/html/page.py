"""The page itself: one file, no network, no script."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError
from vivant.report.html import benchmarks, sections, words
from vivant.report.html.markup import Html, join, own, tag
from vivant.report.html.material import Material, gather
from vivant.runs.run import Run, load_run

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def build_report(runs: Sequence[Run], protocol: Protocol = "paper", title: str = "") -> str:
    """A whole report as HTML text: same runs, same text but for the hour in its foot."""
    material = gather(runs, protocol)
    title = title or _title(material)
    parts = [
        ("summary", "In words", _summary(material)),
        (
            "leaderboard",
            "Leaderboard",
            join(_legend(), sections.leaderboard(material), sections.duels(material)),
        ),
        *(
            (name, registry.get(name).title, benchmarks.section(material, name))
            for name in material.benchmarks
        ),
        ("failures", "Errors and unread answers", sections.failures(material)),
        ("effort", "Tokens and time", sections.effort(material)),
        ("settings", "Settings", sections.settings(material)),
        ("repeat", "How to repeat it", sections.repeat(material)),
        ("reading", "How to read this", _reading()),
    ]
    return whole_page(title, _subtitle(material), parts)


def whole_page(title: str, subtitle: str, parts: Sequence[tuple[str, str, Html]]) -> str:
    """A page of sections, each with its anchor, its heading and what stands under it."""
    style = files("vivant.report.html").joinpath("style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(style)),
    )
    contents = tag("ul", *(tag("li", tag("a", name, href=f"#{anchor}")) for anchor, name, _ in parts))
    body = tag(
        "body",
        tag("a", "To the text", href="#summary", class_="skip"),
        tag("header", tag("h1", own(title)), tag("p", own(subtitle), class_="subtitle")),
        tag("nav", contents, aria_label="Sections"),
        tag("main", *(tag("section", tag("h2", name), block, id=anchor) for anchor, name, block in parts)),
        tag("footer", f"Vivant {version('vivant')}, {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC"),
    )
    return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"


def write_report(
    paths: Sequence[str | Path], out: str | Path, protocol: Protocol = "paper", title: str = ""
) -> Path:
    """`vivant report`: read runs, write one file, return where it is."""
    with _no_collection():
        page = build_report([load_run(path) for path in dict.fromkeys(map(Path, paths))], protocol, title)
    file = Path(out)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write {file}: {error.strerror}") from error
    return file


@contextmanager
def _no_collection() -> Iterator[None]:
    """Records are many, none refers to itself, and looking for circles among them takes half of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _title(material: Material) -> str:
    models = list(dict.fromkeys(run.model for run in material.runs))
    names = [registry.get(name).title for name in material.benchmarks]
    who = ", ".join(models) if len(models) <= 4 else f"{len(models)} models"
    return f"{who} on {', '.join(names)}"


def _subtitle(material: Material) -> str:
    samples = sum(len(part.rows) for part in material.parts)
    runs = "1 run" if len(material.runs) == 1 else f"{len(material.runs)} runs"
    return f"{runs}, {samples:,} samples, protocol {material.protocol}"


def _summary(material: Material) -> Html:
    doubts = words.not_concluded(material)
    return join(
        tag("h3", "What was found"),
        tag("ul", *(tag("li", own(line)) for line in words.found(material)), class_="found"),
        tag("h3", "What cannot be concluded") if doubts else None,
        tag("ul", *(tag("li", own(line)) for line in doubts), class_="doubts") if doubts else None,
    )


def _legend() -> Html:
    return tag(
        "p",
        "Points are scores, lines their 95 % intervals, the dotted line what guessing scores. Hollow points with ⁂ "
        "are published figures: people first, then the best; the tables have all of them, with their source.",
    )


_READING = (
    "A score is the mean over the n samples that count, times 100 where it is an accuracy. Errors are samples with "
    "no reply to score; they are not part of n and never wrong answers. Unparsed replies were given, but no answer "
    "could be read in them; the protocol says what they count as. Guessed answers were supplied by the published "
    "protocol where the model gave none.",
    "The interval holds the true score of such a model on such questions 95 times in a hundred. Where several "
    "questions share a video or an action, it counts those as one, and is wider for it.",
    "Above chance is the score on a scale where guessing is 0 and everything right is 100.",
    "The protocol paper repeats what the benchmark's authors do, quirks included, so that figures can be set beside "
    "theirs; strict is the sound version of the same.",
    "Many tasks make many comparisons: of twenty honest intervals one misses. A task on which a run stands out alone "
    "deserves a second look before it is believed.",
)


def _reading() -> Html:
    return join(*(tag("p", paragraph) for paragraph in _READING))
