"""Addresses in an export: relative to the page that is being written; what is not exported has none."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.view.links import Links
from vivant.view.query import SampleFilter


class FileLinks(Links):
    """Filled by `export.py` before pages are written."""

    is_export = True

    def __init__(self) -> None:
        self.note = ""
        self.folder = ""
        """Leads from the page that is being written to the top."""
        self.slugs: dict[str, str] = {}
        self.tasks: dict[str, tuple[str, ...]] = {}
        self.samples: dict[tuple[str, str], int] = {}
        self.pictures: dict[tuple[str, str, int], str] = {}
        self.files: dict[tuple[str, str, int], str] = {}
        self.comparisons: dict[frozenset[str], str] = {}
        """Folders, by the runs that are compared there."""
        self.compared: dict[tuple[frozenset[str], str], str] = {}
        """Pages of samples side by side."""

    def static(self, name: str) -> str:
        return f"{self.folder}static/{name}"

    def home(self) -> str:
        return f"{self.folder}index.html"

    def runs(self) -> str:
        return f"{self.folder}runs.html"

    def run(self, rid: str, query: str = "") -> str:
        kept = SampleFilter.parse(dict(pair.split("=", 1) for pair in query.split("&") if "=" in pair))
        task = f"?task={kept.task}" if kept.task else ""
        return f"{self.folder}run/{self.slugs[rid]}/index.html{task}" if rid in self.slugs else ""

    def breakdown(self, rid: str, task: str = "") -> str:
        tasks = self.tasks[rid]
        number = tasks.index(task) if task in tasks else 0
        return f"{self.folder}run/{self.slugs[rid]}/breakdown{f'-{number + 1}' if number else ''}.html"

    def sample(self, rid: str, key: str, query: str = "") -> str:  # noqa: ARG002 (no filter without a server)
        number = self.samples.get((rid, key))
        return "" if number is None else f"{self.folder}run/{self.slugs[rid]}/{number}.html"

    def compare(self, rids: Sequence[str], **params: str | int) -> str:
        folder = self.comparisons.get(frozenset(rids))
        return f"{self.folder}{folder}/{params.get('kind') or 'differ'}.html" if folder else ""

    def compare_sample(self, rids: Sequence[str], key: str) -> str:
        page = self.compared.get((frozenset(rids), key))
        return f"{self.folder}{page}" if page else ""

    def list_comparisons(self) -> list[tuple[list[str], str]]:
        return [(sorted(rids), self.compare(sorted(rids))) for rids in self.comparisons]

    def text(self, rid: str, key: str, part: str) -> str:  # noqa: ARG002
        return ""

    def media(self, rid: str, key: str, index: int) -> str:
        name = self.files.get((rid, key, index))
        return f"{self.folder}{name}" if name else ""

    def sent_picture(self, rid: str, key: str, index: int) -> str:
        name = self.pictures.get((rid, key, index))
        return f"{self.folder}{name}" if name else ""

    def state(self, rids: Sequence[str] = ()) -> str:  # noqa: ARG002
        return ""
